"""Videos at http:// and https:// addresses: copies in the cache, from where everything reads them as files.

A transfer that broke off continues, in a later run too. A whole copy is downloaded again only if the server's
ETag or date says that it has changed. Web pages and lists of pieces (HLS, DASH) are left to yt-dlp, if it is
installed.
"""

from __future__ import annotations

import contextlib
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
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import requests
from filelock import Timeout

from vidsum.errors import InputError, Mention, digest_of_url, is_disk_fault
from vidsum.io.locks import lock_file
from vidsum.io.network import (
    PACE,
    TIMEOUTS_S,
    Pace,
    Session,
    failing_host,
    failure_reason,
    is_offline,
    parse_content_length,
    parse_content_range,
    read_body,
    size_of,
    transfer,
)
from vidsum.io.paths import home
from vidsum.io.urls import Url
from vidsum.pipelines.web_kinds import NoFileError, no_file_error, require_file
from vidsum.types import Progress

MAX_GB = 8.0
_MAX_TIME_S = 7200.0  # of one run; the next one continues
_MAX_CACHE_BYTES = 32 * 10**9  # of all copies; beyond it, those least recently used are removed
_IN_USE_S = 86_400.0  # a copy that was used within this time is not removed
_LOCK = ".lock"
_DIGITS = 16  # hexadecimal digits in the name of a copy's folder
_NOTE = ".version.json"
_OF_PARTS = (requests.codes.partial_content, requests.codes.requested_range_not_satisfiable)


class _OtherPartError(requests.RequestException):
    """A server sent other bytes than requested."""


def is_web(name: str | os.PathLike[str]) -> bool:
    """Return whether an input is an address that `download` takes."""
    return re.match(r"\s*https?://", os.fspath(name), re.IGNORECASE) is not None


def copy_path(url: str) -> Path:
    """Return where the copy of a URL is kept: a folder of its own, under its last name and a short hash."""
    url = Url(url)
    name = unquote(url.path.rstrip("/").rpartition("/")[2])
    name = re.sub(r"\.(html?|php|aspx?|jsp)$", "", name)
    if not re.search(r"\.[A-Za-z0-9]{2,4}$", name):  # a page: `watch?v=...`
        name = name.replace(".", "_") + ".mp4"
    stem, _, suffix = re.sub(r"[^\w.()+-]+", "_", name).lstrip(".").rpartition(".")
    folder = home() / "videos" / digest_of_url(url.raw, _DIGITS)
    return folder / f"{stem[:80] or 'video'}_{digest_of_url(url.raw)}.{suffix}"


def download(url: str, *, max_gigabytes: float = MAX_GB, progress: Progress | None = None) -> Path:
    """Return the path of a local copy of the video at an address, in `$VIDSUM_HOME/videos`.

    Args:
        url: `http://` or `https://`; a file, or a page that yt-dlp reads.
        max_gigabytes: maximum size, in 10^9 bytes.
        progress: called as progress(step, bytes so far, bytes in all).

    Raises InputError: it cannot be downloaded, is larger than allowed or takes two hours, or VIDSUM_OFFLINE
    forbids it and there is no copy.
    """
    target = copy_path(url)
    update_copy(Url(url), target, max_gigabytes, progress)
    return target


def update_copy(
    url: Url, target: Path, max_gigabytes: float, progress: Progress | None = None, pace: Pace = PACE
) -> None:
    """Make `target` a copy of what is at `url`; see `download`. One process at a time does so."""
    try:
        if is_offline():
            if not target.is_file():
                fault = "VIDSUM_OFFLINE forbids downloads, and there is no copy of it"
                raise InputError(fault, hint="unset VIDSUM_OFFLINE, or give a file", subject=url)
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        with lock_file(target.parent / _LOCK, _MAX_TIME_S):
            _Transfer(url, target, max_gigabytes, progress, pace).run()
        os.utime(target.parent)
        _evict(target.parent)
    except Timeout:
        fault = f"another process did not download it within {_MAX_TIME_S:g} s"
        raise InputError(fault, hint="run again", subject=url) from None
    except OSError as error:
        failed = InputError(f"cannot be stored ({error.strerror or error})", subject=target)
        failed.ends_batch = is_disk_fault(error)
        raise failed from error


@dataclass(frozen=True)
class _Transfer:
    """One attempt to bring a copy up to date, over several connections if they break."""

    url: Url
    target: Path
    max_gigabytes: float
    progress: Progress | None
    pace: Pace

    @property
    def part(self) -> Path:
        return self.target.with_name(".part")

    @property
    def note(self) -> Path:
        """File with the server's headers, which identify the version of the copy or part."""
        return self.target.with_name(_NOTE)

    def run(self) -> None:
        """Bring the copy up to date. Raises InputError: see `download`; OSError: it cannot be written."""
        deadline = time.monotonic() + _MAX_TIME_S
        with Session() as session:  # it has no file://: no redirection reaches the files of this machine
            try:
                session.within(
                    _MAX_TIME_S, lambda: transfer(lambda: self._request(session), self.part), self.pace
                )
            except NoFileError as other:
                self._from_page(other, deadline)
            except (requests.RequestException, UnicodeError) as error:
                # the error that caused it names the whole URL
                hint = "check the address and the network, or give a file"
                raise InputError(self._reason(error), hint=hint, subject=self.url) from None
            except TimeoutError:
                fault = f"did not end within {_MAX_TIME_S:g} s"
                hint = "run again to continue; a live stream has no end: vidsum watch"
                raise InputError(fault, hint=hint, subject=self.url) from None

    def _reason(self, error: requests.RequestException | UnicodeError) -> str:
        if isinstance(error, ValueError):  # InvalidURL and its kin
            return "is not a valid URL, or leads to one that is not"
        if isinstance(error, _OtherPartError):
            return str(error)
        return self.url.hide(f"{failing_host(error, self.url.raw)} {failure_reason(error)}")

    def _request(self, session: Session) -> None:
        version, done = self._version(), size_of(self.part) or 0
        headers = _request_headers(version, done, is_whole=self.target.exists())
        with session.get(self.url.raw, headers=headers, stream=True, timeout=TIMEOUTS_S) as response:
            if response.status_code == requests.codes.not_modified and self.target.exists():
                return
            is_rest = "Range" in headers and _is_rest(response, version, done)
            if "Range" in headers and response.status_code in _OF_PARTS and not is_rest:
                self.part.unlink()
                raise _OtherPartError("the server sends parts of different versions")
            response.raise_for_status()
            if response.status_code != requests.codes.ok and not is_rest:
                raise requests.HTTPError(response=response)
            chunks = read_body(response)
            if not is_rest:
                head = next(chunks, b"")
                require_file(response.headers, head)
                chunks = chain([head], chunks)
            self.target.unlink(missing_ok=True)  # it is of another version
            done = done if is_rest else 0
            length = parse_content_length(response.headers)
            noted = _version_in(response.headers) | ({"bytes": done + length} if length else {})
            self.note.write_text(json.dumps(noted))
            session.write_body(response, self.part, done, self._received, chunks)
        if not size_of(self.part):
            self.part.unlink()
            raise InputError("the server sent 0 bytes", subject=self.url)
        if length and size_of(self.part) != done + length:
            self.part.unlink()
            raise InputError(
                f"the server sent {size_of(self.part)} of {done + length} bytes", subject=self.url
            )
        self.part.replace(self.target)

    def _version(self) -> dict[str, Any]:
        with contextlib.suppress(OSError, ValueError):
            return dict(json.loads(self.note.read_text()))
        return {}

    def _received(self, done: int, total: int) -> None:
        if max(done, total) > self.max_gigabytes * 1e9:
            self.part.unlink(missing_ok=True)
            fault = f"is larger than {self.max_gigabytes:g} GB"
            raise InputError(fault, hint=Mention("max_download", "GB"), subject=self.url)
        if self.progress:
            self.progress("downloading", done, total)

    def _from_page(self, other: NoFileError, deadline: float) -> None:
        if self.target.exists() and self._version().get("by") == "yt-dlp":
            return
        program = _yt_dlp() if other.is_for_yt_dlp else None
        if program is None:
            raise no_file_error(self.url, other)
        if self.progress:
            self.progress("downloading with yt-dlp", 0, 0)
        for old in self.target.parent.glob("page.*"):
            old.unlink()
        has_ffmpeg = shutil.which("ffmpeg") is not None
        form = "bv*[height<=1080]+ba/b" if has_ffmpeg else "b[ext=mp4]/b"
        bounds = ["--max-filesize", str(int(self.max_gigabytes * 1e9)), "--match-filters", "!is_live"]
        quiet = ["--no-playlist", "--no-warnings", "--no-progress", "--quiet", "--ignore-config"]
        place = ["-o", str(self.target.with_name("page.%(ext)s")), "--batch-file", "-"]
        try:
            ran = subprocess.run(
                [*program, *quiet, *bounds, "-f", form, "--merge-output-format", "mp4/mkv", *place],
                capture_output=True,
                input=self.url.raw.encode(),  # a command line is shown to every user of the machine
                timeout=max(0.0, deadline - time.monotonic()),
                check=False,
            )
        except subprocess.TimeoutExpired:
            fault = f"yt-dlp did not end within {_MAX_TIME_S:g} s"
            raise InputError(fault, hint="give the address of the video file", subject=self.url) from None
        files = [path for path in self.target.parent.glob("page.*") if path.suffix != ".part"]
        if ran.returncode or len(files) != 1:
            said = ran.stderr.decode(errors="replace").strip().splitlines()
            reason = said[-1].removeprefix("ERROR: ") if said else "live, or too large"
            raise InputError(f"yt-dlp got no video ({self.url.hide(reason)})", subject=self.url)
        files[0].replace(self.target)
        self.note.write_text(json.dumps({"by": "yt-dlp"}))


def _request_headers(version: Mapping[str, Any], done: int, *, is_whole: bool) -> dict[str, str]:
    """Return the headers that ask for what is missing: nothing of an unchanged copy, the rest of a part."""
    etag, date = version.get("ETag"), version.get("Last-Modified")
    if is_whole:
        names = {"If-None-Match": etag, "If-Modified-Since": None if etag else date}
        return {name: value for name, value in names.items() if value}
    strong = _strong_validator(version)
    return {"Range": f"bytes={done}-", "If-Range": strong} if done and strong and "bytes" in version else {}


def _strong_validator(version: Mapping[str, Any]) -> str | None:
    """Return the strong validator of a version: the ETag unless it is weak, else the date."""
    etag: str | None = version.get("ETag")
    return etag if etag and not etag.startswith("W/") else version.get("Last-Modified")


def _is_rest(response: requests.Response, version: Mapping[str, Any], done: int) -> bool:
    """Return whether a response is the requested rest of the same version, from `done` on."""
    span, size = parse_content_range(response.headers), int(version["bytes"])
    is_same = _strong_validator(_version_in(response.headers)) == _strong_validator(version)
    is_part = response.status_code == requests.codes.partial_content
    return (
        is_part
        and is_same
        and span == (done, size - 1, size)
        and parse_content_length(response.headers) == size - done
    )


def _version_in(headers: Mapping[str, str]) -> dict[str, Any]:
    return {name: headers[name] for name in ("ETag", "Last-Modified") if name in headers}


def _yt_dlp() -> list[str] | None:
    if importlib.util.find_spec("yt_dlp"):
        return [sys.executable, "-m", "yt_dlp"]
    program = shutil.which("yt-dlp")
    return [program] if program else None


def _evict(used: Path) -> None:
    """Remove the least recently used copies while all take more than `_MAX_CACHE_BYTES`."""
    folders = []
    for folder in used.parent.glob("[0-9a-f]" * _DIGITS):  # others are not ours
        with contextlib.suppress(OSError):  # another process may remove it
            (folder / _LOCK).stat()
            size = sum(file.stat().st_size for file in folder.iterdir())
            folders.append((folder.stat().st_mtime, size, folder))
    total = sum(size for _, size, _ in folders)
    for asked_at, size, folder in sorted(folders):
        if total > _MAX_CACHE_BYTES and time.time() - asked_at > _IN_USE_S:
            shutil.rmtree(folder, ignore_errors=True)
            total -= size
