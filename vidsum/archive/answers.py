"""What the page of an archive asks of it: moments and videos as data, their files, clips and timelines."""

import csv
import io
import os
import re
import shutil
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO

from vidsum.archive.archive import Archive, Match
from vidsum.archive.wishes import Wishes
from vidsum.errors import InputError, UsageError
from vidsum.options import Leaf, item_of, leaves, required
from vidsum.outputs import as_utf8
from vidsum.pipelines.timelines import film_format, film_text
from vidsum.settings import UNLIKELY
from vidsum.text_files import shown
from vidsum.timelines.cuts import Cut
from vidsum.version import __version__

SCHEMA = "vidsum.search/1"
_CSV = ("rank", "video", "start_s", "end_s", "present", "score", "evidence", "text")
_LATEST = 24
"""Videos that the page shows before a search."""
_MOST_MOMENTS = 200
"""Moments that are saved at a time."""
_LIVE = "FROM videos JOIN files ON video = videos.id WHERE gone_s IS NULL"


class MissingError(InputError):
    """The archive lacks what is asked for, or the disk lacks the file."""


@dataclass(frozen=True)
class Source:
    """A video, by the first of its files that is there."""

    id: int
    path: str
    sha256: str
    bytes: int
    mtime_ns: int
    duration_s: float
    first_shot: int
    n_shots: int

    def open(self) -> BinaryIO:
        """The file. Raises MissingError: it is gone, or another one.

        A link could lead to any file of the same size by now: the time must be the same too.
        """
        path = Path(self.path)
        try:
            if not path.is_file():  # neither a folder nor a pipe, which would wait
                raise MissingError(f"{path}: has vanished")
            file = path.open("rb")
            status, is_link = os.fstat(file.fileno()), path.is_symlink()
        except OSError as error:
            raise MissingError(f"{path}: cannot be read") from error
        if status.st_size != self.bytes or (is_link and status.st_mtime_ns != self.mtime_ns):
            file.close()
            raise MissingError(f"{path}: has changed; run vidsum index again")
        return file


def source_of(archive: Archive, number: int) -> Source:
    """A video by its id. Raises MissingError: the archive has none."""
    facts = "videos.id, path, sha256, files.bytes, mtime_ns, duration_s, first_shot, n_shots"
    rows = archive.rows(f"SELECT {facts} {_LIVE} AND videos.id = ? ORDER BY path", number)
    sources = [Source(row[0], os.fsdecode(row[1]), *row[2:]) for row in rows]
    if not sources:
        raise MissingError(f"the archive has no video {number}")
    return next((each for each in sources if Path(each.path).is_file()), sources[0])


def search(archive: Archive, asked: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """The answer to a search by the parameters of a URL: `q`, and the flags of `vidsum search`.

    Raises:
        UsageError: a parameter is unknown, or its value is not allowed.
        MissingError: a shot that is to look alike is not in the archive.
        InputError: the archive is damaged.
    """
    known = {flag.lstrip("-").replace("-", "_"): leaf for leaf in leaves(Wishes) for flag in leaf.flags}
    if unknown := next((name for name in asked if name not in known and name != "q"), None):
        raise UsageError(f"unknown parameter {shown(unknown)}")
    values = {known[name].name: _value(known[name], name, asked[name]) for name in asked if name != "q"}
    if "like" in values:
        values["like"] = tuple(_stretch(archive, shot) for shot in values["like"])
    text, wishes = " ".join(asked.get("q", ())) or None, Wishes(**values)
    moments = []
    for rank, match in enumerate(archive.find(text, wishes), 1):
        number, shot = archive.place_of(match)
        ((duration_s,),) = archive.rows("SELECT duration_s FROM videos WHERE id = ?", number)
        moments.append({"rank": rank, **asdict(match), "id": number, "shot": shot, "duration_s": duration_s})
    warnings = list(archive.doubts(text, wishes))
    return {"schema": SCHEMA, "query": text, "moments": moments, "warnings": warnings}


def _value(leaf: Leaf, name: str, texts: Sequence[str]) -> Any:
    """What an option is by its parameters."""
    switch = {"0": False, "1": True}.__getitem__
    kinds: dict[Any, Any] = {bool: switch, int: int, float: float}
    try:
        if item_of(leaf.kind):
            return tuple(texts)
        return (leaf.option.parse or kinds.get(required(leaf.kind), str))(texts[-1])
    except (KeyError, ValueError) as error:
        raise UsageError(f"{name} cannot be {shown(texts[-1])}") from error


def _stretch(archive: Archive, shot: str) -> str:
    """The part of a video that a shot is, as `--like` takes it. Raises MissingError: there is none."""
    number = int(shot) if re.fullmatch("[0-9]{1,17}", shot) else 0
    rows = archive.rows(
        "SELECT videos.id, start_s, end_s FROM shots JOIN videos ON shots.id >= first_shot "
        "AND shots.id < first_shot + n_shots WHERE shots.id = ?",
        number,
    )
    if not rows:
        raise MissingError(f"the archive has no shot {shown(shot)}")
    return f"{source_of(archive, rows[0][0]).path}@{rows[0][1]:f}-{rows[0][2]:f}"


def overview(archive: Archive) -> dict[str, Any]:
    """What the page says before a search."""
    sums = "count(*), coalesce(sum(duration_s), 0), coalesce(sum(length(spoken) > 0), 0)"
    ids = f"SELECT videos.id {_LIVE}"
    ((videos, seconds, spoken),) = archive.rows(f"SELECT {sums} FROM videos WHERE id IN ({ids})")
    latest = archive.rows(
        f"SELECT videos.id, path, duration_s, first_shot {_LIVE} GROUP BY videos.id ORDER BY 1 DESC LIMIT ?",
        _LATEST,
    )
    names = ("id", "video", "duration_s", "shot")
    return {
        "version": __version__,
        "archive": str(archive.path),
        "videos": videos,
        "seconds": seconds,
        "spoken": spoken,
        "outdated": archive.n_outdated(),
        "unlikely": UNLIKELY,
        "latest": [dict(zip(names, (row[0], os.fsdecode(row[1]), *row[2:]), strict=True)) for row in latest],
    }


def video(archive: Archive, number: int) -> dict[str, Any]:
    """A video with its shots and what is said in it. Raises MissingError: the archive has none."""
    source = source_of(archive, number)
    of_shots = "SELECT id, start_s, end_s FROM shots WHERE id >= ? AND id < ?"
    shots = archive.rows(of_shots, source.first_shot, source.first_shot + source.n_shots)
    said = archive.rows("SELECT start_s, end_s, text FROM sentences WHERE video = ? ORDER BY rowid", number)
    return {
        "id": number,
        "video": source.path,
        "duration_s": source.duration_s,
        "shots": [dict(zip(("id", "start_s", "end_s"), row, strict=True)) for row in shots],
        "said": [dict(zip(("start_s", "end_s", "text"), row, strict=True)) for row in said],
    }


def picture(archive: Archive, shot: int) -> bytes:
    """The JPEG of a shot. Raises MissingError: the archive has none."""
    for (jpeg,) in archive.rows("SELECT jpeg FROM pictures WHERE shot = ?", shot):
        return bytes(jpeg)
    raise MissingError(f"the archive has no shot {shot}")


def moments_of(archive: Archive, document: Any) -> list[Match]:
    """The moments that a page wants to save.

    Raises:
        UsageError: the document is not a list of them.
        MissingError: see `source_of` and `Source.open`.
    """
    given = document.get("moments") if isinstance(document, dict) else None
    if not isinstance(given, list) or not 0 < len(given) <= _MOST_MOMENTS:
        raise UsageError(f"moments must be a list of 1 to {_MOST_MOMENTS}")
    moments = []
    for each in given:
        try:
            number, start_s, end_s = int(each["id"]), float(each["start_s"]), float(each["end_s"])
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise UsageError("a moment has id, start_s and end_s") from error
        source = source_of(archive, number)
        source.open().close()
        if not 0 <= start_s < end_s <= source.duration_s + 1:
            raise UsageError(f"a video of {source.duration_s:.2f} s has no moment {start_s} to {end_s}")
        moments.append(Match(source.path, start_s, end_s, None, 0.0))
    return moments


def clips(archive: Archive, moments: Sequence[Match]) -> tuple[BinaryIO, str]:
    """Moments as a file and its name: the MP4 of one, a ZIP of several; errors as `vidsum.write_clips`."""
    file = tempfile.TemporaryFile()  # noqa: SIM115  # the caller closes it
    names = [f"{rank:02}_{Path(one.video).stem}.mp4" for rank, one in enumerate(moments, 1)]
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, name) for name in names]
        for moment, path in zip(moments, paths, strict=True):
            archive.write_clip(moment, path)
        if len(paths) > 1:
            with zipfile.ZipFile(file, "w") as several:
                for path in paths:
                    several.write(path, as_utf8(path.name))
        else:
            with paths[0].open("rb") as clip:
                shutil.copyfileobj(clip, file)
    return file, names[0] if len(names) == 1 else "clips.zip"


def timeline(moments: Sequence[Match], document: Mapping[str, Any]) -> tuple[str, str]:
    """Moments as a timeline or table in the `format` that a page wants, and a name for its file.

    Raises:
        UsageError: the format is none, or cannot name several videos.
        InputError: see `film_text`.
    """
    target = Path(f"moments.{document.get('format')}")
    if target.suffix == ".csv":
        return as_csv([{"rank": rank, **asdict(one)} for rank, one in enumerate(moments, 1)]), target.name
    cuts = cuts_of(moments, str(document.get("query") or ""))
    return film_text(cuts, film_format(target), target)[0], target.name


def cuts_of(moments: Sequence[Match], query: str) -> list[tuple[str, Cut]]:
    """What a timeline shows of moments: the video of each, and the cut."""
    text = as_utf8(" ".join(query.split())) or "moment"
    return [
        (one.video, Cut(one.start_s, one.end_s, f"{text} ({rank})", query, rank, one.present, one.evidence))
        for rank, one in enumerate(moments, 1)
    ]


def as_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Moments with their ranks as a table."""
    text = io.StringIO()
    table = csv.DictWriter(text, _CSV, extrasaction="ignore", lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    return as_utf8(text.getvalue())
