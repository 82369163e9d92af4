"""Streams over HTTP: a recording is read once, a list that grows is followed, and nothing comes twice."""

from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.checkpoints.server import Server, running_server, send
from tests.hostile import Responder, redirect
from tests.media import make_video, number_picture, read_number
from vidsum.errors import InputError
from vidsum.video import streams
from vidsum.video.frames import Sampling
from vidsum.video.live import parse_source, read_live
from vidsum.video.streams import Connection, loopback_url

PIECE_S, N_PIECES, FPS = 1.0, 4, 10
SAMPLING = Sampling(2.0)
ALL = [(number / 2, 5 * number) for number in range(int(2 * PIECE_S * N_PIECES))]
"""The sampled times, and the numbers of their frames."""
HLS = "application/vnd.apple.mpegurl"


@pytest.fixture(scope="module")
def pieces(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    """MPEG-TS of a second each, whose time stamps go on."""
    paths = [tmp_path_factory.mktemp("pieces") / f"{number}.ts" for number in range(N_PIECES)]
    n_frames = int(PIECE_S * FPS)
    for number, path in enumerate(paths):
        paint = lambda frame, width, height, number=number: number_picture(  # noqa: E731
            number * n_frames + frame, width, height
        )
        make_video(
            path, n_frames=n_frames, fps=FPS, gop=5, b_frames=0, start_s=number * PIECE_S + 1, paint=paint
        )
    return [path.read_bytes() for path in paths]


@pytest.fixture
def server(pieces: list[bytes], monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(streams, "_BACK_OFF_S", (0.05,))
    with running_server() as running:
        for number, piece in enumerate(pieces):
            running.serve(f"/{number}.ts", lambda handler, piece=piece: send(handler, piece, "video/mp2t"))
        yield running


def a_list(n_pieces: int, *, first: int = 0, kind: str = "", is_over: bool = True) -> bytes:
    lines = ["#EXTM3U", "#EXT-X-VERSION:3", "#EXT-X-TARGETDURATION:1", f"#EXT-X-MEDIA-SEQUENCE:{first}"]
    lines += [f"#EXT-X-PLAYLIST-TYPE:{kind}"] if kind else []
    for number in range(first, n_pieces):
        lines += [f"#EXTINF:{PIECE_S},", f"{number}.ts"]
    return "\n".join([*lines, *(["#EXT-X-ENDLIST"] if is_over else []), ""]).encode()


def typed(body: bytes, content_type: str = HLS) -> Responder:
    return lambda handler: send(handler, body, content_type)


def read(url: str, idle_s: float | None = None) -> tuple[list[tuple[float, int]], list[str]]:
    """Return the times and numbers of the sampled frames, and the warnings."""
    warnings = list[str]()
    frames = read_live(parse_source(url, idle_s=idle_s), [SAMPLING], warnings.append)
    return [(frame.time_s, read_number(frame.image)) for frame in frames], warnings


MASTER = b"#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=100000\nlist.m3u8\n"


@pytest.mark.parametrize(
    ("path", "respond"),
    [
        ("/list.m3u8", typed(a_list(N_PIECES))),
        ("/list.m3u8", typed(a_list(N_PIECES, kind="VOD"))),
        ("/list.m3u8", typed(a_list(N_PIECES, kind="EVENT"))),
        ("/list.m3u8?key=123456", typed(a_list(N_PIECES))),
        ("/LIST.M3U8", typed(a_list(N_PIECES), "text/plain")),
        ("/list", typed(a_list(N_PIECES), "application/octet-stream")),
        ("/master.m3u8", typed(MASTER)),
        ("/away", redirect("/list.m3u8")),
    ],
    ids=["plain", "vod", "event", "query", "upper case", "no suffix", "master", "redirected"],
)
def test_finished_list_plays_once(server: Server, path: str, respond: Responder) -> None:
    server.serve("/list.m3u8", typed(a_list(N_PIECES)))
    assert read(server.serve(path, respond)) == (ALL, [])


def test_list_that_grows_and_ends(server: Server) -> None:
    bodies = [a_list(2, is_over=False), a_list(3, is_over=False), a_list(N_PIECES, first=1)]
    last = bodies[-1]
    url = server.serve("/live.m3u8", lambda handler: send(handler, bodies.pop(0) if bodies else last, HLS))
    assert read(url) == (ALL, [])


@pytest.mark.parametrize("kind", ["", "EVENT"])
def test_list_that_stops_growing_ends_by_idle(server: Server, kind: str) -> None:
    url = server.serve("/live.m3u8", typed(a_list(3, kind=kind, is_over=False)))
    assert read(url, idle_s=0.3)[0] == ALL[:6]


def test_list_that_is_gone_for_a_while_gives_nothing_twice(server: Server) -> None:
    asked = list[int]()

    def respond(handler: BaseHTTPRequestHandler) -> None:
        asked.append(len(asked))
        if asked[-1] in (1, 2, 3):
            handler.send_error(503)
        else:
            send(handler, a_list(3, is_over=False) if not asked[-1] else a_list(N_PIECES), HLS)

    assert read(server.serve("/live.m3u8", respond))[0] == ALL


def ranged(body: bytes, after: Callable[[], int | None], *, has_ranges: bool = True) -> Responder:
    """Answer as a web server does; break off behind as many bytes as `after` says."""

    def respond(handler: BaseHTTPRequestHandler) -> None:
        wanted = handler.headers.get("Range", "bytes=0-").removeprefix("bytes=")
        start = int(wanted.partition("-")[0]) if has_ranges else 0
        handler.send_response(206 if has_ranges else 200)
        handler.send_header("Content-Type", "video/mp4")
        handler.send_header("Content-Length", str(len(body) - start))
        if has_ranges:
            handler.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        handler.end_headers()
        length = after()
        handler.wfile.write(body[start:] if length is None else body[start : start + length])

    return respond


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The pictures of the pieces in one MP4, with its index at the start, MPEG-TS and Matroska."""
    folder, films = tmp_path_factory.mktemp("films"), dict[str, bytes]()
    for name in ("start.mp4", "film.ts", "film.mkv"):
        flags = {"movflags": "faststart"} if name == "start.mp4" else None
        n_frames = int(PIECE_S * N_PIECES * FPS)
        made = make_video(
            folder / name, n_frames=n_frames, fps=FPS, gop=5, b_frames=0, container_options=flags
        )
        films[name] = made.path.read_bytes()
    return films


@pytest.mark.parametrize("name", ["start.mp4", "film.ts", "film.mkv"])
@pytest.mark.parametrize("has_ranges", [True, False])
def test_recording_plays_once(server: Server, films: dict[str, bytes], name: str, has_ranges: bool) -> None:
    url = server.serve(f"/{name}", ranged(films[name], lambda: None, has_ranges=has_ranges))
    assert read(url) == (ALL, [])


@pytest.fixture(scope="module")
def index_at_the_end(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """An MP4 with its index at the end; its sound makes it more than FFmpeg reads at once."""
    path = tmp_path_factory.mktemp("index") / "film.mp4"
    return make_video(path, n_frames=160, fps=FPS, sound=True).path.read_bytes()


def test_index_at_the_end_is_read_by_ranges(server: Server, index_at_the_end: bytes) -> None:
    numbers, warnings = read(server.serve("/film.mp4", ranged(index_at_the_end, lambda: None)))
    assert (len(numbers), warnings) == (32, [])


def test_index_at_the_end_is_refused_without_ranges(server: Server, index_at_the_end: bytes) -> None:
    with pytest.raises(InputError, match="none of its video can be decoded") as caught:
        read(server.serve("/film.mp4", ranged(index_at_the_end, lambda: None, has_ranges=False)))
    assert "index" in str(caught.value.hint)


@pytest.mark.parametrize("name", ["start.mp4", "film.ts", "film.mkv"])
@pytest.mark.parametrize("has_ranges", [True, False])
def test_recording_that_breaks_off_goes_on(
    server: Server, films: dict[str, bytes], name: str, has_ranges: bool
) -> None:
    lengths = [len(films[name]) * 2 // 3]
    after = lambda: lengths.pop() if lengths else None  # noqa: E731
    url = server.serve(f"/{name}", ranged(films[name], after, has_ranges=has_ranges))
    assert read(url)[0] == ALL


def test_recording_that_stays_damaged_ends(server: Server, films: dict[str, bytes]) -> None:
    film = films["film.mkv"]
    url = server.serve("/film.mkv", ranged(film, lambda: len(film) // 2, has_ranges=False))
    numbers, warnings = read(url)
    assert numbers == ALL[: len(numbers)]
    assert 0 < len(numbers) < len(ALL)
    assert warnings


@settings(max_examples=20, deadline=None)
@given(stamp_s=st.floats(0.0, 200.0), start_s=st.floats(0.0, 200.0))
def test_list_with_a_new_clock_is_not_skipped(stamp_s: float, start_s: float) -> None:
    """Where the encoder began anew, an earlier time stamp says nothing of what was read."""

    class Container:
        class format:  # noqa: N801  # as PyAV names it
            name = "hls"

        start_time, duration = round(start_s * 1e6), None

    connection = Connection.to_stream(Container(), stamp_s)
    is_again = 0 <= stamp_s - round(start_s * 1e6) / 1e6 <= 60
    assert (connection.read_to_s is not None) == is_again
    assert connection.is_live != is_again


@pytest.mark.parametrize(("url", "local"), [
    ("http://localhost:80/a?x=1", "http://127.0.0.1:80/a?x=1"),
    ("http://me@LOCALHOST/a", "http://me@127.0.0.1/a"),
    ("tcp://127.0.0.1:9?proxy=192.0.2.1", "tcp://127.0.0.1:9"),
    ("udp://@:1234?sources=192.0.2.1", "udp://@:1234"),
    ("rtsp://localhost/a", None),
    ("http://example.org/localhost", None),
    ("http://[/", None),
])  # fmt: skip
def test_url_of_this_machine_is_by_number_and_names_no_other(url: str, local: str | None) -> None:
    assert loopback_url(url) == local


@pytest.mark.shared
def test_shared_list_plays_once(shared: Path) -> None:
    with running_server() as running:
        for path in (shared / "bad/round4/hls").iterdir():
            kind = HLS if path.suffix == ".m3u8" else "video/mp2t"
            running.serve(f"/{path.name}", typed(path.read_bytes(), kind))
        warnings = list[str]()
        frames = list(read_live(parse_source(f"{running.url}/vod.m3u8"), [SAMPLING], warnings.append))
    assert len(frames) == 18
    assert warnings == []
