"""Batches: folders and lists as inputs, what is skipped, what is told at the end and on the way."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from tests.commands.conftest import Run, check_schema
from vidsum.commands.progress import Display
from vidsum.commands.result import View
from vidsum.pipelines.sources import source_path

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
    assert "name audio files" in run("transcribe", tmp_path / "empty", "--recursive").err


def test_inputs_come_from_a_list_too(run: Run, folder: Path, film: Path) -> None:
    Path("list").write_text(f"{folder}\n{film}\n")
    ran = run("shots", "--from-file", "list", "--json", "--output-dir", "out")
    assert [Path(line["input"]).name for line in ran.json_lines] == ["a.mp4", "bad.mp4", "film.mp4"]
    assert run("ground", "--from-file", "-", "--queries", "-").code == 2


def test_the_summary_tells_what_became_of_each_input(run: Run, folder: Path) -> None:
    def states(*options: object) -> dict[str, Any]:
        run("shots", folder, "-r", "--output-dir", "out", "--summary-json", "batch.json", *options)
        document = json.loads(Path("batch.json").read_text())
        check_schema(document, "batch")
        assert sum(document["counts"].values()) == 3
        return {Path(row["input"]).name: row["state"] for row in document["inputs"]}

    assert states("--export", "csv") == {"a.mp4": "done", "bad.mp4": "failed", "b": "done"}
    (made, *_) = json.loads(Path("batch.json").read_text())["inputs"]
    assert made["outputs"] == {"output": "out/a_shots.json", "exports": ["out/a_shots.csv"]}
    assert states() == {"a.mp4": "up to date", "bad.mp4": "failed", "b": "up to date"}
    assert states("--skip-existing") == {"a.mp4": "skipped", "bad.mp4": "failed", "b": "skipped"}
    failing = states("--fail-fast")
    assert failing == {"a.mp4": "up to date", "bad.mp4": "failed", "b": "not run"}


def test_summary_and_table_are_written_after_an_interruption(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(path: str, **_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("vidsum.pipelines.sources.probe", interrupted)
    assert run("shots", folder, "--summary-json", "batch.json", "--table", "table.csv").code == 130
    assert json.loads(Path("batch.json").read_text())["counts"]["not run"] == 2
    assert [row["state"] for row in table()] == ["not run", "not run"]


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
        report = display.reporter("3/200 film.mp4")
        assert report is not None
        for what in ("reading", "reading", "reading", "reading", "writing"):
            report(what, 1, 10)
        display.end("3/200 film.mp4")
    assert capsys.readouterr().err == "3/200 film.mp4: reading\n"
    assert Display(View(quiet=True)).reporter("a") is None


def test_bars_on_a_terminal_name_the_input(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    ran = run("shots", folder, "--recursive", "--json", "--output-dir", "out")
    assert "1/3 a.mp4: extracting features" in ran.err
    assert [line["ok"] for line in ran.json_lines] == [True, False, True]  # stdout has nothing else


@pytest.mark.parametrize("command", ["extract", "shots", "summarize", "highlights"])
def test_documents_of_several_inputs_are_json_lines_and_one_is_laid_out(
    run: Run, folder: Path, command: str
) -> None:
    ran = run(command, folder, "-r", *COMMANDS[command], "-o", "-")
    assert (ran.code, len(ran.json_lines), "bad.mp4" in ran.err) == (1, 2, True)
    alone = run(command, folder / "a.mp4", *COMMANDS[command], "-o", "-")
    assert (alone.out.count("\n") > 3, alone.json) == (True, ran.json_lines[0])
    failing_first = run(command, folder / "bad.mp4", folder / "a.mp4", *COMMANDS[command], "-o", "-")
    assert (failing_first.json_lines, "1 done, 1 failed" in failing_first.err) == ([alone.json], True)
    results = run(command, folder, "-r", *COMMANDS[command], "-o", "-", "--json")
    assert [line["ok"] for line in results.json_lines] == [True, False, True]


def test_texts_of_several_inputs_do_not_fit_on_stdout(run: Run, folder: Path, loads: list[str]) -> None:
    ran = run("transcribe", folder, "-r", "--format", "srt", "-o", "-")
    assert (ran.code, "--output-dir" in ran.err, loads) == (2, True, [])
    assert run("export", "a.json", "b.json", "--format", "csv", "-o", "-").code == 2


def test_warnings_of_a_batch_name_the_input(run: Run, folder: Path) -> None:
    ran = run("summarize", folder, "-r", "--model", "uniform", "--copy", "--output-dir", "out")
    warnings = [line for line in ran.err.splitlines() if line.startswith("warning: ")]
    named = zip(("a.mp4", "below/b"), warnings, strict=True)
    assert all(line.startswith(f"warning: {folder / name}: copied") for name, line in named)
    alone = run("summarize", folder / "a.mp4", "--model", "uniform", "--copy")
    assert alone.err.startswith("warning: copied segments")


def table() -> list[dict[str, str]]:
    """The rows of table.csv by the names of their columns."""
    with Path("table.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


FACTS = {
    "extract": {"length_s": 10, "features": 20, "numbers": 1280, "extractor": "efficientnet_lite0"},
    "shots": {"length_s": 10, "method": "kts"},
    "summarize": {"length_s": 10, "kept_s": 1.48, "segments": 1, "model": "uniform"},
    "highlights": {"length_s": 10},
    "info": {"length_s": 10, "fps": 25, "codec": "h264", "sound": "aac"},
}


@pytest.mark.parametrize("command", COMMANDS)
def test_the_table_has_a_row_for_each_input(run: Run, folder: Path, command: str) -> None:
    how = (command, folder, "-r", *COMMANDS[command], "--table", "table.csv", "--summary-json", "all.json")
    run(*how)
    rows = table()
    assert [row["input"] for row in rows] == [str(folder / name) for name in ("a.mp4", "bad.mp4", "below/b")]
    assert [row["state"] for row in rows] == ["done", "failed", "done"]
    assert [row["exit_code"] for row in rows] == ["0", "3", "0"]
    assert (rows[0]["error"], rows[1]["error"] != "", "bad.mp4" in rows[1]["error"]) == ("", True, False)
    assert Path(rows[0]["output"]).is_file() or command == "info"
    for name, value in FACTS[command].items():
        assert rows[0][name] == rows[2][name] == str(value) or float(rows[0][name]) == value
        assert rows[1][name] == ""
    document = json.loads(Path("all.json").read_text())
    check_schema(document, "batch")
    assert {name: str(value) for name, value in document["inputs"][0]["facts"].items()} == {
        name: rows[0][name] for name in document["inputs"][0]["facts"]
    }
    if command != "info":
        run(*how)  # the table of the last run is replaced
        assert [row["state"] for row in table()] == ["up to date", "failed", "up to date"]
        assert table()[0]["length_s"] == rows[0]["length_s"]
        run(*how, "--skip-existing")
        assert [(row["state"], row["length_s"]) for row in table()] == [
            ("skipped", ""),
            ("failed", ""),
            ("skipped", ""),
        ]


def test_the_table_quotes_what_it_must_and_tells_warnings(run: Run, film: Path, loads: list[str]) -> None:
    odd = Path('a, "b"\nc.mp4')
    odd.write_bytes(film.read_bytes())
    assert run("summarize", odd, film, "--model", "uniform", "--copy", "--table", "table.csv").code == 0
    rows = table()
    assert rows[0]["input"] == str(odd)
    assert rows[1]["warnings"].startswith("copied segments")


def test_a_table_replaces_nothing_but_a_table(run: Run, folder: Path) -> None:
    Path("table.csv").write_text("input,state,mine\n")
    ran = run("shots", folder / "a.mp4", "--table", "table.csv")
    assert (ran.code, ran.out, Path("table.csv").read_text()) == (1, "", "input,state,mine\n")
    assert run("shots", folder / "a.mp4", "--table", folder / "a.mp4", "--overwrite").code == 2
    assert run("shots", folder / "a.mp4", "--table", "t.csv", "--summary-json", "t.csv").code == 2
    assert run("shots", folder / "a.mp4", "--table", "table.csv", "--overwrite").code == 0
    assert table()[0]["state"] == "done"


def test_a_file_url_is_the_file(run: Run, film: Path) -> None:
    odd = film.rename(film.with_name("a b#\xe9 50%.mp4"))
    url = odd.as_uri()
    Path("list.txt").write_text(f"# films\n{url}\n", encoding="utf-16")
    for words in ([url], [url.replace("file://", "file://localhost")], ["--from-file", "list.txt"]):
        assert run("shots", *words).code == 0
    assert [path.name for path in Path().glob("*.json")] == [f"{odd.stem}_shots.json"]
    assert source_path(url) == str(odd)
    ran = run("shots", "file://elsewhere/a.mp4", odd)
    assert (ran.code, "is a URL" in ran.err) == (1, True)
