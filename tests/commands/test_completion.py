"""Words that a shell completes; where none fits, it offers files."""

import pytest

from tests.commands.conftest import Run
from vidsum.grounding import registry
from vidsum.grounding.settings import Retrieval
from vidsum.options import leaves
from vidsum.summary.score import MODELS
from vidsum.summary.settings import SUMMARIZERS


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("summarize a.mp4 --model ri", {"ridge"}),
        ("ground a.mp4 -m mr", {"mrnet"}),
        ("extract a.mp4 --extractor i3", {"i3d", "i3d_128"}),
        ("summarize a.mp4 --shots k", {"kts"}),
        ("summarize a.mp4 --stor", {"--storyboard"}),
        ("help tr", {"train", "transcribe"}),
        ("help train m", {"mrnet"}),
        ("help nonsense ", set()),
        ("weights pull mi", {"minilm"}),
        ("weights path mi", {"minilm"}),
        ("train mrn", {"mrnet"}),
        ("summ", {"summarize"}),
        ("summarize fi", set()),
        ("ground a.mp4 --queries fi", set()),
    ],
)
def test_completion(run: Run, monkeypatch: pytest.MonkeyPatch, line: str, names: set[str]) -> None:
    monkeypatch.setenv("_VIDSUM_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", f"vidsum {line}")
    monkeypatch.setenv("COMP_CWORD", str(len(line.split(" "))))
    assert set(run().out.split()) == names


def test_completed_models_exist() -> None:
    assert set(SUMMARIZERS) == set(MODELS)
    models = next(leaf.option.names for leaf in leaves(Retrieval) if leaf.name == "model")
    assert set(models) <= set(registry.MODELS)
