"""Errors about settings name where the value is from, and a remedy that works when it is typed."""

from pathlib import Path

import pytest

from tests.commands.conftest import copies
from tests.program import Run
from vidsum.errors import UsageError
from vidsum.io.urls import is_offline


def test_a_missing_file_names_the_variable_that_gives_it(
    run: Run, film: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VIDSUM_CONFIG", "missing.yaml")
    assert "missing.yaml: no such file (from VIDSUM_CONFIG)" in run("shots", film, code=2).err


def test_an_unknown_variable_is_named_before_a_fault_of_the_file(
    run: Run, film: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VIDSUM_QQQQQQ", "1")
    lines = run("shots", film, "--config", "missing.yaml", code=2).err.splitlines()
    assert lines[0] == "warning: VIDSUM_QQQQQQ sets no option"


def test_a_share_above_the_whole_names_its_flag_and_its_variable(
    run: Run, film: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VIDSUM_SUMMARIZE_BUDGET", "200%")
    fault = "--budget must be at most 100 %, not 200% (from VIDSUM_SUMMARIZE_BUDGET)"
    assert fault in run("summarize", film, code=2).err


@pytest.mark.parametrize("text", ["maybe", "2", "offline"])
def test_offline_is_yes_or_no(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIDSUM_OFFLINE", text)
    with pytest.raises(UsageError, match="VIDSUM_OFFLINE is"):
        is_offline()


def test_a_command_that_loads_nothing_refuses_a_wrong_offline(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VIDSUM_OFFLINE", "maybe")
    assert "VIDSUM_OFFLINE is" in run("weights", "list", code=2).err


def test_the_remedy_for_a_table_that_is_a_video_works(run: Run, film: Path) -> None:
    other, taken = copies(film, "other.mp4", "yoga.mp4")
    refused = run("shots", film, other, "--table", taken, code=2).err
    remedy = refused.partition("  try: ")[2].split()
    assert remedy == ["--table", str(taken.with_suffix(".csv"))]
    run("shots", film, other, *remedy)


def test_edited_table_is_not_replaced(run: Run, film: Path) -> None:
    (other,) = copies(film, "other.mp4")
    run("shots", film, other, "--table", "all.csv")
    run("shots", film, other, "--table", "all.csv")  # its own table
    with Path("all.csv").open("a") as table:
        table.write("checked\n")
    assert run("shots", film, other, "--table", "all.csv", code=1).out == ""
    assert Path("all.csv").read_text().endswith("checked\n")


def test_the_remedy_for_an_output_that_is_a_folder_works(run: Run, film: Path, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    remedy = run("shots", film, "-o", folder, code=2).err.partition("  try: ")[2].split()
    assert remedy == ["--output-dir", str(folder)]
    run("shots", film, *remedy)
    assert list(folder.iterdir())


@pytest.mark.parametrize(
    ("words", "remedy"),
    [
        (("report", "--bundle", "page"), "--bundle page.zip"),
        (("search", "red", "--page", "page.txt"), "--page page.html"),
    ],
)
def test_a_wrong_suffix_names_the_option_of_the_file(run: Run, words: tuple[str, ...], remedy: str) -> None:
    command, *options = words
    source = ["made.json"] if command == "report" else ["--archive", "missing.vidsum"]
    assert f"try: {remedy}" in run(command, *source, *options, code=2).err
