"""`vidsum train detr`: what is written and said, resuming, and every bad input in one line."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.commands.conftest import Ran, Run
from tests.training.conftest import one_thread  # noqa: F401 (a fixture)
from vidsum.checkpoints.trained import read_trained

SMALL = ("--size", "light", "--d", 16, "--d-ff", 16, "--layers", 1, "--decoder-layers", 1, "--heads", 2)
SHORT = (*SMALL, "--clips", 8, "--epochs", 1, "--device", "cpu")


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

    class Encoder:
        @staticmethod
        def encode_words(texts: list[str]) -> list[np.ndarray]:
            return [np.ones((3, 4), np.float32) for _ in texts]

    monkeypatch.setattr("vidsum.training.data.load_text_encoder", lambda name, device: Encoder)
    return path


def _train(run: Run, data: object, *arguments: object) -> Ran:
    return run("train", "detr", "--data", data, "--out", "run", *SHORT, *arguments)


def _features(data: Path) -> tuple[object, ...]:
    return "--features", data.parent / "features"


@pytest.mark.parametrize("model", ["moment-detr", "qd-detr", "mrnet-detr"])
def test_a_line_that_says_how_it_went(run: Run, data: Path, model: str) -> None:
    ran = _train(run, data, *_features(data), "--model", model)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("run: best epoch 1 of 1, validation ")
    assert len(ran.out.splitlines()) == 1
    assert {path.name for path in Path("run").iterdir()} == {
        "best.safetensors",
        "last.safetensors",
        "log.csv",
        "curves.png",
    }
    assert read_trained("run/best.safetensors").model == model
    assert _train(run, data, *_features(data), "--model", model).out.rstrip().endswith("(up to date)")


def test_json_says_the_same(run: Run, data: Path) -> None:
    (result,) = _train(run, data, *_features(data), "--json").json_lines
    assert (result["command"], result["input"], result["ok"]) == ("train detr", "run", True)
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
    assert trained.features.items() >= {"space": "clip", "text": "clip", "clip_s": 2.0}.items()
    assert (trained.config["dim_video"], trained.config["dim_query"]) == (8, 4)


def test_words_are_read_where_they_are_given(run: Run, data: Path) -> None:
    ran = _train(run, data, *_features(data), "--text-features", data.parent / "words", "--words", 4)
    assert ran.code == 0
    trained = read_trained("run/best.safetensors")
    assert (trained.config["dim_query"], trained.config["words"]) == (3, 4)


def test_options_reach_the_checkpoint(run: Run, data: Path) -> None:
    chosen: tuple[object, ...] = ("--preset", "captions", "--lr", 1e-3, "--dropout", 0.2, "--dropout-in", 0.3)
    chosen += ("--mask", "lam", "--mask-depth", 3, "--mask-fusion", "sum", "--mask-shared", "--mask-identity")
    chosen += ("--n-moments", 4, "--warmup", 0.5, "--decay-at", 3, "--weight-decay", 0, "--batch-size", 3)
    chosen += ("--max-norm", 2, "--seed", 4, "--patience", 2, "--precision", "bf16")
    assert _train(run, data, *_features(data), *chosen).code == 0
    trained = read_trained("run/best.safetensors")
    model: dict[str, object] = {
        "clips": 8,
        "d": 16,
        "d_ff": 16,
        "layers": 1,
        "decoder_layers": 1,
        "heads": 2,
        "n_moments": 4,
    }
    mask = {"kind": "lam", "depth": 3, "fusion": "sum", "shared": True, "identity": True}
    model |= {"dropout": 0.2, "dropout_in": 0.3, "mask": mask}
    training: dict[str, object] = {
        "lr": 1e-3,
        "warmup": 0.5,
        "decay_at": [3],
        "weight_decay": 0,
        "batch_size": 3,
        "max_norm": 2,
    }
    training |= {"seed": 4, "patience": 2, "precision": "bf16", "epochs": 1, "device": "cpu"}
    assert {name: trained.config[name] for name in model} == model
    assert {name: trained.training[name] for name in training} == training


@pytest.mark.parametrize(
    ("arguments", "depth"), [((), 32), (("--mask-depth", 5), 5), (("--preset", "captions"), 2)]
)
def test_a_mask_is_as_deep_as_published_on_qvhighlights(
    run: Run, data: Path, arguments: tuple[object, ...], depth: int
) -> None:
    assert _train(run, data, *_features(data), "--mask", "stamp", *arguments).code == 0
    assert read_trained("run/best.safetensors").config["mask"]["depth"] == depth


def test_toy_data_need_no_features(run: Run) -> None:
    assert _train(run, "toy").code == 0
    trained = read_trained("run/best.safetensors")
    assert trained.features == {"space": "toy"}
    assert trained.training["data"]["toy"]["clips"] == 8


@pytest.mark.parametrize(
    "unread",
    [
        ("--features", "f"),
        ("--space", "conse"),
        ("--text", "clip"),
        ("--text-features", "f"),
        ("--validation", "val.jsonl"),
    ],
)
def test_toy_data_refuse_what_they_would_not_read(run: Run, unread: tuple[str, str]) -> None:
    ran = _train(run, "toy", *unread)
    assert ran.code == 2
    assert f"{unread[0]} has no effect with --data toy" in ran.err


def test_one_file_of_annotations_is_read_and_no_other_left_out(run: Run, data: Path) -> None:
    for first, second in (("toy", data), (data, "toy"), (data, data)):
        ran = _train(run, first, "--data", second, *_features(data))
        assert ran.code == 2
        assert ran.err.splitlines()[1:] == ["  try: one --data"]


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
    Path("run.yaml").write_text("train:\n  detr:\n    n-moments: 3\n    decay-at: [2, 4]\n")
    assert _train(run, data, *_features(data), "--config", "run.yaml").code == 0
    trained = read_trained("run/best.safetensors")
    assert (trained.config["n_moments"], trained.training["decay_at"]) == (3, [2, 4])


@pytest.mark.parametrize(
    ("arguments", "code", "message", "hint"),
    [
        ((), 2, "no features to train on", "--features FILE or FOLDER; or --data toy"),
        (("--features", "nowhere"), 3, "nowhere: no such file or folder", None),
        (("--features", "features", "--text-features", "nowhere"), 3, "nowhere", None),
        (("--features", "features", "--validation", "val.json"), 3, "val.json", None),
        (("--features", "features", "--validation", "2"), 2, "from 0 to less than 1, not 2", None),
        (("--features", "features", "--d", "18"), 2, "d must be a multiple of 4", None),
        (("--features", "features", "--lr", "0"), 2, "lr must be above 0", None),
        (
            ("--features", "features", "--mask-depth", "2"),
            2,
            "there is no mask",
            "--mask lam or --mask stamp",
        ),
        (("--videos", "9"), 2, "--videos has no effect without --recipe captions", "leave it out"),
        (("--recipe", "captions", "--text", "glove"), 2, "--text has no effect with --rec", "leave it out"),
        (("--recipe", "captions", "--validation", "v.json"), 2, "is a fraction of the", "--validation 0.1"),
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
    if hint:
        assert lines[1:] == [f"  try: {hint}"]


def test_a_run_with_other_settings_is_left_alone(run: Run, data: Path) -> None:
    _train(run, data, *_features(data))
    ran = _train(run, data, *_features(data), "--n-moments", 4)
    assert ran.code == 1
    assert "config.n_moments was 10, is 4" in ran.err
    assert _train(run, data, *_features(data), "--n-moments", 4, "--overwrite").code == 0
