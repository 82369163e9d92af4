"""Moments by a trained MRNet on published features: the row of `vidsum evaluate moments --run`."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from vidsum.checkpoints.trained import Trained, read_trained
from vidsum.datasets.moments import MomentVideo
from vidsum.datasets.published_features import check_features, read_parts
from vidsum.errors import InputError, UsageError
from vidsum.evaluation.moment_metrics import TOP
from vidsum.evaluation.moment_report import MomentPredictions
from vidsum.grounding.mrnet import Grounder, ground_video, grounder_of
from vidsum.grounding.spaces import ClipEmbeddings
from vidsum.grounding.text import TextEncoder, load_text_encoder
from vidsum.types import FloatArray, Moment, Progress


def moments_by(
    checkpoint: Path,
    sources: Sequence[Path],
    videos: Mapping[str, MomentVideo],
    *,
    max_iou: float,
    device: str = "auto",
    progress: Progress | None = None,
) -> MomentPredictions:
    """The moments that a checkpoint of `vidsum train mrnet` finds for all queries of the data.

    As published, a video of any length is read as a whole, averaged into T clips.

    Args:
        checkpoint: the file.
        sources: features, as the model was trained on; see `vidsum.datasets.published_features`.
        videos: the data.
        max_iou: largest IoU of two moments of a query.
        device: that the model runs on.
        progress: called after each video.

    Raises:
        InputError: the checkpoint or features cannot be read, or a video has none.
        UsageError: the features are of another size than those that the model reads.
        WeightsError: the text encoder's weights cannot be had.
    """
    trained = read_trained(checkpoint)
    grounder = grounder_of(trained, str(checkpoint), device)
    asked = {name: video for name, video in videos.items() if video.queries}
    check_features(sources, asked)
    if asked:
        check_sizes(trained, checkpoint, read_parts(sources, next(iter(asked))))
    encoder = load_encoder_of(trained, checkpoint, device)
    queries = encoder.encode([query.text for video in asked.values() for query in video.queries])
    ends = np.cumsum([len(video.queries) for video in asked.values()])
    found = {}
    for number, (video, rows) in enumerate(zip(asked.values(), np.split(queries, ends[:-1]), strict=True), 1):
        found[video.name] = _moments(grounder, read_parts(sources, video.name), rows, video, max_iou)
        if progress:
            progress("videos searched", number, len(asked))
    return found


def load_encoder_of(trained: Trained, checkpoint: Path, device: str) -> TextEncoder:
    """What embeds the queries of a model of published features.

    Raises:
        InputError: its checkpoint does not say.
        UsageError, WeightsError: see `load_text_encoder`.
    """
    if not isinstance(trained.features.get("text"), str):
        raise InputError(f"{checkpoint}: does not say what embeds its queries (text)")
    return load_text_encoder(trained.features["text"], device)


def check_sizes(trained: Trained, checkpoint: Path, parts: Sequence[FloatArray]) -> None:
    """Make sure that several sources are given in the order of the training, where it was recorded.

    Raises:
        UsageError: they are not.
    """
    given = [part.shape[1] for part in parts]
    learned = trained.features.get("dims", given)
    if given != learned:
        raise UsageError(
            f"{checkpoint}: was trained on sources of {learned} numbers side by side, not of {given}",
            hint="--features in the order of the training",
        )


def _moments(
    grounder: Grounder, parts: tuple[FloatArray, ...], queries: FloatArray, video: MomentVideo, max_iou: float
) -> list[list[Moment]]:
    step_s = video.duration_s / len(parts[0])
    times = np.arange(len(parts[0]), dtype=np.float64) * step_s
    clips = ClipEmbeddings(parts, times, step_s=step_s, duration_s=video.duration_s)
    whole = replace(grounder, clip_s=video.duration_s / grounder.model.config.clips)
    return ground_video(whole, clips, queries, max(TOP), max_iou=max_iou)
