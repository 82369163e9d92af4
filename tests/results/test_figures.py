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
def test_save_figure_is_deterministic(tmp_path: Path, suffix: str) -> None:
    first, second = (save(tmp_path / f"{name}{suffix}") for name in ("a", "b"))
    assert first == second
    assert first != save(tmp_path / f"c{suffix}", "another")


def test_save_figure_metadata(tmp_path: Path) -> None:
    assert b"<dc:date>" not in save(tmp_path / "plot.svg")
    assert b"matplotlib" not in save(tmp_path / "plot.png").lower()
    save(tmp_path / "plot.png", "旅行")  # letters that the font lacks: warnings are errors here


def test_save_figure_errors(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"plot\.pdf: plot must end in \.png or \.svg"):
        save(tmp_path / "plot.pdf")
    with pytest.raises(OutputError, match="no folder"):
        save(tmp_path / "none" / "plot.png")
