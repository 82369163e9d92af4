"""A new option is one line, a field: flag, variable, key in a file, range, help and keyword follow."""

import inspect
from dataclasses import make_dataclass
from pathlib import Path
from typing import Any

import pytest
import typer

import vidsum
from vidsum.commands.config import share_variables
from vidsum.commands.options import View, command
from vidsum.commands.parsers import App
from vidsum.errors import UsageError
from vidsum.lab.training.settings import DETRSettings, LoopSettings, MRNetSettings
from vidsum.lab.training.summary_settings import FullTransNetSettings, RidgeSettings, VSESettings
from vidsum.options import from_keywords, leaves, option
from vidsum.settings import Encoding, Extraction, Retrieval, Selection, ShotSettings, Transcription

USED = [Encoding, Extraction, Retrieval, Selection, ShotSettings, Transcription]
TRAINED = [LoopSettings, MRNetSettings, DETRSettings, FullTransNetSettings, RidgeSettings, VSESettings]


def with_option(kind: type[Any]) -> type[Any]:
    new = ("new_number", int, option("A new number.", 3, min=2))
    return make_dataclass(kind.__name__, [new], bases=(kind,), frozen=True)


@pytest.mark.parametrize("kind", [*USED, *TRAINED])
def test_a_new_option_is_one_line(
    kind: type[Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    numbers: list[int] = []

    def made(settings: Any, view: View) -> None:
        numbers.append(settings.new_number)

    made.__annotations__["settings"] = own = with_option(kind)
    app = App(
        callback=lambda: None,
        context_settings={"auto_envvar_prefix": "VIDSUM", "obj": lambda: typer.main.get_command(app)},
    )
    app.command("made")(command(made))
    share_variables(app)

    def run(*words: str) -> None:
        app(["made", *words], standalone_mode=False)

    run()
    run("--new-number", "4")
    Path("options.yaml").write_text("made:\n  new-number: 5\n")
    run("--config", "options.yaml")
    Path("options.yaml").write_text("new_number: 6\n")
    run("--config", "options.yaml")
    for number, variable in enumerate(("VIDSUM_NEW_NUMBER", "VIDSUM_MADE_NEW_NUMBER"), 7):
        with monkeypatch.context() as patch:
            patch.setenv(variable, str(number))
            run()
    assert numbers == [3, 4, 5, 6, 7, 8]
    with pytest.raises(Exception, match="x>=2"):
        run("--new-number", "1")
    capsys.readouterr()
    run("--help")
    assert {"--new-number", "new"} <= set(capsys.readouterr().out.split())
    assert from_keywords(run, own, {"new_number": 9}).new_number == 9
    with pytest.raises(UsageError, match="new_number must be at least 2"):
        own(new_number=1)


@pytest.mark.parametrize(
    ("function", "kinds"),
    [
        (vidsum.summarize, [Selection, ShotSettings]),
        (vidsum.find_shots, [ShotSettings]),
        (vidsum.ground, [Retrieval]),
        (vidsum.Grounder, [Retrieval]),
        (vidsum.transcribe, [Transcription]),
        (vidsum.Transcriber, [Transcription]),
    ],
)
def test_python_has_the_options_of_the_command_line(function: Any, kinds: list[type[Any]]) -> None:
    fields = {leaf.name: leaf.default for kind in kinds for leaf in leaves(kind)}
    keywords = inspect.signature(function).parameters
    assert fields == {name: keywords[name].default for name in fields}
