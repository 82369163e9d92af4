"""`vidsum evaluate highlights`."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
import torch

from tests.commands.conftest import Run
from tests.lab.datasets.moment_layouts import highlight, with_saliency, write_lines
from vidsum.checkpoints.trained import Trained, save_trained
from vidsum.lab.training.state import BEST
from vidsum.models.configs import DETRConfig
from vidsum.models.detr_models import build

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads(ROOT.joinpath("vidsum/schemas/highlight_evaluation.schema.json").read_text())


@pytest.fixture
def data() -> Path:
    """Two queries, one of them about two short windows."""
    first = with_saliency(highlight(7, "x", "A girl", (0, 4), (8, 10)), {0: (4, 2), 1: (1, 3), 4: (4, 4)})
    second = with_saliency(highlight(8, "y", "A dog", (0, 150)), dict.fromkeys(range(75), (3, 4)))
    return write_lines(Path("val.jsonl"), first, second)


def answered(qid: int, vid: str, query: str, **parts: Any) -> dict[str, Any]:
    """A line of a submission."""
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


def test_figures_are_shown_in_per_cent(run: Run, data: Path, mine: Path) -> None:
    ran = run("evaluate", "highlights", mine, data, "--seeds", 2)
    assert ran.code == 0, ran.err
    title, head, *lines, about = ran.out.splitlines()
    assert title == "val.jsonl: 2 queries of 2 videos, per cent"
    assert head.split() == ["measure", "mine", "random", "whole", "video"]
    shown = {line.rsplit(maxsplit=3)[0]: line.rsplit(maxsplit=3)[1] for line in lines}
    assert shown == {
        "R1 .3": "100.00", "R1 .5": "100.00", "R1 .7": "100.00", "mIoU": "100.00",
        "mAP .5": "75.00", "mAP .75": "75.00", "mAP": "75.00",
        "mAP short": "50.00", "mAP long": "100.00",
        "HL mAP Fair": "75.83", "HL HIT@1 Fair": "100.00",
        "HL mAP Good": "63.50", "HL HIT@1 Good": "100.00",
        "HL mAP VeryGood": "38.17", "HL HIT@1 VeryGood": "100.00",
    }  # fmt: skip
    annotators = [1 / 2 + 1 / 75, 1 / 2 + 3 / 150, 1, 1]  # of the first query: its best clip, then all others
    assert shown["HL mAP Fair"] == f"{100 * sum(annotators) / 4:.2f}"
    assert "2 draws" in about


def test_the_document_fits_its_schema(run: Run, data: Path, mine: Path) -> None:
    document = run("evaluate", "highlights", mine, data, "-o", "-").json
    jsonschema.validate(document, SCHEMA)
    assert [row["name"] for row in document["rows"]] == ["mine", "random", "whole video"]
    own = document["rows"][0]
    assert own["moments"]["middle"] is None
    assert own["moments"]["full"]["mean_map"] == 0.75
    assert own["moments"]["full"]["r1"][-1] == {"iou": 0.95, "share": 1.0}
    assert own["highlights"]["VeryGood"]["hit1"] == 1.0


@pytest.mark.parametrize(
    ("part", "left", "warned"),
    [
        ("pred_saliency_scores", "moments", "no pred_saliency_scores: only moments"),
        ("pred_relevant_windows", "highlights", "no pred_relevant_windows: only saliency"),
    ],
)
def test_one_part_alone_is_measured_with_a_warning(
    run: Run, data: Path, mine: Path, part: str, left: str, warned: str
) -> None:
    lines = [json.loads(line) for line in mine.read_text().splitlines()]
    write_lines(mine, *({key: value for key, value in line.items() if key != part} for line in lines))
    ran = run("evaluate", "highlights", mine, data, "-o", "-")
    jsonschema.validate(ran.json, SCHEMA)
    assert warned in ran.err
    for row in ran.json["rows"]:
        assert [key for key in ("moments", "highlights") if row[key] is not None] == [left]
    assert run("evaluate", "highlights", mine, data).code == 0


def test_the_same_inputs_give_the_same_bytes_and_are_not_evaluated_again(
    run: Run, data: Path, mine: Path
) -> None:
    arguments = ("evaluate", "highlights", mine, data, "-o")
    assert run(*arguments, "one.json").code == run(*arguments, "two.json").code == 0
    assert Path("one.json").read_bytes() == Path("two.json").read_bytes()
    assert "unchanged" in run(*arguments, "one.json").out
    changed = run(*arguments, "one.json", "--seeds", 3)
    assert (changed.code, "unchanged" in changed.out) == (0, False)
    assert Path("one.json").read_bytes() != Path("two.json").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "code", "reason"),
    [
        (["mine.jsonl"], 2, "ANNOTATIONS"),
        (["no.jsonl", "val.jsonl"], 3, "no.jsonl"),
        (["mine.jsonl", "no.jsonl"], 3, "no.jsonl"),
        (["mine.jsonl", "mine.jsonl"], 3, "mine.jsonl: line 1: has no relevant_windows"),
        (["mine.jsonl", "val.jsonl", "-o", "mine.txt"], 2, "must end in .json"),
        (["mine.jsonl", "val.jsonl", "--seeds", "0"], 2, "--seeds"),
    ],
)
def test_what_is_wrong_is_one_line(
    run: Run, data: Path, mine: Path, arguments: list[str], code: int, reason: str
) -> None:
    ran = run("evaluate", "highlights", *arguments)
    assert (ran.code, reason in ran.err.splitlines()[0]) == (code, True), ran.err


def test_a_line_that_is_wrong_is_named(run: Run, data: Path) -> None:
    line = answered(7, "x", "A girl", pred_relevant_windows=[], pred_saliency_scores=[0.5] * 70)
    ran = run("evaluate", "highlights", write_lines(Path("bad.jsonl"), line), data, "--json")
    assert ran.code == 3
    message = ran.json["errors"][0]["message"]
    assert message == "bad.jsonl: line 1: has 70 pred_saliency_scores for the 75 clips of 2 s of x"


@pytest.fixture
def features(data: Path) -> Path:
    """Of both videos, in a folder."""
    folder = Path("clip")
    folder.mkdir()
    for number, video in enumerate(("x", "y")):
        np.savez(folder / f"{video}.npz", features=np.random.default_rng(number).normal(size=(75, 4)))
    return folder


@pytest.fixture
def words() -> Path:
    """Of both queries, in a folder."""
    folder = Path("words")
    folder.mkdir()
    for qid in (7, 8):
        rows = np.random.default_rng(qid).normal(size=(2, 3))
        np.savez(folder / f"qid{qid}.npz", last_hidden_state=rows)
    return folder


@pytest.fixture
def detr() -> Path:
    """A run of training, whose model has learned nothing."""
    config = DETRConfig(dim_video=6, dim_query=3, d=16, heads=2, d_ff=16)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        tensors = build("moment-detr", config).state_dict()
    folder = Path("a run")
    folder.mkdir()
    reads = {"space": "features", "clip_s": 2.0}
    save_trained(folder / BEST, Trained("moment-detr", asdict(config), reads, {}, tensors))
    return folder


def test_a_trained_model_is_a_row_and_its_answers_a_submission(
    run: Run, data: Path, detr: Path, features: Path, words: Path
) -> None:
    ask = ("evaluate", "highlights", data, "--run", detr, "--features", features, "--text-features", words)
    ran = run(*ask, "--write-predictions", "mine.jsonl", "-o", "report.json", "--device", "cpu")
    assert ran.code == 0, ran.err
    document = json.loads(Path("report.json").read_text())
    jsonschema.validate(document, SCHEMA)
    assert [row["name"] for row in document["rows"]] == ["a run", "random", "whole video"]
    assert [file["name"] for file in document["provenance"]["files"]] == ["a run", "val.jsonl"]
    assert document["provenance"]["text_features"]["files"] == 2
    again = run("evaluate", "highlights", "mine.jsonl", data, "-o", "-").json
    assert {**again["rows"][0], "name": "a run"} == document["rows"][0]
    ask = (*ask, "--write-predictions", "mine.jsonl", "--device", "cpu")
    assert "unchanged" in run(*ask, "-o", "report.json").out
    Path("mine.jsonl").unlink()
    assert run(*ask, "-o", "report.json").code == 0
    assert Path("mine.jsonl").exists()
    refused = run(*ask)
    assert (refused.code, "mine.jsonl: already exists" in refused.err) == (1, True)
    assert run(*ask, "--overwrite").code == 0


@pytest.mark.parametrize(
    ("arguments", "code", "reason"),
    [
        (["val.jsonl"], 2, "PREDICTIONS, or a model"),
        (["mine.jsonl", "val.jsonl", "--run", "a run", "--features", "clip"], 2, "PREDICTIONS, or a model"),
        (["a.jsonl", "mine.jsonl", "val.jsonl"], 2, "PREDICTIONS"),
        (["val.jsonl", "--run", "a run"], 2, "--run and --features go together"),
        (["mine.jsonl", "val.jsonl", "--features", "clip"], 2, "--run and --features go together"),
        (["mine.jsonl", "val.jsonl", "--text-features", "words"], 2, "--text-features is for a model"),
        (["mine.jsonl", "val.jsonl", "--write-predictions", "o.jsonl"], 2, "--write-predictions is for a"),
        (["val.jsonl", "--run", "a run", "--features", "none"], 3, "none"),
        (["val.jsonl", "--run", "no run", "--features", "clip"], 3, "no run: cannot be read"),
        (["val.jsonl", "--run", "a run", "--features", "clip"], 3, "does not say what embeds its queries"),
        (
            ["val.jsonl", "--run", "a run", "--features", "clip", "--write-predictions", "o.json"],
            2,
            "must end in .jsonl",
        ),
        (
            ["val.jsonl", "--run", "a run", "--features", "clip", "--write-predictions", "val.jsonl"],
            2,
            "val.jsonl",
        ),
    ],
)
def test_what_is_wrong_with_a_run_is_one_line(
    run: Run, mine: Path, detr: Path, features: Path, arguments: list[str], code: int, reason: str
) -> None:
    before = Path("val.jsonl").read_bytes()
    ran = run("evaluate", "highlights", *arguments)
    assert (ran.code, reason in ran.err.splitlines()[0]) == (code, True), ran.err
    assert Path("val.jsonl").read_bytes() == before


def test_options_come_from_the_configuration_too(run: Run, data: Path, mine: Path) -> None:
    Path("own.yaml").write_text("evaluate:\n  highlights:\n    seeds: 2\n")
    ran = run("evaluate", "highlights", mine, data, "--config", "own.yaml", "-o", "-")
    assert ran.json["n_seeds"] == 2


@pytest.mark.shared
def test_the_published_example(run: Run, shared: Path) -> None:
    folder = shared / "data" / "qvhighlights"
    data = folder / "highlight_val_release.jsonl"
    document = run(
        "evaluate", "highlights", folder / "sample_val_preds.jsonl", data, "--seeds", 1, "-o", "-"
    ).json
    published = json.loads((folder / "sample_val_preds_metrics_raw.json").read_text())
    own = document["rows"][0]
    for name, measures in own["moments"].items():
        for key, of_iou in (("r1", "MR-R1"), ("map", "MR-mAP")):
            for one in [one for one in measures[key] if one["iou"] >= 0.5]:  # it lacks R1 at .3
                assert f"{100 * one['share']:.2f}" == f"{published[name][of_iou][str(one['iou'])]:.2f}"
        assert f"{100 * measures['mean_map']:.2f}" == f"{published[name]['MR-mAP']['average']:.2f}"
    for name, of_level in own["highlights"].items():
        of_clips = published[f"HL-min-{name}"]
        assert f"{100 * of_level['map']:.2f}" == f"{of_clips['HL-mAP']:.2f}"
        assert f"{100 * of_level['hit1']:.2f}" == f"{of_clips['HL-Hit1']:.2f}"
