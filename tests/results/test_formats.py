"""Timelines, read back by OpenTimelineIO's adapters, by hand-made cases, and by MLT's player."""

import json
import os
import re
import shutil
import subprocess
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import av
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import deep
from tests.media import make_video
from tests.results.made import media
from tests.video.clips import numbers_by_pyav
from vidsum.errors import InputError
from vidsum.results import formats
from vidsum.results.cut_list import Cut
from vidsum.results.media import Clip, Media, read_media
from vidsum.video.probe import probe
from vidsum.video.write import write_segments

otio = pytest.importorskip("opentimelineio")

NTSC, NTSC_FILM, NTSC_DOUBLE = Fraction(30_000, 1001), Fraction(24_000, 1001), Fraction(60_000, 1001)
RATES = [NTSC_FILM, NTSC, NTSC_DOUBLE, *map(Fraction, (24, 25, 30, 50, 60))]
PLACE = "/films/a film's #1 & 2.mp4"
FRAMES = ((10, 20), (1798, 1802), (17_980, 17_990), (20, 90))


def cut(rate: Fraction | int, first: int, end: int, label: str = "a <b> & 'c'") -> Cut:
    return Cut(round(float(first / rate), 6), round(float(end / rate), 6), label, score=0.5)


def text_of(format: str, rate: Fraction | int, frames: Any = FRAMES, **about: Any) -> str:
    film = media(rate, path=Path(PLACE), **about)
    clips = [Clip(cut(rate, *span), film, PLACE) for span in frames]
    return str(formats.format_timeline(format, clips, "the cut"))


def read(format: str, text: str, **options: Any) -> Any:
    names = {"otio": "otio_json", "edl": "cmx_3600", "xml": "fcp_xml"}
    timeline = otio.adapters.read_from_string(text, names.get(format, format), **options)
    return next(iter(timeline.find_children(descended_from_type=otio.schema.Timeline)), timeline)


def frames_of(track: Any) -> list[tuple[int, int]]:
    spans = [clip.source_range for clip in track]
    return [(int(span.start_time.value), int(span.end_time_exclusive().value)) for span in spans]


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("format", ["otio", "xml"])
def test_otio_and_xml_are_read_back(format: str, rate: Fraction) -> None:
    timeline = read(format, text_of(format, rate))
    video, *sound = timeline.tracks
    assert timeline.name == "the cut"
    # LosslessCut shows the clips of each track of an .otio
    assert [track.kind for track in sound] == (["Audio"] * 2 if format == "xml" else [])
    for track in timeline.tracks:
        assert frames_of(track) == list(FRAMES)
        assert [clip.source_range.start_time.rate for clip in track] == pytest.approx([float(rate)] * 4)
    assert {clip.media_reference.target_url for clip in video} == {
        "file:///films/a%20film%27s%20%231%20%26%202.mp4"
    }
    assert {clip.name for clip in video} == {"a <b> & 'c'" if format == "otio" else "a film's #1 & 2.mp4"}
    assert [marker.name for clip in video for marker in clip.markers] == ["a <b> & 'c' 0.500"] * 4


@pytest.mark.parametrize("rate", RATES)
def test_edl_is_read_back(rate: Fraction) -> None:
    text = text_of("edl", rate)
    drops = rate in (NTSC, NTSC_DOUBLE)
    assert text.splitlines()[1] == f"FCM: {'DROP' if drops else 'NON-DROP'} FRAME"
    counted = rate if drops else round(rate)  # a whole rate, as 23.976 counts 24
    video = read("edl", text, rate=float(counted)).video_tracks()[0]
    assert frames_of(video) == list(FRAMES)
    assert {clip.media_reference.target_url for clip in video} == {PLACE}
    assert len(re.findall(r"^\d{3}  AX +AA/V +C", text, re.MULTILINE)) == len(FRAMES)
    assert "AA/V" not in text_of("edl", rate, n_channels=0)


def events(text: str) -> list[list[str]]:
    return [line.split()[4:] for line in text.splitlines() if re.match(r"\d{3} ", line)]


def test_timelines_count_from_the_time_code() -> None:
    of_30 = events(text_of("edl", NTSC, ((0, 30), (60, 61)), time_code="01:00:00:00"))
    assert of_30 == [
        ["01:00:00:00", "01:00:01:00", "00:00:00:00", "00:00:01:00"],
        ["01:00:02:00", "01:00:02:01", "00:00:01:00", "00:00:01:01"],
    ]
    dropped = events(text_of("edl", NTSC, ((0, 1800),), time_code="00:59:59;29"))
    assert dropped == [["00:59:59;29", "01:00:59;29", "00:00:00;00", "00:01:00;02"]]
    (clip, *_), *_ = read("otio", text_of("otio", 25, ((50, 75),), time_code="10:00:00:00")).tracks
    assert clip.source_range.start_time.to_timecode() == "10:00:02:00"
    assert clip.media_reference.available_range.start_time.to_timecode() == "10:00:00:00"
    file = ElementTree.fromstring(text_of("xml", NTSC, time_code="01:00:00;00")).find(".//file/timecode")
    assert file is not None
    code = [file.findtext(tag) for tag in ("string", "frame", "displayformat")]
    assert code == ["01:00:00;00", "107892", "DF"]
    (clip,) = ElementTree.fromstring(text_of("fcpxml", NTSC_FILM, ((7, 8),), time_code="23:00:00:00")).iter(
        "asset-clip"
    )
    assert Fraction(clip.attrib["start"].removesuffix("s")) == (23 * 3600 * 24 + 7) / NTSC_FILM
    for format in ("mlt", "kdenlive"):  # MLT counts from the first frame
        assert text_of(format, 25, time_code="10:00:00:00") == text_of(format, 25)


def drop_frame(number: int, nominal: int) -> str:
    """The time code of a frame, by counting minute by minute."""
    per_minute, minute = nominal * 60, 0
    while True:
        dropped = 0 if minute % 10 == 0 else nominal // 15
        if number < per_minute - dropped:
            break
        number -= per_minute - dropped
        minute += 1
    number += dropped
    clock = minute // 60, minute % 60, number // nominal
    return ":".join(f"{part:02d}" for part in clock) + f";{number % nominal:02d}"


@settings(max_examples=60, deadline=None)
@given(st.sampled_from([(NTSC, 30), (NTSC_DOUBLE, 60)]), st.integers(0, 280_000), st.integers(1, 3000))
def test_edl_drop_frame_numbers(rate: tuple[Fraction, int], first: int, n: int) -> None:
    fps, nominal = rate
    (event,) = events(text_of("edl", fps, ((first, first + n),)))
    assert event == [drop_frame(frame, nominal) for frame in (first, first + n, 0, n)]


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(RATES), st.lists(st.tuples(st.integers(0, 9000), st.integers(1, 900)), min_size=1))
def test_fcpxml_is_exact(rate: Fraction, spans: list[tuple[int, int]]) -> None:
    root = ElementTree.fromstring(text_of("fcpxml", rate, [(first, first + n) for first, n in spans]))

    def seconds(element: ElementTree.Element, name: str) -> Fraction:
        return Fraction(element.attrib[name].removesuffix("s"))

    (frame,) = root.iter("format")
    assert seconds(frame, "frameDuration") == 1 / Fraction(rate)
    offset = Fraction(0)
    for clip, (first, n) in zip(root.iter("asset-clip"), spans, strict=True):
        assert seconds(clip, "offset") == offset
        assert (seconds(clip, "start") * rate, seconds(clip, "duration") * rate) == (first, n)
        offset += seconds(clip, "duration")
    (sequence,) = root.iter("sequence")
    assert seconds(sequence, "duration") == offset


_FCPXML = {  # children in order, and attributes, of the elements that are used, by Apple's DTD 1.10
    "fcpxml": ("resources library", "version"),
    "resources": ("format asset", ""),
    "format": ("", "id frameDuration width height"),
    "asset": (
        "media-rep",
        "id name start duration hasVideo format hasAudio audioSources audioChannels audioRate",
    ),
    "media-rep": ("", "src"),
    "library": ("event", ""),
    "event": ("project", "name"),
    "project": ("sequence", "name"),
    "sequence": ("spine", "format duration tcStart tcFormat"),
    "spine": ("asset-clip", ""),
    "asset-clip": ("marker", "ref name offset start duration tcFormat"),
    "marker": ("", "start duration value"),
}


@pytest.mark.parametrize("n_channels", [0, 2])
def test_fcpxml_follows_its_document_type(n_channels: int) -> None:
    text = text_of("fcpxml", NTSC, n_channels=n_channels)
    root = ElementTree.fromstring(text)
    assert text.splitlines()[1] == "<!DOCTYPE fcpxml>"
    for element in root.iter():
        children, attributes = map(str.split, _FCPXML[element.tag])
        tags = [child.tag for child in element]
        assert tags == sorted(tags, key=children.index)
        assert set(element.attrib) <= {*attributes}
    (asset,), (frame,), (source,) = root.iter("asset"), root.iter("format"), root.iter("media-rep")
    assert source.attrib["src"] == "file:///films/a%20film%27s%20%231%20%26%202.mp4"
    assert {asset.get("format"), root.findall(".//sequence")[0].get("format")} == {frame.get("id")}
    assert {clip.get("ref") for clip in root.iter("asset-clip")} == {asset.get("id")}
    assert (frame.get("width"), frame.get("height")) == ("640", "360")
    sound = ("2", "48000") if n_channels else (None, None)
    assert (asset.get("audioChannels"), asset.get("audioRate")) == sound
    for clip in root.findall("./library/event/project/sequence/spine/asset-clip"):
        assert all(re.fullmatch(r"\d+/\d+s", clip.attrib[name]) for name in ("start", "duration"))


def test_xml_links_picture_and_sound() -> None:
    root = ElementTree.fromstring(text_of("xml", NTSC, n_channels=6))
    items = {item.get("id"): item for item in root.iter("clipitem")}
    tracks = root.findall(".//sequence/media/*/track")
    assert [len(track) for track in tracks] == [4] * 7
    assert root.findtext(".//file/media/audio/channelcount") == "6"
    assert root.findtext(".//audio/numOutputChannels") == "6"
    for number, item in enumerate(tracks[3], 1):
        links = item.findall("link")
        starts = {items[link.findtext("linkclipref")].findtext("start") for link in links}
        assert starts == {item.findtext("start")}
        assert [link.findtext("mediatype") for link in links] == ["video", *["audio"] * 6]
        assert {link.findtext("clipindex") for link in links} == {str(number)}
    for element in root.iter():
        assert len(element.findall("rate")) <= 1
    assert {rate.findtext("ntsc") for rate in root.iter("rate")} == {"TRUE"}
    assert {mode.text for mode in root.iter("displayformat")} == {"DF"}  # of the file and the sequence


def test_kdenlive_bin() -> None:
    """Kdenlive calls a project damaged where a clip of the timeline is not in the bin."""
    film, mute = media(25, path=Path(PLACE)), media(25, path=Path("/films/b.mp4"), n_channels=0)
    videos = enumerate((film, mute, film))
    clips = [Clip(cut(25, 5 * n, 5 * n + 4), video, str(video.path)) for n, video in videos]
    root = ElementTree.fromstring(formats.format_timeline("kdenlive", clips, "the cut"))

    def of(element: ElementTree.Element, name: str) -> str | None:
        return next((tag.text for tag in element.findall("property") if tag.get("name") == name), None)

    made = {element.get("id"): element for element in root if element.get("id")}
    content = made["main_bin"]
    entries = [made[entry.get("producer")] for entry in content.findall("entry")]
    assert of(content, "kdenlive:docproperties.version") == "1.1"
    uuid = of(content, "kdenlive:docproperties.uuid")
    assert uuid == of(entries[0], "kdenlive:uuid") == entries[0].get("id")
    in_bin = {of(entry, "kdenlive:id") for entry in entries[1:]}
    assert in_bin == {"4", "5"}
    for name in ("video_a", "audio_a"):
        chains = [made[entry.get("producer")] for entry in made[name].findall("entry")]
        assert {of(chain, "kdenlive:id") for chain in chains} <= in_bin
        assert {of(entry, "kdenlive:id") for entry in made[name].findall("entry")} <= in_bin
    assert [entry.tag for entry in made["audio_a"] if entry.tag != "property"] == ["entry", "blank", "entry"]
    producers = [track.get("producer") for track in entries[0].findall("track")]
    assert producers == ["black_track", "audio", "video"]
    (project,) = (element for element in root if of(element, "kdenlive:projectTractor"))
    assert project == root[-1]
    guides = json.loads(of(entries[0], "kdenlive:sequenceproperties.guides") or "")
    assert [guide["pos"] for guide in guides] == [0, 4, 8]


def render(timeline: Path, target: Path) -> list[int]:
    """Return the numbers of the frames of a timeline as MLT's player renders it."""
    if shutil.which("melt") is None:
        pytest.skip("no melt")
    consumer = f"avformat:{target}", "vcodec=libx264", "crf=8", "acodec=aac", "real_time=-1"
    command = ["melt", timeline.name, "-consumer", *consumer, "terminate_on_pause=1"]
    options: Any = {"cwd": timeline.parent, "env": {**os.environ, "QT_QPA_PLATFORM": "offscreen"}}
    for timeout_s in (40, 40, 300):  # now and then its threads wait for each other forever
        with suppress(*([subprocess.TimeoutExpired, av.FFmpegError] if timeout_s == 40 else [])):
            subprocess.run(command, check=True, capture_output=True, timeout=timeout_s, **options)
            return numbers_by_pyav(target)
    raise AssertionError("unreachable")


def write(format: str, cuts: list[Cut], film: Media, folder: Path) -> Path:
    path = folder / f"cut.{format}"
    clips = [Clip(span, film, film.path.name) for span in cuts]
    path.write_text(formats.format_timeline(format, clips, "cut"), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("format", "rate"),
    [
        ("mlt", NTSC_FILM),
        deep("mlt", Fraction(25)),
        deep("mlt", NTSC_DOUBLE),
        ("kdenlive", NTSC),
        *(deep("kdenlive", rate) for rate in (NTSC_FILM, NTSC_DOUBLE, Fraction(24))),
    ],
)
def test_mlt_renders_frames_of_the_clip(format: str, rate: Fraction, tmp_path: Path) -> None:
    film = tmp_path / "a film's #1 & 100%.mp4"
    make_video(film, n_frames=260, fps=rate, sound=True)
    cuts = [cut(rate, 10, 20), Cut(1.5, 2.25, "b"), Cut(3.1, 3.2, "c"), cut(rate, 201, 240)]
    write_segments(probe(film), [(span.start_s, span.end_s) for span in cuts], tmp_path / "clip.mp4")
    timeline = write(format, cuts, read_media(probe(film)), tmp_path)
    assert render(timeline, tmp_path / "mlt.mp4") == numbers_by_pyav(tmp_path / "clip.mp4")


@pytest.mark.parametrize("format", ["mlt", deep("kdenlive")])
def test_mlt_renders_no_other_frame_of_a_variable_rate(format: str, tmp_path: Path) -> None:
    """It leaves out frames that are closer than those of the average rate."""
    times = [n / 30 + (0.012 if n % 3 == 1 else 0) + (0.4 if n > 50 else 0) for n in range(90)]
    info = probe(make_video(tmp_path / "phone.mp4", times_s=times, fps=30, sound=True).path)
    cuts = [Cut(0.35, 0.79, "a"), Cut(1.301, 2.0, "b"), Cut(2.45, 3.1, "c")]
    film = read_media(info)
    write_segments(info, [(span.start_s, span.end_s) for span in cuts], tmp_path / "clip.mp4")
    frames = numbers_by_pyav(tmp_path / "clip.mp4")
    rendered = render(write(format, cuts, film, tmp_path), tmp_path / "b.mp4")
    assert film.is_conformed
    assert set(rendered) <= set(frames)
    assert len(set(rendered)) >= 0.7 * len(set(frames))
    assert rendered == sorted(rendered)


def test_timelines_of_a_name_that_is_not_text() -> None:
    place = os.fsdecode(b"/films/caf\xe9\n.mp4")
    film = media(25, path=Path(place))
    for format in ("edl", "kdenlive", "mlt"):
        with pytest.raises(InputError, match="not UTF-8") as refused:
            formats.format_timeline(format, [Clip(cut(25, 0, 5), film, place)], "cut")
        assert "\n" not in refused.value.message
    for format in ("otio", "fcpxml", "xml"):
        assert formats.format_timeline(format, [Clip(cut(25, 0, 5, "a\x01b"), film, place)], "cut").encode()
