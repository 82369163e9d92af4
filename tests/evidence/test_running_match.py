"""Match probabilities second by second: those of whole videos, once a source has shown as much."""

import numpy as np
import pytest

from tests.evidence.test_match_probability import prepare, video_of
from tests.evidence.test_named_objects import Photographs, photographs, texts  # noqa: F401  # a fixture
from vidsum.evidence import running_match
from vidsum.evidence.match_probability import list_windows, match_windows, usual_of
from vidsum.evidence.running_match import RunningMatch, RunningUsual
from vidsum.grounding.spaces import ClassMixture, ClipEmbeddings
from vidsum.types import FloatArray

BACKGROUND = texts(11, 20)
EDGES = (0.0, 3.0, 10.0, 11.0)
"""Shots of 3, 7, 1 and some clips."""


def shot_starts(video: ClipEmbeddings) -> list[bool]:
    assert video.shots_s is not None
    return [bool(np.isin(at_s, video.shots_s)) for at_s in video.timestamps]


def play(video: ClipEmbeddings, match: RunningMatch) -> list[FloatArray]:
    """Return the probabilities of each second."""
    named: list[ClassMixture | None] = [None] * len(video)
    if objects := video.objects:
        named = [ClassMixture(row[None], objects.names) for row in objects.probabilities]
    seconds = zip(video.rows, named, shot_starts(video), strict=True)
    return [match.add(row, mixture, begins_shot=begins) for row, mixture, begins in seconds]


@pytest.mark.usefixtures("photographs")
@pytest.mark.parametrize("is_named", [False, True])
def test_a_window_is_as_likely_as_in_the_whole_video(is_named: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A source that has been shown often is shown again, so that all of it is what is usual."""
    monkeypatch.setattr(running_match, "_FADE", 1.0)
    video, queries = video_of(19, *EDGES, is_named=is_named), texts(5, 3)
    prepared = prepare(video, queries)
    running = RunningMatch(prepared, BACKGROUND)
    for _ in range(20):
        play(video, running)
    live = np.stack(play(video, running), axis=1)
    matches = match_windows(video, prepared, usual_of(video, BACKGROUND))
    ends = list_windows(video)[:, 1] - 1
    np.testing.assert_allclose(live[:, ends], 1 / (1 + np.exp(-matches.logits)), atol=1e-3)


def test_what_is_usual_is_of_the_seconds_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running_match, "_FADE", 1.0)
    running, rows = RunningUsual(BACKGROUND), texts(4, 12)
    for count in range(1, len(rows) + 1):
        mean, deviation, best = running.add(rows[count - 1], begins_shot=count == 1)
        cosines = BACKGROUND @ rows[:count].T
        assert mean == pytest.approx(cosines.mean(), abs=1e-5)
        assert deviation == pytest.approx(np.sqrt(cosines.var(axis=0).mean()), abs=1e-5)
        spans = [(end - 5, end) for end in range(5, count + 1)] or [(0, count)]
        windows = [cosines[:, first:end].mean(axis=1) for first, end in spans]
        assert best == pytest.approx(((np.max(windows, axis=0) - mean) / deviation).mean(), abs=1e-4)


def test_the_past_fades(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running_match, "_FADE", 0.9)
    old, fresh, rows = RunningUsual(BACKGROUND), RunningUsual(BACKGROUND), texts(4, 2)
    old.add(rows[0], begins_shot=True)
    old.add(rows[1], begins_shot=True)
    for _ in range(300):
        usual = old.add(rows[1], begins_shot=False)
    for _ in range(5):
        expected = fresh.add(rows[1], begins_shot=False)
    np.testing.assert_allclose(usual, expected, atol=1e-4)
