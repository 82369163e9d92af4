"""Videos into an archive: what is new, has changed, moved or is gone."""

import io
import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from vidsum.archive.packed import AXES, pack_clips, pack_pieces, pack_rows
from vidsum.archive.store import Database, made_from, space_of
from vidsum.errors import InputError
from vidsum.grounding.said import ENCODER, Passage, passages_of, sentences_of
from vidsum.grounding.spaces import ClipEmbeddings
from vidsum.grounding.text import load_text_encoder
from vidsum.grounding.vse import load_map
from vidsum.pipelines.moments import Sight, input_in, plan_sight
from vidsum.pipelines.plan import Plan
from vidsum.pipelines.speech import cached_transcript, in_english, plan_transcript
from vidsum.provenance import of_file
from vidsum.results.transcript import Transcript
from vidsum.settings import Extraction, Retrieval, Transcription
from vidsum.types import FloatArray, Progress, VideoInfo
from vidsum.video.frames import LongSide
from vidsum.video.stills import read_frames_at

State = Literal["added", "changed", "moved", "unchanged"]

_SIDE, _JPEG_QUALITY = 160, 75
"""Of the pictures of shots."""


@dataclass(frozen=True)
class Added:
    """What became of a video that was to be in an archive."""

    video: str
    """Its absolute path."""
    state: State
    duration_s: float
    shots: int
    moved_from: str | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class _Seen:
    """What an archive keeps of the pictures of a video."""

    clips: ClipEmbeddings
    starts: Sequence[int]
    """The first clip of each shot; shots without the middle of a clip have no part in it."""
    pictures: Sequence[bytes]
    fast: bool
    """Whether key frames alone were read."""
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class _Spoken:
    """What it keeps of a transcript."""

    sentences: Sequence[Passage]
    content: bytes
    """Records of their passages."""


def add(
    connection: Database,
    path: str | os.PathLike[str],
    extraction: Extraction,
    *,
    transcribe: bool = False,
    progress: Progress | None = None,
) -> Added:
    """Bring a video into the archive, unless the same is there.

    A file is known by its size and time, else by its SHA-256: one that moved, or a copy, is not decoded.

    Raises:
        InputError: it cannot be read, or holds no video.
        WeightsError: weights are missing and cannot be fetched.
    """
    path = os.fspath(path)
    key, space, video = _key(path), made_from(), os.fsdecode(_key(path))
    try:
        status = Path(path).stat()
    except (OSError, ValueError):  # planning names the fault
        plan_of(path, extraction)
        raise
    before = connection.execute(
        "SELECT files.video, files.bytes, mtime_ns, n_shots, duration_s, made_from, fast, spoken IS NULL, "
        "sha256 FROM files JOIN videos ON videos.id = files.video JOIN spaces ON spaces.id = space "
        "WHERE path = ?",
        (key,),
    ).fetchone()
    facts = (status.st_size, status.st_mtime_ns)
    if before and (before[1:3], before[5]) == (facts, space) and before[6] <= extraction.fast:
        source = {"bytes": facts[0], "sha256": before[8]}
        if not before[7] or not (transcribe or cached_transcript(path, extraction, source)):
            with connection.transaction():
                connection.execute("UPDATE files SET gone_s = NULL WHERE path = ?", (key,))
            return Added(video, "unchanged", before[4], before[3])
    sha256 = of_file(Path(path))["sha256"]
    known = _known(connection, sha256, space, fast=extraction.fast)
    seen = _see(path, extraction, progress) if known is None else None
    is_silent = known is None or known[3]
    spoken = _hear(path, extraction, progress, transcribe=transcribe) if is_silent else None
    with connection.transaction():
        known = _known(connection, sha256, space, fast=extraction.fast)  # another process may have been first
        if known is None:
            if seen is None:
                raise InputError(f"{path}: was removed from the archive meanwhile", hint="try again")
            known = _insert(connection, sha256, status.st_size, space, seen)
        if spoken and known[3]:
            _set_spoken(connection, known[0], spoken)
        moved_from = None if before else _forget_moved(connection, known[0])
        connection.execute(
            "INSERT INTO files VALUES (?, ?, ?, ?, NULL) ON CONFLICT (path) DO UPDATE SET "
            "video = excluded.video, bytes = excluded.bytes, mtime_ns = excluded.mtime_ns, gone_s = NULL",
            (key, known[0], *facts),
        )
        drop_orphans(connection)
    state: State = "changed" if before else "moved" if moved_from else "added"
    heard = spoken is not None and spoken.sentences
    if before and seen is None and not heard and before[0] == known[0]:
        state = "unchanged"
    return Added(video, state, known[2], known[1], moved_from, seen.warnings if seen else ())


def plan_of(video: str, extraction: Extraction) -> Plan[Sight]:
    """What an archive asks of a video: the clips that `ground` sees."""
    return plan_sight(input_in("vse", video, extraction, Retrieval()), "vse")


def mark_gone(connection: Database, folders: Iterable[str]) -> list[str]:
    """Mark the files below some folders that are not there any more, and return all so marked."""
    gone = []
    with connection.transaction():
        for folder in folders:
            prefix = _key(folder).rstrip(os.fsencode(os.sep)) + os.fsencode(os.sep)
            for (path,) in connection.execute(
                "SELECT path FROM files WHERE substr(path, 1, ?) = ?", (len(prefix), prefix)
            ).fetchall():
                if not os.path.lexists(path):
                    gone.append(os.fsdecode(path))
                    _mark(connection, path)
    return gone


def mark_failed(connection: Database, path: str | os.PathLike[str]) -> None:
    """Mark a file that cannot be read any more: what the archive has of it is gone."""
    with connection.transaction():
        _mark(connection, _key(path))


def _mark(connection: Database, key: bytes) -> None:
    query = "UPDATE files SET gone_s = coalesce(gone_s, ?) WHERE path = ?"
    connection.execute(query, (time.time(), key))


def _key(path: str | os.PathLike[str]) -> bytes:
    """The absolute path of a file: no links are followed, and .. goes."""
    return os.fsencode(os.path.abspath(path))  # noqa: PTH100


def remove(connection: Database, paths: Iterable[str | os.PathLike[str]]) -> int:
    """Remove files from the archive, not from the disk; return how many were in it."""
    with connection.transaction():
        count = sum(
            connection.execute("DELETE FROM files WHERE path = ?", (_key(path),)).rowcount for path in paths
        )
        drop_orphans(connection)
    return count


def drop_orphans(connection: Database) -> None:
    """Remove the videos that no file holds any more; inside a transaction."""
    orphans = "SELECT id, first_shot, n_shots FROM videos WHERE id NOT IN (SELECT video FROM files)"
    for video, first, count in connection.execute(orphans).fetchall():
        _drop_shots(connection, first, count)
        connection.execute("DELETE FROM sentences WHERE video = ?", (video,))
        connection.execute("DELETE FROM videos WHERE id = ?", (video,))


def _drop_shots(connection: Database, first: int, count: int) -> None:
    for table, key in (("pictures", "shot"), ("shots", "id")):
        connection.execute(f"DELETE FROM {table} WHERE {key} >= ? AND {key} < ?", (first, first + count))


def _known(
    connection: Database, sha256: str, space: str, *, fast: bool
) -> tuple[int, int, float, bool] | None:
    """Id, number of shots and length of a video, and whether it lacks a transcript; None if it is new, or
    was seen by its key frames alone and that is not enough.
    """
    found: tuple[int, int, float, bool] | None = connection.execute(
        "SELECT videos.id, n_shots, duration_s, spoken IS NULL FROM videos "
        "JOIN spaces ON spaces.id = space WHERE sha256 = ? AND made_from = ? AND fast <= ?",
        (sha256, space, int(fast)),
    ).fetchone()
    return found


def _see(video: str, extraction: Extraction, progress: Progress | None) -> _Seen:
    clips, features = plan_of(video, extraction).run(progress)
    info = features[-1].video
    assert info is not None
    assert clips.shots_s is not None
    shot_of = np.searchsorted(clips.shots_s[1:-1], clips.timestamps + clips.step_s / 2, side="right")
    shots, starts = np.unique(shot_of, return_index=True)
    middles = (clips.shots_s[shots] + clips.shots_s[shots + 1]) / 2
    warnings = tuple(dict.fromkeys(warning for one in features for warning in one.warnings))
    pictures = _pictures(info, middles.tolist())
    return _Seen(clips, starts.tolist(), pictures, extraction.fast, warnings)


def _pictures(info: VideoInfo, times_s: Sequence[float]) -> list[bytes]:
    from PIL import Image

    pictures = []
    size = LongSide(min(_SIDE, max(info.display_width, info.display_height)))
    for frame in read_frames_at(info.path, times_s, size, info=info):
        Image.fromarray(frame.image).save(content := io.BytesIO(), "JPEG", quality=_JPEG_QUALITY)
        pictures.append(content.getvalue())
    return pictures


def _hear(
    video: str, extraction: Extraction, progress: Progress | None, *, transcribe: bool
) -> _Spoken | None:
    """What is said, in English; None where that is not known, and is not to be found out."""
    try:
        plan = plan_transcript(video, Transcription(), extraction)
    except InputError:  # no sound
        return _Spoken((), b"") if transcribe else None
    if transcribe:
        english: Transcript | None = in_english(plan.run(progress), video, extraction, progress)
    else:
        english = cached_transcript(video, extraction, english=True)
    if english is None:
        return None
    sentences = sentences_of(english)
    texts = [passage.text for passage in passages_of(sentences)]
    vectors = load_text_encoder(ENCODER, extraction.device).encode(texts) if texts else None
    return _Spoken(sentences, b"" if vectors is None else pack_rows(vectors).tobytes())


def _insert(
    connection: Database, sha256: str, size: int, made: str, seen: _Seen
) -> tuple[int, int, float, bool]:
    """Write a video, in place of what its key frames gave; what `_known` says of it then."""
    clips, shots_s = seen.clips, seen.clips.shots_s
    assert shots_s is not None
    space, axes = space_of(connection, made, clips.rows.shape[1], _axes)
    coarse = "SELECT first_shot, n_shots FROM videos WHERE sha256 = ? AND space = ?"
    for span in connection.execute(coarse, (sha256, space)).fetchall():
        _drop_shots(connection, *span)
    (last,) = connection.execute("SELECT coalesce(max(id), 0) FROM shots").fetchone()
    pieces = pack_pieces(clips, np.array(seen.starts), axes)
    columns = "sha256, bytes, duration_s, space, fast, added_s, edges, first_shot, n_shots, scan"
    renewed = ", ".join(f"{name} = excluded.{name}" for name in columns.split(", "))
    facts = (sha256, size, clips.duration_s, space, int(seen.fast), time.time(), shots_s.tobytes())
    connection.execute(
        f"INSERT INTO videos ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
        f"ON CONFLICT (sha256, space) DO UPDATE SET {renewed}",
        (*facts, last + 1, len(seen.starts), pieces.tobytes()),
    )
    records, ends = pack_clips(clips), [*seen.starts[1:], len(clips)]
    for number, (start, end, picture) in enumerate(zip(seen.starts, ends, seen.pictures, strict=True), 1):
        end_s = min(clips.timestamps[end - 1] + clips.step_s, clips.duration_s)
        connection.execute(
            "INSERT INTO shots VALUES (?, ?, ?, ?)",
            (last + number, float(clips.timestamps[start]), float(end_s), records[start:end].tobytes()),
        )
        connection.execute("INSERT INTO pictures VALUES (?, ?)", (last + number, picture))
    known = _known(connection, sha256, made, fast=seen.fast)
    assert known is not None
    connection.add_pieces(space, known[0], pieces)
    return known


def _axes() -> FloatArray:
    """[D, d] the directions in which the map's rows for photographs vary most."""
    factor = load_map().tensors["cohort.weight"]
    _, directions = np.linalg.eigh(factor @ factor.T)
    return np.ascontiguousarray(directions[:, ::-1][:, :AXES], np.float32)


def _set_spoken(connection: Database, video: int, spoken: _Spoken) -> None:
    for one in spoken.sentences:
        row = (one.text, video, one.start_s, one.end_s, one.certain)
        connection.execute("INSERT INTO sentences VALUES (?, ?, ?, ?, ?)", row)
    connection.execute("UPDATE videos SET spoken = ? WHERE id = ?", (spoken.content, video))


def _forget_moved(connection: Database, video: int) -> str | None:
    """Remove a file of a video that is gone, and return its path: the video has moved."""
    paths = connection.execute("SELECT path FROM files WHERE video = ? ORDER BY path", (video,)).fetchall()
    for (path,) in paths:
        if not os.path.lexists(path):
            connection.execute("DELETE FROM files WHERE path = ?", (path,))
            return os.fsdecode(path)
    return None
