"""Measures of rows of scores on one video and over videos: predictions, annotators, chance, equal scores."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from vidsum.evaluation.key_shots import at_every_frame, coverages, f_measures, key_shots
from vidsum.evaluation.rank import kendall_tau_b, spearman_rho
from vidsum.evaluation.reference import DRAWN, Reference
from vidsum.types import FloatArray

BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.float64]

HUMAN: Final = "human"
MEAN: Final = "mean annotator"
RANDOM: Final = "random"
UNIFORM: Final = "uniform"


@dataclass(frozen=True)
class KeyShotMeasures:
    """Key-shot summaries of a row compared with the annotators', for one segmentation and one knapsack.

    None where a single annotator has no other to be compared with.
    """

    segmentation: str
    knapsack: str
    f_max: float | None
    """F-measure with the nearest annotator."""
    f_avg: float | None
    """Mean F-measure over the annotators."""
    coverage: float | None


@dataclass(frozen=True)
class VideoMeasures:
    """A row's measures on one video, or their mean over videos."""

    tau: float | None
    """None where there are no scores of single annotators to compare with each other."""
    rho: float | None
    key_shots: tuple[KeyShotMeasures, ...]

    def as_json(self) -> dict[str, Any]:
        """All of them."""
        key_shots = [{key: _positive(value) for key, value in asdict(one).items()} for one in self.key_shots]
        return {"tau": _positive(self.tau), "rho": _positive(self.rho), "key_shots": key_shots}


@dataclass(frozen=True)
class SummaryMeasures:
    """A row's measures."""

    videos: Mapping[str, VideoMeasures]

    @cached_property
    def mean(self) -> VideoMeasures:
        """Over the videos."""
        return _mean_of(list(self.videos.values()))

    def as_json(self) -> dict[str, Any]:
        """The mean, and those of each video."""
        videos = {video: measures.as_json() for video, measures in self.videos.items()}
        return {**self.mean.as_json(), "videos": videos}

    def figures(self) -> dict[str, str]:
        """The mean: tau and rho with a sign, then the columns of `columns_of`."""
        cells = columns_of(self.mean.key_shots).cells
        measures = {
            head: getattr(self.mean.key_shots[number], field) for head, (number, field) in cells.items()
        }
        return {
            "   tau": _signed(self.mean.tau),
            "   rho": _signed(self.mean.rho),
            **{head: "-" if value is None else f"{value:.3f}" for head, value in measures.items()},
        }


class Columns(NamedTuple):
    """Which measures of the key shots a table shows."""

    title: str
    cells: Mapping[str, tuple[int, str]]
    """Head of a column -> number of the setting, and the name of its measure."""


Same = TypeVar("Same", KeyShotMeasures, VideoMeasures)


def columns_of(settings: Sequence[KeyShotMeasures]) -> Columns:
    """Of one segmentation each knapsack's F-measures; of several the mean F-measure of each segmentation."""
    if len({one.segmentation for one in settings}) == 1:
        knapsacks = [one.knapsack for one in settings]
        cells = {
            f"{head} {knapsack}": (number, field)
            for number, knapsack in enumerate(knapsacks)
            for head, field in (("F max", "f_max"), ("F avg", "f_avg"))
        }
        title = f"segmentation {settings[0].segmentation}, knapsack {' and '.join(knapsacks)}"
        return Columns(title, {**cells, "coverage": (-1, "coverage")})
    last = settings[-1].knapsack
    cells = {
        f"F {one.segmentation}": (number, "f_avg")
        for number, one in enumerate(settings)
        if one.knapsack == last
    }
    return Columns(f"F avg, segmentation as named, knapsack {last}", cells)


def _signed(value: float | None) -> str:
    return "     -" if value is None else f"{round(value, 3) + 0.0: .3f}"  # + 0.0: no -0.000


def _positive(value: Any) -> Any:
    return value + 0.0 if isinstance(value, float) else value  # no -0.0


def _mean_of(measures: Sequence[VideoMeasures]) -> VideoMeasures:
    of_settings = zip(*(one.key_shots for one in measures), strict=True)
    key_shots = (_means(settings, ("f_max", "f_avg", "coverage")) for settings in of_settings)
    return replace(_means(measures, ("tau", "rho")), key_shots=tuple(key_shots))


def _means(videos: Sequence[Same], names: Sequence[str]) -> Same:
    """The first, but with means over the videos."""
    means: dict[str, Any] = {name: _known_mean([getattr(one, name) for one in videos]) for name in names}
    return replace(videos[0], **means)


def _known_mean(values: Sequence[float | None]) -> float | None:
    """The mean over videos; None where a video has none."""
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if len(known) == len(values) else None


def measure_video(
    reference: Reference,
    predictions: Mapping[str, FloatArray],
    settings: Sequence[tuple[str, str]],
    n_seeds: int,
) -> dict[str, VideoMeasures]:
    """Measure each prediction on one video, and the rows that go with them.

    `human` is each annotator compared with the others; `mean annotator` their mean, compared with each of
    them; `random` a score drawn for each frame (Otani et al. 2019), the mean over seeds;
    `uniform` the same score everywhere.

    Args:
        reference: of the video.
        predictions: [T] scores by the name of the row.
        settings: (segmentation, knapsack) of the key shots.
        n_seeds: number of draws of scores and segmentations.
    """
    drawn = np.stack(
        [
            _generator(reference, "scores", seed).random(reference.n_frames, np.float32)
            for seed in range(n_seeds)
        ]
    )
    rows = {
        MEAN: reference.mean_scores[None],
        **{name: np.asarray(scores, np.float32)[None] for name, scores in predictions.items()},
        RANDOM: drawn[:, reference.picks],
        UNIFORM: np.ones((1, len(reference.picks)), np.float32),
    }
    frames = {name: at_every_frame(rows[name], reference.picks, reference.n_frames) for name in rows}
    frames[RANDOM] = drawn
    ranks = _ranks(reference, rows)
    found = [_key_shot_measures(reference, frames, *setting, n_seeds) for setting in settings]
    return {name: VideoMeasures(*ranks[name], tuple(measures[name] for measures in found)) for name in ranks}


def _generator(reference: Reference, what: str, seed: int) -> np.random.Generator:
    """Draws of scores and of shots do not depend on each other, nor on which videos are beside this one."""
    return np.random.default_rng([seed, *what.encode(), *reference.name.encode()])


def _ranks(
    reference: Reference, rows: Mapping[str, FloatArray]
) -> dict[str, tuple[float | None, float | None]]:
    """Mean tau-b and rho of each row's [R, T] scores with each annotator, and of the pairs of annotators.

    Where the annotators' mean is all there is, it is what rows are compared with.
    """
    annotators = reference.mean_scores[None] if reference.user_scores is None else reference.user_scores
    scores = np.concatenate([annotators, *rows.values()])
    found = [correlate(scores, annotators) for correlate in (kendall_tau_b, spearman_rho)]
    (among_taus, *taus), (among_rhos, *rhos) = (_split(each, [annotators, *rows.values()]) for each in found)
    pairs = np.triu_indices(len(annotators), 1)
    human = (_average(among_taus[pairs]), _average(among_rhos[pairs]))
    of_rows = zip(rows, map(_average, taus), map(_average, rhos), strict=True)
    return {HUMAN: human, **{name: (tau, rho) for name, tau, rho in of_rows}}


def _average(values: Numbers) -> float | None:
    return float(values.mean()) if values.size else None


def _split(stacked: Numbers, parts: Iterable[FloatArray]) -> list[Numbers]:
    """Undo the concatenation of parts."""
    return np.split(stacked, np.cumsum([len(part) for part in parts])[:-1])


def _key_shot_measures(
    reference: Reference, rows: Mapping[str, FloatArray], segmentation: str, knapsack: str, n_seeds: int
) -> dict[str, KeyShotMeasures]:
    """Those of [R, n_frames] rows; for a drawn segmentation the mean over draws, with a random row each."""
    is_drawn = segmentation in DRAWN
    given = reference.summaries(segmentation)
    scored = reference.scores_of_frames(segmentation) if given is None else rows[RANDOM][:0]
    n_annotators = len(scored if given is None else given)
    draws: list[dict[str, Numbers | None]] = []
    for seed in range(n_seeds if is_drawn else 1):
        shots = reference.shots(segmentation, _generator(reference, segmentation, seed))
        of_draw = {**rows, RANDOM: rows[RANDOM][[seed]]} if is_drawn else rows
        made = key_shots(np.concatenate([scored, *of_draw.values()]), shots, knapsack)
        summaries = made if given is None else np.concatenate([given, made])
        among, others = _measured(summaries, n_annotators)
        of_rows = zip(of_draw, _split(others, of_draw.values()), strict=True)
        draws.append({HUMAN: among, **{name: values.mean(axis=0) for name, values in of_rows}})
    means = {name: _mean([draw[name] for draw in draws]) for name in draws[0]}
    return {name: KeyShotMeasures(segmentation, knapsack, *means[name]) for name in means}


def _mean(draws: Sequence[Numbers | None]) -> list[float | None]:
    """[3] the mean of draws, which either all have measures or none has."""
    measured = [draw for draw in draws if draw is not None]
    return np.mean(measured, axis=0).tolist() if measured else [None] * 3


def _measured(summaries: BoolArray, n_annotators: int) -> tuple[Numbers | None, Numbers]:
    """[3] F max, F avg and coverage among the annotators, whose summaries come first, and [R, 3] of the rest.

    Args:
        summaries: [U + R, n_frames].
        n_annotators: U.
    """
    # frames that are alike in all summaries, as those of a shot are, count as one
    starts = np.flatnonzero(np.append(True, (summaries[:, 1:] != summaries[:, :-1]).any(axis=0)))
    lengths = np.diff(starts, append=summaries.shape[1])
    annotators, others = np.split(summaries[:, starts], [n_annotators])
    return _among(annotators, lengths), _compared(others, annotators, lengths)


def _compared(summaries: BoolArray, annotators: BoolArray, lengths: IntArray) -> Numbers:
    """[R, 3] F max, F avg and coverage of each summary."""
    scores = f_measures(summaries, annotators, lengths)
    covered = coverages(summaries, annotators.sum(axis=0), lengths)
    return np.column_stack([scores.max(axis=1), scores.mean(axis=1), covered])


def _among(annotators: BoolArray, lengths: IntArray) -> Numbers | None:
    """[3] the same of the annotators: each compared with the others."""
    n_annotators = len(annotators)
    if n_annotators < 2:
        return None
    apart = ~np.eye(n_annotators, dtype=np.bool_)
    scores = f_measures(annotators, annotators, lengths)[apart].reshape(n_annotators, n_annotators - 1)
    covered = coverages(annotators, annotators.sum(axis=0) - annotators, lengths)
    return np.array([scores.max(axis=1).mean(), scores.mean(), covered.mean()])
