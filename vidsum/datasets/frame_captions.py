"""Captions of sampled frames: `{video: {"picks": [0, 15, ...], "captions": ["a dog runs", ...]}}`, as JSON.

The layout of the captions of TVSum and SumMe in github.com/liuliuli302/tfnet: one caption for every 15th
frame, of which the published h5 files hold the features.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from vidsum.datasets.entries import Entry, entry_of
from vidsum.datasets.group import MOST_FRAMES, IntArray
from vidsum.errors import InputError
from vidsum.text_files import named, read_json, shown


@dataclass(frozen=True, eq=False)
class FrameCaptions:
    """What sampled frames of one video show."""

    name: str
    """The video's, as in the file: a YouTube id for TVSum, with underscores for blanks for SumMe."""
    picks: IntArray
    """[T] frame number of each caption; at least one, and they increase."""
    captions: tuple[str, ...]
    """One per pick, none of them blank."""


def read_frame_captions(path: str | os.PathLike[str]) -> dict[str, FrameCaptions]:
    """Read the captions of all videos of a file: by name, in the order of the file.

    Raises:
        InputError: the file cannot be read, is not an object of objects, or holds no video; or the frame
            numbers of a video are not whole, do not increase, or do not match its captions, or a caption is
            not text. The message names the file, the video and the fault.
    """
    where = os.fspath(path)
    videos: Mapping[str, Any] = entry_of(where, read_json(path)).values
    if not videos:
        raise InputError(f"{where}: holds no video")
    return {name: _captions(name, entry_of(f"{where}: {named(name)}", each)) for name, each in videos.items()}


def _captions(name: str, entry: Entry) -> FrameCaptions:
    picks, captions = entry.list("picks"), entry.list("captions")
    if len(picks) != len(captions):
        raise entry.fault(f"has {len(captions)} captions for {len(picks)} picks")
    if not picks:
        raise entry.fault("has no captions")
    for pick in picks:
        if not isinstance(pick, int) or isinstance(pick, bool) or not 0 <= pick <= MOST_FRAMES:
            raise entry.fault(f"has a pick that is not the number of a frame: {shown(pick)}")
    frames = np.array(picks, np.int64)
    if (stalls := np.flatnonzero(np.diff(frames) <= 0)).size:
        raise entry.fault(
            f"has picks that do not increase: {frames[stalls[0] + 1]} after {frames[stalls[0]]}"
        )
    for frame, caption in zip(picks, captions, strict=True):
        if not isinstance(caption, str) or not caption.strip() or not is_unicode(caption):
            raise entry.fault(f"has no text as the caption of frame {frame}: {shown(caption)}")
    return FrameCaptions(name, frames, tuple(captions))


def is_unicode(text: str) -> bool:
    """Whether no half of a surrogate pair stands alone, which JSON allows and tokenizers do not."""
    return not any("\ud800" <= character <= "\udfff" for character in text)
