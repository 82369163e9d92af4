"""Search the pictures of all videos of an archive for moments (docs/archive.md).

All shots are scanned by their records; the clips of the likeliest are then scored exactly; last, the edges of
moments are found in the best videos as `ground` finds them.
"""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from vidsum.archive.checked_records import read_clips, read_edges, read_records
from vidsum.archive.rows import StoredShot, damaged, list_shots, read_rows, stream_rows
from vidsum.archive.settings import ArchiveEvidence, SearchOptions
from vidsum.archive.space_versions import StoredSpace
from vidsum.archive.store import Database
from vidsum.evidence.match_probability import Condition, MatchedQueries, Usual, match_windows
from vidsum.evidence.picture import PackedPicture, Picture, PictureQuery
from vidsum.evidence.records import CLASSES, ClassNames, Records, piece_type, unpack_clips, unpack_shares
from vidsum.grounding.proposals import is_moment
from vidsum.grounding.spaces import SHARPNESS, STEP_S, ClipEmbeddings
from vidsum.grounding.windows import grid
from vidsum.models.scaling import unit_rows
from vidsum.types import BoolArray, FloatArray, Interval
from vidsum.video.threads import ReadAhead

_BLOCK_BYTES = 800_000  # bytes of records per block
_BLOCKS_AHEAD = 4  # blocks that wait to be scanned
_MAX_LISTED_VIDEOS = 10_000  # most videos listed in a query; of more, all are read and filtered
_N_CANDIDATES, _N_PIECES = 400, 5  # videos scored exactly, and pieces per video and step
_BLOCK_VIDEOS = 50  # candidates scored at once: this bounds the memory
_MAX_GAP_S, _MIN_TAKE_COSINE = 3.0, 0.7
"""Moments of one take, which become a single one: the longest gap between them, and the least cosine of their
rows, which 2 % of neighbouring shots of different clips reach, and 45 % of shots of one clip. The probability
of one is at least half of the other's."""
_STEP_MOMENTS = 10  # moments per step that are tried in chains
_MIN_COSINE = 0.95  # moments of two videos are near-identical if the cosine of their mean rows is larger, ..
_MIN_LENGTH_RATIO = 0.5  # ... and the shorter has at least this fraction of the other's length.


@dataclass(frozen=True, eq=False)
class Hit:
    """A moment of a video that matches."""

    video: int
    start_s: float
    end_s: float
    present: float  # probability that it matches
    row: FloatArray | None  # [D] of length 1, the mean of its clips; None for texts
    evidence: ArchiveEvidence = "picture"
    text: str = ""  # the spoken or written text, or the name of the sound
    parts: tuple[Interval, ...] = ()  # the moments of the steps, if there are several
    also: tuple[int, ...] = ()  # videos with a near-identical moment
    is_quoted: bool = False  # whether the words of the query are spoken, which precedes everything else


class _Row(NamedTuple):
    """The columns of a video that a scan reads."""

    id: int
    first_shot: int
    n_shots: int
    scan: bytes  # records of its pieces
    usual_mean: float
    usual_deviation: float
    usual_best: float

    @property
    def usual(self) -> Usual:
        return Usual(self.usual_mean, self.usual_deviation, self.usual_best)


@dataclass(frozen=True, eq=False)
class _ScannedPieces:
    """The pieces [P] of some videos."""

    videos: list[int]
    first_shots: list[int]
    edges: npt.NDArray[np.int64]  # [V + 1] of the videos
    log_present: FloatArray  # [steps, P]
    shots: npt.NDArray[np.uint32]  # [P] number of the shot in its video


@dataclass(frozen=True, eq=False)
class ArchiveSearch:
    """A search for steps that follow each other in a video."""

    connection: Database
    options: SearchOptions
    steps: tuple[Condition, ...]
    queries: MatchedQueries  # in the space
    space: str
    names: ClassNames

    def run(self, spaces: Sequence[StoredSpace], videos: set[int]) -> list[Hit]:
        """Return the moments of some videos by versions of the archive's space, most probable first."""
        options, hits = self.options, list[Hit]()
        for video, present in self._rank_exactly(self._find_candidates(spaces, videos)):
            surer = sum(hit.present >= present for hit in hits)
            if surer >= options.top_k or present < options.min_present:
                break
            hits = self._merge_duplicates([*hits, *self._find_moments(video)])
        return hits[: options.top_k]

    def _find_candidates(self, spaces: Sequence[StoredSpace], videos: set[int]) -> dict[int, list[int]]:
        """Return the likeliest videos by their pieces, with the ids of the likeliest shots of each."""
        scanned = [block for space in spaces for block in self._iter_scanned(space, videos)]
        best = dict[int, float]()
        for block in scanned:
            bests = np.maximum.reduceat(block.log_present, block.edges[:-1], axis=1).sum(axis=0)
            best |= zip(block.videos, bests.tolist(), strict=True)
        likeliest = {*sorted(best, key=lambda video: (-best[video], video))[:_N_CANDIDATES]}
        candidates = dict[int, list[int]]()
        for block in scanned:
            ends = pairwise(block.edges.tolist())
            for video, first, (start, end) in zip(block.videos, block.first_shots, ends, strict=True):
                if video in likeliest:
                    order = np.argsort(-block.log_present[:, start:end], axis=1, kind="stable")
                    shots = np.unique(block.shots[start:end][order[:, :_N_PIECES]])
                    candidates[video] = (first + shots.astype(np.int64)).tolist()
        return candidates

    def _iter_scanned(self, space: StoredSpace, videos: set[int]) -> Iterator[_ScannedPieces]:
        """Yield blocks of scanned videos; a thread reads ahead."""
        with ReadAhead(self._blocks(space.id, videos), _BLOCKS_AHEAD) as blocks:
            yield from (self._scan(block, space.axes) for block in blocks)

    def _blocks(self, space: int, videos: set[int]) -> Generator[list[_Row], None, None]:
        block, size = list[_Row](), 0
        # numbers, not parameters: of those, SQLite takes some thousands at most
        only = f" AND id IN ({', '.join(map(str, videos))})" if 0 < len(videos) <= _MAX_LISTED_VIDEOS else ""
        columns = [f"videos.{name}" for name in _Row._fields]
        source = f"FROM videos WHERE space = ?{only} ORDER BY id"
        for values in stream_rows(self.connection, columns, source, (space,)) if videos else ():
            row = _Row(*values)
            if row.id in videos:
                block.append(row)
                size += len(row.scan)
            if size >= _BLOCK_BYTES:
                yield block
                block, size = [], 0
        if block:
            yield block

    def _scan(self, block: list[_Row], axes: FloatArray) -> _ScannedPieces:
        layout = piece_type(axes.shape[1], min(CLASSES, len(self.names.objects)))
        counts = [len(row.scan) // layout.itemsize for row in block]
        n_shots = np.repeat([row.n_shots for row in block], counts)
        parts = ((f"videos.id {row.id}: scan", row.scan) for row in block)
        records = read_records(layout, *parts, is_valid=lambda pieces: self._are_pieces(pieces, n_shots))
        # the scale comes last: one pass over the rows less
        cosines = np.asarray(self.queries.vectors @ axes @ records["row"].astype(np.float32).T, np.float32)
        cosines *= records["scale"]
        stored = np.array([row.usual for row in block], np.float32)
        usual = Usual(*np.repeat(stored, counts, axis=0).T)
        logits = self.queries.logits(self.queries.evidence(cosines, self._rate_names(records), usual))
        videos, firsts = [row.id for row in block], [row.first_shot for row in block]
        edges = np.cumsum([0, *counts])
        return _ScannedPieces(videos, firsts, edges, self._log_present(logits), records["shot"].copy())

    def _are_pieces(self, records: Records, n_shots: npt.NDArray[np.int64]) -> BoolArray:
        """Return [P] whether the shots and classes of pieces are there."""
        is_named = (records["class"] < max(1, len(self.names.objects))).all(axis=1)
        return np.logical_and(is_named, records["shot"] < n_shots)

    def _rate_names(self, records: Records) -> FloatArray:
        """Return [M, P] evidence by the likeliest classes of pieces; [M, 1] zeros without classes."""
        if self.queries.rate_objects is None:
            return self.queries.named_evidence(None, None)
        shares, classes = unpack_shares(records), records["class"]
        left = np.maximum(1 - shares @ np.ones(shares.shape[1], np.float32), 0)
        similarities = np.exp(np.float32(SHARPNESS) * (self.queries.vectors @ self.names.objects.T))
        named = [np.einsum("pc,pc->p", row.take(classes), shares) + left * row.mean() for row in similarities]
        return self.queries.rate_objects(np.asarray(np.log(np.stack(named)), np.float32))

    def _log_present(self, logits: FloatArray) -> FloatArray:
        """Return [steps, T] log-probability of each step, of logits [M, T]."""
        return np.stack([step.log_present(logits) for step in self.steps])

    def _rank_exactly(self, candidates: dict[int, list[int]]) -> Iterator[tuple[int, float]]:
        """Yield the candidates with their probability by the windows of their shots, best first."""
        present, videos = dict[int, float](), list(candidates)
        for start in range(0, len(videos), _BLOCK_VIDEOS):
            block = videos[start : start + _BLOCK_VIDEOS]
            shots = self._read_shots([(video, shot) for video in block for shot in candidates[video]])
            usual = self._read_usual(block)
            for video in block:
                likeliest = [shots[shot] for shot in candidates[video]]
                records, actions = read_clips(likeliest, self.queries.vectors.shape[1], self.names)
                edges_s = (
                    np.cumsum([0, *(len(shot.clips) // records.itemsize for shot in likeliest)]) * STEP_S
                )
                clips = unpack_clips(records, actions, self.names, float(edges_s[-1]), STEP_S, edges_s)
                matches = match_windows(clips, self.queries, usual[video])
                present[video] = float(np.prod([matches.best(step) for step in self.steps]))
        yield from sorted(present.items(), key=lambda item: (-item[1], item[0]))

    def _read_usual(self, videos: Sequence[int]) -> dict[int, Usual]:
        """Return what is usual in some videos."""
        columns = ("videos.id", "videos.usual_mean", "videos.usual_deviation", "videos.usual_best")
        source = f"FROM videos WHERE id IN ({', '.join(map(str, videos))})"
        return {number: Usual(*usual) for number, *usual in read_rows(self.connection, columns, source)}

    def _read_shots(self, shots: Sequence[tuple[int, int]]) -> dict[int, StoredShot]:
        """Return shots (video, id) with the records of their clips, by the id."""
        numbers = ", ".join(str(shot) for _, shot in shots)
        names = ("id", "video", "start_s", "end_s", "clips", "actions")
        columns = (*(f"shots.{name}" for name in names), "typeof(shots.jpeg)")
        rows = read_rows(self.connection, columns, f"FROM shots WHERE id IN ({numbers})")
        stored = {(video, shot): StoredShot(shot, *rest) for shot, video, *rest in rows}
        if missing := [pair for pair in shots if pair not in stored]:
            raise damaged("videos.id {}: its shot {} is not there".format(*missing[0]))
        return {shot: stored[video, shot] for video, shot in shots}

    def _find_moments(self, video: int) -> list[Hit]:
        """Return the moments of a video, with edges and order as by `ground`."""
        names = ("id", "duration_s", "first_shot", "n_shots", "edges")
        columns = [f"videos.{name}" for name in names]
        ((_, duration_s, first, n_shots, edges),) = read_rows(
            self.connection, columns, "FROM videos WHERE id = ?", (video,)
        )
        shots_s = read_edges(video, edges, duration_s)
        shots = list_shots(self.connection, video, duration_s, with_clips=True)
        records, actions = read_clips(shots, self.queries.vectors.shape[1], self.names)
        if [shot.id for shot in shots] != [*range(first, first + n_shots)]:
            raise damaged(f"videos.id {video}: its shots do not follow each other")
        if len(records) != len(grid(duration_s, STEP_S)):
            raise damaged(f"videos.id {video}: has {len(records)} clips in {duration_s:g} s")
        usual = self._read_usual([video])[video]
        packed = PackedPicture(records, actions, shots_s, usual, self.space, self.names)
        picture, several = Picture.unpack(packed, duration_s), len(self.steps) > 1
        clips, by_step = picture.clips, []
        for step in self.steps:
            top_k = _STEP_MOMENTS if several else self.options.per_video
            hits = list[Hit]()
            for moment, _ in picture.search(PictureQuery(self.queries, step), top_k):
                inside = _clips_within(clips, *moment.interval)
                (row,) = unit_rows(clips.rows[inside].mean(axis=0, keepdims=True))
                hits.append(Hit(video, *moment.interval, moment.present or 0.0, row))
            by_step.append(sorted(hits, key=lambda hit: -hit.present))
        hits, options = _best_chain(by_step) if several else _merge_takes(by_step[0], clips), self.options
        return [hit for hit in hits if hit.present >= options.min_present]

    def _merge_duplicates(self, hits: Sequence[Hit]) -> list[Hit]:
        merged = list[Hit]()
        for hit in sorted(hits, key=lambda other: -other.present):
            same = (n for n, other in enumerate(merged) if _is_same(other, hit))
            number = None if self.options.duplicates else next(same, None)
            if number is None:
                merged.append(hit)
            else:
                also = dict.fromkeys([*merged[number].also, hit.video, *hit.also])
                merged[number] = replace(merged[number], also=tuple(also))
        return merged


def _clips_within(clips: ClipEmbeddings, start_s: float, end_s: float) -> slice:
    """Return the clips whose middles lie in a moment, one at least."""
    first, after = np.searchsorted(clips.timestamps + clips.step_s / 2, [start_s, end_s]).tolist()
    first = min(first, len(clips) - 1)
    return slice(first, max(after, first + 1))


def _merge_takes(hits: Sequence[Hit], clips: ClipEmbeddings) -> list[Hit]:
    """Return the moments of a video, best first; moments of one take become one, in the place of the best."""
    merged = list[tuple[int, Hit]]()
    for place, hit in sorted(enumerate(hits), key=lambda pair: pair[1].start_s):
        if merged and _is_one_take(merged[-1][1], hit, clips):
            before = merged.pop()
            start_s, end_s = before[1].start_s, max(before[1].end_s, hit.end_s)
            first, best = min(before, (place, hit), key=lambda pair: pair[0])
            merged.append((first, replace(best, start_s=start_s, end_s=end_s)))
        else:
            merged.append((place, hit))
    return [hit for _, hit in sorted(merged, key=lambda pair: pair[0])]


def _is_one_take(before: Hit, hit: Hit, clips: ClipEmbeddings) -> bool:
    gap_s = hit.start_s - before.end_s
    low, high = sorted([before.present, hit.present])
    is_near = gap_s <= _MAX_GAP_S and 2 * low >= high
    if before.row is None or not is_near or _cosine(before, hit) < _MIN_TAKE_COSINE:
        return False
    if not is_moment((before.start_s, max(before.end_s, hit.end_s)), clips.shots_s, clips.scenes_s):
        return False
    between = clips.rows[_clips_within(clips, before.end_s, hit.start_s)]
    return gap_s < STEP_S or bool((between @ before.row).min() >= _MIN_TAKE_COSINE)


def _cosine(hit: Hit, other: Hit) -> float:
    return 0.0 if hit.row is None or other.row is None else float(hit.row @ other.row)


def _is_same(hit: Hit, other: Hit) -> bool:
    lengths = sorted([hit.end_s - hit.start_s, other.end_s - other.start_s])
    is_as_long = lengths[0] >= _MIN_LENGTH_RATIO * lengths[1]
    return hit.video != other.video and is_as_long and _cosine(hit, other) > _MIN_COSINE


def _best_chain(by_step: Sequence[Sequence[Hit]]) -> list[Hit]:
    """Return the most probable chain of one moment per step, in order of time, if there is one."""
    chains = [replace(hit, parts=((hit.start_s, hit.end_s),)) for hit in by_step[0]]
    for moments in by_step[1:]:
        longer = list[Hit]()
        for hit in moments:
            before = [chain for chain in chains if chain.end_s <= hit.start_s]
            if before:
                best = max(before, key=lambda chain: chain.present)
                parts = (*best.parts, (hit.start_s, hit.end_s))
                longer.append(replace(best, end_s=hit.end_s, present=best.present * hit.present, parts=parts))
        chains = longer
    return [max(chains, key=lambda chain: chain.present)] if chains else []
