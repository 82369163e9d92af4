"""`--captions --annotations --space`: training and evaluation from made-up files, and wrong usage."""

import json
import shlex
from pathlib import Path

import numpy as np
import pytest

import vidsum
from tests.commands.conftest import Ran, Run
from tests.lab.datasets.made import STRIDE, use_stand_ins, write_captions, write_protocol, write_tvsum
from tests.lab.training.conftest import one_thread, quick_curves  # noqa: F401 (fixtures)
from tests.lab.training.videos import toy_videos
from tests.synthetic import write_annotated
from vidsum.checkpoints.trained import read_trained

REGISTRY = Path(vidsum.__file__).parent / "weights" / "registry.yaml"
PAIR = ("--captions", "captions.json", "--annotations", "ydata.mat")
SIZES = ("--head", "frame", "--d", 8, "--d-ff", 16, "--layers", 1, "--heads", 2, "--epochs", 2)


@pytest.fixture(autouse=True)
def made(tmp_path: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """captions.json and ydata.mat of six videos in the current folder, and networks that need no weights."""
    use_stand_ins(monkeypatch)
    write_tvsum(Path())


def train(run: Run, model: str, *arguments: object, out: str = "run") -> Ran:
    return run("train", model, *PAIR, "--out", out, *arguments)


@pytest.mark.parametrize(
    ("model", "space"),
    [("ridge", "text"), ("fulltransnet", "vse")]
    + [pytest.param(*pair, marks=pytest.mark.deep) for pair in (("ridge", "vse"), ("fulltransnet", "text"))],
)
def test_a_run_of_captions_is_evaluated_by_the_command_that_it_ends_with(
    run: Run, model: str, space: str
) -> None:
    options = SIZES if model == "fulltransnet" else ("--penalty", 0.1, "--draws", 2)
    ran = train(run, model, "--space", space, *options)
    assert (ran.code, ran.err) == (0, "")
    *lines, last = ran.out.splitlines()
    assert len([line for line in lines if line.startswith("run/split_")]) == 5
    command = last.removeprefix("evaluate it with: ")
    wanted = (
        f"vidsum evaluate summary --captions captions.json --annotations ydata.mat --space {space} --run run"
    )
    assert command == wanted
    ran = run(*shlex.split(command)[1:], "--seeds", 1, "-o", "report.json")
    assert ran.code == 0, ran.err
    document = json.loads(Path("report.json").read_text())
    assert document["provenance"]["space"] == space
    names = {file["name"] for file in document["provenance"]["files"]}
    assert {"captions.json", "ydata.mat"} <= names


@pytest.mark.parametrize(
    ("model", "options"),
    [
        ("ridge", ("--penalty", 0.1)),
        ("ridge", ("--penalty", 0.1, "--space", "vse")),
        ("fulltransnet", (*SIZES, "--ends")),
    ],
)
def test_a_model_of_captions_reads_real_video(
    run: Run, loads: list[str], film: Path, model: str, options: tuple[object, ...]
) -> None:
    ran = train(run, model, *options, "--split", 1)
    assert ran.code == 0, ran.err
    checkpoint = "run/split_1/best.safetensors"
    assert f"use it with: vidsum summarize VIDEO --model {checkpoint}" in ran.out
    assert "still to train: --split 0 --split 2 --split 3 --split 4" in ran.out
    features = read_trained(checkpoint).features
    assert (features["extractor"], features["space"], features["dim"]) == ("efficientnet_lite0", "vse", 384)
    ran = run("summarize", film, "--model", checkpoint, "-o", "-")
    assert ran.code == 0, ran.err
    assert np.ptp(ran.json["importance"]["scores"]) > 0
    assert len(ran.json["provenance"]["summary"]["map_sha256"]) == 64
    ran = run("summarize", film, "--model", checkpoint, "--extractor", "mobilenet_v2", "-o", "-")
    assert (ran.code, "reads features of efficientnet_lite0, not of mobilenet_v2" in ran.err) == (2, True)


def test_ridge_has_no_attention_to_draw(run: Run, loads: list[str], film: Path) -> None:
    assert train(run, "ridge", "--penalty", 0.1, "--split", 0).code == 0
    ran = run("evaluate", "attention", film, "--model", "run/split_0/best.safetensors")
    assert (ran.code, "best.safetensors has no decoder" in ran.err) == (2, True), ran.err


def test_a_run_of_simulated_frames_says_by_which_networks(run: Run) -> None:
    options = ("--space", "vse", "--penalty", 0.1, "--draws", 1, "--split", 0)
    assert train(run, "ridge", *options).code == 0
    document = json.loads(Path("run/run.json").read_text())
    assert document["weights"].keys() == {"vse", "minilm"}
    assert f"sha256: {document['weights']['vse']}" in REGISTRY.read_text()
    # a run of an older version does not say so, and goes on; one of other networks is left alone
    del document["weights"]
    Path("run/run.json").write_text(json.dumps(document))
    assert train(run, "ridge", *options).code == 0
    Path("run/run.json").write_text(json.dumps({**document, "weights": {"vse": "0" * 64}}))
    ran = train(run, "ridge", *options)
    assert ran.code == 1
    assert "weights.vse was 0000" in ran.err


@pytest.mark.parametrize("spaces", [("text", "vse"), ("vse", "text")])
def test_a_model_of_captions_is_evaluated_on_them_and_on_what_the_map_might_show(
    run: Run, spaces: tuple[str, str]
) -> None:
    assert train(run, "ridge", "--penalty", 0.1, "--draws", 1, "--space", spaces[0]).code == 0
    ran = run("evaluate", "summary", *PAIR, "--run", "run", "--space", spaces[1], "--seeds", 1)
    assert ran.code == 0, ran.err


def test_a_model_without_a_decoder_is_shown_no_labels(run: Run) -> None:
    assert train(run, "ridge", "--penalty", 0.1).code == 0
    ran = run("evaluate", "summary", *PAIR, "--run", "run", "--protocol", "paper")
    assert ran.code == 2
    assert "best.safetensors has no decoder to show labels to" in ran.err


def test_captions_tell_ridge_what_people_like(run: Run) -> None:
    assert train(run, "ridge", "--window", 1, "--no-ends", "--penalty", 0.01).code == 0
    ran = run("evaluate", "summary", *PAIR, "--run", "run", "--seeds", 2, "--json")
    assert ran.code == 0, ran.err
    rows = {row["name"]: row for row in ran.json["data"]["rows"]}
    assert rows["run"]["tau"] > 0.3


def test_ridge_chooses_a_penalty_and_says_so(run: Run) -> None:
    write_tvsum(Path(), n_videos=8, n_samples=12)
    ran = train(run, "ridge", "--json")
    assert ran.code == 0, ran.err
    *splits, last = ran.json_lines
    for number, split in enumerate(splits):
        data = split["data"]
        assert split["input"] == f"run/split_{number}"
        assert data["checkpoint"] == f"run/split_{number}/best.safetensors"
        assert read_trained(data["checkpoint"]).training["penalty"] == data["penalty"]
        assert -1 <= data["validation"] <= 1
    assert last["data"]["unfinished_splits"] == []


def test_ridge_reads_videos_with_features_too(run: Run) -> None:
    write_annotated(toy_videos(7), "made.h5")
    ran = run("train", "ridge", "--data", "made.h5", "--out", "run", "--split", 0)
    assert ran.code == 0, ran.err
    assert ran.out.startswith("run/split_0: canonical-1, penalty ")
    assert run("train", "ridge", "--data", "made.h5", "--out", "run").code == 0
    assert len(list(Path("run").glob("split_*/best.safetensors"))) == 5


def test_a_run_with_other_settings_is_left_alone_without_overwrite(run: Run) -> None:
    assert train(run, "ridge", "--penalty", 0.1).code == 0
    before = Path("run/split_0/best.safetensors").read_bytes()
    assert train(run, "ridge", "--penalty", 0.1).code == 0
    ran = train(run, "ridge", "--penalty", 0.2)
    assert ran.code == 1
    assert "penalty was 0.1, is 0.2" in ran.err
    assert Path("run/split_0/best.safetensors").read_bytes() == before
    ran = train(run, "ridge", "--penalty", 0.2, "--overwrite", "--split", 0)
    assert ran.code == 0, ran.err
    assert "still to train: --split 1 --split 2 --split 3 --split 4" in ran.out


def test_two_data_sets_of_captions(run: Run) -> None:
    write_protocol(Path("p.npz"), ["x", "y"])
    write_captions(Path("s.json"), {"x": ["a dog"] * (90 // STRIDE), "y": ["a cat"] * (90 // STRIDE)})
    more = ("--captions", "s.json", "--annotations", "p.npz", "--splits", "transfer", "--penalty", 1)
    ran = train(run, "ridge", *more)
    assert ran.code == 0, ran.err
    split = json.loads(Path("run/run.json").read_text())["splits"][0]
    assert split["train"] == ["summe/video_1", "summe/video_2"]
    assert {name.partition("/")[0] for name in split["test"]} == {"tvsum"}
    assert "--captions captions.json --annotations ydata.mat --space text --run run" in ran.out


def test_a_run_is_evaluated_on_the_captions_that_it_tests_on(run: Run) -> None:
    """Those of the second file, as published splits say."""
    write_protocol(Path("p.npz"), ["x", "y"])
    write_captions(Path("s.json"), {"x": ["a dog"] * (90 // STRIDE), "y": ["a cat"] * (90 // STRIDE)})
    split = {
        "train_keys": ["tvsum/video_1", "tvsum/video_2"],
        "test_keys": ["summe/video_1", "summe/video_2"],
    }
    Path("splits.json").write_text(json.dumps([split]))
    more = ("--captions", "s.json", "--annotations", "p.npz", "--splits", "splits.json", "--penalty", 1)
    ran = train(run, "ridge", *more)
    assert ran.code == 0, ran.err
    command = ran.out.splitlines()[-1].removeprefix("evaluate it with: ")
    assert "--captions s.json --annotations p.npz --space text --run run" in command
    assert run(*shlex.split(command)[1:], "--seeds", 1).code == 0


@pytest.mark.parametrize("model", ["ridge", pytest.param("fulltransnet", marks=pytest.mark.deep)])
@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((), "give videos with features, or captions"),
        (("--data", "x.h5", *PAIR), "give videos with features, or captions"),
        (PAIR[:2], "1 files of captions, but 0 of annotations"),
        ((*PAIR, *PAIR[:2]), "2 files of captions, but 1 of annotations"),
        ((*PAIR, *PAIR), "its data set was given before"),
        (PAIR[2:], "give videos with features, or captions"),
        (("--data", "x.h5", "--space", "vse"), "--space has no effect on --data"),
        ((*PAIR[:2], "--annotations", "captions.json"), "annotations are TVSum's .mat file"),
        ((*PAIR, "--space", "clip"), "--space"),
        ((*PAIR, "--split", 9), "unknown split 9"),
    ],
)
def test_training_is_refused(run: Run, model: str, arguments: tuple[object, ...], complaint: str) -> None:
    ran = run("train", model, "--out", "run", *arguments)
    assert ran.code == 2, ran.err
    assert complaint in ran.err
    assert "Traceback" not in ran.err
    assert not Path("run").exists()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (PAIR[:2], "--annotations"),
        ((*PAIR, "--data", "x.h5"), "--captions go with --annotations, without --data"),
        (("--data", "x.h5", "--space", "vse"), "--space has no effect without --captions"),
        ((*PAIR[2:], "--space", "vse"), "--space has no effect without --captions"),
        ((*PAIR[:2], "--annotations", "captions.json"), "annotations are TVSum's .mat file"),
        ((*PAIR[2:], "--run", "run"), "need videos with features"),
    ],
)
def test_evaluation_is_refused(run: Run, arguments: tuple[object, ...], complaint: str) -> None:
    ran = run("evaluate", "summary", *arguments)
    assert ran.code == 2, ran.err
    assert complaint in ran.err
    assert "Traceback" not in ran.err


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--penalty", 0), "penalty"),
        (("--draws", 0), "draws"),
        (("--window", 2), "window must be odd"),
        (("--epochs", 3), "No such option"),
    ],
)
def test_options_of_ridge_are_checked(run: Run, arguments: tuple[object, ...], complaint: str) -> None:
    ran = train(run, "ridge", *arguments)
    assert ran.code == 2
    assert complaint in ran.err


def test_a_file_that_cannot_be_read_is_3(run: Run) -> None:
    Path("captions.json").write_text("{}")
    for ran in (train(run, "ridge"), run("evaluate", "summary", *PAIR)):
        assert ran.code == 3
        assert "captions.json: holds no video" in ran.err
