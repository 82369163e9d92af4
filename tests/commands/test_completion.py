"""What a shell offers for the word that is being typed."""

import pytest
from click.shell_completion import BashComplete

from vidsum.commands.app import whole
from vidsum.grounding import find
from vidsum.grounding.settings import Retrieval
from vidsum.options import leaves
from vidsum.summary.score import MODELS
from vidsum.summary.settings import SUMMARIZERS


def offered(line: str) -> list[tuple[str, str]]:
    """The words, and what kind each is, for the last one of a line."""
    *before, last = line.split(" ")
    complete = BashComplete(whole(), {}, "vidsum", "_VIDSUM_COMPLETE")
    return [(item.value, item.type) for item in complete.get_completions(before, last)]


@pytest.mark.parametrize(
    "line",
    [
        *(
            "summarize fi",
            "summarize a.mp4 fi",
            "summarize a.mp4 -o fi",
            "export fi",
            "ground fi",
            "index fi",
        ),
        *("search --like fi", "search --archive fi", "ground a.mp4 --queries fi", "ground a.mp4 --clips fi"),
        *("summarize --from-file fi", "summarize a.mp4 --model fi", "evaluate moments fi", "weights add fi"),
        "index fi",
    ],
)
def test_file_names_are_completed(line: str) -> None:
    assert offered(line) == [("fi", "file")]


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("summarize a.mp4 --model ri", {"ridge"}),
        ("ground a.mp4 -m mr", {"mrnet"}),
        ("extract a.mp4 --extractor i3", {"i3d", "i3d_128"}),
        ("summarize a.mp4 --shots k", {"kts"}),
        ("help tr", {"train", "transcribe"}),
        ("help train m", {"mrnet"}),
        ("help info ", set()),
        ("help nonsense ", set()),
        ("weights pull mi", {"minilm"}),
        ("weights path mi", {"minilm"}),
        ("summ", {"summarize"}),
    ],
)
def test_names_are_completed(line: str, names: set[str]) -> None:
    assert {value for value, kind in offered(line) if kind == "plain"} == names


def test_the_models_that_are_offered_are_known() -> None:
    assert set(SUMMARIZERS) == set(MODELS)
    offered_models = next(leaf.option.names for leaf in leaves(Retrieval) if leaf.name == "model")
    assert set(offered_models) <= set(find.MODELS)
