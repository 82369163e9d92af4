"""The wording of errors: the name that was meant, and no secret of a URL."""

import pytest

from docs.options import commands
from vidsum.errors import did_you_mean, find_nearest, redact, unknown_name_error
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
