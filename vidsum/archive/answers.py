"""What the page of an archive asks of it: moments and videos as data, their files, clips and timelines."""

import csv
import io
import json
import os
import re
import shutil
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import file_digest
from html import escape
from importlib.resources import files
from pathlib import Path
from stat import S_ISREG
from typing import Any, BinaryIO

from vidsum.archive.archive import Archive, Match
from vidsum.archive.store import require_copy
from vidsum.archive.texts import TABLES
from vidsum.archive.wishes import Wishes
from vidsum.errors import ForeignFileError, InputError, MissingError, UsageError, quote
from vidsum.grounding.settings import UNLIKELY
from vidsum.options import Leaf, item_of, leaves, required
from vidsum.outputs import as_utf8
from vidsum.pipelines.timelines import joint_format, joint_timeline_text, relative_path
from vidsum.results.clock import shift_times
from vidsum.results.cuts import Cut
from vidsum.results.load import read_result
from vidsum.results.media import url_of
from vidsum.results.page import data_url, policy_of
from vidsum.results.summary import Summary
from vidsum.types import Interval
from vidsum.version import __version__
from vidsum.video.probe import holds_video

_CSV = ("rank", "video", "start_s", "end_s", "present", "score", "evidence", "text")
_PICTURED = 16
"""Shots of a video that a page without a server shows, beside those of its moments."""
_LATEST = 24
"""Videos that the page shows before a search."""
_MOST_MOMENTS = 200
"""Moments that are saved at a time."""
_SPAN = ("start_s", "end_s")
_LIVE = "FROM videos JOIN files ON video = videos.id WHERE gone_s IS NULL"


@dataclass(frozen=True)
class Source:
    """A video, by the first of its files that is there; its times count from the first picture."""

    path: str
    sha256: str
    bytes: int
    mtime_ns: int
    duration_s: float
    first_shot: int
    n_shots: int
    start_offset_s: float

    def open(self) -> BinaryIO:
        """Open the file. Raises MissingError: it is gone, or another one.

        Whoever writes into the archive can name any file of this machine and its size. So it must be a video
        too, which was last changed when the archive says, or has the content that it says.
        """
        path = Path(self.path)
        require_copy(self.path)
        try:
            if not path.is_file():  # neither a folder nor a pipe, which would wait
                raise MissingError(f"{path}: has vanished")
            file = path.open("rb")
            status = os.fstat(file.fileno())
        except (OSError, ValueError) as error:
            raise MissingError(f"{path}: cannot be read") from error
        is_same = 0 < status.st_size == self.bytes and self._is_verified(file, status)
        file.seek(0)
        if not is_same:
            file.close()
            raise ForeignFileError(f"{path}: is not the video that was indexed; run vidsum index again")
        return file

    def _is_verified(self, file: io.BufferedReader, status: os.stat_result) -> bool:
        """Tell whether a file is what its row says; a first request hashes it if its time differs."""
        state = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        facts = (self.sha256, self.mtime_ns, *state)
        if facts not in _verified:
            is_video = S_ISREG(status.st_mode) and holds_video(file)  # before much is read
            file.seek(0)
            is_dated = status.st_mtime_ns == self.mtime_ns
            _verified[facts] = is_video and (
                is_dated or file_digest(file, "sha256").hexdigest() == self.sha256
            )
        return _verified[facts]


_verified: dict[tuple[object, ...], bool] = {}
"""Requested files, and whether each is the video of its row."""


def source_of(archive: Archive, number: int) -> Source:
    """Return a video by its id. Raises MissingError: the archive has none."""
    facts = "path, sha256, files.bytes, mtime_ns, duration_s, first_shot, n_shots"
    rows = archive.rows(f"SELECT {facts} {_LIVE} AND videos.id = ? ORDER BY path", number)
    if not rows:
        raise MissingError(f"the archive has no video {number}")
    key, *about = next((row for row in rows if Path(os.fsdecode(row[0])).is_file()), rows[0])
    path = os.fsdecode(key)
    return Source(*(path, *about, archive.start_offset_s(path)))


def _verified_source(archive: Archive, number: int) -> Source:
    """Find a video that is to be read. Raises MissingError: as `source_of` and `Source.open`."""
    source = source_of(archive, number)
    source.open().close()
    return source


def search(archive: Archive, asked: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Return the answer to a search by the parameters of a URL: `q`, and the flags of `vidsum search`.

    Raises UsageError where one is unknown or not allowed, MissingError where a shot is not in the archive.
    """
    asked = {name.replace("-", "_"): values for name, values in asked.items()}
    known = {flag.lstrip("-").replace("-", "_"): leaf for leaf in leaves(Wishes) for flag in leaf.flags}
    if unknown := sorted({*asked} - {*known, "q"}):
        raise UsageError(f"unknown parameter {quote(unknown[0])}")
    values = {known[name].name: _value(known[name], name, asked[name]) for name in asked if name != "q"}
    if "like" in values:
        values["like"] = tuple(_stretch(archive, shot) for shot in values["like"])
    text, wishes = " ".join(asked.get("q", ())) or None, Wishes(**values)
    moments = _placed(archive, archive.find(text, wishes))
    return {"query": text, "moments": moments, "warnings": archive.doubts(text, wishes)}


def _placed(archive: Archive, matches: Sequence[Match]) -> list[dict[str, Any]]:
    """Return moments as data by the clock of players, with the ids of video and shot, and the end of the
    video.
    """
    placed = []
    for rank, match in enumerate(matches, 1):
        number, shot, duration_s = archive.place_of(match)
        place = {"id": number, "shot": shot, "duration_s": duration_s + match.start_offset_s}
        placed.append({"rank": rank, **asdict(played(match)), **place})
    return placed


def played(match: Match) -> Match:
    """Return a moment with its times as players of its video count them."""
    return replace(shift_times(match, match.start_offset_s), start_offset_s=0.0)


def _value(leaf: Leaf, name: str, texts: Sequence[str]) -> Any:
    if item_of(leaf.kind):
        return tuple(texts)
    kinds: dict[Any, Any] = {bool: {"0": False, "1": True}.__getitem__, int: int, float: float}
    try:
        return (leaf.option.parse or kinds.get(required(leaf.kind), str))(texts[-1])
    except (KeyError, ValueError) as error:
        raise UsageError(f"{name} cannot be {quote(texts[-1])}") from error


def _stretch(archive: Archive, shot: str) -> str:
    """Return the part of a video that a shot is, as `--like` takes it. Raises MissingError: there is none."""
    number = int(shot) if re.fullmatch("[0-9]{1,17}", shot) else 0
    rows = archive.rows(
        "SELECT videos.id, start_s, end_s FROM shots JOIN videos ON shots.id >= first_shot "
        "AND shots.id < first_shot + n_shots WHERE shots.id = ?",
        number,
    )
    if not rows:
        raise MissingError(f"the archive has no shot {quote(shot)}")
    source, span = _verified_source(archive, rows[0][0]), rows[0][1:]
    return "{}@{:f}-{:f}".format(source.path, *shift_times(span, source.start_offset_s))


def overview(archive: Archive) -> dict[str, Any]:
    """What the page says before a search."""
    latest = f"SELECT videos.id, path, duration_s, first_shot {_LIVE} ORDER BY 1 DESC, path DESC LIMIT ?"
    videos = {row[0]: (row[0], os.fsdecode(row[1]), *row[2:]) for row in archive.rows(latest, _LATEST)}
    spoken = "sum(CASE WHEN length(spoken) > 0 THEN 1 ELSE 0 END)"
    sums = f"count(*), coalesce(sum(duration_s), 0), coalesce({spoken}, 0)"
    (totals,) = archive.rows(f"SELECT {sums} FROM videos WHERE id IN (SELECT videos.id {_LIVE})")
    return {
        "version": __version__,
        "archive": archive.name,
        "outdated": archive.n_outdated(),
        "unlikely": UNLIKELY,
        "latest": _named([*videos.values()], "id", "video", "duration_s", "shot"),
        **dict(zip(("videos", "seconds", "spoken"), totals, strict=True)),
    }


def video(archive: Archive, number: int) -> dict[str, Any]:
    """Return a video with its shots and what is said in it, by the clock of players.

    Raises MissingError: the archive has none.
    """
    source = source_of(archive, number)
    of_shots = "SELECT id, start_s, end_s FROM shots WHERE id >= ? AND id < ?"
    shots = archive.rows(of_shots, source.first_shot, source.first_shot + source.n_shots)
    texts = "SELECT start_s, end_s, text FROM {} WHERE video = ? ORDER BY start_s"
    said, described = (archive.rows(texts.format(table), number) for table, _ in TABLES.values())
    offset_s = source.start_offset_s
    return {
        "id": number,
        "video": source.path,
        "duration_s": source.duration_s + offset_s,
        "shots": _named([(shot, *shift_times(tuple(span), offset_s)) for shot, *span in shots], "id", *_SPAN),
        "said": _named(shift_times(said, offset_s), *_SPAN, "text"),
        "described": _named(shift_times(described, offset_s), *_SPAN, "text"),
        "summary": _named(shift_times(_summary(source), offset_s), *_SPAN),
    }


def _summary(source: Source) -> Sequence[Interval]:
    """Return the segments of the summary of a video whose JSON is beside it; none where there is none."""
    try:
        source.open().close()
        summary = read_result(f"{Path(source.path).with_suffix('')}_summary.json")
    except InputError:
        return ()
    is_of_it = summary.provenance.get("video", {}).get("sha256") == source.sha256
    return summary.segments if isinstance(summary, Summary) and is_of_it else ()


def page(archive: Archive, title: str, matches: Sequence[Match], target: Path) -> str:
    """Return the moments of a search as a page that needs no server; links to videos begin at its folder."""
    moments, videos, thumbs = _placed(archive, matches), dict[int, Any](), dict[int, str]()
    for number in {moment["id"] for moment in moments}:
        about = videos[number] = video(archive, number)
        is_there = Path(about["video"]).is_file()
        about["source"] = url_of(relative_path(about["video"], target)) if is_there else None
        shots = [shot["id"] for shot in about["shots"]]
        shots = shots[:: -(-len(shots) // _PICTURED)]
        shots += [moment["shot"] for moment in moments if moment["id"] == number]
        thumbs |= {shot: data_url(picture(archive, shot)) for shot in shots}
    facts = {"version": __version__, "unlikely": UNLIKELY, "title": title, "warnings": []}
    stored = json.dumps({**facts, "moments": moments, "videos": videos, "thumbs": thumbs}).replace(
        "<", "\\u003c"
    )
    html, *scripts, base, own = (
        files("vidsum").joinpath(name).read_text("utf-8")
        for name in (
            *("archive/templates/page.html", "results/templates/player.js", "archive/templates/page.js"),
            *("results/templates/base.css", "archive/templates/page.css"),
        )
    )
    script = "".join(scripts)
    policy = f'<meta http-equiv="Content-Security-Policy" content="{policy_of(script)}">'
    head = f"{policy}\n<style>{base}{own}</style>"
    end = f'<script type="application/json" id="stored">{stored}</script>\n<script>{script}</script>\n</body>'
    html = re.sub('<link rel="stylesheet".*defer></script>', lambda _: head, html, flags=re.DOTALL)
    return as_utf8(html.replace("<title>vidsum", f"<title>{escape(title)}").replace("</body>", end))


def _named(rows: Sequence[tuple[Any, ...]], *names: str) -> list[dict[str, Any]]:
    return [dict(zip(names, row, strict=True)) for row in rows]


def picture(archive: Archive, shot: int) -> bytes:
    """Return the JPEG of a shot. Raises MissingError: the archive has none."""
    for (jpeg,) in archive.rows("SELECT jpeg FROM pictures WHERE shot = ?", shot):
        return bytes(jpeg)
    raise MissingError(f"the archive has no shot {shot}")


def moments_of(archive: Archive, document: Any) -> list[Match]:
    """Return the moments that a page wants to save.

    Raises UsageError where these are none, MissingError as `source_of` and `Source.open`.
    """
    moments = []
    try:
        for each in document["moments"]:
            source = _verified_source(archive, int(each["id"]))
            start_s, end_s, offset_s = each["start_s"], each["end_s"], source.start_offset_s
            span = float(start_s) - offset_s, float(end_s) - offset_s
            moments.append(Match(source.path, *span, None, 0.0, start_offset_s=offset_s))
            if not 0 <= start_s < end_s <= source.duration_s + offset_s + 1 or len(moments) > _MOST_MOMENTS:
                raise ValueError
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        fault = f"moments must be up to {_MOST_MOMENTS}, each with the id of a video, start_s and end_s in it"
        raise UsageError(fault) from error
    if not moments:
        raise UsageError("no moments")
    return moments


def clips(archive: Archive, moments: Sequence[Match]) -> tuple[BinaryIO, str]:
    """Return moments as a file and its name: the MP4 of one, a ZIP of several; errors as
    `vidsum.write_clips`.
    """
    file = tempfile.TemporaryFile()  # noqa: SIM115  # the caller closes it
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, f"{n:02}_{Path(one.video).stem}.mp4") for n, one in enumerate(moments, 1)]
        for moment, path in zip(moments, paths, strict=True):
            archive.write_clip(moment, path)
        if len(paths) == 1:
            with paths[0].open("rb") as clip:
                shutil.copyfileobj(clip, file)
            return file, paths[0].name
        with zipfile.ZipFile(file, "w") as several:
            for path in paths:
                several.write(path, as_utf8(path.name))
    return file, "clips.zip"


def timeline(moments: Sequence[Match], document: Mapping[str, Any]) -> tuple[str, str]:
    """Return moments as a timeline or table in the `format` that a page wants, and a name for its file.

    Raises UsageError where the format is none, or cannot name several videos; InputError:
    see `joint_timeline_text`.
    """
    target = Path(f"moments.{document.get('format')}")
    if target.suffix == ".csv":
        return as_csv([{"rank": rank, **asdict(one)} for rank, one in enumerate(moments, 1)]), target.name
    cuts = cuts_of(moments, str(document.get("query") or ""))
    return joint_timeline_text(cuts, joint_format(target), target)[0], target.name


def cuts_of(moments: Sequence[Match], query: str) -> list[tuple[str, Cut]]:
    """What a timeline shows of moments: the video of each, and the cut."""
    text = as_utf8(" ".join(query.split())) or "moment"
    return [
        (one.video, Cut(one.start_s, one.end_s, f"{text} ({rank})", query, rank, one.present, one.evidence))
        for rank, one in enumerate(map(played, moments), 1)
    ]


def as_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return moments with their ranks as a table, by the clock of players."""
    text = io.StringIO()
    table = csv.DictWriter(text, _CSV, extrasaction="ignore", lineterminator="\n")
    table.writeheader()
    for row in rows:
        table.writerow({**row, **{name: shift_times(row[name], row["start_offset_s"]) for name in _SPAN}})
    return as_utf8(text.getvalue())
