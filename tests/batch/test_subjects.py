"""The subject of an error or a warning: printed once, in `--table` not at all."""

import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vidsum.batch.reply import Reply, reply_of
from vidsum.batch.settings import CommonOptions
from vidsum.batch.states import row_of
from vidsum.commands.config import OptionNames
from vidsum.commands.result import render
from vidsum.errors import InputError, Mention, OutputError, Problem, UsageError, VidsumError

NAMES = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=8)


def failed_by(error: Exception, name: str) -> Reply:
    """Return the answer about an input that ended with an error."""

    def step() -> Reply:
        raise error

    return reply_of("shots", name, CommonOptions(explain=OptionNames("shots").explain), step)


def printed(answer: Reply, n_inputs: int, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Return the lines on stderr about an answer."""
    render(answer, CommonOptions(), n_inputs=n_inputs)
    return capsys.readouterr().err.splitlines()


@given(NAMES, NAMES)
def test_a_message_is_its_subject_and_its_text(subject: str, text: str) -> None:
    error = InputError(text, subject=Path(subject))
    assert (error.message, str(error)) == (f"{Path(subject)}: {text}", error.message)
    assert InputError(text).message == text


@given(NAMES, NAMES)
def test_an_error_survives_the_way_from_a_worker(subject: str, text: str) -> None:
    error = UsageError((text, Mention("budget")), Mention("budget", "20s"), "budget", subject)
    copied = pickle.loads(pickle.dumps(error))
    assert Problem.of(copied) == Problem.of(error)
    assert (copied.text, copied.hint_text, copied.option) == (error.text, error.hint_text, error.option)


def test_an_error_quotes_another_with_its_options() -> None:
    inner = UsageError(("needs ", Mention("clips")), subject="film.mp4")
    error = UsageError(("not made: ", *inner.parts), subject="film.otio")
    error.name_options(lambda mention: f"--{mention.name}")
    assert error.message == "film.otio: not made: film.mp4: needs --clips"


@pytest.mark.parametrize(
    ("subject", "line"),
    [
        ("a.mp4", "error: a.mp4: has no sound"),
        ("b.srt", "error: a.mp4: b.srt: has no sound"),
        ("", "error: a.mp4: has no sound"),
    ],
)
def test_an_error_in_a_batch_names_the_input_once(
    subject: str, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = failed_by(InputError("has no sound", subject=subject), "a.mp4")
    assert printed(answer, 2, capsys)[0] == line


def test_an_error_about_one_input_is_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    answer = failed_by(UsageError(("needs ", Mention("clips"))), "a.mp4")
    assert printed(answer, 1, capsys) == ["error: needs --clips", "  try: vidsum shots --help"]


def test_a_text_that_begins_like_the_input_is_no_subject(capsys: pytest.CaptureFixture[str]) -> None:
    answer = failed_by(InputError("a.mp4: line 3: no cue"), "a.mp4")
    assert printed(answer, 2, capsys)[0] == "error: a.mp4: a.mp4: line 3: no cue"
    assert row_of("a.mp4", answer)["error"] == "a.mp4: line 3: no cue"


@pytest.mark.parametrize(("subject", "cell"), [("a.mp4", "is damaged"), ("b.srt", "b.srt: is damaged")])
def test_the_table_names_what_is_not_the_input(subject: str, cell: str) -> None:
    answer = failed_by(InputError("is damaged", subject=subject), "a.mp4")
    assert row_of("a.mp4", answer)["error"] == cell


@pytest.mark.parametrize(
    ("n_inputs", "line"),
    [(0, "warning: is HDR"), (1, "warning: a.mp4: is HDR"), (2, "warning: a.mp4: is HDR")],
)
def test_a_warning_names_the_input(n_inputs: int, line: str, capsys: pytest.CaptureFixture[str]) -> None:
    answer = Reply("shots", "a.mp4", messages=("is HDR",))
    assert printed(answer, n_inputs, capsys) == [line]
    assert row_of("a.mp4", answer)["warnings"] == "is HDR"


@pytest.mark.parametrize(
    ("error", "hint"),
    [
        (InputError("is damaged"), "another file, or a whole copy of this one"),
        (OutputError("cannot be written"), "--output FILE, or --output-dir FOLDER"),
        (UsageError("makes no sense"), "vidsum shots --help"),
        (VidsumError("stopped"), None),
        (InputError("is damaged", "give another"), "give another"),
        (KeyError("x"), "--verbose shows the traceback"),
    ],
)
def test_an_error_without_a_hint_gets_a_remedy(error: Exception, hint: str | None) -> None:
    (problem,) = failed_by(error, "a.mp4").errors
    assert problem.hint == hint


def test_an_address_shows_no_secret_as_subject(capsys: pytest.CaptureFixture[str]) -> None:
    url = "https://user:password@example.org/a.mp4?token=secret"
    lines = printed(failed_by(InputError("is no video", subject=url), url), 2, capsys)
    assert lines[0].startswith("error: https://example.org/a.mp4 (")
    assert lines[0].count("example.org") == 1
