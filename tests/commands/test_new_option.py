"""A new option is one line, a field: flag, variable, key in a file, range, help and keyword follow."""

import inspect
import re
from collections.abc import Callable
from dataclasses import make_dataclass
from pathlib import Path
from typing import Any, get_type_hints

import pytest
import typer

import docs.keywords
import docs.options
import vidsum
from tests.grounding.colours import use_colours
from vidsum.commands.batch import Printing
from vidsum.commands.options import command
from vidsum.errors import UsageError
from vidsum.features.settings import Extraction
from vidsum.grounding.settings import HighlightSettings, Retrieval
from vidsum.lab.training.settings import DETRSettings, LoopSettings, MRNetSettings
from vidsum.lab.training.summary_settings import FullTransNetSettings, RidgeSettings
from vidsum.options import from_keywords, leaves, option
from vidsum.pipelines import keywords
from vidsum.pipelines.cut_shots import plan_shots
from vidsum.pipelines.ground import plan_moments
from vidsum.pipelines.highlights import plan_highlights
from vidsum.pipelines.plan import open_input
from vidsum.pipelines.queries import parse_queries
from vidsum.pipelines.summarize import plan_summary
from vidsum.pipelines.transcribe import plan_transcript
from vidsum.shots.settings import ShotSettings
from vidsum.speech.settings import Transcription
from vidsum.summary.settings import Selection
from vidsum.video.settings import Encoding

USED = [Encoding, Extraction, HighlightSettings, Retrieval, Selection, ShotSettings, Transcription]
TRAINED = [LoopSettings, MRNetSettings, DETRSettings, FullTransNetSettings, RidgeSettings]


def with_option(kind: type[Any]) -> type[Any]:
    new = ("new_number", int, option("A new number.", 3, min=2))
    return make_dataclass(kind.__name__, [new], bases=(kind,), frozen=True, kw_only=True)


@pytest.mark.parametrize("kind", [*USED, *TRAINED])
def test_a_new_option_is_one_line(
    kind: type[Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    numbers: list[int] = []

    def made(settings: Any, common: Printing) -> None:
        numbers.append(settings.new_number)

    made.__annotations__["settings"] = extended = with_option(kind)
    app = typer.Typer()
    app.callback()(lambda: None)
    command(app)(made)

    def run(*words: str) -> None:
        typer.main.get_command(app).main(["made", *words], prog_name="vidsum", standalone_mode=False)

    run()
    run("--new-number", "4")
    Path("options.yaml").write_text("made:\n  new-number: 5\n")
    run("--config", "options.yaml")
    with monkeypatch.context() as patch:
        patch.setenv("VIDSUM_NEW_NUMBER", "6")  # of no command
        run()
        patch.setenv("VIDSUM_MADE_NEW_NUMBER", "7")
        run()
    assert numbers == [3, 4, 5, 3, 7]
    with pytest.raises(UsageError, match="must be at least 2, not 1"):
        run("--new-number", "1")
    capsys.readouterr()
    monkeypatch.setenv("COLUMNS", "200")
    run("--help-all")
    assert "--new-number N A new number. [>= 2; default: 3]" in " ".join(capsys.readouterr().out.split())
    leaf = next(leaf for leaf in leaves(extended) if leaf.name == "new_number")
    assert docs.options._row(leaf) == "| `--new-number` | N >= 2 | 3 | A new number. |"
    assert from_keywords(run, extended, {"new_number": 9}).new_number == 9
    with pytest.raises(UsageError, match="new_number must be at least 2"):
        extended(new_number=1)


@pytest.mark.parametrize(("function", "kinds"), [
    (vidsum.extract, [Extraction]),
    (vidsum.find_shots, [Extraction, ShotSettings]),
    (vidsum.summarize, [Extraction, ShotSettings, Selection]),
    (vidsum.ground, [Retrieval]),
    (vidsum.find_highlights, [Extraction, HighlightSettings]),
    (vidsum.transcribe, [Transcription]),
])  # fmt: skip
def test_keywords_of_functions(function: Any, kinds: list[type[Any]]) -> None:
    parameters = inspect.signature(function).parameters
    typed = re.search(r"Unpack\[(\w+)\]", str(parameters["options"]))
    assert typed
    names = {leaf.name for kind in kinds for leaf in leaves(kind)}
    assert names <= {*parameters, *get_type_hints(getattr(keywords, typed[1]))}


def test_new_option_keyword(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("docs.keywords.Selection", kind := with_option(Selection))
    changed = {
        name: (base, kind if of is Selection else of, names)
        for name, (base, of, names) in docs.keywords._TYPES.items()
    }
    monkeypatch.setattr("docs.keywords._TYPES", changed)
    assert "    new_number: int\n" in docs.keywords.types()


PLANS: dict[type[Any], Callable[[Any, Path], Any]] = {
    Selection: lambda values, film: plan_summary(open_input(film, Extraction()), values, ShotSettings()),
    ShotSettings: lambda values, film: plan_shots(film, values, Extraction()),
    Extraction: lambda values, film: plan_shots(film, ShotSettings(), values),
    Retrieval: lambda values, film: plan_moments(film, parse_queries("red"), values, Extraction()),
    HighlightSettings: lambda values, film: plan_highlights(film, values, Extraction()),
    Transcription: lambda values, film: plan_transcript(film, values, Extraction()),
}


@pytest.mark.parametrize("kind", PLANS)
def test_new_option_in_provenance(kind: type[Any], film: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_colours(monkeypatch)
    monkeypatch.setattr("vidsum.checkpoints.sha256_of", lambda name: name)
    plan, values = PLANS[kind], with_option(kind)
    before = plan(kind(), film).provenance
    assert plan(values(), film).provenance == before
    assert plan(values(new_number=4), film).provenance != before
