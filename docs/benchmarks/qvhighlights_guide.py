"""The guide of `vidsum ground` beside features of annotated videos, for `docs.benchmarks.qvhighlights`.

`vidsum train --features` gives a model the features alone. The models that ship also read how similar each
clip is to the query (`vidsum.grounding.spaces.guided_rows`): here the cosine of the query and its caption.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from vidsum.grounding.grounder import MomentSource, ground_video, load_grounder
from vidsum.grounding.spaces import ClipEmbeddings, guided_rows
from vidsum.grounding.text import load_text_encoder
from vidsum.grounding.windows import with_endpoints
from vidsum.lab.datasets.examples import HighlightExample, Pair
from vidsum.lab.datasets.moments import CLIP_S, Query, read_moments
from vidsum.lab.datasets.published_features import read_moment_features
from vidsum.lab.evaluation.highlight_metrics import MAX_MOMENTS
from vidsum.lab.evaluation.models import to_clips
from vidsum.lab.evaluation.submissions import QueryPrediction
from vidsum.lab.training.data import Example, MomentData
from vidsum.types import FloatArray

Make = Callable[[Example, Query, FloatArray], Example]
"""An example with a guide, from the one without, its query and that query's vector."""


def guided_highlights(
    data: MomentData[HighlightExample], folder: Path, captions: Path, seed: int, device: str
) -> MomentData[HighlightExample]:
    """Examples for the DETR models; the query of each false pair is another one in each epoch.

    Args:
        data: the examples without a guide.
        folder: of their annotations, train.jsonl and val.jsonl.
        captions: the features.
        seed: of the false pairs.
        device: where the text encoder runs.
    """
    queries, vectors = _queries(folder / "train.jsonl", device)
    plain = data.examples(1)
    videos = [embedded(captions, query) for query in queries]
    true = [_highlight(*each) for each in zip(plain, videos, vectors, strict=True)]

    def examples(epoch: int) -> list[HighlightExample]:
        draw = np.random.default_rng((seed, epoch))
        found = []
        for example, video in zip(true, videos, strict=True):
            others = (int(number) for number in iter(partial(draw.integers, len(plain)), None))
            other = next(number for number in others if plain[number].name != example.name)
            clips = with_endpoints(guided_rows(video, vectors[other]))
            found.append(replace(example, negative=Pair(clips, plain[other].words)))
        return found

    val, val_vectors = _queries(folder / "val.jsonl", device)
    validation = [
        _highlight(example, embedded(captions, query), vector)
        for example, query, vector in zip(data.validation, val, val_vectors, strict=True)
    ]
    return _recorded(
        replace(data, examples=examples, validation=validation), validation[0].video.shape[1] - 2
    )


def guided_answers(
    checkpoint: Path, captions: Path, queries: Mapping[str, Query], source: MomentSource, device: str
) -> dict[str, QueryPrediction]:
    """As `vidsum.lab.evaluation.models.highlights_by`, of a model with a guide.

    Args:
        checkpoint, captions, queries: the model, its features, and what it is asked.
        source: spans, as published, or segments of the saliency, as `vidsum ground` answers.
        device: where the model and the text encoder run.
    """
    grounder, encoder = load_grounder(str(checkpoint), device), load_text_encoder("minilm", device)
    texts = [query.text for query in queries.values()]
    tokens, vectors = grounder.tokens(encoder, texts), encoder.encode(texts)
    answers = {}
    for (qid, query), words, vector in zip(queries.items(), tokens, vectors, strict=True):
        video = embedded(captions, query)
        clip_s = query.duration_s / grounder.model.config.clips
        whole = replace(grounder, clip_s=max(CLIP_S, clip_s), moments=source)
        max_iou = 1 if source == "spans" else grounder.max_iou
        (answer,) = ground_video(whole, video, [words], vector[None], MAX_MOMENTS, max_iou=max_iou)
        moments = tuple(to_clips(moment, query.duration_s) for moment in answer.moments)
        saliency = None if answer.saliency is None else tuple(answer.saliency.tolist())
        answers[qid] = QueryPrediction(qid, query.text, query.video, moments, saliency)
    return answers


def embedded(captions: Path, query: Query) -> ClipEmbeddings:
    """The video of a query, by the captions of its whole clips."""
    rows = read_moment_features([captions], query.video)[: query.n_clips]
    return ClipEmbeddings(rows, np.arange(len(rows)) * CLIP_S, CLIP_S, query.duration_s)


def _queries(annotations: Path, device: str) -> tuple[list[Query], FloatArray]:
    """The queries of a file in the order of the examples, and their vectors."""
    queries = [query for video in read_moments(annotations).values() for query in video.queries]
    return queries, load_text_encoder("minilm", device).encode([query.text for query in queries])


def _highlight(example: HighlightExample, video: ClipEmbeddings, vector: FloatArray) -> HighlightExample:
    return replace(example, video=with_endpoints(guided_rows(video, vector)))


def _recorded(data: MomentData[Example], dim: int) -> MomentData[Example]:
    return replace(data, features={**data.features, "guided": True, "dim": dim})
