"""Add videos to an archive, and track those that changed, moved or are gone."""

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from vidsum.archive.claims import claim_file
from vidsum.archive.indexed_files import is_gone, key_of
from vidsum.archive.rows import read_rows
from vidsum.archive.settings import ArchiveEvidence, Indexing
from vidsum.archive.space_versions import drop_orphans, find_space, insert_space, list_answering
from vidsum.archive.store import Database
from vidsum.archive.stored_evidence import (
    NewEvidence,
    find_descriptions,
    list_kinds,
    make_evidence,
    read_descriptions,
    store_evidence,
)
from vidsum.errors import InputError
from vidsum.evidence.audible import MAX_VIDEO_S
from vidsum.evidence.match_probability import embed_background
from vidsum.evidence.picture import Picture
from vidsum.evidence.records import pack_pieces
from vidsum.features.settings import Extraction
from vidsum.io.paths import is_file
from vidsum.io.provenance import hash_file, identify_file
from vidsum.pipelines.decoding import reads_key_frames
from vidsum.pipelines.embedding import EmbeddedVideo, open_in_space, plan_embedding
from vidsum.pipelines.evidence_kinds import KINDS
from vidsum.pipelines.plan import Plan
from vidsum.pipelines.sources import probe_video
from vidsum.pipelines.subtitles import find_subtitles
from vidsum.pipelines.transcribe import find_transcript
from vidsum.types import Progress
from vidsum.video.listen import describe_used
from vidsum.video.probe import start_offset_s
from vidsum.video.read import read_jpegs

State = Literal["added", "changed", "moved", "unchanged", "claimed"]  # claimed: another process is adding it

_SIDE, _JPEG_QUALITY = 160, 75  # longest side and JPEG quality of the pictures of shots
_ONLY_TRACKS = "0,0"  # the tracks of a video that has no others


@dataclass(frozen=True)
class IndexedVideo:
    """The outcome of adding a video to an archive."""

    video: str  # its absolute path
    state: State
    duration_s: float
    shots: int
    moved_from: str | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class _VideoContent:
    """The pictures of a video as an archive stores them."""

    picture: Picture
    starts: Sequence[int]  # the first clip of each shot; shots that contain no middle of a clip are left out
    pictures: Sequence[bytes]
    fast: bool  # whether key frames alone were read
    start_offset_s: float
    warnings: tuple[str, ...]


class _StoredVideo(NamedTuple):
    """A video that an archive holds."""

    id: int
    n_shots: int
    duration_s: float
    start_offset_s: float
    sha256: str


_STORED_COLUMNS = tuple(f"videos.{name}" for name in _StoredVideo._fields)


def add(
    connection: Database,
    path: str | os.PathLike[str],
    extraction: Extraction,
    indexing: Indexing,
    progress: Progress | None = None,
    owner: str | None = None,
) -> IndexedVideo:
    """Add a video to the archive, unless it is there or another process is adding it.

    A file is recognised by its size and time, else by its SHA-256: moved files and copies are not decoded.
    Raises InputError: it cannot be read, or holds no video. WeightsError: weights are unavailable.
    UsageError: the archive has another space.
    """
    path = os.fspath(path)
    key, space, video = key_of(path), find_space(connection, indexing.space), os.fsdecode(key_of(path))
    if not is_file(path):  # planning names the fault; hashing a pipe would wait for a writer
        plan_video(space, path, extraction)
    status = Path(path).stat()
    file = _File(path, key, status.st_size, status.st_mtime_ns)
    columns = ("files.bytes", "files.mtime_ns", "videos.tracks", *_STORED_COLUMNS)
    source = "FROM files JOIN videos ON videos.id = files.video WHERE path = ?"
    before = None
    for size, mtime_ns, tracks, *values in read_rows(connection, columns, source, (key,)):
        before = _StoredVideo(*values)
        is_same = (size, mtime_ns) == (file.bytes, file.mtime_ns)
        if is_same and _is_complete(connection, file, before, tracks, extraction, space, indexing):
            connection.execute("UPDATE files SET gone_s = NULL WHERE path = ?", (key,))
            return IndexedVideo(video, "unchanged", before.duration_s, before.n_shots)
    with claim_file(connection, key, owner) as is_ours:
        if not is_ours:
            return IndexedVideo(video, "claimed", 0.0, 0)
        return _renew(connection, file, before, extraction, space, indexing, progress)


class _File(NamedTuple):
    """A file to add."""

    path: str
    key: bytes
    bytes: int
    mtime_ns: int


def _is_complete(
    connection: Database,
    file: _File,
    stored: _StoredVideo,
    tracks: str,
    extraction: Extraction,
    space: str,
    indexing: Indexing,
) -> bool:
    """Return whether nothing is to be made of a file that is unchanged."""
    tracks = _find_tracks(file.path, extraction, tracks)
    made = _find_stored(connection, stored.sha256, space, tracks, fast=extraction.fast)
    if made is None or made.id != stored.id:
        return False
    kinds = list_kinds(connection, stored.id)
    if any(kind not in kinds and indexing.makes(kind) for kind in KINDS):
        return False
    descriptions = find_descriptions(os.fsdecode(file.key))
    if descriptions and hash_file(descriptions) != kinds.get("described"):
        return False
    if _has_other_subtitles(file.path, extraction, kinds):
        return False
    if "speech" in kinds:
        return True
    source: dict[str, Any] = {"bytes": file.bytes, "sha256": stored.sha256}
    if audio_track := int(tracks.split(",")[1]):
        source["audio_track"] = audio_track
    return find_transcript(source, extraction, stored.start_offset_s) is None


def _has_other_subtitles(
    path: str, extraction: Extraction, kinds: Mapping[ArchiveEvidence, str | None]
) -> bool:
    """Return whether the speech of a video is not from the subtitles that are to be its transcript.

    Subtitles that are no longer there stay, unless none are wanted: another copy of the video may have them.
    """
    subtitles, stored = find_subtitles(path, extraction), kinds.get("speech")
    if subtitles is None:
        return stored is not None and extraction.subtitles == "none"
    return stored != subtitles.digest


def _renew(
    connection: Database,
    file: _File,
    before: _StoredVideo | None,
    extraction: Extraction,
    space: str,
    indexing: Indexing,
    progress: Progress | None,
) -> IndexedVideo:
    """Make what an archive lacks of a file, and store it."""
    path, video = file.path, os.fsdecode(file.key)
    digest, tracks = identify_file(Path(path))["sha256"], _find_tracks(path, extraction)
    find = partial(_find_stored, connection, digest, space, tracks, fast=extraction.fast)
    known = find()
    kinds = list_kinds(connection, known.id) if known else {}
    actions = indexing.actions and known is None
    video_input = open_in_space(space, path, extraction, actions=actions)
    missing = [kind for kind in KINDS if kind not in kinds]
    if "speech" in kinds and _has_other_subtitles(path, extraction, kinds):
        missing.append("speech")

    def make(*, of_sound: bool) -> list[NewEvidence]:
        chosen = [kind for kind in missing if KINDS[kind].is_of_sound == of_sound]
        made = (make_evidence(kind, video_input, progress, is_wanted=indexing.makes(kind)) for kind in chosen)
        return [evidence for evidence in made if evidence]

    made = make(of_sound=False)  # first, as one pass makes the features too
    embedded = None if known else _embed_video(space, path, extraction, indexing, progress)
    made += make(of_sound=True)
    warnings = [*(embedded.warnings if embedded else ())]
    if any(evidence.kind == "speech" and not evidence.made_from for evidence in made):
        warnings += describe_used(path, "audio", int(tracks.split(",")[1]) or None)
    warnings += [note for evidence in made for note in evidence.warnings]
    descriptions = find_descriptions(video)
    if descriptions and hash_file(descriptions) != kinds.get("described"):
        described, notes = read_descriptions(descriptions, digest)
        warnings += notes
        made += [described] if described else []
    with connection.transaction():
        known = find()  # another process may have been first
        if known is None:
            if embedded is None:
                raise InputError("was removed from the archive meanwhile", hint="try again", subject=path)
            _insert(connection, digest, file.bytes, space, embedded, tracks)
            known = find()
            assert known is not None
        kinds = list_kinds(connection, known.id)
        for evidence in made:
            is_new = evidence.kind not in kinds or kinds[evidence.kind] != evidence.made_from
            if embedded or is_new:  # else another was first
                store_evidence(connection, known.id, evidence)
        moved_from = None if before else _forget_moved(connection, digest)
        connection.execute(
            "INSERT INTO files VALUES (?, ?, ?, ?, NULL) ON CONFLICT (path) DO UPDATE SET "
            "video = excluded.video, bytes = excluded.bytes, mtime_ns = excluded.mtime_ns, gone_s = NULL",
            (file.key, known.id, file.bytes, file.mtime_ns),
        )
        drop_orphans(connection)
    state: State = "changed" if before else "moved" if moved_from else "added"
    has_new = embedded or any(evidence.packed.records or evidence.made_from for evidence in made)
    if before and before.id == known.id and not has_new:
        state = "unchanged"
    unique = tuple(dict.fromkeys(warnings))
    return IndexedVideo(video, state, known.duration_s, known.n_shots, moved_from, unique)


def plan_video(
    space: str, video: str, extraction: Extraction, *, actions: bool = False
) -> Plan[EmbeddedVideo]:
    """Plan the clips of a video in a space, the same that `ground` embeds."""
    return plan_embedding(open_in_space(space, video, extraction, actions=actions), space)


def _find_tracks(path: str, extraction: Extraction, known: str | None = None) -> str:
    """Return the tracks to read, as "video,audio"; `known` are the tracks of an unchanged file."""
    if known == _ONLY_TRACKS and extraction.video_track is None and extraction.audio_track is None:
        return known
    video = probe_video(path, extraction)
    return f"{video.video_track or 0},{video.audio_track or 0}"


def _find_stored(
    connection: Database, digest: str, space: str, tracks: str, *, fast: bool
) -> _StoredVideo | None:
    """Find a video in a space; None if it is new, or key frames, other tracks or old networks were read."""
    numbers = ", ".join(str(version.id) for version in list_answering(connection, space))
    source = (
        f"FROM videos WHERE space IN ({numbers or 0}) AND sha256 = ? "
        "AND fast <= ? AND tracks = ? ORDER BY id DESC"
    )
    rows = read_rows(connection, _STORED_COLUMNS, source, (digest, int(fast), tracks))
    return _StoredVideo(*rows[0]) if rows else None


def _embed_video(
    space: str, video: str, extraction: Extraction, indexing: Indexing, progress: Progress | None
) -> _VideoContent:
    plan = plan_video(space, video, extraction, actions=indexing.actions)
    clips, info, warnings = plan.run(progress)
    assert info is not None
    if clips.duration_s > MAX_VIDEO_S:
        limit = f"{MAX_VIDEO_S / 86_400:.0f} days"
        raise InputError(f"is longer than {limit}", hint="cut it into several files", subject=video)
    assert clips.shots_s is not None
    shot_of = np.searchsorted(clips.shots_s[1:-1], clips.timestamps + clips.step_s / 2, side="right")
    shots, starts = np.unique(shot_of, return_index=True)
    middles = (clips.shots_s[shots] + clips.shots_s[shots + 1]) / 2
    pictures = read_jpegs(info, middles.tolist(), _SIDE, _JPEG_QUALITY)
    return _VideoContent(
        Picture.of(clips, space, embed_background(space)),
        starts.tolist(),
        pictures,
        reads_key_frames(info, extraction),
        start_offset_s(info),
        warnings,
    )


def _insert(
    connection: Database, digest: str, size: int, space: str, embedded: _VideoContent, tracks: str
) -> None:
    """Write a video; one of the same tracks keeps its texts and sounds, and its files."""
    clips, packed = embedded.picture.clips, embedded.picture.pack()
    stored = insert_space(connection, space)
    newest = read_rows(connection, ["shots.id"], "FROM shots ORDER BY id DESC LIMIT 1")
    last = newest[0][0] if newest else 0
    facts = {
        "sha256": digest,
        "bytes": size,
        "duration_s": clips.duration_s,
        "start_offset_s": embedded.start_offset_s,
        "tracks": tracks,
        "fast": int(embedded.fast),
        "space": stored.id,
        "added_s": time.time(),
        "edges": packed.shots_s.tobytes(),
        "first_shot": last + 1,
        "n_shots": len(embedded.starts),
        "scan": pack_pieces(clips, np.array(embedded.starts), stored.axes).tobytes(),
        "usual_mean": packed.usual.mean,
        "usual_deviation": packed.usual.deviation,
        "usual_best": packed.usual.best,
    }
    same = "SELECT id FROM videos WHERE sha256 = ? AND tracks = ? ORDER BY id DESC"
    before = connection.execute(same, (digest, tracks)).fetchone()
    if before:  # of key frames or old networks
        (number,) = before
        connection.execute("DELETE FROM shots WHERE video = ?", (number,))
        values = ", ".join(f"{name} = ?" for name in facts)
        connection.execute(f"UPDATE videos SET {values} WHERE id = ?", (*facts.values(), number))
    else:
        places = ", ".join("?" * len(facts))
        connection.execute(f"INSERT INTO videos ({', '.join(facts)}) VALUES ({places})", (*facts.values(),))
        (number,) = connection.execute("SELECT max(id) FROM videos").fetchone()
    ends = [*embedded.starts[1:], len(clips)]
    shots = zip(embedded.starts, ends, embedded.pictures, strict=True)
    for shot, (start, end, picture) in enumerate(shots, last + 1):
        start_s, end_s = clips.timestamps[[start, end - 1]].tolist()
        span = (start_s, min(end_s + clips.step_s, clips.duration_s))
        actions = None if packed.actions is None else packed.actions[start:end].tobytes()
        row = (shot, number, *span, packed.clips[start:end].tobytes(), picture, actions)
        connection.execute("INSERT INTO shots VALUES (?, ?, ?, ?, ?, ?, ?)", row)


def _forget_moved(connection: Database, digest: str) -> str | None:
    source = "FROM files JOIN videos ON videos.id = video WHERE sha256 = ? ORDER BY path"
    for (path,) in read_rows(connection, ["files.path"], source, (digest,)):
        if is_gone(path):
            connection.execute("DELETE FROM files WHERE path = ?", (path,))
            return os.fsdecode(path)
    return None
