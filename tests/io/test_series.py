"""The command that makes a video of pictures."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from vidsum.errors import InputError
from vidsum.io.series import suggest_film
from vidsum.video.open import open_video


def pictures(folder: Path, names: Sequence[str]) -> Path:
    for name in names:
        (folder / name).write_bytes(b"x")
    return folder


@pytest.mark.parametrize(
    ("names", "pattern"),
    [
        ([f"img_{n:04d}.png" for n in range(5)], "-i {}/img_%04d.png"),
        ([f"img_{n:04d}.png" for n in range(120, 125)], "-start_number 120 -i {}/img_%04d.png"),
        ([f"{n}.jpg" for n in range(1, 12)], "-i {}/%d.jpg"),
        ([f"take2_{n:03d}_left.tif" for n in range(1, 5)], "-i {}/take2_%03d_left.tif"),
        (["a.png", "b.png", "c.png"], "-pattern_type glob -i '{}/*.png'"),
        ([*(f"f{n:02d}.png" for n in range(9)), "cover.jpg", "notes.txt"], "-i {}/f%02d.png"),
        ([f"100%_{n}.png" for n in range(4)], "-i {}/100%%_%01d.png"),
    ],
)
def test_numbered_pictures_get_a_command_that_reads_them(
    names: list[str], pattern: str, tmp_path: Path
) -> None:
    command = str(suggest_film(pictures(tmp_path, names)))
    assert command.startswith("ffmpeg -framerate 25 ")
    assert pattern.format(tmp_path) in command


@pytest.mark.parametrize("names", [[], ["a.png", "b.png"], ["film.mp4", "1.txt", "2.txt", "3.txt"]])
def test_folder_without_a_series_gets_no_command(names: list[str], tmp_path: Path) -> None:
    assert suggest_film(pictures(tmp_path, names)) is None


@pytest.mark.parametrize("name", ["img_%04d.png", "img_%d.jpg", "*.png", "shot??.tif"])
def test_error_for_a_pattern_of_pictures_names_it_in_a_command(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file") as caught:
        open_video(tmp_path / name)
    assert f"{tmp_path / name}" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("name", "is_glob"),
    [("img_%04d.png", False), ("img_%d.jpg", False), ("*.png", True), ("shot??.tif", True)],
)
def test_only_wildcards_are_read_as_a_glob(name: str, is_glob: bool, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file") as caught:
        open_video(tmp_path / name)
    assert ("-pattern_type glob" in str(caught.value.hint)) == is_glob


def test_picture_of_a_series_gets_the_command_of_the_series(tmp_path: Path) -> None:
    pictures(tmp_path, [f"img_{n:04d}.png" for n in range(5)])
    assert f"{tmp_path}/img_%04d.png" in str(suggest_film(tmp_path / "img_0003.png"))


@pytest.mark.parametrize("name", ["img_0003.png", "holiday.jpg", "film_1.mp4"])
def test_picture_alone_gets_no_command(name: str, tmp_path: Path) -> None:
    assert suggest_film(pictures(tmp_path, [name]) / name) is None


@pytest.mark.parametrize(
    ("name", "expected"),
    [(r"C:\Users\me\film.mp4", "/mnt/c/Users/me/film.mp4"), ("D:/videos/a b.mp4", "/mnt/d/videos/a b.mp4")],
)
def test_error_for_a_windows_path_names_its_place_on_linux(name: str, expected: str) -> None:
    with pytest.raises(InputError, match="no such file") as caught:
        open_video(name)
    assert expected in str(caught.value.hint)
