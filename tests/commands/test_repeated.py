"""Options that are given twice: nothing is dropped in silence."""

from pathlib import Path

import pytest
import typer

from tests.program import Run
from vidsum.commands.app import COMMANDS, find_command
from vidsum.commands.options import leaves_of
from vidsum.options import item_of, required


def leaf_commands() -> list[tuple[str, ...]]:
    """The words of all commands."""
    words = list[tuple[str, ...]]()
    for name in COMMANDS:
        command = find_command([name])
        if hasattr(command, "list_commands"):
            words += [(name, inner) for inner in command.list_commands(typer.Context(command))]
        else:
            words.append((name,))
    return words


@pytest.mark.parametrize("words", leaf_commands(), ids=" ".join)
def test_an_option_with_one_value_refuses_two(run: Run, words: tuple[str, ...]) -> None:
    command = find_command(words)
    inputs = ["x" for item in command.params if item.param_type_name == "argument" and item.required]
    single = [
        leaf for leaf in leaves_of(command) if not item_of(leaf.kind) and required(leaf.kind) is not bool
    ]
    for leaf in single:
        again = (leaf.flags[0], "1", leaf.flags[-1], "2")
        ran = run(*words, *inputs, *again, code=2, error="is given 2 times: '1', '2'")
        assert "try: " in ran.err


def test_the_same_value_twice_is_no_fault(run: Run, film: Path) -> None:
    run("shots", film, "--shots", "uniform", "--device", "cpu", "--device", "cpu", "-o", "a.json")
    run("shots", film, "-o", "a.json", "--output", "b.json", code=2, error="--output is given 2 times")


def test_an_option_that_takes_several_keeps_all(run: Run, film: Path) -> None:
    run("shots", film, "--shots", "uniform", "-o", "a.json", "--export", "csv", "--export", "srt")
    assert Path("a.csv").exists()
    assert Path("a.srt").exists()
