"""The line that names the command for a better space."""

import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.archive.made import film, use_archive
from tests.program import Run
from vidsum.batch.settings import CommonOptions
from vidsum.commands.suggestions import suggest_space
from vidsum.pipelines.ground import MomentSearch


@pytest.fixture(autouse=True)
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal, where no space of the CLIP family is installed."""
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setattr("vidsum.checkpoints.find", lambda name: None)


def suggests(matches: Sequence[float | None], space: str = "vse", **settings: bool) -> bool:
    return bool(suggest_space(space, matches, CommonOptions(**settings)))  # type: ignore[arg-type]


def test_a_weak_answer_suggests_it_once() -> None:
    assert [suggests([0.9, 0.6]), suggests([0.6])] == [True, False]


@pytest.mark.parametrize("matches", [[], [0.7], [0.9, None]])
def test_likely_answers_and_unknown_ones_suggest_nothing(matches: list[float | None]) -> None:
    assert not suggests(matches)
    assert suggests([0.6]), "the day is not used up"


@pytest.mark.parametrize("settings", [{"quiet": True}, {"json": True}])
def test_output_for_programs_suggests_nothing(settings: dict[str, bool]) -> None:
    assert not suggests([0.1], **settings)


def test_another_space_suggests_nothing() -> None:
    assert not suggests([0.1], "clip")


def test_pipes_suggest_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: False, raising=False)
    assert not suggests([0.1])


def test_an_installed_space_suggests_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vidsum.checkpoints.find", lambda name: Path(name) if name == "clip" else None)
    assert not suggests([0.1])


@pytest.fixture
def films(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A film and an archive of it, where queries are colours; `ground` gives them a probability, too."""
    use_archive(monkeypatch)
    monkeypatch.setattr(MomentSearch, "_judged", _JUDGED)
    monkeypatch.chdir(tmp_path)
    film(tmp_path / "film.mp4", ("red", "green"))
    run("index", "film.mp4", "--archive", "a.vidsum")


_JUDGED = MomentSearch._judged
COMMAND = "vidsum weights pull best"
ASKED = {
    "ground": ("ground", "film.mp4", "--query", "white", "--device", "cpu", "--overwrite"),
    "search": ("search", "white", "--archive", "a.vidsum"),
}


@pytest.mark.parametrize("words", ASKED.values(), ids=ASKED)
def test_a_weak_answer_on_a_terminal_names_the_command_once_a_day(
    films: None, run: Run, words: Sequence[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert [COMMAND in run(*words).out for _ in range(2)] == [True, False]


@pytest.mark.parametrize("words", ASKED.values(), ids=ASKED)
def test_a_weak_answer_in_a_pipe_names_no_command(
    films: None, run: Run, words: Sequence[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: False)
    assert COMMAND not in run(*words).out
