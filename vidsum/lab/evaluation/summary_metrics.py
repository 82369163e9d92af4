"""Measures of rows of scores on one video and over videos: predictions, annotators, chance, equal scores."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Annotated, Any, Final, TypedDict, get_args

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata
from scipy.stats import t as student_t

from vidsum.lab.evaluation.reference import (
    DRAWN,
    KNAPSACKS,
    Reference,
    at_every_frame,
    captured,
    f_measures,
    key_shots,
)
from vidsum.lab.evaluation.settings import Segmentation
from vidsum.types import BoolArray, FloatArray, Fraction, IntArray, TimeArray, rules

Correlation = Annotated[float, rules(minimum=-1, maximum=1)]

HUMAN: Final = "human"
MEAN: Final = "mean annotator"
OTHERS: Final = "mean of the others"
RANDOM: Final = "random"
UNIFORM: Final = "uniform"
BASELINES: Final = (HUMAN, MEAN, OTHERS, RANDOM, UNIFORM)


@dataclass(frozen=True)
class KeyShotMeasures:
    """Key-shot summaries of a row compared with the annotators', for one segmentation and one knapsack.

    None: a single annotator, who has no other; F max and `captured` also for `mean of the others`.
    """

    segmentation: Annotated[str, rules(enum=get_args(Segmentation))]
    knapsack: Annotated[str, rules(enum=KNAPSACKS)]
    f_max: Fraction | None  # F-measure with the nearest annotator
    f_avg: Fraction | None  # mean F-measure over the annotators
    captured: float | None
    """Annotators' mean score over the summary, in its deviations; of an annotator's summary, the others'."""


@dataclass(frozen=True)
class VideoMeasures:
    """A row's measures on one video, or their mean over videos."""

    tau: Correlation | None  # None where there are no scores of single annotators to compare with each other
    rho: Correlation | None
    key_shots: Annotated[tuple[KeyShotMeasures, ...], rules(minItems=1)]

    def as_json(self) -> dict[str, Any]:
        key_shots = [_without_negative_zero(asdict(measures)) for measures in self.key_shots]
        return {**_without_negative_zero({"tau": self.tau, "rho": self.rho}), "key_shots": key_shots}


class SummaryRow(TypedDict):
    """A row of scores: the mean over the videos, and each video."""

    name: str
    tau: Correlation | None
    rho: Correlation | None
    key_shots: Annotated[tuple[KeyShotMeasures, ...], rules(minItems=1)]
    videos: Mapping[str, VideoMeasures]


@dataclass(frozen=True)
class SummaryMeasures:
    videos: Mapping[str, VideoMeasures]

    @cached_property
    def mean(self) -> VideoMeasures:
        """Over the videos; None where a video has none."""
        videos = list(self.videos.values())
        key_shots = tuple(
            replace(
                same[0],
                f_max=_mean([f.f_max for f in same]),
                f_avg=_mean([f.f_avg for f in same]),
                captured=_mean([f.captured for f in same]),
            )
            for same in zip(*(video.key_shots for video in videos), strict=True)
        )
        return VideoMeasures(_mean([v.tau for v in videos]), _mean([v.rho for v in videos]), key_shots)

    def as_json(self) -> dict[str, Any]:
        """Return the mean, and the measures of each video."""
        videos = {video: measures.as_json() for video, measures in self.videos.items()}
        return {**self.mean.as_json(), "videos": videos}

    def figures(self) -> dict[str, str]:
        """Return the mean: tau and rho with a sign, the F-measures of `key_shot_columns`, and `captured`.

        `captured` is of the first segmentation and the last knapsack, with its 95 % interval over videos.
        """
        ranks = {"   tau": self.mean.tau, "   rho": self.mean.rho}
        key_shots = key_shot_columns(self.mean.key_shots)
        return {
            # + 0.0: no -0.000
            **{
                head: "     -" if value is None else f"{round(value, 3) + 0.0: .3f}"
                for head, value in ranks.items()
            },
            **{head: "-" if value is None else f"{value:.3f}" for head, value in key_shots.items()},
            "captured": _with_interval([_captured(video.key_shots) for video in self.videos.values()]),
        }


def key_shot_columns(measures: Sequence[KeyShotMeasures]) -> dict[str, float | None]:
    """Return each knapsack's F-measures, or, by the last knapsack, the mean of each segmentation."""
    last = measures[-1]
    if measures[0].segmentation != last.segmentation:
        return {f"F {m.segmentation}": m.f_avg for m in measures if m.knapsack == last.knapsack}
    return {
        f"{head} {m.knapsack}": value
        for m in measures
        for head, value in (("F max", m.f_max), ("F avg", m.f_avg))
    }


def _captured(measures: Sequence[KeyShotMeasures]) -> float | None:
    """Return `captured` of the first segmentation, by the last knapsack."""
    return [m.captured for m in measures if m.segmentation == measures[0].segmentation][-1]


def interval_of_mean(values: Sequence[float]) -> tuple[float, float] | None:
    """Return the 95 per cent interval of a mean, by Student's t; None of fewer than two values."""
    if len(values) < 2:
        return None
    mean, error = float(np.mean(values)), float(np.std(values, ddof=1) / np.sqrt(len(values)))
    side = error * float(student_t.ppf(0.975, len(values) - 1))
    return mean - side, mean + side


def _with_interval(values: Sequence[float | None]) -> str:
    """Return a mean with its interval; a dash where a value is missing."""
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return "-"
    interval = interval_of_mean(known)
    mean = f"{np.mean(known) + 0.0:.2f}"
    return f"{mean} [{interval[0]:.2f}, {interval[1]:.2f}]" if interval else mean


def _without_negative_zero(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value + 0.0 if isinstance(value, float) else value for key, value in values.items()}


def _mean(values: Sequence[float | None]) -> float | None:
    return None if None in values else float(np.mean(np.array(values, np.float64)))


def measure_video(
    reference: Reference,
    predictions: Mapping[str, FloatArray],
    settings: Sequence[tuple[str, str]],
    n_seeds: int,
    selections: Mapping[str, BoolArray] = {},
) -> dict[str, VideoMeasures]:
    """Measure predictions [T] on one video, and the baselines, for each (segmentation, knapsack).

    `human` is each annotator compared with the others; `mean annotator` their mean; `mean of the others` that
    of all but one, compared with that one; `random` a score drawn for each frame (Otani et al. 2019), the
    mean over seeds; `uniform` equal scores. `selections` [n_frames] replace the key shots of some rows.
    """
    seeds = [_generator(reference, "scores", seed) for seed in range(n_seeds)]
    drawn = np.stack([rng.random(reference.n_frames, np.float32) for rng in seeds])
    rows = {
        MEAN: reference.mean_scores[None],
        **{name: np.asarray(scores, np.float32)[None] for name, scores in predictions.items()},
        RANDOM: drawn[:, reference.picks],
        UNIFORM: np.ones((1, len(reference.picks)), np.float32),
    }
    frames = {name: at_every_frame(rows[name], reference.picks, reference.n_frames) for name in rows}
    frames[RANDOM] = drawn
    key_shots = [_key_shot_measures(reference, frames, *setting, n_seeds, selections) for setting in settings]
    annotators = reference.mean_scores[None] if reference.user_scores is None else reference.user_scores
    parts = {HUMAN: annotators, OTHERS: _means_of_others(annotators), **rows}
    scores, pairs = np.concatenate(list(parts.values())), np.triu_indices(len(annotators), 1)
    means = []
    for correlate in (kendall_tau_b, spearman_rho):
        among, without, *values = _split(correlate(scores, annotators), parts.values())
        # the means of the others are compared with the annotator that they lack
        correlations = (among[pairs], without.diagonal(), *values)
        means.append([float(values.mean()) if values.size else None for values in correlations])
    return {
        name: VideoMeasures(tau, rho, tuple(measures[name] for measures in key_shots))
        for name, tau, rho in zip(parts, *means, strict=True)
    }


def _means_of_others(annotators: FloatArray | BoolArray) -> FloatArray:
    """Return [U, T] the mean of all other rows for each row [U, T]; [0, T] of a single one."""
    n_others = len(annotators) - 1
    if n_others < 1:
        return np.zeros((0, annotators.shape[1]), np.float32)
    scores = annotators.astype(np.float32)
    return np.asarray((scores.sum(axis=0) - scores) / n_others, np.float32)


def _generator(reference: Reference, what: str, seed: int) -> np.random.Generator:
    """Return a generator that depends on this video, the kind of draw and the seed alone."""
    return np.random.default_rng([seed, *what.encode(), *reference.name.encode()])


def _split(stacked: TimeArray, parts: Iterable[FloatArray]) -> list[TimeArray]:
    """Undo the concatenation of parts."""
    return np.split(stacked, np.cumsum([len(part) for part in parts])[:-1])


def _key_shot_measures(
    reference: Reference,
    rows: Mapping[str, FloatArray],
    segmentation: str,
    knapsack: str,
    n_seeds: int,
    selections: Mapping[str, BoolArray],
) -> dict[str, KeyShotMeasures]:
    """Measure [R, n_frames] rows; for a drawn segmentation the mean over draws, with a random row each."""
    is_drawn = segmentation in DRAWN
    user_summary = reference.summaries(segmentation)
    scored = reference.scores_of_frames(segmentation) if user_summary is None else rows[RANDOM][:0]
    n_annotators = len(scored if user_summary is None else user_summary)
    mean_scores = at_every_frame(reference.mean_scores, reference.picks, reference.n_frames)
    others = _means_of_others(scored if user_summary is None else user_summary)
    draws = []
    for seed in range(n_seeds if is_drawn else 1):
        shots = reference.shots(segmentation, _generator(reference, segmentation, seed))
        drawn = {**rows, RANDOM: rows[RANDOM][[seed]]} if is_drawn else rows
        made = key_shots(np.concatenate([scored, others, *drawn.values()]), shots, knapsack)
        for row, selected in selections.items():  # all rows ahead of `random` are single
            made[len(scored) + len(others) + list(drawn).index(row)] = selected
        summaries = made if user_summary is None else np.concatenate([user_summary, made])
        among, without, values = _measure_key_shots(summaries, n_annotators, len(others))
        among = np.append(among, _captured_by_annotators(summaries[:n_annotators], reference))
        without = np.append(without, np.nan)
        values = np.column_stack([values, captured(summaries[-len(values) :], mean_scores)])
        draws.append([among, without, *(values.mean(axis=0) for values in _split(values, drawn.values()))])
    means = dict(zip((HUMAN, OTHERS, *rows), np.mean(draws, axis=0).tolist(), strict=True))
    return {
        row: KeyShotMeasures(segmentation, knapsack, *(None if np.isnan(f) else f for f in measures))
        for row, measures in means.items()
    }


def _captured_by_annotators(summaries: BoolArray, reference: Reference) -> float:
    """Return what an annotator's summary [U, n_frames] captures of the mean score of the others, on average.

    NaN where the data has the mean alone, in which each has a part, or a single annotator.
    """
    scores = reference.user_scores
    if scores is None or len(scores) != len(summaries) or len(scores) < 2:
        return float("nan")
    others = at_every_frame(_means_of_others(scores), reference.picks, reference.n_frames)
    shares = [captured(summary[None], mean)[0] for summary, mean in zip(summaries, others, strict=True)]
    return float(np.mean(shares))


def _measure_key_shots(
    summaries: BoolArray, n_annotators: int, n_others: int
) -> tuple[TimeArray, TimeArray, TimeArray]:
    """Return F max and avg [2] among annotators, [2] of the means of the others, [R, 2] of the rest.

    Of summaries [U + V + R, n_frames]: of U annotators, of the mean without each (V is U or 0), of the rest.
    """
    # frames that are alike in all summaries, as the frames of a shot are, count as one
    starts = np.flatnonzero(np.append(True, (summaries[:, 1:] != summaries[:, :-1]).any(axis=0)))
    lengths = np.diff(starts, append=summaries.shape[1])
    annotators, others, rest = np.split(summaries[:, starts], np.cumsum([n_annotators, n_others]))
    matches = f_measures(others, annotators, lengths).diagonal()
    without = np.array([np.nan, matches.mean() if matches.size else np.nan])
    scores = f_measures(rest, annotators, lengths)
    measured = np.stack([scores.max(axis=1), scores.mean(axis=1)], axis=1)
    return _measure_annotators(annotators, lengths), without, measured


def _measure_annotators(annotators: BoolArray, lengths: IntArray) -> TimeArray:
    """Return [2] the same of the annotators: each compared with the others; NaN for a single one."""
    n_annotators = len(annotators)
    if n_annotators < 2:
        return np.full(2, np.nan)
    apart = ~np.eye(n_annotators, dtype=np.bool_)
    scores = f_measures(annotators, annotators, lengths)[apart].reshape(n_annotators, n_annotators - 1)
    return np.array([scores.max(axis=1).mean(), scores.mean()])


def kendall_tau_b(first: npt.ArrayLike, second: npt.ArrayLike) -> TimeArray:
    """Return [A, B] Kendall's tau-b of rows [A, T] with rows [B, T]; 0 where a row is constant.

    Concordant less discordant pairs, divided by the geometric mean of the pairs that each row does not tie.
    """
    rows, others = np.atleast_2d(first), np.atleast_2d(second)
    both = np.concatenate([rows, others])
    agreement = np.zeros((len(rows), len(others)))
    untied = np.zeros(len(both))
    for lag in range(1, both.shape[1]):
        # products of signs add up to whole numbers that float32 holds exactly, below 2^24
        signs: FloatArray = np.sign(both[:, lag:] - both[:, :-lag]).astype(np.float32, copy=False)
        agreement += signs[: len(rows)] @ signs[len(rows) :].T
        untied += np.einsum("rp,rp->r", signs, signs)
    return _ratio(agreement, np.sqrt(np.outer(untied[: len(rows)], untied[len(rows) :])))


def spearman_rho(first: npt.ArrayLike, second: npt.ArrayLike) -> TimeArray:
    """Return [A, B] Spearman's rho of rows [A, T] with rows [B, T]; 0 where a row is constant."""
    ranks = [rankdata(np.atleast_2d(scores), axis=1) for scores in (first, second)]
    rows, others = (row - row.mean(axis=1, keepdims=True) for row in ranks)
    return _ratio(rows @ others.T, np.outer(np.linalg.norm(rows, axis=1), np.linalg.norm(others, axis=1)))


def _ratio(numerators: TimeArray, denominators: TimeArray) -> TimeArray:
    """Return their ratio; 0 where there is nothing to divide by."""
    zeros = np.zeros_like(numerators)
    return np.asarray(np.divide(numerators, denominators, out=zeros, where=denominators > 0))
