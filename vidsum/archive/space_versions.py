"""The image-text space of an archive, and the versions of its networks (docs/archive.md).

An archive keeps its space, whatever is installed. A row of `spaces` is a version of its networks. All
versions of `vse` lead to MiniLM's sentences, so that vectors of any version compare with texts; vectors
of another space compare with texts of the same networks only.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from vidsum import checkpoints
from vidsum.archive.checked_records import read_records
from vidsum.archive.rows import StoredVideo, damaged, read_rows
from vidsum.archive.schema import PASSAGES
from vidsum.archive.store import Database
from vidsum.errors import Mention, UsageError, WeightsError
from vidsum.evidence.records import AXES, ClassNames
from vidsum.features import describe, weights_sha256
from vidsum.grounding.actions import embed_action_names
from vidsum.grounding.spaces import describe_space, name_embeddings, resolve_space
from vidsum.grounding.vse_map import NAME, load_map
from vidsum.io.provenance import digest_of
from vidsum.types import FloatArray

_MAX_AXIS = 1.001  # of a number: axes have a length of 1


@dataclass(frozen=True, eq=False)
class StoredSpace:
    """A space by a version of its networks, of which an archive holds vectors."""

    id: int
    name: str
    made_from: str  # digest of the networks
    axes: FloatArray  # [D, d]: what the vectors of pieces are projected on


def networks_digest(name: str) -> str:
    """Return the digest of the networks that make the vectors of new videos; texts are embedded later."""
    space = describe_space(name)
    sha256 = {"pictures": weights_sha256(describe(space.extractor))}
    return digest_of(sha256 | ({"vse": checkpoints.sha256_of(NAME)} if space.is_mapped else {}))


def embed_class_names(name: str) -> ClassNames:
    """Return the names of the classes that clips of a space have probabilities of."""
    if (space := describe_space(name)).is_mapped:
        return ClassNames(name_embeddings(), embed_action_names())
    none = np.zeros((0, space.dim), np.float32)
    return ClassNames(none, none)


def find_space(connection: Database, wanted: str = "auto") -> str:
    """Return the name of an archive's space; of an empty archive, what `wanted` means.

    Raises UsageError: the archive has another space than the wanted one, or there is none of that name.
    """
    rows = read_rows(connection, ["spaces.id", "spaces.name"], "FROM spaces ORDER BY id")
    names: list[str] = [*dict.fromkeys(name for _, name in rows)]
    if not names:
        return resolve_space(wanted)
    if len(names) > 1:
        raise damaged(f"it has the spaces {' and '.join(names)}")
    if wanted not in ("auto", *names):
        fault = f"the space of this archive is {names[0]}, not {wanted}"
        raise UsageError(fault, hint="vidsum index FOLDER --archive FILE, which makes another archive")
    return names[0]


def list_answering(connection: Database, name: str) -> list[StoredSpace]:
    """Return the versions of a space whose vectors compare with today's texts."""
    spaces = _read_spaces(connection, "name = ?", name)
    if describe_space(name).is_mapped:
        return spaces
    return [space for space in spaces if space.made_from == networks_digest(name)]


def list_videos(videos: Mapping[int, StoredVideo], spaces: Sequence[StoredSpace]) -> set[int]:
    """Return the ids of the videos with vectors of some spaces."""
    numbers = {space.id for space in spaces}
    return {number for number, video in videos.items() if video.space in numbers}


def require_weights(archive: str, name: str) -> None:
    """Raise WeightsError where the networks of an archive's space are not installed."""
    if name != NAME and not describe_space(name).is_installed():
        fault = f"its space is {name}, whose weights are not installed"
        hint = (f"vidsum weights pull {name}, or another archive, with ", Mention("archive", "FILE"))
        raise WeightsError(fault, hint=hint, subject=archive)


def insert_space(connection: Database, name: str) -> StoredSpace:
    """Return the space of new vectors; insert it if it is new, inside a transaction."""
    digest = networks_digest(name)
    if not (known := _read_spaces(connection, "made_from = ?", digest)):
        values = (name, digest, _compute_axes(name).tobytes())
        connection.execute("INSERT INTO spaces (name, made_from, axes) VALUES (?, ?, ?)", values)
        known = _read_spaces(connection, "made_from = ?", digest)
    return known[0]


def drop_orphans(connection: Database) -> None:
    """Remove the videos that no file holds, with their shots and evidence; in a transaction."""
    orphans = "SELECT id FROM videos WHERE id NOT IN (SELECT video FROM files)"
    for video in connection.execute(orphans).fetchall():  # ids are used as they are
        connection.execute(f"DELETE FROM {PASSAGES} WHERE video = ?", video)
        connection.execute("DELETE FROM videos WHERE id = ?", video)


def _read_spaces(connection: Database, where: str, value: str) -> list[StoredSpace]:
    columns = [f"spaces.{name}" for name in ("id", "name", "made_from", "axes")]
    rows = read_rows(connection, columns, f"FROM spaces WHERE {where} ORDER BY id", (value,))
    return [
        StoredSpace(number, name, digest, read_axes(number, name, axes))
        for number, name, digest, axes in rows
    ]


def read_axes(number: int, name: str, content: bytes) -> FloatArray:
    """Return the axes [D, d] of a version of a space. Raises DamagedArchiveError."""
    space, place = describe_space(name), f"spaces.id {number}: axes"
    axes = read_records(np.float32, (place, content), is_valid=lambda axes: np.abs(axes) <= _MAX_AXIS)
    n_axes = min(AXES, space.dim) if space.is_mapped else space.dim
    if len(axes) != space.dim * n_axes:
        raise damaged(f"{place} are {len(axes)} numbers, not {space.dim} times {n_axes}")
    return axes.reshape(space.dim, n_axes)


def _compute_axes(name: str) -> FloatArray:
    """Return [D, d] the principal directions of the map's rows for photographs; of other spaces, all D."""
    if not (space := describe_space(name)).is_mapped:
        return np.eye(space.dim, dtype=np.float32)
    factor = load_map().tensors["cohort.weight"]
    _, directions = np.linalg.eigh(factor @ factor.T)
    return np.ascontiguousarray(directions[:, ::-1][:, :AXES], np.float32)
