"""How likely a query is true of a video, and of each of its moments, in any image-text space.

Cosines of different spaces, videos and queries do not compare. Those of everyday phrases with the same clips
say what is usual, as speaker verification normalises a score by other speakers' models (t-norm: Auckenthaler,
Carey and Lloyd-Thomas, "Score Normalization for Text-Independent Speaker Verification Systems", 2000):

    z(q, t) = (q . f_t - m) / s + w(q) (l(q, t) - mean_u l(q, u)) / sd_u l(q, u)
    evidence(q, W) = mean of z(q, t) over a window W - 1/2 mean_b max_W' (b . f - m) / s

m is the mean of b . f_t over phrases b and clips t, s the deviation among phrases. The second term is there
where a network names objects; it compares with photographs u (`vidsum.grounding.presence`). A window has up
to five clips of one shot. The longer a video, the better its best phrase: hence the last term. The curve from
the evidence to the probability also reads how common a query is, q . mean_b b, standardised among phrases.

docs/algorithms/presence.md describes how the curves below were fitted, and their accuracy.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from vidsum import checkpoints
from vidsum.grounding.presence import compare_named
from vidsum.grounding.spaces import ClipEmbeddings, describe_space, log_likelihood
from vidsum.io.cache import cached_rows
from vidsum.models.scaling import logistic
from vidsum.types import FloatArray, TimeArray

Windows = npt.NDArray[np.int64]  # [W, 2] the first clip of each, and the one after it
QueryKind = Literal["noun", "phrase", "action", "sentence"]


class Curve(NamedTuple):
    """A logistic curve from the evidence, and how common a query is, to the probability."""

    slope: float
    offset: float
    common: float = 0.0


NAMED: dict[QueryKind, Curve] = {
    "noun": Curve(1.01, -2.01, -0.12),
    "phrase": Curve(1.11, -1.47, 0.62),
    "action": Curve(0.85, -1.75, 0.26),
    "sentence": Curve(1.46, -3.02, 0.18),
}  # where a network names objects
BARE: dict[QueryKind, Curve] = {
    "noun": Curve(1.42, -2.04, 0.10),
    "phrase": Curve(1.52, -1.47, 0.75),
    "action": Curve(1.17, -1.76, 0.22),
    "sentence": Curve(1.76, -2.59, 0.20),
}  # by the cosines alone
_WINDOW = 5  # clips
_LENGTH_WEIGHT = 0.5
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
    lines = files("vidsum.grounding").joinpath("background.txt").read_text("utf-8").splitlines()
    parts = [line.partition(":")[2] for line in lines if not line.startswith("#")]
    return [phrase.strip() for part in parts for phrase in part.split(";")]


def embed_background(space: str) -> FloatArray:
    """Return [B, D] of `background_phrases`, kept on disk. Raises WeightsError: see `encode_texts`."""
    described, phrases = describe_space(space), background_phrases()
    provenance = {"space": space, "phrases": phrases, "prompts": described.prompts}
    provenance["weights_sha256"] = checkpoints.sha256_of(described.text_encoder)
    return cached_rows("background", provenance, lambda: described.encode_texts(phrases))


@dataclass(frozen=True, eq=False)
class WindowMatches:
    """Probabilities of M queries in W windows of a video."""

    probabilities: FloatArray  # [M, W]
    middles_s: TimeArray  # [W] of the windows, in no order

    def best(self) -> FloatArray:
        """Return [M] of the best window."""
        return np.asarray(self.probabilities.max(axis=1), np.float32)

    def within(self, query: int, start_s: float, end_s: float) -> float:
        """Return the probability of the best window whose middle is in a moment, or else of the nearest."""
        is_inside = (self.middles_s >= start_s) & (self.middles_s < end_s)
        if not is_inside.any():
            distances = np.abs(self.middles_s - (start_s + end_s) / 2)
            is_inside = distances == distances.min()
        return float(self.probabilities[query, is_inside].max())


def match_windows(
    video: ClipEmbeddings,
    background: FloatArray,
    texts: Sequence[str],
    vectors: FloatArray,
    n_without: int = 0,
) -> WindowMatches:
    """Return how likely each query is true in the windows of a video.

    Args:
        video: in the space of the vectors.
        background: [B, D] of `embed_background`.
        texts, vectors: M queries and then what must not be seen with them, and [M + n_without, D] of all.
        n_without: number of the latter.

    Raises WeightsError where the map that ships with vidsum is damaged.
    """
    windows, curve_of = list_windows(video), NAMED if video.objects else BARE
    slope, offset, weight = np.array([curve_of[kind_of(text)] for text in texts], np.float32).T[..., None]
    offset = offset + weight * commonness(background, vectors)[:, None]
    values = slope * window_evidence(video, background, vectors, windows) + offset
    seen, unseen = np.split(logistic(values), [len(texts) - n_without])
    first, after = windows.T
    middles_s = (video.timestamps[first] + video.timestamps[after - 1] + video.step_s) / 2
    return WindowMatches(np.asarray(seen * np.prod(1 - unseen, axis=0), np.float32), middles_s)


def commonness(background: FloatArray, vectors: FloatArray) -> FloatArray:
    """Return [M] how near queries [M, D] are to everyday phrases [B, D]; these have mean 0, deviation 1."""
    mean = background.mean(axis=0)
    usual = background @ mean - 1 / len(background)  # without the phrase itself
    return np.asarray((vectors @ mean - usual.mean()) / (usual.std() or 1), np.float32)


def window_evidence(
    video: ClipEmbeddings, background: FloatArray, vectors: FloatArray, windows: Windows
) -> FloatArray:
    """Return [M, W] the evidence of queries [M, D] in windows; see the top of this module."""
    cosines = background @ video.rows.T
    mean, deviation = float(cosines.mean()), float(np.sqrt(cosines.var(axis=0).mean())) or 1.0
    usual = float(_means((cosines - mean) / deviation, windows).max(axis=1).mean())
    z = (vectors @ video.rows.T - mean) / deviation
    if objects := video.objects:
        z += compare_named(objects.names, vectors)(log_likelihood(objects, vectors))
    return _means(z, windows) - np.float32(_LENGTH_WEIGHT * usual)


def list_windows(video: ClipEmbeddings) -> Windows:
    """Return [W, 2] the first clip of each window and the one after it.

    Shots of one clip are left out unless there are no others: it also shows what is before or after them.
    """
    edges_s = np.array([0.0]) if video.shots_s is None else video.shots_s[:-1]
    shot_of = np.searchsorted(edges_s, video.timestamps + video.step_s / 2, side="right")
    starts = np.flatnonzero(np.diff(shot_of, prepend=-1))
    lengths = np.diff(starts, append=len(video))
    if (lengths > 1).any():
        starts, lengths = starts[lengths > 1], lengths[lengths > 1]
    spans = []
    for start, length in zip(starts.tolist(), lengths.tolist(), strict=True):
        size = min(_WINDOW, length)
        first = np.arange(start, start + length - size + 1)
        spans.append(np.stack([first, first + size], axis=1))
    return np.concatenate(spans)


def _means(curves: FloatArray, windows: Windows) -> FloatArray:
    """Return [M, W] means of curves [M, T] over windows [W, 2]."""
    first, after = windows.T
    means = np.empty((len(curves), len(windows)), np.float32)
    for curve, row in zip(curves, means, strict=True):  # sums in float64 of all would be large
        sums = np.append(0.0, np.cumsum(curve, dtype=np.float64))
        row[:] = (sums[after] - sums[first]) / (after - first)
    return means
