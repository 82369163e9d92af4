"""`vidsum train vse` and `evaluate vse`, on made pictures."""

import json
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.lab.training.conftest import one_thread, quick_curves  # noqa: F401 (fixtures)
from tests.pictures import COLOURS, EXTRACTOR, SHAPES, cells, embedded, make_pictures, painted, use_stand_ins
from tests.program import Ran, Run, check_schema
from vidsum.checkpoints.trained import read_trained, save_trained
from vidsum.features import describe
from vidsum.features.extractor import Extractor
from vidsum.features.pictures import make_view

DATA = ("--captions", "captions.csv", "--pictures", "images", "--device", "cpu")
SIZES = ("--hidden", 32, "--maps", 2, "--views", 2, "--epochs", 12, "--batch-size", 16, "--lr", 0.01)


@pytest.fixture(autouse=True)
def made(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """`captions.csv` and `images` of 96 pictures in the current folder, and networks that need no weights."""
    use_stand_ins(monkeypatch)
    return make_pictures(Path(), 96)


def train(run: Run, *arguments: object, **expected: Any) -> Ran:
    return run("train", "vse", *DATA, "-e", EXTRACTOR, *SIZES, "--out", "run", *arguments, **expected)


def evaluate(run: Run, *arguments: object, **expected: Any) -> Ran:
    return run("evaluate", "vse", *DATA, "--checkpoint", "run", "--seeds", 2, *arguments, **expected)


@pytest.fixture(autouse=True)
def few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vidsum.lab.evaluation.vse._DRAWS", 20)


def test_train_and_evaluate_vse(run: Run) -> None:
    ran = train(run, "--json")
    assert ran.err == ""
    facts = ran.json["data"]
    assert facts["n_validation"] == 6
    assert facts["validation"].keys() == {"r1", "r5", "r10"}
    ran = train(run)
    assert ran.out.startswith("run: text to image among 6 validation pictures R@1 ")
    assert ran.out.endswith("(up to date)\n")
    ran = evaluate(run, "-o", "report.json")
    assert ran.err == ""
    assert ran.out.splitlines()[0] == "captions.csv: 24 sentences of 12 pictures (test), per cent"
    document = json.loads(Path("report.json").read_text())
    check_schema(document, "vse_evaluation")
    assert [row["name"] for row in document["rows"]] == ["run", "random"]
    values, chance = (row["text_to_image"]["recall"][1]["value"] for row in document["rows"])
    assert values > chance + 0.2
    assert "unchanged" in evaluate(run, "-o", "report.json").out
    assert evaluate(run, "-o", "-").json == document
    ran = evaluate(run, "--split", "val", "-o", "report.json")
    assert "unchanged" not in ran.out
    assert "was trained with the val part of these pictures" in ran.err
    assert json.loads(Path("report.json").read_text()) == evaluate(run, "--split", "val", "-o", "-").json


def test_evaluate_vse_class_names(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = list(product(COLOURS, SHAPES))
    names = [f"a {colour} {shape}" for colour, shape in kinds]

    def network(pictures: np.ndarray) -> np.ndarray:
        return np.tile(cells(pictures[:, 0]), 75)[:, :3584]

    spec = describe("efficientnet_lite0")
    known = np.stack([make_view(painted(*kind), 0, spec, 0) for kind in kinds])[:, None]

    def logits(features: np.ndarray) -> np.ndarray:
        """Near what is most alike."""
        return np.asarray(-np.abs(features[:, None] - network(known)[:, :1280]).mean(axis=2), np.float32)

    def load(_: object, device: str) -> Extractor:
        return Extractor(spec, network, "cpu", "fp32", "onnx", classify=logits)

    for module in ("lab.evaluation.vse", "features.pictures", "lab.training.vse_measured"):
        monkeypatch.setattr(f"vidsum.{module}.get_extractor", load)
    for module in ("lab.training.vse", "features.pictures"):
        monkeypatch.setattr(f"vidsum.{module}.weights_sha256", lambda spec: "sha")
    monkeypatch.setattr(
        "vidsum.lab.evaluation.vse.name_embeddings", lambda extractor, device: embedded(names)
    )
    train(run, "-e", "efficientnet_lite0")
    rows = evaluate(run, "-o", "-").json["rows"]
    assert [row["name"] for row in rows] == ["run", "conse", "random"]
    _, values, chance = (row["text_to_image"]["recall"][2]["value"] for row in rows)
    assert values > chance


def test_evaluate_vse_checkpoint_errors(run: Run) -> None:
    train(run, "--epochs", 1)
    trained = read_trained("run/best.safetensors")
    for changes, reason in (
        ({"model": "ridge"}, "a checkpoint of ridge, not of vse"),
        ({"config": {**trained.config, "hidden": 7}}, "do not fit together"),
        ({"features": {**trained.features, "extractor": "efficientnet_lite0"}}, "of another size"),
        ({"features": {}}, "does not name its extractor"),
    ):
        save_trained("other.safetensors", replace(trained, **changes))
        evaluate(run, "--checkpoint", "other.safetensors", code=3, error=reason)


def test_evaluate_vse_without_test_pictures(run: Run) -> None:
    train(run, "--epochs", 1)
    Path("captions.csv").write_text("image,caption,split\n001.png,a,train\n")
    evaluate(run, code=2, error="has no pictures of the split test")
