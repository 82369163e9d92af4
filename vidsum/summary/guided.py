"""Importance guided by text: what to see, and the title, compared in the space of sentences."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from vidsum.errors import UsageError
from vidsum.grounding import vse
from vidsum.grounding.spaces import ClipEmbeddings, embed_queries
from vidsum.models.scaling import logistic, unit_rows
from vidsum.results.features import Features
from vidsum.summary.importance import smooth
from vidsum.summary.importance_model import SENTENCES
from vidsum.summary.settings import Selection
from vidsum.types import FloatArray, TimeArray

READS = (vse.EXTRACTOR, *SENTENCES)  # extractors whose features can be compared with text
_TITLE = 0.3  # weight of the title, relative to the importance
_IMPORTANCE = 0.25  # weight of the importance, relative to the texts of `--about`
_SHARP = 3.0  # contrast between frames that match and the rest; it does not change their order
_SMOOTHED_S = 1.0  # width (sigma) of the smoothing of similarities


@dataclass(frozen=True, eq=False)
class Guide:
    """A video in a space of the CLIP family, as it guides a summary."""

    space: str
    clips: ClipEmbeddings

    def rows_at(self, times_s: TimeArray) -> FloatArray:
        """Return [T, D] of the clips at some times in seconds."""
        clip = np.searchsorted(self.clips.timestamps, times_s, side="right") - 1
        return self.clips.rows[np.clip(clip, 0, len(self.clips) - 1)]


def guide_texts(selection: Selection, extractor: str, space: str = vse.NAME) -> list[str]:
    """Return the texts that guide a summary. Raises UsageError: a blank one, or features of no space."""
    texts = [*selection.about, *([] if selection.title is None else [selection.title])]
    if any(not text.strip() for text in texts):
        raise UsageError("--about and --title need a text", hint='--about "children at play"')
    if texts and space == vse.NAME and extractor not in READS:
        fault = f"features of {extractor} cannot be compared with text"
        raise UsageError(fault, hint=f"--extractor {vse.EXTRACTOR}, or leave out --about and --title")
    return texts


def guide_importance(
    importance: FloatArray,
    features: Features,
    about: Sequence[str],
    title: str | None,
    device: str = "auto",
    guide: Guide | None = None,
) -> FloatArray:
    """Return [T] in [0, 1]: importance [T] in [0, 1], guided by a title or texts, in `vse` without a guide.

    With z a curve less its mean over its deviation, s the similarity of samples and a text, i the logit of
    the importance: the logistic function of z(i) + .3 z(s of the title). With texts to be about, it is
    that of 3 (z(best of their s) + .25 z(that sum) - 1): what is no nearer to them than the rest of the
    video has .05. Raises WeightsError: the weights of the text encoder are unavailable.
    """
    if guide:
        rows = guide.rows_at(features.timestamps)
    else:
        rows = unit_rows(features.array if features.extractor in SENTENCES else vse.mapped_rows(features))
    likeness = partial(_similarity, guide.space if guide else vse.NAME, rows, features.step_s, device)
    chance = np.clip(importance.astype(np.float64), 1e-6, 1 - 1e-6)
    combined = _standardise(np.log(chance / (1 - chance)))
    if title:
        combined = combined + _TITLE * likeness([title])
    if about:
        combined = _SHARP * (likeness(about) + _IMPORTANCE * _standardise(combined) - 1)
    return logistic(combined)


def _similarity(space: str, rows: FloatArray, step_s: float, device: str, texts: Sequence[str]) -> TimeArray:
    """Return [T] the best of the texts' similarities, smoothed and standardised."""
    curves = rows @ embed_queries(space, texts, device).T
    return _standardise(smooth(curves.max(axis=1), _SMOOTHED_S / step_s))


def _standardise(curve: TimeArray | FloatArray) -> TimeArray:
    """Return a curve less its mean, over its deviation; zeros where it is constant."""
    centred = np.asarray(curve - curve.mean(), np.float64)
    return centred / centred.std() if centred.std() > 1e-6 else np.zeros_like(centred)
