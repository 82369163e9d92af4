"""Captions of clips and of sampled frames of videos.

Clips: JSON lines of `{"vid", "captions"}`, also gzipped, one caption per 2 s (github.com/YoucanBaby/VTG-GPT);
`captions` is a list of texts, or such a list as Python writes it. Frames: JSON, `{video: {"picks": [0, 15,
...], "captions": [...]}}`, one per 15th frame as in the published h5 files (github.com/liuliuli302/tfnet).
"""

import ast
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from vidsum import checkpoints
from vidsum.errors import InputError, quote, safe_name
from vidsum.grounding.text_encoders import embed_cached, load_text_encoder
from vidsum.io.text import read_json, read_packed_text
from vidsum.lab.datasets.entries import DataEntry, entry_of, parse_lines
from vidsum.lab.datasets.group import MOST_FRAMES
from vidsum.types import FloatArray, IntArray, Progress


@dataclass(frozen=True, eq=False)
class FrameCaptions:
    """Captions of the sampled frames of one video."""

    name: str  # the video's, as in the file: a YouTube id for TVSum, with underscores for blanks for SumMe
    picks: IntArray  # [T] frame number of each caption; at least one, and they increase
    captions: tuple[str, ...]  # one per pick, none of them blank


def read_frame_captions(path: Path) -> dict[str, FrameCaptions]:
    """Read the captions of all videos of a file, by name. Raises InputError: unreadable or inconsistent."""
    videos: Mapping[str, Any] = entry_of(str(path), read_json(path)).values
    if not videos:
        raise InputError("holds no video", subject=path)
    return {
        name: _captions(name, entry_of(f"{path}: {safe_name(name)}", captions))
        for name, captions in videos.items()
    }


def _captions(name: str, entry: DataEntry) -> FrameCaptions:
    picks, captions = entry.list("picks"), entry.list("captions")
    if len(picks) != len(captions):
        raise entry.fault(f"has {len(captions)} captions for {len(picks)} picks")
    if not picks:
        raise entry.fault("has no captions")
    for pick in picks:
        if not isinstance(pick, int) or isinstance(pick, bool) or not 0 <= pick <= MOST_FRAMES:
            raise entry.fault(f"has a pick that is not the number of a frame: {quote(pick)}")
    frames = np.array(picks, np.int64)
    if (stalls := np.flatnonzero(np.diff(frames) <= 0)).size:
        before, after = frames[stalls[0] :][:2]
        raise entry.fault(f"has picks that do not increase: {after} after {before}")
    for frame, caption in zip(picks, captions, strict=True):
        if not isinstance(caption, str) or not caption.strip() or not is_unicode(caption):
            raise entry.fault(f"has no text as the caption of frame {frame}: {quote(caption)}")
    return FrameCaptions(name, frames, tuple(captions))


def is_unicode(text: str) -> bool:
    """Return whether no half of a surrogate pair stands alone, which JSON allows and tokenizers do not."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


ENCODER = "minilm"  # the text encoder of captions, and the name of the features that are captions of frames
_SUFFIXES = (".jsonl", ".jsonl.gz")

Captions = Mapping[str, tuple[str, ...]]


def is_captions(source: Path) -> bool:
    return source.name.endswith(_SUFFIXES)


def read_clip_captions(path: Path) -> Captions:
    """Return the captions of each video's clips. Raises InputError: unreadable, or a video without texts."""
    videos: dict[str, tuple[str, ...]] = {}
    for entry in parse_lines(path, read_packed_text(path)):
        video = entry.text("vid")
        if video in videos:
            raise entry.fault(f"has the video {safe_name(video)} again")
        videos[video] = _captions_of_line(entry)
    if not videos:
        raise InputError("holds no captions", subject=path)
    return videos


def embed_captions(videos: Captions, progress: Progress | None = None) -> dict[str, FloatArray]:
    """Return [N, 384] of length 1 for each video's clips."""
    rows = embed_texts([caption for captions in videos.values() for caption in captions], progress)
    ends = np.cumsum([len(captions) for captions in videos.values()])
    return dict(zip(videos, np.split(rows, ends[:-1]), strict=True))


def embed_texts(texts: Sequence[str], progress: Progress | None = None) -> FloatArray:
    """Return [N, 384] texts by MiniLM, each distinct one once; kept on disk. WeightsError: no weights."""
    sha256 = checkpoints.sha256_of(ENCODER)
    return embed_cached(texts, lambda part: load_text_encoder(ENCODER).encode(part), sha256, progress)


def _captions_of_line(entry: DataEntry) -> tuple[str, ...]:
    field = entry.values.get("captions")
    captions: Any = _literal(entry, field) if isinstance(field, str) else field
    if not isinstance(captions, list) or not captions:
        raise entry.fault(f"has no list of captions: {quote(field)}")
    for number, caption in enumerate(captions):
        if not isinstance(caption, str) or not is_unicode(caption):
            raise entry.fault(f"has no text as caption {number}: {quote(caption)}")
    return tuple(captions)


def _literal(entry: DataEntry, text: str) -> Any:
    """Return the value of a Python literal; nothing in it is run."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a backslash that escapes nothing stays as it is
            return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as error:
        raise entry.fault(f"has captions that are not a list: {quote(text)}") from error
