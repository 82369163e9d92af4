"""How likely a query is true of clips, in any space: one number for `ground`, `search` and `watch`.

Cosines of different spaces, videos and queries do not compare. Cosines of everyday phrases with the same
clips say what is usual, as speaker verification normalises a score by other speakers' models (t-norm:
Auckenthaler, Carey and Lloyd-Thomas, "Score Normalization for Text-Independent Speaker Verification Systems",
2000):

    evidence(q, t) = (q . f_t - m) / s + r(q, t) + 1.3 r'(q, t) - 1/2 mean_b max_W (b . f - m) / s
    r(q, t) = w(q) ((l(q, t) - mean_u l(q, u)) / sd_u l(q, u) - 4.6)

m is the mean of b . f_t over phrases b and clips t, s the deviation among phrases. r is there where a network
names objects; it compares with photographs u. r' is the same where actions are known; it compares with clips
of one action each, and has 2.9 in place of 4.6. Where objects are named and actions are not known, it is
-.3 / 1.3. The longer a video, the better its best phrase: hence the last term. A window W has up to five
clips of one shot, and the mean of their evidence. The curve from the evidence to the probability also reads
how common a query is, q . mean_b b, standardised among phrases.

A whole video, the records of an archive, and what a live source has shown so far differ in where `Usual`
comes from, and in nothing else. docs/algorithms/presence.md has the fit of the curves, and their accuracy.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from vidsum import checkpoints
from vidsum.grounding.actions import WEIGHT_LINE
from vidsum.grounding.spaces import (
    ClassMixture,
    ClipEmbeddings,
    describe_space,
    log_likelihood,
    mixture_weights,
)
from vidsum.grounding.vse_map import load_map
from vidsum.io.cache import cached_rows
from vidsum.models.vse import CLASSES
from vidsum.types import FloatArray, TimeArray

Windows = npt.NDArray[np.int64]  # [W, 2] the first clip of each, and the one after it
QueryKind = Literal["noun", "phrase", "action", "sentence"]


class Curve(NamedTuple):
    """A logistic curve from the evidence, and how common a query is, to the probability."""

    slope: float
    offset: float
    common: float


NAMED: dict[QueryKind, Curve] = {
    "noun": Curve(1.13, -0.33, 0.13),
    "phrase": Curve(1.12, 0.29, 0.92),
    "action": Curve(0.88, -0.10, 0.34),
    "sentence": Curve(1.45, -0.55, 0.64),
}  # where a network names objects
BARE: dict[QueryKind, Curve] = {
    "noun": Curve(1.42, -2.04, 0.10),
    "phrase": Curve(1.52, -1.47, 0.75),
    "action": Curve(1.17, -1.76, 0.22),
    "sentence": Curve(1.76, -2.59, 0.20),
}  # by the cosines alone
PICTURE_KIND: QueryKind = "sentence"  # the curve of a picture as a query: it says as much
WINDOW = 5  # clips
_LENGTH_WEIGHT = np.float32(0.5)
_ACTION_FACTOR = 1.3
_LIKELY_OBJECTS, _LIKELY_ACTIONS = 4.6, 2.9
"""Deviations above the mean from which what is named speaks for a query: where a network knows the thing by
name and does not see it, that speaks against it, in the best of many windows too."""
_UNKNOWN_ACTIONS = np.float32(0.3)  # what actions take from most queries, where they are known
_LEAST_DEVIATION = 1e-6  # below it, all phrases are the same
_PHRASES_AT_ONCE = 20  # of which curves are held: of all phrases and a long video, they are large
_SENTENCE = 7  # words
_NOT_VERBS = {"building", "ceiling", "clothing", "evening", "king", "morning", "painting", "ring", "spring"}
_NOT_VERBS |= {"string", "thing", "wedding", "wing"}
_ARTICLES = {"a", "an", "the", "some"}


def kind_of(text: str) -> QueryKind:
    """Return the kind of a query, by its words: seven or more, one in -ing, at most two, or else."""
    words = re.findall(r"[^\W\d_]+(?:'\w+)?", text.lower())
    if len(words) >= _SENTENCE:
        return "sentence"
    if any(word.endswith("ing") and word not in _NOT_VERBS for word in words):
        return "action"
    return "noun" if sum(word not in _ARTICLES for word in words) <= 2 else "phrase"


def background_phrases() -> list[str]:
    """Return everyday phrases of all kinds that evidence is compared with."""
    lines = files("vidsum.evidence").joinpath("background.txt").read_text("utf-8").splitlines()
    parts = [line.partition(":")[2] for line in lines if not line.startswith("#")]
    return [phrase.strip() for part in parts for phrase in part.split(";")]


def embed_background(space: str) -> FloatArray:
    """Return [B, D] of `background_phrases`, kept on disk. Raises WeightsError: see `encode_texts`."""
    described, phrases = describe_space(space), background_phrases()
    provenance = {"space": space, "phrases": phrases, "prompts": described.prompts}
    provenance["weights_sha256"] = checkpoints.sha256_of(described.text_encoder)
    return cached_rows("background", provenance, lambda: described.encode_texts(phrases))


class Usual(NamedTuple):
    """The cosines of everyday phrases with the clips of a video, for comparison with queries' cosines."""

    mean: float | FloatArray  # of phrases and clips; arrays [T] where clips are of several videos
    deviation: float | FloatArray  # among phrases
    best: float | FloatArray  # mean of the phrases' best windows, in deviations from the mean


def usual_of(video: ClipEmbeddings, background: FloatArray) -> Usual:
    """Return what is usual in a whole video, by phrases [B, D]."""
    windows, n_phrases = list_windows(video), len(background)
    sums, squares, best = np.zeros(len(video)), np.zeros(len(video)), np.float64(0)
    for start in range(0, n_phrases, _PHRASES_AT_ONCE):
        cosines = background[start : start + _PHRASES_AT_ONCE] @ video.rows.T
        sums += cosines.sum(axis=0, dtype=np.float64)
        squares += np.square(cosines, dtype=np.float64).sum(axis=0)
        best += window_means(cosines, windows).max(axis=1).sum(dtype=np.float64)
    mean = float(sums.mean() / n_phrases)
    variances = squares / n_phrases - np.square(sums / n_phrases)
    return make_usual(mean, float(variances.mean()), float(best / n_phrases))


def make_usual(mean: float, variance: float, best: float) -> Usual:
    """Return what is usual by the mean of cosines, their variance among phrases, and the mean of the best."""
    deviation = float(np.sqrt(max(variance, 0.0)))
    deviation = deviation if deviation > _LEAST_DEVIATION else 1.0
    return Usual(mean, deviation, (best - mean) / deviation)


RateNamed = Callable[[FloatArray], FloatArray]
"""From log-likelihoods [M, T] by what a network names to a term of the evidence, [M, T]."""


def compare_named(names: FloatArray, queries: FloatArray) -> RateNamed:
    """Compare queries [M, D] with photographs; `names` [K, D] are of the objects that the network knows."""
    squares = np.square(load_map().tensors[CLASSES])
    usual = ClassMixture(squares / squares.sum(axis=1, keepdims=True), names)
    return _compare(usual, queries, 1.0, _LIKELY_OBJECTS)


def compare_actions(names: FloatArray, queries: FloatArray) -> RateNamed:
    """Compare queries [M, D] with clips of one action each; `names` [K, D] are of the actions."""
    usual = ClassMixture(np.eye(len(names), dtype=np.float32), names, WEIGHT_LINE)
    return _compare(usual, queries, _ACTION_FACTOR, _LIKELY_ACTIONS)


def _compare(usual: ClassMixture, queries: FloatArray, factor: float, above: float) -> RateNamed:
    """Compare queries with likelihoods that lie some deviations above the mean of usual ones."""
    likelihoods = log_likelihood(usual, queries)
    mean, spread = likelihoods.mean(axis=1, keepdims=True), likelihoods.std(axis=1, keepdims=True)
    spread = np.where(spread > 1e-6, spread, np.float32(1))
    weight = factor * mixture_weights(usual, queries)[:, None] / spread
    return lambda named: np.asarray(weight * (named - mean - above * spread), np.float32)


@dataclass(frozen=True, eq=False)
class MatchedQueries:
    """M queries with the curves of their match probability; see `prepare_queries`."""

    vectors: FloatArray  # [M, D] of length 1
    slopes: FloatArray  # [M, 1]
    offsets: FloatArray  # [M, 1]
    rate_objects: RateNamed | None  # None in spaces without named objects
    rate_actions: RateNamed | None  # None where no actions are known

    def evidence(self, cosines: FloatArray, named: FloatArray, usual: Usual) -> FloatArray:
        """Return [M, T] of cosines [M, T] with clips, and evidence [M, T] by what is named in them."""
        evidence = (cosines - usual.mean) / usual.deviation - _LENGTH_WEIGHT * usual.best
        return np.asarray(evidence + named, np.float32)

    def named_evidence(self, objects: ClassMixture | None, actions: ClassMixture | None) -> FloatArray:
        """Return [M, T] by what networks name in T clips; [M, 1] zeros where nothing is known."""
        evidence = np.zeros((len(self.vectors), 1), np.float32)
        for rate, mixture in ((self.rate_objects, objects), (self.rate_actions, actions)):
            if rate and mixture:
                evidence = evidence + rate(log_likelihood(mixture, self.vectors))
        if self.rate_objects and objects and not (self.rate_actions and actions):
            evidence = evidence - _UNKNOWN_ACTIONS
        return evidence

    def clip_evidence(self, video: ClipEmbeddings, usual: Usual) -> FloatArray:
        """Return [M, T] of the clips of a video."""
        named = self.named_evidence(video.objects, video.actions)
        return self.evidence(self.vectors @ video.rows.T, named, usual)

    def logits(self, evidence: FloatArray) -> FloatArray:
        """Return [M, W] logits of the probabilities of evidence [M, W], the mean of a window each."""
        return np.asarray(self.slopes * evidence + self.offsets, np.float32)


def prepare_queries(
    kinds: Sequence[QueryKind],
    vectors: FloatArray,
    background: FloatArray,
    names: FloatArray | None,
    actions: FloatArray | None = None,
) -> MatchedQueries:
    """Prepare queries for comparison.

    Args:
        kinds: [M] of the queries, by `kind_of`; `PICTURE_KIND` of pictures.
        vectors: [M, D] of the queries.
        background: [B, D] of `embed_background`.
        names: [K, D] of the objects that are named in clips; None in other spaces.
        actions: [K, D] names of the actions that are known of clips; None where none are.

    Raises WeightsError where the map that ships with vidsum is damaged.
    """
    curves = BARE if names is None else NAMED
    slope, offset, weight = np.array([curves[kind] for kind in kinds], np.float32).T[..., None]
    offset = offset + weight * commonness(background, vectors)[:, None]
    rate_objects = None if names is None else compare_named(names, vectors)
    rate_actions = None if actions is None else compare_actions(actions, vectors)
    return MatchedQueries(vectors, slope, offset, rate_objects, rate_actions)


def commonness(background: FloatArray, vectors: FloatArray) -> FloatArray:
    """Return [M] how near queries [M, D] are to everyday phrases [B, D]; these have mean 0, deviation 1."""
    mean = background.mean(axis=0)
    usual = background @ mean - 1 / len(background)  # without the phrase itself
    return np.asarray((vectors @ mean - usual.mean()) / (usual.std() or 1), np.float32)


class Condition(NamedTuple):
    """Queries that must all be true, and others that must not, by their numbers."""

    wanted: tuple[int, ...]
    unwanted: tuple[int, ...] = ()

    def log_present(self, logits: FloatArray) -> FloatArray:
        """Return [T] log-probability by the logits [M, T] of all queries.

        What is seen together is as likely as the least likely part: parts are not independent.
        """
        least = np.min(logits[list(self.wanted)], axis=0)
        signed = [-least, *logits[list(self.unwanted)]]
        return np.asarray(-np.sum([np.log1p(np.exp(np.minimum(row, 80))) for row in signed], axis=0))


@dataclass(frozen=True, eq=False)
class WindowMatches:
    """How likely M queries are in W windows of a video."""

    logits: FloatArray  # [M, W]
    middles_s: TimeArray  # [W] of the windows, in no order

    def best(self, condition: Condition) -> float:
        """Return the probability of the best window."""
        return float(np.exp(condition.log_present(self.logits).max()))

    def within(self, condition: Condition, start_s: float, end_s: float) -> float:
        """Return the probability of the best window whose middle is in a moment, or else of the nearest."""
        is_inside = (self.middles_s >= start_s) & (self.middles_s < end_s)
        if not is_inside.any():
            distances = np.abs(self.middles_s - (start_s + end_s) / 2)
            is_inside = distances == distances.min()
        return float(np.exp(condition.log_present(self.logits[:, is_inside]).max()))


def match_windows(video: ClipEmbeddings, queries: MatchedQueries, usual: Usual) -> WindowMatches:
    """Return how likely each query is true in the windows of a video."""
    windows = list_windows(video)
    first, after = windows.T
    middles_s = (video.timestamps[first] + video.timestamps[after - 1] + video.step_s) / 2
    evidence = window_means(queries.clip_evidence(video, usual), windows)
    return WindowMatches(queries.logits(evidence), middles_s)


def list_windows(video: ClipEmbeddings) -> Windows:
    """Return [W, 2] the first clip of each window and the one after it.

    Shots of one clip are left out unless there are no others: it also shows what is before or after them.
    """
    edges_s = np.array([0.0]) if video.shots_s is None else video.shots_s[:-1]
    shot_of = np.searchsorted(edges_s, video.timestamps + video.step_s / 2, side="right")
    starts = np.flatnonzero(np.diff(shot_of, prepend=-1))
    return windows_within(starts, np.diff(starts, append=len(video)))


def windows_within(starts: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64]) -> Windows:
    """Return the windows [W, 2] of shots, by their first clips [S] and numbers of clips [S]."""
    if (lengths > 1).any():
        starts, lengths = starts[lengths > 1], lengths[lengths > 1]
    spans = []
    for start, length in zip(starts.tolist(), lengths.tolist(), strict=True):
        size = min(WINDOW, length)
        first = np.arange(start, start + length - size + 1)
        spans.append(np.stack([first, first + size], axis=1))
    return np.concatenate(spans)


def window_means(curves: FloatArray, windows: Windows) -> FloatArray:
    """Return [M, W] means of curves [M, T] over windows [W, 2]."""
    first, after = windows.T
    means = np.empty((len(curves), len(windows)), np.float32)
    for curve, row in zip(curves, means, strict=True):  # sums in float64 of all would be large
        sums = np.append(0.0, np.cumsum(curve, dtype=np.float64))
        row[:] = (sums[after] - sums[first]) / (after - first)
    return means
