"""Batches: folders and lists as inputs, what is skipped, what is told at the end and on the way."""

import errno
import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.commands.conftest import copies, csv_rows, files_in
from tests.full_disk import small_disk
from tests.program import Run
from vidsum.io.progress import Display
from vidsum.pipelines.sources import source_path

COMMANDS = {"extract": (), "shots": (), "summarize": ("--model", "uniform"), "highlights": (), "info": ()}


@pytest.fixture
def folder(film: Path, tmp_path: Path, known_film: None) -> Path:
    """Two films, one of them in a folder below, and one that is not readable."""
    copies(film, tmp_path / "films/a.mp4", tmp_path / "films/below/b")
    (tmp_path / "films/bad.mp4").write_bytes(b"\0" * 100)
    return tmp_path / "films"


def test_state_of_each_input_is_in_the_table(run: Run, folder: Path) -> None:
    def states(*options: object) -> dict[str, Any]:
        run("shots", folder, "-r", "--output-dir", "out", "--table", "table.csv", *options, code=1)
        return {Path(row["input"]).name: row["state"] for row in csv_rows("table.csv")}

    assert states("--export", "csv") == {"a.mp4": "done", "bad.mp4": "failed", "b": "done"}
    assert csv_rows("table.csv")[0]["output"] == "out/a_shots.json"
    assert states() == {"a.mp4": "up to date", "bad.mp4": "failed", "b": "up to date"}
    assert states("--skip-existing") == {"a.mp4": "skipped", "bad.mp4": "failed", "b": "skipped"}
    failing = states("--fail-fast")
    assert failing == {"a.mp4": "up to date", "bad.mp4": "failed", "b": "not run"}


def test_output_dir_keeps_folders_below_the_named_one(run: Run, film: Path, tmp_path: Path) -> None:
    """Where an output goes does not depend on the other videos that there are."""
    films = tmp_path / "films"
    for name in ("2026/jan/1.mp4", "2026/feb/2.mp4", "3.mp4"):
        copies(film, films / name)
        run("shots", films, "-r", "--output-dir", "out", "--skip-existing")
    made = sorted(path.relative_to("out").as_posix() for path in Path("out").rglob("*_shots.json"))
    assert made == ["2026/feb/2_shots.json", "2026/jan/1_shots.json", "3_shots.json"]
    (tmp_path / "empty").mkdir()
    Path("list").write_text(f"{films / '2026'}\n{films / '3.mp4'}\n{tmp_path / 'empty'}\n")
    run("shots", "--from-file", "list", "-r", "--output-dir", "several", code=1, error="empty")
    assert Path("several/films/2026/jan/1_shots.json").exists()
    run("shots", films / "2026/jan/1.mp4", films / "2026/feb/2.mp4", "--output-dir", "files")
    assert sorted(path.name for path in Path("files").iterdir()) == ["feb", "jan"]


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("{stem}.json", ["2026/a.json", "b.json"]),
        ("cuts/{n}.json", ["2026/cuts/2.json", "cuts/1.json"]),
        ("all.csv", ["all.csv"]),
    ],
)
def test_names_of_outputs_are_below_the_output_dir(
    run: Run, film: Path, tmp_path: Path, known_film: None, name: str, written: list[str]
) -> None:
    copies(film, tmp_path / "films/2026/a.mp4", tmp_path / "films/b.mp4")
    run("shots", tmp_path / "films", "-r", "-o", name, "--output-dir", "out/new")
    made = [path.relative_to("out/new").as_posix() for path in Path("out/new").rglob("*.*")]
    assert sorted(path for path in made if not path.endswith(".vidsum.json")) == written
    assert files_in(".") == ["out"]


def test_name_of_one_output_is_in_the_output_dir(run: Run, film: Path, known_film: None) -> None:
    run("shots", film, "-o", "a.json", "--output-dir", "out")
    assert Path("out/a.json").is_file()


def test_absolute_name_of_an_output_excludes_an_output_dir(run: Run, film: Path) -> None:
    for name in ("/{stem}.json", "/a.json", "/a.csv"):
        fault = f"{name.format(stem='film')}: --output is an absolute path, and excludes --output-dir\n"
        run("shots", film, "-o", name, "--output-dir", "out", code=2, error=fault)


def test_name_of_an_output_stays_in_the_output_dir(run: Run, film: Path) -> None:
    fault = "../film.json: --output is outside of the folder, and excludes --output-dir\n"
    run("shots", film, "-o", "../{stem}.json", "--output-dir", "out", code=2, error=fault)
    assert not Path("out").exists()


def test_subfolder_that_is_closed_fails_alone(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed, opened = (
        folder / "a",
        folder / "a.mp4",
    )  # outputs of a folder would have the names of those of a.mp4
    closed.mkdir()
    refuse_to_list(monkeypatch, closed)
    ran = run("shots", folder, "-r", "--json", code=1)
    found = {line["input"]: [error["message"] for error in line["errors"]] for line in ran.json_lines}
    assert (found[str(closed)], found[str(opened)]) == ([f"{closed}: permission denied"], [])
    assert len(found) == 4


def refuse_to_list(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Let the system deny access to a folder, which it does not for root."""
    listed, may = os.scandir, os.access

    def scandir(path: Any = ".") -> Any:
        if not isinstance(path, int) and os.fspath(path) == str(folder):
            raise PermissionError(errno.EACCES, "Permission denied", str(folder))
        return listed(path)

    monkeypatch.setattr(os, "scandir", scandir)
    monkeypatch.setattr(os, "access", lambda path, mode: os.fspath(path) != str(folder) and may(path, mode))


def test_table_of_an_interrupted_run_has_the_inputs_that_were_not_run(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(path: str, **_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("vidsum.pipelines.sources.probe", interrupted)
    assert run("shots", folder, "--table", "table.csv", code=130).err.splitlines()[-1] == "interrupted"
    assert [row["state"] for row in csv_rows("table.csv")] == ["not run", "not run"]


@pytest.mark.parametrize("command", ["extract", "shots", "summarize"])
def test_a_full_disk_ends_the_batch(run: Run, folder: Path, command: str) -> None:
    """Other inputs would be decoded in vain."""
    (folder / "bad.mp4").unlink()
    with small_disk(Path("disk"), 16) as disk:
        (disk / "filler").write_bytes(bytes(16 * 1024))
        words = (folder, "-r", *COMMANDS[command], "--output-dir", disk, "--table", "table.csv")
        ran = run(command, *words, code=1, error="No space left on device")
        assert files_in("disk") == ["filler"]
    assert ran.err.splitlines()[-1] == "2 inputs: 1 failed, 1 not run"
    assert [row["state"] for row in csv_rows("table.csv")] == ["failed", "not run"]


def test_json_names_the_input_at_which_the_disk_was_full(run: Run, folder: Path) -> None:
    with small_disk(Path("disk"), 16) as disk:
        (disk / "filler").write_bytes(bytes(16 * 1024))
        ran = run("shots", folder, "-r", "--output-dir", disk, "--json", code=1)
    (answer,) = map(json.loads, ran.out.splitlines())
    assert (answer["input"], answer["ok"]) == (str(folder / "a.mp4"), False)
    assert ran.err.splitlines()[-1] == "3 inputs: 1 failed, 2 not run"


def test_a_disk_that_may_only_be_read_ends_the_batch(run: Run, folder: Path) -> None:
    (folder / "bad.mp4").unlink()
    with small_disk(Path("disk"), 64) as disk:
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        words = (folder, "-r", "--output-dir", disk, "--table", "table.csv")
        run("shots", *words, code=1, error="the folder cannot be written to")
    assert [row["state"] for row in csv_rows("table.csv")] == ["failed", "not run"]


def test_a_full_disk_under_the_table_is_an_error(run: Run, folder: Path) -> None:
    with small_disk(Path("disk"), 16) as disk:
        (disk / "filler").write_bytes(bytes(16 * 1024))
        words = (folder, "--output-dir", "out", "--table", disk / "table.csv")
        run("shots", *words, code=1, error="cannot be written (No space left on device)")
        assert files_in("disk") == ["filler"]


def test_failed_inputs_are_counted_and_listed_with_exit_code_and_error(run: Run, folder: Path) -> None:
    *_, counts, head, row = run("shots", folder, "-r", "--output-dir", "out", code=1).out.splitlines()
    assert counts == "3 inputs: 2 done, 1 failed"
    assert head.split() == ["failed", "exit", "code", "error"]
    assert row.split()[:2] == [str(folder / "bad.mp4"), "3"]
    assert row.count("bad.mp4") == 1


def test_quiet_batch_prints_no_counts(run: Run, folder: Path) -> None:
    assert run("shots", folder, "-r", "--output-dir", "out", "-q", code=1).out == ""
    assert run("shots", folder, "-r", "--output-dir", "out", "-q", "--json", code=1).err == ""


def test_foreign_table_is_replaced_on_request_alone(run: Run, folder: Path) -> None:
    Path("table.csv").write_text("input,state,mine\n")
    ran = run("shots", folder / "a.mp4", "--table", "table.csv", code=1)
    assert (ran.out, Path("table.csv").read_text()) == ("", "input,state,mine\n")
    run("shots", folder / "a.mp4", "--table", "table.csv", "--overwrite")
    assert csv_rows("table.csv")[0]["state"] == "done"


def test_json_of_a_list_is_in_its_order_and_counts_are_on_stderr(run: Run, folder: Path, film: Path) -> None:
    Path("list").write_text(f"{folder}\n{film}\n")
    ran = run("shots", "--from-file", "list", "--json", "--output-dir", "out", code=1)
    assert [Path(line["input"]).name for line in ran.json_lines] == ["a.mp4", "bad.mp4", "film.mp4"]
    assert ran.err == "3 inputs: 2 done, 1 failed\n"


@pytest.mark.usefixtures("empty_cache")
def test_bars_on_a_terminal_leave_stdout_alone(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    ran = run("shots", folder, "-r", "--json", "--output-dir", "out", code=1)
    assert "1/3 a.mp4: extracting features" in ran.err
    assert [line["ok"] for line in ran.json_lines] == [True, False, True]  # stdout has nothing else


def test_slow_step_is_reported(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vidsum.io.progress.SLOW_S", 0.2)
    with Display() as display:
        report = display.reporter("3/200 film.mp4")
        assert report is not None
        report("reading", 1, 10)
        time.sleep(0.5)
        for what in ("reading", "writing"):
            report(what, 2, 10)
        display.end("3/200 film.mp4")
    assert capsys.readouterr().err == "3/200 film.mp4: reading\n"
    assert Display(quiet=True).reporter("a") is None


def test_many_quick_steps_are_reported_now_and_then(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vidsum.io.progress.SLOW_S", 0.2)
    with Display() as display:
        report = display.reporter("")
        assert report is not None
        for number in range(80):
            report(f"reading {number}.mp4", 1, 10)
            time.sleep(0.02)
    lines = capsys.readouterr().err.splitlines()
    assert 1 <= len(lines) <= 3
    assert all(line.startswith("reading ") for line in lines)


@pytest.mark.parametrize("command", ["extract", "shots", "summarize", "highlights"])
def test_documents_of_several_inputs_on_stdout_are_json_lines(run: Run, folder: Path, command: str) -> None:
    ran = run(command, folder, "-r", *COMMANDS[command], "-o", "-", code=1, error="bad.mp4")
    assert len(ran.json_lines) == 2
    alone = run(command, folder / "a.mp4", *COMMANDS[command], "-o", "-")
    assert (alone.out.count("\n") > 3, alone.json) == (True, ran.json_lines[0])
    inputs = (folder / "bad.mp4", folder / "a.mp4")
    failing_first = run(command, *inputs, *COMMANDS[command], "-o", "-", code=1)
    assert (failing_first.json_lines, "1 done, 1 failed" in failing_first.err) == ([alone.json], True)
    results = run(command, folder, "-r", *COMMANDS[command], "-o", "-", "--json", code=1)
    assert [line["ok"] for line in results.json_lines] == [True, False, True]


FACTS = {
    "extract": {"length_s": 10, "features": 20, "numbers": 1280, "extractor": "efficientnet_lite0"},
    "shots": {"length_s": 10, "method": "kts"},
    "summarize": {"length_s": 10, "kept_s": 5.0, "segments": 2, "model": "uniform"},
    "highlights": {"length_s": 10},
    "info": {"length_s": 10, "fps": 25, "codec": "h264", "sound": "aac"},
}


@pytest.mark.parametrize("command", COMMANDS)
def test_table_has_the_facts_of_each_input_and_its_error(run: Run, folder: Path, command: str) -> None:
    settings = (command, folder, "-r", *COMMANDS[command], "--table", "table.csv")
    run(*settings, code=1)
    rows = csv_rows("table.csv")
    assert [row["input"] for row in rows] == [str(folder / name) for name in ("a.mp4", "bad.mp4", "below/b")]
    assert [row["state"] for row in rows] == ["done", "failed", "done"]
    assert [row["exit_code"] for row in rows] == ["0", "3", "0"]
    assert (rows[0]["error"], rows[1]["error"] != "", "bad.mp4" in rows[1]["error"]) == ("", True, False)
    assert Path(rows[0]["output"]).is_file() or command == "info"
    for name, value in FACTS[command].items():
        assert rows[0][name] == rows[2][name] == str(value) or float(rows[0][name]) == value
        assert rows[1][name] == ""
    if command != "info":
        run(*settings, code=1)  # the table of the last run is replaced
        assert [row["state"] for row in csv_rows("table.csv")] == ["up to date", "failed", "up to date"]
        assert csv_rows("table.csv")[0]["length_s"] == rows[0]["length_s"]
        run(*settings, "--skip-existing", code=1)
        rows = [(row["state"], row["length_s"]) for row in csv_rows("table.csv")]
        assert rows == [("skipped", ""), ("failed", ""), ("skipped", "")]


def test_table_quotes_names_and_has_warnings(run: Run, film: Path, known_film: None) -> None:
    (odd,) = copies(film, 'a, "b"\nc.mp4')
    run("summarize", odd, film, "--model", "uniform", "--copy", "--table", "table.csv")
    rows = csv_rows("table.csv")
    assert rows[0]["input"] == str(odd)
    assert rows[1]["warnings"].startswith("copied segments")


def test_a_file_url_is_the_file(run: Run, film: Path) -> None:
    odd = film.rename(film.with_name("a b#\xe9 50%.mp4"))
    url = odd.as_uri()
    Path("list.txt").write_text(f"# films\n{url}\n", encoding="utf-16")
    for words in ([url], [url.replace("file://", "file://localhost")], ["--from-file", "list.txt"]):
        run("shots", *words)
    assert [path.name for path in Path().glob("*.json")] == [f"{odd.stem}_shots.json"]
    assert source_path(url) == str(odd)
    run("shots", "file://elsewhere/a.mp4", odd, code=1, error="is a URL")
