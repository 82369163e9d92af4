"""Options of `evaluate` that exclude each other."""

from pathlib import Path

import pytest

from vidsum.errors import UsageError
from vidsum.lab.evaluation.settings import CaptionsRequest, SummaryRequest

ANNOTATIONS, PLOT = Path("ydata.mat"), Path("scores.png")


def test_known_measure_of_captions_is_allowed_and_another_refused() -> None:
    assert CaptionsRequest(data=Path("a.json"), metric=("cider-d",)).metric == ("cider-d",)
    with pytest.raises(UsageError, match="measure 'cidr-d'"):
        CaptionsRequest(data=Path("a.json"), metric=("cidr-d",))


def test_measure_that_needs_java_is_refused_with_the_reason() -> None:
    with pytest.raises(UsageError, match="needs Java programs"):
        CaptionsRequest(data=Path("a.json"), metric=("METEOR",))


def test_scores_are_drawn_of_videos_with_features_alone() -> None:
    with pytest.raises(UsageError, match="plot needs videos with features"):
        SummaryRequest(annotations=ANNOTATIONS, plot=PLOT)
    assert SummaryRequest(data=Path("tvsum.h5"), plot=PLOT).plot_of == "scores"


def test_segments_are_drawn_of_videos_without_features() -> None:
    assert SummaryRequest(annotations=ANNOTATIONS, plot=PLOT, plot_of="segments").plot == PLOT


@pytest.mark.parametrize("name", ["spice", "METEOR"])
def test_captions_measure_that_needs_java_is_refused_as_such(name: str) -> None:
    with pytest.raises(UsageError, match=f"{name.upper()} needs Java"):
        CaptionsRequest(data=Path("people.csv"), metric=(name,))
