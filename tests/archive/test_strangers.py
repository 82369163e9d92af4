"""Archives that others have written into, and clients that send what they like."""

import os
import re
import shutil
import socket
import socketserver
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.archive.made import film
from tests.archive.serving import serving
from tests.server.serving import ask, running
from vidsum.archive import answers
from vidsum.archive.archive import Archive
from vidsum.archive.serve import Server
from vidsum.errors import MissingError
from vidsum.io.provenance import hash_file
from vidsum.server import connections

SECRET = b"TOP SECRET KEY\n"


def make_secrets(folder: Path) -> dict[str, Path]:
    """Files of whoever serves that are no business of an archive's."""
    texts = {"key": SECRET, "key.mp4": SECRET, "notes.txt": SECRET * 90, "data.bin": os.urandom(4000)}
    playlist = b"#EXTM3U\n#EXTINF:2,\nfilm.mp4\n#EXT-X-ENDLIST\n"
    texts |= {"list.m3u8": playlist, "list": b"ffconcat version 1.0\n"}
    for name, content in texts.items():
        (folder / name).write_bytes(content)
    Image.new("RGB", (64, 64), "red").save(folder / "private.jpg")
    film(folder / "private.mp4", ("blue",), seed=9)
    (folder / "link.mp4").symlink_to(folder / "key")
    (folder / "system").symlink_to("/etc/passwd")
    os.mkfifo(folder / "pipe.mp4")
    names = (*texts, "private.jpg", "private.mp4", "link.mp4", "system", "pipe.mp4")
    others = {"proc": Path("/proc/self/environ"), "device": Path("/dev/zero"), "folder": folder}
    return {**{name: folder / name for name in names}, **others}


def name_file(archive: Archive, path: Path, *, knows_all: bool) -> None:
    """Let the archive say that a file is its first video: of its size, or of its time and content too."""
    status, is_file = path.stat(), path.is_file() and path.stat().st_size > 0
    values = (os.fsencode(path), status.st_size, status.st_mtime_ns if knows_all else 0)
    archive._connection.execute("UPDATE files SET path = ?, bytes = ?, mtime_ns = ? WHERE video = 1", values)
    sha256 = hash_file(path) if knows_all and is_file else "0" * 64
    archive._connection.execute("UPDATE videos SET sha256 = ? WHERE id = 1", (sha256,))


def test_only_indexed_files_are_sent(place: str, tmp_path: Path) -> None:
    warnings = list[str]()
    with Archive(place) as archive:
        archive.add(film(tmp_path / "film.mp4"))
        moments = {"moments": [{"id": 1, "start_s": 0, "end_s": 1}], "format": "csv"}
        with running(Server(place, "127.0.0.1", 0, warn=warnings.append)) as served:
            for name, path in make_secrets(tmp_path).items():
                for knows_all in (False, True):
                    if knows_all and name == "private.mp4":  # who knows its SHA-256 has it
                        continue
                    name_file(archive, path, knows_all=knows_all)
                    warnings.clear()
                    sent = [ask(served, path) for path in ("/video/1", "/api/search?like=1")]
                    sent += [
                        ask(served, f"/api/{action}", "POST", moments) for action in ("clip", "timeline")
                    ]
                    sent += [ask(served, "/video/1", "HEAD"), ask(served, "/video/1", Range="bytes=0-9")]
                    assert [answer.status for answer in sent] == [404] * 6, name
                    assert not any(b"SECRET" in answer.body for answer in sent)
                    assert len(warnings) == (
                        name not in ("pipe.mp4", "device", "folder") and not knows_all
                    ), name


def test_hash_of_touched_video(place: str, tmp_path: Path, monkeypatch: Any) -> None:
    hashed, digest = list[object](), answers.file_digest
    monkeypatch.setattr(answers, "file_digest", lambda *values: hashed.append(1) or digest(*values))
    video = film(tmp_path / "film.mp4")
    with Archive(place) as archive:
        archive.add(video)
    with serving(place) as served:
        for mtime_s, times in ((None, 0), (7, 1)):
            if mtime_s:
                os.utime(shutil.copy(video, tmp_path / "new"), (mtime_s, mtime_s))
                (tmp_path / "new").replace(video)
            assert [ask(served, "/video/1").body for _ in range(3)] == [video.read_bytes()] * 3
            assert len(hashed) == times


def test_missing_copy_of_url(archive: Archive, own_home: Path) -> None:
    video = film(own_home / "videos" / "0123456789abcdef" / "film.mp4")
    archive.add(video)
    (match,) = archive.search("red", 1)
    video.unlink()
    with pytest.raises(MissingError, match="copy of a URL") as raised:
        archive.write_clip(match, own_home / "clip.mp4")
    assert "vidsum index URL" in str(raised.value.hint)
    with serving(archive.path) as served:
        answer = ask(served, "/video/1")
    assert (answer.status, "copy of a URL" in answer.json["error"]) == (404, True)


def answers_to(server: Server, *requests: str) -> list[int]:
    """The status of each answer on one connection, until the server closes it."""
    host = f"Host: 127.0.0.1:{server.server_port}\r\n"
    with socket.create_connection(("127.0.0.1", server.server_port), 20) as client:
        client.sendall("".join(requests).replace("HOST\r\n", host).encode())
        client.settimeout(5)
        content = b"".join(iter(lambda: client.recv(1 << 16), b""))
    return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d+) ", content)]


HEAD = "GET /base.css HTTP/1.1\r\nHOST\r\n"
LAST = "GET /api/archive HTTP/1.1\r\nHOST\r\nConnection: close\r\n\r\n"


@pytest.mark.parametrize(
    ("headers", "statuses"),
    [
        ("", [200, 200]),
        ("Content-Length: 0\r\n", [200, 200]),
        (f"Content-Length: {len(LAST)}\r\n", [200]),
        ("Content-Length:\r\n 9\r\n", [200]),
        ("Content-Length: +0\r\n", [200]),
        ("Transfer-Encoding: chunked\r\n", [200]),
        ("transfer-encoding: identity\r\n", [200]),
        ("Content-Length: 0\r\nContent-Length: 0\r\n", [400]),
        ("Content-Length: 0\r\nContent-Length: 70\r\n", [400]),
        ("Content-Length: 70\r\nTransfer-Encoding: chunked\r\n", [400]),
        ("Content-Length : 70\r\n", [400]),
        ("no header\r\nContent-Length: 70\r\n", [400]),
        (f"Content-Length: {10**6}\r\nX: {'y' * 9000}\r\n", [200]),
    ],
)
def test_a_body_is_no_request(server: Server, headers: str, statuses: list[int]) -> None:
    assert answers_to(server, HEAD, headers, "\r\n", LAST) == statuses
    head = HEAD.replace("GET", "HEAD")
    assert answers_to(server, head, headers, "\r\n", LAST) == statuses
    assert answers_to(server, HEAD, headers, "\r\n", LAST * 400)[: len(statuses)] == statuses
    assert answers_to(server, HEAD, "\r\n", "\0garbage\r\n\r\n", LAST) == [200, 400]
    post = HEAD.replace("GET /base.css", "POST /api/clip")
    assert len(answers_to(server, post, headers, "\r\n", LAST)) == 1


def test_answers_in_one_packet(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    packets, write = list[int](), socketserver._SocketWriter.write  # type: ignore[attr-defined]

    def counted(stream: Any, content: bytes) -> int:
        packets.append(stream._sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        return int(write(stream, content))

    monkeypatch.setattr(socketserver._SocketWriter, "write", counted)  # type: ignore[attr-defined]
    for path in ("/thumb/1.jpg", "/api/archive", "/nothing", "/"):
        packets.clear()
        ask(server, path)
        assert len(packets) == 1
        assert all(packets)


@pytest.mark.deep
def test_half_requests_time_out(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    def half() -> socket.socket:
        client = socket.create_connection(("127.0.0.1", server.server_port), 20)
        client.sendall(b"GET / HTTP/1.1\r\n")
        return client

    monkeypatch.setattr(connections, "_MAX_WAITING", 4)
    clients = [half() for _ in range(12)]
    assert [client.recv(1) for client in clients[:7]] == [b""] * 7
    assert ask(server, "/api/archive").status == 200
    monkeypatch.setattr(connections, "_HEAD_S", 0.5)
    for client in clients[-3:]:
        client.settimeout(0.05)
        while True:  # a byte now and then renews nothing
            try:
                client.send(b"X")
                assert client.recv(1) == b""
                break
            except TimeoutError:
                pass
            except OSError:
                break
    for client in clients:
        client.close()
