"""Every kind of document that vidsum writes, byte for byte as it was, for inputs that are made here.

The stored documents are in `documents/`. Where a document has numbers of a network, those may differ by 1e-4.
`VIDSUM_REGENERATE=1 python -m pytest tests/golden` stores what is written now; see `tests/golden/stored.py`.
"""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from tests.conftest import real_weights
from tests.golden.stored import SAMPLE, check_close, check_text, numbers
from tests.lab.datasets.moment_layouts import write_lines
from tests.program import Run

Arguments = tuple[object, ...]
CPU = ("--device", "cpu")
FP32 = (*CPU, "--precision", "fp32")
"""The precision `auto` depends on the processor."""


def of_scenes(scenes: Sequence[int]) -> np.ndarray:
    """[T, 16] features of samples by the numbers of their scenes.

    Each has four ones or minus ones: lengths and products are exact, whatever order a processor adds in.
    """
    array = np.zeros((len(scenes), 16), np.float32)
    for row, (number, scene) in zip(array, enumerate(scenes), strict=True):
        for place in range(3):
            row[(3 * scene + place * (scene + 1)) % 12] = 1 - 2 * (place * scene % 2)
        row[12 + (number * number + number // 7) % 4] = 1 if number % 3 else -1
        row[np.flatnonzero(row == 0)[: 4 - np.count_nonzero(row)]] = 1
    return array


def save_features(path: Path) -> None:
    """Thirty seconds at 2 fps in four scenes, the last of which is the first again."""
    np.savez(path, features=of_scenes(np.repeat([0, 1, 2, 0], [20, 14, 10, 16]).tolist()))


def save_annotated(path: Path, n_videos: int = 5, *, varied: bool = False) -> None:
    """Videos of 40 samples in ten shots, with four annotators; `varied`: no two samples are alike."""
    with h5py.File(path, "w") as file:
        for number in range(1, n_videos + 1):
            truth = np.repeat(numbers(f"truth {number}", 10), 4)
            of_each = np.clip((truth + numbers(f"annotators {number}", 4, 40) / 4 + 1) / 2, 0, 1)
            stored = of_each.reshape(4, 10, 4).mean(axis=2)
            chosen = np.argsort(-stored, axis=1, kind="stable")[:, :2]
            summary = np.zeros((4, 600), np.float32)
            for row, shots in zip(summary, chosen, strict=True):
                for shot in shots:
                    row[60 * shot : 60 * shot + 60] = 1
            scenes = [(shot * number + shot // 3) % 5 for shot in range(10) for _ in range(4)]
            drawn = numbers(f"features {number}", 40, 6) + truth[:, None]
            video: dict[str, Any] = {
                "features": drawn.astype(np.float32) if varied else of_scenes(scenes),
                "gtscore": of_each.mean(axis=0).astype(np.float32),
                "user_scores": of_each.astype(np.float32),
                "user_summary": summary,
                "picks": 15 * np.arange(40),
                "n_frames": 600,
                "change_points": np.stack([60 * np.arange(10), 60 * np.arange(10) + 59], axis=1),
            }
            for name, value in video.items():
                file[f"video_{number}/{name}"] = value


def save_highlights(path: str = "val.jsonl", n_videos: int = 4, duration_s: int = 20) -> None:
    """Annotations as QVHighlights publishes them, features and words."""
    Path("clip").mkdir()
    Path("words").mkdir()
    n_clips, lines = duration_s // 2, []
    for qid in range(n_videos):
        scores = [[(clip + qid + item) % 5 for item in range(3)] for clip in (1, 2, 3)]
        windows = [[2, 8]] if qid % 2 else [[2, 8], [12, 16]]
        line = {"qid": qid, "query": f"query {qid}", "vid": f"film_{qid}", "duration": duration_s}
        line |= {"relevant_windows": windows, "relevant_clip_ids": [1, 2, 3], "saliency_scores": scores}
        lines.append(line)
        of_video, of_query = numbers(f"clips {qid}", n_clips, 6), numbers(f"words {qid}", 5, 3)
        np.savez(f"clip/film_{qid}.npz", features=of_video.astype(np.float32))
        np.savez(f"words/qid{qid}.npz", last_hidden_state=of_query.astype(np.float32))
    write_lines(Path(path), *lines)


def save_answers(path: str = "mine.jsonl", n_videos: int = 4, n_clips: int = 10) -> None:
    """A submission to `save_highlights`, in part right."""
    lines = []
    for qid in range(n_videos):
        windows = [[2 * qid, 10, 0.9], [0, 8, 0.5], [12, 18, 0.25]]
        saliency = numbers(f"saliency {qid}", n_clips).tolist()
        line = {"qid": qid, "query": f"query {qid}", "vid": f"film_{qid}"}
        lines.append(line | {"pred_relevant_windows": windows, "pred_saliency_scores": saliency})
    write_lines(Path(path), *lines)


def read(path: str) -> str:
    return Path(path).read_text(encoding="utf-8")


# --- shots and summaries of features ---


def test_shots(vidsum: Run) -> None:
    save_features(Path("f.npz"))
    result = vidsum("shots", "f.npz", "--json").out
    check_text("shots.json", read("f_shots.json"))
    check_text("shots.result.json", result)
    assert vidsum("shots", "f.npz", "-o", "-").out == read("f_shots.json")


def test_uniform_shots(vidsum: Run) -> None:
    save_annotated(Path("made.h5"), 1)
    options = ("--shots", "uniform", "--max-shot", "3s")
    check_text("shots_uniform.json", vidsum("shots", "made.h5#video_1", *options, "-o", "-").out)


@pytest.mark.parametrize("model", ["contrastive", "random", "uniform"])
def test_summary(vidsum: Run, model: str) -> None:
    save_features(Path("f.npz"))
    options = ("--model", model, "--budget", "30%")
    result = vidsum("summarize", "f.npz", *options, "-o", "s.json", "--json").out
    check_text(f"summary_{model}.json", read("s.json"))
    check_text(f"summary_{model}.result.json", result)


def test_summary_keep_and_drop(vidsum: Run) -> None:
    save_features(Path("f.npz"))
    options = "--model contrastive --budget 8s --keep 1-2.5 --drop 0:12-15 --drop 20-21"
    check_text("summary_keep_drop.json", vidsum("summarize", "f.npz", *options.split(), "-o", "-").out)


def test_summary_auto(vidsum: Run) -> None:
    save_features(Path("f.npz"))
    check_text("summary_auto.json", vidsum("summarize", "f.npz", "-o", "-").out)


# --- evaluations ---


def test_evaluation_of_summaries(vidsum: Run) -> None:
    save_annotated(Path("made.h5"), 3)
    values = {f"video_{number}": numbers(f"own {number}", 40).tolist() for number in (1, 2)}
    Path("mine.json").write_text(json.dumps(values))
    options: Arguments = ("--scores", "mine.json", "--model", "contrastive", "--seeds", 2)
    options += ("--segmentation", "change-points", "--segmentation", "two-peak")
    result = vidsum("evaluate", "summary", "--data", "made.h5", *options, "-o", "report.json", "--json").out
    check_text("evaluation.json", read("report.json"))
    check_text("evaluation.result.json", result)


def test_evaluation_of_moments(vidsum: Run) -> None:
    save_highlights()
    save_answers()
    options = ("mine.jsonl", "--data", "val.jsonl", "--seeds", 2)
    result = vidsum("evaluate", "moments", *options, "-o", "report.json", "--json").out
    check_text("moment_evaluation.json", read("report.json"))
    check_text("moment_evaluation.result.json", result)


def test_evaluation_of_moments_in_seconds(vidsum: Run) -> None:
    video = {
        "duration": 20,
        "timestamps": [[0, 5], [8, 25], [4, 4]],
        "sentences": ["a dog", "a cat", "a fish"],
    }
    Path("made.json").write_text(json.dumps({"v_a": video}))
    options = ("--data", "made.json", "--comparison", "2d-tan", "--seeds", 2)
    check_text("moment_evaluation_seconds.json", vidsum("evaluate", "moments", *options, "-o", "-").out)


def test_evaluation_of_highlights(vidsum: Run) -> None:
    save_highlights()
    save_answers()
    options = ("mine.jsonl", "val.jsonl", "--seeds", 2)
    result = vidsum("evaluate", "highlights", *options, "-o", "report.json", "--json").out
    check_text("highlight_evaluation.json", read("report.json"))
    check_text("highlight_evaluation.result.json", result)


# --- runs of training, and what their models answer ---

# Dropout's draws depend on the processor: MKL makes them on x86, PyTorch itself elsewhere.
NO_DROPOUT = ("--dropout", 0)
NO_DROPOUT_IN = (*NO_DROPOUT, "--dropout-in", 0)

# MRNet's convolutions have a bias before batch normalisation, whose gradient is 0 but for rounding errors.
# AdamW turns these into steps of the learning rate, and evaluation sees them: some answers depend on the
# processor. So MRNet trains for a few steps and its answers are compared loosely, or with next to no rate.
MRNET = ("--head", "light", "--clips-per-video", 8, "--d", 16, "--d-ff", 16, "--layers", 1, "--heads", 2)


def test_training_run_of_summaries(vidsum: Run) -> None:
    save_annotated(Path("made.h5"), varied=True)
    sizes = ("--d", 8, "--d-ff", 16, "--layers", 1, "--heads", 2, "--epochs", 1, "--warm-up", 0)
    train = ("train", "fulltransnet", "--data", "made.h5", "--out", "run", *sizes, *NO_DROPOUT, *CPU)
    result = vidsum(*train, "--json").out
    check_text("run.json", read("run/run.json"))
    check_close("train_fulltransnet.result.json", result)
    ask = ("evaluate", "summary", "--data", "made.h5", "--run", "run", "--seeds", 2, *CPU)
    check_close("evaluation_run.json", vidsum(*ask, "-o", "-").out)


def test_training_of_detr(vidsum: Run) -> None:
    save_highlights()
    light = "--size light --d 16 --d-ff 16 --layers 1 --decoder-layers 1 --heads 2"
    sizes = (
        *light.split(),
        "--clips-per-video",
        10,
        "--epochs",
        1,
        "--text-features",
        "words",
        *NO_DROPOUT_IN,
        *CPU,
    )
    train = ("train", "detr", "--data", "val.jsonl", "--features", "clip", "--out", "run", *sizes)
    check_close("train_detr.result.json", vidsum(*train, "--json").out)
    ask: Arguments = ("evaluate", "highlights", "val.jsonl", "--run", "run", "--features", "clip", *CPU)
    ask += ("--text-features", "words", "--seeds", 2, "--write-predictions", "p.jsonl")
    check_close("highlight_evaluation_run.json", vidsum(*ask, "-o", "-").out)
    check_close("highlight_predictions.jsonl", read("p.jsonl"))


def test_training_of_mrnet(vidsum: Run) -> None:
    save_highlights()
    train = ("train", "mrnet", "--data", "val.jsonl", "--features", "clip", "--query-features", "words")
    short = (*MRNET, "--epochs", 1, "--validation", 0, *NO_DROPOUT_IN, *CPU)
    check_close("train_mrnet.result.json", vidsum(*train, "--out", "run", *short, "--json").out)


@pytest.mark.deep
@pytest.mark.weights
def test_training_of_mrnet_on_features(vidsum: Run) -> None:
    real_weights("minilm")
    save_highlights()
    train = ("train", "mrnet", "--data", "val.jsonl", "--features", "clip", "--out", "run", *MRNET)
    vidsum(*train, "--text", "minilm", "--epochs", 1, "--lr", 1e-8, *NO_DROPOUT_IN, *CPU)
    ask = ("evaluate", "moments", "--data", "val.jsonl", "--run", "run", "--features", "clip", *CPU)
    check_close("moment_evaluation_run.json", vidsum(*ask, "--seeds", 2, "-o", "-").out)


# --- results that are no documents ---


def test_failed_results(vidsum: Run) -> None:
    save_features(Path("f.npz"))
    Path("bad.npz").write_bytes(b"no features")
    check_text("failed.result.json", vidsum("shots", "f.npz", "bad.npz", "none.npz", "--json", code=1).out)


def test_info_of_a_video(vidsum: Run) -> None:
    shutil.copy(SAMPLE, "bunny.mp4")
    check_text("info.result.json", vidsum("info", "bunny.mp4", "--json").out)


def test_weights(vidsum: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIDSUM_OFFLINE", "1")
    check_text("weights_list.result.json", vidsum("weights", "list", "--json").out)
    check_text("weights_pull.result.json", vidsum("weights", "pull", "mrnet", "--json").out)
    check_text("weights_path.result.json", vidsum("weights", "path", "mrnet", "--json").out)
    check_text("weights_verify.result.json", vidsum("weights", "verify", "mrnet", "--json").out)
    check_text("weights_missing.result.json", vidsum("weights", "pull", "i3d", "--json", code=4).out)


# --- the sample video, by the networks ---


@pytest.fixture
def bunny() -> str:
    """The sample video in the current folder; skipped where the weights cannot be had."""
    for name in ("i3d", "efficientnet_lite0", "minilm"):
        real_weights(name)
    shutil.copy(SAMPLE, "bunny.mp4")
    return "bunny.mp4"


@pytest.mark.deep
@pytest.mark.weights
def test_features_of_a_video(vidsum: Run, bunny: str) -> None:
    check_text(
        "features.result.json", vidsum("extract", bunny, "-o", "f.npz", "--no-cache", *FP32, "--json").out
    )
    with np.load("f.npz") as data:
        check_text("features.json", json.dumps(json.loads(str(data["metadata"])), indent=1) + "\n")
    text = vidsum("extract", bunny, "-o", "-", "--fps", 0.2, *FP32, "--no-cache").out
    document = json.loads(text)
    assert json.dumps(document, indent=1) + "\n" == text
    assert {len(row) for row in document["embeddings"]} == {384}
    for key in ("features", "embeddings"):
        document[key] = [row[:16] for row in document[key]]
    check_close("features_stdout.json", json.dumps(document, indent=1) + "\n")


@pytest.mark.weights
def test_shots_and_summary_of_a_video(vidsum: Run, bunny: str) -> None:
    check_close("video_shots.json", vidsum("shots", bunny, *FP32, "-o", "-").out)
    check_close("video_summary.json", vidsum("summarize", bunny, *FP32, "-o", "-").out)
    result = vidsum("summarize", bunny, "--budget", "5s", *FP32, "--storyboard", "--plot", "--json").out
    check_close("video_summary.result.json", result)


@pytest.mark.deep
@pytest.mark.weights
def test_moments_of_a_video(vidsum: Run, bunny: str) -> None:
    ask = ("ground", bunny, "--query", "a rabbit", "--query", "a butterfly", "-k", 3, "--space", "vse", *FP32)
    check_close("moments.json", vidsum(*ask, "--saliency", "-o", "-").out)
    check_close("moments.result.json", vidsum(*ask, "--model", "similarity", "--json").out)
    check_close("moments_detr.json", vidsum(*ask, "--model", "qd-detr-lam", "--saliency", "-o", "-").out)


@pytest.mark.deep
@pytest.mark.weights
def test_highlights_of_a_video(vidsum: Run, bunny: str) -> None:
    result = vidsum("highlights", bunny, "-k", 3, *FP32, "-o", "h.json", "--json").out
    check_close("highlights.json", read("h.json"))
    check_close("highlights.result.json", result)
