"""FullTransNet's recipe: what a run writes and refuses, that it learns, and scores of its test videos."""

import csv
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.lab.training.videos import DIM, toy_video, toy_videos
from tests.synthetic import write_annotated
from vidsum.checkpoints.trained import read_trained
from vidsum.errors import InputError, OutputError, UsageError
from vidsum.io.provenance import hash_file
from vidsum.lab.datasets.annotated_videos import AnnotatedVideo, shots_of
from vidsum.lab.datasets.splits import Split, k_fold
from vidsum.lab.evaluation.summary_metrics import kendall_tau_b
from vidsum.lab.training.loop import FitResult
from vidsum.lab.training.predict import predict_run
from vidsum.lab.training.run import read_run
from vidsum.lab.training.settings import LoopSettings
from vidsum.lab.training.summary_settings import FullTransNetSettings
from vidsum.lab.training.train_fulltransnet import prepare_run, train_split
from vidsum.models.configs import FullTransNetConfig
from vidsum.models.fulltransnet import FullTransNet
from vidsum.summary.importance_model import importance, load_importance_model

SMALL = FullTransNetConfig(d=8, layers=1, heads=2, d_ff=16, window=5, t_max=64)
VIDEOS = toy_videos(8)
SPLITS = k_fold(VIDEOS, folds=2)
SETTINGS = FullTransNetSettings(model=SMALL, loop=LoopSettings(epochs=2, seed=1), device="cpu")


def train_splits(
    videos: dict[str, AnnotatedVideo],
    splits: Sequence[Split],
    settings: FullTransNetSettings,
    out: Path,
    sources: Sequence[Path] = (),
) -> list[FitResult]:
    """Train a model for each split."""
    run = prepare_run(videos, splits, settings, out, sources=sources)
    return [train_split(run, number)[0] for number in range(len(splits))]


def test_a_run_has_a_folder_a_split_and_says_what_it_was(tmp_path: Path) -> None:
    source = tmp_path / "made.h5"
    write_annotated(VIDEOS, source)
    results = train_splits(VIDEOS, SPLITS, SETTINGS, tmp_path / "run", sources=[source])
    run = read_run(tmp_path / "run")
    assert run["model"] == "fulltransnet"
    assert run["data"] == [{"name": "made.h5", "bytes": source.stat().st_size, "sha256": hash_file(source)}]
    assert run["features"] == {"extractor": "custom", "dim": DIM, "fps": 2.0}
    assert run["settings"]["lr"] == 1e-3
    assert run["settings"]["loop"]["seed"] == 1
    assert run["settings"]["model"]["d"] == 8
    assert [entry["name"] for entry in run["splits"]] == [split.name for split in SPLITS]
    for number, (entry, split, result) in enumerate(zip(run["splits"], SPLITS, results, strict=True)):
        assert tuple(entry["test"]) == split.test
        assert set(entry["train"]) | set(entry["validation"]) == set(split.train)
        assert len(entry["validation"]) == 1
        assert entry["folder"] == f"split_{number}"
        assert result.checkpoint == tmp_path / "run" / entry["folder"] / "best.safetensors"
        trained = read_trained(result.checkpoint)
        parts = ("name", "train", "validation", "test")
        assert trained.training["split"] == {key: entry[key] for key in parts}
        assert trained.training["data"] == run["data"]


def test_the_checkpoint_builds_the_model_again(tmp_path: Path) -> None:
    run = prepare_run(VIDEOS, SPLITS, SETTINGS, tmp_path)
    checkpoint = train_split(run, 1)[0].checkpoint
    summarizer = load_importance_model(str(checkpoint), "cpu")
    assert (summarizer.dim, summarizer.extractor, summarizer.fps) == (DIM, "custom", 2.0)
    assert not (tmp_path / "split_0").exists()
    with (tmp_path / "split_1" / "log.csv").open(newline="") as file:
        logged = [float(row["validation"]) for row in csv.DictReader(file)]
    name = run.splits[1].validation[0]
    curve = importance(summarizer, VIDEOS[name].features, shots_of(VIDEOS[name]))
    assert kendall_tau_b(curve, VIDEOS[name].gtscore)[0, 0] == pytest.approx(max(logged))


def test_it_learns_the_rule_of_the_videos(tmp_path: Path) -> None:
    """A video that was never seen: its most important shot must come out on top."""
    videos = toy_videos(16)
    names = sorted(videos)
    split = Split("toy", tuple(names[4:]), tuple(names[:4]))
    model, loop = replace(SMALL, d=16, head="pointer"), LoopSettings(epochs=18, seed=0)
    settings = replace(SETTINGS, model=model, loop=loop, lr=3e-3, validation=0.0)
    (result,) = train_splits(videos, [split], settings, tmp_path)
    losses = [epoch.loss for epoch in result.history]
    assert losses[-1] < 0.6 * losses[0]
    summarizer = load_importance_model(str(result.checkpoint), "cpu")
    for name in split.test:
        curve = importance(summarizer, videos[name].features, shots_of(videos[name]))
        important = videos[name].gtscore == 1
        assert curve[important].mean() > 2 * curve[~important].mean()


def test_same_seed_same_bytes_and_splits_do_not_depend_on_each_other(tmp_path: Path) -> None:
    train_splits(VIDEOS, SPLITS, SETTINGS, tmp_path / "both")
    train_split(prepare_run(VIDEOS, SPLITS, SETTINGS, tmp_path / "one"), 1)
    for name in ("best.safetensors", "last.safetensors"):
        both, one = (tmp_path / run / "split_1" / name for run in ("both", "one"))
        assert both.read_bytes() == one.read_bytes()
    assert (tmp_path / "both" / "run.json").read_bytes() == (tmp_path / "one" / "run.json").read_bytes()


def test_the_first_weights_are_xavier_and_of_the_seed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first: list[FullTransNet] = []
    monkeypatch.setattr(
        "vidsum.lab.training.train_fulltransnet.fit", lambda recipe, *_, **__: first.append(recipe.model)
    )
    for number, seed in enumerate((1, 1, 2)):
        settings = replace(SETTINGS, loop=LoopSettings(seed=seed))
        train_split(prepare_run(VIDEOS, SPLITS, settings, tmp_path / str(number)), 0)
    weights = [model.encoder[0].feed_forward.inner.weight for model in first]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])
    bound = (6 / (SMALL.d + SMALL.d_ff)) ** 0.5
    assert 0.8 * bound < weights[0].abs().max() <= bound


def test_overwriting_one_split_leaves_the_others(tmp_path: Path) -> None:
    train_splits(VIDEOS, SPLITS, SETTINGS, tmp_path)
    run = prepare_run(VIDEOS, SPLITS, SETTINGS, tmp_path, overwrite=True)
    assert not train_split(run, 0, overwrite=True)[0].up_to_date
    assert train_split(run, 1)[0].up_to_date


def test_changed_data_are_reported(tmp_path: Path) -> None:
    source = tmp_path / "made.h5"
    source.write_bytes(b"before")
    prepare_run(VIDEOS, SPLITS, SETTINGS, tmp_path / "run", sources=[source])
    source.write_bytes(b"after!")
    with pytest.raises(OutputError, match=r"data\.0\.sha256 was"):
        prepare_run(VIDEOS, SPLITS, SETTINGS, tmp_path / "run", sources=[source])


def test_without_a_validation_part_all_training_videos_are_used(tmp_path: Path) -> None:
    results = train_splits(VIDEOS, SPLITS, replace(SETTINGS, validation=0), tmp_path)
    trained = read_run(tmp_path)["splits"]
    assert [tuple(split["train"]) for split in trained] == [split.train for split in SPLITS]
    assert [result.best.epoch for result in results] == [2, 2]
    assert read_trained(results[0].checkpoint).training["patience"] is None


def test_test_videos_are_never_looked_at(tmp_path: Path) -> None:
    train_splits(VIDEOS, SPLITS[:1], SETTINGS, tmp_path / "one")
    spoilt = {
        name: replace(video, gtscore=1 - video.gtscore) if name in SPLITS[0].test else video
        for name, video in VIDEOS.items()
    }
    train_splits(spoilt, SPLITS[:1], SETTINGS, tmp_path / "two")
    files = [tmp_path / run / "split_0" / "last.safetensors" for run in ("one", "two")]
    assert files[0].read_bytes() == files[1].read_bytes()


def test_a_video_without_a_key_shot_is_left_out_with_a_warning(tmp_path: Path) -> None:
    name = SPLITS[0].train[0]
    one_shot = replace(VIDEOS[name], change_points=np.array([[0, VIDEOS[name].n_frames - 1]]))
    settings = replace(SETTINGS, validation=0)
    run = prepare_run({**VIDEOS, name: one_shot}, SPLITS[:1], settings, tmp_path / "some")
    (warning,) = train_split(run, 0)[1]
    assert warning == f"{name}: not trained on, as none of its shots makes a summary of 15 %"
    none = {key: replace(one_shot, name=key) for key in VIDEOS}
    with pytest.raises(UsageError, match="no training video has a shot"):
        train_splits(none, SPLITS[:1], settings, tmp_path / "none")


@pytest.mark.parametrize("content", ["", "[]", '{"schema": "x"}'])
def test_a_damaged_run_json_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "run.json").write_text(content)
    with pytest.raises(InputError, match=r"run\.json: "):
        prepare_run(VIDEOS, SPLITS, SETTINGS, tmp_path)
    prepare_run(VIDEOS, SPLITS, SETTINGS, tmp_path, overwrite=True)
    assert json.loads((tmp_path / "run.json").read_text())["model"] == "fulltransnet"


# --- scores of the test videos ---


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("run")
    train_splits(VIDEOS, SPLITS, SETTINGS, out)
    return out


def without_labels(video: AnnotatedVideo) -> AnnotatedVideo:
    return replace(video, gtscore=np.zeros_like(video.gtscore))


def test_each_video_is_scored_by_the_model_that_has_not_seen_it_without_labels(run: Path) -> None:
    blind = {name: without_labels(video) for name, video in VIDEOS.items()}
    tested, unseen = (predict_run(run, videos, device="cpu") for videos in (VIDEOS, blind))
    assert tested.scores.keys() == tested.videos.keys() == VIDEOS.keys()
    for number, split in enumerate(SPLITS):
        model = load_importance_model(str(run / f"split_{number}" / "best.safetensors"), "cpu")
        for name in split.test:
            expected = importance(model, VIDEOS[name].features, shots_of(VIDEOS[name]))
            assert np.array_equal(tested.scores[name], expected)
            assert np.array_equal(unseen.scores[name], expected)
    # the paper's protocol looks at labels, and says so
    seen, unseen = (predict_run(run, videos, "paper", device="cpu") for videos in (VIDEOS, blind))
    assert seen.row == f"{run.name} (uses ground truth at test time)"
    assert any(not np.array_equal(seen.scores[name], unseen.scores[name]) for name in VIDEOS)


def test_a_decoder_of_the_same_step_is_measured_with_labels_only(tmp_path: Path) -> None:
    same = replace(SETTINGS, model=replace(SMALL, target="same-step"))
    with pytest.raises(UsageError, match="target='same-step'") as caught:
        train_splits(VIDEOS, SPLITS, same, tmp_path)
    assert caught.value.hint == "validation=0 takes the last epoch"
    train_splits(VIDEOS, SPLITS, replace(same, validation=0), tmp_path)
    tested = predict_run(tmp_path, VIDEOS, "paper", device="cpu")
    assert tested.scores.keys() == VIDEOS.keys()
    with pytest.raises(UsageError, match="repeats the key frames"):
        predict_run(tmp_path, VIDEOS, device="cpu")


def test_the_protocol_of_the_paper_refuses_what_the_model_cannot_read(run: Path) -> None:
    name = SPLITS[0].test[0]
    longer = {**VIDEOS, name: toy_video(name, n_shots=20)}
    with pytest.raises(UsageError, match=f"{name} has 80 samples; the model has positions for 64"):
        predict_run(run, longer, "paper", device="cpu")
    assert len(predict_run(run, longer, device="cpu").scores[name]) == 80
    wide = replace(VIDEOS[name].features, array=np.zeros((len(VIDEOS[name].features), 9), np.float32))
    with pytest.raises(UsageError, match=r"reads features of \d numbers, not of 9"):
        predict_run(run, {**VIDEOS, name: replace(VIDEOS[name], features=wide)}, "paper", device="cpu")


def test_videos_and_runs_that_are_missing_are_named(run: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=f"tests on {SPLITS[0].test[0]}, which is not in the data"):
        predict_run(run, {name: VIDEOS[name] for name in SPLITS[0].train})
    with pytest.raises(InputError, match=r"holds no training run \(run\.json\)"):
        predict_run(tmp_path, VIDEOS)
