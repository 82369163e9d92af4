"""Where somebody speaks in a film without a transcript, and summaries that begin and end in pauses."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests import media
from tests.speech import stub
from vidsum.errors import InputError
from vidsum.features.settings import Extraction
from vidsum.pipelines import voice_pauses
from vidsum.pipelines.highlights import find_highlights
from vidsum.pipelines.plan import open_video_input
from vidsum.pipelines.summarize import plan_summary, summarize
from vidsum.pipelines.voice_pauses import end_at_cuts, find_voices, needs_voices, uncut_speech
from vidsum.shots.settings import ShotSettings
from vidsum.summary.settings import Selection
from vidsum.video.probe import probe

pytestmark = pytest.mark.usefixtures("own_home")
SAID = (5.0, 9.4)


@pytest.fixture
def talking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A film of 12 s, in which something is said from 5 to 9.4 s."""
    stub.install(monkeypatch)
    monkeypatch.setattr(voice_pauses, "has_extra", lambda name: True)
    times = np.arange(12 * media.SAMPLE_RATE) / media.SAMPLE_RATE
    loud = (times >= SAID[0]) & (times < SAID[1])
    sound: npt.NDArray[np.float32] = (0.5 * loud * np.sin(2 * np.pi * 440 * times)).astype(np.float32)

    path = tmp_path / "talk.mp4"
    media.make_video(path, n_frames=300, sound=True, samples=sound)
    return path


def edges_in_speech(segments: tuple[tuple[float, float], ...]) -> list[float]:
    return [edge for segment in segments for edge in segment if SAID[0] < edge < SAID[1]]


def test_a_summary_has_all_that_is_said_or_nothing(talking: Path) -> None:
    assert edges_in_speech(summarize(talking, 5.0, snap="none").segments)
    summary = summarize(talking, 5.0)
    assert not edges_in_speech(summary.segments)
    assert summary.duration_s <= 5
    assert summary.provenance["summary"]["voice"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_segment_s", None),
        ("model", "uniform"),
        ("model", "random"),
        ("snap", "none"),
        ("snap", "speech"),
    ],
)
def test_voices_are_not_looked_for_where_they_change_nothing(
    talking: Path, name: str, value: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def listen(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(voice_pauses, "voices_in", listen)
    selection = replace(Selection(budget=5.0), **{name: value})
    plan = plan_summary(open_video_input(talking, Extraction()), selection, ShotSettings())
    assert "voice" not in plan.provenance["summary"]
    plan.run()


def test_without_the_detector_a_summary_is_as_without_speech(
    talking: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(voice_pauses, "has_extra", lambda name: False)
    summary = summarize(talking, 5.0)
    assert summary.segments == summarize(talking, 5.0, snap="none").segments
    assert "voice" not in summary.provenance["summary"]


def test_a_highlight_has_all_that_is_said_or_nothing(talking: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as context:
        context.setattr(voice_pauses, "has_extra", lambda name: False)
        without = find_highlights(talking)
    assert edges_in_speech(tuple(moment.interval for moment in without.moments))
    found = find_highlights(talking)
    assert found.provenance["highlights"]["voice"]
    assert not edges_in_speech(tuple(moment.interval for moment in found.moments))


def test_voices_are_found_once(talking: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    voices = find_voices(open_video_input(talking, Extraction()))
    assert voices == [pytest.approx(SAID, abs=0.2)]
    monkeypatch.setattr(voice_pauses, "voices_in", lambda *_: [])
    assert find_voices(open_video_input(talking, Extraction())) == voices
    assert find_voices(open_video_input(talking, Extraction(cache=False))) == []


def test_fades_do_not_reach_what_is_said() -> None:
    speech, words = uncut_speech([(3.0, 4.0), (4.4, 6.0), (6.5, 7.0)], 0.2)
    assert np.allclose(speech, [(2.8, 6.2), (6.3, 7.2)])
    assert words == [(3.0, 4.0), (4.4, 6.0), (6.5, 7.0)]


def test_a_silent_film_needs_no_voices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(voice_pauses, "has_extra", lambda name: True)
    assert not needs_voices(Selection(), probe(media.make_video(tmp_path / "mute.mp4", n_frames=50).path))
    assert not needs_voices(Selection(), None)


@pytest.mark.parametrize(("pause_s", "count"), [(0.5, 2), (0.49, 1)])
def test_half_a_second_without_a_voice_is_a_pause(pause_s: float, count: int) -> None:
    assert len(uncut_speech([(1.0, 2.0), (2.0 + pause_s, 4.0)])[0]) == count


def test_no_voice_goes_on_after_the_pictures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stub.install(monkeypatch)
    monkeypatch.setattr(voice_pauses, "has_extra", lambda name: True)
    times = np.arange(15 * media.SAMPLE_RATE) / media.SAMPLE_RATE
    sound = (0.5 * (times >= 7) * np.sin(2 * np.pi * 440 * times)).astype(np.float32)
    film = media.make_video(tmp_path / "talk.mp4", n_frames=250, sound=True, samples=sound)
    voices = find_voices(open_video_input(film.path, Extraction()))
    assert voices[-1][1] == 10.0


def test_sound_that_cannot_be_read_has_no_voices(talking: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise InputError("FFmpeg has no decoder for its sound")

    monkeypatch.setattr(voice_pauses, "probe_sound", refuse)
    assert not find_voices(open_video_input(talking, Extraction()))


@pytest.mark.parametrize(
    ("cuts_s", "ended"),
    [
        ([2.4], [(2.4, 6.0)]),
        ([2.5], [(2.0, 6.0)]),
        ([5.5], [(2.0, 6.0)]),
        ([5.6], [(2.0, 5.6)]),
        ([2.1, 2.4, 4.0, 5.7], [(2.4, 5.7)]),
        ([1.0, 7.0], [(2.0, 6.0)]),
    ],
)
def test_a_voice_begins_and_ends_at_a_near_cut(cuts_s: list[float], ended: list[tuple[float, float]]) -> None:
    assert end_at_cuts([(2.0, 6.0)], np.array(cuts_s)) == ended


def test_a_short_voice_over_a_cut_is_none() -> None:
    assert not end_at_cuts([(2.0, 2.4)], np.array([2.2]))
