"""Rows of an archive, checked as they are read: it may come from a stranger, and columns take any type.

`COLUMNS` has the values that vidsum writes; any other value means damage. Bounds are constants: no value of
an archive bounds another one alone. `packed` and `texts` check the records in BLOBs.
"""

import math
import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import compress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from vidsum.archive.schema import PASSAGES, REINDEX_HINT
from vidsum.archive.settings import EVIDENCE, ArchiveEvidence
from vidsum.errors import DamagedArchiveError, quote
from vidsum.evidence.audible import MAX_VIDEO_S
from vidsum.evidence.protocol import Passage
from vidsum.grounding.spaces import SPACES

if TYPE_CHECKING:
    from vidsum.archive.store import Database

_MAX_ID, _MAX_INTEGER = 2**53, 2**63 - 1
_MAX_COSINE = 1.01
_MAX_CLOCK_S = 1e11  # of seconds since 1970
TOLERANCE_S = 0.001
_MAX_NAME, _MAX_TEXT, _MAX_PATH_BYTES, _MAX_JPEG_BYTES = 1_000, 1_000_000, 65_536, 1_000_000
_TYPE = re.compile(r"typeof\(\w+\.\w+\)")


@dataclass(frozen=True)
class Values:
    """The values that a column may hold."""

    kinds: tuple[type, ...]
    least: float  # of a number, or of the length of a text or BLOB
    most: float
    pattern: str | bytes = ""  # of a whole text or BLOB
    may_be_null: bool = False

    def include(self, value: object) -> bool:
        """Return whether a value is allowed; NaN never is."""
        if value is None:
            return self.may_be_null
        if type(value) not in self.kinds:
            return False
        size: Any = value if isinstance(value, int | float) else len(value)  # type: ignore[arg-type]
        if not self.least <= size <= self.most:
            return False
        return not self.pattern or re.fullmatch(self.pattern, value) is not None  # type: ignore[call-overload]


def _integer(least: int, most: int = _MAX_INTEGER) -> Values:
    return Values((int,), least, most)


def _real(least: float, most: float, *, may_be_null: bool = False) -> Values:
    return Values((float, int), least, most, may_be_null=may_be_null)


def _text(most: int, pattern: str = "", *, least: int = 1, may_be_null: bool = False) -> Values:
    return Values((str,), least, most, pattern, may_be_null=may_be_null)


def _records(least: int = 1, *, may_be_null: bool = False) -> Values:
    """Return the values of a BLOB of records, whose length SQLite bounds; see `store.connect`."""
    return Values((bytes,), least, math.inf, may_be_null=may_be_null)


_ID, _NUMBER = _integer(1, _MAX_ID), _integer(0)
_TIME, _MAYBE_NEGATIVE = _real(0, MAX_VIDEO_S), _real(-MAX_VIDEO_S, MAX_VIDEO_S)
_PATH = Values((bytes,), 1, _MAX_PATH_BYTES, rb"[^\0]*")
_SHA256 = "[0-9a-f]{64}"
_KIND = _text(_MAX_NAME, "|".join(EVIDENCE))
COLUMNS: Final[dict[str, dict[str, Values]]] = {
    "spaces": {
        "id": _ID,
        "name": _text(_MAX_NAME, "|".join(map(re.escape, SPACES))),
        "made_from": _text(32, "[0-9a-f]{32}"),
        "axes": _records(),
    },
    "videos": {
        "id": _ID,
        "sha256": _text(64, _SHA256),
        "bytes": _NUMBER,
        "duration_s": _TIME,
        "start_offset_s": _MAYBE_NEGATIVE,
        "tracks": _text(20, "[0-9]{1,9},[0-9]{1,9}"),
        "fast": _integer(0, 1),
        "space": _ID,
        "added_s": _real(0, _MAX_CLOCK_S),
        "edges": _records(),
        "first_shot": _ID,
        "n_shots": _integer(1, int(MAX_VIDEO_S)),
        "scan": _records(),
        "usual_mean": _real(-_MAX_COSINE, _MAX_COSINE),
        "usual_deviation": _real(1e-6, _MAX_COSINE),
        "usual_best": _real(-1e7, 1e7),
    },
    "files": {
        "path": _PATH,
        "video": _ID,
        "bytes": _NUMBER,
        "mtime_ns": _integer(-_MAX_INTEGER),
        "gone_s": _real(0, _MAX_CLOCK_S, may_be_null=True),
    },
    "shots": {
        "id": _ID,
        "video": _ID,
        "start_s": _TIME,
        "end_s": _TIME,
        "clips": _records(),
        "jpeg": Values((bytes,), 1, _MAX_JPEG_BYTES, rb"(?s)\xff\xd8\xff.*"),
        "actions": _records(may_be_null=True),
    },
    "evidence": {
        "video": _ID,
        "kind": _KIND,
        "records": _records(0),
        "made_from": _text(64, _SHA256, may_be_null=True),
        "made_with": _text(_MAX_NAME, least=0, may_be_null=True),
    },
    "claims": {"path": _PATH, "owner": _text(_MAX_NAME), "until_s": _real(0, _MAX_CLOCK_S)},
    PASSAGES: {
        "text": _text(_MAX_TEXT, least=0),
        "video": _ID,
        "kind": _KIND,
        "start_s": _MAYBE_NEGATIVE,  # sound may begin before the first picture, and end later
        "end_s": _MAYBE_NEGATIVE,
        "certain": _real(0, 1),
    },
}
"""The values of each column, by table."""


def damaged(reason: str) -> DamagedArchiveError:
    """Return the error of an archive that holds what vidsum does not write."""
    return DamagedArchiveError(f"the archive is damaged ({reason})", hint=REINDEX_HINT)


def read_rows(
    connection: "Database", columns: Sequence[str], source: str, values: Sequence[object] = ()
) -> list[tuple[Any, ...]]:
    """Return the rows of `SELECT columns source`; a column is `TABLE.COLUMN`.

    A `typeof` of a column is checked and left out of the row. Errors name a row by its first column. Raises
    DamagedArchiveError: a value is none of its column's, or a start is after its end.
    """
    rows = connection.execute(f"SELECT {', '.join(columns)} {source}", values)
    return [*_iter_checked(columns, rows)]


def stream_rows(
    connection: "Database", columns: Sequence[str], source: str, values: Sequence[object] = ()
) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of `read_rows` one by one: all of them may not fit into memory."""
    return _iter_checked(columns, connection.stream(f"SELECT {', '.join(columns)} {source}", values))


def _iter_checked(columns: Sequence[str], rows: Any) -> Iterator[tuple[Any, ...]]:
    checks = {column: _values_of(column) for column in columns}
    returned = [not _TYPE.fullmatch(column) for column in columns]
    starts = [column for column in columns if column.endswith(".start_s")]
    spans = [(start, end) for start in starts if (end := start.replace(".start_s", ".end_s")) in checks]
    with closing(rows):  # SQLite keeps a file locked while a row is to come
        for row in rows:
            values = dict(zip(columns, row, strict=True))
            for column, value in values.items():
                if not checks[column].include(value):
                    raise damaged(f"{columns[0]} {quote(values[columns[0]])}: {column} is {quote(value)}")
            for start, end in spans:
                if values[start] > values[end]:
                    raise damaged(f"{columns[0]} {quote(values[columns[0]])}: {start} is after its end")
            yield tuple(compress(row, returned))


def _values_of(column: str) -> Values:
    if _TYPE.fullmatch(column):
        return _text(5, "blob|bytea")
    table, name = column.split(".")
    return COLUMNS[table][name]


class StoredFile(NamedTuple):
    """A row of `files`."""

    path: bytes
    video: int
    bytes: int
    mtime_ns: int
    gone_s: float | None


class StoredVideo(NamedTuple):
    """A row of `videos` without its records."""

    id: int
    sha256: str
    bytes: int
    duration_s: float
    start_offset_s: float
    tracks: str
    fast: int
    space: int
    added_s: float
    first_shot: int
    n_shots: int
    usual_mean: float
    usual_deviation: float
    usual_best: float


_RECORDS = ("edges", "scan")


def list_files(connection: "Database") -> tuple[list[StoredFile], dict[int, StoredVideo]]:
    """Return all files by path, and the videos by id; all values but records are checked.

    Raises DamagedArchiveError: also where the video of a file or the space of a video is not there.
    """
    names = [f"videos.{name}" for name in StoredVideo._fields]
    types = [f"typeof(videos.{name})" for name in _RECORDS]
    rows = read_rows(connection, [*names, *types], "FROM videos ORDER BY id")
    videos = {video.id: video for video in (StoredVideo(*row) for row in rows)}
    names = ["spaces.id", "spaces.name", "spaces.made_from"]
    spaces = {number for number, *_ in read_rows(connection, names, "FROM spaces ORDER BY id")}
    for video in videos.values():
        if video.space not in spaces:
            raise damaged(f"videos.id {video.id}: its space is not there")
    names = [f"files.{name}" for name in StoredFile._fields]
    # SQLite would sort paths of any length in memory before they are checked
    files = sorted(StoredFile(*row) for row in read_rows(connection, names, "FROM files"))
    for file in files:
        if file.video not in videos:
            raise damaged(f"files.path {quote(file.path)}: its video is not there")
    names = [f"evidence.{name}" for name in ("video", "kind", "made_from", "made_with")]
    for number, kind, *_ in read_rows(connection, [*names, "typeof(evidence.records)"], "FROM evidence"):
        if number not in videos:
            raise damaged(f"evidence.video {number}: {kind}: its video is not there")
    read_rows(connection, ["claims.path", "claims.owner", "claims.until_s"], "FROM claims")
    return files, videos


class StoredShot(NamedTuple):
    """A row of `shots`, without its picture."""

    id: int
    start_s: float
    end_s: float
    clips: bytes = b""  # their records, if they were asked for
    actions: bytes | None = None  # records of their actions, if they were asked for and are known


def list_shots(
    connection: "Database", video: int, duration_s: float, *, with_clips: bool = False
) -> list[StoredShot]:
    """Return the shots of a video, in order."""
    records = ["shots.clips", "shots.actions"] if with_clips else ["typeof(shots.clips)"]
    columns = ["shots.id", "shots.start_s", "shots.end_s", *records, "typeof(shots.jpeg)"]
    rows = read_rows(connection, columns, "FROM shots WHERE video = ? ORDER BY id", (video,))
    shots = [StoredShot(*row) for row in rows]
    for shot in shots:
        if shot.end_s > duration_s + TOLERANCE_S:
            raise damaged(f"shots.id {shot.id}: shots.end_s is after the end of its video")
    return shots


def list_passages(connection: "Database", kind: ArchiveEvidence, video: int) -> list[Passage]:
    """Return the passages of a kind of evidence of a video, in order of time."""
    columns = [f"{PASSAGES}.{name}" for name in ("video", "start_s", "end_s", "text", "certain")]
    source = f"FROM {PASSAGES} WHERE video = ? AND kind = ? ORDER BY start_s, end_s"
    rows = read_rows(connection, columns, source, (video, kind))
    return [Passage(start_s, end_s, text, certain=certain) for _, start_s, end_s, text, certain in rows]
