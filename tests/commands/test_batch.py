"""Batches: folders and lists as inputs, what is skipped, what is told at the end and on the way."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.commands.conftest import Run
from vidsum.commands.options import View
from vidsum.commands.progress import Display

SCHEMA = json.loads((Path(__file__).parents[2] / "vidsum/schemas/batch.schema.json").read_text())
COMMANDS = {"extract": (), "shots": (), "summarize": ("--model", "uniform"), "highlights": (), "info": ()}


@pytest.fixture
def folder(film: Path, tmp_path: Path, loads: list[str]) -> Path:
    """Two films, one of them in a folder below, and one that is not readable."""
    place = tmp_path / "films"
    (place / "below").mkdir(parents=True)
    for name in ("a.mp4", "below/b"):
        (place / name).write_bytes(film.read_bytes())
    (place / "bad.mp4").write_bytes(b"\0" * 100)
    return place


@pytest.mark.parametrize("command", COMMANDS)
def test_a_folder_is_a_batch_in_every_command(run: Run, folder: Path, command: str) -> None:
    ran = run(command, folder, "--recursive", "--json", *COMMANDS[command])
    assert ran.code == 1
    states = [(Path(line["input"]).name, line["exit_code"]) for line in ran.json_lines]
    assert states == [("a.mp4", 0), ("bad.mp4", 3), ("b", 0)]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_folder_without_videos_is_a_bad_input(run: Run, tmp_path: Path, command: str) -> None:
    (tmp_path / "empty").mkdir()
    ran = run(command, tmp_path / "empty")
    assert (ran.code, "without a video" in ran.err, "--recursive" in ran.err) == (3, True, True)
    assert "try:" not in run(command, tmp_path / "empty", "--recursive").err
    assert "name recordings" in run("transcribe", tmp_path / "empty", "--recursive").err


def test_inputs_come_from_a_list_too(run: Run, folder: Path, film: Path) -> None:
    Path("list").write_text(f"{folder}\n{film}\n")
    ran = run("shots", "--from-file", "list", "--json", "--output-dir", "out")
    assert [Path(line["input"]).name for line in ran.json_lines] == ["a.mp4", "bad.mp4", "film.mp4"]
    assert run("ground", "--from-file", "-", "--queries", "-").code == 2


def test_the_summary_tells_what_became_of_each_input(run: Run, folder: Path) -> None:
    def states(*options: object) -> dict[str, Any]:
        run("shots", folder, "-r", "--output-dir", "out", "--summary-json", "batch.json", *options)
        document = json.loads(Path("batch.json").read_text())
        jsonschema.validate(document, SCHEMA)
        assert sum(document["counts"].values()) == 3
        return {Path(each["input"]).name: each["state"] for each in document["inputs"]}

    assert states() == {"a.mp4": "done", "bad.mp4": "failed", "b": "done"}
    assert states() == {"a.mp4": "up to date", "bad.mp4": "failed", "b": "up to date"}
    assert states("--skip-existing") == {"a.mp4": "skipped", "bad.mp4": "failed", "b": "skipped"}
    failing = states("--fail-fast")
    assert failing == {"a.mp4": "up to date", "bad.mp4": "failed", "b": "not run"}


def test_the_summary_is_written_after_an_interruption(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(path: str, **_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("vidsum.pipelines.sources.probe", interrupted)
    assert run("shots", folder, "--summary-json", "batch.json").code == 130
    assert json.loads(Path("batch.json").read_text())["counts"]["not run"] == 2


def test_no_summary_is_written_over_an_input(run: Run, folder: Path) -> None:
    before = (folder / "a.mp4").read_bytes()
    ran = run("shots", folder, "--summary-json", folder / "a.mp4")
    assert (ran.code, (folder / "a.mp4").read_bytes() == before) == (2, True)
    ran = run("shots", folder, "--summary-json", "no/batch.json")
    assert (ran.code, ran.out, "no folder" in ran.err) == (1, "", True)


def test_the_last_lines_are_a_table_of_what_failed(run: Run, folder: Path) -> None:
    *_, counts, head, row = run("shots", folder, "--recursive", "--output-dir", "out").out.splitlines()
    assert counts == "3 inputs: 2 done, 1 failed"
    assert head.split() == ["failed", "exit", "code", "error"]
    assert row.split()[:2] == [str(folder / "bad.mp4"), "3"]
    assert row.count("bad.mp4") == 1
    assert run("shots", folder, "-r", "--output-dir", "out", "-q").out == ""


@pytest.mark.parametrize(
    ("command", "gone"), [("summarize", "a_summary.mp4"), ("extract", "a_efficientnet_lite0.npz")]
)
def test_an_input_is_skipped_if_all_its_outputs_exist_whatever_they_are(
    run: Run, folder: Path, command: str, gone: str, loads: list[str]
) -> None:
    assert run(command, folder / "a.mp4").code == 0
    loads.clear()
    again = run(command, folder / "a.mp4", "--skip-existing", "--fps", "1", "--json").json
    assert again["data"]["skipped"] is True
    assert loads == []
    Path(gone).unlink()
    again = run(command, folder / "a.mp4", "--skip-existing", "--json").json
    assert "skipped" not in again["data"]
    assert Path(gone).exists()


@pytest.mark.parametrize("other", [["--overwrite"], ["-o", "-"]])
def test_skipping_and_replacing_exclude_each_other(run: Run, folder: Path, other: list[str]) -> None:
    assert run("shots", folder, "--skip-existing", *other).code == 2


def test_a_step_that_takes_long_is_told_once_and_not_with_q(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = iter([0.0, 4.0, 6.0, 7.0, 20.0])
    monkeypatch.setattr("vidsum.commands.progress.time.monotonic", lambda: next(now))
    monkeypatch.setattr("vidsum.commands.progress.SLOW_S", 5.0)
    with Display(View()) as display:
        report = display.of("3/200 film.mp4")
        assert report is not None
        for what in ("reading", "reading", "reading", "reading", "writing"):
            report(what, 1, 10)
        display.end("3/200 film.mp4")
    assert capsys.readouterr().err == "3/200 film.mp4: reading\n"
    assert Display(View(quiet=True)).of("a") is None


def test_bars_on_a_terminal_name_the_input(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    ran = run("shots", folder, "--recursive", "--json", "--output-dir", "out")
    assert "1/3 a.mp4: extracting features" in ran.err
    assert [line["ok"] for line in ran.json_lines] == [True, False, True]  # stdout has nothing else


def test_the_summary_names_exports_too(run: Run, folder: Path) -> None:
    run("shots", folder / "a.mp4", "--export", "csv", "--summary-json", "batch.json")
    (made,) = json.loads(Path("batch.json").read_text())["inputs"]
    assert made["outputs"] == {"output": "a_shots.json", "exports": ["a_shots.csv"]}


@pytest.mark.parametrize("command", ["extract", "shots", "summarize", "highlights"])
def test_documents_of_several_inputs_are_json_lines_and_one_is_laid_out(
    run: Run, folder: Path, command: str
) -> None:
    ran = run(command, folder, "-r", *COMMANDS[command], "-o", "-")
    assert (ran.code, len(ran.json_lines), "bad.mp4" in ran.err) == (1, 2, True)
    alone = run(command, folder / "a.mp4", *COMMANDS[command], "-o", "-")
    assert (alone.out.count("\n") > 3, alone.json) == (True, ran.json_lines[0])
    of_workers = run(command, folder, "-r", *COMMANDS[command], "-o", "-", "--json")
    assert [line["ok"] for line in of_workers.json_lines] == [True, False, True]


def test_texts_of_several_inputs_do_not_fit_on_stdout(run: Run, folder: Path, loads: list[str]) -> None:
    ran = run("transcribe", folder, "-r", "--format", "srt", "-o", "-")
    assert (ran.code, "--output-dir" in ran.err, loads) == (2, True, [])
    assert run("export", "a.json", "b.json", "--format", "csv", "-o", "-").code == 2


def test_warnings_of_a_batch_name_the_input(run: Run, folder: Path) -> None:
    ran = run("summarize", folder, "-r", "--copy", "--output-dir", "out")
    warnings = [line for line in ran.err.splitlines() if line.startswith("warning: ")]
    named = zip(("a.mp4", "below/b"), warnings, strict=True)
    assert all(line.startswith(f"warning: {folder / name}: copied") for name, line in named)
    assert run("summarize", folder / "a.mp4", "--copy").err.startswith("warning: copied segments")
