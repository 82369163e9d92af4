"""The formats of exports: the one table of them, and the timelines that are plain text or JSON."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any

from vidsum.results import lists, xml_formats
from vidsum.results.cut_list import Cut
from vidsum.results.media import Clip, check_path, one_line, url_of
from vidsum.results.xml_formats import Size


def format_timeline(format: str, clips: Sequence[Clip], name: str, size: Size = None) -> str:
    """Return the text of a timeline of one clip at least. Raises InputError: path; ValueError: time code."""
    timeline = FORMATS[format]
    assert isinstance(timeline, TimelineFormat)
    if timeline.has_plain_paths:
        for clip in clips:
            check_path(format, clip.place)
    return timeline.write(clips, name, size)


def to_otio(clips: Sequence[Clip], name: str, _: Size) -> str:
    """OpenTimelineIO, without a size. One track, of the picture: LosslessCut shows all tracks."""
    rate = float(clips[0].media.rate)

    def time(value: int) -> dict[str, Any]:
        return {"OTIO_SCHEMA": "RationalTime.1", "rate": rate, "value": float(value)}

    def span(start: int, length: int) -> dict[str, Any]:
        return {"OTIO_SCHEMA": "TimeRange.1", "duration": time(length), "start_time": time(start)}

    def of(schema: str, name: str, **about: Any) -> dict[str, Any]:
        return {"OTIO_SCHEMA": schema, "metadata": {}, "name": name, **about}

    def item(schema: str, name: str, **about: Any) -> dict[str, Any]:
        return of(
            schema, name, **{"source_range": None, "effects": [], "markers": [], "enabled": True, **about}
        )

    def clip_of(clip: Clip) -> dict[str, Any]:
        start = clip.media.first_number
        first = start + clip.span[0]
        media = {"available_range": span(start, clip.media.n_frames), "available_image_bounds": None}
        reference = of("ExternalReference.1", "", **media, target_url=url_of(clip.place))
        marker = of("Marker.2", clip.marker, color="CYAN", marked_range=span(first, 1), comment="")
        return item(
            "Clip.2",
            one_line(clip.cut.label),
            metadata={"vidsum": _facts(clip.cut)},
            source_range=span(first, clip.n_frames),
            markers=[marker],
            media_references={"DEFAULT_MEDIA": reference},
            active_media_reference_key="DEFAULT_MEDIA",
        )

    track = item("Track.1", "Video", children=[clip_of(clip) for clip in clips], kind="Video")
    stack = item("Stack.1", "tracks", children=[track])
    timeline = of("Timeline.1", one_line(name), global_start_time=time(0), tracks=stack)
    return json.dumps(timeline, indent=4, ensure_ascii=False) + "\n"


def _facts(cut: Cut) -> dict[str, Any]:
    facts = {"start_s": cut.start_s, "end_s": cut.end_s, "label": one_line(cut.label), "score": cut.score}
    return {name: value for name, value in facts.items() if value is not None}


def to_edl(clips: Sequence[Clip], name: str, _: Size) -> str:
    """CMX 3600, which has no size, and whose markers are Avid's locators."""
    code_mode = "DROP FRAME" if clips[0].media.is_drop_frame else "NON-DROP FRAME"
    lines = [f"TITLE: {one_line(name)}", f"FCM: {code_mode}", ""]
    ends = accumulate(clip.n_frames for clip in clips)
    for number, (clip, end) in enumerate(zip(clips, ends, strict=True), 1):
        first, media = clip.media.first_number + clip.span[0], clip.media
        frames = (first, first + clip.n_frames, end - clip.n_frames, end)
        tracks = "AA/V" if media.n_channels else "V"
        lines += [
            f"{number:03}  AX       {tracks:<5} C        {' '.join(map(media.time_code_of, frames))}",
            f"* FROM CLIP NAME:  {clip.name}",
            f"* FROM CLIP: {Path(clip.place).as_posix()}",
            f"* LOC: {media.time_code_of(first)} CYAN    {clip.marker}",
        ]
    return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class TimelineFormat:
    """A format that names the video's frames."""

    ending: str  # suffix of its files
    write: Callable[[Sequence[Clip], str, Size], str]  # makes its text of clips, a name and a size
    has_plain_paths: bool = False  # whether it names a video by its path, not by a URL


@dataclass(frozen=True)
class ListFormat:
    """A format that needs neither the video nor its frames."""

    ending: str
    write: Callable[[Sequence[Cut], float, float], str]  # of cuts, the video's end and its first picture


FORMATS: Mapping[str, TimelineFormat | ListFormat] = {
    "otio": TimelineFormat(".otio", to_otio),
    "edl": TimelineFormat(".edl", to_edl, has_plain_paths=True),
    # FCPXML 1.10, by Apple's document type: a library with an event with a project
    "fcpxml": TimelineFormat(".fcpxml", partial(xml_formats.render, "fcpxml.xml")),
    # Final Cut Pro 7: a track for each channel of sound, its clips linked to clips of the picture
    "xml": TimelineFormat(".xml", partial(xml_formats.render, "xmeml.xml")),
    "kdenlive": TimelineFormat(".kdenlive", xml_formats.to_kdenlive, has_plain_paths=True),
    "mlt": TimelineFormat(".mlt", xml_formats.to_mlt, has_plain_paths=True),
    "kodi": ListFormat(".kodi.edl", lists.to_kodi),
    "csv": ListFormat(".csv", lists.to_csv),
    "srt": ListFormat(".srt", lists.to_srt),
    "vtt": ListFormat(".vtt", lists.to_vtt),
    "chapters": ListFormat(".chapters.txt", lists.to_chapters),
    "ffmetadata": ListFormat(".ffmetadata", lists.to_ffmetadata),
}  # all formats, in the order of `ExportFormat`, which names them
PROGRAMS: Mapping[str, str] = {
    "losslesscut": "csv",
    "premiere": "xml",
    "resolve": "fcpxml",
    "davinci": "fcpxml",
    "finalcut": "fcpxml",
    "youtube": "chapters",
}  # the format that is written for a program that is named in its place
