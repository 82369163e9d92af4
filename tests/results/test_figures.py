"""Figures come out the same on every run, whatever their texts, and in two formats only."""

from pathlib import Path

import pytest

from vidsum.errors import OutputError, UsageError
from vidsum.results.figures import new_figure, save_figure


def save(target: Path, title: str = "a title") -> bytes:
    figure = new_figure(2, 1)
    axes = figure.add_subplot()
    axes.plot([0, 1], label="a line")
    axes.set_title(title)
    axes.legend()
    save_figure(figure, target)
    return target.read_bytes()


@pytest.mark.parametrize("suffix", [".png", ".PNG", ".svg"])
def test_the_same_content_gives_the_same_bytes(tmp_path: Path, suffix: str) -> None:
    first, second = (save(tmp_path / f"{name}{suffix}") for name in ("a", "b"))
    assert first == second
    assert first != save(tmp_path / f"c{suffix}", "another")


def test_a_file_tells_neither_when_nor_with_what_it_was_made(tmp_path: Path) -> None:
    assert b"<dc:date>" not in save(tmp_path / "plot.svg")
    assert b"matplotlib" not in save(tmp_path / "plot.png").lower()


def test_a_text_that_the_font_cannot_write_is_no_warning(tmp_path: Path) -> None:
    save(tmp_path / "plot.png", "旅行")  # warnings are errors here


def test_another_suffix_and_a_missing_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"plot\.pdf: plot must end in \.png or \.svg"):
        save(tmp_path / "plot.pdf")
    with pytest.raises(OutputError, match="no folder"):
        save(tmp_path / "none" / "plot.png")
