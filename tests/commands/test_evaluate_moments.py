"""`vidsum evaluate moments`."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.lab.datasets.moment_layouts import highlight, in_seconds, write_json, write_lines
from tests.program import Run


@pytest.fixture
def data() -> Path:
    """Two videos with three queries, one annotation of which is of no use."""
    videos = {
        "v_a": in_seconds(20, (0, 5, "a dog"), (8, 16, "a cat")),
        "v_b": in_seconds(10, (2, 12, "a bird"), (4, 4, "a fish")),
    }
    return write_json(Path("made.json"), videos)


@pytest.fixture
def mine() -> Path:
    lines: list[dict[str, Any]] = [
        {"vid": "v_a", "query": "a dog", "pred_relevant_windows": [[0, 5, 0.9]]},
        {"vid": "v_a", "query": "a cat", "pred_relevant_windows": [[0, 4, 0.9], [8, 12, 0.5]]},
        {"vid": "v_b", "query": "a bird", "pred_relevant_windows": []},
    ]
    return write_lines(Path("mine.jsonl"), *lines)


def rows_of(document: dict[str, Any]) -> dict[str, dict[tuple[int, float], float]]:
    return {
        row["name"]: {(item["top"], item["iou"]): item["share"] for item in row["recall"]}
        for row in document["rows"]
    }


def test_evaluate_moments_baselines(run: Run, data: Path) -> None:
    ran = run("evaluate", "moments", "--data", data, "--seeds", 2)
    title, head, random, whole, about = ran.out.splitlines()
    assert title == "made.json: 3 queries of 2 videos, per cent"
    settings = [word for top in (1, 5) for iou in "1357" for word in (f"R@{top}", f".{iou}")]
    assert head.split() == ["row", *settings, "mIoU"]
    assert (random.split()[0], whole.split()[:2]) == ("random", ["whole", "video"])
    assert whole.split()[-1] == "48.33"  # of .25, .4 and .8
    assert "2 draws" in about
    assert "left out that end at or before their start: 1, first in v_b" in ran.err
    assert "cut that reach out of their video: 1, first in v_b" in ran.err


def test_empty_moments(run: Run) -> None:
    data = write_lines(Path("val.jsonl"), highlight(3, "x", "A dog", (0, 10), (100, 140)))
    line = {"qid": 3, "vid": "x", "query": "A dog"}
    moments = [[140, 140, 0.9], [100, 140, 0.5], [8.0, 8.0, 0.1]]
    mine = write_lines(Path("mine.jsonl"), {**line, "pred_relevant_windows": moments})
    ran = run("evaluate", "moments", mine, "--data", data, "-o", "-")
    assert ran.json["rows"][0]["miou"] == 0
    assert rows_of(ran.json)["mine"][5, 0.7] == 1
    (warning,) = ran.json["warnings"]
    assert warning.startswith("mine: ")
    assert warning.endswith("empty and count as wrong: 2")


@pytest.mark.shared
def test_published_qvhighlights(run: Run, shared: Path) -> None:
    folder = shared / "data" / "qvhighlights"
    data = folder / "highlight_val_release.jsonl"
    document = run("evaluate", "moments", folder / "sample_val_preds.jsonl", "--data", data, "-o", "-").json
    published = json.loads((folder / "sample_val_preds_metrics_raw.json").read_text())["brief"]
    rows = rows_of(document)
    for at in (0.5, 0.7):
        assert round(100 * rows["sample_val_preds"][1, at], 2) == published[f"MR-full-R1@{at}"]
    assert [round(100 * rows["whole video"][1, at], 2) for at in (0.5, 0.7)] == [9.03, 6.06]  # field notes 3
