"""`vidsum evaluate summary` and `vidsum evaluate attention`."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.lab.datasets.h5_files import of_mr_hisum, write
from tests.lab.datasets.made import write_mat, write_protocol
from tests.lab.evaluation.annotated import dataset
from tests.program import Run, check_schema, read_valid
from tests.synthetic import write_annotated
from tests.untrained import save_untrained

SIZES = ("--d", 8, "--d-ff", 8, "--layers", 1, "--heads", 2, "--epochs", 1, "--validation", 0)


@pytest.fixture
def data() -> Path:
    """An h5 file of three annotated videos with the scores of their annotators."""
    write_annotated(dataset(), "made.h5")
    return Path("made.h5")


@pytest.fixture
def mine() -> Path:
    """Scores of two of the videos, made elsewhere."""
    videos = list(dataset().values())[:2]
    scores = {video.name.partition("/")[2]: video.gtscore.tolist() for video in videos}
    Path("mine.json").write_text(json.dumps(scores))
    return Path("mine.json")


def test_regression_on_mr_hisum_is_trained_and_evaluated(run: Run) -> None:
    names = [f"video_{number}" for number in range(8)]
    groups = {name: of_mr_hisum((8, 14, 20, 26, 33, 40), seed) for seed, name in enumerate(names)}
    write(Path("mr_hisum.h5"), **groups)
    split = {"train_keys": names[:6], "val_keys": [names[6]], "test_keys": [names[7]]}
    Path("mrsum_split.json").write_text(json.dumps(split))
    run("train", "ridge", "--data", "mr_hisum.h5", "--splits", "mrsum_split.json", "--out", "run")
    ran = run("evaluate", "summary", "--data", "mr_hisum.h5", "--run", "run", "-o", "report.json")
    assert "1 video, 1 annotator each" in ran.out
    (row,) = (row for row in read_valid("report.json", "evaluation")["rows"] if row["name"] == "run")
    assert list(row["videos"]) == ["mr_hisum/video_7"]
    assert row["key_shots"][0]["captured"] is not None


def test_evaluate_baselines(run: Run, data: Path) -> None:
    ran = run("evaluate", "summary", "--data", data, "--seeds", 2)
    title, head, *rows, about = ran.out.splitlines()
    assert "3 videos, 4 annotators each" in title
    assert "segmentation change-points, knapsack dsnet and pgl-sum" in title
    assert head.split()[:3] == ["row", "tau", "rho"]
    names = ["human", "mean annotator", "mean of the others", "contrastive", "random", "uniform"]
    assert [row[:18].strip() for row in rows] == names
    assert "2 draws" in about
    for name in ("video_1", "video_2"):
        made = ("summarize", f"made.h5#{name}", "--model", "contrastive", "--output-dir", "finished")
        run(*made)
    ran = run("evaluate", "summary", "--data", data, "--summaries", "finished", "-o", "one.json", "--json")
    document = read_valid("one.json", "evaluation")
    assert [row["name"] for row in document["rows"]][3:-2] == ["finished"]
    assert document["n_videos"] == 2
    assert "2 of 3 videos" in ran.json["messages"][0]
    files = [file["name"] for file in document["provenance"]["files"]]
    assert files == ["made.h5", "finished/video_1_summary.json", "finished/video_2_summary.json"]
    again = run("evaluate", "summary", "--data", data, "--summaries", "finished", "-o", "one.json")
    assert "unchanged" in again.out
    options = ("--summaries", "finished", "--model", "contrastive", "-o", "-")
    rows = {row["name"]: row for row in run("evaluate", "summary", "--data", data, *options).json["rows"]}
    assert rows["finished"]["tau"] == pytest.approx(rows["contrastive"]["tau"], abs=0.01)


def test_report_of_an_evaluation_has_the_same_bytes_in_every_run(run: Run, data: Path, mine: Path) -> None:
    arguments = ("evaluate", "summary", "--data", data, "--seeds", 2, "--scores", mine, "-o")
    assert run(*arguments, "one.json").code == run(*arguments, "two.json").code == 0
    assert Path("one.json").read_bytes() == Path("two.json").read_bytes()
    check_schema(json.loads(Path("one.json").read_text()), "evaluation")


def test_evaluation_is_up_to_date_until_an_option_changes(run: Run, data: Path, mine: Path) -> None:
    arguments = ("evaluate", "summary", "--data", data, "--scores", mine, "-o", "one.json")
    run(*arguments, "--seeds", 2)
    assert "unchanged" in run(*arguments, "--seeds", 2).out
    assert "unchanged" not in run(*arguments, "--seeds", 3).out


def test_scores_of_other_videos_cannot_be_compared(run: Run, data: Path, mine: Path) -> None:
    Path("other.json").write_text(json.dumps({"video_3": dataset()["made/video_3"].gtscore.tolist()}))
    ran = run("evaluate", "summary", "--data", data, "--scores", mine, "--scores", "other.json", code=2)
    assert "no video in common" in ran.err


@pytest.fixture
def trained(data: Path, run: Run) -> Path:
    """A run of one epoch that tests on one of the videos of `data`."""
    split = [{"train_keys": ["video_1", "video_2"], "test_keys": ["video_3"]}]
    Path("made_splits.json").write_text(json.dumps(split))
    run("train", "fulltransnet", "--data", data, "--splits", "made_splits.json", "--out", "mine", *SIZES)
    return Path("mine")


def test_segments_are_drawn(run: Run, data: Path, tmp_path: Path) -> None:
    ask = ("evaluate", "summary", "--data", data, "--seeds", 2, "--plot-file", "segments.svg", "--plot-of")
    run(*ask, "segments")
    assert "<!-- annotators -->" in Path("segments.svg").read_text()
    run(*ask, "curves", code=2)
    mat = write_mat(tmp_path / "ydata.mat", {"a": np.ones((2, 300), np.float32)})
    ran = run(
        "evaluate", "summary", "--annotations", mat, "--plot-file", "x.png", "--plot-of", "segments", code=2
    )
    assert "has no shots, which segments are made of" in ran.err
    arguments = ("evaluate", "summary", "--data", data, "--seeds", 2, "-o", "r.json", "--plot-file", "s.svg")
    run(*arguments)
    assert "unchanged" in run(*arguments).out
    Path("s.svg").unlink()
    run(*arguments)
    assert Path("s.svg").exists()


@pytest.mark.deep
def test_overlapping_test_splits(run: Run, data: Path) -> None:
    names = ["video_1", "video_2", "video_3"]
    splits = [{"train_keys": [names[i]], "test_keys": names[:i] + names[i + 1 :]} for i in range(2)]
    Path("made_splits.json").write_text(json.dumps(splits))
    run("train", "fulltransnet", "--data", data, "--splits", "made_splits.json", "--out", "twice", *SIZES)
    ran = run("evaluate", "summary", "--data", data, "--run", "twice", "--seeds", 2, "--json")
    assert (ran.json["data"]["n_videos"], ran.json["data"]["n_tests"]) == (3, 4)
    assert any("4 tests of 3 videos" in message for message in ran.json["messages"])


@pytest.mark.deep
def test_a_single_split_of_a_run(run: Run, data: Path, trained: Path) -> None:
    splits = [json.loads(Path("made_splits.json").read_text())[0]]
    splits.append({"train_keys": ["video_2", "video_3"], "test_keys": ["video_1"]})
    Path("two_splits.json").write_text(json.dumps(splits))
    train = ("train", "fulltransnet", "--data", data, "--splits", "two_splits.json", "--out", "two", *SIZES)
    evaluate = ("evaluate", "summary", "--data", data, "--seeds", 2, "--json", "--run")
    run(*train, "--split", 0)
    one, whole = (run(*evaluate, path).json["data"] for path in ("two", trained))
    assert one["n_videos"] == whole["n_videos"] == 1
    rows = [next(row for row in item["rows"] if row["name"][:3] in ("two", "min")) for item in (one, whole)]
    assert [row.pop("name") for row in rows] == ["two (1 of 2 splits)", "mine"]
    assert rows[0] == rows[1]
    run(*train)
    both = run(*evaluate, "two").json["data"]
    assert both["n_videos"] == 2
    assert "two" in [row["name"] for row in both["rows"]]
    ran = run("evaluate", "summary", "--data", data, "--run", trained, "--seeds", 2, "--json")
    document = ran.json["data"]
    names = [row["name"] for row in document["rows"]]
    baselines = ["human", "mean annotator", "mean of the others"]
    assert names == [*baselines, "mine", "contrastive", "random", "uniform"]
    assert set(document["rows"][3]["videos"]) == {"made/video_3"}
    assert "evaluated on 1 of 3 videos" in ran.json["messages"][0]
    files = [file["name"] for file in document["provenance"]["files"]]
    assert files == ["made.h5", "mine/run.json", "mine/split_0/best.safetensors"]
    ran = run("evaluate", "summary", "--data", data, "--run", trained, "--protocol", "paper", "--seeds", 2)
    assert "mine (uses ground truth at test time)" in ran.out
    checkpoint = trained / "split_0" / "best.safetensors"
    ran = run("evaluate", "summary", "--data", data, "--model", checkpoint, "--seeds", 2)
    assert f"{checkpoint}: was trained on 2 of these videos" in ran.err
    checkpoint.unlink()
    ran = run("evaluate", "summary", "--data", data, "--run", trained, code=3)
    assert "mine: none of its 1 splits is trained yet" in ran.err


def test_summaries_are_measured_by_the_protocol_of_summe(run: Run) -> None:
    write_protocol(Path("summe.npz"), ["Base jumping", "Saving dolphines"], n_frames=600)
    for number, name in enumerate(("Base_jumping", "Saving dolphines")):
        array = np.random.default_rng(number).normal(size=(40, 4))
        np.savez(f"{name}.npz", features=array)
        run("summarize", f"{name}.npz", "--model", "contrastive", "--output-dir", "out")
    ran = run("evaluate", "summary", "--annotations", "summe.npz", "--summaries", "out", "--seeds", 1)
    assert "2 videos, 3 annotators each" in ran.out
    assert "segmentation change-points" in ran.out
    rows = [line.split()[0] for line in ran.out.splitlines()[2:8]]
    assert rows == ["human", "mean", "mean", "out", "random", "uniform"]


ATTENTION = ("evaluate", "attention")


@pytest.fixture
def model(known_film: None) -> Path:
    """A FullTransNet that reads what the extractors of `loads` give."""
    features = {"extractor": "efficientnet_lite0", "dim": 1280, "fps": 2.0}
    return save_untrained(Path("best.safetensors"), "fulltransnet", features, dim_in=1280, layers=2, window=3)


def test_attention_of_the_default_model_is_drawn(run: Run, film: Path, known_film: None) -> None:
    ran = run(*ATTENTION, film, "--json")
    assert Path("film_attention.png").read_bytes().startswith(b"\x89PNG")
    assert ran.json["data"]["outputs"]["attention"] == "film_attention.png"
    assert {"model_sha256", "map_sha256"} <= ran.json["data"].keys()


@pytest.mark.usefixtures("quick_plots")
def test_foreign_picture_of_attention_is_replaced_on_request_alone(run: Run, film: Path, model: Path) -> None:
    draw = (*ATTENTION, film, "--model", model)
    Path("film_attention.png").write_text("mine")
    run(*draw, code=1, error="--overwrite")
    assert Path("film_attention.png").read_text() == "mine"
    run(*draw, "--overwrite")


@pytest.mark.usefixtures("quick_plots")
def test_edited_picture_of_attention_is_refused(run: Run, film: Path, model: Path) -> None:
    draw = (*ATTENTION, film, "--model", model)
    run(*draw)
    Path("film_attention.png").write_text("mine")
    run(*draw, code=1, error="--overwrite")


@pytest.mark.deep
@pytest.mark.parametrize(
    ("part", "name", "text"),
    [("mean", "", "mean of 2 layers, mean of 2 heads"), ("1.0", "_1.0", "layer 1, head 0")],
)
def test_picture_of_attention_names_its_part(
    run: Run, film: Path, model: Path, part: str, name: str, text: str
) -> None:
    run(*ATTENTION, film, "--model", model, "--plot-format", "svg", "--part", part)
    assert text in Path(f"film_attention{name}.svg").read_text()


def test_picture_of_all_attention_has_each_layer_and_head(run: Run, film: Path, model: Path) -> None:
    run(*ATTENTION, film, "--model", model, "--plot-format", "svg", "--part", "all")
    assert Path("film_attention_all.svg").read_text().count("<image ") == 3 * 2 * 2
