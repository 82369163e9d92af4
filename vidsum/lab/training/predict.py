"""The predictions of a training run's models for the videos that they were not trained on."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final, Literal, NamedTuple

import torch

from vidsum.checkpoints.trained import read_trained
from vidsum.errors import InputError, Mention, UsageError
from vidsum.lab.datasets.annotated_videos import AnnotatedVideo, shot_of_sample, shots_of
from vidsum.lab.training.run import read_run
from vidsum.lab.training.state import BEST
from vidsum.lab.training.train_fulltransnet import example_of, with_inputs
from vidsum.models.fulltransnet import FullTransNet
from vidsum.summary.fulltransnet_scores import Decoded, shot_curve
from vidsum.summary.importance_model import (
    FeatureTransform,
    ImportanceModel,
    build_importance_model,
    importance,
    require_readable,
)
from vidsum.types import FloatArray, Progress, reported

Protocol = Literal["auto", "paper"]

LEAK: Final = "uses ground truth at test time"  # label of every result of the protocol `paper`


class TestedVideos(NamedTuple):
    """The test videos of all splits of a training run, each scored by the model that has not seen it."""

    row: str
    videos: dict[str, AnnotatedVideo]  # by name; one that several splits test has a name for each of them
    scores: dict[str, FloatArray]  # [T] of each


def predict_run(
    out: Path,
    videos: Mapping[str, AnnotatedVideo],
    protocol: Protocol = "auto",
    *,
    device: str = "auto",
    progress: Progress | None = None,
) -> TestedVideos:
    """Score the test videos of the run in a folder, of those splits that are trained; the row says so.

    `auto` decodes with no labels; `paper` feeds the decoder with the test video's own key frames, as the
    paper's figures were made. Raises InputError: no split is trained. UsageError: a test video is missing,
    or its features differ.
    """
    every = read_run(out)["splits"]
    splits = [split for split in every if (out / split["folder"] / BEST).is_file()]
    if not splits:
        fault = f"none of its {len(every)} splits is trained yet"
        raise InputError(fault, hint="the `vidsum train` command of this run goes on with it", subject=out)
    tests = [(split["name"], split["folder"], name) for split in splits for name in split["test"]]
    times = Counter(name for _, _, name in tests)
    notes = [f"{len(splits)} of {len(every)} splits"] if len(splits) < len(every) else []
    notes += [LEAK] if protocol == "paper" else []
    row = out.resolve().name
    tested = TestedVideos(f"{row} ({', '.join(notes)})" if notes else row, {}, {})
    summarizers: dict[str, ImportanceModel] = {}
    for split, folder, name in reported(tests, "videos decoded", progress):
        if name not in videos:
            raise UsageError(
                f"tests on {name}, which is not in the data", hint=Mention("data", "FILE"), subject=out
            )
        if folder not in summarizers:
            path = out / folder / BEST
            summarizers = {folder: build_importance_model(read_trained(path), str(path), device)}
        video, key = videos[name], name if times[name] == 1 else f"{name} ({split})"
        tested.videos[key] = video
        tested.scores[key] = _scores(summarizers[folder], video, protocol)
    return tested


def _scores(summarizer: ImportanceModel, video: AnnotatedVideo, protocol: Protocol) -> FloatArray:
    # at its own rate: every 15th frame is not the same rate in all videos of a data set
    summarizer = replace(summarizer, fps=1 / video.features.step_s)
    if protocol == "auto":
        return importance(summarizer, video.features, shots_of(video))
    require_readable(summarizer, video.features)
    model = summarizer.model
    if not isinstance(model, FullTransNet):
        raise UsageError(f"{summarizer.name} has no decoder to show labels to")
    most, n_samples = model.config.max_samples, len(video.features)
    if most is not None and n_samples > most:
        fault = f"{video.name} has {n_samples} samples; the model has positions for {most}"
        raise UsageError(fault, hint="only decoding without labels goes through longer videos in windows")
    return shot_curve(_decode_with_labels(model, summarizer.inputs, video), shot_of_sample(video))


@torch.inference_mode()
def _decode_with_labels(model: FullTransNet, inputs: FeatureTransform, video: AnnotatedVideo) -> Decoded:
    """Return the model's steps, each given all key frames before it that it should have chosen."""
    read = with_inputs(video, inputs)
    example = example_of(read, model.config.global_tokens, next(model.parameters()).device)
    log_probabilities = model(example.features, example.is_global, example.key_frames)
    key_frames = tuple(example.key_frames[0].tolist())
    return Decoded(key_frames, log_probabilities[0, :, :-1].exp().cpu().numpy())
