"""Timelines, read back by OpenTimelineIO's adapters, by hand-made cases, and by MLT's player."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import av
import pytest
from hypothesis import given
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


BOTH = pytest.mark.parametrize(
    ("format", "rate"), [(format, rate) for format in ("otio", "xml") for rate in RATES]
)


@BOTH
def test_otio_and_xml_have_the_frames_of_the_cuts(format: str, rate: Fraction) -> None:
    timeline = read(format, text_of(format, rate))
    frames = [frames_of(track) for track in timeline.tracks]
    assert frames == [list(FRAMES)] * (3 if format == "xml" else 1)


@BOTH
def test_otio_and_xml_have_the_rate_of_the_film(format: str, rate: Fraction) -> None:
    timeline = read(format, text_of(format, rate))
    rates = [clip.source_range.start_time.rate for track in timeline.tracks for clip in track]
    assert rates == pytest.approx([float(rate)] * (12 if format == "xml" else 4))


# LosslessCut shows the clips of each track of an .otio
# LosslessCut shows the clips of each track of an .otio
@pytest.mark.parametrize(("format", "kinds"), [("otio", ["Video"]), ("xml", ["Video", "Audio", "Audio"])])
def test_xml_has_tracks_of_sound_and_otio_has_none(format: str, kinds: list[str]) -> None:
    timeline = read(format, text_of(format, NTSC))
    assert [track.kind for track in timeline.tracks] == kinds


@pytest.mark.parametrize("format", ["otio", "xml"])
def test_otio_and_xml_point_to_the_film(format: str) -> None:
    timeline = read(format, text_of(format, NTSC))
    assert {clip.media_reference.target_url for clip in timeline.tracks[0]} == {
        "file:///films/a%20film%27s%20%231%20%26%202.mp4"
    }


@pytest.mark.parametrize(("format", "name"), [("otio", "a <b> & 'c'"), ("xml", "a film's #1 & 2.mp4")])
def test_otio_and_xml_name_the_timeline_its_clips_and_markers(format: str, name: str) -> None:
    timeline = read(format, text_of(format, NTSC))
    assert timeline.name == "the cut"
    assert {clip.name for clip in timeline.tracks[0]} == {name}
    markers = [marker.name for clip in timeline.tracks[0] for marker in clip.markers]
    assert markers == ["a <b> & 'c' 0.500"] * 4


@pytest.mark.parametrize("format", ["otio", "xml"])
def test_markers_are_at_the_first_frame_of_their_clips(format: str) -> None:
    for clip in read(format, text_of(format, NTSC)).tracks[0]:
        (marker,) = clip.markers
        assert marker.marked_range.start_time == clip.source_range.start_time


def test_marker_of_otio_is_one_frame_long() -> None:
    (clip, *_), *_ = read("otio", text_of("otio", NTSC)).tracks
    assert clip.markers[0].marked_range.duration.value == 1


DROP_FRAME_RATES = (NTSC, NTSC_DOUBLE)


@pytest.mark.parametrize("rate", RATES)
def test_edl_has_the_frames_of_the_cuts(rate: Fraction) -> None:
    counted = rate if rate in DROP_FRAME_RATES else round(rate)  # a whole rate, as 23.976 counts 24
    timeline = read("edl", text_of("edl", rate), rate=float(counted))
    video = timeline.video_tracks()[0]
    assert frames_of(video) == list(FRAMES)
    assert {clip.media_reference.target_url for clip in video} == {PLACE}


@pytest.mark.parametrize("rate", RATES)
def test_edl_says_whether_its_time_code_drops_frames(rate: Fraction) -> None:
    word = "DROP" if rate in DROP_FRAME_RATES else "NON-DROP"
    assert text_of("edl", rate).splitlines()[1] == f"FCM: {word} FRAME"


def test_edl_cuts_the_sound_with_the_picture() -> None:
    assert len(re.findall(r"^\d{3}  AX +AA/V +C", text_of("edl", 25), re.MULTILINE)) == len(FRAMES)


def test_edl_of_a_film_without_sound_cuts_the_picture_alone() -> None:
    assert "AA/V" not in text_of("edl", 25, n_channels=0)


def events(text: str) -> list[list[str]]:
    return [line.split()[4:] for line in text.splitlines() if re.match(r"\d{3} ", line)]


def test_edl_counts_from_the_time_code() -> None:
    assert events(text_of("edl", NTSC, ((0, 30), (60, 61)), time_code="01:00:00:00")) == [
        ["01:00:00:00", "01:00:01:00", "00:00:00:00", "00:00:01:00"],
        ["01:00:02:00", "01:00:02:01", "00:00:01:00", "00:00:01:01"],
    ]


def test_edl_counts_from_a_time_code_that_drops_frames() -> None:
    dropped = events(text_of("edl", NTSC, ((0, 1800),), time_code="00:59:59;29"))
    assert dropped == [["00:59:59;29", "01:00:59;29", "00:00:00;00", "00:01:00;02"]]


def test_otio_counts_from_the_time_code() -> None:
    timeline = read("otio", text_of("otio", 25, ((50, 75),), time_code="10:00:00:00"))
    (clip, *_), *_ = timeline.tracks
    assert clip.source_range.start_time.to_timecode() == "10:00:02:00"
    assert clip.media_reference.available_range.start_time.to_timecode() == "10:00:00:00"


def test_xml_has_the_time_code() -> None:
    code = ElementTree.fromstring(text_of("xml", NTSC, time_code="01:00:00;00")).find(".//file/timecode")
    assert code is not None
    facts = [code.findtext(tag) for tag in ("string", "frame", "displayformat")]
    assert facts == ["01:00:00;00", "107892", "DF"]


def test_fcpxml_counts_from_the_time_code() -> None:
    text = text_of("fcpxml", NTSC_FILM, ((7, 8),), time_code="23:00:00:00")
    (clip,) = ElementTree.fromstring(text).iter("asset-clip")
    assert Fraction(clip.attrib["start"].removesuffix("s")) == (23 * 3600 * 24 + 7) / NTSC_FILM


@pytest.mark.parametrize("format", ["mlt", "kdenlive"])
def test_mlt_counts_from_the_first_frame_whatever_the_time_code(format: str) -> None:
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


@given(st.sampled_from([(NTSC, 30), (NTSC_DOUBLE, 60)]), st.integers(0, 280_000), st.integers(1, 3000))
def test_edl_drops_numbers_of_frames_each_minute_but_the_tenth(
    rate: tuple[Fraction, int], first: int, n: int
) -> None:
    fps, nominal = rate
    (event,) = events(text_of("edl", fps, ((first, first + n),)))
    assert event == [drop_frame(frame, nominal) for frame in (first, first + n, 0, n)]


SPANS = st.lists(st.tuples(st.integers(0, 9000), st.integers(1, 900)), min_size=1)


def fcpxml_of(rate: Fraction, spans: list[tuple[int, int]]) -> ElementTree.Element:
    """The document of cuts of a first frame and a length."""
    return ElementTree.fromstring(text_of("fcpxml", rate, [(first, first + n) for first, n in spans]))


def seconds(element: ElementTree.Element, name: str) -> Fraction:
    return Fraction(element.attrib[name].removesuffix("s"))


@given(st.sampled_from(RATES), SPANS)
def test_fcpxml_has_exact_frames(rate: Fraction, spans: list[tuple[int, int]]) -> None:
    root = fcpxml_of(rate, spans)
    (frame,) = root.iter("format")
    assert seconds(frame, "frameDuration") == 1 / Fraction(rate)
    clips = [
        (seconds(clip, "start") * rate, seconds(clip, "duration") * rate) for clip in root.iter("asset-clip")
    ]
    assert clips == spans


@given(st.sampled_from(RATES), SPANS)
def test_clips_of_fcpxml_follow_each_other(rate: Fraction, spans: list[tuple[int, int]]) -> None:
    root = fcpxml_of(rate, spans)
    offset = Fraction(0)
    for clip in root.iter("asset-clip"):
        assert seconds(clip, "offset") == offset
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
    assert text.splitlines()[1] == "<!DOCTYPE fcpxml>"
    for element in ElementTree.fromstring(text).iter():
        children, attributes = map(str.split, _FCPXML[element.tag])
        tags = [child.tag for child in element]
        assert tags == sorted(tags, key=children.index)
        assert set(element.attrib) <= {*attributes}


def test_elements_of_fcpxml_point_to_the_film_and_its_format() -> None:
    root = ElementTree.fromstring(text_of("fcpxml", NTSC))
    (asset,), (frame,), (source,) = root.iter("asset"), root.iter("format"), root.iter("media-rep")
    assert source.attrib["src"] == "file:///films/a%20film%27s%20%231%20%26%202.mp4"
    assert {asset.get("format"), root.findall(".//sequence")[0].get("format")} == {frame.get("id")}
    assert {clip.get("ref") for clip in root.iter("asset-clip")} == {asset.get("id")}
    assert (frame.get("width"), frame.get("height")) == ("640", "360")


@pytest.mark.parametrize(("n_channels", "sound"), [(0, (None, None)), (2, ("2", "48000"))])
def test_fcpxml_names_the_sound(n_channels: int, sound: tuple[str | None, str | None]) -> None:
    (asset,) = ElementTree.fromstring(text_of("fcpxml", NTSC, n_channels=n_channels)).iter("asset")
    assert (asset.get("audioChannels"), asset.get("audioRate")) == sound


def test_times_of_fcpxml_are_fractions() -> None:
    clips = ElementTree.fromstring(text_of("fcpxml", NTSC)).findall(
        "./library/event/project/sequence/spine/asset-clip"
    )
    assert len(clips) == len(FRAMES)
    for clip in clips:
        assert all(re.fullmatch(r"\d+/\d+s", clip.attrib[name]) for name in ("start", "duration"))


@pytest.fixture(scope="module")
def xml() -> ElementTree.Element:
    """A timeline of four cuts of a film with six channels."""
    return ElementTree.fromstring(text_of("xml", NTSC, n_channels=6))


def test_xml_has_a_track_for_each_channel(xml: ElementTree.Element) -> None:
    assert [len(track) for track in xml.findall(".//sequence/media/*/track")] == [4] * 7
    assert xml.findtext(".//file/media/audio/channelcount") == "6"
    assert xml.findtext(".//audio/numOutputChannels") == "6"


def test_xml_links_picture_and_sound(xml: ElementTree.Element) -> None:
    items = {item.get("id"): item for item in xml.iter("clipitem")}
    for number, item in enumerate(xml.findall(".//sequence/media/*/track")[3], 1):
        links = item.findall("link")
        starts = {items[link.findtext("linkclipref")].findtext("start") for link in links}
        assert starts == {item.findtext("start")}
        assert [link.findtext("mediatype") for link in links] == ["video", *["audio"] * 6]
        assert {link.findtext("clipindex") for link in links} == {str(number)}


def test_rates_of_xml_are_ntsc_with_drop_frames(xml: ElementTree.Element) -> None:
    assert all(len(element.findall("rate")) <= 1 for element in xml.iter())
    assert {rate.findtext("ntsc") for rate in xml.iter("rate")} == {"TRUE"}
    assert {mode.text for mode in xml.iter("displayformat")} == {"DF"}  # of the file and the sequence


def property_of(element: ElementTree.Element, name: str) -> str | None:
    return next((tag.text for tag in element.findall("property") if tag.get("name") == name), None)


@pytest.fixture(scope="module")
def kdenlive() -> ElementTree.Element:
    """A project of three cuts: of a film, of one without sound, and of the first again."""
    film, mute = media(25, path=Path(PLACE)), media(25, path=Path("/films/b.mp4"), n_channels=0)
    clips = [
        Clip(cut(25, 5 * number, 5 * number + 4), video, str(video.path))
        for number, video in enumerate((film, mute, film))
    ]
    return ElementTree.fromstring(formats.format_timeline("kdenlive", clips, "the cut"))


@pytest.fixture(scope="module")
def parts(kdenlive: ElementTree.Element) -> dict[str | None, ElementTree.Element]:
    """The parts of the project by their names."""
    return {element.get("id"): element for element in kdenlive if element.get("id")}


Parts = dict[str | None, ElementTree.Element]


def bin_of(parts: Parts) -> list[ElementTree.Element]:
    return [parts[entry.get("producer")] for entry in parts["main_bin"].findall("entry")]


def test_bin_of_kdenlive_begins_with_the_sequence(parts: Parts) -> None:
    sequence = bin_of(parts)[0]
    assert property_of(parts["main_bin"], "kdenlive:docproperties.version") == "1.1"
    uuid = property_of(parts["main_bin"], "kdenlive:docproperties.uuid")
    assert uuid == property_of(sequence, "kdenlive:uuid") == sequence.get("id")


def test_bin_of_kdenlive_has_each_film_once(parts: Parts) -> None:
    assert [property_of(entry, "kdenlive:id") for entry in bin_of(parts)[1:]] == ["4", "5"]


@pytest.mark.parametrize("track", ["video_a", "audio_a"])
def test_clips_of_kdenlive_are_in_its_bin(parts: Parts, track: str) -> None:
    """Kdenlive calls a project damaged where a clip of the timeline is not in the bin."""
    entries = parts[track].findall("entry")
    clips = [*entries, *(parts[entry.get("producer")] for entry in entries)]
    assert {property_of(clip, "kdenlive:id") for clip in clips} <= {"4", "5"}


def test_film_without_sound_is_a_blank_of_the_sound_track(parts: Parts) -> None:
    assert [entry.tag for entry in parts["audio_a"] if entry.tag != "property"] == ["entry", "blank", "entry"]


def test_tracks_of_kdenlive_are_black_sound_and_picture(parts: Parts) -> None:
    producers = [track.get("producer") for track in bin_of(parts)[0].findall("track")]
    assert producers == ["black_track", "audio", "video"]


def test_project_of_kdenlive_stands_last(kdenlive: ElementTree.Element) -> None:
    (project,) = (element for element in kdenlive if property_of(element, "kdenlive:projectTractor"))
    assert project == kdenlive[-1]


def test_guides_of_kdenlive_stand_where_cuts_begin(parts: Parts) -> None:
    guides = json.loads(property_of(bin_of(parts)[0], "kdenlive:sequenceproperties.guides") or "")
    assert [guide["pos"] for guide in guides] == [0, 4, 8]


def render(timeline: Path, target: Path, read: Callable[[Path], list[Any]] = numbers_by_pyav) -> list[Any]:
    """Return what is read of the frames of a timeline as MLT's player renders it, such as their numbers."""
    if shutil.which("melt") is None:
        pytest.skip("no melt")
    consumer = f"avformat:{target}", "vcodec=libx264", "crf=8", "acodec=aac", "real_time=-1"
    command = ["melt", timeline.name, "-consumer", *consumer, "terminate_on_pause=1"]
    options: Any = {"cwd": timeline.parent, "env": {**os.environ, "QT_QPA_PLATFORM": "offscreen"}}
    for timeout_s in (15, 40, 300):  # now and then its threads wait for each other forever
        errors = (subprocess.TimeoutExpired, av.FFmpegError) if timeout_s < 300 else ()
        with suppress(*errors):
            subprocess.run(command, check=True, capture_output=True, timeout=timeout_s, **options)
            return read(target)
    raise AssertionError("unreachable")


def write(format: str, cuts: list[Cut], film: Media, folder: Path) -> Path:
    path = folder / f"cut.{format}"
    clips = [Clip(span, film, film.path.name) for span in cuts]
    path.write_text(formats.format_timeline(format, clips, "cut"), encoding="utf-8")
    return path


@pytest.mark.deep
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


@pytest.mark.deep
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


NOT_UTF_8 = os.fsdecode(b"/films/caf\xe9\n.mp4")


def timeline_of_other_bytes(format: str, label: str = "a") -> str:
    film = media(25, path=Path(NOT_UTF_8))
    return str(formats.format_timeline(format, [Clip(cut(25, 0, 5, label), film, NOT_UTF_8)], "cut"))


@pytest.mark.parametrize("format", ["edl", "kdenlive", "mlt"])
def test_name_that_is_not_utf_8_is_refused_in_one_line(format: str) -> None:
    with pytest.raises(InputError, match="not UTF-8") as refused:
        timeline_of_other_bytes(format)
    assert "\n" not in refused.value.message


@pytest.mark.parametrize("format", ["otio", "fcpxml", "xml"])
def test_name_that_is_not_utf_8_is_written_as_a_url(format: str) -> None:
    assert "/films/caf%E9%0A.mp4" in timeline_of_other_bytes(format)


@pytest.mark.parametrize("format", ["otio", "fcpxml", "xml"])
def test_control_characters_of_labels_are_left_out(format: str) -> None:
    assert "\x01" not in timeline_of_other_bytes(format, "a\x01b")
    assert timeline_of_other_bytes(format, "a\x01b").encode()
