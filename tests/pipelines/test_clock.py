"""Files whose pictures begin after their sound: players and editors get the times of the file."""

import json
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

import vidsum
from tests.media import MadeVideo, make_video
from tests.speech import stub
from vidsum.outputs.pages import report_text
from vidsum.outputs.timelines import timeline_text, write_chaptered
from vidsum.pipelines.describe import read_corrected
from vidsum.results.clock import to_player_time
from vidsum.results.formats import FORMATS
from vidsum.results.load import find_fault, load
from vidsum.results.shots import Shots
from vidsum.results.transcript import Transcript
from vidsum.times import parse_subtitles

LATE_S = 2.0
KINDS = {
    "mkv": {"late_s": LATE_S},
    "mp4": {"late_s": LATE_S},
    "ts": {"late_s": LATE_S, "start_s": 1.4},
    "mkv, 15 a second": {"late_s": LATE_S, "fps": 15, "n_frames": 90},
    "mkv, the sound later": {"late_s": -1.0, "start_s": 1.0},
    "mkv, no sound": {"late_s": LATE_S, "sound": False},
}


@pytest.fixture(scope="module", params=KINDS)
def late(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> MadeVideo:
    """Six seconds."""
    suffix = request.param.partition(",")[0]
    return make_video(
        tmp_path_factory.mktemp("late") / f"late.{suffix}",
        **{"n_frames": 150, "sound": True, "gop": 25, **KINDS[request.param]},
    )


def shots_of(video: MadeVideo) -> Shots:
    return Shots(np.array([0.0, 3.0, 6.0]), "kts", video=vidsum.probe(video.path))


def picture_at(video: MadeVideo) -> float:
    """When players show the picture after 3 s, by the packets."""
    with av.open(str(video.path)) as container:
        start_s = (container.start_time or 0) / av.time_base
        base = container.streams.video[0].time_base
        times = sorted(packet.pts * base for packet in container.demux(video=0) if packet.pts is not None)
    return next(float(time_s) for time_s in times if time_s - times[0] > 2.98) - start_s


@pytest.fixture
def timelines(late: MadeVideo, tmp_path: Path) -> dict[str, str]:
    """The shots of the film in each format."""
    return texts_of(shots_of(late), tmp_path)


def texts_of(shots: Shots, folder: Path) -> dict[str, str]:
    return {
        format: timeline_text(shots, format, folder / "x")[0] for format in FORMATS if format != "chapters"
    }


CUT = {
    "csv": lambda text: float(text.splitlines()[2].split(",")[0]),
    "kodi": lambda text: float(text.splitlines()[1].split("\t")[0]),
    "ffmetadata": lambda text: int(re.findall(r"START=(\d+)", text)[1]) / 1000,
    "srt": lambda text: parse_subtitles(text)[1][0],
    "vtt": lambda text: parse_subtitles(text)[1][0],
    "otio": lambda text: second_of_otio(text),
    "fcpxml": lambda text: second_of_fcpxml(text),
}
"""When the second shot begins, by the text of a format."""


def second_of_otio(text: str) -> float:
    clip = json.loads(text)["tracks"]["children"][0]["children"][1]
    start = clip["source_range"]["start_time"]
    return float(start["value"] / start["rate"])


def second_of_fcpxml(text: str) -> float:
    clips = list(ElementTree.fromstring(text).iter("asset-clip"))
    return float(Fraction(clips[1].attrib["start"].rstrip("s")))


def test_timelines_have_players_times(late: MadeVideo, timelines: dict[str, str]) -> None:
    result = {format: cut(timelines[format]) for format, cut in CUT.items()}
    assert result == pytest.approx(dict.fromkeys(result, picture_at(late)), abs=0.041)


def test_timelines_of_a_result_without_an_offset_are_the_same(
    late: MadeVideo, timelines: dict[str, str], tmp_path: Path
) -> None:
    shots = shots_of(late)
    old = replace(shots, video=replace(shots.video, start_offset_s=None))
    assert texts_of(old, tmp_path) == timelines


def test_chapters_of_a_copy_have_players_times(late: MadeVideo, tmp_path: Path) -> None:
    write_chaptered(shots_of(late), tmp_path / "copy.mkv")
    with av.open(str(tmp_path / "copy.mkv")) as copy:
        chapter = copy.chapters()[1]
    assert float(chapter["start"] * chapter["time_base"]) == pytest.approx(picture_at(late), abs=0.041)


def test_cuts_of_a_report_have_players_times(late: MadeVideo, tmp_path: Path) -> None:
    page, _ = report_text([("x", shots_of(late))], tmp_path / "x.html")
    cut_s = float(re.findall(r'class="cut"[^>]* data-start="([\d.]+)"', page)[1])
    assert cut_s == pytest.approx(picture_at(late), abs=0.041)


def test_mlt_counts_pictures_from_the_first(late: MadeVideo, timelines: dict[str, str]) -> None:
    """By experiment."""
    first = 90 if shots_of(late).video.fps < 20 else 75
    mlt = ElementTree.fromstring(timelines["mlt"]).find("playlist[@id='playlist0']")
    assert mlt is not None
    entries = [int(entry.attrib["in"]) for entry in mlt.iter("entry")]
    assert entries == pytest.approx([0, first], abs=1)


@dataclass(frozen=True)
class Spoken:
    """A film whose pictures begin behind its sound, and its transcript."""

    path: Path
    transcript: Transcript
    recognizer: stub.StubModel


@pytest.fixture(params=[".mkv", ".mp4"])
def spoken(
    request: pytest.FixtureRequest, tmp_path: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> Spoken:
    model = stub.install(monkeypatch)
    path = make_video(tmp_path / f"late{request.param}", n_frames=50, sound=True, late_s=LATE_S).path
    return Spoken(path, vidsum.transcribe(path), model)


def test_words_before_the_first_picture_have_times_below_zero(spoken: Spoken) -> None:
    words = spoken.transcript.words
    assert words[0].start_s == pytest.approx(-LATE_S, abs=0.1)
    assert words[-1].end_s > 0


def test_speech_ahead_of_pictures_is_recorded_where_there_is_any(spoken: Spoken, tmp_path: Path) -> None:
    on_time = make_video(tmp_path / f"plain{spoken.path.suffix}", n_frames=50, sound=True)
    plain = vidsum.transcribe(on_time.path)
    assert "ahead_s" in spoken.transcript.provenance["speech"]
    assert "ahead_s" not in plain.provenance["speech"]


def test_transcript_of_a_late_film_is_cached(spoken: Spoken) -> None:
    n_tasks = len(spoken.recognizer.tasks)
    assert vidsum.transcribe(spoken.path) == spoken.transcript
    assert len(spoken.recognizer.tasks) == n_tasks


def test_times_below_zero_are_written_and_read(spoken: Spoken, tmp_path: Path) -> None:
    assert find_fault(spoken.transcript.to_dict()) is None
    vidsum.write_json(spoken.transcript, tmp_path / "t.json")
    assert load(tmp_path / "t.json") == spoken.transcript


def test_subtitles_of_a_late_film_have_players_times(spoken: Spoken) -> None:
    cues = parse_subtitles(to_player_time(spoken.transcript).as_text("srt"))
    assert cues[0][0] == pytest.approx(0.0, abs=0.1)
    assert cues[-1][1] <= LATE_S + 2.1


def test_corrected_subtitles_of_a_late_film_have_its_times(spoken: Spoken, tmp_path: Path) -> None:
    (tmp_path / "mine.srt").write_text("1\n00:00:02,500 --> 00:00:03,500\nA dog.\n")
    (line,) = read_corrected(tmp_path / "mine.srt", vidsum.probe(spoken.path))
    assert (line.start_s, line.end_s) == pytest.approx((0.5, 1.5), abs=0.03)
