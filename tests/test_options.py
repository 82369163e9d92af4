"""Settings whose fields are options: what is refused, what is listed, and how settings are built by name."""

from dataclasses import MISSING, dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import vidsum
from docs.keywords import page, types
from vidsum.errors import UsageError
from vidsum.features.settings import Extraction
from vidsum.grounding.settings import Retrieval
from vidsum.lab.training.settings import DETRSettings, MRNetSettings
from vidsum.lab.training.summary_settings import FullTransNetSettings
from vidsum.models.configs import DETRConfig, FullTransNetConfig, MaskConfig, MRNetConfig
from vidsum.options import (
    Checked,
    Leaf,
    Limits,
    Option,
    build,
    check,
    from_keywords,
    from_mapping,
    leaves,
    without_defaults,
)
from vidsum.pipelines import keywords
from vidsum.shots.settings import ShotSettings
from vidsum.summary.settings import Selection

ALL = [Extraction, Retrieval, Selection, ShotSettings, FullTransNetSettings, MRNetSettings, DETRSettings]


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


def test_leaves() -> None:
    result = {leaf.name: (leaf.parameter, leaf.default, leaf.option.panel) for leaf in leaves(Outer)}
    assert result == {
        "file": ("file", MISSING, "Outer"),
        "size": ("size", 5, ""),
        "tone": ("tone", None, "Tone"),
        "tone_steps": ("tone_steps", None, "Tone"),
        "tone_loud": ("tone_loud", None, "Tone"),
        "rates": ("rates", (), "Outer"),
    }


def test_build() -> None:
    assert build(Outer, {"file": Path("x"), "size": 4, "hidden": 0}) == Outer(Path("x"), Inner(4), hidden=0)
    assert build(Outer, {"file": Path("x")}).inner.size == 5
    loud = build(Outer, {"file": Path("x"), "tone": "high", "tone_loud": True}, {"tone_steps": 7, "size": 2})
    assert loud.inner == Inner(2, Tone("high", 7, loud=True))
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
def test_build_errors(choices: dict[str, Any], word: str) -> None:
    with pytest.raises(UsageError, match=word):
        build(Outer, {"file": Path("x"), **choices})


@given(st.integers(-3, 13))
def test_a_range_is_what_it_says(size: int) -> None:
    if 1 <= size <= 9:
        assert Inner(size).size == size
    else:
        with pytest.raises(UsageError, match="size must be"):
            Inner(size)


def test_build_parts() -> None:
    mapped = build(Outer, {"file": Path("x"), "tone": {"kind": "high"}}, {"tone_steps": 7})
    assert mapped.inner.tone == Tone("high", 7)
    assert build(Outer, {"file": Path("x"), "tone": Tone(steps=3)}, {"tone_steps": 7}).inner.tone == Tone(
        steps=3
    )
    with pytest.raises(UsageError, match="tone_steps"):
        build(Outer, {"file": Path("x"), "tone": None, "tone_steps": 7})


@pytest.mark.parametrize(
    ("kind", "values", "name"),
    [
        (Extraction, {"strict": "no"}, "strict must be true or false"),
        (Extraction, {"device": 5}, "device must be a text"),
        (Selection, {"keep": 5}, "keep must be a list"),
        (ShotSettings, {"max_shots": 0}, "max_shots must be at least 1"),
        (MRNetSettings, {"decay_at": 7}, "decay_at must be a list"),
        (MRNetConfig, {"regions": "vv"}, "regions must be a list"),
    ],
)
def test_settings_type_errors(kind: Any, values: Any, name: str) -> None:
    with pytest.raises(UsageError, match=name):
        kind(**values)


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
def test_read_text(kind: Any, text: str, value: object) -> None:
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
def test_read_text_errors(kind: Any, text: str, words: str) -> None:
    with pytest.raises(UsageError) as raised:
        Leaf("top_k", kind, Option("It.", min=1), None).read(text)
    assert raised.value.message == f"top_k must be {words}"


@given(st.integers(-(10**6), 10**6), st.floats(allow_nan=False))
def test_read_numbers(whole: int, number: float) -> None:
    assert Leaf("it", int, Option("It."), None).read(str(whole)) == whole
    assert Leaf("it", float, Option("It."), None).read(str(number)) == number


@pytest.mark.parametrize("kind", [MRNetSettings, DETRSettings])
def test_preset_values(kind: Any) -> None:
    for preset in kind.PRESETS:
        for size in kind.SIZES:
            build(kind, {**kind.published(preset, size), "mask": "lam"})


@pytest.mark.parametrize("value", [True, "3", 3.0, None, float("nan")])
def test_another_type_is_refused(value: Any) -> None:
    with pytest.raises(UsageError, match="size must be a whole number") as raised:
        Inner(value)
    assert raised.value.option == "size"


def test_any_kind_of_number_will_do() -> None:
    Selection(keep=((0, 1.5), (np.float32(2), np.int64(3))))
    assert ShotSettings(max_shot_s=float("inf")).max_shot_s == float("inf")
    assert Inner(np.int64(4)).size == 4  # type: ignore[arg-type]
    assert Outer(Path("x"), rates=(np.float32(0.5),)).rates == (0.5,)  # type: ignore[arg-type]


def test_a_mapping_becomes_settings() -> None:
    assert from_mapping(Tone, {"kind": "high"}) == Tone("high")
    assert from_mapping(Tone, None) is None
    for wrong in ({"pitch": 1}, {"kind": "flat"}, 3):
        with pytest.raises(UsageError):
            from_mapping(Tone, wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ALL)
def test_option_help(kind: type) -> None:
    for leaf in leaves(kind):
        assert leaf.option.help.endswith("."), leaf.name
        assert leaf.option.panel, leaf.name


@pytest.mark.parametrize("kind", [DETRConfig, FullTransNetConfig, MRNetConfig, MaskConfig])
def test_defaults_are_allowed(kind: type) -> None:
    check(kind())


def call(source: str, budget: str = "15%", **options: Any) -> None:
    """A function that takes options beside its own parameters."""
    from_keywords(call, Extraction, options)


@pytest.mark.parametrize(("wrong", "meant"), [("budjet", "budget"), ("devcie", "device")])
def test_unknown_keyword(wrong: str, meant: str) -> None:
    with pytest.raises(TypeError, match=rf"^call\(\) got .*'{wrong}'; did you mean '{meant}'\?$"):
        call("film.mp4", **{wrong: 3})


def test_typed_keywords_page() -> None:
    renew = "python -m docs.keywords > vidsum/pipelines/keywords.py"
    assert types() == Path(keywords.__file__).read_text(encoding="utf-8"), renew


def test_python_options_page() -> None:
    renew = "python -m docs.keywords page > docs/python_options.md"
    assert page() == (Path(__file__).parents[1] / "docs/python_options.md").read_text(encoding="utf-8"), renew


def test_help_lists_options() -> None:
    for function in (vidsum.summarize, vidsum.Archive.add, vidsum.find_highlights):
        assert "\n    device: str = 'auto'. Device" in (function.__doc__ or "")
    assert (vidsum.summarize.__doc__ or "").count("\nOptions:\n") == 1


def test_without_defaults() -> None:
    chosen = Selection(seed=3, keep=((1.0, 2.0),), min_segment_s=2)
    assert without_defaults(chosen) == {"seed": 3, "keep": [[1.0, 2.0]]}
    assert without_defaults(chosen, "seed") == {"keep": [[1.0, 2.0]]}
    assert without_defaults(Selection()) == {}
    assert without_defaults(Selection(seed=np.int64(3))) == {"seed": 3}  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ALL)
def test_keyword_only_settings(kind: Any) -> None:
    with pytest.raises(TypeError, match="positional"):
        kind(1)


@pytest.mark.parametrize("name", ["keep", "drop"])
@pytest.mark.parametrize("stretch", ["0:01-0:02", "ab", ("1", "2"), (1,), (1, 2, 3), 5, None])
def test_keep_and_drop_pairs(name: str, stretch: object) -> None:
    with pytest.raises(UsageError, match=f"{name} takes pairs"):
        Selection(**{name: (stretch,)})  # type: ignore[arg-type]


def test_min_and_max_segment() -> None:
    with pytest.raises(UsageError, match="max_segment_s 5 s is less than min_segment_s 6 s"):
        Selection(min_segment_s=6.0)
    Selection(min_segment_s=6.0, max_segment_s=None)


@pytest.mark.parametrize(("text", "value"), [("90%", 0.9), (" 5 %", 0.05), ("0.25", 0.25)])
def test_numbers_may_be_percentages(text: str, value: float) -> None:
    (leaf,) = [leaf for leaf in leaves(Retrieval) if leaf.name == "min_present"]
    assert leaf.read(text) == pytest.approx(value)
