"""Videos as an archive stores them: found, inserted, and forgotten where they moved."""

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from vidsum.archive.indexed_files import is_gone
from vidsum.archive.rows import read_rows
from vidsum.archive.space_versions import insert_space, list_answering
from vidsum.archive.store import Database
from vidsum.evidence.picture import Picture
from vidsum.evidence.records import pack_pieces


@dataclass(frozen=True, eq=False)
class VideoContent:
    """The pictures of a video as an archive stores them."""

    picture: Picture
    starts: Sequence[int]  # the first clip of each shot; shots that contain no middle of a clip are left out
    pictures: Sequence[bytes]
    fast: bool  # whether key frames alone were read
    start_offset_s: float
    warnings: tuple[str, ...]


class KnownVideo(NamedTuple):
    """A video that an archive holds."""

    id: int
    n_shots: int
    duration_s: float
    start_offset_s: float
    sha256: str


STORED_COLUMNS = tuple(f"videos.{name}" for name in KnownVideo._fields)


def find_stored(
    connection: Database, digest: str, space: str, tracks: str, *, fast: bool
) -> KnownVideo | None:
    """Find a video in a space; None if it is new, or key frames, other tracks or old networks were read."""
    numbers = ", ".join(str(version.id) for version in list_answering(connection, space))
    source = (
        f"FROM videos WHERE space IN ({numbers or 0}) AND sha256 = ? "
        "AND fast <= ? AND tracks = ? ORDER BY id DESC"
    )
    rows = read_rows(connection, STORED_COLUMNS, source, (digest, int(fast), tracks))
    return KnownVideo(*rows[0]) if rows else None


def insert_video(
    connection: Database, digest: str, size: int, space: str, embedded: VideoContent, tracks: str
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


def forget_moved(connection: Database, digest: str) -> str | None:
    """Remove the row of one file of a content that is gone, and return its path; None if all are there."""
    source = "FROM files JOIN videos ON videos.id = video WHERE sha256 = ? ORDER BY path"
    for (path,) in read_rows(connection, ["files.path"], source, (digest,)):
        if is_gone(path):
            connection.execute("DELETE FROM files WHERE path = ?", (path,))
            return os.fsdecode(path)
    return None
