"""Training videos simulated from captions: see docs/algorithms/captions.md for the equations."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from vidsum.errors import Mention, UsageError
from vidsum.grounding.spaces import STEP_S, ClipEmbeddings, guided_rows
from vidsum.grounding.windows import grid, resample, resample_clips
from vidsum.lab.datasets.moment_examples import MOST_SALIENT, HighlightExample, MomentExample, Pair, scores_at
from vidsum.lab.training.embedded_sentences import Captions, Words
from vidsum.lab.training.scripts import (
    NOTHING,
    Script,
    ScriptQuery,
    annotated_script,
    draw_query,
    fill_gaps,
    joined_script,
)
from vidsum.models.scaling import unit_rows
from vidsum.types import FloatArray, Interval, TimeArray

_JOINED = 0.6  # fraction of the videos that are joined from events of any; the others are as annotated
_NO_TARGET = 0.1  # fraction of no-target queries
_SCENE = 0.3  # weight of a video's own sentences where none of them is true
_WHOLE, _ELSEWHERE = 0.4, 0.2
"""Fractions of long videos taken whole, in longer clips; and of windows of the others without the query."""
_SHORTEST_S = 0.5  # a shorter rest of a moment at the edge of a window does not count
_MAX_COVERED = 0.7
"""Largest fraction of an example, less outliers, that a query may be true in; else it is the subject."""
_MIN_WEIGHT = 0.5  # weight of a sentence in a clip that it is true of, though annotators scored the clip 0
_PASSES, _SENTENCE_LASTS, _OUTLIER = 0.2, 0.5, 2.0
"""Fraction of the noise that is new in a clip; fraction of the rest by the text; factor in an outlier."""
_STRENGTH = (2 / 3, 4 / 3)  # range of the factor of a video's noise
_DRAWS, _LONGEST = 1000, 3
"""Maximum number of tries to find an example whose queries are moments; longest joined video, in windows."""


Show = Callable[[FloatArray, FloatArray], FloatArray]
"""Rows of length 1 that a space shows for (means of) captions [T, D] with normal noise [T, D]."""


@dataclass(frozen=True, eq=False)
class SimulationSettings:
    """How examples are simulated."""

    captions: Captions
    show: Show
    clips: int  # T, of an example
    clip_s: float  # seconds of a clip: of a video longer than T of them, an example is mostly a window of T


def simulate_moments(settings: SimulationSettings, n_videos: int, seed: Sequence[int]) -> list[MomentExample]:
    """Return examples drawn for a seed. Raises UsageError: queries are true in nearly all of a video."""
    rng = np.random.default_rng(list(seed))
    examples = []
    for _ in range(n_videos):
        draft = _draft(settings, rng)
        video = simulate_video(draft.script, settings, rng)
        query = settings.captions.queries[draft.query.query]
        clips = resample(guided_rows(video, query)[draft.window], settings.clips)
        examples.append(MomentExample(draft.script.name, clips, query[None], draft.windows[None]))
    return examples


def simulate_highlights(
    settings: SimulationSettings, words: Words, n_videos: int, seed: Sequence[int]
) -> list[HighlightExample]:
    """Return the same with saliency and a negative pair; `words` is called once, for all sentences."""
    rng = np.random.default_rng(list(seed))
    drawn = [_highlight_example(settings, rng) for _ in range(n_videos)]
    embedded = iter(words([sentence for sentences, _ in drawn for sentence in sentences]))
    return [make(next(embedded), next(embedded)) for _, make in drawn]


def _highlight_example(
    settings: SimulationSettings, rng: np.random.Generator
) -> tuple[tuple[int, int], Callable[[FloatArray, FloatArray], HighlightExample]]:
    """Return the numbers of the query and a random negative, and what makes the example from words."""
    draft = _draft(settings, rng)
    video = simulate_video(fill_gaps(draft.script, settings.captions, rng), settings, rng)
    query, negative = draft.query, int(rng.integers(len(settings.captions.queries)))

    def clips(number: int) -> FloatArray:
        rows = guided_rows(video, settings.captions.queries[number])
        return resample_clips(rows[draft.window], STEP_S, settings.clip_s, settings.clips)

    def make(words: FloatArray, negative_words: FloatArray) -> HighlightExample:
        windows = draft.windows[draft.windows[:, 1] > draft.windows[:, 0]]
        pair = Pair(negative_rows, negative_words)
        return HighlightExample(draft.script.name, rows, words, windows, saliency, pair)

    rows, negative_rows = clips(query.query), clips(negative)
    saliency = saliency_of(draft.script, query, video.timestamps)[draft.window]
    saliency = resample(saliency[:, None], len(rows))[:, 0]
    return (query.query, negative), make


class _Draft(NamedTuple):
    """The script of an example, and its query."""

    script: Script
    query: ScriptQuery
    window: slice  # the clips of the video's grid that the example has
    windows: FloatArray  # [W, 2] where the query is true, as fractions of the window; else one empty one


def _draft(settings: SimulationSettings, rng: np.random.Generator) -> _Draft:
    """Return a draft whose query is true in a part of the video only. UsageError: hardly any is."""
    for _ in range(_DRAWS):
        if draft := _try_draft(settings, rng):
            return draft
    raise UsageError(
        f"{settings.captions.n_sentences} captions are too few, or last too long: each is true in nearly "
        "all of its video",
        hint=("more ", Mention("data")),
    )


def _try_draft(settings: SimulationSettings, rng: np.random.Generator) -> _Draft | None:
    """Return a draft; None where its query is true in too much of it."""
    captions, window_s = settings.captions, settings.clips * settings.clip_s
    if rng.random() < _JOINED:
        script = joined_script(captions, _LONGEST * window_s, rng)
    else:
        script = annotated_script(captions, rng)
    query = draw_query(script, captions, _draw_sentence(script, captions, rng), rng)
    n_clips = len(grid(script.duration_s, STEP_S))
    window = _window(n_clips, round(window_s / STEP_S), query.moments, rng)
    outliers = [segment.window for segment in script.segments if segment.sentence == NOTHING]
    windows, empty = (_windows(spans, window, script.duration_s) for spans in (query.moments, outliers))
    covered, nothing = ((spans[:, 1] - spans[:, 0]).sum() for spans in (windows, empty))
    is_too_much = covered >= _MAX_COVERED * (1 - nothing) - 1e-6  # also of nothing but outliers
    return None if is_too_much else _Draft(script, query, window, windows)


def simulate_video(script: Script, settings: SimulationSettings, rng: np.random.Generator) -> ClipEmbeddings:
    times = grid(script.duration_s, STEP_S)
    vectors = settings.captions.vectors[[segment.sentence for segment in script.segments]]
    vectors[[segment.sentence == NOTHING for segment in script.segments]] = 0
    other = settings.captions.vectors[rng.integers(settings.captions.n_sentences)]
    scene = unit_rows((other + _SCENE * vectors.mean(axis=0))[None])  # where no text is shown
    texts, weights = np.concatenate([vectors, scene]), _weights(script, times)
    lasting = weights @ _lasting_noise(script, texts.shape[1], rng)
    passing = rng.standard_normal(lasting.shape, np.float32)
    noise = np.sqrt(1 - _PASSES) * lasting + np.sqrt(_PASSES) * passing
    rows = settings.show(weights @ texts, np.asarray(rng.uniform(*_STRENGTH) * noise, np.float32))
    return ClipEmbeddings(rows, times, STEP_S, script.duration_s)


def _weights(script: Script, times: TimeArray) -> FloatArray:
    """Return [T, S + 1] weight of each segment in a clip, the last of no segment; rows sum to 1."""
    covered = _covered_seconds([segment.window for segment in script.segments], times)
    nothing = covered.sum(axis=1, keepdims=True) == 0
    weights = np.concatenate([covered, nothing], axis=1)
    weights /= weights.sum(axis=1, keepdims=True)
    for number, segment in enumerate(script.segments):
        if segment.sentence in script.saliency:
            fraction = scores_at(script.saliency[segment.sentence], times) / MOST_SALIENT
            hidden = weights[:, number] * (1 - _MIN_WEIGHT) * (1 - fraction)
            weights[:, number] -= hidden
            weights[:, -1] += hidden
    return np.asarray(weights, np.float32)


def _covered_seconds(intervals: Sequence[Interval], times: TimeArray) -> TimeArray:
    """Return [T, N] seconds of each clip in each interval."""
    starts, ends = np.array(intervals, np.float64).reshape(-1, 2).T
    common = np.minimum(times[:, None] + STEP_S, ends) - np.maximum(times[:, None], starts)
    return np.asarray(np.maximum(common, 0.0))


def saliency_of(script: Script, query: ScriptQuery, times: TimeArray) -> FloatArray:
    """Return [T] in 0 to `MOST_SALIENT`: the annotators' scores, or the part of a clip that is true."""
    covered = _covered_seconds(query.moments, times).sum(axis=1)
    everywhere = np.asarray(MOST_SALIENT * np.minimum(1.0, covered / STEP_S), np.float32)
    if query.sentence not in script.saliency:
        return everywhere
    intervals = [segment.window for segment in script.true if segment.sentence == query.sentence]
    is_own = _covered_seconds(intervals, times).sum(axis=1) > 0
    return np.where(is_own, scores_at(script.saliency[query.sentence], times), everywhere)


def _lasting_noise(script: Script, dim: int, rng: np.random.Generator) -> FloatArray:
    """Return [S + 1, D] noise of deviation 1, shared in part by text and in part by shot."""
    texts = [segment.sentence for segment in script.segments]
    shots = [
        place if segment.shot is None else -1 - segment.shot for place, segment in enumerate(script.segments)
    ]
    rows = np.zeros((len(texts) + 1, dim), np.float32)
    for kinds, fraction in ((texts, _SENTENCE_LASTS), (shots, 1 - _SENTENCE_LASTS)):
        known, place = np.unique([*kinds, len(kinds) + max(kinds, default=0)], return_inverse=True)
        rows += np.sqrt(fraction) * rng.standard_normal((len(known), dim), np.float32)[place]
    rows[:-1][[text == NOTHING for text in texts]] *= _OUTLIER
    return rows


def _draw_sentence(script: Script, captions: Captions, rng: np.random.Generator) -> int:
    """Return a sentence that is true in a video; now and then any, which makes a no-target query."""
    present = rng.permutation(list(dict.fromkeys(segment.sentence for segment in script.true)))
    is_any = not len(present) or rng.random() < _NO_TARGET
    return int(rng.integers(captions.n_sentences) if is_any else present[0])


def _window(n_clips: int, longest: int, moments: Sequence[Interval], rng: np.random.Generator) -> slice:
    """Return the clips of an example: all, or of a long video a window, mostly one that meets the moments."""
    if n_clips <= longest or rng.random() < _WHOLE:
        return slice(0, n_clips)
    start = rng.integers(n_clips - longest + 1)
    if moments and rng.random() >= _ELSEWHERE:
        middle = rng.uniform(*moments[int(rng.integers(len(moments)))]) / STEP_S
        start = np.clip(middle - rng.uniform(0, longest), 0, n_clips - longest)
    return slice(int(start), int(start) + longest)


def _windows(moments: Sequence[Interval], window: slice, duration_s: float) -> FloatArray:
    """Return [W, 2] the moments of a query inside the window, as fractions; else one empty one."""
    first_s, last_s = window.start * STEP_S, min(window.stop * STEP_S, duration_s)
    inside = np.clip(np.reshape(moments, (-1, 2)), first_s, last_s)
    inside = inside[inside[:, 1] - inside[:, 0] >= _SHORTEST_S]
    fractions = (inside - first_s) / (last_s - first_s)
    return np.asarray(fractions if len(fractions) else np.zeros((1, 2)), np.float32)
