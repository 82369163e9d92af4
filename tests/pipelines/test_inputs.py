"""Which files of a folder are videos, and lists of inputs."""

import io
import os
import shutil
import sys
from pathlib import Path

import av
import numpy as np
import pytest
from PIL import Image

from tests import media
from vidsum.errors import InputError, UsageError
from vidsum.pipelines.sources import count_subfolders, expand, read_list
from vidsum.video.probe import probe
from vidsum.video.write import write_segments


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two videos, one of them below, among files that are none."""
    place = tmp_path / "films"
    (place / "below").mkdir(parents=True)
    media.make_video(place / "film.mp4", n_frames=30)
    content = (place / "film.mp4").read_bytes()
    (place / "below" / "without_suffix").write_bytes(content)
    (place / ".hidden.mp4").write_bytes(content)
    (place / "notes.txt").write_text("a film of mine")
    (place / "code.ts").write_text("export const a = 1\n")
    (place / "list.txt").write_text("ffconcat version 1.0\nfile film.mp4\n")
    Image.new("RGB", (64, 48)).save(place / "still.png")
    Image.new("RGB", (64, 48)).save(place / "still.jpg")
    frames = [Image.new("P", (64, 48), colour) for colour in (1, 2)]
    frames[0].save(place / "moving.gif", save_all=True, append_images=frames[1:])
    np.savez(place / "features.npz", features=np.zeros((4, 8)))
    (place / "noise").write_bytes(np.random.default_rng(0).bytes(100_000))
    return place


def names(inputs: list[str], folder: Path) -> list[str]:
    return [os.path.relpath(path, folder) for path in inputs]


def test_videos_of_a_folder_are_known_by_content(folder: Path) -> None:
    assert names(expand([str(folder)]), folder) == ["film.mp4"]


def test_videos_of_subfolders_are_listed_on_request(folder: Path) -> None:
    assert names(expand([str(folder)], recursive=True), folder) == ["film.mp4", "below/without_suffix"]


def test_subfolders_without_videos_are_not_counted(folder: Path) -> None:
    (folder / "notes" / "deep").mkdir(parents=True)
    (folder / "notes" / "deep" / "a.txt").write_text("no film")
    (folder / "code").mkdir()
    (folder / "code" / "index.ts").write_text("export {}")
    for place in (".hidden", "more"):
        (folder / place).mkdir(parents=True)
        shutil.copy(folder / "film.mp4", folder / place)
    assert count_subfolders(str(folder)) == 1


def test_subfolders_with_photographs_count_where_a_command_takes_them(folder: Path) -> None:
    (folder / "pictures").mkdir()
    (folder / "pictures" / "a.JPG").write_bytes(b"")
    assert [count_subfolders(str(folder), photographs=wanted) for wanted in (False, True)] == [0, 1]


def test_broken_files_with_a_videos_suffix_are_listed(folder: Path) -> None:
    named = {
        "cut.mkv": (folder / "film.mp4").read_bytes()[:500],
        "empty.mov": b"",
        "error.mp4": b"<!DOCTYPE html>\n<html><body>404 Not Found</body></html>\n",
        "list.M4V": b"ffconcat version 1.0\nfile film.mp4\n",
        "moving.mp4": (folder / "moving.gif").read_bytes(),
        "page.webm": b"Not Found",
    }
    for name, content in named.items():
        (folder / name).write_bytes(content)
    (folder / "gone.avi").symlink_to("nowhere.avi")
    (folder / "cut.bin").write_bytes(named["cut.mkv"])
    (folder / "empty").write_bytes(b"")
    (folder / ".error.mp4").write_bytes(b"hidden")
    assert names(expand([str(folder)]), folder) == sorted([*named, "film.mp4", "gone.avi"])


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_pipes_with_a_videos_suffix_are_listed(folder: Path) -> None:
    for name in ("pipe", "pipe.mp4", "pipe.ts"):
        os.mkfifo(folder / name)
    assert names(expand([str(folder)]), folder) == ["film.mp4", "pipe.mp4", "pipe.ts"]


@pytest.fixture
def own_clip(folder: Path) -> Path:
    """A clip that vidsum wrote, in the folder."""
    path = folder / "film_1_1.mp4"
    write_segments(probe(folder / "film.mp4"), [(0, 0.5)], path, comment="vidsum " + "0f" * 16)
    return path


@pytest.mark.usefixtures("own_clip")
def test_own_files_of_a_folder_are_skipped(folder: Path) -> None:
    assert names(expand([str(folder)]), folder) == ["film.mp4"]


def test_own_file_that_is_named_is_an_input(own_clip: Path) -> None:
    assert expand([str(own_clip)]) == [str(own_clip)]


def test_file_whose_comment_is_about_vidsum_is_listed(folder: Path) -> None:
    write_segments(probe(folder / "film.mp4"), [(0, 0.5)], folder / "mine.mp4", comment="vidsum is a program")
    assert names(expand([str(folder)]), folder) == ["film.mp4", "mine.mp4"]


def test_songs_of_a_folder_are_skipped(folder: Path) -> None:
    with av.open(str(folder / "song.mka"), "w", format="matroska") as container:
        stream = container.add_stream("pcm_s16le", rate=8000, layout="mono")
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 8000), np.int16), layout="mono")
        frame.rate = 8000
        container.mux(stream.encode(frame))
    assert "song.mka" not in names(expand([str(folder)]), folder)


def test_each_input_is_listed_once_in_the_order_of_naming(folder: Path) -> None:
    film = str(folder / "film.mp4")
    assert expand(["no.mp4", film, str(folder), "n" * 300, film]) == ["no.mp4", film, "n" * 300]


def test_folder_without_videos_is_an_input(tmp_path: Path) -> None:
    assert expand([str(tmp_path)]) == [str(tmp_path)]


def test_links_that_lead_back_are_followed_once(folder: Path) -> None:
    (folder / "below" / "again").symlink_to(folder)
    assert len(expand([str(folder)], recursive=True)) == 2


SEPARATED = [b"a.mp4\n\nb c.mp4\r\n", b"a.mp4\0b c.mp4\0", b"\xef\xbb\xbfa.mp4\nb c.mp4"]
separated = pytest.mark.parametrize("content", SEPARATED, ids=["lines", "zeros", "byte order mark"])


@separated
def test_names_of_a_list_are_separated(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "list").write_bytes(content)
    assert read_list(str(tmp_path / "list")) == ["a.mp4", "b c.mp4"]


@separated
def test_list_is_read_from_stdin(content: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert read_list("-") == ["a.mp4", "b c.mp4"]


def test_comments_of_a_list_are_skipped(tmp_path: Path) -> None:
    (tmp_path / "list").write_text("# comment\r\na.mp4\r\n\r\n#b.mp4\r\n./#\xe9.mp4", encoding="utf-16")
    assert read_list(str(tmp_path / "list")) == ["a.mp4", "./#\xe9.mp4"]


def test_names_between_zeros_may_begin_with_a_hash_and_have_lines(tmp_path: Path) -> None:
    (tmp_path / "list").write_bytes(b"#1.mp4\0b\nc.mp4\0")
    assert read_list(str(tmp_path / "list")) == ["#1.mp4", "b\nc.mp4"]


def test_names_of_a_list_may_have_another_encoding(tmp_path: Path) -> None:
    (tmp_path / "list").write_bytes(b"caf\xe9.mp4\n")
    assert os.fsencode(read_list(str(tmp_path / "list"))[0]) == b"caf\xe9.mp4"


def test_empty_list_is_refused(tmp_path: Path) -> None:
    (tmp_path / "list").write_text("\n\n")
    with pytest.raises(UsageError):
        read_list(str(tmp_path / "list"))


def test_missing_list_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        read_list(str(tmp_path / "no"))


def test_film_is_no_list(tmp_path: Path) -> None:
    (tmp_path / "film.mp4").write_bytes(b"\0\0\0\x20ftypisom\0\0\2\0" + bytes(range(256)))
    with pytest.raises(InputError, match=r"film\.mp4: is not a list of files \(not text\)$"):
        read_list(str(tmp_path / "film.mp4"))
