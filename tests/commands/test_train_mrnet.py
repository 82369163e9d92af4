"""`vidsum train mrnet`: what is written and said, resuming, and every bad input in one line."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.commands.conftest import Ran, Run
from tests.training.conftest import one_thread  # noqa: F401 (a fixture)
from vidsum.checkpoints.trained import read_trained

SMALL = ("--head", "light", "--clips", 8, "--d", 16, "--d-ff", 16, "--layers", 1, "--heads", 2)
SHORT = (*SMALL, "--epochs", 1, "--device", "cpu")


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Ten annotated videos with features, and a text encoder that needs no weights."""
    draw = np.random.default_rng(0)
    folder = tmp_path / "features"
    folder.mkdir()
    videos = {}
    for number in range(10):
        videos[f"film_{number}"] = {"duration": 20.0, "sentences": ["a dog"], "timestamps": [[2.0, 9.0]]}
        np.save(folder / f"film_{number}.npy", draw.random((10, 6), np.float32))
    path = tmp_path / "train.json"
    path.write_text(json.dumps(videos))

    class Encoder:
        @staticmethod
        def encode(texts: list[str]) -> np.ndarray:
            return np.ones((len(texts), 4), np.float32)

    monkeypatch.setattr("vidsum.training.data.load_text_encoder", lambda name, device: Encoder)
    return path


def _train(run: Run, data: object, *arguments: object) -> Ran:
    return run("train", "mrnet", "--data", data, "--out", "run", *SHORT, *arguments)


def _features(data: Path) -> tuple[object, ...]:
    return "--features", data.parent / "features"


def test_a_line_that_says_how_it_went(run: Run, data: Path) -> None:
    ran = _train(run, data, *_features(data))
    assert ran.code == 0
    assert ran.err == ""
    assert ran.out.startswith("run: best epoch 1 of 1, validation ")
    assert len(ran.out.splitlines()) == 1
    assert {path.name for path in Path("run").iterdir()} == {
        "best.safetensors",
        "last.safetensors",
        "log.csv",
        "curves.png",
    }
    assert _train(run, data, *_features(data)).out.rstrip().endswith("(up to date)")


def test_json_says_the_same(run: Run, data: Path) -> None:
    (result,) = _train(run, data, *_features(data), "--json").json_lines
    assert (result["command"], result["input"], result["ok"]) == ("train mrnet", "run", True)
    facts = result["data"]
    assert facts.items() >= {"epochs": 1, "best_epoch": 1, "up_to_date": False}.items()
    assert Path(facts["checkpoint"]).is_file()


def test_a_model_of_a_space_can_be_used_at_once(run: Run, data: Path) -> None:
    ran = _train(run, data, *_features(data), "--space", "clip", "--validation", 0)
    assert ran.out.splitlines() == [
        "run: best epoch 1 of 1",
        "use it with: vidsum ground VIDEO --query TEXT --model run/best.safetensors",
    ]
    trained = read_trained("run/best.safetensors")
    assert trained.features == {"space": "clip", "text": "clip", "dim": 6, "clip_s": 2.5}


def test_options_reach_the_checkpoint(run: Run, data: Path) -> None:
    chosen: tuple[object, ...] = ("--preset", "tacos", "--lr", 1e-3, "--gamma", 0.9, "--decay", "forward")
    chosen += (
        "--no-sparse",
        "--region",
        "vv",
        "--region",
        "qv",
        "--no-cross-modal",
        "--nonlinearity",
        "gate",
    )
    chosen += ("--dropout", 0.2, "--dropout-in", 0.3, "--sparsity", 0.5, "--queries-per-video", 1)
    chosen += ("--warmup", 0.5, "--decay-at", 3, "--weight-decay", 0, "--batch-size", 3, "--lambda-s", 5)
    chosen += ("--seed", 4, "--patience", 2, "--precision", "bf16")
    assert _train(run, data, *_features(data), *chosen).code == 0
    trained = read_trained("run/best.safetensors")
    model = {"clips": 8, "d": 16, "d_ff": 16, "layers": 1, "heads": 2, "gamma": 0.9, "decay": "forward"}
    model |= {"sparse": False, "regions": ["vv", "qv"], "cross_modal": False, "nonlinearity": "gate"}
    model |= {"dropout": 0.2, "dropout_in": 0.3, "sparsity": 0.5, "hidden": 64, "kernel": 5}
    training = {"lr": 1e-3, "queries_per_video": 1, "warmup": 0.5, "decay_at": [3], "weight_decay": 0}
    training |= {"batch_size": 3, "lambda_s": 5, "lambda_c": 0.1, "iou_low": 0.3, "iou_high": 0.7}
    training |= {"seed": 4, "patience": 2, "precision": "bf16", "epochs": 1, "device": "cpu"}
    assert {name: trained.config[name] for name in model} == model
    assert {name: trained.training[name] for name in training} == training


def test_a_mask_reaches_the_checkpoint(run: Run, data: Path) -> None:
    chosen = ("--mask", "stamp", "--mask-depth", 3, "--mask-fusion", "sum", "--mask-shared")
    assert _train(run, data, *_features(data), *chosen).code == 0
    trained = read_trained("run/best.safetensors")
    expected = {"kind": "stamp", "depth": 3, "fusion": "sum", "shared": True, "identity": False}
    assert trained.config["mask"] == expected
    assert trained.tensors["blocks.0.mask.layers.2.weight"].shape == (8, 16)


def test_toy_data_need_no_features(run: Run) -> None:
    ran = _train(run, "toy")
    assert ran.code == 0
    trained = read_trained("run/best.safetensors")
    assert trained.features == {"space": "toy"}
    assert trained.training["data"]["toy"]["clips"] == 8


@pytest.mark.parametrize(
    "unread", [("--features", "f"), ("--space", "conse"), ("--text", "clip"), ("--validation", "0")]
)
def test_toy_data_refuse_what_they_would_not_read(run: Run, unread: tuple[str, str]) -> None:
    ran = _train(run, "toy", *unread)
    assert ran.code == 2
    assert f"{unread[0]} has no effect with --data toy" in ran.err


def test_toy_data_have_no_captions(run: Run) -> None:
    ran = _train(run, "toy", "--recipe", "captions")
    assert (ran.code, "--data toy has no captions" in ran.err) == (2, True)
    assert ran.err.splitlines()[1:] == ["  try: --data FILE, or leave out --recipe captions"]


def test_a_file_is_no_folder_of_a_run(run: Run) -> None:
    Path("run").write_text("mine")
    ran = _train(run, "toy")
    assert (ran.code, "run: is a file, not a folder" in ran.err) == (1, True)
    assert Path("run").read_text() == "mine"


def test_a_config_file_sets_options(run: Run, data: Path) -> None:
    Path("run.yaml").write_text("train:\n  mrnet:\n    gamma: 0.5\n    decay-at: [2, 4]\n")
    assert _train(run, data, *_features(data), "--config", "run.yaml").code == 0
    trained = read_trained("run/best.safetensors")
    assert (trained.config["gamma"], trained.training["decay_at"]) == (0.5, [2, 4])


@pytest.mark.parametrize(
    ("arguments", "code", "message", "hint"),
    [
        ((), 2, "no features to train on", "--features FILE or FOLDER; or --data toy"),
        (("--features", "nowhere"), 3, "nowhere: no such file or folder", None),
        (("--features", "features", "--validation", "val.json"), 3, "val.json", None),
        (
            ("--features", "features", "--validation", "1.5"),
            2,
            "from 0 to less than 1, not 1.5",
            None,
        ),
        (
            ("--features", "features", "--space", "clip", "--text", "glove"),
            2,
            "by clip, not by glove",
            "--text clip",
        ),
        (("--features", "features", "--d", "15"), 2, "d must be an even multiple of heads", None),
        (("--mask-identity",), 2, "--mask-identity: there is no mask", "--mask lam or --mask stamp"),
        (("--features", "features", "--lr", "0"), 2, "lr must be above 0", None),
        (("--videos", "9"), 2, "--videos has no effect without --recipe captions", "leave it out"),
        (("--clip-s", "1", "--plain"), 2, "--guided or --plain have no effect", "leave them out"),
        (
            ("--recipe", "captions", "--text", "glove"),
            2,
            "--text has no effect with --recipe",
            "leave it out",
        ),
        (("--recipe", "captions", "--validation", "val.json"), 2, "is a fraction of the", "--validation 0.1"),
    ],
)
def test_bad_input_in_one_line(
    run: Run, data: Path, arguments: tuple[str, ...], code: int, message: str, hint: str | None
) -> None:
    placed = [data.parent / "features" if one == "features" else one for one in arguments]
    ran = _train(run, data, *placed)
    assert ran.code == code
    lines = ran.err.splitlines()
    assert message in lines[0]
    assert lines[1:] == ([f"  try: {hint}"] if hint else [])


def test_annotations_that_are_none(run: Run, data: Path) -> None:
    ran = _train(run, "missing.json", *_features(data))
    assert ran.code == 3
    assert "missing.json" in ran.err


def test_a_run_with_other_settings_is_left_alone(run: Run, data: Path) -> None:
    _train(run, data, *_features(data))
    ran = _train(run, data, *_features(data), "--gamma", 0.5)
    assert ran.code == 1
    assert "config.gamma was 0.98, is 0.5" in ran.err
    assert _train(run, data, *_features(data), "--gamma", 0.5, "--overwrite").code == 0
