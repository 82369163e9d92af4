"""Training videos made up from captions: what a space would show while a sentence is true.

No video is needed. Of `conse`, a sentence is compared with the names of a network's classes, the
similarities become scores, noise is added as real clips show it, and the scores go over the same bridge as
those of a real video. Of `clip`, the sentence's own embedding shows through noise. The equations are in
docs/algorithms/captions.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from vidsum.datasets.examples import MomentExample
from vidsum.datasets.highlight_examples import MOST_SALIENT, scores_at
from vidsum.errors import UsageError
from vidsum.features.resample import resample
from vidsum.grounding.conse import ClassMixture, class_probabilities
from vidsum.grounding.spaces import STEP_S, ClipEmbeddings, guided_rows, of_mixtures, rows_of
from vidsum.grounding.windows import grid
from vidsum.intervals import stacked
from vidsum.scaling import unit_rows
from vidsum.training.captions import Captions, Script, Stretch, annotated, joined
from vidsum.types import FloatArray, TimeArray

_ANNOTATED = 0.4
"""Share of the videos that are as annotated; the others are joined."""
_SCENE = 0.3
"""How much of what its sentences say shows where none of them is true."""
_NOWHERE = 0.1
"""Share of the queries that are true nowhere in their video."""
_WHOLE = 0.4
"""Share of the long videos that are read as a whole, in longer clips; of the others a window is."""
_ELSEWHERE = 0.2
"""Share of the windows that are taken without regard to the query."""
_LEAST_S = 0.5
"""A shorter rest of a moment at the edge of a window does not count."""
_MOST = 0.7
"""Share of an example that a query may be true in. What is nearly always true is the video's subject, not a
moment of it, and a model that is taught such answers gives them where it is in doubt."""
_LEAST_SHOWN = 0.5
"""How much a clip shows a sentence that is true of it, though annotators gave it nothing."""
_DRAWS = 1000
"""Before it is given up to find an example whose queries are moments."""
_LONGEST = 3
"""Windows that a joined video is long at most."""


@dataclass(frozen=True)
class Haze:
    """How far what a network shows of a clip is from the words that are true of it."""

    temperature: float
    """A class's score is the similarity of its name with the sentence over this."""
    noise: tuple[float, float]
    """Least and largest deviation of the noise on the scores; each video has its own."""
    clip_share: float
    """Share of the noise's variance that is new in each clip; the rest lasts as long as the sentence."""


HAZE = {
    "i3d": Haze(0.02, (2.0, 4.5), 0.15),
    "efficientnet_lite0": Haze(0.1, (2.0, 3.0), 0.2),
    "clip": Haze(1.0, (0.10, 0.20), 0.3),
}
"""The first two as measured on real clips (docs/benchmarks/haze.py); CLIP's from its published cosines."""


@dataclass(frozen=True, eq=False)
class Classifier:
    """A network through whose classes a clip is seen."""

    names: FloatArray
    """[K, D] embeddings of the classes' names, each of length 1."""
    haze: Haze


@dataclass(frozen=True, eq=False)
class Making:
    """How examples are made up."""

    captions: Captions
    classifiers: Sequence[Classifier]
    """Of the space `conse`; none for a space that shows sentences directly."""
    clips: int
    """T, clips of an example."""
    clip_s: float
    """Seconds of a clip: of a video longer than T of them, an example is mostly a window of T."""
    n_queries: int = 1
    """Queries of an example at most."""
    guided: bool = True
    """Whether clips come with a guide (`vidsum.grounding.spaces.guided_rows`); then there is one query."""


def make_up(how: Making, n_videos: int, seed: Sequence[int]) -> list[MomentExample]:
    """Training examples, drawn anew for each seed.

    Args:
        how: to make them.
        n_videos: how many.
        seed: numbers that the draws depend on, such as a seed and an epoch.

    Raises:
        UsageError: hardly a draw has a query that is true in a part of the video only.
    """
    rng = np.random.default_rng(list(seed))
    return [_example(how, rng) for _ in range(n_videos)]


def _example(how: Making, rng: np.random.Generator) -> MomentExample:
    draft = drafted(how, rng)
    video = see(draft.script, how, rng)
    queries = how.captions.asked[draft.asked]
    rows = guided_rows(video, queries[0]) if how.guided else rows_of(video)
    return MomentExample(draft.script.name, resample(rows[draft.window], how.clips), queries, draft.windows)


class Draft(NamedTuple):
    """What an example will show, and what will be asked of it."""

    script: Script
    asked: list[int]
    """Sentences."""
    window: slice
    """The clips of the video's grid that the example has."""
    windows: FloatArray
    """[M, W, 2] where each query is true, as shares of the window, padded with empty ones."""


def drafted(how: Making, rng: np.random.Generator) -> Draft:
    """A draft whose queries are true in a part of the video only.

    Raises:
        UsageError: hardly a draw has such queries.
    """
    for _ in range(_DRAWS):
        if draft := _drafted(how, rng):
            return draft
    raise UsageError(
        f"{len(how.captions.vectors)} captions are too few, or last too long: each is true in nearly all of "
        "its video",
        hint="more --data",
    )


def _drafted(how: Making, rng: np.random.Generator) -> Draft | None:
    """A draft; none where a query is true in too much of it."""
    window_s = how.clips * how.clip_s
    is_annotated = rng.random() < _ANNOTATED
    script = annotated(how.captions, rng) if is_annotated else joined(how.captions, _LONGEST * window_s, rng)
    asked = _questions(script, how, rng)
    moments = [[one for one in script.stretches if one.sentence == sentence] for sentence in asked]
    n_clips = len(grid(script.duration_s, STEP_S))
    window = _window(n_clips, round(window_s / STEP_S), moments[0], rng)
    windows = _windows(moments, window, script.duration_s)
    if (windows[..., 1] - windows[..., 0]).sum(axis=1).max() > _MOST:
        return None
    return Draft(script, asked, window, windows)


def see(script: Script, how: Making, rng: np.random.Generator) -> ClipEmbeddings:
    """A video of the script as the space shows it."""
    times = grid(script.duration_s, STEP_S)
    sentences, shares = _sentences(script, how.captions, rng), _shares(script, times)
    if how.classifiers:
        mixtures = [_seen_through(one, sentences, shares, rng) for one in how.classifiers]
        return of_mixtures(mixtures, times, script.duration_s)
    part = unit_rows(_hazed(sentences, shares, HAZE["clip"], rng))
    return ClipEmbeddings((part,), times, STEP_S, script.duration_s)


def _sentences(script: Script, captions: Captions, rng: np.random.Generator) -> FloatArray:
    """[S + 1, D] what is true in each stretch; last, where no sentence is true: something else, in much the
    same scene.
    """
    own = captions.vectors[[one.sentence for one in script.stretches]]
    background = captions.vectors[rng.integers(len(captions.vectors))] + _SCENE * own.mean(axis=0)
    return np.concatenate([own, background[None]])


def _shares(script: Script, times: TimeArray) -> FloatArray:
    """[T, S + 1] which part of what a clip shows is each stretch, or at last none of them; rows sum to 1.

    Of a clip that annotators scored the sentence is the more, the better they found it.
    """
    covered = covered_s(script, times)
    nothing = covered.sum(axis=1, keepdims=True) == 0
    shares = np.concatenate([covered, nothing], axis=1)
    shares /= shares.sum(axis=1, keepdims=True)
    for number, one in enumerate(script.stretches):
        if one.sentence in script.saliency:
            good = saliency_of(script, one.sentence, times) / MOST_SALIENT
            hidden = shares[:, number] * (1 - _LEAST_SHOWN) * (1 - good)
            shares[:, number] -= hidden
            shares[:, -1] += hidden
    return np.asarray(shares, np.float32)


def covered_s(script: Script, times: TimeArray) -> TimeArray:
    """[T, S] seconds of each clip in each stretch."""
    starts, ends = np.array([one[1:] for one in script.stretches]).T
    common = np.minimum(times[:, None] + STEP_S, ends) - np.maximum(times[:, None], starts)
    covered: TimeArray = np.maximum(common, 0.0)
    return covered


def saliency_of(script: Script, sentence: int, times: TimeArray) -> FloatArray:
    """[T] from 0 to `MOST_SALIENT`: how well each clip shows a sentence.

    It is what annotators gave where they did, else as much as the sentence is true in the clip.
    """
    if sentence in script.saliency:
        return scores_at(script.saliency[sentence], times)
    of_sentence = [one.sentence == sentence for one in script.stretches]
    covered = covered_s(script, times)[:, of_sentence].sum(axis=1)
    return np.asarray(MOST_SALIENT * np.minimum(1.0, covered / STEP_S), np.float32)


def _seen_through(
    classifier: Classifier, sentences: FloatArray, shares: FloatArray, rng: np.random.Generator
) -> ClassMixture:
    scores = _hazed(sentences @ classifier.names.T, shares, classifier.haze, rng)
    return ClassMixture(class_probabilities(scores), classifier.names)


def _hazed(clear: FloatArray, shares: FloatArray, haze: Haze, rng: np.random.Generator) -> FloatArray:
    """[T, K] of what each stretch shows [S + 1, K]: with noise that lasts for the stretch or for a clip."""
    deviation = rng.uniform(*haze.noise)
    lasting = deviation * np.sqrt(1 - haze.clip_share) * rng.standard_normal(clear.shape, np.float32)
    mixed = shares @ (clear / haze.temperature + lasting)
    passing = deviation * np.sqrt(haze.clip_share) * rng.standard_normal(mixed.shape, np.float32)
    return np.asarray(mixed + passing, np.float32)


def _questions(script: Script, how: Making, rng: np.random.Generator) -> list[int]:
    """Sentences that are asked of a video: some of its own; now and then the first is true nowhere."""
    own = list(dict.fromkeys(one.sentence for one in script.stretches))
    asked = [int(number) for number in rng.permutation(own)[: 1 if how.guided else how.n_queries]]
    if rng.random() < _NOWHERE:
        asked[0] = int(rng.integers(len(how.captions.vectors)))
    return asked


def _window(n_clips: int, longest: int, moments: Sequence[Stretch], rng: np.random.Generator) -> slice:
    """The clips of an example: all, or of a long video a window, mostly one that meets the moments."""
    if n_clips <= longest or rng.random() < _WHOLE:
        return slice(0, n_clips)
    start = rng.integers(n_clips - longest + 1)
    if moments and rng.random() >= _ELSEWHERE:
        one = moments[int(rng.integers(len(moments)))]
        seen_at = rng.uniform(one.start_s, one.end_s) / STEP_S
        start = np.clip(seen_at - rng.uniform(0, longest), 0, n_clips - longest)
    return slice(int(start), int(start) + longest)


def _windows(moments: Sequence[Sequence[Stretch]], window: slice, duration_s: float) -> FloatArray:
    """[M, W, 2] of each query as shares of the window, padded with empty ones: what lies inside it."""
    start_s, end_s = window.start * STEP_S, min(window.stop * STEP_S, duration_s)
    inside = [
        [(max(one.start_s, start_s), min(one.end_s, end_s)) for one in of_query] for of_query in moments
    ]
    length_s = end_s - start_s
    kept = [
        [((a - start_s) / length_s, (b - start_s) / length_s) for a, b in of_query if b - a >= _LEAST_S]
        for of_query in inside
    ]
    return stacked(kept, at_most=max(1, *map(len, kept))).astype(np.float32)
