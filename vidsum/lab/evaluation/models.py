"""Answers of a trained moment model, MRNet or a DETR, on published features: the rows of `--run`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from math import floor
from pathlib import Path

import numpy as np

from vidsum.checkpoints.trained import Trained, read_trained
from vidsum.errors import InputError, Mention, UsageError
from vidsum.grounding.moment_model import MomentModel, Prediction, build_moment_model, ground_video
from vidsum.grounding.spaces import ClipEmbeddings
from vidsum.grounding.text_encoders import load_text_encoder
from vidsum.lab.datasets.published_features import ReadParts, open_features, read_queries, read_words
from vidsum.lab.datasets.timed_sentences import CLIP_S, MomentVideo, Query
from vidsum.lab.evaluation.highlight_metrics import MAX_MOMENTS
from vidsum.lab.evaluation.moment_evaluation import TOP
from vidsum.lab.evaluation.submissions import MomentPredictions, QueryPrediction
from vidsum.results.moments import Moment
from vidsum.types import FloatArray, Progress, reported


@dataclass(frozen=True)
class ModelRun:
    """A checkpoint, and what its model reads."""

    checkpoint: Path
    features: tuple[Path, ...]  # of the videos, in the order of the training
    text_features: Path | None = None  # folder of the words of queries; without it a text encoder embeds them
    device: str = "auto"
    query_features: Path | None = None  # folder of the vectors of queries, for MRNet that was trained on such


def moments_by(
    run: ModelRun, videos: Mapping[str, MomentVideo], *, max_iou: float, progress: Progress | None = None
) -> MomentPredictions:
    """Return the moments that a model finds for all queries of the data; no two of a query have a larger IoU.

    Raises InputError: the checkpoint or features cannot be read, or are missing. UsageError: another size.
    """
    queried = {name: video for name, video in videos.items() if video.queries}
    model = _load(run, list(queried), progress)
    queries = [query for video in queried.values() for query in video.queries]
    embedded = iter(model.embed(queries))
    moments = {}
    for name, video in reported(queried.items(), "videos searched", progress):
        query_vectors = list(islice(embedded, len(video.queries)))
        answers = model.answer(model.parts(name), video.duration_s, query_vectors, max(TOP), max_iou)
        moments[name] = [answer.moments for answer in answers]
    return moments


def highlights_by(
    run: ModelRun, queries: Mapping[str, Query], progress: Progress | None = None
) -> dict[str, QueryPrediction]:
    """Return the answers of a model to all queries of QVHighlights, by qid; raises what `moments_by` does.

    Moments begin and end at edges of clips, as published. A DETR's ten moments may overlap; MRNet's are
    suppressed as in `vidsum ground`, and it has no saliency.
    """
    model = _load(run, list(dict.fromkeys(query.video for query in queries.values())), progress)
    embedded = iter(model.embed(list(queries.values())))
    max_iou = 1 if model.is_detr else model.grounder.max_iou
    predictions = {}
    for query in reported(queries.values(), "queries answered", progress):
        parts = _clip_features(model, query)
        (answer,) = model.answer(parts, query.duration_s, [next(embedded)], MAX_MOMENTS, max_iou)
        moments = tuple(snap_to_clips(moment, query.duration_s) for moment in answer.moments)
        saliency = None if answer.saliency is None else tuple(answer.saliency.tolist())
        predictions[query.qid] = QueryPrediction(query.qid, query.text, query.video, moments, saliency)
    return predictions


@dataclass(frozen=True, eq=False)
class _Model:
    run: ModelRun
    trained: Trained
    grounder: MomentModel
    parts: ReadParts  # reads the features of a video

    @property
    def is_detr(self) -> bool:
        """Whether it reads the words of a query and scores clips; MRNet reads a vector and does not."""
        return self.grounder.max_words is not None

    def embed(self, queries: Sequence[Query]) -> list[FloatArray]:
        """Return [W, D] of each query: from files, or by the text encoder that the checkpoint names.

        Raises UsageError or InputError where the model reads something else.
        """
        run, features = self.run, self.trained.features
        text = features.get("text")
        if run.query_features:
            if self.is_detr or text is not None:
                reads = "the words of queries" if self.is_detr else f"queries that {text} embeds"
                raise UsageError(
                    (Mention("query_features"), f": {run.checkpoint} reads {reads}"), hint="leave it out"
                )
            return list(read_queries(run.query_features, queries)[:, None])
        if run.text_features:
            if not self.is_detr:
                hint = "without it, the model's text encoder embeds the queries"
                raise UsageError(
                    (Mention("text_features"), ": MRNet reads one vector per query, not its words"), hint
                )
            return read_words(run.text_features, [query.qid for query in queries])
        if "queries" in features:
            reads = "reads queries from files, as it was trained"
            hint = "VIDSUM_EVALUATE_MOMENTS_QUERY_FEATURES=FOLDER vidsum evaluate moments"
            raise InputError(reads, hint=hint, subject=run.checkpoint)
        if not isinstance(text, str):
            words = (Mention("text_features", "FOLDER"), " has their words") if self.is_detr else None
            raise InputError("does not say what embeds its queries (text)", words, subject=run.checkpoint)
        encoder = load_text_encoder(text)
        return self.grounder.tokens(encoder, [query.text for query in queries])

    def answer(
        self,
        parts: tuple[FloatArray, ...],
        duration_s: float,
        queries: Sequence[FloatArray],
        top_k: int,
        max_iou: float,
    ) -> list[Prediction]:
        """Return the answers to embedded queries, from features that are spread evenly over a video."""
        step_s = duration_s / len(parts[0])
        times_s = np.arange(len(parts[0]), dtype=np.float64) * step_s
        clip_s = duration_s / self.grounder.model.config.clips
        if self.is_detr:  # a video of fewer clips than the model reads stays as it is
            clip_s = max(step_s, clip_s)
        whole = replace(self.grounder, clip_s=clip_s, sampled=False, max_iou=max_iou)
        video = ClipEmbeddings(np.concatenate(parts, axis=1), times_s, step_s, duration_s)
        return ground_video(whole, video, queries, top_k=top_k)


def _load(run: ModelRun, videos: Sequence[str], progress: Progress | None) -> _Model:
    """Return the model of a run that can read the features of all videos.

    Raises InputError: another kind of checkpoint, or missing features. UsageError: another order, a guide.
    """
    trained, name = read_trained(run.checkpoint), str(run.checkpoint)
    grounder = build_moment_model(trained, name, run.device)
    parts = open_features(run.features, videos, progress)
    if videos:
        dims = [part.shape[1] for part in parts(videos[0])]
        learned = trained.features.get("dims", dims)
        if dims != learned:
            raise UsageError(
                f"was trained on sources of {learned} numbers side by side, not of {dims}",
                hint=(Mention("features"), " in the order of the training"),
                subject=name,
            )
    if grounder.guided:
        raise UsageError(
            f"{name} reads a similarity curve, which feature files do not have", hint="vidsum ground VIDEO"
        )
    return _Model(run, trained, grounder, parts)


def _clip_features(model: _Model, query: Query) -> tuple[FloatArray, ...]:
    """Return the features of a video's whole clips, [N, D] per source. Raises InputError: another rate."""
    parts = model.parts(query.video)
    n_rows = len(parts[0])
    # networks round the end of a video in their ways; one that differs more was extracted at another rate
    if not max(1, query.n_clips - 1) <= n_rows <= query.n_clips + 2:
        raise InputError(
            f"has {n_rows} features of {query.video}, "
            f"whose {query.duration_s:g} s are {query.n_clips} clips of {CLIP_S:g} s",
            hint=f"vidsum evaluate highlights reads features of {1 / CLIP_S:g} a second",
            subject=model.run.features[0],
        )
    return tuple(part[: query.n_clips] for part in parts)


def snap_to_clips(moment: Moment, duration_s: float) -> Moment:
    """Return a moment with its edges at edges of clips; the clip in its middle where nothing is left."""
    start_s, end_s = (CLIP_S * round(time_s / CLIP_S) for time_s in (moment.start_s, moment.end_s))
    if end_s <= start_s:
        start_s = CLIP_S * floor((moment.start_s + moment.end_s) / 2 / CLIP_S)
        end_s = start_s + CLIP_S
    return Moment(start_s, min(end_s, duration_s), moment.score)
