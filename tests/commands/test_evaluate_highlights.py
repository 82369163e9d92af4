"""`vidsum evaluate highlights`."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.lab.datasets.moment_layouts import highlight, with_saliency, write_lines
from tests.program import Run, check_schema, read_valid
from tests.untrained import save_untrained
from vidsum.lab.training.state import BEST


@pytest.fixture
def data() -> Path:
    """Two queries, one of them about two short windows."""
    first = with_saliency(highlight(7, "x", "A girl", (0, 4), (8, 10)), {0: (4, 2), 1: (1, 3), 4: (4, 4)})
    second = with_saliency(highlight(8, "y", "A dog", (0, 150)), dict.fromkeys(range(75), (3, 4)))
    return write_lines(Path("val.jsonl"), first, second)


def answered(qid: int, vid: str, query: str, **parts: Any) -> dict[str, Any]:
    return {"qid": qid, "query": query, "vid": vid, **parts}


@pytest.fixture
def mine() -> Path:
    """The first query's answer is half right, the second's wholly."""
    scores = [1.0] + 74 * [0.0]
    return write_lines(
        Path("mine.jsonl"),
        answered(
            7, "x", "A girl", pred_relevant_windows=[[0, 4, 0.9], [20, 30, 0.1]], pred_saliency_scores=scores
        ),
        answered(8, "y", "A dog", pred_relevant_windows=[[0, 150, 0.9]], pred_saliency_scores=scores),
    )


def test_evaluate_highlights_table(run: Run, data: Path, mine: Path) -> None:
    ran = run("evaluate", "highlights", mine, data, "--seeds", 2)
    title, head, *lines, about = ran.out.splitlines()
    assert title == "val.jsonl: 2 queries of 2 videos, per cent"
    assert head.split() == ["measure", "mine", "random", "whole", "video"]
    displayed = {line.rsplit(maxsplit=3)[0]: line.rsplit(maxsplit=3)[1] for line in lines}
    assert displayed == {
        "R1 .3": "100.00", "R1 .5": "100.00", "R1 .7": "100.00", "mIoU": "100.00",
        "mAP .5": "75.00", "mAP .75": "75.00", "mAP": "75.00",
        "mAP short": "50.00", "mAP long": "100.00",
        "HL mAP Fair": "75.83", "HL HIT@1 Fair": "100.00",
        "HL mAP Good": "63.50", "HL HIT@1 Good": "100.00",
        "HL mAP VeryGood": "38.17", "HL HIT@1 VeryGood": "100.00",
    }  # fmt: skip
    annotators = [1 / 2 + 1 / 75, 1 / 2 + 3 / 150, 1, 1]  # of the first query: its best clip, then all others
    assert displayed["HL mAP Fair"] == f"{100 * sum(annotators) / 4:.2f}"
    assert "2 draws" in about


@pytest.mark.parametrize(("part", "left", "warned"), [
    ("pred_saliency_scores", "moments", "no pred_saliency_scores: only moments"),
    ("pred_relevant_windows", "highlights", "no pred_relevant_windows: only saliency"),
])  # fmt: skip
def test_partial_submission(run: Run, data: Path, mine: Path, part: str, left: str, warned: str) -> None:
    lines = [json.loads(line) for line in mine.read_text().splitlines()]
    write_lines(mine, *({key: value for key, value in line.items() if key != part} for line in lines))
    ran = run("evaluate", "highlights", mine, data, "-o", "-")
    check_schema(ran.json, "highlight_evaluation")
    assert warned in ran.err
    for row in ran.json["rows"]:
        assert [key for key in ("moments", "highlights") if row[key] is not None] == [left]
    run("evaluate", "highlights", mine, data)


@pytest.fixture
def features(data: Path) -> Path:
    folder = Path("clip")
    folder.mkdir()
    for number, video in enumerate(("x", "y")):
        np.savez(folder / f"{video}.npz", features=np.random.default_rng(number).normal(size=(75, 4)))
    return folder


@pytest.fixture
def words() -> Path:
    folder = Path("words")
    folder.mkdir()
    for qid in (7, 8):
        rows = np.random.default_rng(qid).normal(size=(2, 3))
        np.savez(folder / f"qid{qid}.npz", last_hidden_state=rows)
    return folder


@pytest.fixture
def detr() -> Path:
    """A run of training, whose model has learned nothing."""
    reads = {"space": "features", "clip_s": 2.0}
    return save_untrained(Path("a run") / BEST, "moment-detr", reads, dim_video=6, dim_query=3).parent


def test_run_row_and_submission(run: Run, data: Path, detr: Path, features: Path, words: Path) -> None:
    ask = ("evaluate", "highlights", data, "--run", detr, "--features", features, "--text-features", words)
    run(*ask, "--write-predictions", "mine.jsonl", "-o", "report.json", "--device", "cpu")
    document = read_valid("report.json", "highlight_evaluation")
    assert [row["name"] for row in document["rows"]] == ["a run", "random", "whole video"]
    files = [file["name"] for file in document["provenance"]["files"]]
    assert files == ["val.jsonl", "a run/best.safetensors"]
    assert document["provenance"]["text_features"][0]["files"] == 2
    again = run("evaluate", "highlights", "mine.jsonl", data, "-o", "-").json
    assert {**again["rows"][0], "name": "a run"} == document["rows"][0]
    ask = (*ask, "--write-predictions", "mine.jsonl", "--device", "cpu")
    assert "unchanged" in run(*ask, "-o", "report.json").out
    Path("mine.jsonl").unlink()
    run(*ask, "-o", "report.json")
    assert Path("mine.jsonl").exists()
    run(*ask)  # the report lists it
    Path("mine.jsonl").write_text("mine")
    run(*ask, code=1, error="mine.jsonl: already exists")
    run(*ask, "--overwrite")
    run(*ask[:-6], "-o", "-", code=3, error="does not say what embeds its queries")
