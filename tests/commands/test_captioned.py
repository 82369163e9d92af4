"""`--captions --annotations --space`: training and evaluation from made-up files, and wrong usage."""

import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vidsum
from tests.conftest import deep
from tests.lab.datasets.made import STRIDE, use_stand_ins, write_captions, write_protocol, write_tvsum
from tests.program import Ran, Run
from vidsum.checkpoints.trained import read_trained

REGISTRY = Path(vidsum.__file__).parent / "weights" / "registry.yaml"
PAIR = ("--captions", "captions.json", "--annotations", "ydata.mat")
SIZES = ("--head", "pointer", "--d", 8, "--d-ff", 16, "--layers", 1, "--heads", 2, "--epochs", 2)


@pytest.fixture(autouse=True)
def made(tmp_path: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """captions.json and ydata.mat of six videos in the current folder, and networks that need no weights."""
    use_stand_ins(monkeypatch)
    write_tvsum(Path())


def train(run: Run, model: str, *arguments: object, **expected: Any) -> Ran:
    return run("train", model, *PAIR, "--out", "run", *arguments, **expected)


@pytest.mark.parametrize(
    ("model", "space"),
    [("ridge", "text"), deep("ridge", "vse"), deep("fulltransnet", "text"), deep("fulltransnet", "vse")],
)
def test_evaluate_run_of_captions(run: Run, model: str, space: str) -> None:
    options = SIZES if model == "fulltransnet" else ("--penalty", 0.1, "--draws", 2)
    ran = train(run, model, "--captions-as", space, *options)
    assert ran.err == ""
    *lines, last = ran.out.splitlines()
    assert len([line for line in lines if line.startswith("run/split_")]) == 5
    command = last.removeprefix("evaluate it with: ")
    wanted = (
        f"vidsum evaluate summary --captions captions.json --annotations ydata.mat --captions-as {space}"
        " --run run"
    )
    assert command == wanted
    run(*shlex.split(command)[1:], "--seeds", 1, "-o", "report.json")
    document = json.loads(Path("report.json").read_text())
    assert document["provenance"]["space"] == space
    names = {file["name"] for file in document["provenance"]["files"]}
    assert {"captions.json", "ydata.mat"} <= names


@pytest.mark.parametrize(("model", "options"), [
    ("ridge", ("--penalty", 0.1)),
    ("ridge", ("--penalty", 0.1, "--captions-as", "vse")),
    ("fulltransnet", (*SIZES, "--ends")),
])  # fmt: skip
def test_model_of_captions_on_video(
    run: Run, known_film: None, film: Path, model: str, options: tuple[object, ...]
) -> None:
    ran = train(run, model, *options, "--split", 1)
    checkpoint = "run/split_1/best.safetensors"
    assert f"use it with: vidsum summarize VIDEO --model {checkpoint}" in ran.out
    assert "still to train: --split 0 --split 2 --split 3 --split 4" in ran.out
    features = read_trained(checkpoint).features
    assert (features["extractor"], features["space"], features["dim"]) == ("efficientnet_lite0", "vse", 384)
    ran = run("summarize", film, "--model", checkpoint, "-o", "-")
    assert np.ptp(ran.json["importance"]["scores"]) > 0
    assert len(ran.json["provenance"]["summary"]["map_sha256"]) == 64
    ran = run("summarize", film, "--model", checkpoint, "--extractor", "mobilenet_v2", "-o", "-", code=2)
    assert "reads features of efficientnet_lite0, not of mobilenet_v2" in ran.err


def test_ridge_has_no_decoder(run: Run, known_film: None, film: Path) -> None:
    train(run, "ridge", "--penalty", 0.1)
    ran = run("evaluate", "attention", film, "--model", "run/split_0/best.safetensors", code=2)
    assert "best.safetensors has no decoder" in ran.err
    ran = run("evaluate", "summary", *PAIR, "--run", "run", "--protocol", "paper", code=2)
    assert "best.safetensors has no decoder to show labels to" in ran.err


def test_run_names_its_networks(run: Run) -> None:
    options = ("--captions-as", "vse", "--penalty", 0.1, "--draws", 1, "--split", 0)
    train(run, "ridge", *options)
    document = json.loads(Path("run/run.json").read_text())
    assert document["weights"].keys() == {"vse", "minilm"}
    assert f"sha256: {document['weights']['vse']}" in REGISTRY.read_text()
    Path("run/run.json").write_text(json.dumps({**document, "weights": {"vse": "0" * 64}}))
    train(run, "ridge", *options, code=1, error="weights.vse was 0000")


def test_captions_that_do_not_fit(run: Run) -> None:
    train(run, "ridge", *PAIR, code=2, error="its data set was given before")
    train(run, "ridge", "--split", 9, code=2, error="unknown split 9")
    write_protocol(Path("p.npz"), ["x", "y"])
    write_captions(Path("s.json"), {"x": ["a dog"] * (90 // STRIDE), "y": ["a cat"] * (90 // STRIDE)})
    split = {
        "train_keys": ["tvsum/video_1", "tvsum/video_2"],
        "test_keys": ["summe/video_1", "summe/video_2"],
    }
    Path("splits.json").write_text(json.dumps([split]))
    more = ("--captions", "s.json", "--annotations", "p.npz", "--splits", "splits.json", "--penalty", 1)
    ran = train(run, "ridge", *more)
    command = ran.out.splitlines()[-1].removeprefix("evaluate it with: ")
    assert "--captions s.json --annotations p.npz --captions-as text --run run" in command
    run(*shlex.split(command)[1:], "--seeds", 1)
