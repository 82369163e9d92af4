"""Videos at http:// and https:// addresses: copies in the cache, from where everything reads them as files.

A transfer that broke off continues where it ended, in a later run too (range requests). A whole copy is
downloaded again only if the server's ETag or date says that the file has changed. Web pages are left to
yt-dlp, if it is installed.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

import requests
from filelock import FileLock

from vidsum.checkpoints.obtain import is_offline
from vidsum.checkpoints.package_index import ATTEMPTS, PAUSE_S, TIMEOUTS_S, new_session, reason_of, write_body
from vidsum.disk_cache import home
from vidsum.errors import InputError
from vidsum.types import Progress

MAX_GB, MAX_TIME_S = 8.0, 7200.0
_KEPT_BYTES = 32 * 10**9
"""Of all copies; beyond that, those least recently used are removed."""
_IN_USE_S = 86_400.0
"""A copy that was asked for within this time is not removed."""
_LOCK = ".lock"
_DIGITS = 16
"""Of the name of a copy's folder, hexadecimal."""
_PAGES = ("text/html", "application/xhtml", "mpegurl", "dash+xml")
"""In the content type of what is no file with a video: a page, or a list of its pieces."""


@dataclass(frozen=True)
class Bounds:
    """What a download may take at most."""

    gigabytes: float = MAX_GB
    seconds: float = MAX_TIME_S

    @property
    def bytes(self) -> int:
        """10^9 to a gigabyte."""
        return int(self.gigabytes * 1e9)


def is_url(name: str | os.PathLike[str]) -> bool:
    """Whether an input is an address that `download` takes."""
    return re.match(r"https?://", os.fspath(name), re.IGNORECASE) is not None


def place_of(url: str) -> Path:
    """Where the copy of an address is kept: a folder of its own, under the address' last name."""
    folder = home() / "videos" / hashlib.sha256(url.encode()).hexdigest()[:_DIGITS]
    address = re.sub(r"^[^/]*//[^/]*", "", url)
    path, _, query = address.partition("#")[0].partition("?")
    name = unquote(path.rstrip("/").rpartition("/")[2])
    name = re.sub(r"\.(html?|php|aspx?|jsp)$", "", name)
    if not re.search(r"\.[A-Za-z0-9]{2,4}$", name):  # a page: `watch?v=...`
        name = f"{name}_{query}".strip("_").replace(".", "_") + ".mp4"
    stem, _, suffix = re.sub(r"[^\w.()+-]+", "_", name).lstrip(".").rpartition(".")
    return folder / f"{stem[:80] or 'video'}.{suffix}"


def download(
    url: str,
    *,
    max_gigabytes: float = MAX_GB,
    max_time_s: float = MAX_TIME_S,
    progress: Progress | None = None,
) -> Path:
    """The path of a local copy of the video at an address, in `$VIDSUM_HOME/videos`.

    Args:
        url: `http://` or `https://`; a file, or a page that yt-dlp reads.
        max_gigabytes: maximum size, in 10^9 bytes.
        max_time_s: maximum time that the transfer takes, in seconds.
        progress: called as progress(step, bytes so far, bytes in all).

    Raises:
        InputError: it cannot be downloaded, is larger or takes longer than allowed, or VIDSUM_OFFLINE forbids
            it and there is no copy.
    """
    target = place_of(url)
    bring(url, target, Bounds(max_gigabytes, max_time_s), progress)
    return target


def bring(url: str, target: Path, bounds: Bounds, progress: Progress | None = None) -> None:
    """Make `target` a copy of what is at `url`; see `download`. One process at a time does so."""
    if is_offline():
        if not target.is_file():
            fault = f"{shown(url)}: VIDSUM_OFFLINE forbids downloads, and there is no copy of it"
            raise InputError(fault, hint="unset VIDSUM_OFFLINE, or give a file")
        return
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(target.parent / _LOCK):
            _Transfer(url, target, bounds, progress).run()
        os.utime(target.parent)
        _evict(target.parent)
    except OSError as error:
        raise InputError(f"{target}: cannot be stored ({error.strerror or error})") from error


def shown(url: str) -> str:
    """An address without user name, password and query, which may hold secrets."""
    return re.sub(r"//[^/@]*@", "//", url).partition("?")[0].partition("#")[0]


@dataclass(frozen=True)
class _Transfer:
    """One attempt to bring a copy up to date, over several connections if they break."""

    url: str
    target: Path
    bounds: Bounds
    progress: Progress | None

    @property
    def part(self) -> Path:
        """What has come so far."""
        return self.target.with_name(".part")

    @property
    def note(self) -> Path:
        """Which version the copy, or the part, is of: the server's headers."""
        return self.target.with_name(".version.json")

    def run(self) -> None:
        """Raises InputError: see `download`; OSError: the copy cannot be written."""
        deadline = time.monotonic() + self.bounds.seconds
        with new_session() as session:
            session.adapters.pop("file://")  # no redirection reaches the files of this machine
            for attempt in range(1, ATTEMPTS + 1):
                begun = self._come()
                try:
                    self._request(session, deadline)
                except requests.RequestException as error:
                    if attempt == ATTEMPTS or self._come() == begun:
                        raise InputError(f"{shown(self.url)}: {self._reason(error)}") from error
                else:
                    return
                time.sleep(PAUSE_S * attempt)

    def _reason(self, error: requests.RequestException) -> str:
        if isinstance(error, ValueError):  # InvalidURL and its kin
            return "is not a valid URL, or leads to one that is not"
        return f"{urlsplit(self.url).hostname} {reason_of(error)}"

    def _come(self) -> int:
        return self.part.stat().st_size if self.part.exists() else 0

    def _request(self, session: requests.Session, deadline: float) -> None:
        version, done = self._version(), self._come()
        headers = _conditions(version, done, is_whole=self.target.exists())
        with session.get(self.url, headers=headers, stream=True, timeout=TIMEOUTS_S) as response:
            if response.status_code == requests.codes.not_modified:
                return
            if response.status_code == requests.codes.requested_range_not_satisfiable:
                self.part.unlink()
                raise requests.ConnectionError("the part is not of this file")
            response.raise_for_status()
            if any(kind in response.headers.get("Content-Type", "").lower() for kind in _PAGES):
                response.close()
                self._from_page(version)
                return
            is_rest = response.headers.get("Content-Range", "").startswith(f"bytes {done}-") and done > 0
            self.target.unlink(missing_ok=True)  # it is of another version
            self.note.write_text(json.dumps(_version_in(response.headers)))
            begun = done if is_rest else 0
            write_body(response, self.part, begun, lambda now, total: self._received(now, total, deadline))
        if not self._come():
            self.part.unlink()
            raise InputError(f"{shown(self.url)}: the server sent 0 bytes")
        self.part.replace(self.target)

    def _version(self) -> dict[str, str]:
        with contextlib.suppress(OSError, ValueError):
            return dict(json.loads(self.note.read_text()))
        return {}

    def _received(self, done: int, total: int, deadline: float) -> None:
        """Raise an InputError where the bytes so far, or in all, or the time are above the bounds."""
        if max(done, total) > self.bounds.bytes:
            self.part.unlink(missing_ok=True)
            fault = f"{shown(self.url)}: is larger than {self.bounds.gigabytes:g} GB"
            raise InputError(fault, hint="--max-download GB")
        if time.monotonic() > deadline:
            fault = f"{shown(self.url)}: did not end within {self.bounds.seconds:g} s"
            raise InputError(fault, hint="run again to continue, or --max-download-time TIME")
        if self.progress:
            self.progress("downloading", done, total)

    def _from_page(self, version: Mapping[str, str]) -> None:
        """Let yt-dlp get the video of a page, once."""
        if self.target.exists() and version.get("by") == "yt-dlp":
            return
        if (program := _yt_dlp()) is None:
            hint = "pip install yt-dlp, which vidsum then uses, or give the address of the video file"
            raise InputError(f"{shown(self.url)}: is a web page, not a video file", hint=hint)
        if self.progress:
            self.progress("downloading with yt-dlp", 0, 0)
        for old in self.target.parent.glob("page.*"):
            old.unlink()
        has_ffmpeg = shutil.which("ffmpeg") is not None
        form = "bv*[height<=1080]+ba/b" if has_ffmpeg else "b[ext=mp4]/b"
        bounds = ["--max-filesize", str(self.bounds.bytes), "--match-filters", "!is_live"]
        quiet = ["--no-playlist", "--no-warnings", "--no-progress", "--quiet", "--ignore-config"]
        place = ["-o", str(self.target.with_name("page.%(ext)s")), "--", self.url]
        try:
            ran = subprocess.run(
                [*program, *quiet, *bounds, "-f", form, "--merge-output-format", "mp4/mkv", *place],
                capture_output=True,
                stdin=subprocess.DEVNULL,
                timeout=self.bounds.seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            fault = f"{shown(self.url)}: yt-dlp did not end within {self.bounds.seconds:g} s"
            raise InputError(fault, hint="--max-download-time TIME") from None
        found = [path for path in self.target.parent.glob("page.*") if path.suffix != ".part"]
        if ran.returncode or len(found) != 1:
            said = ran.stderr.decode(errors="replace").strip().splitlines()
            reason = said[-1].removeprefix("ERROR: ") if said else "live, or larger than --max-download"
            raise InputError(f"{shown(self.url)}: yt-dlp got no video ({reason})")
        found[0].replace(self.target)
        self.note.write_text(json.dumps({"by": "yt-dlp"}))


def _conditions(version: Mapping[str, str], done: int, *, is_whole: bool) -> dict[str, str]:
    """The headers that ask for what is missing: nothing of an unchanged copy, the rest of a part."""
    etag, date = version.get("ETag"), version.get("Last-Modified")
    if is_whole:
        names = {"If-None-Match": etag, "If-Modified-Since": None if etag else date}
        return {name: value for name, value in names.items() if value}
    strong = etag if etag and not etag.startswith("W/") else date
    return {"Range": f"bytes={done}-", "If-Range": strong} if done and strong else {}


def _version_in(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: headers[name] for name in ("ETag", "Last-Modified") if name in headers}


def _yt_dlp() -> list[str] | None:
    """How yt-dlp is called, if it is here."""
    if importlib.util.find_spec("yt_dlp"):
        return [sys.executable, "-m", "yt_dlp"]
    program = shutil.which("yt-dlp")
    return [program] if program else None


def _evict(used: Path) -> None:
    """Remove the copies that were not asked for longest, while all take more than their share of the disk."""
    kept = []
    for folder in used.parent.glob("[0-9a-f]" * _DIGITS):  # others are not ours
        with contextlib.suppress(OSError):  # another process may remove it
            (folder / _LOCK).stat()
            size = sum(file.stat().st_size for file in folder.iterdir())
            kept.append((folder.stat().st_mtime, size, folder))
    total = sum(size for _, size, _ in kept)
    for asked_at, size, folder in sorted(kept):
        if total > _KEPT_BYTES and time.time() - asked_at > _IN_USE_S:
            shutil.rmtree(folder, ignore_errors=True)
            total -= size
