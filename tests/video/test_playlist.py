"""Playlists are refused, and never make FFmpeg open another file or address."""

import socket
from pathlib import Path

import pytest

from vidsum.errors import InputError
from vidsum.video.probe import probe

CONCAT = "ffconcat version 1.0\nfile film.ts\n"
HLS = "#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:4\n#EXTINF:2,\n{}\n#EXT-X-ENDLIST\n"
DASH = '<?xml version="1.0"?>\n<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static"></MPD>\n'
SDP = "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\nm=video 5004 RTP/AVP 96\n"


@pytest.mark.parametrize(
    ("name", "text", "target"),
    [
        ("list.mp4", CONCAT, "list.mkv"),
        ("list.txt", CONCAT, "list.mp4"),
        ("list.m3u8", HLS.format("film.ts"), "list.mp4"),
        ("a.mp4", SDP, "a.mkv"),
    ],
)
def test_playlist_is_refused_with_the_command_that_joins_it(
    name: str, text: str, target: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(InputError, match="is a playlist of other files") as caught:
        probe(path)
    assert caught.value.hint == f"ffmpeg -i {path} -c copy {tmp_path / target}"


@pytest.mark.parametrize(("name", "text"), [("a.mpd", DASH), ("a.sdp", SDP)])
def test_other_lists_are_refused(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=name):
        probe(tmp_path / name)


@pytest.mark.parametrize("text", ["ffconcat version 1.0\nfile {}\n", HLS])
def test_playlist_connects_to_no_network(text: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        path = tmp_path / "list.m3u8"
        path.write_text(text.format(f"http://127.0.0.1:{server.getsockname()[1]}/film.ts"))
        with pytest.raises(InputError):
            probe(path)
        with pytest.raises(TimeoutError):
            server.accept()
