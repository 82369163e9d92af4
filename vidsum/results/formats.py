"""The files that editors read, each written by an adapter of OpenTimelineIO.

A timeline has one video track, and tracks of sound beside it.
"""

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from fractions import Fraction
from io import StringIO
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

import opentimelineio as otio
from otio_fcpx_xml_adapter.fcpx_xml import FcpxOtio, from_rational_time

from vidsum.outputs import as_utf8
from vidsum.results.cuts import Cut
from vidsum.results.media import Media, check_place, url_of


@dataclass(frozen=True)
class Clip:
    """A cut of a video."""

    cut: Cut
    media: Media
    """Those of a timeline have one rate, and count time codes alike."""
    place: str
    """Path of the video as the file is to say it, absolute or relative to the file."""


@dataclass(frozen=True)
class Layout:
    """What a file format wants of a timeline."""

    name: str
    """Of the timeline."""
    rate: float
    target_of: Callable[[str], str] = url_of
    """How the file writes the place of a video."""
    counts_time_code: bool = True
    """Frames of the video count from its time code; else from 0."""
    n_sound_tracks: int = 1
    """Where the video has sound."""


def timeline_of(clips: Sequence[Clip], layout: Layout) -> Any:
    """The clips one after the other; each has a marker with its label.

    Raises ValueError: a video's time code is none of its frame rate.
    """
    rate = layout.rate
    timeline = otio.schema.Timeline(layout.name, global_start_time=otio.opentime.RationalTime(0, rate))
    timeline.tracks.append(otio.schema.Track("Video", kind=otio.schema.TrackKind.Video))
    for number in range(1, min(layout.n_sound_tracks, max(clip.media.n_channels for clip in clips)) + 1):
        timeline.tracks.append(otio.schema.Track(f"Audio {number}", kind=otio.schema.TrackKind.Audio))
    for one in clips:
        cut, media = one.cut, one.media
        reference, start = _reference(one, layout)
        first, end = media.frames(cut.start_s, cut.end_s)
        source = _range(start + first, start + end, rate)
        for number, track in enumerate(timeline.tracks):
            if number > media.n_channels:
                track.append(otio.schema.Gap(source_range=_range(0, end - first, rate)))
                continue
            name = one_line(media.path.name)
            clip = otio.schema.Clip(name, reference.clone(), source, {"cmx_3600": {"reel": "AX"}})
            if number == 0:
                clip.markers.append(_marker(cut, start + first, rate))
                clip.metadata["vidsum"] = _facts(cut)
            else:
                track_of = {"mediatype": "audio", "trackindex": str(number)}
                clip.metadata["fcp_xml"] = {"sourcetrack": track_of}
            track.append(clip)
    return timeline


def _reference(clip: Clip, layout: Layout) -> tuple[Any, int]:
    """The video of a clip as timelines name it, and the number of its first frame."""
    media, start = clip.media, 0
    if layout.counts_time_code and media.time_code is not None:
        start = int(otio.opentime.from_timecode(media.time_code, layout.rate).value)
    available = _range(start, start + media.n_frames, layout.rate)
    reference = otio.schema.ExternalReference(layout.target_of(clip.place), available)
    if media.time_code is not None or media.is_drop_frame:
        display = "DF" if media.is_drop_frame else "NDF"
        reference.metadata["fcp_xml"] = {"timecode": {"displayformat": display}}
    return reference, start


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


def to_editor(format: str, clips: Sequence[Clip], name: str) -> str:
    """The text of a timeline in one of `EDITORS`.

    Args:
        format: its name.
        clips: in order, one at least. The first decides the size of the picture.
        name: of the timeline.

    Raises:
        InputError: the format cannot name a video.
        ValueError: the time code of a video is none.
        otio.exceptions.OTIOError: the adapter refuses it for another reason.
    """
    for clip in clips:
        check_place(format, clip.place)
    with warnings.catch_warnings():  # of what the adapters do
        warnings.simplefilter("ignore")
        return EDITORS[format](clips, name)


def _to_otio(clips: Sequence[Clip], name: str) -> str:
    return _written(timeline_of(clips, Layout(name, float(clips[0].media.rate))), "otio_json") + "\n"


def _to_edl(clips: Sequence[Clip], name: str) -> str:
    """CMX 3600. Where numbers are not dropped at 29.97 Hz, a rate of 30 makes the adapter count them all."""
    media = clips[0].media
    rate = float(media.rate if media.is_drop_frame else round(media.rate))
    text = _written(timeline_of(clips, Layout(name, rate, _posix, n_sound_tracks=0)), "cmx_3600")
    code_mode = "DROP FRAME" if media.is_drop_frame else "NON-DROP FRAME"
    text = text.replace("\n\n", f"\nFCM: {code_mode}\n\n", 1)

    def with_sound(event: re.Match[str]) -> str:
        has_sound = clips[int(event[2]) - 1].media.n_channels
        return f"{event[1]}AA/V" if has_sound else event[0]

    return re.sub(r"^((\d+)  AX +)V   ", with_sound, text, flags=re.MULTILINE)


def _to_fcpxml(clips: Sequence[Clip], name: str) -> str:
    from vidsum.results.formats import Fcpxml

    layout = Layout(name, float(clips[0].media.rate), n_sound_tracks=0)
    channels = {url_of(clip.place): clip.media.n_channels for clip in clips}
    return str(Fcpxml(timeline_of(clips, layout), clips[0].media, channels).to_xml())


def _to_xml(clips: Sequence[Clip], name: str) -> str:
    """Final Cut Pro 7 XML, which Premiere and Resolve read: one track per channel of sound."""
    media = clips[0].media
    timeline = timeline_of(clips, Layout(name, float(media.rate), n_sound_tracks=2))
    size = {"width": str(media.width), "height": str(media.height)}
    timeline.metadata["fcp_xml"] = {"media": {"video": {"format": {"samplecharacteristics": size}}}}
    return _written(timeline, "fcp_xml")


def _to_mlt(clips: Sequence[Clip], name: str) -> str:
    media = clips[0].media
    layout = Layout(name, float(media.rate), _posix, counts_time_code=False, n_sound_tracks=0)
    return _written(timeline_of(clips, layout), "mlt_xml", **_profile(media))


def _to_kdenlive(clips: Sequence[Clip], name: str) -> str:
    """A Kdenlive project; the adapter knows one size of picture, and a black track without an end."""
    media = clips[0].media
    timeline = timeline_of(clips, Layout(name, float(media.rate), counts_time_code=False))
    timeline.tracks[:] = [track.clone() for track in timeline.tracks][::-1]  # Kdenlive has sound below
    with redirect_stdout(StringIO()):  # it prints advice
        root = ElementTree.fromstring(_written(timeline, "kdenlive"))
    for profile in root.iter("profile"):
        profile.attrib |= {"description": f"{media.width}x{media.height}", **_profile(media)}
    for black in root.iterfind("producer[@id='black_track']"):
        black.attrib |= {"in": "0", "out": f"{timeline.duration().value - 1:.0f}"}
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


EDITORS: Mapping[str, Callable[[Sequence[Clip], str], str]] = {
    "otio": _to_otio,
    "edl": _to_edl,
    "fcpxml": _to_fcpxml,
    "xml": _to_xml,
    "mlt": _to_mlt,
    "kdenlive": _to_kdenlive,
}
"""Writers of the formats that name the video's frames."""


def _posix(place: str) -> str:
    return Path(place).as_posix()


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


class Fcpxml(FcpxOtio):  # type: ignore[misc]
    """The document of a timeline whose clips have the rate of one video."""

    def __init__(self, timeline: Any, media: Media, channels: Mapping[str, int]) -> None:
        """`media` decides rate and size; `channels` are those of sound, by URL of a video."""
        self.media, self.channels = media, channels
        super().__init__(timeline)

    def _stack_to_sequence(self, stack: Any, compound_clip: bool = False) -> Element:
        sequence: Element = super()._stack_to_sequence(stack, compound_clip)
        sequence.set("tcStart", "0s")
        sequence.set("tcFormat", self._code_format())
        return sequence

    def _find_or_create_format_from(self, clip: Any) -> Element:
        found: Element | None = self.resource_element.find("format")
        if found is not None:
            return found
        return SubElement(
            self.resource_element,
            "format",
            id=self._resource_id_generator(),
            frameDuration=f"{1 / self.media.rate}s",
            width=str(self.media.width),
            height=str(self.media.height),
        )

    def _add_asset(self, clip: Any, compound_only: bool = False) -> str:
        asset: Element = self._create_asset_element(clip, self._find_or_create_format_from(clip))
        asset.set("hasVideo", "1")
        if n_channels := self.channels[clip.media_reference.target_url]:
            asset.set("hasAudio", "1")
            asset.set("audioSources", "1")
            asset.set("audioChannels", str(n_channels))
        return asset.attrib["id"]

    def _element_for_clip(self, item: Any, asset_id: str, duration: str, lane: int | None) -> Element:
        return Element(
            "asset-clip",
            ref=asset_id,
            name=item.name,
            offset=from_rational_time(item.trimmed_range_in_parent().start_time),
            start=from_rational_time(item.source_range.start_time),
            duration=duration,
            tcFormat=self._code_format(),
        )

    def _code_format(self) -> str:
        return "DF" if self.media.is_drop_frame else "NDF"

    @staticmethod
    def _framerate_to_frame_duration(framerate: float) -> str:
        return f"{1 / Fraction(framerate).limit_denominator(1001)}s"
