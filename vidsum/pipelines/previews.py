"""Previews of what a result cuts from its video: short, small moving pictures."""

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from vidsum.errors import UsageError
from vidsum.pipelines.timelines import video_behind
from vidsum.settings import PreviewFormat
from vidsum.timelines.cuts import cuts_of
from vidsum.types import VideoInfo
from vidsum.video.animated import animated
from vidsum.video.frames import Exact
from vidsum.video.stills import read_frames_at

_FPS = 8
_LONGEST_S = 6.0
_SIDE = 320


def previews(document: Mapping[str, Any], format: PreviewFormat) -> Iterator[tuple[str, bytes]]:
    """The name and content of a preview of each segment, shot or moment: its first 6 s, 8 pictures a second.

    Names are numbers from 1: `2.gif`; those of moments that texts describe are query and rank: `1_2.gif`.
    Pictures are 320 pixels at most on the longer side.

    Args:
        document: of summarize, shots, ground or highlights.
        format: of the previews.

    Raises:
        UsageError: the result is of features.
        InputError: the video is missing or another one.
    """
    if document["video"] is None:
        fault = "cannot write previews: the result was computed from features only"
        raise UsageError(fault, hint="give the video")
    info = video_behind(document)
    size = _size(info)
    for name, cut in zip(_names(document), cuts_of(document), strict=True):
        length_s = min(cut.end_s - cut.start_s, _LONGEST_S)
        n_pictures = max(1, math.ceil(length_s * _FPS - 1e-6))
        times_s = [cut.start_s + number / _FPS for number in range(n_pictures)]
        pictures = [frame.image for frame in read_frames_at(info.path, times_s, size, info=info)]
        yield f"{name}.{format}", animated(pictures, format, _FPS)


def is_preview(name: str) -> bool:
    """Whether a file has the name of a preview."""
    return re.fullmatch(r"\d+(_\d+)?\.(gif|webp|mp4)", name) is not None


def _names(document: Mapping[str, Any]) -> list[str]:
    if "queries" not in document:
        return [str(number) for number in range(1, len(cuts_of(document)) + 1)]
    return [
        f"{number}_{rank}"
        for number, query in enumerate(document["queries"], 1)
        for rank in range(1, len(query["moments"]) + 1)
    ]


def _size(info: VideoInfo) -> Exact:
    """Of even sides, as H.264 needs them, and no larger than the video."""
    scale = min(1.0, _SIDE / max(info.display_width, info.display_height))
    width, height = (
        max(2, 2 * round(scale * side / 2)) for side in (info.display_width, info.display_height)
    )
    return Exact(width, height)
