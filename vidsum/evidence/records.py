"""Vectors of clips, shots and passages as records of small integers; docs/archive.md has what is lost.

A row of length 1 takes a byte per number and a scale; class probabilities a byte each, on a logarithmic
scale, since the likelihood of a text depends on ratios. Records of pieces of shots hold a projection of the
row and the most likely classes alone.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from vidsum.grounding.actions import WEIGHT_LINE
from vidsum.grounding.spaces import ClassMixture, ClipEmbeddings
from vidsum.types import BoolArray, FloatArray, TimeArray

Records = npt.NDArray[np.void]

AXES = 128  # numbers of a piece's vector: 99 % of the variance of the map's rows for photographs
CLASSES = 16  # classes stored per piece
PIECE_S = 3  # maximum seconds of a piece of a shot: a probability is smoothed over as many
_MAX_SCALE = 1.001 / 127  # rows have a length of 1
_MIN_LOG = float(np.log(1e-6))
_LOG_STEP = -_MIN_LOG / 255  # step of the logarithm of a probability


class ClassNames(NamedTuple):
    """The names of the classes that networks see in clips, in a space; none in most spaces."""

    objects: FloatArray  # [K, D]
    actions: FloatArray  # [A, D]


def clip_type(dim: int, classes: int) -> np.dtype[np.void]:
    """Return the record of a second: its row [D], class probabilities [K], and whether it is still."""
    return np.dtype([("row", "i1", dim), ("scale", "<f4"), ("classes", "u1", classes), ("still", "?")])


def piece_type(axes: int, classes: int) -> np.dtype[np.void]:
    """Return the record of a piece: shot number, mean row on the axes [d], likeliest classes [C]."""
    row = [("shot", "<u4"), ("row", "i1", axes), ("scale", "<f4")]
    return np.dtype([*row, ("class", "<u2", classes), ("share", "u1", classes)])


def action_type(actions: int) -> np.dtype[np.void]:
    """Return the record of the actions of a second: their probabilities [A]."""
    return np.dtype([("actions", "u1", actions)])


def row_type(dim: int) -> np.dtype[np.void]:
    """Return the record of a passage: a row."""
    return np.dtype([("row", "i1", dim), ("scale", "<f4")])


def are_numbers(records: npt.NDArray[Any]) -> BoolArray:
    """Return [N] whether the numbers of records are in their range."""
    names = records.dtype.names or ()
    valid = np.ones(len(records), bool)
    if not names:
        valid &= np.isfinite(records)
    if "scale" in names:
        valid &= (records["scale"] >= 0) & (records["scale"] <= _MAX_SCALE)
    if "still" in names:
        valid &= records["still"].view(np.uint8) <= 1
    return valid


def pack_clips(video: ClipEmbeddings) -> Records:
    """Return [T] records of the clips of a video."""
    probabilities = _probabilities(video)
    records = np.zeros(len(video), clip_type(video.rows.shape[1], probabilities.shape[1]))
    write_rows(records, video.rows)
    records["classes"] = _quantise(probabilities)
    records["still"] = False if video.is_still is None else video.is_still
    return records


def pack_actions(video: ClipEmbeddings) -> Records | None:
    """Return [T] records of the actions in the clips of a video, if they are known."""
    if video.actions is None:
        return None
    records = np.zeros(len(video), action_type(video.actions.probabilities.shape[1]))
    records["actions"] = _quantise(video.actions.probabilities)
    return records


def unpack_clips(
    records: Records,
    actions: Records | None,
    names: ClassNames,
    duration_s: float,
    step_s: float,
    shots_s: TimeArray | None = None,
) -> ClipEmbeddings:
    """Return the clips of `pack_clips` and `pack_actions`."""
    times = np.arange(len(records), dtype=np.float64) * step_s
    video = ClipEmbeddings(
        unpack_rows(records), times, step_s, duration_s, shots_s=shots_s, is_still=records["still"]
    )
    if len(names.objects):
        objects = ClassMixture(_read_probabilities(records["classes"]), names.objects)
        video = replace(video, objects=objects)
    if actions is None:
        return video
    seen = ClassMixture(_read_probabilities(actions["actions"]), names.actions, WEIGHT_LINE)
    return replace(video, actions=seen)


def _read_probabilities(levels: npt.NDArray[np.uint8]) -> FloatArray:
    probabilities = _PROBABILITIES[levels]  # six times as fast as `take`
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    return np.asarray(probabilities, np.float32)


def pack_pieces(video: ClipEmbeddings, first: npt.NDArray[np.int64], axes: FloatArray) -> Records:
    """Return [P] records of the pieces of the shots that begin with the clips `first` [S].

    Shots of one clip are left out as in `vidsum.evidence.match_probability.list_windows`.
    """
    probabilities = _probabilities(video)
    ends = np.append(first[1:], len(video))
    parts = [np.arange(start, end, PIECE_S) for start, end in zip(first, ends, strict=True)]
    starts = np.concatenate(parts)
    counts = np.diff(np.append(starts, len(video)))[:, None]
    shares = np.asarray(np.add.reduceat(probabilities, starts) / counts, np.float32)
    n_classes = min(CLASSES, shares.shape[1])
    likeliest = np.argpartition(-shares, max(0, n_classes - 1), axis=1)[:, :n_classes]
    records = np.zeros(len(starts), piece_type(axes.shape[1], n_classes))
    records["shot"] = np.repeat(np.arange(len(first)), [len(part) for part in parts])
    write_rows(records, np.asarray(np.add.reduceat(video.rows, starts) / counts @ axes, np.float32))
    records["class"] = likeliest
    records["share"] = _quantise(np.take_along_axis(shares, likeliest, 1))
    is_long = (ends - first > 1)[records["shot"]]
    return records[is_long] if is_long.any() else records


def _probabilities(video: ClipEmbeddings) -> FloatArray:
    """Return [T, K] probabilities of the classes that the network of pictures names, if it names any."""
    return video.objects.probabilities if video.objects else np.zeros((len(video), 0), np.float32)


def unpack_shares(records: Records) -> FloatArray:
    """Return [P, C] probabilities of the likeliest classes of pieces."""
    return np.asarray(_PROBABILITIES[records["share"]])


def parse_records(content: bytes, layout: npt.DTypeLike) -> npt.NDArray[Any]:
    """Return the records in a BLOB. Raises ValueError: one is out of range, or its length does not fit."""
    kind = np.dtype(layout)
    if len(content) % kind.itemsize:
        raise ValueError("has a record of another size")
    records = np.frombuffer(content, kind)
    if not are_numbers(records).all():
        raise ValueError("has a record out of range")
    return records


def pack_rows(rows: FloatArray) -> Records:
    """Return [N] records of rows [N, D]."""
    records = np.zeros(len(rows), row_type(rows.shape[1]))
    write_rows(records, rows)
    return records


def write_rows(records: Records, rows: FloatArray) -> None:
    """Write rows [N, D] into records; each number is off by at most 1/254 of the row's largest."""
    scales = np.abs(rows).max(axis=1, initial=0) / 127
    records["scale"] = scales
    records["row"] = np.rint(rows / np.where(scales > 0, scales, 1)[:, None])


def unpack_rows(records: Records) -> FloatArray:
    """Return [N, D] rows of records."""
    return np.asarray(records["row"].astype(np.float32) * records["scale"][:, None], np.float32)


def _quantise(probabilities: FloatArray) -> npt.NDArray[np.uint8]:
    logs = np.log(np.maximum(probabilities, np.float32(1e-6)))
    return np.rint((logs - _MIN_LOG) / _LOG_STEP).clip(0, 255).astype(np.uint8)


_PROBABILITIES = np.exp(_MIN_LOG + _LOG_STEP * np.arange(256)).astype(np.float32)
