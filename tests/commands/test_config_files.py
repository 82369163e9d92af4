"""vidsum.yaml beside the inputs and in the user's folder, unknown variables, --log-file, help, --no-color."""

import re
from pathlib import Path

import pytest

from tests.commands.conftest import Run
from vidsum.version import __version__


@pytest.fixture
def films(film: Path, tmp_path: Path, loads: list[str]) -> Path:
    """A folder of films, one of them in a folder below."""
    place = tmp_path / "films"
    (place / "below").mkdir(parents=True)
    for name in ("a.mp4", "below/b.mp4"):
        (place / name).write_bytes(film.read_bytes())
    return place


@pytest.fixture
def users(tmp_path: Path) -> Path:
    """The user's file."""
    (tmp_path / "config").mkdir()
    return tmp_path / "config" / "vidsum.yaml"


def seed_of(run: Run, *arguments: object) -> int:
    seed: int = run("summarize", *arguments, "-o", "-").json["provenance"]["summary"]["seed"]
    return seed


def test_flags_beat_variables_beat_the_inputs_file_beats_the_users(
    run: Run, films: Path, users: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    film = films / "a.mp4"
    users.write_text("summarize:\n  seed: 1\n  model: uniform\n")
    assert seed_of(run, film) == 1
    (films / "vidsum.yaml").write_text("summarize:\n  seed: 2\n")
    assert seed_of(run, film) == 2
    assert run("summarize", film, "-o", "-").json["model"] == "uniform"  # of the file below
    Path("third.yaml").write_text("summarize:\n  max_shots: 3\n")
    assert seed_of(run, film, "--config", "third.yaml") == 0  # in place of both
    monkeypatch.setenv("VIDSUM_SUMMARIZE_SEED", "4")
    assert seed_of(run, film) == 4
    assert seed_of(run, film, "--seed", "5") == 5


def test_beside_is_the_deepest_folder_that_holds_all_inputs(run: Run, films: Path) -> None:
    (films / "vidsum.yaml").write_text("summarize:\n  seed: 2\n")
    assert seed_of(run, films / "a.mp4") == 2
    assert seed_of(run, films / "below" / "b.mp4") == 0
    both = run("summarize", films / "a.mp4", films / "below" / "b.mp4", "--json", "--dry-run")
    assert [line["data"]["provenance"]["summary"]["seed"] for line in both.json_lines] == [2, 2]
    folder = run("summarize", films, "--json", "--dry-run").json
    assert folder["data"]["provenance"]["summary"]["seed"] == 2


def test_info_tells_the_files_in_force(run: Run, films: Path, users: Path) -> None:
    assert run("info", "--json").json["data"]["config"] == "none"
    users.write_text("device: cpu\n")
    (films / "vidsum.yaml").write_text("device: cpu\n")
    told = run("info", films / "a.mp4", "--json").json["data"]["config"]
    assert [Path(name).resolve() for name in told.split(", ")] == [films / "vidsum.yaml", users]
    assert run("info", "--json").json["data"]["config"] == str(users)


@pytest.mark.parametrize(
    "key", ["overwrite: true", "output_dir: /tmp", "log_file: log", "summary_json: a.json", "ray: host:1"]
)
def test_a_file_that_came_with_the_inputs_does_not_say_where_to_write_or_who_works(
    run: Run, films: Path, users: Path, key: str
) -> None:
    (films / "vidsum.yaml").write_text(f"shots:\n  {key}\n")
    ran = run("shots", films / "a.mp4")
    assert (ran.code, "beside the inputs" in ran.err) == (2, True)
    (films / "vidsum.yaml").unlink()
    users.write_text("shots:\n  overwrite: true\n")
    assert run("shots", films / "a.mp4").code == 0


def test_a_bad_value_tells_the_file_that_it_is_from(run: Run, films: Path, users: Path) -> None:
    users.write_text("fps: 2\nseed: 1\n")
    assert "vidsum.yaml" in run("shots", films / "a.mp4").err
    users.write_text("fps: 2\n")
    (films / "vidsum.yaml").write_text("fps: many\n")
    told = re.search(r"from (.*)\)", run("shots", films / "a.mp4").err)
    assert told
    assert Path(told[1]).resolve() == films / "vidsum.yaml"


def test_an_unknown_variable_is_told_once_with_the_nearest(
    run: Run, films: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VIDSUM_MAXSHOT", "3s")
    monkeypatch.setenv("VIDSUM_MAX_SHOT", "3s")
    ran = run("info", films, "--recursive")
    assert ran.err.count("VIDSUM_MAXSHOT") == 1
    assert "did you mean VIDSUM_MAX_SHOT?" in ran.err
    assert run("info", films, "-q").err == ""


def test_the_log_has_steps_results_and_errors_with_their_time(run: Run, films: Path) -> None:
    (films / "bad.mp4").write_bytes(b"\0" * 100)
    for _ in range(2):
        run("shots", films, "--log-file", "log.txt", "-q")
    lines = Path("log.txt").read_text().splitlines()
    assert all(re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} (INFO|ERROR) ", line) for line in lines)
    text = [line.split(" ", 2)[2] for line in lines]
    first = ["INFO 1/2 a.mp4: extracting features", f"INFO shots {films}/a.mp4: a_shots.json: 4 shots"]
    assert text[:2] == first
    assert text[2].startswith(f"ERROR shots {films}/bad.mp4: ")
    assert text[2].count("bad.mp4") == 1
    assert text[3] == "INFO shots: 2 inputs: 1 done, 1 failed"
    assert text[-1] == "INFO shots: 2 inputs: 1 up to date, 1 failed"
    ran = run("shots", films, "--log-file", "no/log.txt")
    assert (ran.code, "no/log.txt" in ran.err) == (1, True)


@pytest.mark.parametrize("words", [["shots"], ["train", "mrnet"], []])
def test_help_is_a_command_too(run: Run, words: list[str]) -> None:
    assert run("help", *words).out == run(*words, "--help").out
    assert run("help", "nonsense").code == 2


def test_help_has_no_colours_where_none_are_wanted(
    run: Run, films: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert run("-V").out == f"vidsum {__version__}\n"
    for arguments in (["--no-color", "info", films / "a.mp4"], ["info", films / "a.mp4", "--no-color"]):
        assert run(*arguments).code == 0
