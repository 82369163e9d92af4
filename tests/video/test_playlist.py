"""Playlists are refused, or read where that is allowed, and never open more than local files."""

import socket
from pathlib import Path

import pytest

from tests.media import MadeVideo, make_video, read_number
from tests.video.clips import FlashBeep, make_flash_beep, numbers_by_pyav, worst_offsets_s
from vidsum import provenance
from vidsum.errors import InputError, UsageError
from vidsum.video.copy import copy_segments
from vidsum.video.frames import Sampling
from vidsum.video.playlist import files_of, is_playlist
from vidsum.video.probe import probe
from vidsum.video.read import READERS, read_frames, read_frames_at
from vidsum.video.write import write_segments

HLS = "#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:4\n"
END = "#EXT-X-ENDLIST\n"
DASH = '<?xml version="1.0"?>\n<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static"></MPD>\n'
SDP = "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\nm=video 5004 RTP/AVP 96\n"


@pytest.fixture
def film(tmp_path: Path) -> MadeVideo:
    return make_video(tmp_path / "film.ts", n_frames=50)


def concat(folder: Path, *lines: str, name: str = "list.mp4") -> Path:
    path = folder / name
    path.write_text("\n".join(["ffconcat version 1.0", *lines, ""]))
    return path


def hls(folder: Path, *names: str, end: str = END) -> Path:
    path = folder / "list.m3u8"
    path.write_text(HLS + "".join(f"#EXTINF:2,\n{name}\n" for name in names) + end)
    return path


# --- refused ---


@pytest.mark.parametrize("name", ["list.mp4", "list.txt", "list.ffconcat"])
def test_an_ffconcat_list_is_no_video(name: str, film: MadeVideo) -> None:
    with pytest.raises(InputError, match="playlist") as caught:
        probe(concat(film.path.parent, f"file {film.path.name}", name=name))
    assert "--allow-playlists" in str(caught.value.hint)


def test_an_hls_playlist_is_no_video(film: MadeVideo) -> None:
    with pytest.raises(InputError, match="playlist") as caught:
        probe(hls(film.path.parent, film.path.name))
    assert "--allow-playlists" in str(caught.value.hint)


@pytest.mark.parametrize("allow_playlists", [False, True])
@pytest.mark.parametrize(("name", "text"), [("a.mpd", DASH), ("a.sdp", SDP), ("a.mp4", SDP)])
def test_other_kinds_are_never_read(name: str, text: str, allow_playlists: bool, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=name):
        probe(tmp_path / name, allow_playlists=allow_playlists)


@pytest.mark.parametrize(
    "line",
    [
        "file missing.ts",
        "file /",
        "file 'film.ts",
        r"file film\.ts",
        "file file:film.ts",
        "file subfile,,start,0,end,99,,:film.ts",
        "stream",
        "option protocol_whitelist file,http",
        "ffconcat version 1.0",
        "file film.ts other.ts",
    ],
)
def test_a_list_that_cannot_be_followed_is_refused(line: str, film: MadeVideo) -> None:
    with pytest.raises(InputError, match=r"list\.mp4"):
        probe(concat(film.path.parent, "file film.ts", line), allow_playlists=True)


@pytest.mark.parametrize("make", [lambda d, url: concat(d, f"file {url}"), hls])
def test_nothing_is_asked_of_a_network(make: object, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        path = make(tmp_path, f"http://127.0.0.1:{server.getsockname()[1]}/film.ts")  # type: ignore[operator]
        for allow_playlists in (False, True):
            with pytest.raises(InputError):
                probe(path, allow_playlists=allow_playlists)
        with pytest.raises(TimeoutError):
            server.accept()


def test_a_live_or_encrypted_playlist_is_refused(film: MadeVideo) -> None:
    with pytest.raises(InputError, match="live"):
        probe(hls(film.path.parent, "film.ts", end=""), allow_playlists=True)
    path = hls(film.path.parent, "film.ts")
    path.write_text(path.read_text().replace("#EXTINF", '#EXT-X-KEY:METHOD=AES-128,URI="k"\n#EXTINF', 1))
    with pytest.raises(InputError, match="encrypted"):
        probe(path, allow_playlists=True)


def test_an_address_that_is_not_in_quotes_is_refused(film: MadeVideo) -> None:
    path = film.path.with_name("a.m3u8")
    lines = ["#EXTM3U", "#EXT-X-MAP:URI=init.mp4", "#EXTINF:1,", film.path.name, "#EXT-X-ENDLIST", ""]
    path.write_text("\n".join(lines))
    with pytest.raises(InputError, match="quotes"):
        probe(path, allow_playlists=True)


def test_playlists_within_each_other_come_to_an_end(film: MadeVideo) -> None:
    folder = film.path.parent
    for number in range(8):
        concat(folder, f"file list{number + 1}.mp4", name=f"list{number}.mp4")
    concat(folder, "file film.ts", name="list8.mp4")
    with pytest.raises(InputError, match="without end"):
        probe(folder / "list0.mp4", allow_playlists=True)
    with pytest.raises(InputError):
        probe(concat(folder, "file self.mp4", name="self.mp4"), allow_playlists=True)


# --- allowed ---


@pytest.mark.parametrize("reader", READERS)
def test_a_list_is_read_as_one_video(reader: str, film: MadeVideo) -> None:
    if reader == "decord":
        pytest.importorskip("decord")
    make_video(film.path.parent / "an other.ts", n_frames=25)
    path = concat(film.path.parent, "# two films", f"file '{film.path}'", "duration 2", "file 'an other.ts'")
    info = probe(path, allow_playlists=True)
    assert is_playlist(info)
    assert (info.n_frames, info.duration_s) == (75, pytest.approx(3.0, abs=0.05))
    with read_frames(info, [Sampling(None)], reader=reader) as frames:
        numbers = [read_number(frame.image) for _, frame in frames]
    assert numbers == [*range(50), *range(25)]


def test_an_hls_playlist_is_read_as_one_video(film: MadeVideo) -> None:
    path = hls(film.path.parent, "film.ts")
    info = probe(path, allow_playlists=True)
    assert (info.container, info.duration_s) == ("hls", pytest.approx(2.0, abs=0.001))
    assert [read_number(still.image) for still in read_frames_at(info, [0.4])] == [10]
    written = write_segments(info, [(0.4, 0.8)], film.path.parent / "clip.mp4")
    assert numbers_by_pyav(written.path) == list(range(10, 20))


def test_clips_of_a_list_have_its_sound(tmp_path: Path) -> None:
    make_flash_beep(tmp_path / "film.mp4", duration_s=6.0)
    path = concat(tmp_path, "file film.mp4", name="list.txt")
    info = probe(path, allow_playlists=True)
    written = write_segments(info, [(0.5, 1.5), (4.6, 5.3)], tmp_path / "clip.mp4")
    whole = FlashBeep(path, 25.0, 0.0, 6.0)
    assert max(worst_offsets_s(whole, written.path, written.segments)) < 0.04
    assert read_frames_at(info, [5.1, 0.1, 4.5])[1].image.mean() > 200
    with pytest.raises(UsageError, match="playlist"):
        copy_segments(info, [(0.5, 1.5)], tmp_path / "clip.mp4")


def test_a_video_is_read_the_same_with_playlists_allowed(film: MadeVideo) -> None:
    assert probe(film.path, allow_playlists=True) == probe(film.path)


def test_all_files_that_are_named_count_as_the_source(film: MadeVideo) -> None:
    inner = concat(film.path.parent, "file film.ts", name="inner.mp4")
    path = hls(film.path.parent, "inner.mp4")
    assert files_of(path) == (path, inner, film.path)
    before = provenance.identify_files(files_of(path))
    assert before["bytes"] == sum(file.stat().st_size for file in (path, inner, film.path))
    make_video(film.path, n_frames=40)
    assert provenance.identify_files(files_of(path))["sha256"] != before["sha256"]


def test_what_is_no_playlist_is_its_own_source(film: MadeVideo) -> None:
    assert provenance.identify_files([film.path]) == provenance.identify_file(film.path)
