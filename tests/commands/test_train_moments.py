"""`vidsum train mrnet` and `train detr`: what is written and said, resuming, and bad input in one line."""

import gzip
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.program import Ran, Run, check_schema
from vidsum.checkpoints.trained import read_trained

SHORT = (
    "--clips-per-video",
    8,
    "--d",
    16,
    "--d-ff",
    16,
    "--layers",
    1,
    "--heads",
    2,
    "--epochs",
    1,
    "--device",
    "cpu",
)
OWN = {"mrnet": ("--head", "light"), "detr": ("--size", "light", "--decoder-layers", 1)}
both = pytest.mark.parametrize("model", OWN)


def encoder_of(features: Callable[[str], list[int]]) -> SimpleNamespace:
    return SimpleNamespace(
        encode=lambda texts: np.array([features(text) for text in texts], np.float32),
        encode_words=lambda texts: [np.ones((3, 4), np.float32) for _ in texts],
    )


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Ten annotated videos with features and words, and a text encoder that needs no weights."""
    draw = np.random.default_rng(0)
    for folder in ("features", "words"):
        (tmp_path / folder).mkdir()
    lines = []
    for number in range(10):
        line = {"qid": number, "query": "a dog", "vid": f"film_{number}", "duration": 20}
        line |= {"relevant_windows": [[2, 8]], "relevant_clip_ids": [1, 2, 3]}
        lines.append(line | {"saliency_scores": [[4, 2, 1], [3, 3, 3], [0, 1, 2]]})
        np.savez(tmp_path / "features" / f"film_{number}.npz", features=draw.random((10, 6), np.float32))
        hidden = draw.random((5, 3), np.float32)
        np.savez(tmp_path / "words" / f"qid{number}.npz", last_hidden_state=hidden)
    path = tmp_path / "train.jsonl"
    path.write_text("\n".join(json.dumps(line) for line in lines))
    encoder = encoder_of(lambda text: [1] * 4)
    monkeypatch.setattr("vidsum.lab.training.annotated.load_text_encoder", lambda name: encoder)
    return path


def _train(run: Run, model: str, data: object, *arguments: object, **expected: Any) -> Ran:
    return run("train", model, "--data", data, "--out", "run", *SHORT, *OWN[model], *arguments, **expected)


def _with_features(run: Run, model: str, data: Path, *arguments: object, **expected: Any) -> Ran:
    return _train(run, model, data, "--features", data.parent / "features", *arguments, **expected)


@pytest.mark.parametrize(("model", "arguments", "name"), [
    ("mrnet", (), "mrnet"),
    ("detr", (), "qd-detr"),
    ("detr", ("--model", "moment-detr"), "moment-detr"),
    ("detr", ("--model", "mrnet-detr"), "mrnet-detr"),
])  # fmt: skip
def test_train_report(run: Run, data: Path, model: str, arguments: tuple[str, ...], name: str) -> None:
    ran = _with_features(run, model, data, *arguments)
    assert ran.err == ""
    assert ran.out.startswith("run: best epoch 1 of 1, validation ")
    assert len(ran.out.splitlines()) == 1
    files = {"best.safetensors", "last.safetensors", "log.csv", "last.safetensors.vidsum.json"}
    assert {path.name for path in Path("run").iterdir()} == files
    assert read_trained("run/best.safetensors").model == name
    (again,) = _with_features(run, model, data, *arguments, "--json").json_lines
    assert (again["command"], again["input"], again["ok"]) == (f"train {model}", "run", True)
    assert again["data"].items() >= {"epochs": 1, "best_epoch": 1, "up_to_date": True}.items()
    assert Path(again["data"]["checkpoint"]).is_file()


@pytest.mark.parametrize(("model", "sizes", "clip_s"), [("mrnet", (6, 4), 2.5), ("detr", (8, 4), 2.0)])
def test_model_of_a_space(run: Run, data: Path, model: str, sizes: tuple[int, int], clip_s: float) -> None:
    ran = _with_features(run, model, data, "--space", "clip", "--validation", 0)
    assert ran.out.splitlines() == [
        "run: best epoch 1 of 1",
        "use it with: vidsum ground VIDEO --query TEXT --model run/best.safetensors",
    ]
    trained = read_trained("run/best.safetensors")
    assert trained.features == {"space": "clip", "text": "clip", "dim": sizes[0], "clip_s": clip_s}
    assert (trained.config["dim_video"], trained.config["dim_query"]) == sizes


@both
def test_train_on_clip_captions(run: Run, data: Path, model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = encoder_of(lambda text: [1, len(text), text.count("a"), 1])
    for module in ("datasets.clip_captions", "evaluation.models", "training.annotated"):
        monkeypatch.setattr(f"vidsum.lab.{module}.load_text_encoder", lambda *_: encoder)
    monkeypatch.setattr("vidsum.lab.datasets.clip_captions.checkpoints.sha256_of", lambda name: name)
    captions = Path("captions.jsonl.gz")
    lines = [
        {"vid": f"film_{n}", "captions": [f"clip {n} {'a' * clip}" for clip in range(10)]} for n in range(10)
    ]
    captions.write_bytes(gzip.compress("\n".join(map(json.dumps, lines)).encode()))
    ran = _train(run, model, data, "--features", captions)
    assert ran.err == ""
    trained = read_trained("run/best.safetensors")
    assert trained.features["dim"] == {"mrnet": 4, "detr": 6}[model]  # with the two ends of each clip
    assert trained.training["data"]["features"] == ["captions.jsonl.gz"]
    ask = ("--run", "run", "--features", captions, "--device", "cpu", "--seeds", 1)
    for arguments in (("moments", "--data", data), ("highlights", data)):
        ran = run("evaluate", *arguments, *ask, "-o", "-")
        assert ran.json["provenance"]["features"][0]["name"] == "captions.jsonl.gz"
    captions.write_bytes(b"not compressed")
    ran = run("evaluate", "highlights", data, *ask, "-o", "-", code=3)
    assert "captions.jsonl.gz: is damaged, or not a gzip file" in ran.err


def test_train_on_query_features(run: Run, data: Path) -> None:
    features, words = data.parent / "features", data.parent / "words"
    _with_features(run, "mrnet", data, "--query-features", words)
    trained = read_trained("run/best.safetensors")
    assert (trained.config["dim_query"], trained.features["queries"]) == (3, {"dim": 3, "from": "words"})
    ask = ("evaluate", "moments", "--data", data, "--run", "run", "--features", features, "--seeds", 1)
    ran = run(*ask, "--device", "cpu", "--query-features", words, "-o", "-")
    assert ran.json["provenance"]["query_features"][0]["files"] == 10
    check_schema(ran.json, "moment_evaluation")
    run(*ask, code=3, error="_QUERY_FEATURES=FOLDER")
    (words / "qid3.npz").unlink()
    ran = run(*ask, "--query-features", words, code=3)
    assert "words: has no features of 1 of 10 queries, such as qid3" in ran.err


MASK = {"kind": "lam", "depth": 3, "fusion": "sum", "shared": True, "identity": True}
MASK |= {"init": "he", "bound": "sigmoid"}
MASK_FLAGS = "--mask lam --mask-depth 3 --mask-fusion sum --mask-shared --mask-identity"
MASK_FLAGS += " --mask-init he --mask-bound sigmoid"
MODEL = {"clips": 8, "d": 16, "d_ff": 16, "layers": 1, "heads": 2, "dropout": 0.2, "dropout_in": 0.3}
TRAINING = {"lr": 1e-3, "warmup": 0.5, "decay_at": [3], "weight_decay": 0, "batch_size": 3, "seed": 4}
TRAINING |= {"patience": 2, "precision": "bf16", "epochs": 1, "device": "cpu"}
FLAGS = "--lr 1e-3 --dropout .2 --dropout-in .3 --warmup .5 --decay-at 3 --weight-decay 0 --batch-size 3"
FLAGS += f" --seed 4 --patience 2 --precision bf16 {MASK_FLAGS}"


@pytest.mark.parametrize(("command", "values", "config", "training"), [
    (
        "mrnet",
        "--preset tacos --gamma .9 --decay forward --no-sparse --region vv --region qv --no-cross-modal "
        "--nonlinearity gate --sparsity .5 --queries-per-video 1 --lambda-s 5",
        {"gamma": 0.9, "decay": "forward", "sparse": False, "regions": ["vv", "qv"], "sparsity": 0.5}
        | {"cross_modal": False, "nonlinearity": "gate", "hidden": 64, "kernel": 5},
        {"queries_per_video": 1, "lambda_s": 5, "lambda_c": 0.1, "iou_low": 0.3, "iou_high": 0.7},
    ),
    (
        "detr", "--preset captions --n-moments 4 --max-norm 2", {"decoder_layers": 1, "n_moments": 4},
        {"max_norm": 2},
    ),
])  # fmt: skip
def test_train_moment_options(
    run: Run, data: Path, command: str, values: str, config: Mapping[str, Any], training: Mapping[str, Any]
) -> None:
    _with_features(run, command, data, *FLAGS.split(), *values.split())
    trained = read_trained("run/best.safetensors")
    assert trained.config.items() >= {**MODEL, "mask": MASK, **config}.items()
    assert trained.training.items() >= {**TRAINING, **training}.items()
