"""Annotated videos with features as examples of moments and saliency, with annotators' scores or without."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from vidsum.datasets.highlight_examples import MOST_SALIENT, HighlightExample, scores_at
from vidsum.datasets.highlights import CLIP_S
from vidsum.datasets.moments import MomentQuery, MomentVideo
from vidsum.datasets.published_features import read_moment_features, read_words
from vidsum.errors import UsageError
from vidsum.features.resample import resample
from vidsum.grounding.text import DIMS, load_text_encoder
from vidsum.grounding.windows import with_endpoints
from vidsum.training.data import Annotated, MomentData, choose, clip_s_of, of_annotated
from vidsum.types import FloatArray, Progress, TimeArray

_PUBLISHED_WORDS = "clip"
"""What made the words that are published for QVHighlights, and reads the queries of who uses the model."""


def annotated_highlights(
    data: Annotated,
    clips: int,
    words: int,
    *,
    text_features: Path | None = None,
    seed: int = 0,
    device: str = "auto",
    progress: Progress | None = None,
) -> MomentData[HighlightExample]:
    """Annotated videos as examples, one a query, all kept in memory.

    Args:
        data: what to read; features are those of clips that follow each other over the whole video.
        clips: T at most; a video of more is averaged into so many.
        words: of a query at most.
        text_features: the words of queries as published, see `read_words`; a text encoder's if not given.
            Those of another size than CLIP's are taken with a warning, and no text encoder is recorded.
        seed: of the choice of a share for validation.
        device: where the text encoder runs.
        progress: called while features are read.

    Raises:
        InputError: annotations or features cannot be read, or some videos or queries have none.
        UsageError: there are no videos to train on, or the text encoder does not go with the space or with
            the words.
        WeightsError: the text encoder's weights cannot be had.
    """
    is_told = data.text is not None or data.space != "features"
    if text_features and not is_told:
        data = replace(data, text=_PUBLISHED_WORDS)
    chosen = choose(data, seed)
    videos = [*chosen.kept, *chosen.judged]
    queries = [query for video in videos for query in video.queries]
    if text_features:
        embedded = [read_words(text_features, _numbered(query, data)) for query in queries]
    else:
        embedded = load_text_encoder(chosen.encoder, device).encode_words([query.text for query in queries])
    of_query = iter(embedded)
    examples: list[HighlightExample] = []
    for number, video in enumerate(videos, 1):
        rows = read_moment_features(data.features, video.name)
        seen = with_endpoints(resample(rows, min(clips, len(rows))))
        examples += [example_of(video, query, seen, next(of_query)[:words]) for query in video.queries]
        if progress:
            progress("features", number, len(videos))
    n_kept = sum(len(video.queries) for video in chosen.kept)
    scored = any(query.saliency for query in queries)
    clip_s = CLIP_S if scored else clip_s_of(chosen.kept, clips)
    made = of_annotated(data, chosen, examples[:n_kept], examples[n_kept:], clip_s)
    return _with_words_from(text_features, embedded[0].shape[1], made, is_told) if text_features else made


def _with_words_from(
    folder: Path, size: int, made: MomentData[HighlightExample], is_told: bool
) -> MomentData[HighlightExample]:
    """With what is recorded of words that were read; no text encoder that cannot have made them."""
    made = replace(made, about={**made.about, "text_features": folder.name})
    encoder = made.features["text"]
    if size == DIMS[encoder]:
        return made
    fault = f"{folder}: words of {size} numbers are not those of {encoder}, which have {DIMS[encoder]}"
    if is_told:
        raise UsageError(fault, hint="leave out --text and --space: no text encoder is recorded for others")
    features = {key: value for key, value in made.features.items() if key != "text"}
    warning = f"{fault}: the model will read queries from such a folder alone"
    return replace(made, features=features, warnings=(*made.warnings, warning))


def example_of(
    video: MomentVideo, query: MomentQuery, clips: FloatArray, words: FloatArray
) -> HighlightExample:
    """The example of one query.

    Where annotators gave no scores, a clip has the highest score for as much of it as the query is true.

    Args:
        video: the video.
        query: one of its queries.
        clips: [T, Dv] over the whole video.
        words: [L, Dq]
    """
    windows = (np.array(query.windows) / video.duration_s).astype(np.float32)
    edges_s = np.linspace(0, video.duration_s, len(clips) + 1)
    middles_s = (edges_s[:-1] + edges_s[1:]) / 2
    saliency = scores_at(query.saliency, middles_s) if query.saliency else _covered(query, edges_s)
    return HighlightExample(video.name, clips, words, windows, saliency)


def _covered(query: MomentQuery, edges_s: TimeArray) -> FloatArray:
    starts, ends = np.array(query.windows).T
    common = np.minimum(edges_s[1:, None], ends) - np.maximum(edges_s[:-1, None], starts)
    shares = np.maximum(common, 0.0).sum(axis=1) / np.diff(edges_s)
    return np.asarray(MOST_SALIENT * np.minimum(shares, 1.0), np.float32)


def _numbered(query: MomentQuery, data: Annotated) -> str:
    if query.qid is None:
        raise UsageError(
            f"{data.annotations}: its queries have no numbers, by which words are found",
            hint="without --text-features they are embedded",
        )
    return query.qid
