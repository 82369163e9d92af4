"""Watching a source: its seconds, alerts and clips, by colours."""

from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.archive.made import GREYS, embed_video, film, namer_of_colours, use_live
from tests.grounding.colours import ENCODER
from tests.video.clips import decode_all
from vidsum.errors import InputError, UsageError
from vidsum.evidence.match_probability import prepare_queries
from vidsum.evidence.running_match import RunningMatch
from vidsum.features.extract import extract_features
from vidsum.features.settings import Extraction
from vidsum.grounding.scenes import look_cosine
from vidsum.grounding.settings import Watching
from vidsum.grounding.spaces import ClassMixture
from vidsum.pipelines.watch import Alert, LiveEvidence, Second, _Alarm, clip_names, watch
from vidsum.video.probe import probe
from vidsum.video.read import read_frames


@pytest.fixture(autouse=True)
def _live(monkeypatch: pytest.MonkeyPatch) -> None:
    use_live(monkeypatch)


@pytest.fixture(scope="module")
def colours(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Red, green, blue, and four seconds of yellow."""
    return film(tmp_path_factory.mktemp("watch") / "film.mp4")


def test_row_of_a_second_is_the_mean_of_its_pictures() -> None:
    live = LiveEvidence.__new__(LiveEvidence)  # without a space
    live._map = live._names = live.actions = live._last = None
    live._min_cosine, live._match = 0.0, SimpleNamespace(add=lambda row, *_, **__: row)
    row = live.present(np.array([[1, 0], [0, 1], [0, 1]], np.float32), None)
    assert row == pytest.approx(np.array([1, 2]) / np.sqrt(5))


def test_alert_has_the_highest_probability_since_it_began() -> None:
    settings: Any = SimpleNamespace(min_present=0.5, for_s=1.0, pre_roll_s=0.0)
    alarm = _Alarm("a dog", settings, None, None)
    began = alarm.update(0.0, 0.6)
    for time_s, present in ((1.0, 0.9), (2.0, 0.7)):
        assert alarm.update(time_s, present) is None
    ended = alarm.update(3.0, 0.1)
    assert began is not None
    assert ended is not None
    assert (began.present, ended.present) == (0.6, 0.9)


def test_quiet_second_begins_no_alert() -> None:
    settings: Any = SimpleNamespace(min_present=0.5, for_s=1.0, pre_roll_s=0.0)
    assert _Alarm("a dog", settings, None, None).update(0.0, 0.4) is None


def test_probabilities_of_seconds_are_those_of_their_pictures_in_turn(colours: Path) -> None:
    texts, video = ["red", "yellow"], probe(colours)
    seconds = [event for event in watch(str(colours), texts) if isinstance(event, Second)]
    extractor = namer_of_colours(Extraction(extractor="efficientnet_lite0"))
    with read_frames(video, [extractor.spec.sampling]) as frames:
        displayed = [frame for _, frame in frames]
    features = extract_features(displayed, extractor, video, with_logits=True)
    clips, queries = embed_video("vse", features), ENCODER.encode(texts)
    mixture = clips.objects
    assert mixture is not None
    running = RunningMatch(prepare_queries(["noun", "noun"], queries, GREYS, mixture.names), GREYS)
    starts = [True, *(np.sum(clips.rows[1:] * clips.rows[:-1], axis=1) < look_cosine("vse"))]
    expected = [
        running.add(row, ClassMixture(classes[None], mixture.names), begins_shot=bool(begins))
        for row, classes, begins in zip(clips.rows, mixture.probabilities, starts, strict=True)
    ]
    assert starts == [number % 2 == 0 and number < 8 for number in range(10)]
    assert [second.time_s for second in seconds] == list(map(float, range(10)))
    assert np.allclose([second.present for second in seconds], expected, atol=1e-4)


def test_probability_is_steady_in_a_space_without_named_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vidsum.pipelines.watch.embed_background", lambda *_: np.eye(3, dtype=np.float32))
    queries = np.eye(3, dtype=np.float32)[:2]
    live = LiveEvidence("clip", ["noun", "noun"], queries)
    present = np.array([live.present(np.array([[9.0, 1, 1]], np.float32), None) for _ in range(3)])
    assert np.allclose(present, present[0], atol=1e-5)
    assert present[0, 0] > 0.1 > present[0, 1]


@pytest.fixture
def alerted(colours: Path, tmp_path: Path) -> list[Alert | Second]:
    """The events of a watch for green, with clips."""
    clips, query = tmp_path / "clips", ["green"]
    return [*watch(str(colours), query, clips=clips, min_present=0.3, pre_roll_s=1.0)]


def test_alert_has_the_seconds_of_its_query(alerted: list[Alert | Second]) -> None:
    began, ended = [event for event in alerted if isinstance(event, Alert)]
    assert (began.query, began.start_s, began.end_s) == ("green", 2.0, None)
    assert (ended.start_s, ended.end_s) == (2.0, 4.0)


def test_alert_comes_two_seconds_after_it_began_and_ended(alerted: list[Alert | Second]) -> None:
    assert [number for number, event in enumerate(alerted) if isinstance(event, Alert)] == [4, 7]


def test_clip_of_an_alert_has_its_pictures_and_those_before(
    alerted: list[Alert | Second], tmp_path: Path
) -> None:
    began, ended = [event for event in alerted if isinstance(event, Alert)]
    assert ended.clip == began.clip == tmp_path / "clips" / "green_0h00m02s.mp4"
    pictures = [frame.to_ndarray(format="rgb24")[-8:, -8:].mean((0, 1)) for frame in decode_all(ended.clip)]
    assert len(pictures) >= 30
    assert sum(picture.argmax() == 1 for picture in pictures) == 20


def test_alert_ends_with_the_film(colours: Path) -> None:
    events = [event for event in watch(str(colours), ["yellow"], min_present=0.3) if isinstance(event, Alert)]
    assert [(event.start_s, event.end_s) for event in events] == [(6.0, None), (6.0, 10.0)]


@given(
    present=st.lists(st.floats(0, 1), min_size=1, max_size=40),
    at_least=st.floats(0.05, 1),
    for_s=st.integers(0, 5),
)
def test_alerts_begin_and_end_with_runs_that_last_long_enough(
    present: list[float], at_least: float, for_s: int
) -> None:
    """Against the definition: an alert begins with a likely run of `for_s`, and ends with an unlikely one."""
    alarm = _Alarm("a dog", Watching(min_present=at_least, for_s=float(for_s)), None, None)
    result = [alarm.update(float(t), p) for t, p in enumerate(present)]
    result.append(alarm.end(float(len(present))))
    alerts = [(alert.start_s, alert.end_s) for alert in result if alert and alert.end_s is not None]
    expected, t, length = [], 0, max(1, for_s)
    likely = [p >= at_least for p in present]
    while t + length <= len(likely):
        if all(likely[t : t + length]):
            end = next(
                (u for u in range(t + length, len(likely) - length + 1) if not any(likely[u : u + length])),
                len(likely),
            )
            expected.append((float(t), float(end)))
            t = end
        else:
            t += 1
    assert alerts == expected


def test_clip_is_named_by_its_query_and_time() -> None:
    assert next(clip_names("A dog, or a cat?", 3725.0)) == "a-dog-or-a-cat_1h02m05s.mp4"
    names = list(islice(clip_names("photos/parcel.jpg", 0.4), 2))
    assert names == ["parcel_0h00m00s.mp4", "parcel_0h00m00s-2.mp4"]


def test_clips_of_one_name_are_numbered_and_replace_no_file(colours: Path, tmp_path: Path) -> None:
    """Two queries of the same words begin in the same second; a file of that name is there already."""
    (tmp_path / "green_0h00m02s.mp4").write_bytes(b"mine")
    events = watch(str(colours), ["green", "green ?"], clips=tmp_path, min_present=0.3)
    clips = [event.clip for event in events if isinstance(event, Alert) and event.end_s]
    assert clips == [tmp_path / "green_0h00m02s-2.mp4", tmp_path / "green_0h00m02s-3.mp4"]
    assert (tmp_path / "green_0h00m02s.mp4").read_bytes() == b"mine"
    assert all(clip and len(decode_all(clip)) > 20 for clip in clips)


def test_watch_without_a_query_is_refused(colours: Path) -> None:
    with pytest.raises(UsageError, match="nothing to watch for"):
        watch(str(colours))


def test_watch_of_a_missing_file_is_refused() -> None:
    with pytest.raises(InputError, match="no such file"):
        watch("none.mp4", ["a dog"])


def test_probability_above_1_is_refused(colours: Path) -> None:
    with pytest.raises(UsageError, match="min_present"):
        watch(str(colours), ["red"], min_present=2.0)
