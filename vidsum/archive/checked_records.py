"""Records in BLOBs of an archive, checked as they are read: it may come from a stranger."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from vidsum.archive.rows import TOLERANCE_S, StoredShot, damaged
from vidsum.evidence.records import ClassNames, Records, action_type, are_numbers, clip_type
from vidsum.types import BoolArray, TimeArray


def read_records(
    layout: npt.DTypeLike, *parts: tuple[str, bytes], is_valid: Callable[[Records], BoolArray] | None = None
) -> npt.NDArray[Any]:
    """Return the records in BLOBs, joined; each part is the name of a place in the archive, and its BLOB.

    `is_valid` returns for [N] records whether they are as vidsum writes them, in addition to what the layout
    says. Raises DamagedArchiveError: one is not, or a length does not fit.
    """
    kind = np.dtype(layout)
    for place, content in parts:
        if len(content) % kind.itemsize:
            raise damaged(f"{place} has a record of another size")
    records = np.frombuffer(b"".join(content for _, content in parts), kind)
    valid = are_numbers(records)
    if is_valid:
        valid = np.logical_and(valid, is_valid(records))
    if not valid.all():
        ends = np.cumsum([len(content) // kind.itemsize for _, content in parts])
        place, _ = parts[int(np.searchsorted(ends, int(valid.argmin()), side="right"))]
        raise damaged(f"{place} has a record out of range")
    return records


def read_clips(shots: Sequence[StoredShot], dim: int, names: ClassNames) -> tuple[Records, Records | None]:
    """Return the records [T] of the clips of shots, and of their actions, if these are known.

    Raises DamagedArchiveError: as `read_records`, or a shot has not as many actions as clips.
    """
    layout, of_actions = clip_type(dim, len(names.objects)), action_type(len(names.actions))
    records = read_records(layout, *((f"shots.id {shot.id}: clips", shot.clips) for shot in shots))
    if all(shot.actions is None for shot in shots):
        return records, None
    parts = list[tuple[str, bytes]]()
    for shot in shots:
        actions, place = shot.actions or b"", f"shots.id {shot.id}: actions"
        if len(actions) != len(shot.clips) // layout.itemsize * of_actions.itemsize:
            raise damaged(f"{place} are not as many as its clips")
        parts.append((place, actions))
    return records, read_records(of_actions, *parts)


def read_edges(video: int, content: bytes, duration_s: float) -> TimeArray:
    """Return the edges [E + 1] of the shots of a video, which rise from 0 to its end."""
    place = f"videos.id {video}: edges"
    edges: TimeArray = read_records(np.float64, (place, content))
    is_whole = len(edges) > 1 and abs(edges[0]) <= TOLERANCE_S and abs(edges[-1] - duration_s) <= TOLERANCE_S
    if not is_whole or (np.diff(edges) < 0).any():
        raise damaged(f"{place} do not lead from 0 to {duration_s:g} s")
    return edges
