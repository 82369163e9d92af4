"""The files that editors read, each written by an adapter of OpenTimelineIO.

A timeline has one video track, and tracks of sound beside it.
"""

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import opentimelineio as otio

from vidsum.outputs import as_utf8
from vidsum.results.cuts import Cut
from vidsum.results.media import Media, check_place, url_of


@dataclass(frozen=True)
class Layout:
    """What a file format wants of a timeline."""

    name: str
    """Of the timeline."""
    target: str
    """Path or URL of the video."""
    rate: float
    counts_time_code: bool = True
    """Frames of the video count from its time code; else from 0."""
    n_sound_tracks: int = 1
    """Where the video has sound."""


def timeline_of(cuts: Sequence[Cut], media: Media, layout: Layout) -> Any:
    """The cuts one after the other; each clip has a marker with its label.

    Raises ValueError: the video's time code is none of its frame rate.
    """
    rate, start = layout.rate, 0
    if layout.counts_time_code and media.time_code is not None:
        start = int(otio.opentime.from_timecode(media.time_code, rate).value)
    reference = otio.schema.ExternalReference(layout.target, _range(start, start + media.n_frames, rate))
    if media.time_code is not None or media.is_drop_frame:
        display = "DF" if media.is_drop_frame else "NDF"
        reference.metadata["fcp_xml"] = {"timecode": {"displayformat": display}}
    timeline = otio.schema.Timeline(layout.name, global_start_time=otio.opentime.RationalTime(0, rate))
    timeline.tracks.append(otio.schema.Track("Video", kind=otio.schema.TrackKind.Video))
    for number in range(1, min(layout.n_sound_tracks, media.n_channels) + 1):
        timeline.tracks.append(otio.schema.Track(f"Audio {number}", kind=otio.schema.TrackKind.Audio))
    name = one_line(media.path.name)
    for cut in cuts:
        first, end = media.frames(cut.start_s, cut.end_s)
        source = _range(start + first, start + end, rate)
        for number, track in enumerate(timeline.tracks):
            clip = otio.schema.Clip(name, reference.clone(), source, {"cmx_3600": {"reel": "AX"}})
            if number == 0:
                clip.markers.append(_marker(cut, start + first, rate))
                clip.metadata["vidsum"] = _facts(cut)
            else:
                track_of = {"mediatype": "audio", "trackindex": str(number)}
                clip.metadata["fcp_xml"] = {"sourcetrack": track_of}
            track.append(clip)
    return timeline


def one_line(text: str) -> str:
    """A text without what ends a line or cannot stand in XML."""
    return "".join(letter if letter.isprintable() else "_" for letter in as_utf8(text))


def _range(first: int, end: int, rate: float) -> Any:
    start = otio.opentime.RationalTime(first, rate)
    return otio.opentime.TimeRange(start, otio.opentime.RationalTime(end - first, rate))


def _marker(cut: Cut, first: int, rate: float) -> Any:
    score = "" if cut.score is None else f" {cut.score:.3f} {cut.evidence}".rstrip()
    return otio.schema.Marker(
        f"{one_line(cut.label)}{score}", _range(first, first + 1, rate), otio.schema.MarkerColor.CYAN
    )


def _facts(cut: Cut) -> dict[str, Any]:
    facts = {"start_s": cut.start_s, "end_s": cut.end_s, "label": cut.label, "score": cut.score}
    return {name: value for name, value in facts.items() if value is not None}


Timeline = Any


def to_editor(format: str, cuts: Sequence[Cut], media: Media, name: str, place: str) -> str:
    """The text of a timeline in one of `EDITORS`.

    Args:
        format: its name.
        cuts: the clips, in order.
        media: the video.
        name: of the timeline.
        place: path of the video as the file is to say it, absolute or relative to the file.

    Raises:
        InputError: the format cannot name the video.
        ValueError: the time code of the video is none.
        otio.exceptions.OTIOError: the adapter refuses it for another reason.
    """
    check_place(format, place)
    with warnings.catch_warnings():  # of what the adapters do
        warnings.simplefilter("ignore")
        return EDITORS[format](cuts, media, name, place)


def _to_otio(cuts: Sequence[Cut], media: Media, name: str, place: str) -> str:
    timeline = timeline_of(cuts, media, Layout(name, url_of(place), float(media.rate)))
    return _written(timeline, "otio_json") + "\n"


def _to_edl(cuts: Sequence[Cut], media: Media, name: str, place: str) -> str:
    """CMX 3600. Where numbers are not dropped at 29.97 Hz, a rate of 30 makes the adapter count them all."""
    rate = float(media.rate if media.is_drop_frame else round(media.rate))
    timeline = timeline_of(cuts, media, Layout(name, Path(place).as_posix(), rate, n_sound_tracks=0))
    text = _written(timeline, "cmx_3600")
    code_mode = "DROP FRAME" if media.is_drop_frame else "NON-DROP FRAME"
    text = text.replace("\n\n", f"\nFCM: {code_mode}\n\n", 1)
    return re.sub(r"^(\d+  AX +)V   ", r"\1AA/V", text, flags=re.MULTILINE) if media.n_channels else text


def _to_fcpxml(cuts: Sequence[Cut], media: Media, name: str, place: str) -> str:
    from vidsum.results.fcpxml import Fcpxml

    layout = Layout(name, url_of(place), float(media.rate), n_sound_tracks=0)
    return str(Fcpxml(timeline_of(cuts, media, layout), media).to_xml())


def _to_xml(cuts: Sequence[Cut], media: Media, name: str, place: str) -> str:
    """Final Cut Pro 7 XML, which Premiere and Resolve read: one track per channel of sound."""
    timeline = timeline_of(cuts, media, Layout(name, url_of(place), float(media.rate), n_sound_tracks=2))
    size = {"width": str(media.width), "height": str(media.height)}
    timeline.metadata["fcp_xml"] = {"media": {"video": {"format": {"samplecharacteristics": size}}}}
    return _written(timeline, "fcp_xml")


def _to_mlt(cuts: Sequence[Cut], media: Media, name: str, place: str) -> str:
    layout = Layout(name, Path(place).as_posix(), float(media.rate), counts_time_code=False, n_sound_tracks=0)
    timeline = timeline_of(cuts, media, layout)
    return _written(timeline, "mlt_xml", **_profile(media))


def _to_kdenlive(cuts: Sequence[Cut], media: Media, name: str, place: str) -> str:
    """A Kdenlive project; the adapter knows one size of picture, and a black track without an end."""
    layout = Layout(name, url_of(place), float(media.rate), counts_time_code=False)
    timeline = timeline_of(cuts, media, layout)
    timeline.tracks[:] = [track.clone() for track in timeline.tracks][::-1]  # Kdenlive has sound below
    with redirect_stdout(StringIO()):  # it prints advice
        root = ElementTree.fromstring(_written(timeline, "kdenlive"))
    for profile in root.iter("profile"):
        profile.attrib |= {"description": f"{media.width}x{media.height}", **_profile(media)}
    for black in root.iterfind("producer[@id='black_track']"):
        black.attrib |= {"in": "0", "out": f"{timeline.duration().value - 1:.0f}"}
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


EDITORS: Mapping[str, Callable[[Sequence[Cut], Media, str, str], str]] = {
    "otio": _to_otio,
    "edl": _to_edl,
    "fcpxml": _to_fcpxml,
    "xml": _to_xml,
    "mlt": _to_mlt,
    "kdenlive": _to_kdenlive,
}
"""Writers of the formats that name the video's frames."""


def _written(timeline: Timeline, adapter: str, **options: str) -> str:
    return str(otio.adapters.write_to_string(timeline, adapter, **options))


def _profile(media: Media) -> dict[str, str]:
    """MLT's profile: the picture as shown, with square pixels."""
    return {
        "frame_rate_num": str(media.rate.numerator),
        "frame_rate_den": str(media.rate.denominator),
        "width": str(media.width),
        "height": str(media.height),
        "display_aspect_num": str(media.width),
        "display_aspect_den": str(media.height),
        "sample_aspect_num": "1",
        "sample_aspect_den": "1",
        "progressive": "1",
        "colorspace": "709",
    }
