"""Videos at web addresses: copies, what is asked of the server, bounds, pages, and what goes wrong."""

import os
import stat
import sys
import time
from collections.abc import Iterator
from hashlib import sha256
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.checkpoints.server import Server, broken_off, failing, running_server
from tests.hostile import Responder, answer, parts, redirect, trickle
from vidsum.errors import InputError
from vidsum.io import network
from vidsum.io.urls import Url
from vidsum.pipelines import download as module
from vidsum.pipelines.download import copy_path, download, is_web, update_copy
from vidsum.pipelines.web_kinds import NoFileError, no_file_error, require_file

FILM = os.urandom(700_000)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VIDSUM_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("VIDSUM_OFFLINE", raising=False)
    monkeypatch.setattr(network, "PAUSE_S", 0.0)
    return tmp_path / "home"


@pytest.fixture
def server() -> Iterator[Server]:
    with running_server() as running:
        yield running


class File:
    """A file on a server that knows versions and ranges; it notes what it was asked."""

    def __init__(self, content: bytes, version: dict[str, str], after: int | None = None) -> None:
        self.content, self.version, self.after = content, version, after
        self.received: list[dict[str, str]] = []

    def __call__(self, handler: BaseHTTPRequestHandler) -> None:
        names = ("Range", "If-Range", "If-None-Match", "If-Modified-Since")
        requests = {name: handler.headers[name] for name in names if name in handler.headers}
        self.received.append(requests)
        values = self.version.values()
        if requests.get("If-None-Match", requests.get("If-Modified-Since")) in values:
            handler.send_response(304)
            handler.end_headers()
            return
        start = int(requests["Range"][6:-1]) if requests.get("If-Range") in values else 0
        handler.send_response(206 if start else 200)
        handler.send_header("Content-Type", "video/mp4")
        for name, value in self.version.items():
            handler.send_header(name, value)
        if start:
            end = len(self.content)
            handler.send_header("Content-Range", f"bytes {start}-{end - 1}/{end}")
        handler.send_header("Content-Length", str(len(self.content) - start))
        handler.end_headers()
        end = None if self.after is None else start + self.after
        handler.wfile.write(self.content[start:end])


TAG, DATE = {"ETag": '"1"'}, {"Last-Modified": "Mon, 23 Nov 2026 10:00:00 GMT"}


VERSIONS = [TAG, DATE, TAG | DATE, {"ETag": 'W/"1"'}]


@pytest.mark.parametrize("version", VERSIONS)
def test_copy_is_the_file(server: Server, home: Path, version: dict[str, str]) -> None:
    path = download(server.serve("/a/film.mp4", File(FILM, version)))
    assert path.name.startswith("film_")
    assert home in path.parents
    assert path.read_bytes() == FILM


@pytest.mark.parametrize("version", VERSIONS)
def test_unchanged_file_is_not_sent_again(server: Server, version: dict[str, str]) -> None:
    url = server.serve("/a/film.mp4", file := File(FILM, version))
    path = download(url)
    assert download(url) == path
    assert path.read_bytes() == FILM
    assert [bool(requests) for requests in file.received] == [False, True]


def test_progress_of_a_download_ends_at_its_size(server: Server) -> None:
    url = server.serve("/a/film.mp4", File(FILM, TAG))
    seen: list[tuple[str, float, float]] = []
    download(url, progress=lambda what, done, total: seen.append((what, done, total)))
    assert seen[-1] == ("downloading", len(FILM), len(FILM))


def test_changed_file_is_sent_again(server: Server) -> None:
    for content, tag in ((FILM, "1"), (b"new", "2")):
        url = server.serve("/film.mp4", File(content, {"ETag": f'"{tag}"'}))
        assert download(url).read_bytes() == content


@pytest.mark.parametrize("version", [TAG, DATE])
def test_transfer_that_breaks_off_is_resumed(server: Server, version: dict[str, str]) -> None:
    url = server.serve("/film.mp4", file := File(FILM, version, after=270_000))
    assert download(url).read_bytes() == FILM
    assert len(file.received) == 3
    assert all(requests["If-Range"] in version.values() for requests in file.received[1:])


def test_the_next_run_continues(server: Server) -> None:
    url = server.serve("/film.mp4", File(FILM, TAG, after=100_000))
    with pytest.raises(InputError, match="broke off the transfer"):
        download(url)
    assert not copy_path(url).exists()
    server.serve("/film.mp4", file := File(FILM, TAG))
    assert download(url).read_bytes() == FILM
    assert "Range" in file.received[0]


def test_rest_of_another_version_is_not_joined(server: Server) -> None:
    url = server.serve("/film.mp4", File(FILM, TAG, after=100_000))
    with pytest.raises(InputError):
        download(url)
    server.serve("/film.mp4", File(FILM[::-1], {"ETag": '"2"'}))
    assert download(url).read_bytes() == FILM[::-1]


def test_file_without_a_version_is_sent_again(server: Server) -> None:
    url = server.serve("/film.mp4", file := File(FILM, {}))
    download(url)
    assert download(url).read_bytes() == FILM
    assert file.received == [{}, {}]


def _endless(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.end_headers()
    try:
        while True:
            handler.wfile.write(bytes(1 << 16))
    except OSError:
        return


def test_large_file_is_refused(server: Server) -> None:
    url = server.serve("/film.mp4", File(FILM, TAG))
    with pytest.raises(InputError, match=r"larger than 0\.0001 GB"):
        download(url, max_gigabytes=0.0001)


def test_silent_server_is_an_error_in_time(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TIMEOUTS_S", (1.0, 0.05))
    silent = server.serve("/silent.mp4", lambda handler: module.time.sleep(0.3))
    with pytest.raises(InputError, match="does not answer in time"):
        download(silent)


BEGIN = answer(200, {**TAG, "Content-Length": len(FILM)}, FILM[:100_000])
"""The first bytes of a film, whose connection then breaks off."""


def _rest(
    version: dict[str, str], first: int, last: int, total: object, length: int | None = None
) -> Responder:
    span = {"Content-Range": f"bytes {first}-{last}/{total}", "Content-Length": length or last + 1 - first}
    return answer(206, version | span, FILM[::-1][first : last + 1])


SIZE = len(FILM)


@pytest.mark.parametrize(
    "rest",
    [
        _rest({"ETag": '"2"'}, 65_536, SIZE - 1, SIZE),
        _rest({"ETag": 'W/"1"'}, 65_536, SIZE - 1, SIZE),
        _rest({}, 65_536, SIZE - 1, SIZE),
        _rest(TAG, 65_536, SIZE - 1, SIZE + 1),
        _rest(TAG, 65_536, SIZE - 1, "*"),
        _rest(TAG, 65_536, SIZE - 2, SIZE),
        _rest(TAG, 65_535, SIZE - 1, SIZE),
        _rest(TAG, 65_536, SIZE - 1, "9" * 5000),
        _rest(TAG, 65_536, SIZE - 1, SIZE, length=10),
        answer(206, TAG, FILM),
        answer(416, TAG),
    ],
)
def test_foreign_part_is_refused(server: Server, rest: Responder) -> None:
    url = server.serve("/film.mp4", parts(BEGIN, rest))
    with pytest.raises(InputError, match=r"different versions|broke off") as error:
        download(url)
    assert "\n" not in error.value.message
    assert not copy_path(url).exists()
    server.serve("/film.mp4", File(FILM, {"ETag": '"3"'}))
    assert download(url).read_bytes() == FILM


@pytest.mark.parametrize(
    ("respond", "fault"),
    [
        (answer(200, {"Content-Type": "video/mp4"}, b""), "0 bytes"),
        (failing(403), "127.0.0.1 answers 403"),
        (failing(404), "127.0.0.1 answers 404"),
        (broken_off(FILM, 0), "broke off"),
        (_endless, "is larger than 0.001 GB"),
        (b"<html>", "is a web page, not a video file"),
        (_rest(TAG, 0, 99_999, SIZE), "answers 206"),
        (_rest(TAG, 0, SIZE - 1, SIZE), "answers 206"),
        (answer(304, {}), "answers 304"),
        (answer(204, {}), "answers 204"),
        (answer(200, {"Content-Length": "9" * 5000}, FILM), "is larger than"),
        (answer(200, {"Content-Length": SIZE + 5}, FILM), "broke off"),
        (redirect("file:///etc/hostname"), "leads to one that is not"),
        (redirect("http://localhost:9/x?token=SECRET99"), "localhost cannot be reached"),
    ],
)
def test_answer_that_is_no_video_file_is_refused(server: Server, respond: object, fault: str) -> None:
    url = server.serve("/film.mp4", respond)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=fault) as error:
        download(url, max_gigabytes=0.001)
    assert "\n" not in error.value.message
    assert "SECRET99" not in error.value.message
    assert not copy_path(url).exists()


def _slow_name(*_: object) -> None:
    time.sleep(2.0)
    raise OSError


@pytest.mark.parametrize(
    "respond",
    [
        trickle(),
        trickle(b'HTTP/1.0 200 OK\r\nContent-Length: 1000000\r\nETag: "1"\r\n\r\n'),
        trickle(b"HTTP/1.0 200 OK\r\nX: "),
        trickle(b""),
        lambda handler: (time.sleep(0.2), redirect(f"{handler.path}")(handler))[1],
        None,
    ],
    ids=["body", "long body", "header", "status", "redirections", "name"],
)
def test_slow_transfer_ends_within_its_limit(
    server: Server, respond: Responder | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = server.serve("/film.mp4", respond or b"")
    monkeypatch.setattr(module, "_MAX_TIME_S", 0.5)
    if respond is None:
        monkeypatch.setattr("socket.getaddrinfo", _slow_name)
    with pytest.raises(InputError, match=r"did not end within 0\.5 s") as error:
        download(url)
    assert error.value.hint  # it took 44 days before


def test_slow_server_does_not_hold_a_batch(server: Server) -> None:
    url = server.serve("/film.mp4", trickle(b"HTTP/1.0 200 OK\r\nContent-Length: 1000000\r\n\r\n"))
    with pytest.raises(InputError, match="sends less than"):
        update_copy(Url(url), copy_path(url), 1.0, pace=network.Pace(10_000, 0.4))


HLS = b"#EXTM3U\n#EXT-X-TARGETDURATION:3\n#EXTINF:3,\n0.ts\n#EXT-X-ENDLIST\n"
DASH = b'<?xml version="1.0"?>\n<!-- made by a test -->\n<MPD xmlns="urn:mpeg:dash:schema:mpd:2011"></MPD>'
M3U = b"#EXTM3U\n#EXTINF:-1,Radio\nhttp://example.com/radio\n"
PLS = b"[playlist]\nFile1=http://example.com/radio\n"
BOM = "\ufeff".encode()


@pytest.mark.parametrize("content_type", [
    "application/vnd.apple.mpegurl", "audio/x-mpegurl", "text/plain", "application/octet-stream", "video/mp4",
    "text/html", "",
])  # fmt: skip
@pytest.mark.parametrize("path", ["/list.m3u8", "/LIST.M3U8", "/list.mpd", "/list.m3u8?v=1", "/list"])
@pytest.mark.parametrize(
    ("body", "name"),
    [
        (HLS, "an HLS list of pieces"),
        (BOM + HLS, "an HLS list of pieces"),
        (HLS.replace(b"\n", b"\r\n"), "an HLS list of pieces"),
        (DASH, "a DASH list of pieces"),
        (BOM + DASH, "a DASH list of pieces"),
        (M3U, "a list of other files"),
        (PLS, "a list of other files"),
    ],
)
def test_lists_are_named(content_type: str, path: str, body: bytes, name: str) -> None:
    url = Url(f"http://127.0.0.1{path}")
    with pytest.raises(NoFileError) as caught:
        require_file({"Content-Type": content_type}, body)
    error = no_file_error(url, caught.value)
    assert error.message == f"{url}: is {name}, not a video file"
    assert "yt-dlp" not in str(error.hint)
    if "pieces" in name:
        shown = url.raw if url == url.raw else "URL"
        assert f"ffmpeg -i {shown} -c copy film.mkv" in str(error.hint)
        assert (f"vidsum watch {shown} " in str(error.hint)) == ("HLS" in name)


@pytest.mark.parametrize("path", ["/list.m3u8", "/away"])
def test_list_is_not_downloaded(server: Server, path: str) -> None:
    url = server.serve("/list.m3u8", answer(200, {"Content-Type": "text/plain"}, HLS))
    server.serve("/away", redirect(url))
    with pytest.raises(InputError, match="is an HLS list of pieces"):
        download(server.url + path)
    assert not copy_path(server.url + path).exists()


@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Type": "audio/mpeg", "icy-name": "Radio", "icy-br": 128},
        {"Content-Type": "multipart/x-mixed-replace; boundary=frame"},
    ],
    ids=["icecast", "camera"],
)
def test_endless_answers_are_named(server: Server, headers: dict[str, object]) -> None:
    with pytest.raises(InputError, match="is a live stream, which has no end") as caught:
        download(server.serve("/radio", answer(200, headers, bytes(1 << 17))))
    assert "vidsum watch" in str(caught.value.hint)


@pytest.mark.parametrize("head", [b"\0\0\0 ftypisom", b"G" + bytes(187), b"\x1aE\xdf\xa3", b"<", b"", BOM])
def test_files_are_not_taken_for_lists(head: bytes) -> None:
    for content_type in ("video/mp4", "application/octet-stream", "text/plain", ""):
        require_file({"Content-Type": content_type, "Content-Length": "9"}, head)


def test_offline_uses_the_copy_and_asks_nothing(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    url = server.serve("/film.mp4", File(FILM, TAG))
    path = download(url)
    monkeypatch.setenv("VIDSUM_OFFLINE", "1")
    server.received.clear()
    assert download(url) == path
    with pytest.raises(InputError, match="VIDSUM_OFFLINE forbids"):
        download(f"{server.url}/other.mp4")
    assert server.received == []


def _program(folder: Path, body: str) -> None:
    file = folder / "yt-dlp"
    file.write_text(f"#!{sys.executable}\nimport sys, pathlib\nwords = sys.argv[1:]\n{body}\n")
    file.chmod(file.stat().st_mode | stat.S_IXUSR)


WRITES = """
place = words[words.index('-o') + 1].replace('%(ext)s', 'webm')
pathlib.Path(place).write_text(sys.stdin.read())
"""


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of programs, where yt-dlp will be."""
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def test_page_is_left_to_yt_dlp(server: Server, programs: Path) -> None:
    url = server.serve("/watch?v=1", b"<html>")
    _program(programs, WRITES)
    path = download(url)
    assert (path.name[:6], path.read_text()) == ("watch_", url)


def test_video_of_a_page_is_not_fetched_twice(server: Server, programs: Path) -> None:
    url = server.serve("/watch?v=1", b"<html>")
    _program(programs, WRITES)
    path = download(url)
    _program(programs, "sys.exit('ERROR: gone')")
    assert download(url) == path


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ("sys.exit('ERROR: gone')", r"yt-dlp got no video \(gone\)"),
        ("", "live, or too large"),
    ],
    ids=["error", "no file"],
)
def test_page_of_which_yt_dlp_has_no_video_is_an_error(
    server: Server, programs: Path, body: str, fault: str
) -> None:
    _program(programs, body)
    with pytest.raises(InputError, match=fault):
        download(server.serve("/watch?v=2", b"<html>"))


def test_yt_dlp_ends_within_the_limit(
    server: Server, programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _program(programs, "import time; time.sleep(9)")
    monkeypatch.setattr(module, "_MAX_TIME_S", 0.1)
    with pytest.raises(InputError, match="did not end within"):
        download(server.serve("/watch?v=2", b"<html>"))


@pytest.mark.parametrize(
    "url", ["http://", "http://[", "https://no host/film.mp4", "http://127.0.0.1:99999/a"]
)
def test_bad_address_is_refused(url: str) -> None:
    with pytest.raises(InputError, match=r"valid URL|cannot be reached"):
        download(url)


@given(st.text())
def test_copy_of_any_address_has_a_plain_name(text: str) -> None:
    path = copy_path(f"https://example.com/{text}")
    assert path.parent.parent == module.home() / "videos"
    assert path.name == Path(path.name).name
    assert not path.name.startswith(".")
    assert len(path.name) < 200
    assert path.suffix


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://a.org/x/film.mp4?token=1.2#t=3", "film_XX.mp4"),
        ("https://a.org/my%20film.MOV", "my_film_XX.MOV"),
        ("https://a.org/watch?v=Zq1.w", "watch_XX.mp4"),
        ("https://a.org/x/page.html", "page_XX.mp4"),
        ("https://a.org", "video_XX.mp4"),
        ("https://a.org/..%2F..%2Fetc/.mp4", "video_XX.mp4"),
    ],
)
def test_copy_is_named_for_its_address(url: str, name: str) -> None:
    assert copy_path(url).name == name.replace("XX", sha256(url.encode()).hexdigest()[:8])


def test_web_addresses_are_not_files() -> None:
    names = ("HTTPS://a", "http://a", "film.mp4", "rtsp://a", "/http://a")
    assert [*filter(is_web, names)] == ["HTTPS://a", "http://a"]


def test_old_copies_make_room(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = (download(server.serve(f"/{name}.mp4", File(FILM, TAG))) for name in "ab")
    entries = [old.parent.with_name(name) / "own.mp4" for name in ("holidays", "0123456789abcdef")]
    for film in entries:  # a user's, who keeps both in one folder
        film.parent.mkdir()
        film.write_bytes(FILM)
        os.utime(film.parent, (0.0, 0.0))
    monkeypatch.setattr(module, "_MAX_CACHE_BYTES", len(FILM) * 3 // 2)
    os.utime(old.parent, (1.0, 1.0))
    download(f"{server.url}/b.mp4")
    assert (old.exists(), new.exists()) == (False, True)
    assert all(film.exists() for film in entries)
