"""The moments of all videos of an archive that a request describes, by what is seen.

All shots are scanned by their records; the clips of the likeliest are then scored exactly; last, the edges of
moments are found in the best videos as `ground` finds them. docs/archive.md has the rules.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

import numpy as np
import numpy.typing as npt

from vidsum.archive.packed import (
    CLASSES,
    Records,
    clip_type,
    piece_type,
    read_records,
    shares_of,
    unpack_clips,
)
from vidsum.archive.store import Database
from vidsum.archive.wishes import Wishes
from vidsum.grounding.conse import SHARPNESS, log_likelihood
from vidsum.grounding.presence import OFFSET, SLOPE, Cohort
from vidsum.grounding.proposals import find_moments
from vidsum.grounding.spaces import STEP_S, ClipEmbeddings, similarity
from vidsum.models.scaling import unit_rows
from vidsum.types import FloatArray, Interval

_BYTES_AT_ONCE = 800_000
"""Of records that are read at a time."""
_BLOCKS_AHEAD = 4
"""Blocks that wait for the thread that computes."""
_NAMED = 10_000
"""Up to so many videos are named to the database; of more, all are read."""
_VIDEOS, _PIECES = 400, 5
"""Videos of which clips are scored exactly: the shots of so many pieces of each, per step."""
_VIDEOS_AT_ONCE = 50
"""Of those: this bounds the memory."""
_MOMENTS = 10
"""Moments of each step of several that are tried."""
_SAME = 0.95
"""Moments of two videos show the same where the cosine of their mean rows is larger, ..."""
_SAME_LENGTH = 0.5
"""... and the shorter has at least this fraction of the other's length."""


@dataclass(frozen=True)
class Step:
    """One thing to be seen: numbers of the vectors that must be there, and of those that must not."""

    wanted: tuple[int, ...]
    unwanted: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class Found:
    """A moment of a video."""

    video: int
    start_s: float
    end_s: float
    present: float
    """Probability that the request is true of it."""
    row: FloatArray | None
    """[D] of length 1, the mean of its clips; None of texts."""
    evidence: Literal["seen", "said", "described"] = "seen"
    text: str = ""
    """What is said or described."""
    parts: tuple[Interval, ...] = ()
    """The moments of the steps, where there are several."""
    also: tuple[int, ...] = ()
    """Videos that show the same."""


_Row = tuple[int, int, bytes]
"""A video, its first shot, and the records of its pieces."""


@dataclass(frozen=True, eq=False)
class _Scanned:
    """The pieces [P] of some videos."""

    block: list[_Row]
    edges: npt.NDArray[np.int64]
    """[V + 1] of the videos."""
    log_present: FloatArray
    """[steps, P]"""
    shots: npt.NDArray[np.uint32]
    """[P] number of the shot in its video."""


@dataclass(frozen=True, eq=False)
class Search:
    """Steps that follow each other in a video, and what their vectors are compared with."""

    connection: Database
    wishes: Wishes
    steps: tuple[Step, ...]
    vectors: FloatArray
    """[M, D] of length 1."""
    names: FloatArray
    """[K, D] of the classes."""
    cohort: Cohort

    def run(self, space: int, axes: FloatArray, videos: set[int]) -> list[Found]:
        """Return the moments of some videos of a space with its axes [D, d], most probable first."""
        wishes, kept = self.wishes, list[Found]()
        for video, present in self._exact(self._candidates(space, axes, videos)):
            surer = sum(each.present >= present for each in kept)
            if surer >= wishes.top_k or present < wishes.min_present:
                break
            kept = self._ranked([*kept, *self._moments(video)])
        return kept[: wishes.top_k]

    def _candidates(self, space: int, axes: FloatArray, videos: set[int]) -> dict[int, list[int]]:
        """Return the likeliest videos by the records of pieces, with the ids of the likeliest shots of
        each.
        """
        wanted = [number for step in self.steps for number in step.wanted]
        near = self.connection.near(space, self.vectors[wanted] @ axes, videos)
        best, candidates = dict[int, float](), dict[int, list[int]]()
        for scanned in self._scanned(space, axes, videos if near is None else videos & near):
            bests = np.maximum.reduceat(scanned.log_present, scanned.edges[:-1], axis=1).sum(axis=0)
            best |= zip((video for video, *_ in scanned.block), bests.tolist(), strict=True)
        likeliest = sorted(best, key=lambda video: (-best[video], video))[:_VIDEOS]
        for scanned in self._scanned(space, axes, {*likeliest}):
            for (video, first, _), (start, end) in zip(scanned.block, pairwise(scanned.edges), strict=True):
                order = np.argsort(-scanned.log_present[:, start:end], axis=1, kind="stable")
                candidates[video] = (first + np.unique(scanned.shots[start:end][order[:, :_PIECES]])).tolist()
        return candidates

    def _scanned(self, space: int, axes: FloatArray, videos: set[int]) -> Iterator[_Scanned]:
        """Blocks of videos; one thread reads while another computes."""
        with ThreadPoolExecutor(1) as worker:
            waiting = deque[Future[_Scanned]]()
            for block in self._blocks(space, videos):
                waiting.append(worker.submit(self._scan, block, axes))
                if len(waiting) > _BLOCKS_AHEAD:
                    yield waiting.popleft().result()
            yield from (each.result() for each in waiting)

    def _blocks(self, space: int, videos: set[int]) -> Iterator[list[_Row]]:
        block, size = list[_Row](), 0
        # numbers, not parameters: of those, SQLite takes some thousands at most
        only = f" AND id IN ({', '.join(map(str, videos))})" if 0 < len(videos) <= _NAMED else ""
        query = f"SELECT id, first_shot, scan FROM videos WHERE space = ?{only} ORDER BY id"
        for row in self.connection.stream(query, (space,)) if videos else ():
            if row[0] in videos:
                block.append(row)
                size += len(row[2])
            if size >= _BYTES_AT_ONCE:
                yield block
                block, size = [], 0
        if block:
            yield block

    def _scan(self, block: list[_Row], axes: FloatArray) -> _Scanned:
        layout = piece_type(axes.shape[1], min(CLASSES, len(self.names)))
        records = read_records(b"".join(content for *_, content in block), layout)
        edges = np.cumsum([0, *(len(content) // layout.itemsize for *_, content in block)])
        # the scale comes last: one pass over the rows less
        cosines = np.asarray((self.vectors @ axes) @ records["row"].astype(np.float32).T, np.float32)
        cosines *= records["scale"]
        shares, classes = shares_of(records), records["class"]
        left = np.maximum(1 - shares @ np.ones(shares.shape[1], np.float32), 0)
        near = np.exp(np.float32(SHARPNESS) * (self.vectors @ self.names.T))
        named = [np.einsum("pc,pc->p", row.take(classes), shares) + left * row.mean() for row in near]
        z = self.cohort.z(cosines, np.asarray(np.log(np.stack(named)), np.float32))
        return _Scanned(block, edges, self._log_present(z), records["shot"])

    def _log_present(self, z: FloatArray) -> FloatArray:
        """Return [steps, T] log-probability of each step, of z [M, T]: all that is wanted, and nothing
        unwanted.
        """
        logits = SLOPE * z + OFFSET
        steps = []
        for step in self.steps:
            signed = [*(-logits[row] for row in step.wanted), *(logits[row] for row in step.unwanted)]
            steps.append(-np.sum([np.log1p(np.exp(np.minimum(row, 80))) for row in signed], axis=0))
        return np.asarray(np.stack(steps), np.float32)

    def _exact(self, candidates: dict[int, list[int]]) -> Iterator[tuple[int, float]]:
        """Yield the candidates with their probability by the clips of their shots, best first."""
        present, videos = dict[int, float](), list(candidates)
        for start in range(0, len(videos), _VIDEOS_AT_ONCE):
            block = videos[start : start + _VIDEOS_AT_ONCE]
            shots = [shot for video in block for shot in candidates[video]]
            query = f"SELECT id, clips FROM shots WHERE id IN ({', '.join(map(str, shots))})"
            clips_of = dict(self.connection.execute(query))
            lengths = [len(clips_of[shot]) // self._clip_bytes for shot in shots]
            clips = self._clips(b"".join(clips_of[shot] for shot in shots))
            log_present = self._smoothed(unpack_clips(clips, self.names, 0.0, STEP_S), lengths)
            ends = np.cumsum([0, *lengths])[np.cumsum([0, *(len(candidates[video]) for video in block)])]
            best = np.exp(np.maximum.reduceat(log_present, ends[:-1], axis=1).sum(axis=0))
            present |= zip(block, best.tolist(), strict=True)
        yield from sorted(present.items(), key=lambda each: (-each[1], each[0]))

    def present(self, video: int) -> float:
        """Return probability that the request is true of a video."""
        query = "SELECT first_shot, n_shots FROM videos WHERE id = ?"
        first, count = self.connection.execute(query, (video,)).fetchone()
        ((_, present),) = self._exact({video: list(range(first, first + count))})
        return present

    def _clips(self, content: bytes) -> Records:
        return read_records(content, clip_type(self.vectors.shape[1], len(self.names)))

    @property
    def _clip_bytes(self) -> int:
        return clip_type(self.vectors.shape[1], len(self.names)).itemsize

    def _smoothed(self, clips: ClipEmbeddings, lengths: Sequence[int]) -> FloatArray:
        """Return [steps, T] log-probability about each clip, by the mean z of three in a row, as in
        `presence`.

        `lengths` are those of the runs of clips that follow each other; at an end the nearest three count.
        """
        vectors = self.vectors
        z = self.cohort.z(vectors @ clips.rows.T, log_likelihood(clips.mixtures[0], vectors))
        ends = np.repeat(np.cumsum(lengths), lengths)
        starts = ends - np.repeat(lengths, lengths)
        widths = np.minimum(3, ends - starts)
        first = np.clip(np.arange(z.shape[1]) - 1, starts, ends - widths)
        sums = np.concatenate([np.zeros((len(z), 1)), np.cumsum(z, axis=1, dtype=np.float64)], axis=1)
        means = (sums[:, first + widths] - sums[:, first]) / widths
        return self._log_present(np.asarray(means, np.float32))

    def _moments(self, video: int) -> list[Found]:
        """Return the moments of a video; their edges and order are those of `ground`."""
        query = "SELECT duration_s, edges, first_shot, n_shots FROM videos WHERE id = ?"
        duration_s, edges, first, count = self.connection.execute(query, (video,)).fetchone()
        query = "SELECT clips FROM shots WHERE id >= ? AND id < ? ORDER BY id"
        content = b"".join(row[0] for row in self.connection.execute(query, (first, first + count)))
        shots_s = read_records(edges, np.float64)
        clips = unpack_clips(self._clips(content), self.names, duration_s, STEP_S, shots_s)
        log_present = self._smoothed(clips, [len(clips)])
        curves, several = similarity(clips, self.vectors), len(self.steps) > 1
        by_step = []
        for step, logs in zip(self.steps, log_present, strict=True):
            curve = curves[list(step.wanted)].sum(axis=0) - curves[list(step.unwanted)].sum(axis=0)
            top_k = _MOMENTS if several else self.wishes.per_video
            moments = find_moments(curve, clips.timestamps, STEP_S, duration_s, top_k, shots_s=shots_s)
            found, most = list[Found](), float(np.exp(logs.max()))
            for moment in moments:
                # the first is what the video is ranked by, and no other comes before it
                own = _within(clips, moment.start_s, moment.end_s)
                present = min(most, float(np.exp(logs[own].max()))) if found or several else most
                most = present if not several else most
                (row,) = unit_rows(clips.rows[own].mean(axis=0, keepdims=True))
                found.append(Found(video, moment.start_s, moment.end_s, present, row))
            by_step.append(found)
        found, wishes = _chained(by_step) if several else by_step[0], self.wishes
        long = (each for each in found if each.end_s - each.start_s >= wishes.min_length_s)
        return [each for each in long if each.present >= wishes.min_present]

    def _ranked(self, found: Sequence[Found]) -> list[Found]:
        """Most probable first; what several videos show alike is listed once."""
        kept = list[Found]()
        for each in sorted(found, key=lambda one: -one.present):
            same = () if self.wishes.duplicates else (n for n, one in enumerate(kept) if _is_same(one, each))
            if (number := next(iter(same), None)) is None:
                kept.append(each)
            else:
                also = dict.fromkeys([*kept[number].also, each.video, *each.also])
                kept[number] = replace(kept[number], also=tuple(also))
        return kept


def _within(clips: ClipEmbeddings, start_s: float, end_s: float) -> slice:
    """Return the clips whose middles lie in a moment, one at least."""
    first, after = np.searchsorted(clips.timestamps + clips.step_s / 2, [start_s, end_s]).tolist()
    first = min(first, len(clips) - 1)
    return slice(first, max(after, first + 1))


def _is_same(one: Found, other: Found) -> bool:
    lengths = sorted([one.end_s - one.start_s, other.end_s - other.start_s])
    is_as_long = lengths[0] >= _SAME_LENGTH * lengths[1]
    if one.video == other.video or not is_as_long or one.row is None or other.row is None:
        return False
    return float(one.row @ other.row) > _SAME


def _chained(by_step: Sequence[Sequence[Found]]) -> list[Found]:
    """Return the most probable chain with a moment of each step, none before the end of the last; none if
    there is none.
    """
    chains = [replace(one, parts=((one.start_s, one.end_s),)) for one in by_step[0]]
    for moments in by_step[1:]:
        longer = list[Found]()
        for one in moments:
            before = [chain for chain in chains if chain.end_s <= one.start_s]
            if before:
                best = max(before, key=lambda chain: chain.present)
                parts = (*best.parts, (one.start_s, one.end_s))
                longer.append(replace(best, end_s=one.end_s, present=best.present * one.present, parts=parts))
        chains = longer
    return [max(chains, key=lambda chain: chain.present)] if chains else []
