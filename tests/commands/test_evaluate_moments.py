"""`vidsum evaluate moments`."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.commands.conftest import Run
from tests.lab.datasets.moment_layouts import highlight, in_seconds, write_json, write_lines
from vidsum.lab.evaluation.settings import MomentsRequest
from vidsum.lab.sources import provenance

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads(ROOT.joinpath("vidsum/schemas/moment_evaluation.schema.json").read_text())


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
    """Moments for all three."""
    lines: list[dict[str, Any]] = [
        {"vid": "v_a", "query": "a dog", "pred_relevant_windows": [[0, 5, 0.9]]},
        {"vid": "v_a", "query": "a cat", "pred_relevant_windows": [[0, 4, 0.9], [8, 12, 0.5]]},
        {"vid": "v_b", "query": "a bird", "pred_relevant_windows": []},
    ]
    return write_lines(Path("mine.jsonl"), *lines)


def rows_of(document: dict[str, Any]) -> dict[str, dict[tuple[int, float], float]]:
    """Recall by the name of the row."""
    return {
        row["name"]: {(one["top"], one["iou"]): one["share"] for one in row["recall"]}
        for row in document["rows"]
    }


def test_trivial_rows_need_no_predictions(run: Run, data: Path) -> None:
    ran = run("evaluate", "moments", "--data", data, "--seeds", 2)
    assert ran.code == 0, ran.err
    title, head, random, whole, about = ran.out.splitlines()
    assert title == "made.json: 3 queries of 2 videos, per cent"
    settings = [word for top in (1, 5) for iou in "1357" for word in (f"R@{top}", f".{iou}")]
    assert head.split() == ["row", *settings, "mIoU"]
    assert (random.split()[0], whole.split()[:2]) == ("random", ["whole", "video"])
    assert whole.split()[-1] == "48.33"  # of .25, .4 and .8
    assert "2 draws" in about
    assert "left out that end at or before their start: 1, first in v_b" in ran.err
    assert "cut that reach out of their video: 1, first in v_b" in ran.err


def test_the_document_fits_its_schema(run: Run, data: Path, mine: Path) -> None:
    document = run("evaluate", "moments", mine, "--data", data, "-o", "-").json
    jsonschema.validate(document, SCHEMA)
    rows = rows_of(document)
    assert list(rows) == ["mine", "random", "whole video"]
    assert rows["mine"] == {
        (1, 0.1): 1 / 3, (1, 0.3): 1 / 3, (1, 0.5): 1 / 3, (1, 0.7): 1 / 3,
        (5, 0.1): 2 / 3, (5, 0.3): 2 / 3, (5, 0.5): 2 / 3, (5, 0.7): 1 / 3,
    }  # fmt: skip
    assert document["rows"][0]["miou"] == 1 / 3


def test_rows_of_people_stand_last(run: Run, data: Path, mine: Path) -> None:
    Path("people").mkdir()
    table = "video_id,description,start,end\nv_b.mp4,a bird,20,100\nv_b.mp4,A bird.,20,60\n"
    Path("people/one.csv").write_text(table + "v_b.mp4,a bird,20,60\nv_b.mp4,A bird.,20,60\n")
    arguments = ("evaluate", "moments", mine, "--data", data, "--people", "people")
    document = run(*arguments, "-o", "-").json
    jsonschema.validate(document, SCHEMA)
    rows = {row["name"]: row["miou"] for row in document["rows"]}
    assert list(rows)[:3] == ["mine", "random", "whole video"]
    assert rows["people (pairwise): 2 queries, 2 people"] == pytest.approx(0.75)  # .5 and 1
    assert rows["people (annotations): 2 queries, 2 people"] == pytest.approx(0.625)  # 1 and .5, .5 and .5
    assert [file["name"] for file in document["provenance"]["files"]] == [
        "made.json",
        "mine.jsonl",
        "one.csv",
    ]
    shown = run(*arguments).out
    assert "people (pairwise): 2 queries" in shown
    assert "standard errors" in shown
    assert run(*arguments, "-o", "one.json").code == 0
    assert "unchanged" in run(*arguments, "-o", "one.json").out
    Path("people/two.csv").write_text(table)
    changed = run(*arguments, "-o", "one.json")
    assert (changed.code, "unchanged" in changed.out) == (0, False)


def test_the_comparison_is_named_and_matters(run: Run, data: Path, mine: Path) -> None:
    ran = run("evaluate", "moments", mine, "--data", data, "--comparison", "2d-tan", "--json")
    assert rows_of(ran.json["data"])["mine"][5, 0.5] == 1 / 3  # 8 to 12 of 8 to 16 is .5, not above
    shown = run("evaluate", "moments", mine, "--data", data, "--comparison", "2d-tan").out
    assert "IoU > the threshold (2d-tan)" in shown
    assert "IoU >= the threshold (mmn)" in run("evaluate", "moments", mine, "--data", data).out


def test_the_same_inputs_give_the_same_bytes_and_are_not_evaluated_again(
    run: Run, data: Path, mine: Path
) -> None:
    arguments = ("evaluate", "moments", mine, "--data", data, "-o")
    assert run(*arguments, "one.json").code == run(*arguments, "two.json").code == 0
    assert Path("one.json").read_bytes() == Path("two.json").read_bytes()
    assert "unchanged" in run(*arguments, "one.json").out
    changed = run(*arguments, "one.json", "--seeds", 3)
    assert (changed.code, "unchanged" in changed.out) == (0, False)
    Path("one.json").write_text(Path("one.json").read_text().replace("random", "chance"))
    edited = run(*arguments, "one.json", "--seeds", 2)
    assert (edited.code, "--overwrite" in edited.err) == (1, True)
    assert run(*arguments, "one.json", "--seeds", 2, "--overwrite").code == 0


def test_runs_are_known_by_their_names(data: Path) -> None:
    for row in ("one", "two"):
        Path(row).mkdir()
        Path(row, "best.safetensors").write_bytes(b"weights")
    requests = [MomentsRequest(data=data, runs=(Path(row),), features=(data,)) for row in ("one", "two")]
    names = [[file["name"] for file in provenance(request)["files"]] for request in requests]
    assert names == [["made.json", "one"], ["made.json", "two"]]


def test_recall_is_drawn(run: Run, data: Path, mine: Path) -> None:
    assert run("evaluate", "moments", mine, "--data", data, "--plot", "recall.svg").code == 0
    drawn = Path("recall.svg").read_bytes()
    assert b"<svg" in drawn
    assert run("evaluate", "moments", mine, "--data", data, "--plot", "recall.svg").code == 0
    assert Path("recall.svg").read_bytes() == drawn
    printed = run("evaluate", "moments", mine, "--data", data, "--plot", "recall.svg", "-o", "-").json
    jsonschema.validate(printed, SCHEMA)
    assert printed == run("evaluate", "moments", mine, "--data", data, "-o", "-").json


def test_the_truth_is_drawn_with_and_without_predictions(run: Run, data: Path, mine: Path) -> None:
    text = next(iter(json.loads(data.read_text()).values()))["sentences"][0]
    ask = ("evaluate", "moments", "--data", data, "--plot", "plot.svg", "-o", "r.json", "--plot-of")
    assert run(*ask, "density").code == 0
    assert "true moments lie" in Path("plot.svg").read_text()
    ran = run(*ask, text)
    assert (ran.code, "--overwrite" in ran.err) == (1, True)
    assert run(*ask, text, mine, "--overwrite").code == 0
    assert "<!-- truth -->" in Path("plot.svg").read_text()


@pytest.mark.parametrize(
    ("arguments", "code", "reason"),
    [
        (["--data", "made.json", "--plot-of", "density"], 2, "--plot-of needs a file"),
        (["--data", "made.json", "--plot", "x.png", "--plot-of", "no such"], 2, "no query of the data is"),
        ([], 2, "--data"),
        (["--data", "no.json"], 3, "no.json"),
        (["--data", "made.json", "no.jsonl"], 3, "no.jsonl"),
        (["--data", "made.json", "mine.jsonl", "mine.jsonl"], 2, "another row is called 'mine'"),
        (["--data", "made.json", "mine.jsonl", "-o", "mine.jsonl"], 2, "must end in .json"),
        (["--data", "made.json", "-o", "made.json"], 2, "over the file of --data"),
        (["--data", "made.json", "--plot", "plot.txt"], 2, "plot.txt"),
        (["--data", "made.json", "--run", "out"], 2, "--run and --features go together"),
        (["--data", "made.json", "--features", "out"], 2, "--run and --features go together"),
        (["--data", "made.json", "--run", "out", "--features", "no"], 3, "out.safetensors"),
        (["--data", "made.json", "--query-features", "no"], 2, "--query-features is for a model of --run"),
        (
            ["--data", "made.json", "--run", "a/x", "--run", "b/x", "--features", "no"],
            2,
            "two runs are called x",
        ),
        (["--data", "made.json", "--people", "none"], 3, "none"),
        (["--data", "made.json", "--people", "."], 3, "has no CSV file"),
        (["--data", "made.json", "--comparison", "ge"], 2, "not ge"),
        (["--data", "made.json", "--seeds", "0"], 2, "--seeds"),
    ],
)
def test_what_is_wrong_is_one_line(
    run: Run, data: Path, mine: Path, arguments: list[str], code: int, reason: str
) -> None:
    arguments = ["out.safetensors" if word == "out" and code == 3 else word for word in arguments]
    ran = run("evaluate", "moments", *arguments)
    assert ran.code == code
    assert reason in ran.err.splitlines()[0]


def test_a_line_that_is_wrong_is_named(run: Run, data: Path) -> None:
    bad = write_lines(
        Path("bad.jsonl"), {"vid": "v_a", "query": "a dog", "pred_relevant_windows": [[5, 3, 1]]}
    )
    ran = run("evaluate", "moments", bad, "--data", data, "--json")
    assert ran.code == 3
    assert ran.json["errors"][0]["message"].startswith("bad.jsonl: line 1: has a moment that ends")


def test_options_come_from_the_configuration_too(run: Run, data: Path) -> None:
    Path("own.yaml").write_text("evaluate:\n  moments:\n    seeds: 2\n    comparison: 2d-tan\n")
    ran = run("evaluate", "moments", "--data", data, "--config", "own.yaml", "-o", "-")
    assert (ran.json["n_seeds"], ran.json["comparison"]) == (2, "2d-tan")


def test_queries_with_several_right_windows(run: Run) -> None:
    data = write_lines(Path("val.jsonl"), highlight(3, "x", "A dog", (0, 10), (100, 140)))
    line = {"qid": 3, "vid": "x", "query": "A dog", "pred_relevant_windows": [[100, 140, 1]]}
    ran = run("evaluate", "moments", write_lines(Path("mine.jsonl"), line), "--data", data, "-o", "-")
    assert ran.json["rows"][0]["miou"] == 1


def test_empty_moments_count_as_wrong_with_a_warning(run: Run) -> None:
    data = write_lines(Path("val.jsonl"), highlight(3, "x", "A dog", (0, 10), (100, 140)))
    line = {"qid": 3, "vid": "x", "query": "A dog"}
    moments = [[140, 140, 0.9], [100, 140, 0.5], [8.0, 8.0, 0.1]]
    mine = write_lines(Path("mine.jsonl"), {**line, "pred_relevant_windows": moments})
    ran = run("evaluate", "moments", mine, "--data", data, "-o", "-")
    assert (ran.code, ran.json["rows"][0]["miou"]) == (0, 0)
    assert rows_of(ran.json)["mine"][5, 0.7] == 1
    (warning,) = ran.json["warnings"]
    assert warning.startswith("mine: ")
    assert warning.endswith("empty and count as wrong: 2")


@pytest.mark.shared
def test_the_published_example_of_qvhighlights(run: Run, shared: Path) -> None:
    folder = shared / "data" / "qvhighlights"
    data = folder / "highlight_val_release.jsonl"
    document = run("evaluate", "moments", folder / "sample_val_preds.jsonl", "--data", data, "-o", "-").json
    published = json.loads((folder / "sample_val_preds_metrics_raw.json").read_text())["brief"]
    rows = rows_of(document)
    for at in (0.5, 0.7):
        assert round(100 * rows["sample_val_preds"][1, at], 2) == published[f"MR-full-R1@{at}"]
    assert [round(100 * rows["whole video"][1, at], 2) for at in (0.5, 0.7)] == [9.03, 6.06]  # field notes 3
