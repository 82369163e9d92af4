"""FullTransNet's recipe: what a run writes and refuses, that it learns, and scores of its test videos."""

import csv
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

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


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[FitResult]]:
    """A run of two splits with a file of its data, and its results."""
    folder = tmp_path_factory.mktemp("trained")
    write_annotated(VIDEOS, folder / "made.h5")
    return folder, train_splits(VIDEOS, SPLITS, SETTINGS, folder / "run", sources=[folder / "made.h5"])


def test_run_has_its_model_data_features_and_settings(trained: tuple[Path, list[FitResult]]) -> None:
    folder, _ = trained
    run, source = read_run(folder / "run"), folder / "made.h5"
    assert run["model"] == "fulltransnet"
    assert run["data"] == [{"name": "made.h5", "bytes": source.stat().st_size, "sha256": hash_file(source)}]
    assert run["features"] == {"extractor": "custom", "dim": DIM, "fps": 2.0}
    assert run["settings"]["lr"] == 1e-3
    assert run["settings"]["loop"]["seed"] == 1
    assert run["settings"]["model"]["d"] == 8


def test_run_has_its_splits_with_a_video_held_out(trained: tuple[Path, list[FitResult]]) -> None:
    entries = read_run(trained[0] / "run")["splits"]
    assert [entry["name"] for entry in entries] == [split.name for split in SPLITS]
    for entry, split in zip(entries, SPLITS, strict=True):
        assert tuple(entry["test"]) == split.test
        assert set(entry["train"]) | set(entry["validation"]) == set(split.train)
        assert len(entry["validation"]) == 1


def test_run_has_a_folder_for_each_split(trained: tuple[Path, list[FitResult]]) -> None:
    folder, results = trained
    for number, (entry, result) in enumerate(zip(read_run(folder / "run")["splits"], results, strict=True)):
        assert entry["folder"] == f"split_{number}"
        assert result.checkpoint == folder / "run" / entry["folder"] / "best.safetensors"


def test_checkpoint_has_its_split_and_data(trained: tuple[Path, list[FitResult]]) -> None:
    folder, results = trained
    run = read_run(folder / "run")
    for entry, result in zip(run["splits"], results, strict=True):
        training = read_trained(result.checkpoint).training
        parts = ("name", "train", "validation", "test")
        assert training["split"] == {key: entry[key] for key in parts}
        assert training["data"] == run["data"]


@pytest.fixture(scope="module")
def second_split(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run whose second split alone is trained."""
    folder = tmp_path_factory.mktemp("second")
    train_split(prepare_run(VIDEOS, SPLITS, SETTINGS, folder), 1)
    return folder


def test_only_the_split_that_is_asked_for_is_trained(second_split: Path) -> None:
    assert [path.name for path in second_split.glob("split_*")] == ["split_1"]


def test_checkpoint_knows_its_features(second_split: Path) -> None:
    summarizer = load_importance_model(str(second_split / "split_1" / "best.safetensors"), "cpu")
    assert (summarizer.dim, summarizer.extractor, summarizer.fps) == (DIM, "custom", 2.0)


def test_checkpoint_has_the_best_validation_of_the_log(second_split: Path) -> None:
    summarizer = load_importance_model(str(second_split / "split_1" / "best.safetensors"), "cpu")
    with (second_split / "split_1" / "log.csv").open(newline="") as file:
        logged = [float(row["validation"]) for row in csv.DictReader(file)]
    (name,) = read_run(second_split)["splits"][1]["validation"]
    curve = importance(summarizer, VIDEOS[name].features, shots_of(VIDEOS[name]))
    assert kendall_tau_b(curve, VIDEOS[name].gtscore)[0, 0] == pytest.approx(max(logged))


@pytest.mark.deep
def test_most_important_shot_of_an_unseen_video_is_learned(tmp_path: Path) -> None:
    videos = toy_videos(16)
    names = sorted(videos)
    split = Split("toy", tuple(names[4:]), tuple(names[:4]))
    model, loop = replace(SMALL, d=16, head="pointer"), LoopSettings(epochs=18, seed=0)
    settings = replace(SETTINGS, model=model, loop=loop, lr=3e-3, validation=0.0)
    (result,) = train_splits(videos, [split], settings, tmp_path)
    assert result.history[-1].loss < 0.6 * result.history[0].loss
    summarizer = load_importance_model(str(result.checkpoint), "cpu")
    for name in split.test:
        curve = importance(summarizer, videos[name].features, shots_of(videos[name]))
        important = videos[name].gtscore == 1
        assert curve[important].mean() > 2 * curve[~important].mean()


def test_split_trained_alone_has_the_bytes_of_one_trained_with_others(second_split: Path, run: Path) -> None:
    for name in ("split_1/best.safetensors", "split_1/last.safetensors", "run.json"):
        assert (second_split / name).read_bytes() == (run / name).read_bytes(), name


@pytest.fixture
def first_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], torch.Tensor]:
    """Weights of a layer before the first step, by the seed."""

    def make(seed: int) -> torch.Tensor:
        models: list[FullTransNet] = []

        def fit(recipe: Any, *_: Any, **__: Any) -> SimpleNamespace:
            models.append(recipe.model)
            return SimpleNamespace(warnings=())

        monkeypatch.setattr("vidsum.lab.training.train_fulltransnet.fit", fit)
        settings = replace(SETTINGS, loop=LoopSettings(seed=seed))
        train_split(prepare_run(VIDEOS, SPLITS, settings, tmp_path, overwrite=True), 0)
        return models[0].encoder[0].feed_forward.inner.weight

    return make


def test_first_weights_are_of_the_seed(first_weights: Callable[[int], torch.Tensor]) -> None:
    assert torch.equal(first_weights(1), first_weights(1))
    assert not torch.equal(first_weights(1), first_weights(2))


def test_first_weights_are_xaviers(first_weights: Callable[[int], torch.Tensor]) -> None:
    bound = (6 / (SMALL.d + SMALL.d_ff)) ** 0.5
    assert 0.8 * bound < first_weights(1).abs().max() <= bound


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


NAME = SPLITS[0].train[0]
ONE_SHOT = replace(VIDEOS[NAME], change_points=np.array([[0, VIDEOS[NAME].n_frames - 1]]))


def test_video_without_a_key_shot_is_left_out_with_a_warning(tmp_path: Path) -> None:
    settings = replace(SETTINGS, validation=0)
    run = prepare_run({**VIDEOS, NAME: ONE_SHOT}, SPLITS[:1], settings, tmp_path)
    (warning,) = train_split(run, 0)[1]
    assert warning == f"{NAME}: not trained on, as none of its shots makes a summary of 15 %"


def test_videos_that_all_lack_a_key_shot_are_refused(tmp_path: Path) -> None:
    videos = {name: replace(ONE_SHOT, name=name) for name in VIDEOS}
    with pytest.raises(UsageError, match="no training video has a shot"):
        train_splits(videos, SPLITS[:1], replace(SETTINGS, validation=0), tmp_path)


damaged = pytest.mark.parametrize("content", ["", "[]", '{"schema": "x"}'])


@damaged
def test_damaged_run_json_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "run.json").write_text(content)
    with pytest.raises(InputError, match=r"run\.json: "):
        prepare_run(VIDEOS, SPLITS, SETTINGS, tmp_path)


@damaged
def test_damaged_run_json_is_overwritten(tmp_path: Path, content: str) -> None:
    (tmp_path / "run.json").write_text(content)
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


def test_each_video_is_scored_by_the_model_that_has_not_seen_it(run: Path) -> None:
    tested = predict_run(run, VIDEOS, device="cpu")
    assert tested.scores.keys() == tested.videos.keys() == VIDEOS.keys()
    for number, split in enumerate(SPLITS):
        model = load_importance_model(str(run / f"split_{number}" / "best.safetensors"), "cpu")
        for name in split.test:
            expected = importance(model, VIDEOS[name].features, shots_of(VIDEOS[name]))
            assert np.array_equal(tested.scores[name], expected)


BLIND = {name: without_labels(video) for name, video in VIDEOS.items()}


def test_videos_are_scored_without_their_labels(run: Path) -> None:
    tested, blind = (predict_run(run, videos, device="cpu") for videos in (VIDEOS, BLIND))
    assert all(np.array_equal(tested.scores[name], blind.scores[name]) for name in VIDEOS)


def test_protocol_of_the_paper_looks_at_labels_and_says_so(run: Path) -> None:
    tested, blind = (predict_run(run, videos, "paper", device="cpu") for videos in (VIDEOS, BLIND))
    assert tested.row == f"{run.name} (uses ground truth at test time)"
    assert any(not np.array_equal(tested.scores[name], blind.scores[name]) for name in VIDEOS)


SAME_STEP = replace(SETTINGS, model=replace(SMALL, target="same-step"))


def test_decoder_of_the_same_step_cannot_be_validated(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="target='same-step'") as caught:
        train_splits(VIDEOS, SPLITS, SAME_STEP, tmp_path)
    assert caught.value.hint == "validation=0 takes the last epoch"


def test_decoder_of_the_same_step_is_measured_with_labels_only(tmp_path: Path) -> None:
    train_splits(VIDEOS, SPLITS, replace(SAME_STEP, validation=0), tmp_path)
    tested = predict_run(tmp_path, VIDEOS, "paper", device="cpu")
    assert tested.scores.keys() == VIDEOS.keys()
    with pytest.raises(UsageError, match="repeats the key frames"):
        predict_run(tmp_path, VIDEOS, device="cpu")


TESTED = SPLITS[0].test[0]
LONGER = {**VIDEOS, TESTED: toy_video(TESTED, n_shots=20)}


def test_protocol_of_the_paper_refuses_a_video_longer_than_the_model(run: Path) -> None:
    with pytest.raises(UsageError, match=f"{TESTED} has 80 samples; the model has positions for 64"):
        predict_run(run, LONGER, "paper", device="cpu")


def test_video_longer_than_the_model_is_scored_in_parts(run: Path) -> None:
    assert len(predict_run(run, LONGER, device="cpu").scores[TESTED]) == 80


def test_protocol_of_the_paper_refuses_features_of_another_size(run: Path) -> None:
    wide = np.zeros((len(VIDEOS[TESTED].features), 9), np.float32)
    video = replace(VIDEOS[TESTED], features=replace(VIDEOS[TESTED].features, array=wide))
    with pytest.raises(UsageError, match=r"reads features of \d numbers, not of 9"):
        predict_run(run, {**VIDEOS, TESTED: video}, "paper", device="cpu")


def test_missing_test_video_is_named(run: Path) -> None:
    with pytest.raises(UsageError, match=f"tests on {SPLITS[0].test[0]}, which is not in the data"):
        predict_run(run, {name: VIDEOS[name] for name in SPLITS[0].train})


def test_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"holds no training run \(run\.json\)"):
        predict_run(tmp_path, VIDEOS)
