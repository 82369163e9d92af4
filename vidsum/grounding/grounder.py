"""Moments and saliency by a trained DETR model, in a video of any length.

docs/algorithms/detr.md tells how windows of a long video are joined, and what the numbers mean.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Literal, NamedTuple

import numpy as np
import torch

from vidsum.checkpoints.trained import Trained, built
from vidsum.device import choose_device
from vidsum.errors import InputError, UsageError
from vidsum.grounding.clips import clips_of
from vidsum.grounding.guide import guided_rows, reads_of, rows_of
from vidsum.grounding.nms import suppress
from vidsum.grounding.proposals import MAX_IOU, moments_of
from vidsum.grounding.spaces import ClipEmbeddings
from vidsum.grounding.windows import placed, stretches_of
from vidsum.models.configs import DETRConfig
from vidsum.models.detr_inputs import inputs_of
from vidsum.models.detr_models import MODELS, DETRModel, build
from vidsum.models.spans import start_end
from vidsum.text_files import named
from vidsum.types import FloatArray, Moment, TimeArray

_BATCH = 32
"""Pairs of a window and a query at a time."""


Moments = Literal["spans", "saliency"]
"""Where moments come from: what the decoder answers, as published, or the runs of the saliency.

Of models with a guide it is the saliency, which they are better at: they clean a curve that is there
(docs/algorithms/detr.md).
"""


@dataclass(frozen=True, eq=False)
class DETRGrounder:
    """A DETR model that is ready to use, and what it reads."""

    model: DETRModel
    space: str
    """Of its clips and queries, see `vidsum.grounding.spaces`."""
    clip_s: float
    """Seconds of a clip: a video of more clips than the model reads goes through it in windows."""
    name: str
    """For messages: the path or the registry's name."""
    guided: bool = False
    """Whether its clips come with a guide, see `vidsum.grounding.guide`."""
    sampled: bool = False
    """Whether a clip is a single row of the video, as features were published at a rate, and not a mean."""
    moments: Moments = "spans"


class Found(NamedTuple):
    """What a query finds."""

    moments: list[Moment]
    """Best first, at least one."""
    saliency: FloatArray
    """[T] of each clip of the video's grid, in no unit: it orders the clips of one video for one query."""


class _Seen(NamedTuple):
    """What the model sees in one window: N stretches, t clips."""

    chances: FloatArray
    """[N] of each stretch to be a moment"""
    shares: FloatArray
    """[N, 2] start and end of it, as shares of the window"""
    saliency: FloatArray
    """[t]"""


def grounder_of(trained: Trained, name: str, device: str = "auto") -> DETRGrounder:
    """Build the model of a checkpoint that has been read.

    Raises:
        InputError: it is of another model, its tensors do not fit its configuration, or it does not say what
            it reads.
    """
    if trained.model not in MODELS:
        raise InputError(f"{name}: a checkpoint of {named(trained.model)}, not of {', '.join(MODELS)}")
    model = built(trained, trained.model, lambda given: build(trained.model, DETRConfig(**given)), name)
    reads = reads_of(trained, name)
    return DETRGrounder(
        model.to(choose_device(device)),
        reads.space,
        reads.clip_s,
        name,
        reads.guided,
        sampled="fps" in trained.features,
        moments="saliency" if reads.guided else "spans",
    )


def ground_video(
    grounder: DETRGrounder,
    video: ClipEmbeddings,
    words: Sequence[FloatArray],
    queries: FloatArray | None = None,
    top_k: int = 5,
    *,
    max_iou: float = MAX_IOU,
) -> list[Found]:
    """The moments of each query, best first, and the saliency of each clip to it.

    The score of a span is its chance not to be background: in [0, 1], the same in every window and video. No
    span is shorter than a clip of the grid. That of a run of saliency is how far it stands out of its video,
    see `vidsum.grounding.proposals.moments_of`. Saliency is the mean over the shortest windows that have the
    clip.

    Args:
        grounder: the model.
        video: in the space that the model reads.
        words: the tokens of M queries, a [W, Dq] for each; what is longer than the model reads is cut.
        queries: [M, D] the same in the space, where the model has a guide.
        top_k: most moments of a query.
        max_iou: see `vidsum.grounding.nms.suppress`.

    Raises:
        UsageError: video or words are of another size than those that the model reads.
    """
    grid = _every_clip(video, grounder.clip_s) if grounder.sampled else video
    windows = stretches_of(round(grounder.model.config.clips * grounder.clip_s / grid.step_s), len(grid))
    seen = _seen(grounder, _clips(grounder, grid, windows, words, queries), words, len(windows))
    row_of = np.minimum((video.timestamps / grid.step_s + 1e-6).astype(np.int64), len(grid) - 1)
    found = []
    while of_query := list(islice(seen, len(windows))):
        saliency = _saliency(len(grid), windows, of_query)[row_of]
        if grounder.moments == "saliency":
            of_video = (video.timestamps, video.step_s, video.duration_s)
            moments = moments_of(saliency, *of_video, top_k, max_iou=max_iou)
        else:
            moments = suppress(_ranked(grid, windows, of_query), max_iou, top_k)
        found.append(Found(moments, saliency))
    return found


def _every_clip(video: ClipEmbeddings, clip_s: float) -> ClipEmbeddings:
    """A video of longer clips, each the first one that it has of the grid's."""
    stride = max(1, round(clip_s / video.step_s))
    parts = tuple(part[::stride] for part in video.parts)
    return replace(
        video, parts=parts, timestamps=video.timestamps[::stride], step_s=stride * video.step_s, mixtures=()
    )


def _clips(
    grounder: DETRGrounder,
    video: ClipEmbeddings,
    windows: Sequence[slice],
    words: Sequence[FloatArray],
    queries: FloatArray | None,
) -> Iterator[FloatArray]:
    """[t, Dv] of each window, all of them for each query in turn.

    Raises:
        UsageError: video or words are of another size than those that the model reads.
    """
    for one in words:
        _check(grounder, "words", one.shape[1], grounder.model.config.dim_query)
    if not grounder.guided:
        plain = _read(grounder, rows_of(video), windows, video.step_s)
        for _ in words:
            yield from plain
        return
    if queries is None:
        raise UsageError(
            f"{grounder.name} reads a guide, which is made of embeddings", hint="vidsum ground VIDEO"
        )
    for query in queries:
        yield from _read(grounder, guided_rows(video, query), windows, video.step_s)


def _read(
    grounder: DETRGrounder, rows: FloatArray, windows: Sequence[slice], step_s: float
) -> list[FloatArray]:
    """[t, Dv] of each window; refuses rows of another size than the model's."""
    _check(grounder, "clips", rows.shape[1] + 2, grounder.model.config.dim_video)
    return [
        clips_of(rows[stretch], step_s, grounder.clip_s, grounder.model.config.clips) for stretch in windows
    ]


def _check(grounder: DETRGrounder, what: str, size: int, right: int) -> None:
    if size != right:
        also = ", endpoints among them" if what == "clips" else ""
        raise UsageError(
            f"{grounder.name} reads {what} of {right} numbers{also}, not of {size}",
            hint=f"it was trained in the space {grounder.space}",
        )


def _seen(
    grounder: DETRGrounder, clips: Iterable[FloatArray], words: Sequence[FloatArray], n_windows: int
) -> Iterator[_Seen]:
    """What the model sees in each window, all of them for each query in turn; pairs go through in batches."""
    most = grounder.model.config.words
    pairs = ((one, words[number // n_windows][:most]) for number, one in enumerate(clips))
    while batch := list(islice(pairs, _BATCH)):
        yield from _of_batch(grounder.model, *zip(*batch, strict=True))


@torch.inference_mode()
def _of_batch(model: DETRModel, videos: Sequence[FloatArray], words: Sequence[FloatArray]) -> Iterator[_Seen]:
    found = model(*inputs_of(videos, words, next(model.parameters()).device))
    chances = found.logits[-1].float().softmax(-1)[..., 0].cpu().numpy()
    shares = start_end(found.spans[-1].float()).cpu().numpy()
    saliency = found.saliency.float().cpu().numpy()
    return (
        _Seen(chances[number], shares[number], saliency[number, : len(video)])
        for number, video in enumerate(videos)
    )


def _ranked(video: ClipEmbeddings, windows: tuple[slice, ...], seen: Sequence[_Seen]) -> Iterator[Moment]:
    """The moments of all windows, best first, but those that an edge of a window may cut."""
    n_rows = np.array([[one.stop - one.start] for one in windows], np.float64)
    starts = np.array([[one.start] for one in windows], np.float64)
    n_clips = np.array([[len(one.saliency)] for one in seen])
    # the last row of the grid may reach beyond the video
    ends = np.minimum((video.duration_s / video.step_s - starts) / n_rows, 1)
    shares = _inside(np.stack([one.shares for one in seen]), 1 / n_rows, ends)
    laid = placed(windows, shares, video.step_s, video.duration_s, margins=0.5 / n_clips)
    chances = np.stack([one.chances for one in seen])[laid.is_whole]
    intervals = laid.intervals_s[laid.is_whole]
    for place in np.argsort(-chances, kind="stable"):
        start_s, end_s = intervals[place]
        yield Moment(float(start_s), float(end_s), float(chances[place]))


def _inside(shares: FloatArray, shortest: TimeArray, ends: TimeArray) -> TimeArray:
    """Stretches [W, N, 2], as shares of windows, brought inside [0, ends] and drawn out to `shortest`."""
    begins, stops = np.moveaxis(shares.astype(np.float64), -1, 0).clip(0, ends)
    lengths = np.minimum(np.maximum(stops - begins, shortest), ends)
    begins = ((begins + stops - lengths) / 2).clip(0, ends - lengths)
    return np.stack([begins, begins + lengths], axis=-1)


def _saliency(n_rows: int, windows: Sequence[slice], seen: Sequence[_Seen]) -> FloatArray:
    """[T] the mean over the shortest windows, whose clips are the finest."""
    total, count = np.zeros(n_rows), np.zeros(n_rows)
    length = windows[0].stop
    middles = (np.arange(length) + 0.5) / length  # a clip is the rows whose middles it has, see `resample`
    for stretch, one in zip(windows, seen, strict=True):
        if stretch.stop - stretch.start == length:
            total[stretch] += one.saliency[(middles * len(one.saliency)).astype(np.int64)]
            count[stretch] += 1
    return np.asarray(total / count, np.float32)
