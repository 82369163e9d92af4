"""Ridge regression of people's scores on the frames of annotated videos, one model per split.

scikit-learn's Ridge on rows centred by video, each weighted by one over the frames of its video; from sums
over frames, so that many draws of simulated features cost no memory.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from vidsum.checkpoints.trained import Trained
from vidsum.errors import Mention, UsageError
from vidsum.io.atomic import make_folder
from vidsum.lab.datasets.annotated_videos import target_of
from vidsum.lab.datasets.splits import k_fold
from vidsum.lab.evaluation.summary_metrics import spearman_rho
from vidsum.lab.training.run import TrainingRun, split_facts
from vidsum.lab.training.state import BEST, require_ours, save_checkpoint
from vidsum.lab.training.summary_settings import RidgeSettings
from vidsum.models.ridge import RidgeScorer, add_novelty, moving_average
from vidsum.summary.importance import contrastive
from vidsum.types import FloatArray, Progress, TimeArray, reported

PENALTIES: Final = (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
"""Penalties that folds of the training videos choose from."""
_FOLDS, _VALIDATION_DRAWS = 5, 3
"""Choice of a penalty: parts of the training videos, and draws of each that it is measured on."""
_END_SCALE = 3.0  # factor of the time from the start and to the end, which the penalty then hardly shrinks


def fit_split(
    run: TrainingRun[RidgeSettings],
    number: int,
    progress: Progress | None = None,
    *,
    overwrite: bool = False,
) -> tuple[Path, "Fitted"]:
    """Fit the model of one split, see `fit_ridge`, and write its checkpoint, whose path comes too.

    `overwrite` replaces a foreign file. Raises OutputError: a file is foreign, or cannot be written.
    """
    split, target = run.splits[number], run.folder(number) / BEST
    make_folder(target.parent)
    if not overwrite:
        require_ours(target.parent)
    fitted = fit_ridge(run, split.train, progress)
    facts = {"split": split_facts(split), "penalty": fitted.penalty, "validation": fitted.validation}
    facts["slope"] = fitted.slope
    training = {**run.facts, **facts}
    config, tensors = asdict(run.settings.model), fitted.model.arrays
    checkpoint = Trained("ridge", config, run.features, training, tensors)
    save_checkpoint(target.parent, [BEST], checkpoint, overwrite=overwrite)
    return target, fitted


class Fitted(NamedTuple):
    model: RidgeScorer
    penalty: float
    validation: float | None  # mean Spearman correlation in the folds that chose the penalty
    slope: float  # of the target on the model's scores, in videos that folds hold out


def fit_ridge(
    run: TrainingRun[RidgeSettings], names: Sequence[str], progress: Progress | None = None
) -> Fitted:
    """Return the regression of some videos. Raises UsageError: too few to choose a penalty."""
    settings, window = run.settings, run.settings.model.window
    videos = [_sum_video(run, name) for name in reported(names, "videos", progress)]
    penalty, validation = settings.penalty, None
    if penalty is None:
        penalty, validation = _choose(videos, settings)
    (weights,) = _solve(videos, [penalty])
    spread, scaled = _spread(videos, weights, window), np.asarray(weights, np.float32) * _scales(settings)
    slope = _slope(videos, penalty, settings) if len(videos) >= _FOLDS else spread
    return Fitted(RidgeScorer(settings.model, scaled, spread), penalty, validation, slope)


@dataclass(frozen=True, eq=False)
class _Video:
    """Sums of a video for the regression: its share of the normal equations, and rows to validate on."""

    products: TimeArray  # [D, D] mean over frames and draws of x x^T
    moments: TimeArray  # [D] mean of x times the target
    draws: Sequence[FloatArray]  # [T, D] x of each draw, see `_rows`
    novelty: Sequence[FloatArray]  # [T] of each of the draws that are validated; none if it has no weight
    target: FloatArray  # [T]


def _sum_video(run: TrainingRun[RidgeSettings], name: str) -> _Video:
    target = target_of(run.videos[name])
    draws = [_rows(run, name, draw) for draw in range(run.settings.draws if run.draw else 1)]
    stacked = np.concatenate(draws).astype(np.float64)
    products = stacked.T @ stacked / len(stacked)
    moments = stacked.T @ np.tile(target, len(draws)) / len(stacked)
    return _Video(products, moments, draws, _novelty(run, name), target)


def _novelty(run: TrainingRun[RidgeSettings], name: str) -> list[FloatArray]:
    """Return [T] how new each sample is, of each draw of a video that is validated."""
    if not run.settings.model.novelty:
        return []
    numbers = range(min(run.settings.draws, _VALIDATION_DRAWS) if run.draw else 1)
    return [contrastive(run.drawn(name, run.settings.seed, number).features) for number in numbers]


def _rows(run: TrainingRun[RidgeSettings], name: str, draw: int) -> FloatArray:
    """Return [T, D] the model's input for a draw of a video, scaled, smoothed and centred."""
    features = run.drawn(name, run.settings.seed, draw).features
    rows = moving_average(run.inputs.of(features) * _scales(run.settings), run.settings.model.window)
    return np.asarray(rows - rows.mean(axis=0), np.float32)


def _scales(settings: RidgeSettings) -> FloatArray:
    """Return [D] factors of the input during the fit."""
    scales = np.ones(settings.model.dim_in, np.float32)
    if settings.ends:
        scales[-2:] = _END_SCALE
    return scales


def _solve(videos: Sequence[_Video], penalties: Sequence[float]) -> list[TimeArray]:
    """Return [D] the weights that minimise the mean squared error over videos, plus each penalty."""
    products = np.mean([video.products for video in videos], axis=0)
    moments = np.mean([video.moments for video in videos], axis=0)
    identity = np.eye(len(moments))
    return [np.asarray(np.linalg.solve(products + penalty * identity, moments)) for penalty in penalties]


def _choose(videos: Sequence[_Video], settings: RidgeSettings) -> tuple[float, float]:
    """Return the penalty whose models rank frames best in folds, and their correlation."""
    if len(videos) < _FOLDS:
        fault = f"{len(videos)} training videos are too few to choose a penalty by {_FOLDS} folds"
        raise UsageError(fault, hint=(Mention("penalty", 0.1), ", or more videos"))
    correlations: dict[float, list[float]] = {penalty: [] for penalty in PENALTIES}
    for train, test in _folds(videos, settings):
        for penalty, weights in zip(PENALTIES, _solve(train, PENALTIES), strict=True):
            for video in test:
                rows = video.draws[:_VALIDATION_DRAWS]
                scores = [_smooth(draw @ weights, settings.model.window) for draw in rows]
                correlations[penalty].extend(spearman_rho(np.stack(scores), video.target)[:, 0].tolist())
    means = {penalty: float(np.mean(values)) for penalty, values in correlations.items()}
    best = max(means, key=lambda penalty: means[penalty])
    return best, means[best]


def _folds(videos: Sequence[_Video], settings: RidgeSettings) -> Iterator[tuple[list[_Video], list[_Video]]]:
    """Yield the videos that a fold trains on, and those that it holds out."""
    for fold in k_fold([str(number) for number in range(len(videos))], _FOLDS, settings.seed):
        yield [videos[int(name)] for name in fold.train], [videos[int(name)] for name in fold.test]


def _slope(videos: Sequence[_Video], penalty: float, settings: RidgeSettings) -> float:
    """Return the slope of the target on the scores, novelty included, of videos that folds hold out.

    The products are means over frames, then over videos: each video counts as much.
    """
    model, together, squares = settings.model, 0.0, 0.0
    for train, test in _folds(videos, settings):
        (weights,) = _solve(train, [penalty])
        spread = _spread(train, weights, model.window)
        for video in test:
            for number, rows in enumerate(video.draws[:_VALIDATION_DRAWS]):
                scores = _smooth(rows @ weights, model.window) / spread
                if model.novelty:
                    scores = add_novelty(scores, video.novelty[number], model.novelty)
                centred = scores - scores.mean()
                together += float((centred * video.target).mean())
                squares += float((centred**2).mean())
    return together / squares if squares else 1.0


def _spread(videos: Sequence[_Video], weights: TimeArray, window: int) -> float:
    """Return the mean deviation of the scores within videos; 1 where all annotators gave a single score."""
    return float(np.mean([_smooth(video.draws[0] @ weights, window).std() for video in videos])) or 1.0


def _smooth(scores: TimeArray, window: int) -> FloatArray:
    return moving_average(scores[:, None], window)[:, 0]
