"""Embed example pictures and parts of videos, for searches by similarity."""

import os
from pathlib import Path

import numpy as np

from vidsum.archive.checked_records import read_records
from vidsum.archive.index import plan_video
from vidsum.archive.rows import list_shots, read_rows
from vidsum.archive.space_versions import embed_class_names, list_answering
from vidsum.archive.store import Database
from vidsum.errors import InputError, Mention, fill
from vidsum.evidence.records import clip_type, unpack_rows
from vidsum.features.settings import Extraction
from vidsum.grounding.spaces import STEP_S, describe_space
from vidsum.models.scaling import unit_rows
from vidsum.results.clock import shift_times
from vidsum.times import parse_interval
from vidsum.types import FloatArray
from vidsum.video.probe import file_offset_s

_PICTURES = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff")


def embed_example(connection: Database, space: str, like: str) -> FloatArray:
    """Return the row [1, D] of a picture or part of a video in a space. Raises InputError: cannot be read."""
    path, at, part = like.rpartition("@")
    if Path(like).is_file():
        path, start_s, end_s = like, 0.0, np.inf
    elif at and Path(path).is_file():
        offset_s = file_offset_s(path, Path(path).stat().st_size)
        start_s, end_s = shift_times(parse_interval(part), -offset_s)
        if end_s <= 0:
            raise InputError(f"ends before the video's first picture ({offset_s:.1f} s)", subject=like)
    else:
        raise InputError(
            "no such file",
            hint=fill("{}, or {}", Mention("like", "PICTURE"), Mention("like", "VIDEO@1:20-1:25")),
            subject=like,
        )
    if Path(path).suffix.lower() in _PICTURES:
        return describe_space(space).encode_images([path])
    if (stored := _stored_row(connection, space, path, start_s, end_s)) is not None:
        return stored
    clips = plan_video(space, path, Extraction()).run().clips
    if start_s >= clips.duration_s:
        raise InputError(f"starts after the video's end ({clips.duration_s:.1f} s)", subject=like)
    within = (clips.timestamps + clips.step_s > start_s) & (clips.timestamps < end_s)
    return unit_rows(clips.rows[within].mean(axis=0, keepdims=True))


def _stored_row(
    connection: Database, space: str, path: str, start_s: float, end_s: float
) -> FloatArray | None:
    """Return the row of a video that is unchanged in the archive, without decoding it."""
    status = Path(path).stat()
    numbers = ", ".join(str(version.id) for version in list_answering(connection, space))
    source = (
        "FROM files JOIN videos ON videos.id = files.video "
        f"WHERE path = ? AND files.bytes = ? AND mtime_ns = ? AND space IN ({numbers or 0})"
    )
    facts = (os.fsencode(Path(path).absolute()), status.st_size, status.st_mtime_ns)
    layout = clip_type(describe_space(space).dim, len(embed_class_names(space).objects))
    parts = [
        (f"shots.id {shot.id}: clips", shot.clips)
        for video, duration_s in read_rows(connection, ["videos.id", "videos.duration_s"], source, facts)
        for shot in list_shots(connection, video, duration_s, with_clips=True)
    ]
    rows = unpack_rows(read_records(layout, *parts))
    times = STEP_S * np.arange(len(rows))
    within = rows[(times + STEP_S > start_s) & (times < end_s)]
    return unit_rows(within.mean(axis=0, keepdims=True)) if len(within) else None
