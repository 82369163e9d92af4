"""Answers to the page of an archive: moments and videos as data, their files, clips and timelines."""

import io
import json
import os
import re
import shlex
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

from vidsum.archive.archive import Archive
from vidsum.archive.matches import Match
from vidsum.archive.settings import EVIDENCE, ArchiveEvidence, SearchOptions, flag_of
from vidsum.archive.store import default_path, require_copy
from vidsum.errors import ForeignFileError, MissingError, UsageError, quote
from vidsum.io.atomic import as_utf8
from vidsum.io.paths import is_file
from vidsum.io.text import csv_text
from vidsum.options import Leaf, item_of, leaves, required
from vidsum.outputs.timelines import joint_format, joint_timeline_text, relative_path
from vidsum.results.clock import shift_times
from vidsum.results.cut_list import Cut
from vidsum.results.media import url_of
from vidsum.results.moments import UNLIKELY_BELOW, YES_FROM
from vidsum.results.page import data_url, policy_of
from vidsum.results.reading import make_passages
from vidsum.version import __version__
from vidsum.video.probe import holds_video

_CSV_COLUMNS = ("rank", "video", "start_s", "end_s", "present", "score", "evidence", "text", "archive")
_MAX_PAGE_SHOTS = 16  # shots per video on a page without a server, in addition to the shots of its moments
_N_LATEST = 24  # videos on the page before a search
_MAX_SAVED = 200  # maximum number of moments to save at once
_SPAN = ("start_s", "end_s")
_FROM_PRESENT = "FROM videos JOIN files ON video = videos.id WHERE gone_s IS NULL"


@dataclass(frozen=True)
class VideoFile:
    """The first existing file of a video; its times count from the first picture."""

    path: str
    bytes: int
    mtime_ns: int
    sha256: str
    duration_s: float
    start_offset_s: float

    def open(self) -> BinaryIO:
        """Open the file, still a video of the recorded time or SHA-256. Raises MissingError: it is not."""
        path = Path(self.path)
        require_copy(self.path)
        try:
            if not path.is_file():  # neither a folder nor a pipe, which would wait
                raise MissingError("has vanished", subject=path)
            file = path.open("rb")
            status = os.fstat(file.fileno())
        except (OSError, ValueError) as error:
            raise MissingError("cannot be read", subject=path) from error
        is_same = 0 < status.st_size == self.bytes and self._is_verified(file, status)
        file.seek(0)
        if not is_same:
            file.close()
            raise ForeignFileError("is not the video that was indexed; run vidsum index again", subject=path)
        return file

    def _is_verified(self, file: io.BufferedReader, status: os.stat_result) -> bool:
        """Return whether a file matches its row; the first request hashes it if its time differs."""
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


_verified: dict[tuple[object, ...], bool] = {}  # whether requested files match their rows


def find_video(archive: Archive, number: int) -> VideoFile:
    """Return a video by its id. Raises MissingError: the archive has none."""
    of_file = [f"files.{name}" for name in ("path", "bytes", "mtime_ns")]
    of_video = [f"videos.{name}" for name in ("sha256", "duration_s", "start_offset_s")]
    source = f"{_FROM_PRESENT} AND videos.id = ? ORDER BY path"
    rows = archive.read_rows([*of_file, *of_video], source, number)
    if not rows:
        raise MissingError(f"the archive has no video {number}")
    key, *about = next((row for row in rows if is_file(os.fsdecode(row[0]))), rows[0])
    return VideoFile(os.fsdecode(key), *about)


def _find_verified(archive: Archive, number: int) -> VideoFile:
    source = find_video(archive, number)
    source.open().close()
    return source


def search(archive: Archive, parameters: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Return the answer to a search by the parameters of a URL: `q`, and the flags of `vidsum search`.

    Raises UsageError: one is unknown or not allowed. MissingError: a shot is not in the archive.
    """
    parameters = {name.replace("-", "_"): values for name, values in parameters.items()}
    known = {
        flag.lstrip("-").replace("-", "_"): leaf for leaf in leaves(SearchOptions) for flag in leaf.flags
    }
    if unknown := sorted({*parameters} - {*known, "q"}):
        raise UsageError(f"unknown parameter {quote(unknown[0])}")
    chosen = {name: known[name] for name in parameters if name != "q"}
    values = {leaf.name: _parse_value(leaf, name, parameters[name]) for name, leaf in chosen.items()}
    if "like" in values:
        values["like"] = tuple(_segment_spec(archive, shot) for shot in values["like"])
    text, options = " ".join(parameters.get("q", ())) or None, SearchOptions(**values)
    matches = archive.find(text, options)
    warnings = archive.query_warnings(text, options, matches)
    return {"query": text, "moments": _describe_moments(archive, matches), "warnings": warnings}


def _describe_moments(archive: Archive, matches: Sequence[Match]) -> list[dict[str, Any]]:
    """Return moments as data in players' time, with the ids of video and shot, and the video's end."""
    placed = []
    for rank, match in enumerate(matches, 1):
        number, shot, duration_s = archive.locate(match)
        place = {"id": number, "shot": shot, "duration_s": duration_s + match.start_offset_s}
        placed.append({"rank": rank, **asdict(to_player_time(match)), **place})
    return placed


def to_player_time(match: Match) -> Match:
    """Return a moment with its times in players' time."""
    return replace(shift_times(match, match.start_offset_s), start_offset_s=0.0)


def _parse_value(leaf: Leaf, name: str, texts: Sequence[str]) -> Any:
    if item_of(leaf.kind):
        return tuple(texts)
    kinds: dict[Any, Any] = {bool: {"0": False, "1": True}.__getitem__, int: int, float: float}
    try:
        return (leaf.option.parse or kinds.get(required(leaf.kind), str))(texts[-1])
    except (KeyError, ValueError) as error:
        raise UsageError(f"{name} cannot be {quote(texts[-1])}") from error


def _segment_spec(archive: Archive, shot: str) -> str:
    """Return a shot as `--like` takes it, VIDEO@START-END. Raises MissingError: there is none."""
    number = int(shot) if re.fullmatch("[0-9]{1,17}", shot) else 0
    columns = ["shots.id", "shots.video", "shots.start_s", "shots.end_s"]
    rows = archive.read_rows(columns, "FROM shots WHERE id = ?", number)
    if not rows:
        raise MissingError(f"the archive has no shot {quote(shot)}")
    source, span = _find_verified(archive, rows[0][1]), rows[0][2:]
    return "{}@{:f}-{:f}".format(source.path, *shift_times(span, source.start_offset_s))


def describe_archive(archive: Archive) -> dict[str, Any]:
    """Return the totals and latest videos, which the page shows before a search."""
    columns = ["videos.id", "files.path", "videos.duration_s", "videos.first_shot"]
    rows = archive.read_rows(columns, f"{_FROM_PRESENT} ORDER BY videos.id DESC, path DESC")
    videos = {row[0]: (row[0], os.fsdecode(row[1]), *row[2:]) for row in rows[:_N_LATEST]}
    seconds = sum({number: duration_s for number, _, duration_s, _ in rows}.values())
    present = f"(SELECT videos.id {_FROM_PRESENT})"
    ((n_videos,),) = archive.rows(f"SELECT count(*) FROM videos WHERE id IN {present}")
    filled = f"FROM evidence WHERE length(records) > 0 AND video IN {present} GROUP BY kind"
    counts = {"picture": n_videos, **dict(archive.rows(f"SELECT kind, count(*) {filled}"))}
    options = "" if archive.path == default_path() else f" --archive {shlex.quote(archive.name)}"
    evidence = [(kind, counts.get(kind, 0), flag_of(kind)) for kind in EVIDENCE]
    return {
        "version": __version__,
        "archive": archive.name,
        "outdated": archive.n_outdated(),
        "unlikely": UNLIKELY_BELOW,
        "sure": YES_FROM,
        "latest": _to_dicts([*videos.values()], "id", "video", "duration_s", "shot"),
        "videos": n_videos,
        "seconds": seconds,
        "evidence": _to_dicts(evidence, "kind", "videos", "flag"),
        "index": f"vidsum index FOLDER{options}",
    }


def video(archive: Archive, number: int) -> dict[str, Any]:
    """Return a video with its shots and texts, in players' time. Raises MissingError: there is none."""
    source = find_video(archive, number)
    shots = archive.list_shots(number, source.duration_s)
    offset_s = source.start_offset_s
    kinds: tuple[ArchiveEvidence, ...] = ("speech", "text", "described")
    said, written, described = (
        shift_times([(part.start_s, part.end_s, part.text) for part in passages], offset_s)
        for passages in (archive.list_passages(kind, number) for kind in kinds)
    )
    placed = [(shot.id, *shift_times((shot.start_s, shot.end_s), offset_s)) for shot in shots]
    starts = [start_s for _, start_s, _ in placed]
    passages = make_passages(starts, source.duration_s + offset_s, said, written)
    return {
        "id": number,
        "video": source.path,
        "duration_s": source.duration_s + offset_s,
        "shots": _to_dicts(placed, "id", *_SPAN),
        "said": _to_dicts(said, *_SPAN, "text"),
        "written": _to_dicts(written, *_SPAN, "text"),
        "described": _to_dicts(described, *_SPAN, "text"),
        "passages": [
            {**asdict(passage), "said": _to_dicts(passage.said, *_SPAN, "text")} for passage in passages
        ],
    }


def render_page(archives: Sequence[Archive], title: str, matches: Sequence[Match], target: Path) -> str:
    """Return the moments of a search as a page that needs no server; links are relative to its folder."""
    moments, videos, thumbs = list[dict[str, Any]](), dict[int, Any](), dict[int, str]()
    for place, archive in enumerate(archives):

        def page_id(number: int, place: int = place) -> int:
            """Return an id on the page, which two archives do not share, of a video or shot."""
            return number * len(archives) + place

        held = [moment for moment in _describe_moments(archive, matches) if moment["archive"] == archive.name]
        for number in {moment["id"] for moment in held}:
            about, pictures = _describe_for_page(archive, number, held, target)
            thumbs |= {page_id(shot): picture for shot, picture in pictures.items()}
            shots = [shot | {"id": page_id(shot["id"])} for shot in about["shots"]]
            videos[page_id(number)] = about | {"id": page_id(number), "shots": shots}
        moments += [
            moment | {"id": page_id(moment["id"]), "shot": page_id(moment["shot"])} for moment in held
        ]
    moments.sort(key=lambda moment: int(moment["rank"]))
    facts: dict[str, Any] = {"version": __version__, "unlikely": UNLIKELY_BELOW, "sure": YES_FROM}
    facts |= {"title": title, "warnings": []}
    stored = json.dumps({**facts, "moments": moments, "videos": videos, "thumbs": thumbs})
    stored = stored.replace("<", "\\u003c")
    html, *scripts, base, style = (
        files("vidsum").joinpath(name).read_text("utf-8")
        for name in (
            *("archive/templates/page.html", "results/templates/player.js", "archive/templates/page.js"),
            *("results/templates/base.css", "archive/templates/page.css"),
        )
    )
    script = "".join(scripts)
    policy = f'<meta http-equiv="Content-Security-Policy" content="{policy_of(script)}">'
    head = f"{policy}\n<style>{base}{style}</style>"
    end = f'<script type="application/json" id="stored">{stored}</script>\n<script>{script}</script>\n</body>'
    html = re.sub('<link rel="stylesheet".*defer></script>', lambda _: head, html, flags=re.DOTALL)
    return as_utf8(html.replace("<title>vidsum", f"<title>{escape(title)}").replace("</body>", end))


def _describe_for_page(
    archive: Archive, number: int, moments: Sequence[Mapping[str, Any]], target: Path
) -> tuple[dict[str, Any], dict[int, str]]:
    """Return a video with its file by a link from the page, and pictures of some shots as data URLs."""
    about = video(archive, number)
    about["source"] = url_of(relative_path(about["video"], target)) if is_file(about["video"]) else None
    shots = [shot["id"] for shot in about["shots"]]
    shots = shots[:: -(-len(shots) // _MAX_PAGE_SHOTS)]
    shots += [moment["shot"] for moment in moments if moment["id"] == number]
    return about, {shot: data_url(read_picture(archive, shot)) for shot in shots}


def _to_dicts(rows: Sequence[tuple[Any, ...]], *names: str) -> list[dict[str, Any]]:
    return [dict(zip(names, row, strict=True)) for row in rows]


def read_picture(archive: Archive, shot: int) -> bytes:
    """Return the JPEG of a shot. Raises MissingError: the archive has none."""
    for _, jpeg in archive.read_rows(["shots.id", "shots.jpeg"], "FROM shots WHERE id = ?", shot):
        return bytes(jpeg)
    raise MissingError(f"the archive has no shot {shot}")


def parse_moments(archive: Archive, document: Any) -> list[Match]:
    """Return the moments of a request to save some. Raises UsageError: none; MissingError: their video."""
    moments = []
    try:
        for item in document["moments"]:
            source = _find_verified(archive, int(item["id"]))
            start_s, end_s, offset_s = item["start_s"], item["end_s"], source.start_offset_s
            span = float(start_s) - offset_s, float(end_s) - offset_s
            moments.append(Match(source.path, *span, None, 0.0, start_offset_s=offset_s))
            if not 0 <= start_s < end_s <= source.duration_s + offset_s + 1 or len(moments) > _MAX_SAVED:
                raise ValueError
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        fault = f"moments must be up to {_MAX_SAVED}, each with the id of a video, start_s and end_s in it"
        raise UsageError(fault) from error
    if not moments:
        raise UsageError("no moments")
    return moments


def write_clips(archive: Archive, moments: Sequence[Match]) -> tuple[BinaryIO, str]:
    """Write moments to a temporary file, an MP4 or a ZIP of several; return it with a name for it."""
    file = tempfile.TemporaryFile()  # noqa: SIM115  # the caller closes it
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, f"{n:02}_{Path(moment.video).stem}.mp4") for n, moment in enumerate(moments, 1)]
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


def render_timeline(moments: Sequence[Match], document: Mapping[str, Any]) -> tuple[str, str]:
    """Return moments as a timeline or table in a `format`, and a file name. Raises UsageError, InputError."""
    target = Path(f"moments.{document.get('format')}")
    if target.suffix == ".csv":
        rows = [{"rank": rank, **asdict(moment)} for rank, moment in enumerate(moments, 1)]
        return to_csv(rows), target.name
    cuts = make_cuts(moments, str(document.get("query") or ""))
    return joint_timeline_text(cuts, joint_format(target), target)[0], target.name


def make_cuts(moments: Sequence[Match], query: str) -> list[tuple[str, Cut]]:
    """Return the video and the cut of each moment, for a timeline."""
    text = as_utf8(" ".join(query.split())) or "moment"
    cuts = list[tuple[str, Cut]]()
    for rank, moment in enumerate(map(to_player_time, moments), 1):
        about = (f"{text} ({rank})", query, rank, moment.present, moment.evidence)
        cuts.append((moment.video, Cut(moment.start_s, moment.end_s, *about)))
    return cuts


def to_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return moments with their ranks as a table, in players' time."""
    table: list[list[object]] = [[*_CSV_COLUMNS]]
    for row in rows:
        shifted = {**row, **{name: shift_times(row[name], row["start_offset_s"]) for name in _SPAN}}
        table.append([shifted.get(name, "") for name in _CSV_COLUMNS])
    return as_utf8(csv_text(table))
