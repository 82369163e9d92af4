"""The plot of moments."""

from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest

from vidsum.errors import UsageError
from vidsum.grounding.plot import MAX_ROWS, moments_plot
from vidsum.results.moments import Grounding, Highlights, Moment, QueryMoments


def grounding(n_queries: int, text: str = "a dog in the snow") -> Grounding:
    curve = np.linspace(0, 1, 60, dtype=np.float32)
    moments = (Moment(10.0, 20.0, 0.9), Moment(40.0, 45.0, 0.4))
    queries = tuple(QueryMoments(f"{text} {number}", moments, curve) for number in range(n_queries))
    return Grounding(queries, np.arange(60.0), 1.0, 60.0, "similarity", "vse")


def drawn(path: Path) -> np.ndarray:
    picture = cv2.imread(str(path))
    assert picture is not None
    return picture


def find_marks(path: Path) -> list[np.ndarray]:
    """The columns with the colour of the best moment, and with that of the others."""
    colours = ((0xEB, 0x63, 0x25), (0xFD, 0xC5, 0x93))
    return [np.flatnonzero((drawn(path) == colour).all(axis=2).any(axis=0)) for colour in colours]


@pytest.mark.parametrize(("more", "is_cut"), [(0, False), (1, True)])
def test_warning_comes_with_the_first_query_that_has_no_row(
    more: int, is_cut: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vidsum.grounding.plot.MAX_ROWS", 2)
    assert bool(moments_plot(grounding(2 + more), tmp_path / "plot.svg")) == is_cut


@pytest.mark.deep
def test_each_query_has_a_row_and_their_number_a_limit(tmp_path: Path) -> None:
    heights = {}
    for n in (1, MAX_ROWS, MAX_ROWS + 1):
        warnings = moments_plot(grounding(n), tmp_path / f"{n}.png")
        heights[n] = drawn(tmp_path / f"{n}.png").shape[0]
        assert bool(warnings) == (n > MAX_ROWS)
    assert heights[1] < heights[MAX_ROWS] == heights[MAX_ROWS + 1]
    assert f"first {MAX_ROWS} of {MAX_ROWS + 1} queries" in warnings[0]


def test_the_best_moment_is_marked_where_it_is(tmp_path: Path) -> None:
    moments_plot(grounding(1), tmp_path / "plot.png")
    accent, light = find_marks(tmp_path / "plot.png")
    length = accent[-1] - accent[0]
    assert (light[-1] - light[0]) / length == pytest.approx(0.5, abs=0.02)
    assert (light[0] - accent[0]) / length == pytest.approx(3, abs=0.04)


def test_no_match_is_certain(tmp_path: Path) -> None:
    for present in (0.99, 0.9991):
        (query,) = grounding(1).queries
        result = replace(grounding(1), queries=(replace(query, present=present),))
        moments_plot(result, tmp_path / f"{present}.png")
    assert (drawn(tmp_path / "0.99.png") == drawn(tmp_path / "0.9991.png")).all()


@pytest.mark.parametrize("text", ["x " * 5000, r"$\frac{1", "一只狗", "<b>&amp;</b>", "line\u2028separator"])
@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_any_query_can_be_drawn(text: str, suffix: str, tmp_path: Path) -> None:
    moments_plot(grounding(1, text), tmp_path / f"plot{suffix}")


def test_moments_without_curves_are_drawn(tmp_path: Path) -> None:
    """As read from a result, which has curves only with `--saliency`."""
    read = Grounding.from_dict(grounding(2).to_dict(with_saliency=False))
    assert len(read.timestamps) == 0
    moments_plot(read, tmp_path / "plot.png")
    assert len(find_marks(tmp_path / "plot.png")[0])


def test_other_suffixes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"\.png or \.svg"):
        moments_plot(grounding(1), tmp_path / "plot.pdf")


@pytest.mark.parametrize("seconds", [3.5, 7.0, 61.3])
def test_stretches_of_highlights_are_marked_where_they_are(seconds: float, tmp_path: Path) -> None:
    times = np.arange(max(1, int(seconds / 2 + 0.5))) * 2.0
    first, second = Moment(0.0, 2.0, 0.4), Moment(2.0, seconds, 0.1)
    curve = np.linspace(0, 1, len(times), dtype=np.float32)
    found = Highlights(curve, times, 2.0, (first, second), seconds)
    moments_plot(found, tmp_path / "plot.png")
    accent, light = find_marks(tmp_path / "plot.png")
    share = 2.0 / (seconds - 2.0)
    assert (accent[-1] - accent[0]) / (light[-1] - light[0]) == pytest.approx(share, abs=0.01)
    assert light[0] > accent[-1]
