"""The wording of errors: the name that was meant, and no secret of a URL."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import vidsum
from docs.options import commands
from vidsum.commands.options import settings_of
from vidsum.errors import (
    InputError,
    Mention,
    UsageError,
    did_you_mean,
    fill,
    find_nearest,
    mentions,
    redact,
    unknown_name_error,
)
from vidsum.summary.settings import SUMMARIZERS


@pytest.mark.parametrize(
    ("typed", "known", "near"),
    [
        ("--buget", ["--quiet", "--budget"], ["--budget"]),
        ("rigde", SUMMARIZERS, ["ridge"]),
        ("Ridge", SUMMARIZERS, ["ridge"]),
        ("--bud", ["--quiet", "--budget"], ["--budget"]),
        ("--out", ["--output", "--output-dir", "--crf"], ["--output", "--output-dir"]),
        ("dir", ["--output-dir", "--drop"], ["--output-dir"]),
        ("efficientnet", ["i3d", "efficientnet_lite0"], ["efficientnet_lite0"]),
        ("--q", ["--quiet"], []),
        ("x" * 10_000, ["x"], []),
        ("cat", [], []),
        ("", ["a"], []),
        ("vertical", ["--verbose"], []),
    ],
)
def test_the_nearest_names(typed: str, known: list[str], near: list[str]) -> None:
    assert find_nearest(typed, known) == near


def test_find_nearest_option() -> None:
    for words, command in commands():
        flags = [flag for item in command.params for flag in item.opts if flag.startswith("--")]
        for flag in (flag for flag in flags if len(flag) > 6):
            typed = [flag[:place] + flag[place + 1 :] for place in range(2, len(flag))]
            missed = [item for item in typed if item not in flags and flag not in find_nearest(item, flags)]
            assert missed == [], words


def test_unknown_name_error() -> None:
    error = unknown_name_error("model", "rigde", ["ridge", "random"], ", or a file")
    assert error.message == "unknown model 'rigde'; did you mean 'ridge'?"
    assert error.hint == "choose from ridge, random, or a file"
    assert did_you_mean("--no", ["--json"], quoted=False) == ""


@pytest.mark.parametrize(
    "text",
    [
        "http://me:SECRET@host/a.mp4",
        "rtsp://SECRET@host/x: cannot connect",
        "see http://host/a.mp4?token=SECRET.",
        "http://host/a.mp4#SECRET",
        "...https://me:SECRET@host/a.mp4",
        "1https://me:SECRET@host/a.mp4",
        "tried (https://me:SECRET@host), then http://host/?k=SECRET",
    ],
)
def test_redact_secrets(text: str) -> None:
    assert "SECRET" not in redact(text)
    assert "host" in redact(text)


@pytest.mark.parametrize(
    "text", ["", "a.mp4: no such file", "C:/films/a.mp4", "file:///a/b?c", "https://host/a.mp4"]
)
def test_redact_plain_text(text: str) -> None:
    assert redact(text) == text


LIBRARY = [
    path
    for path in Path(vidsum.__file__).parent.rglob("*.py")
    if "commands" not in path.relative_to(Path(vidsum.__file__).parent).parts
]


def calls(path: Path) -> Iterator[ast.Call]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def test_every_option_in_a_message_is_an_option() -> None:
    known = {leaf.name for _, command in commands() for leaf in settings_of(command)}
    named = {
        call.args[0].value
        for path in LIBRARY
        for call in calls(path)
        if isinstance(call.func, ast.Name) and call.func.id == "Mention"
        if isinstance(call.args[0], ast.Constant)
    }
    assert len(named) > 50
    assert named <= known


def test_an_option_in_a_message_is_a_keyword_in_python() -> None:
    error = UsageError(
        fill("{} and {} overlap", Mention("keep"), Mention("drop")), (Mention("budget", "20s"), ", or wait")
    )
    assert str(error) == error.message == "keep and drop overlap"
    assert error.hint == "budget='20s', or wait"
    assert mentions(error.text) == [Mention("keep"), Mention("drop")]


@given(st.text())
def test_words_in_a_message_are_taken_as_they_are(words: str) -> None:
    error = InputError(fill("{}: {} is wrong", words, Mention("keep")))
    assert error.message == redact(f"{words}: keep is wrong")
    error.name_options(lambda mention: f"--{mention.name}", " (from a.yaml:3)")
    assert error.message == redact(f"{words}: --keep is wrong") + " (from a.yaml:3)"
