"""Add videos to an archive, and track those that changed, moved or are gone."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from vidsum.archive.claims import claim_file
from vidsum.archive.indexed_files import key_of
from vidsum.archive.rows import read_rows
from vidsum.archive.settings import ArchiveEvidence, Indexing
from vidsum.archive.space_versions import drop_orphans, find_space
from vidsum.archive.store import Database
from vidsum.archive.stored_evidence import (
    NewEvidence,
    find_descriptions,
    list_kinds,
    make_evidence,
    read_descriptions,
    store_evidence,
)
from vidsum.archive.stored_videos import (
    STORED_COLUMNS,
    KnownVideo,
    VideoContent,
    find_stored,
    forget_moved,
    insert_video,
)
from vidsum.errors import InputError
from vidsum.evidence.audible import MAX_VIDEO_S
from vidsum.evidence.match_probability import embed_background
from vidsum.evidence.picture import Picture
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
    columns = ("files.bytes", "files.mtime_ns", "videos.tracks", *STORED_COLUMNS)
    source = "FROM files JOIN videos ON videos.id = files.video WHERE path = ?"
    before = None
    for size, mtime_ns, tracks, *values in read_rows(connection, columns, source, (key,)):
        before = KnownVideo(*values)
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
    stored: KnownVideo,
    tracks: str,
    extraction: Extraction,
    space: str,
    indexing: Indexing,
) -> bool:
    """Return whether nothing is to be made of a file that is unchanged."""
    tracks = _find_tracks(file.path, extraction, tracks)
    made = find_stored(connection, stored.sha256, space, tracks, fast=extraction.fast)
    if made is None or made.id != stored.id:
        return False
    kinds = list_kinds(connection, stored.id)
    if any(kind not in kinds and indexing.makes(kind) for kind in KINDS):
        return False
    if _find_new_descriptions(file, kinds):
        return False
    if _has_other_subtitles(file.path, extraction, kinds):
        return False
    if "speech" in kinds:
        return True
    source: dict[str, Any] = {"bytes": file.bytes, "sha256": stored.sha256}
    if audio_track := int(tracks.split(",")[1]):
        source["audio_track"] = audio_track
    return find_transcript(source, extraction, stored.start_offset_s) is None


def _find_new_descriptions(file: _File, kinds: Mapping[ArchiveEvidence, str | None]) -> Path | None:
    """Return the descriptions next to a video, unless they are in the archive as they are."""
    descriptions = find_descriptions(os.fsdecode(file.key))
    if descriptions is None or hash_file(descriptions) == kinds.get("described"):
        return None
    return descriptions


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
    before: KnownVideo | None,
    extraction: Extraction,
    space: str,
    indexing: Indexing,
    progress: Progress | None,
) -> IndexedVideo:
    """Make what an archive lacks of a file, and store it."""
    digest, tracks = identify_file(Path(file.path))["sha256"], _find_tracks(file.path, extraction)
    find = partial(find_stored, connection, digest, space, tracks, fast=extraction.fast)
    known = find()
    kinds = list_kinds(connection, known.id) if known else {}
    embedded, made = _make_missing(
        file, kinds, extraction, space, indexing, progress, is_known=known is not None
    )
    warnings = [*(embedded.warnings if embedded else ())]
    if any(evidence.kind == "speech" and not evidence.made_from for evidence in made):
        warnings += describe_used(file.path, "audio", int(tracks.split(",")[1]) or None)
    warnings += [note for evidence in made for note in evidence.warnings]
    if descriptions := _find_new_descriptions(file, kinds):
        described, notes = read_descriptions(descriptions, digest)
        warnings += notes
        made += [described] if described else []
    with connection.transaction():
        known = find()  # another process may have been first
        if known is None:
            if embedded is None:
                raise InputError(
                    "was removed from the archive meanwhile", hint="try again", subject=file.path
                )
            insert_video(connection, digest, file.bytes, space, embedded, tracks)
            known = find()
            assert known is not None
        _store_evidence_of(connection, known.id, made, is_new=embedded is not None)
        moved_from = None if before else forget_moved(connection, digest)
        _store_file(connection, file, known.id)
        drop_orphans(connection)
    state: State = "changed" if before else "moved" if moved_from else "added"
    has_new = embedded or any(evidence.packed.records or evidence.made_from for evidence in made)
    if before and before.id == known.id and not has_new:
        state = "unchanged"
    video, unique = os.fsdecode(file.key), tuple(dict.fromkeys(warnings))
    return IndexedVideo(video, state, known.duration_s, known.n_shots, moved_from, unique)


def _make_missing(
    file: _File,
    kinds: Mapping[ArchiveEvidence, str | None],
    extraction: Extraction,
    space: str,
    indexing: Indexing,
    progress: Progress | None,
    *,
    is_known: bool,
) -> tuple[VideoContent | None, list[NewEvidence]]:
    """Make the pictures of a video that is not known, and the evidence that is not among its stored kinds."""
    video_input = open_in_space(space, file.path, extraction, actions=indexing.actions and not is_known)
    missing = [kind for kind in KINDS if kind not in kinds]
    if "speech" in kinds and _has_other_subtitles(file.path, extraction, kinds):
        missing.append("speech")

    def make(*, of_sound: bool) -> list[NewEvidence]:
        chosen = [kind for kind in missing if KINDS[kind].is_of_sound == of_sound]
        made = (make_evidence(kind, video_input, progress, is_wanted=indexing.makes(kind)) for kind in chosen)
        return [evidence for evidence in made if evidence]

    of_pictures = make(of_sound=False)  # first, as one pass makes the features too
    embedded = None if is_known else _embed_video(space, file.path, extraction, indexing, progress)
    return embedded, of_pictures + make(of_sound=True)


def _store_evidence_of(
    connection: Database, video: int, made: Sequence[NewEvidence], *, is_new: bool
) -> None:
    """Store the evidence of a video, unless another process stored the same first."""
    kinds = list_kinds(connection, video)
    for evidence in made:
        if is_new or evidence.kind not in kinds or kinds[evidence.kind] != evidence.made_from:
            store_evidence(connection, video, evidence)


def _store_file(connection: Database, file: _File, video: int) -> None:
    """Store what a path leads to, in place of what it led to before."""
    connection.execute(
        "INSERT INTO files VALUES (?, ?, ?, ?, NULL) ON CONFLICT (path) DO UPDATE SET "
        "video = excluded.video, bytes = excluded.bytes, mtime_ns = excluded.mtime_ns, gone_s = NULL",
        (file.key, video, file.bytes, file.mtime_ns),
    )


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


def _embed_video(
    space: str, video: str, extraction: Extraction, indexing: Indexing, progress: Progress | None
) -> VideoContent:
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
    return VideoContent(
        Picture.of(clips, space, embed_background(space)),
        starts.tolist(),
        pictures,
        reads_key_frames(info, extraction),
        start_offset_s(info),
        warnings,
    )
