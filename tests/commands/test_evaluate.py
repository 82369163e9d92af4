"""`vidsum evaluate summary`."""

import json
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from tests.commands.conftest import Run
from tests.lab.datasets.made import write_mat, write_protocol
from tests.lab.evaluation.annotated import dataset
from tests.synthetic import write_annotated

SCHEMA = json.loads(Path(__file__).parents[2].joinpath("vidsum/schemas/evaluation.schema.json").read_text())


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


def test_scorers_stand_beside_annotators_and_chance(run: Run, data: Path) -> None:
    ran = run("evaluate", "summary", "--data", data, "--seeds", 2)
    assert ran.code == 0, ran.err
    title, head, *rows, about = ran.out.splitlines()
    assert "3 videos, 4 annotators each" in title
    assert "segmentation change-points, knapsack dsnet and pgl-sum" in title
    assert head.split()[:3] == ["row", "tau", "rho"]
    names = ["human", "mean annotator", "mean of the others", "contrastive", "cluster", "random", "uniform"]
    assert [row[:18].strip() for row in rows] == names
    assert "2 draws" in about


def test_the_document_fits_its_schema_and_the_table(run: Run, data: Path) -> None:
    document = run("evaluate", "summary", "--data", data, "--scorer", "cluster", "-o", "-").json
    jsonschema.validate(document, SCHEMA)
    assert [row["name"] for row in document["rows"]][3] == "cluster"
    shown = run("evaluate", "summary", "--data", data, "--scorer", "cluster").out.splitlines()[5]
    assert f"{document['rows'][3]['tau']:.3f}" in shown


def test_scores_made_elsewhere_are_evaluated_on_the_videos_they_have(
    run: Run, data: Path, mine: Path
) -> None:
    ran = run("evaluate", "summary", "--data", data, "--scores", mine, "--json")
    document = ran.json["data"]
    assert document["n_videos"] == 2
    assert "2 of 3 videos" in ran.json["messages"][0]
    tau = {row["name"]: row["tau"] for row in document["rows"]}
    assert set(tau) == {"human", "mean annotator", "mean of the others", "mine", "random", "uniform"}
    assert tau["mine"] == pytest.approx(tau["mean annotator"])


def test_the_same_inputs_give_the_same_bytes_and_are_not_evaluated_again(
    run: Run, data: Path, mine: Path
) -> None:
    arguments = ("evaluate", "summary", "--data", data, "--scores", mine, "-o")
    assert run(*arguments, "one.json").code == run(*arguments, "two.json").code == 0
    assert Path("one.json").read_bytes() == Path("two.json").read_bytes()
    jsonschema.validate(json.loads(Path("one.json").read_text()), SCHEMA)
    assert "unchanged" in run(*arguments, "one.json").out
    changed = run(*arguments, "one.json", "--seeds", 3)
    assert (changed.code, "unchanged" in changed.out) == (0, False)
    assert Path("one.json").read_bytes() != Path("two.json").read_bytes()


def test_several_segmentations_stand_side_by_side(run: Run, data: Path) -> None:
    asked = ("--segmentation", "change-points", "--segmentation", "two-peak")
    ran = run("evaluate", "summary", "--data", data, *asked, "--seeds", 2)
    assert "F change-points" in ran.out
    assert "F two-peak" in ran.out
    assert "knapsack pgl-sum" in ran.out


def test_several_files_are_a_batch(run: Run, data: Path) -> None:
    ran = run("evaluate", "summary", "--data", data, "--data", "no.h5", "--json")
    assert ran.code == 1
    assert [line["ok"] for line in ran.json_lines] == [True, False]


def test_without_the_annotators_scores_the_human_row_has_no_rank(run: Run) -> None:
    write_annotated(dataset(scored=False), "plain.h5")
    ran = run("evaluate", "summary", "--data", "plain.h5", "--seeds", 2)
    assert "human                    -       -" in ran.out
    assert "tau and rho with gtscore" in ran.out


@pytest.mark.parametrize(
    ("arguments", "code", "reason"),
    [
        ([], 2, "nothing to evaluate on"),
        (["--annotations", "x.mat", "--scorer", "cluster"], 2, "need videos with features"),
        (["--data", "made.h5", "--protocol", "paper"], 2, "--protocol paper is for models of a training run"),
        (["--annotations", "x.mat"], 3, "x.mat"),
        (["--data", "no.h5"], 3, "no.h5"),
        (["--data", "made.h5", "--scores", "no.json"], 3, "no.json"),
        (["--data", "made.h5", "--seeds", "0"], 2, "--seeds"),
        (["--data", "made.h5", "--scorer", "nonsense"], 2, "nonsense"),
        (["--data", "made.h5", "-o", "report.txt"], 2, ".json"),
        (["--data", "made.h5", "--data", "made.h5", "-o", "report.json"], 2, "several inputs"),
        (["--data", "made.h5", "--scores", "mine.json", "--scores", "mine.json"], 2, "'mine'"),
    ],
)
def test_what_is_wrong_is_one_line(
    run: Run, data: Path, mine: Path, arguments: list[str], code: int, reason: str
) -> None:
    ran = run("evaluate", "summary", *arguments)
    assert ran.code == code
    error, *hints = ran.err.splitlines()
    assert reason in error
    assert len(hints) <= 1


def test_two_files_of_scores_need_a_video_in_common(run: Run, data: Path, mine: Path) -> None:
    Path("other.json").write_text(json.dumps({"video_3": dataset()["made/video_3"].gtscore.tolist()}))
    ran = run("evaluate", "summary", "--data", data, "--scores", mine, "--scores", "other.json")
    assert (ran.code, "no video in common" in ran.err) == (2, True)


def test_options_come_from_the_configuration_too(run: Run, data: Path) -> None:
    Path("own.yaml").write_text("evaluate:\n  summary:\n    seeds: 2\n    model: [cluster]\n")
    ran = run("evaluate", "summary", "--data", data, "--config", "own.yaml", "-o", "-")
    assert ran.code == 0, ran.err
    assert ran.json["provenance"]["models"] == {"cluster": None}
    assert ran.json["n_seeds"] == 2


@pytest.mark.shared
def test_the_annotations_of_tvsum_alone(run: Run, shared: Path) -> None:
    mat = shared / "data" / "tvsum" / "ydata-tvsum50.mat"
    ran = run("evaluate", "summary", "--annotations", mat, "--segmentation", "uniform-60", "--json")
    document = ran.json["data"]
    assert (document.pop("output"), document.pop("plot")) == (None, None)
    jsonschema.validate(document, SCHEMA)
    rows = {row["name"]: row for row in document["rows"]}
    assert list(rows) == ["human", "mean annotator", "mean of the others", "random", "uniform"]
    assert rows["human"]["tau"] == pytest.approx(0.1774, abs=5e-5)
    assert rows["human"]["key_shots"][0]["f_avg"] == pytest.approx(0.257, abs=5e-4)


@pytest.fixture
def trained(data: Path, run: Run) -> Path:
    """A run of one epoch that tests on one of the videos of `data`."""
    sizes = ("--d", 8, "--d-ff", 8, "--layers", 1, "--heads", 2, "--epochs", 1, "--validation", 0)
    split = [{"train_keys": ["video_1", "video_2"], "test_keys": ["video_3"]}]
    Path("made_splits.json").write_text(json.dumps(split))
    ran = run(
        "train", "fulltransnet", "--data", data, "--splits", "made_splits.json", "--out", "mine", *sizes
    )
    assert ran.code == 0, ran.err
    return Path("mine")


def test_a_run_is_evaluated_on_its_test_videos(run: Run, data: Path, trained: Path) -> None:
    ran = run("evaluate", "summary", "--data", data, "--run", trained, "--seeds", 2, "--json")
    document = ran.json["data"]
    names = [row["name"] for row in document["rows"]]
    baselines = ["human", "mean annotator", "mean of the others"]
    assert names == [*baselines, "mine", "contrastive", "cluster", "random", "uniform"]
    assert set(document["rows"][3]["videos"]) == {"made/video_3"}
    assert "evaluated on 1 of 3 videos" in ran.json["messages"][0]
    files = [file["name"] for file in document["provenance"]["runs"]["files"]]
    assert files == ["mine/run.json", "mine/split_0/best.safetensors"]


def test_the_protocol_of_the_paper_is_labelled(run: Run, data: Path, trained: Path) -> None:
    ran = run("evaluate", "summary", "--data", data, "--run", trained, "--protocol", "paper", "--seeds", 2)
    assert "mine (uses ground truth at test time)" in ran.out


def test_a_run_with_scores_made_elsewhere(run: Run, data: Path, trained: Path) -> None:
    scores = {"video_3": dataset()["made/video_3"].gtscore.tolist()}
    Path("other.json").write_text(json.dumps(scores))
    ran = run("evaluate", "summary", "--data", data, "--run", trained, "--scores", "other.json", "--json")
    rows = {row["name"]: row["tau"] for row in ran.json["data"]["rows"]}
    assert rows["other"] == rows["mean annotator"]
    assert "mine" in rows


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--run", "nowhere"], "nowhere: holds no training run (run.json)"),
        (["--run", "mine", "--run", "mine"], "two runs are called mine"),
    ],
)
def test_runs_that_will_not_do(
    run: Run, data: Path, trained: Path, arguments: list[str], message: str
) -> None:
    ran = run("evaluate", "summary", "--data", data, *arguments)
    assert ran.code in (2, 3)
    assert message in ran.err


def test_scores_are_drawn(run: Run, data: Path) -> None:
    ran = run("evaluate", "summary", "--data", data, "--seeds", 2, "--plot", "scores.png", "--json")
    assert ran.code == 0, ran.err
    assert ran.json["data"]["plot"] == "scores.png"
    assert Path("scores.png").read_bytes().startswith(b"\x89PNG")


def test_segments_are_drawn(run: Run, data: Path) -> None:
    ask = ("evaluate", "summary", "--data", data, "--seeds", 2, "--plot", "segments.svg", "--plot-of")
    ran = run(*ask, "segments")
    assert ran.code == 0, ran.err
    assert "<!-- annotators -->" in Path("segments.svg").read_text()
    assert run(*ask, "curves").code == 2


def test_segments_need_shots(run: Run, tmp_path: Path) -> None:
    mat = write_mat(tmp_path / "ydata.mat", {"a": np.ones((2, 300), np.float32)})
    ran = run("evaluate", "summary", "--annotations", mat, "--plot", "x.png", "--plot-of", "segments")
    assert ran.code == 2
    assert "has no shots, which segments are made of" in ran.err


def test_a_missing_plot_is_drawn_though_the_report_is_there(run: Run, data: Path) -> None:
    arguments = ("evaluate", "summary", "--data", data, "--seeds", 2, "-o", "r.json", "--plot", "s.svg")
    assert run(*arguments).code == 0
    assert "unchanged" in run(*arguments).out
    Path("s.svg").unlink()
    assert run(*arguments).code == 0
    assert Path("s.svg").exists()


@pytest.mark.parametrize("name", ["scores.txt", "nowhere/scores.png"])
def test_a_plot_that_cannot_be_written_is_refused_before_any_work(run: Run, data: Path, name: str) -> None:
    ran = run("evaluate", "summary", "--data", data, "--plot", name)
    assert ran.code in (1, 2)
    assert name in ran.err


def test_a_checkpoint_that_was_trained_on_the_videos_is_told_of(run: Run, data: Path, trained: Path) -> None:
    checkpoint = trained / "split_0" / "best.safetensors"
    ran = run("evaluate", "summary", "--data", data, "--model", checkpoint, "--seeds", 2)
    assert ran.code == 0, ran.err
    assert f"{checkpoint}: was trained on 2 of these videos" in ran.err


def test_videos_that_several_splits_test_are_counted_once(run: Run, data: Path) -> None:
    names = ["video_1", "video_2", "video_3"]
    splits = [{"train_keys": [names[i]], "test_keys": names[:i] + names[i + 1 :]} for i in range(2)]
    Path("made_splits.json").write_text(json.dumps(splits))
    sizes = ("--d", 8, "--d-ff", 8, "--layers", 1, "--heads", 2, "--epochs", 1, "--validation", 0)
    run("train", "fulltransnet", "--data", data, "--splits", "made_splits.json", "--out", "twice", *sizes)
    ran = run("evaluate", "summary", "--data", data, "--run", "twice", "--seeds", 2, "--json")
    assert (ran.json["data"]["n_videos"], ran.json["data"]["n_tests"]) == (3, 4)
    assert any("4 tests of 3 videos" in message for message in ran.json["messages"])


def test_a_run_of_which_a_split_is_not_trained_is_named(run: Run, data: Path, trained: Path) -> None:
    (trained / "split_0" / "best.safetensors").unlink()
    ran = run("evaluate", "summary", "--data", data, "--run", trained)
    assert ran.code == 3
    assert "mine/split_0: this split is not trained yet" in ran.err


def test_auto_is_no_model_to_measure(run: Run, data: Path) -> None:
    ran = run("evaluate", "summary", "--data", data, "--model", "auto")
    assert (ran.code, "name the one to measure" in ran.err) == (2, True)


def test_summaries_that_are_finished_are_measured_with_and_without_features(run: Run, data: Path) -> None:
    for name in ("video_1", "video_2"):
        made = ("summarize", f"made.h5#{name}", "--model", "contrastive", "--output-dir", "finished")
        assert run(*made).code == 0
    ran = run("evaluate", "summary", "--data", data, "--summaries", "finished", "-o", "one.json", "--json")
    assert ran.code == 0, ran.err
    document = json.loads(Path("one.json").read_text())
    jsonschema.validate(document, SCHEMA)
    assert [row["name"] for row in document["rows"]][3:-2] == ["finished"]
    assert document["n_videos"] == 2
    assert "2 of 3 videos" in ran.json["messages"][0]
    files = [file["name"] for file in document["provenance"]["files"]]
    assert files == ["made.h5", "video_1_summary.json", "video_2_summary.json"]
    again = run("evaluate", "summary", "--data", data, "--summaries", "finished", "-o", "one.json")
    assert "unchanged" in again.out
    beside = ("--summaries", "finished", "--model", "contrastive", "-o", "-")
    rows = {row["name"]: row for row in run("evaluate", "summary", "--data", data, *beside).json["rows"]}
    assert rows["finished"]["tau"] == pytest.approx(rows["contrastive"]["tau"], abs=0.01)
    twice = run("evaluate", "summary", "--data", data, "--summaries", "finished", "--summaries", "finished")
    assert (twice.code, "another row" in twice.err) == (2, True)
    none = run("evaluate", "summary", "--data", data, "--summaries", ".")
    assert (none.code, "has no summary" in none.err) == (3, True)


def test_the_protocol_of_summe_alone_measures_finished_summaries(run: Run) -> None:
    write_protocol(Path("summe.npz"), ["Base jumping", "Saving dolphines"], n_frames=600)
    for number, name in enumerate(("Base_jumping", "Saving dolphines")):
        array = np.random.default_rng(number).normal(size=(40, 4))
        np.savez(f"{name}.npz", features=array)
        assert run("summarize", f"{name}.npz", "--model", "contrastive", "--output-dir", "out").code == 0
    ran = run("evaluate", "summary", "--annotations", "summe.npz", "--summaries", "out", "--seeds", 1)
    assert ran.code == 0, ran.err
    assert "2 videos, 3 annotators each" in ran.out
    assert "segmentation change-points" in ran.out
    rows = [line.split()[0] for line in ran.out.splitlines()[2:8]]
    assert rows == ["human", "mean", "mean", "out", "random", "uniform"]
