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
def test_same_figure_has_the_same_bytes(tmp_path: Path, suffix: str) -> None:
    assert save(tmp_path / f"a{suffix}") == save(tmp_path / f"b{suffix}")


def test_figures_of_other_texts_differ(tmp_path: Path) -> None:
    assert save(tmp_path / "a.svg") != save(tmp_path / "b.svg", "another")


def test_svg_has_no_date(tmp_path: Path) -> None:
    assert b"<dc:date>" not in save(tmp_path / "plot.svg")


def test_png_names_no_software(tmp_path: Path) -> None:
    assert b"matplotlib" not in save(tmp_path / "plot.png").lower()


def test_letters_that_the_font_lacks_are_no_warning(tmp_path: Path) -> None:
    save(tmp_path / "plot.png", "旅行")  # warnings are errors here


def test_other_format_of_a_figure_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"plot\.pdf: plot must end in \.png or \.svg"):
        save(tmp_path / "plot.pdf")


def test_figure_in_a_missing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="no folder"):
        save(tmp_path / "none" / "plot.png")
