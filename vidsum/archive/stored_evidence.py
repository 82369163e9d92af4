"""Speech, text on the screen, sounds and descriptions of an archive's videos: made, stored and searched."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Final

from vidsum.archive.checked_records import read_edges
from vidsum.archive.rows import damaged, list_passages, read_rows, stream_rows
from vidsum.archive.search import Hit
from vidsum.archive.settings import ArchiveEvidence, SearchOptions, flag_of
from vidsum.archive.store import Database
from vidsum.errors import InputError
from vidsum.evidence.described import DescribedParts
from vidsum.evidence.protocol import Packed, TextEvidence, TextQuery, encode_queries
from vidsum.io.atomic import stems_of
from vidsum.io.provenance import hash_file
from vidsum.pipelines.evidence_kinds import KINDS
from vidsum.pipelines.plan import Input
from vidsum.pipelines.subtitles import find_subtitles
from vidsum.results.descriptions import Descriptions
from vidsum.results.load import load
from vidsum.results.settings import Evidence as Kind
from vidsum.types import Progress

_N_CANDIDATES = 100  # videos searched exactly: the likeliest by their records, and as many by exact words
CLASSES: Final[Mapping[ArchiveEvidence, type[TextEvidence]]] = {
    **{kind: made.evidence for kind, made in KINDS.items()},
    "described": DescribedParts,
}
"""The classes that records are unpacked to."""
_NOTHING: Final = Packed(b"")


@dataclass(frozen=True)
class NewEvidence:
    """Evidence of a video, to store."""

    kind: ArchiveEvidence
    packed: Packed
    made_from: str | None = None  # SHA-256 of the file that it is from; None: the pictures or the sound
    warnings: tuple[str, ...] = ()


def make_evidence(
    kind: Kind, video_input: Input, progress: Progress | None, *, is_wanted: bool
) -> NewEvidence | None:
    """Return the evidence of a video, empty without sound; None: not in the cache, and not wanted.

    Subtitles are always wanted. Raises PackageError: text is wanted, and the extra `ocr` is not installed.
    InputError: subtitles cannot be read.
    """
    video, made_by = video_input.video, KINDS[kind]
    assert video is not None
    subtitles = find_subtitles(video.path, video_input.extraction) if kind == "speech" else None
    if made_by.is_of_sound and not (video.has_audio or subtitles):
        return NewEvidence(kind, _NOTHING)
    try:
        plan = made_by.plan(video_input, only_cached=not is_wanted)
    except InputError:  # sound that cannot be decoded
        if subtitles:
            raise
        return NewEvidence(kind, _NOTHING) if is_wanted else None
    if plan is None:
        return None
    made = plan.run(progress)
    packed = made_by.evidence.of(made).pack()
    made_from = subtitles.digest if subtitles else None
    return NewEvidence(kind, packed, made_from, tuple(made_by.describe(made)))


def find_descriptions(video: str) -> Path | None:
    """Return the output of `vidsum describe`, next to a video or in the current folder, if there is any."""
    names = [f"{stem}_descriptions.json" for stem in reversed(stems_of(video))]
    paths = (folder / name for name in names for folder in (Path(video).parent, Path()))
    return next((path for path in paths if path.is_file() and os.access(path, os.R_OK)), None)


def read_descriptions(path: Path, sha256: str) -> tuple[NewEvidence | None, tuple[str, ...]]:
    """Return the sentences of a file and warnings; None if they are not of the video with a SHA-256."""
    try:
        described = load(path)
        if not isinstance(described, Descriptions):
            raise InputError("not descriptions")
        if described.provenance["video"].get("sha256") != sha256:
            raise InputError("of another video")
    except InputError as error:
        return None, (f"its descriptions are not used ({error.message})",)
    return NewEvidence("described", DescribedParts.of(described).pack(), hash_file(path)), ()


def store_evidence(connection: Database, video: int, made: NewEvidence) -> None:
    """Store evidence of a video, replacing what was there."""
    for table in ("evidence", "passages"):
        connection.execute(f"DELETE FROM {table} WHERE video = ? AND kind = ?", (video, made.kind))
    columns = "video, kind, records, made_from, made_with"
    packed, places = made.packed, "(?, ?, ?, ?, ?)"
    values = (video, made.kind, packed.records, made.made_from, packed.made_with)
    connection.execute(f"INSERT INTO evidence ({columns}) VALUES {places}", values)
    for part in packed.passages:
        row = (part.text, video, made.kind, part.start_s, part.end_s, part.certain)
        columns = "text, video, kind, start_s, end_s, certain"
        connection.execute(f"INSERT INTO passages ({columns}) VALUES (?, ?, ?, ?, ?, ?)", row)


def list_kinds(connection: Database, video: int) -> dict[ArchiveEvidence, str | None]:
    """Return the kinds of evidence that were made of a video, with the files that they are from."""
    columns = ("evidence.video", "evidence.kind", "evidence.made_from")
    rows = read_rows(connection, columns, "FROM evidence WHERE video = ?", (video,))
    return {kind: made_from for _, kind, made_from in rows}


def search_evidence(
    connection: Database, archive: str, text: str | None, options: SearchOptions, videos: set[int]
) -> list[Hit]:
    """Return the moments in texts and sounds. Raises InputError: no video has the kind in the options."""
    kinds = [kind for kind in CLASSES if options.includes(kind)]
    if not text or options.is_of_pictures or not kinds:
        return []
    query = "SELECT 1 FROM evidence WHERE kind = ? AND length(records) > 0 LIMIT 1"
    stored = [kind for kind in kinds if connection.execute(query, (kind,)).fetchone()]
    if options.evidence != "auto" and not stored:
        fault = f"none of its videos has evidence of the kind {options.evidence}"
        raise InputError(
            fault, hint=f"vidsum index FOLDER {flag_of(options.evidence)}".rstrip(), subject=archive
        )
    encoded = encode_queries([text], options.language) if stored else []
    hits = (_search(connection, kind, query, options, videos) for query in encoded for kind in stored)
    return [*chain.from_iterable(hits)]


def _search(
    connection: Database, kind: ArchiveEvidence, query: TextQuery, options: SearchOptions, videos: set[int]
) -> Iterator[Hit]:
    """Yield the moments of the likeliest videos."""
    for video in _find_candidates(connection, kind, query, options.top_k, videos):
        place = _place(video, kind)
        names = ("videos.duration_s", "videos.edges", "evidence.records", "evidence.made_with")
        source = "FROM evidence JOIN videos ON videos.id = video WHERE video = ? AND kind = ?"
        ((duration_s, edges, records, made_with),) = read_rows(connection, names, source, (video, kind))
        read_edges(video, edges, duration_s)  # else moments could last for days
        passages = list_passages(connection, kind, video)
        with _damage_in(place):
            evidence = CLASSES[kind].unpack(Packed(records, passages, made_with), duration_s)
        for moment, text in evidence.search(query, options.per_video):
            is_quoted = moment.score >= 1
            yield Hit(video, *moment.interval, moment.present or 0.0, None, kind, text, is_quoted=is_quoted)


def _find_candidates(
    connection: Database, kind: ArchiveEvidence, query: TextQuery, top_k: int, videos: set[int]
) -> Sequence[int]:
    """Return the likeliest videos by their records, then those with words of the query."""
    ranks, most = dict[int, float](), max(_N_CANDIDATES, top_k)
    source = "FROM evidence WHERE kind = ? AND length(records) > 0 ORDER BY video"
    for video, records in stream_rows(connection, ("evidence.video", "evidence.records"), source, (kind,)):
        if video in videos:
            with _damage_in(_place(video, kind)):
                rank = CLASSES[kind].rank(records, query)
            if rank is not None:
                ranks[video] = rank
    by_rank = sorted(ranks, key=lambda video: -ranks[video])[:most]
    has_words = dict.fromkeys(connection.find_words(kind, re.findall(r"\w+", query.text)) if ranks else ())
    return [*dict.fromkeys([*by_rank, *[video for video in has_words if video in ranks][:_N_CANDIDATES]])]


def _place(video: int, kind: ArchiveEvidence) -> str:
    return f"evidence.video {video}: {kind}"


@contextmanager
def _damage_in(place: str) -> Iterator[None]:
    """Turn the fault of a record into damage of the archive."""
    try:
        yield
    except ValueError as error:
        raise damaged(f"{place} {error}") from error
