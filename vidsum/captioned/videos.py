"""Captions of frames joined with people's annotations: annotated videos whose features are sentences."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from vidsum import checkpoints, shots
from vidsum.datasets.annotations import read_labels
from vidsum.datasets.frame_captions import FrameCaptions, read_frame_captions
from vidsum.datasets.labels import Labels
from vidsum.datasets.summaries import AnnotatedVideo
from vidsum.errors import InputError
from vidsum.grounding.text import embed_once, load_text_encoder
from vidsum.scaling import unit_rows
from vidsum.text_files import named
from vidsum.types import Features, FloatArray, Progress

ENCODER: Final = "minilm"
"""The text encoder of the captions, and the name of their features' extractor."""
_SAME_SHOT = 0.6
"""Neighbouring frames whose captions have a smaller cosine are of different shots."""


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
    labels, of_frames = read_labels(annotations), read_frame_captions(captions)
    for name, label in labels.items():
        if label.file_name not in of_frames:
            raise InputError(f"{captions}: has no captions of {named(label.file_name)} ({name})")
    used = {label.file_name: of_frames[label.file_name] for label in labels.values()}
    texts = sorted({text for video in used.values() for text in video.captions})
    embedded = embed_once(
        texts,
        lambda part: load_text_encoder(ENCODER, device).encode(part),
        checkpoints.sha256_of(ENCODER),
        progress,
    )
    vectors = dict(zip(texts, embedded, strict=True))
    return {
        name: _video(name, label, used[label.file_name], vectors, captions) for name, label in labels.items()
    }


def _video(
    name: str, label: Labels, captions: FrameCaptions, vectors: Mapping[str, FloatArray], source: Path
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
    gtscore, scores = label.scores_at(picks)
    points = label.change_points
    if points is None:
        points = shots.find(features).change_points
    return AnnotatedVideo(name, features, picks, label.n_frames, points, gtscore, label.user_summary, scores)


def shots_of_captions(captions: FloatArray) -> npt.NDArray[np.int64]:
    """[T] number of the shot of each caption's frame: another one begins where the caption is another."""
    rows = unit_rows(captions)
    is_new = np.einsum("td,td->t", rows[1:], rows[:-1]) < _SAME_SHOT
    return np.concatenate([[0], np.cumsum(is_new)])
