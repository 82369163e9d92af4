"""Outputs never cost an input, another output, or work that was for nothing."""

import json
from pathlib import Path

import av
import pytest

from tests.commands.conftest import Run


@pytest.fixture(autouse=True)
def without_weights(loads: list[str]) -> list[str]:
    """No test here loads a real network; lists those that would have been."""
    return loads


@pytest.mark.parametrize("arguments", [["summarize"], ["summarize", "--overwrite"]])
def test_an_input_is_never_written_over(run: Run, film: Path, arguments: list[str]) -> None:
    before = film.read_bytes()
    ran = run(*arguments, film, "-o", film)
    assert ran.code == 2
    assert "over the input" in ran.err
    assert film.read_bytes() == before


def test_another_input_of_the_batch_is_not_written_over_either(run: Run, film: Path) -> None:
    Path("film_summary.mp4").write_bytes(film.read_bytes())
    ran = run("summarize", film, "film_summary.mp4", "--overwrite")
    assert ran.code == 2
    assert Path("film_summary.mp4").read_bytes() == film.read_bytes()


@pytest.mark.parametrize("command", ["extract", "shots", "summarize"])
def test_two_inputs_of_one_name_are_refused_before_any_work(
    run: Run, film: Path, tmp_path: Path, command: str, loads: list[str]
) -> None:
    (tmp_path / "other").mkdir()
    other = tmp_path / "other" / "film.mp4"
    other.write_bytes(film.read_bytes())
    ran = run(command, film, other)
    assert ran.code == 2
    assert str(other) in ran.err
    assert loads == []


@pytest.mark.parametrize(
    ("command", "output"), [("extract", "f.mp4"), ("shots", "s.mp4"), ("summarize", "s.avi")]
)
def test_a_suffix_that_does_not_fit_is_refused_before_any_work(
    run: Run, film: Path, command: str, output: str, loads: list[str]
) -> None:
    ran = run(command, film, "-o", output)
    assert ran.code == 2
    assert "has to end in" in ran.err
    assert loads == []


def test_a_missing_folder_is_told_before_any_work(run: Run, film: Path, loads: list[str]) -> None:
    ran = run("summarize", film, "-o", "no/s.mp4")
    assert ran.code == 1
    assert "mkdir -p no" in ran.err
    assert loads == []


def test_the_output_folder_is_made(run: Run, film: Path) -> None:
    assert run("extract", film, "--output-dir", "new/folder").code == 0
    assert Path("new/folder/film_mobilenet_v2.npz").exists()


def test_a_file_that_is_not_ours_is_left_alone(run: Run, film: Path) -> None:
    Path("film_summary.json").write_text("{}")
    ran = run("summarize", film)
    assert ran.code == 1
    assert "not known to be made by vidsum" in ran.err
    assert Path("film_summary.json").read_text() == "{}"


def test_an_mp4_written_in_the_other_way_is_not_up_to_date(run: Run, film: Path) -> None:
    assert run("summarize", film, "--copy").code == 0
    ran = run("summarize", film)
    assert ran.code == 1
    assert "--overwrite" in ran.err
    assert run("summarize", film, "--copy").code == 0


def test_a_ruined_mp4_is_not_up_to_date(run: Run, film: Path) -> None:
    run("summarize", film)
    Path("film_summary.mp4").write_text("junk")
    assert run("summarize", film).code == 1


def test_an_up_to_date_result_tells_the_same_and_that_it_is(run: Run, film: Path) -> None:
    first = run("summarize", film, "--json").json["data"]
    again = run("summarize", film, "--json").json["data"]
    assert again.pop("up_to_date") is True
    assert again == first
    with av.open("film_summary.mp4") as container:
        assert container.metadata["comment"].startswith("vidsum ")


def test_a_video_with_a_hash_in_its_name_keeps_it(run: Run, film: Path, tmp_path: Path) -> None:
    odd = tmp_path / "a#b.mp4"
    film.rename(odd)
    assert run("summarize", odd, "-o", "-").json["video"]["path"] == str(odd)
    assert run("shots", odd).code == 0
    assert json.loads(Path("a#b_shots.json").read_text())["shots"]
