"""The files that editors read, each written by an adapter of OpenTimelineIO."""

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import opentimelineio as otio

from vidsum.timelines.cuts import Cut
from vidsum.timelines.media import Media, check_place, url_of
from vidsum.timelines.otio import Layout, timeline_of

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
    from vidsum.timelines.fcpxml import Fcpxml

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
