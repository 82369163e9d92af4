"""`vidsum.Archive`: many videos in one database, and searches over them.

with vidsum.Archive("videos.vidsum") as archive:
    archive.add("holiday", recursive=True)
    for moment in archive.search("a sailing boat", top_k=5):
        print(moment.video, moment.start_s, moment.present)
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Unpack

from threadpoolctl import threadpool_limits

from vidsum.archive import index, indexed_files
from vidsum.archive.claims import wait_for_claims
from vidsum.archive.index import IndexedVideo
from vidsum.archive.matches import Match, filter_files, select_best, to_matches
from vidsum.archive.migration import open_current
from vidsum.archive.postgres import public_name
from vidsum.archive.rows import StoredShot, list_files, list_passages, list_shots, read_rows
from vidsum.archive.search_queries import build_search
from vidsum.archive.settings import ArchiveEvidence, Indexing, SearchOptions, has_words, is_server
from vidsum.archive.space_versions import (
    find_space,
    list_answering,
    list_videos,
    require_weights,
)
from vidsum.archive.store import Database, default_path, faults, require_copy
from vidsum.archive.stored_evidence import search_evidence
from vidsum.errors import DamagedArchiveError, InputError, Mention, UsageError, VidsumError
from vidsum.evidence.audible import describe_unknown
from vidsum.evidence.protocol import Passage, encode_queries
from vidsum.features.settings import Extraction
from vidsum.grounding.settings import UNLIKELY
from vidsum.grounding.spaces import resolve_space
from vidsum.grounding.vse_map import NAME
from vidsum.io.paths import FileKey, reads_of
from vidsum.io.provenance import label_of
from vidsum.options import all_from_keywords, from_keywords
from vidsum.outputs.alone import PathLike, own_record, write_alone
from vidsum.pipelines.keywords import ArchiveSearchOptions, IndexOptions
from vidsum.pipelines.queries import find_unread, is_negated, query_warnings
from vidsum.pipelines.sources import expand
from vidsum.results.moments import negation_messages
from vidsum.results.settings import WORDS
from vidsum.types import Progress, clip_interval
from vidsum.version import __version__
from vidsum.video.probe import probe
from vidsum.video.settings import SoundLevel
from vidsum.video.write import write_segments


class Archive:
    """Many videos in one file, or on a server (`postgresql://USER@HOST/DATABASE`).

    Raises InputError: the file is no archive, is damaged or of a newer schema. OutputError: it cannot be made
    or written.
    """

    def __init__(self, path: PathLike | None = None, *, create: bool = True) -> None:
        self.path = path if isinstance(path, str) and is_server(path) else Path(path or default_path())
        self.notes: tuple[str, ...] = ()  # on what opening it has changed
        if self.is_there or not create:
            self._connection = self._connect(create=create)

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def name(self) -> str:
        """The path, or the address without user and password."""
        return public_name(str(self.path)) if is_server(self.path) else str(self.path)

    @property
    def is_there(self) -> bool:
        """Whether the file exists; it is made when the first video is added."""
        return not isinstance(self.path, Path) or self.path.exists()

    @cached_property
    def _connection(self) -> Database:
        return self._connect(create=True)

    def _connect(self, *, create: bool) -> Database:
        connection, self.notes = open_current(self.path, self.name, create=create)
        return connection

    def close(self) -> None:
        if "_connection" in self.__dict__:
            self._connection.close()
            del self._connection

    def add(
        self,
        videos: PathLike | Sequence[PathLike],
        *,
        recursive: bool = False,
        progress: Progress | None = None,
        **options: Unpack[IndexOptions],
    ) -> list[IndexedVideo]:
        """Add videos, or the videos of folders, to the archive; skip unchanged ones.

        Args:
            videos: files and folders.
            recursive: include subfolders.
            progress: called as progress(what, done, total) while it runs; a total of 0 is unknown.
            **options: fields of `vidsum.archive.settings.Indexing`, such as `transcribe=True`, and of
                `vidsum.features.settings.Extraction`.

        Raises InputError, WeightsError, OutputError: the first video that fails ends it.
        """
        videos = [videos] if isinstance(videos, str | os.PathLike) else videos
        extraction, indexing = all_from_keywords(Archive.add, (Extraction, Indexing), options)
        paths = expand([os.fspath(path) for path in videos], recursive=recursive)
        extraction.require_subtitles_of(len(paths))
        if self.is_there:
            self.require_whole()
        add = partial(self.add_video, extraction=extraction, indexing=indexing, progress=progress)
        is_new = not self.is_there
        try:
            added = {path: add(path) for path in paths}
            left = [path for path, video in added.items() if video.state == "claimed"]
            added |= {path: add(path) for path in self.wait_for(left)}
        except VidsumError:
            if is_new:  # a full disk leaves none
                self.remove_if_empty()
            raise
        return [*added.values()]

    def remove_if_empty(self) -> None:
        """Remove the file of an archive that holds no video, and to which no process adds one."""
        if not isinstance(self.path, Path) or not self.path.exists():
            return
        with faults(self.path):
            rows = [self.rows(f"SELECT 1 FROM {table} LIMIT 1") for table in ("files", "videos", "claims")]
        self.close()
        if not any(rows):
            for end in ("", "-wal", "-shm"):
                Path(f"{self.path}{end}").unlink(missing_ok=True)

    def add_video(
        self,
        path: str,
        extraction: Extraction,
        indexing: Indexing = Indexing(),
        progress: Progress | None = None,
        owner: str | None = None,
    ) -> IndexedVideo:
        """Add one video; see `add`. Claims of the same `owner` are no hindrance."""
        with faults(self.path):
            if not self.is_there:  # a file without video makes no archive
                index.plan_video(resolve_space(indexing.space), path, extraction)
            try:
                return index.add(self._connection, path, extraction, indexing, progress, owner)
            except DamagedArchiveError:
                raise
            except InputError:
                indexed_files.mark_missing(self._connection, indexed_files.key_of(path))
                raise

    def wait_for(self, paths: Sequence[str]) -> list[str]:
        """Wait until claims on videos are known to be live; return the videos whose claims are not."""
        with faults(self.path):
            keys = {path: indexed_files.key_of(path) for path in paths}
            free = wait_for_claims(self._connection, [*keys.values()]) if keys else ()
            return [path for path in paths if keys[path] in free]

    def remove(self, *paths: PathLike) -> int:
        """Remove videos from the archive, not from the disk; return how many were in it."""
        with faults(self.path):
            return indexed_files.remove(self._connection, paths)

    def mark_gone(self, *folders: PathLike) -> list[str]:
        """Mark the missing videos of folders, which searches then skip, and return them."""
        with faults(self.path):
            return indexed_files.mark_gone(self._connection, [os.fspath(folder) for folder in folders])

    def videos(self) -> list[str]:
        """Return the absolute paths of the videos that can be found."""
        with faults(self.path):
            files, _ = list_files(self._connection)
            return sorted(path for paths in filter_files(files, SearchOptions()).values() for path in paths)

    def require_whole(self) -> None:
        """Check the values of all files and videos. Raises DamagedArchiveError."""
        with faults(self.path):
            list_files(self._connection)

    @property
    def space(self) -> str:
        """The image-text space of its vectors; of an empty archive, the one that it would have."""
        with faults(self.path):
            return find_space(self._connection)

    def n_outdated(self) -> int:
        """Return the number of files whose vectors cannot be compared with texts, which searches skip."""
        with faults(self.path):
            files, stored = list_files(self._connection)
            videos = list_videos(stored, list_answering(self._connection, self.space))
            return sum(file.gone_s is None and file.video not in videos for file in files)

    def search(
        self,
        text: str | None = None,
        top_k: int = SearchOptions.top_k,
        **options: Unpack[ArchiveSearchOptions],
    ) -> list[Match]:
        """Return moments in all videos that match a text query, best first.

        Args:
            text: the query; None with `like`.
            top_k: maximum number.
            **options: other fields of `vidsum.archive.settings.SearchOptions`, such as `per_video=1`.

        Raises UsageError: there is no query, or a value is out of range. InputError: a picture or video of
        `like` cannot be read, or the archive is damaged.
        """
        return self.find(text, from_keywords(Archive.search, SearchOptions, {"top_k": top_k, **options}))

    def find(self, text: str | None, options: SearchOptions) -> list[Match]:
        """Search with options; see `search`."""
        if not (has_words(text) if text else options.like):
            raise UsageError(
                "nothing to search for", hint=('vidsum search "a sailing boat", or ', Mention("like", "FILE"))
            )
        # on a busy machine, threads of matrix products wait for each other longer than they compute
        with faults(self.path), self._connection.snapshot(), threadpool_limits(1):
            name = find_space(self._connection)
            stored, about = list_files(self._connection)
            spaces, files = list_answering(self._connection, name), filter_files(stored, options)
            if not spaces or not files:
                return []
            require_weights(self.name, name)
            search = build_search(self._connection, name, text, options)
            videos = {*files} & list_videos(about, spaces)
            hits = search_evidence(self._connection, self.name, text, options, videos)
            if options.includes("picture"):
                likely = [hit for hit in hits if hit.is_quoted or hit.present >= UNLIKELY]
                hits = [*likely, *search.run(spaces, videos)]
            matches = [match for hit in hits for match in to_matches(hit, files, search)]
            best = select_best(matches, options)
        is_unread = bool(find_unread(options.list_texts(text), self._space_of(options), options.language))
        return [
            replace(
                match,
                present=None if is_unread else match.present,
                start_offset_s=self.start_offset_s(match.video),
                archive=self.name,
            )
            for match in best
        ]

    def start_offset_s(self, video: PathLike) -> float:
        """Return the time from the start of a file to its first picture."""
        source = "FROM files JOIN videos ON videos.id = video WHERE path = ?"
        rows = self.read_rows(["videos.id", "videos.start_offset_s"], source, os.fsencode(video))
        return next((float(offset_s) for _, offset_s in rows), 0.0)

    def query_warnings(
        self, text: str | None, options: SearchOptions, matches: Sequence[Match] = ()
    ) -> tuple[str, ...]:
        """Return warnings about texts that are not well understood, given the moments that were found."""
        if not (texts := options.list_texts(text)):
            return ()
        space = self._space_of(options)
        unknown = find_unread(texts, space, options.language)
        is_by_words = bool(matches) and matches[0].evidence in WORDS
        by_words = text if is_by_words or not options.includes("picture") else None
        notes = query_warnings(texts, unknown, options.language, space)
        negated = [part for part in texts if part != by_words and is_negated(part, options.language, space)]
        is_of_sounds = options.evidence == "sound"
        of_sounds = describe_unknown(encode_queries(texts, options.language)) if is_of_sounds else ()
        return (*notes, *negation_messages(negated), *of_sounds)

    def picture(self, match: Match) -> bytes:
        """Return a small JPEG of the shot in the middle of a moment; empty where the archive has none."""
        columns = ["shots.id", "shots.jpeg"]
        rows = self.read_rows(columns, "FROM shots WHERE id = ?", self.locate(match)[1])
        return bytes(rows[0][1]) if rows else b""

    def locate(self, match: Match) -> tuple[int, int, float]:
        """Return the ids of the video and of the shot in the middle of a moment, and the video's length."""
        source = (
            "FROM files JOIN videos ON videos.id = files.video JOIN shots ON shots.video = videos.id "
            "WHERE path = ? AND (start_s <= ? OR shots.id = first_shot) ORDER BY shots.id DESC LIMIT 1"
        )
        values = (os.fsencode(match.video), (match.start_s + match.end_s) / 2)
        rows = self.read_rows(["videos.id", "shots.id", "videos.duration_s"], source, *values)
        return rows[0] if rows else (0, 0, 0.0)

    def read_rows(self, columns: Sequence[str], source: str, *values: object) -> list[tuple[Any, ...]]:
        """Return rows whose values are checked; see `vidsum.archive.rows`. Raises DamagedArchiveError."""
        with faults(self.path):
            return read_rows(self._connection, columns, source, values)

    def list_shots(self, video: int, duration_s: float) -> list[StoredShot]:
        """Return the shots of a video without their records, in order."""
        with faults(self.path):
            return list_shots(self._connection, video, duration_s)

    def list_passages(self, kind: ArchiveEvidence, video: int) -> list[Passage]:
        """Return what is said or written in a video, or told of it, in order."""
        with faults(self.path):
            return list_passages(self._connection, kind, video)

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """Return the rows of an SQL query; docs/formats.md has the tables."""
        with faults(self.path):
            return self._connection.execute(query, values).fetchall()

    def write_clip(
        self,
        match: Match,
        path: PathLike,
        *,
        loudness: float | None = None,
        overwrite: bool = False,
        reads: Mapping[FileKey, str] = {},
    ) -> tuple[str, ...]:
        """Write a moment as an MP4, and return warnings; raises the errors of `vidsum.write_clips`.

        `loudness` is of its sound, in LUFS. `overwrite` replaces a file that vidsum did not write, but none
        of `reads`.
        """
        level = SoundLevel(loudness=loudness)
        require_copy(match.video)
        facts = {"vidsum": __version__, "moment": [match.video, match.start_s, match.end_s]}
        source = "FROM files JOIN videos ON videos.id = video WHERE path = ?"
        rows = self.read_rows(["videos.id", "videos.tracks"], source, os.fsencode(match.video))
        ((_, tracks),) = rows or [(0, "0,0")]
        picture, sound = (int(number) or None for number in tracks.split(","))
        video = probe(match.video, video_track=picture, audio_track=sound)
        segments = [clip_interval((match.start_s, match.end_s), video.duration_s)]
        comment = label_of(facts, level.tag)
        write = partial(write_segments, video, segments, comment=comment, loudness_lufs=loudness)
        reads = {**reads_of([match.video]), **reads}
        return write_alone(own_record(Path(path)), write, overwrite=overwrite, reads=reads)[0].warnings

    def _space_of(self, options: SearchOptions) -> str:
        """Return the space whose text encoder reads a query; words and sounds are compared in `vse`."""
        return self.space if options.includes("picture") else NAME
