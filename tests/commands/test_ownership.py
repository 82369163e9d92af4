"""Files that a batch writes once, and files that the user names: the rule of ownership is the same."""

from pathlib import Path

import pytest

from tests.commands.conftest import csv_rows, files_here
from tests.program import Run
from vidsum.outputs.output_records import record_of

pytestmark = pytest.mark.usefixtures("known_film")


def test_a_table_that_was_edited_is_refused_before_any_work(run: Run, film: Path) -> None:
    ask = ("shots", film, "--table", "table.csv")
    run(*ask)
    assert record_of(Path("table.csv")).exists()
    run(*ask)
    assert csv_rows("table.csv")[0]["state"] == "up to date"
    with Path("table.csv").open("a") as file:
        file.write("mine\n")
    before = Path("table.csv").read_bytes()
    Path("film_shots.json").unlink()
    run(*ask, code=1, error=("table.csv", "--overwrite"))
    assert (Path("table.csv").read_bytes(), Path("film_shots.json").exists()) == (before, False)
    run(*ask, "--overwrite")
    assert csv_rows("table.csv")[0]["state"] == "done"


def test_a_table_of_others_with_the_same_columns_is_refused(run: Run, film: Path) -> None:
    mine = "input,state,exit_code,mine\n"
    Path("table.csv").write_text(mine)
    run("shots", film, "--table", "table.csv", code=1, error="table.csv")
    assert (Path("table.csv").read_text(), files_here()) == (mine, ["table.csv"])


@pytest.mark.parametrize("command", [("shots",), ("highlights", "-k", "1")])
def test_a_foreign_table_of_moments_is_refused_before_any_work(
    run: Run, film: Path, loads: list[str], command: tuple[str, ...]
) -> None:
    Path("all.csv").write_text("mine")
    run(command[0], film, *command[1:], "-o", "all.csv", code=1, error=("all.csv", "--overwrite"))
    assert (Path("all.csv").read_text(), loads) == ("mine", [])
    run(command[0], film, *command[1:], "-o", "all.csv", "--overwrite")
    assert Path("all.csv").read_text() != "mine"
