"""Fields that are options: what is refused, what is listed, and how settings are built by name."""

from dataclasses import MISSING, dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vidsum.errors import UsageError
from vidsum.options import Checked, Leaf, Limits, Option, build, from_mapping, leaves


@dataclass(frozen=True)
class Tone(Checked):
    """Optional settings: their first option switches them on."""

    PANEL = "Tone"

    kind: Annotated[Literal["high", "low"], Option("Kind.", flags=("--tone",))] = "low"
    steps: Annotated[int, Option("Steps.", min=1)] = 2
    loud: Annotated[bool, Option("Loud.", flags=("--tone-loud/--tone-soft",))] = False


@dataclass(frozen=True)
class Inner(Checked):
    """Nested settings."""

    size: Annotated[int, Option("Size.", min=1, max=9)] = 3
    tone: Tone | None = None


@dataclass(frozen=True)
class Outer(Checked):
    """Settings with one field that must be given."""

    PANEL = "Outer"

    file: Annotated[Path, Option("File.")]
    inner: Inner = field(default_factory=lambda: Inner(size=5))
    rates: Annotated[tuple[float, ...], Option("Rates.", above=0, below=1)] = ()
    hidden: Annotated[int, Limits(min=0)] = 1


@pytest.mark.parametrize("size", [4, np.int64(4)])
def test_value_of_the_type_of_a_field_is_allowed(size: Any) -> None:
    assert Inner(size).size == 4


def test_list_is_a_value_of_a_field_of_several() -> None:
    assert Outer(Path("x"), rates=[0.5]).rates == [0.5]  # type: ignore[arg-type,comparison-overlap]


def test_single_value_of_a_field_of_several_is_refused() -> None:
    with pytest.raises(UsageError, match=r"rates must be a list, not 0\.5"):
        Outer(Path("x"), rates=0.5)  # type: ignore[arg-type]


def test_truth_value_is_no_number() -> None:
    with pytest.raises(UsageError, match="size must be a whole number, not True"):
        Inner(True)


def test_options_are_those_of_settings_and_of_the_settings_in_them() -> None:
    result = {leaf.name: (leaf.parameter, leaf.default, leaf.option.panel) for leaf in leaves(Outer)}
    assert result == {
        "file": ("file", MISSING, "Outer"),
        "size": ("size", 5, ""),
        "tone": ("tone", None, "Tone"),
        "tone_steps": ("tone_steps", None, "Tone"),
        "tone_loud": ("tone_loud", None, "Tone"),
        "rates": ("rates", (), "Outer"),
    }


def test_values_reach_the_nested_settings_that_have_the_field() -> None:
    assert build(Outer, {"file": Path("x"), "size": 4, "hidden": 0}) == Outer(Path("x"), Inner(4), hidden=0)


def test_nested_settings_keep_the_defaults_of_the_outer_field() -> None:
    assert build(Outer, {"file": Path("x")}).inner.size == 5


def test_preset_fills_what_was_not_chosen() -> None:
    loud = build(Outer, {"file": Path("x"), "tone": "high", "tone_loud": True}, {"tone_steps": 7, "size": 2})
    assert loud.inner == Inner(2, Tone("high", 7, loud=True))


def test_preset_switches_no_optional_settings_on() -> None:
    assert build(Outer, {"file": Path("x")}, {"tone_steps": 7}).inner.tone is None


@pytest.mark.parametrize(
    ("choices", "word"),
    [
        ({"siez": 3}, "siez"),
        ({"size": 10}, "at most 9"),
        ({"rates": (0.5, 1.0)}, "below 1"),
        ({"tone_steps": 3}, "tone_steps: there is no tone"),
        ({"tone_loud": False}, "tone_loud=False: there is no tone"),
        ({"tone": "middle"}, "high, low"),
    ],
)
def test_choice_that_no_field_allows_is_refused(choices: dict[str, Any], word: str) -> None:
    with pytest.raises(UsageError, match=word):
        build(Outer, {"file": Path("x"), **choices})


@given(st.integers(-3, 13))
def test_number_outside_the_range_of_a_field_is_refused(size: int) -> None:
    if 1 <= size <= 9:
        assert Inner(size).size == size
    else:
        with pytest.raises(UsageError, match="size must be"):
            Inner(size)


def test_mapping_for_optional_settings_is_filled_by_the_preset() -> None:
    mapped = build(Outer, {"file": Path("x"), "tone": {"kind": "high"}}, {"tone_steps": 7})
    assert mapped.inner.tone == Tone("high", 7)


def test_whole_optional_settings_are_taken_as_they_are() -> None:
    chosen = build(Outer, {"file": Path("x"), "tone": Tone(steps=3)}, {"tone_steps": 7})
    assert chosen.inner.tone == Tone(steps=3)


def test_part_of_optional_settings_that_are_switched_off_is_refused() -> None:
    with pytest.raises(UsageError, match="tone_steps"):
        build(Outer, {"file": Path("x"), "tone": None, "tone_steps": 7})


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        *((bool, text, True) for text in ("true", "TRUE", "on", "yes", "1")),
        *((bool, text, False) for text in ("false", "off", "no", "0")),
        (int, "7", 7),
        (float | None, "0.5", 0.5),
        (tuple[int, ...], "7", 7),
        (tuple[Path, ...], "a b", Path("a b")),
        (Literal["high", "low"], "low", "low"),
        (str, "7", "7"),
        (str | float, "7", "7"),
    ],
)
def test_text_is_read_as_the_type_of_its_field(kind: Any, text: str, value: object) -> None:
    read = Leaf("it", kind, Option("It."), None).read(text)
    assert (read, type(read)) == (value, type(value))


@pytest.mark.parametrize(
    ("kind", "text", "words"),
    [
        (bool, "maybe", "true or false, not maybe"),
        (bool, "2", "true or false, not 2"),
        (int, "2.5", "a whole number, not 2.5"),
        (float, "x", "a number, not x"),
        (float, "nan", "a number, not nan"),
        (int, "0", "at least 1, not 0"),
        (Literal["high", "low"], "hihg", "one of high, low, not hihg; did you mean 'high'?"),
    ],
)
def test_text_that_its_field_forbids_is_refused_with_the_rule(kind: Any, text: str, words: str) -> None:
    with pytest.raises(UsageError) as raised:
        Leaf("top_k", kind, Option("It.", min=1), None).read(text)
    assert raised.value.message == f"top_k must be {words}"


@given(st.integers(-(10**6), 10**6), st.floats(allow_nan=False))
def test_any_number_is_read_as_it_was_written(whole: int, number: float) -> None:
    assert Leaf("it", int, Option("It."), None).read(str(whole)) == whole
    assert Leaf("it", float, Option("It."), None).read(str(number)) == number


@pytest.mark.parametrize("value", [True, "3", 3.0, None, float("nan")])
def test_value_of_another_type_is_refused_and_its_option_named(value: Any) -> None:
    with pytest.raises(UsageError, match="size must be a whole number") as raised:
        Inner(value)
    assert raised.value.option == "size"


def test_a_mapping_becomes_settings() -> None:
    assert from_mapping(Tone, {"kind": "high"}) == Tone("high")


def test_no_mapping_is_no_settings() -> None:
    assert from_mapping(Tone, None) is None


@pytest.mark.parametrize("wrong", [{"pitch": 1}, {"kind": "flat"}, 3])
def test_mapping_of_unknown_options_or_values_is_refused(wrong: Any) -> None:
    with pytest.raises(UsageError):
        from_mapping(Tone, wrong)
