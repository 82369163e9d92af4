"""`vidsum train mrnet` and `train detr`: what is written and said, resuming, and bad input in one line."""

import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

import vidsum
from tests.commands.conftest import Ran, Run
from tests.lab.training.conftest import one_thread, quick_curves  # noqa: F401 (fixtures)
from vidsum.checkpoints.trained import read_trained

SHORT = ("--clips", 8, "--d", 16, "--d-ff", 16, "--layers", 1, "--heads", 2, "--epochs", 1, "--device", "cpu")
OWN = {"mrnet": ("--head", "light"), "detr": ("--size", "light", "--decoder-layers", 1)}
both = pytest.mark.parametrize("model", OWN)


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
        def encode(texts: list[str]) -> np.ndarray:
            return np.ones((len(texts), 4), np.float32)

        @staticmethod
        def encode_words(texts: list[str]) -> list[np.ndarray]:
            return [np.ones((3, 4), np.float32) for _ in texts]

    monkeypatch.setattr("vidsum.lab.training.annotated.load_text_encoder", lambda name, device: Encoder)
    return path


def _train(run: Run, model: str, data: object, *arguments: object) -> Ran:
    return run("train", model, "--data", data, "--out", "run", *SHORT, *OWN[model], *arguments)


def _with_features(run: Run, model: str, data: Path, *arguments: object) -> Ran:
    return _train(run, model, data, "--features", data.parent / "features", *arguments)


@pytest.mark.parametrize(
    ("model", "arguments", "name"),
    [
        ("mrnet", (), "mrnet"),
        ("detr", (), "qd-detr"),
        ("detr", ("--model", "moment-detr"), "moment-detr"),
        ("detr", ("--model", "mrnet-detr"), "mrnet-detr"),
    ],
)
def test_a_line_says_how_it_went(
    run: Run, data: Path, model: str, arguments: tuple[str, ...], name: str
) -> None:
    ran = _with_features(run, model, data, *arguments)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("run: best epoch 1 of 1, validation ")
    assert len(ran.out.splitlines()) == 1
    files = {"best.safetensors", "last.safetensors", "log.csv", "curves.png"}
    assert {path.name for path in Path("run").iterdir()} == files
    assert read_trained("run/best.safetensors").model == name
    (again,) = _with_features(run, model, data, *arguments, "--json").json_lines
    assert (again["command"], again["input"], again["ok"]) == (f"train {model}", "run", True)
    assert again["data"].items() >= {"epochs": 1, "best_epoch": 1, "up_to_date": True}.items()
    assert Path(again["data"]["checkpoint"]).is_file()


@pytest.mark.parametrize(("model", "sizes", "clip_s"), [("mrnet", (6, 4), 2.5), ("detr", (8, 4), 2.0)])
def test_a_model_of_a_space_can_be_used_at_once(
    run: Run, data: Path, model: str, sizes: tuple[int, int], clip_s: float
) -> None:
    ran = _with_features(run, model, data, "--space", "clip", "--validation", 0)
    assert ran.out.splitlines() == [
        "run: best epoch 1 of 1",
        "use it with: vidsum ground VIDEO --query TEXT --model run/best.safetensors",
    ]
    trained = read_trained("run/best.safetensors")
    assert trained.features == {"space": "clip", "text": "clip", "dim": sizes[0], "clip_s": clip_s}
    assert (trained.config["dim_video"], trained.config["dim_query"]) == sizes


def test_words_are_read_from_their_folder(run: Run, data: Path) -> None:
    words = ("--text-features", data.parent / "words", "--words", 4)
    assert _with_features(run, "detr", data, *words).code == 0
    trained = read_trained("run/best.safetensors")
    assert (trained.config["dim_query"], trained.config["words"]) == (3, 4)


@both
def test_captions_of_clips_are_features(
    run: Run, data: Path, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For training and for the evaluations of what was trained."""

    class Encoder:
        @staticmethod
        def encode(texts: list[str]) -> np.ndarray:
            return np.array([[1, len(text), text.count("a"), 1] for text in texts], np.float32)

        @staticmethod
        def encode_words(texts: list[str]) -> list[np.ndarray]:
            return [np.ones((3, 4), np.float32) for _ in texts]

    for module in ("datasets.clip_captions", "evaluation.models", "training.annotated"):
        monkeypatch.setattr(f"vidsum.lab.{module}.load_text_encoder", lambda *_: Encoder)
    monkeypatch.setattr("vidsum.lab.datasets.clip_captions.checkpoints.sha256_of", lambda name: name)
    captions = Path("captions.jsonl.gz")
    lines = [
        {"vid": f"film_{n}", "captions": [f"clip {n} {'a' * clip}" for clip in range(10)]} for n in range(10)
    ]
    captions.write_bytes(gzip.compress("\n".join(map(json.dumps, lines)).encode()))
    ran = _train(run, model, data, "--features", captions)
    assert (ran.code, ran.err) == (0, "")
    trained = read_trained("run/best.safetensors")
    assert trained.features["dim"] == {"mrnet": 4, "detr": 6}[model]  # with the two ends of each clip
    assert trained.training["data"]["features"] == ["captions.jsonl.gz"]
    ask = ("--run", "run", "--features", captions, "--device", "cpu", "--seeds", 1)
    for arguments in (("moments", "--data", data), ("highlights", data)):
        ran = run("evaluate", *arguments, *ask, "-o", "-")
        assert ran.code == 0, ran.err
        assert ran.json["provenance"]["features"][0]["name"] == "captions.jsonl.gz"
    captions.write_bytes(b"not compressed")
    ran = run("evaluate", "highlights", data, *ask, "-o", "-")
    assert ran.code == 3
    assert "captions.jsonl.gz: is damaged, or not a gzip file" in ran.err


def test_queries_of_files_train_mrnet_and_are_asked_of_it(run: Run, data: Path) -> None:
    features, words = data.parent / "features", data.parent / "words"
    assert _with_features(run, "mrnet", data, "--query-features", words).code == 0
    trained = read_trained("run/best.safetensors")
    assert (trained.config["dim_query"], trained.features["queries"]) == (3, {"dim": 3, "from": "words"})
    ask = ("evaluate", "moments", "--data", data, "--run", "run", "--features", features, "--seeds", 1)
    ran = run(*ask, "--device", "cpu", "--query-features", words, "-o", "-")
    assert ran.code == 0, ran.err
    assert ran.json["provenance"]["query_features"]["files"] == 10
    schema = Path(vidsum.__file__).parent / "schemas" / "moment_evaluation.schema.json"
    jsonschema.validate(ran.json, json.loads(schema.read_text()))
    ran = run(*ask)
    assert (ran.code, "_QUERY_FEATURES=FOLDER" in ran.err) == (3, True)
    (words / "qid3.npz").unlink()
    ran = run(*ask, "--query-features", words)
    assert (ran.code, "words: has no features of 1 of 10 queries, such as qid3" in ran.err) == (3, True)


MASK = {"kind": "lam", "depth": 3, "fusion": "sum", "shared": True, "identity": True}
MASK |= {"init": "he", "bound": "sigmoid"}
MASK_FLAGS = "--mask lam --mask-depth 3 --mask-fusion sum --mask-shared --mask-identity"
MASK_FLAGS += " --mask-init he --mask-bound sigmoid"
MODEL = {"clips": 8, "d": 16, "d_ff": 16, "layers": 1, "heads": 2, "dropout": 0.2, "dropout_in": 0.3}
TRAINING = {"lr": 1e-3, "warmup": 0.5, "decay_at": [3], "weight_decay": 0, "batch_size": 3, "seed": 4}
TRAINING |= {"patience": 2, "precision": "bf16", "epochs": 1, "device": "cpu"}
FLAGS = "--lr 1e-3 --dropout .2 --dropout-in .3 --warmup .5 --decay-at 3 --weight-decay 0 --batch-size 3"
FLAGS += f" --seed 4 --patience 2 --precision bf16 {MASK_FLAGS}"


@pytest.mark.parametrize(
    ("command", "own", "config", "training"),
    [
        (
            "mrnet",
            "--preset tacos --gamma .9 --decay forward --no-sparse --region vv --region qv --no-cross-modal "
            "--nonlinearity gate --sparsity .5 --queries-per-video 1 --lambda-s 5",
            {"gamma": 0.9, "decay": "forward", "sparse": False, "regions": ["vv", "qv"], "sparsity": 0.5}
            | {"cross_modal": False, "nonlinearity": "gate", "hidden": 64, "kernel": 5},
            {"queries_per_video": 1, "lambda_s": 5, "lambda_c": 0.1, "iou_low": 0.3, "iou_high": 0.7},
        ),
        (
            "detr",
            "--preset captions --n-moments 4 --max-norm 2",
            {"decoder_layers": 1, "n_moments": 4},
            {"max_norm": 2},
        ),
    ],
)
def test_options_reach_the_checkpoint(
    run: Run, data: Path, command: str, own: str, config: Mapping[str, Any], training: Mapping[str, Any]
) -> None:
    assert _with_features(run, command, data, *FLAGS.split(), *own.split()).code == 0
    trained = read_trained("run/best.safetensors")
    assert trained.config.items() >= {**MODEL, "mask": MASK, **config}.items()
    assert trained.training.items() >= {**TRAINING, **training}.items()


@pytest.mark.parametrize(
    ("arguments", "depth"), [((), 32), (("--mask-depth", 5), 5), (("--preset", "captions"), 2)]
)
def test_a_mask_is_as_deep_as_published_on_qvhighlights(
    run: Run, data: Path, arguments: tuple[object, ...], depth: int
) -> None:
    assert _with_features(run, "detr", data, "--mask", "stamp", *arguments).code == 0
    assert read_trained("run/best.safetensors").config["mask"]["depth"] == depth


@both
def test_toy_data_need_no_features(run: Run, monkeypatch: pytest.MonkeyPatch, model: str) -> None:
    monkeypatch.setattr("vidsum.lab.datasets.examples.Toy.__init__.__defaults__", (16, 16, 4, 2, 1.0))
    assert _train(run, model, "toy").code == 0
    trained = read_trained("run/best.safetensors")
    assert trained.features == {"space": "toy"}
    assert trained.training["data"]["toy"]["clips"] == 8


@both
@pytest.mark.parametrize(
    "unread",
    [
        ("--features", "f"),
        ("--space", "vse"),
        ("--text", "clip"),
        ("--validation", "0"),
        ("--text-features", "f"),
    ],
)
def test_toy_data_refuse_what_they_would_not_read(run: Run, model: str, unread: tuple[str, str]) -> None:
    ran = _train(run, model, "toy", *unread)
    assert (ran.code, unread[0] in ran.err) == (2, True)
    if model == "detr":
        assert f"{unread[0]} has no effect with --data toy" in ran.err


def test_one_file_of_annotations_is_read_and_no_other_left_out(run: Run, data: Path) -> None:
    for first, second in (("toy", data), (data, "toy"), (data, data)):
        ran = _train(run, "detr", first, "--data", second, "--features", "f")
        assert (ran.code, ran.err.splitlines()[1:]) == (2, ["  try: one --data"])


@both
def test_toy_data_have_no_captions(run: Run, model: str) -> None:
    ran = _train(run, model, "toy", "--recipe", "captions")
    assert (ran.code, "--data toy has no captions" in ran.err) == (2, True)
    assert ran.err.splitlines()[1:] == ["  try: --data FILE, or leave out --recipe captions"]


def test_a_file_is_not_taken_for_the_folder_of_a_run(run: Run, data: Path) -> None:
    Path("run").write_text("mine")
    ran = _with_features(run, "mrnet", data)
    assert (ran.code, "run: is a file, not a folder" in ran.err) == (1, True)
    assert Path("run").read_text() == "mine"


@pytest.mark.parametrize(("model", "option"), [("mrnet", "gamma"), ("detr", "max-norm")])
def test_a_config_file_sets_options(run: Run, data: Path, model: str, option: str) -> None:
    Path("run.yaml").write_text(f"train:\n  {model}:\n    {option}: 0.5\n    decay-at: [2, 4]\n")
    assert _with_features(run, model, data, "--config", "run.yaml").code == 0
    trained = read_trained("run/best.safetensors")
    assert {**trained.config, **trained.training}[option.replace("-", "_")] == 0.5
    assert trained.training["decay_at"] == [2, 4]


FEATURES = "--features features "
ANY_MASK, NO_INIT = "--mask lam or --mask stamp or --mask static", "leave out mask_init"
CLIPS = "--features FILE.jsonl, or leave out --recipe captions"
BAD: list[tuple[str, str, int, str, str | None]] = [
    ("both", "", 2, "no features to train on", "--features FILE or FOLDER; or --data toy"),
    ("both", "--features nowhere", 3, "nowhere: no such file or folder", None),
    ("both", FEATURES + "--validation val.json", 3, "val.json", None),
    ("both", FEATURES + "--validation 1.5", 2, "less than 1, not 1.5", None),
    ("both", FEATURES + "--lr 0", 2, "lr must be above 0", None),
    ("both", FEATURES + "--space clip --text glove", 2, "by clip, not by glove", "--text clip"),
    ("mrnet", FEATURES + "--query-features q", 3, "q: not a folder with a file per query", None),
    ("mrnet", FEATURES + "--query-features q --text glove", 2, "--text has no effect with", "leave it out"),
    ("mrnet", "--query-features q --recipe captions", 2, "--query-features has no effect", "leave it out"),
    ("detr", FEATURES + "--query-features q", 2, "No such option '--query-features'", None),
    ("both", "--mask-depth 2", 2, "--mask-depth: there is no mask", ANY_MASK),
    ("both", FEATURES + "--mask static --mask-init he", 2, "init has no effect on a static", NO_INIT),
    ("mrnet", FEATURES + "--mask static", 2, "no static mask in MRNet's blocks", "--mask stamp"),
    ("detr", FEATURES + "--model mrnet-detr --mask static", 2, "no static mask in MRNet's", "--mask stamp"),
    ("both", "--videos 9", 2, "--videos has no effect without --recipe captions", "leave it out"),
    ("both", "--clip-s 1 --plain", 2, "--clip-s and --guided or --plain have no effect", "leave them out"),
    ("both", "--recipe captions --text glove", 2, "--text has no effect with --recipe", "leave it out"),
    ("both", "--recipe captions --features c.h5", 2, "accepts captions of clips only", CLIPS),
    ("both", FEATURES + "--joined 0", 2, "--joined has no effect without --recipe", "leave it out"),
    ("both", FEATURES + "--start nothing", 3, "nothing", None),
    ("both", "--recipe captions --validation v.json", 2, "is a fraction of the", "--validation 0.1"),
    ("mrnet", FEATURES + "--d 15", 2, "d must be an even multiple of heads", None),
    ("detr", FEATURES + "--d 18", 2, "d must be a multiple of 4", None),
    ("detr", FEATURES + "--text-features nowhere", 3, "nowhere", None),
    ("detr", "--recipe captions --text-features f", 2, "--text-features has no effect", "leave it out"),
]


@pytest.mark.parametrize(
    ("model", "arguments", "code", "message", "hint"),
    [(model, *rest) for kind, *rest in BAD for model in OWN if kind in (model, "both")],
)
def test_bad_input_in_one_line(
    run: Run, data: Path, model: str, arguments: str, code: int, message: str, hint: str | None
) -> None:
    words = [data.parent / "features" if word == "features" else word for word in arguments.split()]
    ran = _train(run, model, data, *words)
    assert ran.code == code
    lines = ran.err.splitlines()
    assert message in lines[0]
    assert not hint or lines[1:] == [f"  try: {hint}"]


def test_missing_annotations(run: Run, data: Path) -> None:
    ran = _train(run, "mrnet", "missing.json", "--features", data.parent / "features")
    assert (ran.code, "missing.json" in ran.err) == (3, True)


@pytest.mark.parametrize(
    ("model", "option", "change"),
    [("mrnet", "--gamma", "gamma was 0.98, is 0.5"), ("detr", "--dropout", "dropout was 0.1, is 0.5")],
)
def test_a_run_with_other_settings_is_left_alone(
    run: Run, data: Path, model: str, option: str, change: str
) -> None:
    _with_features(run, model, data)
    ran = _with_features(run, model, data, option, 0.5)
    assert (ran.code, f"config.{change}" in ran.err) == (1, True)
    assert _with_features(run, model, data, option, 0.5, "--overwrite").code == 0
