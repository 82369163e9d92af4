"""Options that are given twice: nothing is dropped in silence."""

from pathlib import Path

import pytest
import typer
from vidsum.commands.repeated import is_single

from tests.program import Run
from vidsum.commands.app import COMMANDS, find_command


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
    parameters = find_command(words).params
    inputs = [
        "x" for parameter in parameters if parameter.param_type_name == "argument" and parameter.required
    ]
    for parameter in filter(is_single, parameters):
        again = (parameter.opts[0], "1", parameter.opts[-1], "2")
        ran = run(*words, *inputs, *again, code=2, error="is given 2 times: '1', '2'")
        assert "try: " in ran.err


def test_the_same_value_twice_is_no_fault(run: Run, film: Path) -> None:
    run("shots", film, "--shots", "uniform", "--device", "cpu", "--device", "cpu", "-o", "a.json")
    run("shots", film, "-o", "a.json", "--output", "b.json", code=2, error="--output is given 2 times")


def test_an_option_that_takes_several_keeps_all(run: Run, film: Path) -> None:
    run("shots", film, "--shots", "uniform", "-o", "a.json", "--export", "csv", "--export", "srt")
    assert Path("a.csv").exists()
    assert Path("a.srt").exists()
