"""Documents that somebody edited, and those that vidsum wrote."""

import json
import re
from collections.abc import Callable
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.fuzz.good import film_and_results
from vidsum.results.load import find_fault

SUMMARY, MOMENTS, HIGHLIGHTS, SHOTS, OLD_HIGHLIGHTS = range(5)
Document = Callable[[], dict[str, Any]]


def edited(kind: int, *path: Any, to: Any) -> dict[str, Any]:
    """A document with another value at a place."""
    copy = deepcopy(film_and_results()[1][kind])
    *above, name = path
    holder = copy
    for step in above:
        holder = holder[step]
    holder[name] = to
    return copy


def without_shots() -> dict[str, Any]:
    """A summary that lacks its shots."""
    return {name: value for name, value in film_and_results()[1][SUMMARY].items() if name != "shots"}


GOLDEN = Path(__file__).parents[1] / "golden" / "documents"
OWN = [
    path
    for kind in ("*summary*", "*shots*", "moments*", "highlights*")
    for path in sorted(GOLDEN.glob(f"{kind}.json"))
    if ".result" not in path.name
]


@pytest.mark.parametrize("path", OWN, ids=lambda path: path.stem)
def test_what_vidsum_wrote_has_no_fault(path: Path) -> None:
    text = path.read_text().replace("<digest>", "0" * 32)
    assert find_fault(json.loads(text)) is None


@pytest.mark.parametrize("kind", [SUMMARY, MOMENTS, HIGHLIGHTS, SHOTS, OLD_HIGHLIGHTS])
def test_results_of_each_kind_have_no_fault(kind: int) -> None:
    document = film_and_results()[1][kind]
    assert find_fault(document) is None
    assert find_fault({**document, "video": None}) is None


@pytest.mark.parametrize(
    ("document", "word"),
    [
        (partial(edited, SUMMARY, "schema", to="vidsum.nothing/1"), "no schema"),
        (
            partial(edited, SUMMARY, "segments", 1, "end_s", to=7.0),
            r"segments\[1\]: ends at 7 s, but begins at 8",
        ),
        (partial(edited, SUMMARY, "segments", 1, "end_s", to=8.0), "ends at 8 s"),
        (partial(edited, SUMMARY, "segments", 1, "end_s", to=12.1), "the video has 10 s"),
        (partial(edited, SUMMARY, "segments", 0, "start_s", to=-1.0), "does not fit"),
        (partial(edited, SUMMARY, "shots", 0, "start_s", to=3.0), r"shots\[0\]"),
        (partial(edited, SHOTS, "shots", 1, "start_s", to=3.5), r"shots\[1\]: does not begin where"),
        (partial(edited, SUMMARY, "duration_s", to=0), "duration_s"),
        (partial(edited, SUMMARY, "duration_s", to=1e10), "duration_s"),
        (partial(edited, SUMMARY, "budget", "used_s", to=1e308), "budget.used_s: 1e.308 is too large"),
        (partial(edited, SUMMARY, "importance", "scores", to=[0.5]), "1 scores for 20 times"),
        (partial(edited, SUMMARY, "importance", "timestamps_s", 1, to=0.0), "do not increase"),
        (partial(edited, SUMMARY, "video", "path", to="a\0b"), "not a path"),
        (partial(edited, SUMMARY, "video", "path", to="\ud800"), "not a path"),
        (partial(edited, SUMMARY, "video", "path", to="a" * 5000), "not a path"),
        (partial(edited, SUMMARY, "video", "fps", to=1e300), "too large"),
        (partial(edited, SUMMARY, "video", "fps", to=5e-324), "not a frame rate"),
        (partial(edited, SUMMARY, "video", "n_frames", to=10**400), "too large"),
        (without_shots, "'shots' is a required"),
        (partial(edited, MOMENTS, "queries", 0, "moments", 1, "end_s", to=0.5), r"queries\[0\].moments\[1\]"),
        (partial(edited, MOMENTS, "queries", 0, "said", to=[]), r"queries\[0\].said"),
        (partial(edited, MOMENTS, "timestamps_s", to=[]), "20 scores for 0 times"),
        (partial(edited, HIGHLIGHTS, "moments", 0, "score", to=True), "does not fit"),
        (partial(edited, SHOTS, "shots", 0, "last_frame", to=-1), "does not fit"),
        (partial(edited, SHOTS, "shots", 1, "first_frame", to=900), "last_frame is before"),
    ],
)
def test_what_a_reader_would_trip_over_is_named(document: Document, word: str) -> None:
    fault = find_fault(document())
    assert fault is not None
    assert re.search(word, fault), fault
    assert "\n" not in fault
    assert len(fault) < 500


@pytest.mark.parametrize(
    "document",
    [
        partial(edited, SUMMARY, "segments", 1, "end_s", to=11.9),  # headers and decoders disagree
        partial(edited, SUMMARY, "provenance", "summary", "seed", to=10**300),
        partial(edited, SUMMARY, "budget", "asked_s", to=1e300),
        partial(
            edited, MOMENTS, "queries", 0, "moments", 0, "end_s", to=500.0
        ),  # said, after the last picture
    ],
)
def test_what_vidsum_may_write_is_allowed(document: Document) -> None:
    assert find_fault(document()) is None


def test_no_depth_is_too_much() -> None:
    deep: Any = 1
    for _ in range(50_000):
        deep = [deep]
    assert find_fault(edited(SUMMARY, "provenance", "summary", to=deep)) == "is nested too deep"
