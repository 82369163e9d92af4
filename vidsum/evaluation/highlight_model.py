"""Moments and saliency by a trained DETR on published features: `vidsum evaluate highlights --run`."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import floor
from pathlib import Path

import numpy as np

from vidsum.checkpoints.trained import Trained, read_trained
from vidsum.datasets.highlights import CLIP_S, HighlightQuery
from vidsum.datasets.published_features import check_features, read_parts, read_words
from vidsum.errors import InputError, WeightsError
from vidsum.evaluation.highlight_metrics import MAX_MOMENTS
from vidsum.evaluation.highlight_predictions import HighlightPrediction
from vidsum.evaluation.highlight_run import ModelRun
from vidsum.evaluation.models import check_sizes, load_encoder_of
from vidsum.grounding.grounder import DETRGrounder, ground_video, grounder_of
from vidsum.grounding.spaces import ClipEmbeddings
from vidsum.grounding.text import TextEncoder
from vidsum.types import FloatArray, Moment, Progress


def highlights_by(
    run: ModelRun, queries: Mapping[str, HighlightQuery], progress: Progress | None = None
) -> dict[str, HighlightPrediction]:
    """The answers of a DETR model to all queries, by qid.

    As published, a video is read as a whole, edges of moments are those of clips, the ten moments may
    overlap, and saliency is as the model gives it. A video of more clips than the model reads is averaged
    into so many.

    Args:
        run: the model and its features.
        queries: the data.
        progress: called after each query.

    Raises:
        InputError: the checkpoint or features cannot be read, or there are none of a video or query.
        UsageError: the features are of another size than those that the model reads.
        WeightsError: the text encoder's weights cannot be had.
    """
    trained = read_trained(run.checkpoint)
    grounder = grounder_of(trained, str(run.checkpoint), run.device)
    videos = list(dict.fromkeys(query.video for query in queries.values()))
    check_features(run.features, videos)
    check_sizes(trained, run.checkpoint, read_parts(run.features, videos[0]))
    if run.text_features:
        words = [read_words(run.text_features, qid) for qid in queries]
    else:
        words = _encoder(trained, run).encode_words([query.text for query in queries.values()])
    found = {}
    for number, (query, of_query) in enumerate(zip(queries.values(), words, strict=True), 1):
        found[query.qid] = _answer(grounder, _clips(run.features, query), of_query, query)
        if progress:
            progress("queries answered", number, len(queries))
    return found


def _encoder(trained: Trained, run: ModelRun) -> TextEncoder:
    """What embeds the queries; where it cannot be had, a folder of their words does as well."""
    try:
        return load_encoder_of(trained, run.checkpoint, run.device)
    except InputError as error:
        raise InputError(error.message, hint="--text-features FOLDER has their words") from error
    except WeightsError as error:
        name = trained.features["text"]
        mend = f"--text-features FOLDER has their words; or vidsum weights add FILE --as {name}"
        raise WeightsError(error.message, hint=mend) from error


def _clips(sources: Sequence[Path], query: HighlightQuery) -> ClipEmbeddings:
    """The features of a video, those of its whole clips.

    Raises:
        InputError: there is not about one for each clip, as the evaluation of saliency takes it.
    """
    parts = read_parts(sources, query.video)
    given = len(parts[0])
    # networks round the end of a video in their ways; one that differs more was extracted at another rate
    if not max(1, query.n_clips - 1) <= given <= query.n_clips + 2:
        raise InputError(
            f"{sources[0]}: has {given} features of {query.video}, whose {query.duration_s:g} s are "
            f"{query.n_clips} clips of {CLIP_S:g} s",
            hint=f"vidsum evaluate highlights reads features of {1 / CLIP_S:g} a second",
        )
    parts = tuple(part[: query.n_clips] for part in parts)
    n_clips = len(parts[0])
    step_s = query.duration_s / n_clips
    times = np.arange(n_clips, dtype=np.float64) * step_s
    return ClipEmbeddings(parts, times, step_s, query.duration_s)


def _answer(
    grounder: DETRGrounder, video: ClipEmbeddings, words: FloatArray, query: HighlightQuery
) -> HighlightPrediction:
    # a clip as long as it takes for one window to be the whole video
    clip_s = max(video.step_s, video.duration_s / grounder.model.config.clips)
    whole = replace(grounder, clip_s=clip_s, sampled=False)
    (found,) = ground_video(whole, video, [words], top_k=MAX_MOMENTS, max_iou=1)
    return HighlightPrediction(
        query.qid,
        query.text,
        query.video,
        tuple(_to_clips(one, query.duration_s) for one in found.moments),
        tuple(found.saliency.tolist()),
    )


def _to_clips(moment: Moment, duration_s: float) -> Moment:
    """A moment with its edges at those of clips; the clip in its middle where nothing is left."""
    start_s, end_s = (CLIP_S * round(time_s / CLIP_S) for time_s in (moment.start_s, moment.end_s))
    if end_s <= start_s:
        start_s = CLIP_S * floor((moment.start_s + moment.end_s) / 2 / CLIP_S)
        end_s = start_s + CLIP_S
    return Moment(start_s, min(end_s, duration_s), moment.score)
