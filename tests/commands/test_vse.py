"""`vidsum train vse` and `vidsum evaluate vse`: from made pictures to a report, and bad input in a line."""

import json
from dataclasses import replace
from itertools import product
from pathlib import Path

import jsonschema
import numpy as np
import pytest

import vidsum
from tests.commands.conftest import Ran, Run
from tests.lab.training.conftest import one_thread, quick_curves  # noqa: F401 (fixtures)
from tests.pictures import COLOURS, EXTRACTOR, SHAPES, cells, embedded, make_pictures, painted, use_stand_ins
from vidsum.checkpoints.trained import read_trained, save_trained
from vidsum.features import describe
from vidsum.features.extractor import Extractor
from vidsum.features.pictures import make_view

SCHEMA = json.loads((Path(vidsum.__file__).parent / "schemas" / "vse_evaluation.schema.json").read_text())
DATA = ("--captions", "captions.csv", "--pictures", "images", "--device", "cpu")
SIZES = ("--hidden", 32, "--maps", 2, "--views", 2, "--epochs", 12, "--batch-size", 16, "--lr", 0.01)


@pytest.fixture(autouse=True)
def made(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """`captions.csv` and `images` of 96 pictures in the current folder, and networks that need no weights."""
    use_stand_ins(monkeypatch)
    return make_pictures(Path(), 96)


def train(run: Run, *arguments: object) -> Ran:
    return run("train", "vse", *DATA, "-e", EXTRACTOR, *SIZES, "--out", "run", *arguments)


def evaluate(run: Run, *arguments: object) -> Ran:
    return run("evaluate", "vse", *DATA, "--checkpoint", "run", "--seeds", 2, *arguments)


@pytest.fixture(autouse=True)
def few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vidsum.lab.evaluation.vse._DRAWS", 20)


def test_a_run_says_how_well_it_retrieves_and_is_measured(run: Run) -> None:
    ran = train(run, "--json")
    assert (ran.code, ran.err) == (0, "")
    facts = ran.json["data"]
    assert facts["n_validation"] == 6
    assert facts["validation"].keys() == {"r1", "r5", "r10"}
    ran = train(run)
    assert ran.out.startswith("run: text to image among 6 validation pictures R@1 ")
    assert ran.out.endswith("(up to date)\n")
    ran = evaluate(run, "-o", "report.json")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines()[0] == "captions.csv: 24 sentences of 12 pictures (test), per cent"
    document = json.loads(Path("report.json").read_text())
    jsonschema.validate(document, SCHEMA)
    assert [row["name"] for row in document["rows"]] == ["run", "random"]
    own, chance = (row["text_to_image"]["recall"][1]["value"] for row in document["rows"])
    assert own > chance + 0.2
    assert "unchanged" in evaluate(run, "-o", "report.json").out
    assert evaluate(run, "-o", "-").json == document
    ran = evaluate(run, "--split", "val", "-o", "report.json")
    assert (ran.code, "unchanged" in ran.out) == (0, False), ran.err
    assert "was trained with the val part of these pictures" in ran.err
    assert json.loads(Path("report.json").read_text()) == evaluate(run, "--split", "val", "-o", "-").json


def test_class_names_stand_beside_a_map_of_their_network(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
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
    assert train(run, "-e", "efficientnet_lite0").code == 0
    rows = evaluate(run, "-o", "-").json["rows"]
    assert [row["name"] for row in rows] == ["run", "conse", "random"]
    _, own, chance = (row["text_to_image"]["recall"][2]["value"] for row in rows)
    assert own > chance


def test_a_map_that_does_not_fit_is_refused(run: Run) -> None:
    assert train(run, "--epochs", 1).code == 0
    trained = read_trained("run/best.safetensors")
    for changes, reason in (
        ({"model": "ridge"}, "a checkpoint of ridge, not of vse"),
        ({"config": {**trained.config, "hidden": 7}}, "do not fit together"),
        ({"features": {**trained.features, "extractor": "efficientnet_lite0"}}, "of another size"),
        ({"features": {}}, "does not name its extractor"),
    ):
        save_trained("other.safetensors", replace(trained, **changes))
        ran = evaluate(run, "--checkpoint", "other.safetensors")
        assert (ran.code, reason in ran.err) == (3, True), ran.err


@pytest.mark.parametrize(
    ("changes", "code", "reason"),
    [
        (("--pictures", "none"), 3, "none: no such folder"),
        (("--pictures", "."), 3, "holds none of the 96 pictures"),
        (("--captions", "none.csv"), 3, "none.csv: no such file"),
        (("--captions", "images/000.png"), 3, "no layout of captions has such a name"),
        (("-e", "i3d"), 2, "i3d sees clips"),
        (("-e", "gird"), 2, "unknown extractor 'gird'"),
    ],
)
def test_bad_input_is_one_line(run: Run, changes: tuple[str, ...], code: int, reason: str) -> None:
    ran = train(run, *changes)
    assert (ran.code, ran.out) == (code, "")
    assert reason in ran.err
    assert "Traceback" not in ran.err


def test_bad_input_of_an_evaluation_is_one_line(run: Run) -> None:
    ran = evaluate(run, "--checkpoint", "none.safetensors")
    assert (ran.code, "none.safetensors" in ran.err) == (3, True)
    assert train(run, "--epochs", 1).code == 0
    Path("captions.csv").write_text("image,caption,split\n001.png,a,train\n")
    ran = evaluate(run)
    assert (ran.code, "has no pictures of the split test" in ran.err) == (2, True)
