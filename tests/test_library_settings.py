"""The library's settings: types and limits of their fields, their help, and the pages made of them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vidsum
from docs.keywords import page, types
from vidsum.errors import UsageError
from vidsum.features.settings import Extraction
from vidsum.grounding.settings import Retrieval
from vidsum.lab.training.settings import DETRSettings, MRNetSettings
from vidsum.lab.training.summary_settings import FullTransNetSettings
from vidsum.models.configs import DETRConfig, FullTransNetConfig, MaskConfig, MRNetConfig
from vidsum.options import build, check, from_keywords, leaves, without_defaults
from vidsum.pipelines import keywords
from vidsum.shots.settings import ShotSettings
from vidsum.summary.settings import Selection

ALL = [Extraction, Retrieval, Selection, ShotSettings, FullTransNetSettings, MRNetSettings, DETRSettings]


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
def test_value_of_another_type_is_refused(kind: Any, values: Any, name: str) -> None:
    with pytest.raises(UsageError, match=name):
        kind(**values)


def test_numbers_of_numpy_are_times_of_a_range() -> None:
    Selection(keep=((0, 1.5), (np.float32(2), np.int64(3))))


def test_length_may_be_infinite() -> None:
    assert ShotSettings(max_shot_s=float("inf")).max_shot_s == float("inf")


@pytest.mark.parametrize("kind", [MRNetSettings, DETRSettings])
def test_published_values_of_each_preset_and_size_are_allowed(kind: Any) -> None:
    for preset in kind.PRESETS:
        for size in kind.SIZES:
            build(kind, {**kind.published(preset, size), "mask": "lam"})


@pytest.mark.parametrize("kind", ALL)
def test_each_option_has_a_panel_and_a_sentence_of_help(kind: type) -> None:
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
def test_unknown_keyword_is_refused_with_the_nearest_name(wrong: str, meant: str) -> None:
    with pytest.raises(TypeError, match=rf"^call\(\) got .*'{wrong}'; did you mean '{meant}'\?$"):
        call("film.mp4", **{wrong: 3})


def test_typed_keywords_are_those_of_the_settings() -> None:
    renew = "python -m docs.keywords > vidsum/pipelines/keywords.py"
    assert types() == Path(keywords.__file__).read_text(encoding="utf-8"), renew


def test_page_of_python_options_is_that_of_the_settings() -> None:
    renew = "python -m docs.keywords page > docs/python_options.md"
    assert page() == (Path(__file__).parents[1] / "docs/python_options.md").read_text(encoding="utf-8"), renew


def test_help_of_a_function_lists_its_options_once() -> None:
    for function in (vidsum.summarize, vidsum.Archive.add, vidsum.find_highlights):
        assert "\n    device: str = 'auto'. Device" in (function.__doc__ or "")
    assert (vidsum.summarize.__doc__ or "").count("\nOptions:\n") == 1


def test_record_leaves_defaults_out() -> None:
    chosen = Selection(seed=3, keep=((1.0, 2.0),), min_segment_s=2)
    assert without_defaults(chosen) == {"seed": 3, "keep": [[1.0, 2.0]]}
    assert without_defaults(Selection()) == {}


def test_record_leaves_excluded_fields_out() -> None:
    chosen = Selection(seed=3, keep=((1.0, 2.0),))
    assert without_defaults(chosen, "seed") == {"keep": [[1.0, 2.0]]}


def test_record_has_plain_numbers_for_those_of_numpy() -> None:
    assert without_defaults(Selection(seed=np.int64(3))) == {"seed": 3}  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ALL)
def test_settings_take_no_positional_values(kind: Any) -> None:
    with pytest.raises(TypeError, match="positional"):
        kind(1)


@pytest.mark.parametrize("name", ["keep", "drop"])
@pytest.mark.parametrize("stretch", ["0:01-0:02", "ab", ("1", "2"), (1,), (1, 2, 3), 5, None])
def test_keep_and_drop_refuse_what_is_no_pair_of_times(name: str, stretch: object) -> None:
    with pytest.raises(UsageError, match=f"{name} takes pairs"):
        Selection(**{name: (stretch,)})  # type: ignore[arg-type]


def test_shortest_segment_may_not_be_longer_than_the_longest() -> None:
    with pytest.raises(UsageError, match="max_segment_s 5 s is less than min_segment_s 6 s"):
        Selection(min_segment_s=6.0)


def test_shortest_segment_has_no_limit_without_a_longest() -> None:
    Selection(min_segment_s=6.0, max_segment_s=None)


@pytest.mark.parametrize(("text", "value"), [("90%", 0.9), (" 5 %", 0.05), ("0.25", 0.25)])
def test_percentage_is_read_as_a_fraction(text: str, value: float) -> None:
    (leaf,) = [leaf for leaf in leaves(Retrieval) if leaf.name == "min_present"]
    assert leaf.read(text) == pytest.approx(value)
