"""Which moments of a search are returned."""

from vidsum.archive.matches import Match, select_best
from vidsum.archive.settings import SearchOptions


def match(video: str, present: float | None, score: float) -> Match:
    return Match(video, 0.0, 1.0, present, score)


def test_unlikely_moments_of_a_likely_video_are_left_out() -> None:
    likely, unlikely = match("a.mp4", 0.9, 0.9), match("a.mp4", 0.2, 0.2)
    assert select_best([likely, unlikely], SearchOptions(min_present=0.5)) == [likely]


def test_moments_without_a_probability_are_not_unlikely() -> None:
    alike = match("a.mp4", None, 0.1)
    assert select_best([alike], SearchOptions(min_present=0.5)) == [alike]


def test_moments_are_in_the_order_of_their_scores() -> None:
    second, first = match("a.mp4", 0.9, 0.9), match("b.mp4", 0.5, 1.5)
    assert select_best([second, first], SearchOptions()) == [first, second]
