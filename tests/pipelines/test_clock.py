"""Files whose pictures begin after their sound: players and editors get the times of the file."""

import json
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
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


@pytest.fixture(params=KINDS)
def late(request: pytest.FixtureRequest, tmp_path: Path) -> MadeVideo:
    """Six seconds."""
    suffix = request.param.partition(",")[0]
    return make_video(
        tmp_path / f"late.{suffix}", **{"n_frames": 150, "sound": True, "gop": 25, **KINDS[request.param]}
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


def test_exports_by_players_clock(late: MadeVideo, tmp_path: Path) -> None:
    shots, cut_s = shots_of(late), picture_at(late)
    old = replace(shots, video=replace(shots.video, start_offset_s=None))
    write_chaptered(shots, tmp_path / "copy.mkv")
    with av.open(str(tmp_path / "copy.mkv")) as copy:
        result = {"copy": float(copy.chapters()[1]["start"] * copy.chapters()[1]["time_base"])}
    texts = {
        format: timeline_text(shots, format, tmp_path / "x")[0] for format in FORMATS if format != "chapters"
    }
    assert texts == {format: timeline_text(old, format, tmp_path / "x")[0] for format in texts}
    result |= {
        "csv": float(texts["csv"].splitlines()[2].split(",")[0]),
        "kodi": float(texts["kodi"].splitlines()[1].split("\t")[0]),
        "ffmetadata": int(re.findall(r"START=(\d+)", texts["ffmetadata"])[1]) / 1000,
        **{form: parse_subtitles(texts[form])[1][0] for form in ("srt", "vtt")},
    }
    clip = json.loads(texts["otio"])["tracks"]["children"][0]["children"][1]["source_range"]["start_time"]
    result["otio"] = clip["value"] / clip["rate"]
    clips = list(ElementTree.fromstring(texts["fcpxml"]).iter("asset-clip"))
    result["fcpxml"] = float(Fraction(clips[1].attrib["start"].rstrip("s")))
    page, _ = report_text([("x", shots)], tmp_path / "x.html")
    result["report"] = float(re.findall(r'class="cut"[^>]* data-start="([\d.]+)"', page)[1])
    assert result == pytest.approx(dict.fromkeys(result, cut_s), abs=0.041)
    # MLT (by experiment) counts pictures from the first one
    first = 90 if shots.video.fps < 20 else 75
    mlt = ElementTree.fromstring(texts["mlt"]).find("playlist[@id='playlist0']")
    assert mlt is not None
    entries = [int(entry.attrib["in"]) for entry in mlt.iter("entry")]
    assert entries == pytest.approx([0, first], abs=1)


@pytest.mark.parametrize("suffix", [".mkv", ".mp4"])
def test_speech_before_first_picture(
    suffix: str, tmp_path: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = stub.install(monkeypatch)
    late = make_video(tmp_path / f"late{suffix}", n_frames=50, sound=True, late_s=LATE_S)
    on_time = make_video(tmp_path / f"plain{suffix}", n_frames=50, sound=True)
    transcript, plain = vidsum.transcribe(late.path), vidsum.transcribe(on_time.path)
    assert transcript.words[0].start_s == pytest.approx(-LATE_S, abs=0.1)
    assert transcript.words[-1].end_s > 0
    assert "ahead_s" not in plain.provenance["speech"]
    assert vidsum.transcribe(late.path) == transcript
    assert len(model.tasks) == 2
    document = transcript.to_dict()
    assert find_fault(document) is None
    vidsum.write_json(transcript, tmp_path / "t.json")
    assert load(tmp_path / "t.json") == transcript
    cues = parse_subtitles(to_player_time(transcript).as_text("srt"))
    assert cues[0][0] == pytest.approx(0.0, abs=0.1)
    assert cues[-1][1] <= LATE_S + 2.1
    (tmp_path / "mine.srt").write_text("1\n00:00:02,500 --> 00:00:03,500\nA dog.\n")
    (line,) = read_corrected(tmp_path / "mine.srt", vidsum.probe(late.path))
    assert (line.start_s, line.end_s) == pytest.approx((0.5, 1.5), abs=0.03)
