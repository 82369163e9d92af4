"""Moments and saliency by a trained model in a video of any length (docs/algorithms/mrnet.md, detr.md)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, repeat
from typing import Any, Literal, NamedTuple

import numpy as np
import torch

from vidsum.checkpoints.trained import Trained, build_trained
from vidsum.device import choose_device
from vidsum.errors import InputError, UsageError, safe_name
from vidsum.grounding.proposals import MAX_IOU, find_moments, suppress
from vidsum.grounding.spaces import ClipEmbeddings, guide_column
from vidsum.grounding.text_encoders import TextEncoder
from vidsum.grounding.windows import (
    WindowProposals,
    best_at,
    clamp_spans,
    count_clips,
    merge_curves,
    place_proposals,
    resample,
    sliding_windows,
    with_endpoints,
)
from vidsum.models.configs import DETRConfig, MRNetConfig
from vidsum.models.detr import DETR, pad_inputs, start_end
from vidsum.models.detr_models import MODELS as DETR_MODELS
from vidsum.models.detr_models import build
from vidsum.models.mrnet import MRNet, match_scores
from vidsum.results.moments import Moment
from vidsum.types import FloatArray, TimeArray

Model = MRNet | DETR

MomentSource = Literal["spans", "saliency"]
"""Where moments come from: the spans that the model scores, as published, or the runs of its saliency.

Models with a guide use the saliency, which they are better at: they clean a curve that is there
(docs/algorithms/detr.md).
"""


class WindowOutput(NamedTuple):
    """A model's output for one window and one query: N spans, t clips."""

    scores: FloatArray  # [N] in [0, 1], on one scale in all windows and videos
    spans: FloatArray | None = None  # [N, 2] fractions of the window; None for the fixed proposals
    saliency: FloatArray | None = None  # [t]


@dataclass(frozen=True, eq=False)
class MRNetPredictor:
    """MRNet: scores for the spans of every start and end clip, by one vector of a query."""

    model: MRNet
    in_bf16: bool = False
    batch_size = 16  # with the paper's head this takes about 1 GB
    max_words = None  # the whole query is one vector
    n_endpoints = 0

    @cached_property
    def proposals(self) -> TimeArray:
        """[N, 2] start and end of the spans, as fractions of a window."""
        valid = torch.nonzero(self.model.valid).cpu().numpy()
        return np.asarray((valid + np.array([0, 1])) / self.model.config.clips)

    def n_clips(self, n_rows: int, step_s: float, clip_s: float) -> int:
        """Return the number of clips that the model reads of a window, which is always the same."""
        return self.model.config.clips * self.model.config.pool

    @torch.inference_mode()
    def predict(self, clips: Sequence[FloatArray], queries: Sequence[FloatArray]) -> list[WindowOutput]:
        """Return the outputs for B pairs of a window's clips [t, Dv] and a query [1, Dq]."""
        device = next(self.model.parameters()).device
        video, query = (torch.from_numpy(np.stack(rows)).to(device) for rows in (clips, queries))
        with torch.autocast(device.type, torch.bfloat16, enabled=self.in_bf16):
            scores = match_scores(self.model(video, query))[:, 0, self.model.valid]
        return [WindowOutput(row) for row in scores.float().cpu().numpy()]


@dataclass(frozen=True, eq=False)
class DETRPredictor:
    """Models of the DETR family: spans that the decoder predicts from the words of a query, and saliency."""

    model: DETR
    batch_size = 32
    proposals = None
    n_endpoints = 2  # numbers that `with_endpoints` adds to each clip

    @property
    def max_words(self) -> int:
        return self.model.config.words

    def n_clips(self, n_rows: int, step_s: float, clip_s: float) -> int:
        """Return the number of clips that the model reads of a window."""
        return count_clips(n_rows, step_s, clip_s, self.model.config.clips)

    @torch.inference_mode()
    def predict(self, clips: Sequence[FloatArray], queries: Sequence[FloatArray]) -> list[WindowOutput]:
        """Return the outputs for B pairs of a window's clips [t, Dv] and a query [W, Dq]."""
        output = self.model(*pad_inputs(clips, queries, next(self.model.parameters()).device))
        scores = output.logits[-1].float().softmax(-1)[..., 0].cpu().numpy()
        spans = start_end(output.spans[-1].float()).cpu().numpy()
        saliency = output.saliency.float().cpu().numpy()
        return [
            WindowOutput(scores[number], spans[number], saliency[number, : len(rows)])
            for number, rows in enumerate(clips)
        ]


class Prediction(NamedTuple):
    """A model's answer to one query."""

    moments: list[Moment]  # best first, at least one
    saliency: FloatArray | None
    """[T] of each clip of the video's grid, in no unit: it orders the clips of one video for one query. None
    from models without saliency."""
    curve: FloatArray  # [T] of every model: the saliency, or the score of the clip's best proposal


@dataclass(frozen=True, eq=False)
class MomentModel:
    """A trained model that is ready to use, and what it reads."""

    model: Model
    space: str  # space of its clips and queries, see `vidsum.grounding.spaces`
    clip_s: float  # seconds of a clip: a video of more clips than the model reads goes through it in windows
    name: str  # for messages: the path, or the name in the registry
    guided: bool = False  # whether its clips come with a guide, see `vidsum.grounding.spaces.guided_rows`
    sampled: bool = False  # whether a clip is a single row, as published features are, not a mean
    moments: MomentSource = "spans"
    max_iou: float = MAX_IOU  # largest overlap of its moments, see `suppress`
    in_bf16: bool = False  # whether MRNet multiplies in bf16

    @cached_property
    def predictor(self) -> MRNetPredictor | DETRPredictor:
        if isinstance(self.model, MRNet):
            return MRNetPredictor(self.model, self.in_bf16)
        return DETRPredictor(self.model)

    @property
    def family(self) -> Literal["mrnet", "detr"]:
        return "mrnet" if isinstance(self.model, MRNet) else "detr"

    @property
    def max_words(self) -> int | None:
        """Maximum number of tokens of a query; None where the model reads one vector for all of it."""
        return self.predictor.max_words

    def tokens(self, encoder: TextEncoder, texts: Sequence[str]) -> list[FloatArray]:
        """Return each text as the model reads it, [W, Dq]: its tokens, or one vector."""
        return list(encoder.encode(texts)[:, None]) if self.max_words is None else encoder.encode_words(texts)


def build_moment_model(trained: Trained, name: str, device: str = "auto") -> MomentModel:
    """Build the model of a checkpoint called `name`. Raises InputError: it finds no moments or misfits."""
    features, is_detr = trained.features, trained.model in DETR_MODELS
    if not is_detr and trained.model != "mrnet":
        raise InputError(f"a checkpoint of {safe_name(trained.model)}, which finds no moments", subject=name)

    def make(config: Mapping[str, Any]) -> Model:
        return build(trained.model, DETRConfig(**config)) if is_detr else MRNet(MRNetConfig(**config))

    model = build_trained(trained, trained.model, make, name)
    try:
        space, clip_s = str(features["space"]), float(features["clip_s"])
    except (KeyError, TypeError, ValueError) as error:
        raise InputError("does not say what features it reads (space, clip_s)", subject=name) from error
    if not clip_s > 0:
        raise InputError(f"its clips must be longer than {clip_s:g} s", subject=name)
    guided = bool(features.get("guided", False))
    return MomentModel(
        model.to(choose_device(device)),
        space,
        clip_s,
        name,
        guided,
        sampled=is_detr and "fps" in features,
        moments="saliency" if is_detr and guided else "spans",
        max_iou=features.get("max_iou", MAX_IOU),  # of the MRNet authors' checkpoints alone
    )


def ground_video(
    grounder: MomentModel,
    video: ClipEmbeddings,
    tokens: Sequence[FloatArray],
    vectors: FloatArray | None = None,
    top_k: int = 5,
) -> list[Prediction]:
    """Return the moments of each query, best first, and its saliency; each query is read by itself.

    The score of a moment is the model's for a span, in [0, 1], on one scale in all windows and videos; for a
    run of saliency it is how far that stands out, see `find_moments`. A predicted span is at least as long
    as a clip of the grid. Saliency is the mean over the shortest windows that hold the clip.

    Args:
        grounder, video: the video is in the space that the model reads.
        tokens: an [W, Dq] of each of M queries, as `MomentModel.tokens` gives them; words beyond those that
            the model reads are cut.
        vectors: [M, D] of the queries in the same space, for a model with a guide.
        top_k: see `suppress`.

    Raises UsageError where video or queries are of another size than those that the model reads.
    """
    predictor, config = grounder.predictor, grounder.model.config
    grid = _grid(grounder, video)
    windows = sliding_windows(round(config.clips * grounder.clip_s / grid.step_s), len(grid))
    outputs = _outputs(grounder, grid, windows, tokens, vectors)
    fixed = None
    if predictor.proposals is not None:
        fixed = place_proposals(
            windows, predictor.proposals, grid.step_s, grid.duration_s, margins=0.5 / config.clips
        )
    rows = np.minimum((video.timestamps / grid.step_s + 1e-6).astype(np.int64), len(grid) - 1)
    middles, predictions = video.timestamps + video.step_s / 2, []
    while by_window := list(islice(outputs, len(windows))):
        curves = [output.saliency for output in by_window if output.saliency is not None]
        saliency = merge_curves(windows, curves)[rows] if curves else None
        if grounder.moments == "saliency" and saliency is not None:
            where = (video.timestamps, video.step_s, video.duration_s)
            moments = find_moments(saliency, *where, top_k, shots_s=video.shots_s, scenes_s=video.scenes_s)
        else:
            located = _place_spans(grid, windows, by_window) if fixed is None else fixed
            # an edge of a window may cut the others
            scores = np.stack([output.scores for output in by_window])[located.is_whole]
            intervals = located.intervals_s[located.is_whole]
            moments = suppress(_rank(intervals, scores), grounder.max_iou, top_k)
        curve = best_at(intervals, scores, middles) if saliency is None else saliency
        predictions.append(Prediction(moments, saliency, curve))
    return predictions


def _grid(grounder: MomentModel, video: ClipEmbeddings) -> ClipEmbeddings:
    """Return the video; for a sampled model of longer clips, the first clip of the grid in each."""
    if not grounder.sampled:
        return video
    stride = max(1, round(grounder.clip_s / video.step_s))
    rows, times = video.rows[::stride], video.timestamps[::stride]
    return ClipEmbeddings(rows, times, stride * video.step_s, video.duration_s)


def _outputs(
    grounder: MomentModel,
    video: ClipEmbeddings,
    windows: Sequence[slice],
    tokens: Sequence[FloatArray],
    vectors: FloatArray | None,
) -> Iterator[WindowOutput]:
    """Yield the model's outputs for all windows of each query in turn; errors as `ground_video`."""
    pairs = _inputs(grounder, video, windows, tokens, vectors)
    while batch := list(islice(pairs, grounder.predictor.batch_size)):
        yield from grounder.predictor.predict(*zip(*batch, strict=True))


def _inputs(
    grounder: MomentModel,
    video: ClipEmbeddings,
    windows: Sequence[slice],
    tokens: Sequence[FloatArray],
    vectors: FloatArray | None,
) -> Iterator[tuple[FloatArray, FloatArray]]:
    predictor, config = grounder.predictor, grounder.model.config

    def resampled(rows: FloatArray) -> list[FloatArray]:
        lengths = [
            predictor.n_clips(window.stop - window.start, video.step_s, grounder.clip_s) for window in windows
        ]
        return [resample(rows[window], length) for window, length in zip(windows, lengths, strict=True)]

    def clips(guide: FloatArray) -> list[FloatArray]:
        _check(grounder, "clips", dim_rows + guide.shape[1], config.dim_video - predictor.n_endpoints)
        parts = [np.concatenate(pair, axis=1) for pair in zip(seen, resampled(guide), strict=True)]
        return [with_endpoints(part) for part in parts] if predictor.n_endpoints else parts

    for query in tokens:
        _check(grounder, "queries", query.shape[1], config.dim_query)
    seen = resampled(video.rows)  # once for all queries, which differ in the guide alone
    dim_rows = video.rows.shape[1]
    by_query: Iterable[list[FloatArray]]
    if not grounder.guided:
        by_query = repeat(clips(video.rows[:, :0]), len(tokens))
    elif vectors is None:
        fault = f"{grounder.name} reads the similarity curve, which needs embeddings"
        raise UsageError(fault, hint="vidsum ground VIDEO")
    else:
        by_query = (clips(guide_column(video, vector)) for vector in vectors)
    queries = zip(tokens, by_query, strict=True)
    return ((clip, query[: predictor.max_words]) for query, by_window in queries for clip in by_window)


def _check(grounder: MomentModel, what: str, size: int, right: int) -> None:
    if size != right:
        fault = f"{grounder.name} reads {what} of {right} numbers, not of {size}"
        raise UsageError(fault, hint=f"it was trained in the space {grounder.space}")


def _rank(intervals: TimeArray, scores: FloatArray) -> Iterator[Moment]:
    """Yield the moments [N, 2] with scores [N], best first."""
    for best in np.argsort(-scores, kind="stable"):
        start_s, end_s = intervals[best]
        yield Moment(float(start_s), float(end_s), float(scores[best]))


def _place_spans(
    video: ClipEmbeddings, windows: Sequence[slice], outputs: Sequence[WindowOutput]
) -> WindowProposals:
    """Return the predicted spans as intervals of the video, at least one clip of the grid long."""
    n_rows = np.array([[window.stop - window.start] for window in windows], np.float64)
    starts = np.array([[window.start] for window in windows], np.float64)
    n_clips = np.array([[len(output.saliency)] for output in outputs if output.saliency is not None])
    # the last row of the grid may reach beyond the video
    ends = np.minimum((video.duration_s / video.step_s - starts) / n_rows, 1)
    spans = np.stack([output.spans for output in outputs if output.spans is not None])
    fractions = clamp_spans(spans, 1 / n_rows, ends)
    return place_proposals(windows, fractions, video.step_s, video.duration_s, margins=0.5 / n_clips)
