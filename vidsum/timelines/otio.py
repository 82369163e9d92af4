"""Cuts of a video as an OpenTimelineIO timeline: one video track, and tracks of sound beside it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import opentimelineio as otio

from vidsum.outputs import as_utf8
from vidsum.timelines.cuts import Cut
from vidsum.timelines.media import Media


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

    Raises:
        ValueError: the video's time code is none of its frame rate.
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
