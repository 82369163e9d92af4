"""Captions of frames joined with people's annotations: annotated videos whose features are sentences."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from vidsum import checkpoints, shots
from vidsum.datasets.frame_captions import FrameCaptions, read_frame_captions
from vidsum.datasets.group import IntArray
from vidsum.datasets.summaries import AnnotatedVideo
from vidsum.datasets.summe import read_summe_protocol
from vidsum.datasets.tvsum import read_tvsum_mat
from vidsum.errors import InputError, UsageError
from vidsum.features.h5 import PUBLISHED_FPS, PUBLISHED_STRIDE
from vidsum.grounding.text import embed_once, load_text_encoder
from vidsum.text_files import named
from vidsum.types import Features, FloatArray, Progress

ENCODER: Final = "minilm"
"""The text encoder of the captions, and the name of their features' extractor."""
DATASETS: Final = {".mat": "tvsum", ".npz": "summe"}
"""The data set of a file of annotations, by its suffix."""


@dataclass(frozen=True, eq=False)
class _Labels:
    """A video as people annotated it."""

    caption_name: str
    n_frames: int
    fps: float
    gtscore: FloatArray | None = None
    """[every 15th frame]; None where it is the mean of the annotators' scores."""
    change_points: IntArray | None = None
    user_summary: FloatArray | None = None
    user_scores: FloatArray | None = None
    """[U, n_frames] from 1 to 5."""


def captioned_videos(
    captions: Path, annotations: Path, device: str = "auto", progress: Progress | None = None
) -> dict[str, AnnotatedVideo]:
    """Annotated videos whose features are the captions of their frames, embedded by MiniLM.

    Args:
        captions: see `vidsum.datasets.frame_captions`.
        annotations: TVSum's `ydata-tvsum50.mat`, or SumMe's protocol (`vidsum.datasets.summe`, `.npz`).
        device: where the text encoder runs. Embeddings are kept on disk.
        progress: called while captions are embedded.

    Returns:
        The videos by the names of the published files, `tvsum/video_1` and so on. TVSum's file has no shots:
        they come from KTS on the captions. SumMe's protocol says nothing of the frame rate: 30 is assumed.

    Raises:
        InputError: a file cannot be read, an annotated video has no captions, or they do not go together.
        UsageError: the annotations are of another kind.
        WeightsError: the text encoder's weights cannot be had.
    """
    labels, of_frames = _read_labels(annotations), read_frame_captions(captions)
    for name, label in labels.items():
        if label.caption_name not in of_frames:
            raise InputError(f"{captions}: has no captions of {named(label.caption_name)} ({name})")
    used = {label.caption_name: of_frames[label.caption_name] for label in labels.values()}
    texts = sorted({text for video in used.values() for text in video.captions})
    embedded = embed_once(
        texts,
        lambda part: load_text_encoder(ENCODER, device).encode(part),
        checkpoints.sha256_of(ENCODER),
        progress,
    )
    vectors = dict(zip(texts, embedded, strict=True))
    return {
        name: _video(name, label, used[label.caption_name], vectors, captions)
        for name, label in labels.items()
    }


def _read_labels(path: Path) -> dict[str, _Labels]:
    if path.suffix == ".mat":
        return {
            name: _Labels(
                video.video, video.n_frames, video.n_frames / video.length_s, user_scores=video.user_scores
            )
            for name, video in read_tvsum_mat(path).items()
        }
    if path.suffix == ".npz":
        return {
            name: _Labels(
                video.caption_name,
                video.n_frames,
                PUBLISHED_FPS,
                video.gtscore,
                video.change_points,
                video.user_summary,
            )
            for name, video in read_summe_protocol(path).items()
        }
    raise UsageError(
        f"{path}: annotations for captions are TVSum's .mat file or SumMe's protocol (.npz)",
        hint="--annotations ydata-tvsum50.mat",
    )


def _video(
    name: str, label: _Labels, captions: FrameCaptions, vectors: Mapping[str, FloatArray], source: Path
) -> AnnotatedVideo:
    is_in = captions.picks < label.n_frames
    picks = captions.picks[is_in]
    if not len(picks):
        raise InputError(f"{source}: {captions.name} has {label.n_frames} frames, and captions of none")
    array = np.stack([vectors[text] for text in captions.captions[: len(picks)]])
    step_s = float(np.median(np.diff(picks, append=label.n_frames))) / label.fps
    features = Features(
        array, picks / label.fps, step_s, step_s, label.n_frames / label.fps, label.fps, extractor=ENCODER
    )
    scores = None if label.user_scores is None else label.user_scores[:, picks]
    if label.gtscore is not None:
        gtscore = label.gtscore[np.minimum(picks // PUBLISHED_STRIDE, len(label.gtscore) - 1)]
    else:
        assert scores is not None
        gtscore = (scores.mean(axis=0) - 1) / 4  # as the published h5 files have it
    points = label.change_points
    if points is None:
        points = shots.find(features).change_points
    return AnnotatedVideo(name, features, picks, label.n_frames, points, gtscore, label.user_summary, scores)
