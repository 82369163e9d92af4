"""Content of a film: its scenes, what its pictures show, which slide is on, what is said and written."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from vidsum.grounding.scenes import look_cosine
from vidsum.models.scaling import unit_rows
from vidsum.results.features import Features
from vidsum.types import BoolArray, FloatArray, IntArray, TimeArray

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

_MIN_DIRECTION: Final = 1e-4  # a picture that differs by less from the mean of the film is like it
_PICTURES: Final = 3  # of a shot: its first, middle and last, which are compared with those of other shots
_BLOCK: Final = 100  # shots that are compared at once
_WORDS: Final = 0.5  # weight of words, where there are any; of pictures the rest


@dataclass(frozen=True)
class TimedText:
    """A text that is said, or on the screen, over [start_s, end_s)."""

    start_s: float
    end_s: float
    text: str


@dataclass(frozen=True, eq=False)
class Content:
    """Scenes, pictures and words of the T samples of a film."""

    scenes: IntArray  # [T] numbers of scenes, from 0: shots that look alike, wherever they are
    are_slides: BoolArray  # [K] which of the scenes are slides
    pictures: FloatArray  # [T, D] less the film's mean, of length 1 or 0; of a slide, half is its number
    words: "csr_matrix | None"  # [T, V] weights of what is said and written


def content_of(
    features: Features, shots: Sequence[slice], slides: IntArray, texts: Sequence[TimedText] = ()
) -> Content:
    """Return the content of features [T, D], of which `shots` are the samples of each shot.

    `slides` [T] are numbers of slides, -1 elsewhere: two slides are two scenes, and less alike than their
    pictures, however alike they look.
    """
    rows, is_slide = unit_rows(features.array), slides >= 0
    scenes = _number_scenes(rows, shots, look_cosine(features.extractor))
    n_scenes = int(scenes.max()) + 1
    numbered, scenes = np.unique(np.where(is_slide, n_scenes + slides, scenes), return_inverse=True)
    rows -= rows.mean(axis=0)  # in place: the features of a long video are large
    pictures = _directions(rows)
    if is_slide.any():
        numbers = np.eye(int(slides.max()) + 1, dtype=np.float32)[slides]
        # half of a slide's look is its picture: a terminal differs from an editor more than two editors do
        pictures = _directions(np.hstack([pictures, numbers * is_slide[:, None]])).astype(np.float32)
    return Content(
        scenes, numbered >= n_scenes, pictures, _words(features.timestamps, features.step_s, texts)
    )


def _number_scenes(rows: FloatArray, shots: Sequence[slice], min_cosine: float) -> IntArray:
    """Return [T] the number of the scene of each sample.

    `rows` [T, D] have length 1. A shot is of the scene that has the sample most like one of its own, if their
    cosine is `min_cosine`, else of a new one. Means would tell less: a camera that turns shows much.
    """
    places = [
        np.linspace(shot.start, shot.stop - 1, min(_PICTURES, shot.stop - shot.start)) for shot in shots
    ]
    pictures = rows[np.concatenate(places).round().astype(np.int64)]
    edges = np.cumsum([0, *map(len, places)])
    shot_of = np.repeat(np.arange(len(shots)), np.diff(edges))
    of_shots, n_scenes = np.zeros(len(shots), np.int64), 0
    for first in range(0, len(shots), _BLOCK):
        block = edges[first : first + _BLOCK + 1]
        alike = pictures[: block[-1]] @ pictures[block[0] : block[-1]].T
        for shot, (start, stop) in enumerate(pairwise(block.tolist()), first):
            nearest = alike[:start, start - block[0] : stop - block[0]].max(axis=1)
            is_new = nearest.max(initial=-1) < min_cosine
            of_shots[shot] = n_scenes if is_new else of_shots[shot_of[nearest.argmax()]]
            n_scenes += int(is_new)
    numbers = np.zeros(len(rows), np.int64)
    for samples, number in zip(shots, of_shots.tolist(), strict=True):
        numbers[samples] = number
    return numbers


def scenes_in(content: Content, spans: Sequence[slice], enough: int) -> FloatArray:
    """Return [N, K] in [0, 1] how much of the K scenes parts show, as spans of samples.

    A scene is shown in full by `enough` samples, or where it is all that a shorter part shows.
    """
    n_scenes = int(content.scenes.max()) + 1
    lengths = np.array([span.stop - span.start for span in spans], np.int64)
    rows = np.repeat(np.arange(len(spans)), lengths)
    numbers = content.scenes[np.concatenate([np.arange(span.start, span.stop) for span in spans])]
    shares = np.zeros((len(spans), n_scenes), np.float32)
    np.add.at(shares, (rows, numbers), 1)
    shares /= np.minimum(lengths, enough)[:, None].astype(np.float32)
    return np.minimum(shares, 1, out=shares)


def likeness(content: Content, spans: Sequence[slice], samples: IntArray) -> FloatArray:
    """Return [N, M] in [0, 1] how much parts, as spans of samples, are like M samples of the film."""
    means = np.stack([content.pictures[span].mean(axis=0) for span in spans])
    alike = np.maximum(_directions(means) @ content.pictures[samples].T, 0)
    if content.words is None:
        return np.asarray(alike, np.float32)
    from scipy.sparse import csr_matrix
    from sklearn.preprocessing import normalize

    numbers = np.concatenate([np.arange(span.start, span.stop) for span in spans])
    edges = np.cumsum([0, *(span.stop - span.start for span in spans)])
    inside = csr_matrix((np.ones(len(numbers)), numbers, edges), (len(spans), len(content.scenes)))
    said = normalize(inside @ content.words) @ normalize(content.words[samples]).T
    return np.asarray((1 - _WORDS) * alike + _WORDS * said.toarray(), np.float32)


def _directions(rows: FloatArray) -> FloatArray:
    """Scale rows [N, D] to length 1 in place, and return them; zeros where they hardly differ from zero."""
    are_zero = np.einsum("td,td->t", rows, rows) <= _MIN_DIRECTION**2
    unit_rows(rows, out=rows)
    rows[are_zero] = 0
    return rows


def _words(times: TimeArray, step_s: float, texts: Sequence[TimedText]) -> "csr_matrix | None":
    """Return [T, V] the weights (TF-IDF) of words at samples; None without any."""
    if not texts:
        return None
    from scipy.sparse import csr_matrix
    from sklearn.feature_extraction.text import TfidfVectorizer

    counted = TfidfVectorizer(sublinear_tf=True, token_pattern=r"(?u)\b\w+\b")
    try:
        vectors = counted.fit_transform([text.text for text in texts])
    except ValueError:  # there is no word in any
        return None
    spans = [np.searchsorted(times + step_s / 2, (text.start_s, text.end_s)).tolist() for text in texts]
    numbers = np.concatenate([np.arange(*span) for span in spans])
    edges = np.cumsum([0, *(stop - first for first, stop in spans)])
    during = csr_matrix((np.ones(len(numbers)), numbers, edges), (len(texts), len(times)))
    return csr_matrix(during.T @ vectors)
