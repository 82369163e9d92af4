"""Importance guided by texts, which are compared with samples in the space of sentences."""

from collections.abc import Sequence

import numpy as np

from vidsum.errors import Mention, UsageError, fill
from vidsum.grounding import vse_map
from vidsum.grounding.spaces import (
    ClassMixture,
    ClipEmbeddings,
    embed_queries,
    log_likelihood,
    mixture_weights,
)
from vidsum.models.scaling import logistic, logit, standardise, unit_rows
from vidsum.results.features import Features
from vidsum.summary.importance import smooth
from vidsum.summary.importance_model import SENTENCES
from vidsum.summary.settings import Selection
from vidsum.types import FloatArray

READS = (vse_map.EXTRACTOR, *SENTENCES)  # extractors whose features can be compared with text
_IMPORTANCE = 0.25  # weight of the importance, relative to the texts
_SHARP = 3.0  # contrast between frames that match and the rest; it does not change their order
_SMOOTHED_S = 1.0  # width (sigma) of the smoothing of similarities


def guide_texts(selection: Selection, extractor: str, space: str = vse_map.NAME) -> tuple[str, ...]:
    """Return the texts that guide a summary. Raises UsageError: a blank one, or features of no space."""
    if any(not text.strip() for text in selection.about):
        raise UsageError((Mention("about"), " needs a text"), hint=Mention("about", "children at play"))
    if selection.about and space == vse_map.NAME and extractor not in READS:
        fault = f"features of {extractor} cannot be compared with text"
        raise UsageError(
            fault, hint=fill("{}, or leave out {}", Mention("extractor", vse_map.EXTRACTOR), Mention("about"))
        )
    return selection.about


def guide_importance(
    importance: FloatArray,
    features: Features,
    texts: Sequence[str],
    space: str = vse_map.NAME,
    clips: ClipEmbeddings | None = None,
    actions: ClassMixture | None = None,
) -> FloatArray:
    """Return [T] in [0, 1]: importance [T] in [0, 1], guided by texts in `vse`, or by `clips` in a `space`.

    With z a curve less its mean over its deviation, s the best of the similarities of a sample and the texts
    (smoothed), i the logit of the importance: the logistic function of 3 (z(s) + .25 z(i) - 1). A sample that
    is no nearer to the texts than the rest of the video has .05. The similarity is the cosine, to which the
    standardised log-likelihood of the text by the `actions` [T] is added, times the deviation of the cosine
    and the weight of `mixture_weights`. Raises WeightsError: the weights of the text encoder are unavailable.
    """
    if clips:
        numbers = np.searchsorted(clips.timestamps, features.timestamps, side="right") - 1
        rows = clips.rows[np.clip(numbers, 0, len(clips) - 1)]
    else:
        rows = unit_rows(features.array if features.extractor in SENTENCES else vse_map.mapped_rows(features))
    queries = embed_queries(space, texts)
    curves = queries @ rows.T
    if actions:
        weights = curves.std(axis=1) * mixture_weights(actions, queries)
        curves += weights[:, None] * standardise(log_likelihood(actions, queries))
    likeness = smooth(curves.max(axis=0), _SMOOTHED_S / features.step_s)
    return logistic(_SHARP * (standardise(likeness) + _IMPORTANCE * standardise(logit(importance)) - 1))
