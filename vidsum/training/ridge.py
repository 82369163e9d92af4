"""Ridge regression of people's scores on the frames of annotated videos, one model per split.

It minimises the mean over videos of the mean squared error of a frame's score, both less their means over the
video, plus the penalty times the squared weights: scikit-learn's Ridge on centred rows, each weighted by one
over the frames of its video, with which tests compare it. Sums over frames are enough, so that many draws of
simulated features cost no memory.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import numpy as np
import torch

from vidsum.captioned.sources import Draw
from vidsum.checkpoints.trained import Trained, save_trained
from vidsum.datasets.splits import Split, k_fold
from vidsum.datasets.summaries import AnnotatedVideo
from vidsum.errors import UsageError
from vidsum.evaluation.rank import spearman_rho
from vidsum.models.ridge import RidgeScorer, averaged
from vidsum.summary.inputs import Inputs
from vidsum.training.examples import target_of
from vidsum.training.run import Run, split_facts, start_run
from vidsum.training.state import BEST, make_folder
from vidsum.training.summary_settings import RidgeSettings
from vidsum.types import FloatArray, Progress, TimeArray

PENALTIES: Final = (0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
"""Those that folds of the training videos choose from."""
_FOLDS, _VALIDATION_DRAWS = 5, 3
"""Of the choice of a penalty: parts of the training videos, and draws of each that it is measured on."""
_END_SCALE = 3.0
"""Factor of the time from the start and to the end, which the penalty then hardly shrinks."""


@dataclass(frozen=True)
class RidgeResult:
    """A fitted split."""

    split: Split
    checkpoint: Path
    penalty: float
    validation: float | None
    """Mean Spearman correlation in the folds that chose the penalty."""


def prepare_ridge(
    videos: Mapping[str, AnnotatedVideo],
    splits: Sequence[Split],
    settings: RidgeSettings,
    out: Path,
    *,
    sources: Sequence[Path] = (),
    draw: Draw | None = None,
    overwrite: bool = False,
) -> Run[RidgeSettings]:
    """Check data and settings and write `run.json`; see `vidsum.training.run.start_run`."""
    return start_run(
        "ridge",
        videos,
        splits,
        settings,
        out,
        inputs=asdict(Inputs(ends=settings.ends)),
        sources=sources,
        draw=draw,
        overwrite=overwrite,
    )


def fit_split(run: Run[RidgeSettings], number: int, progress: Progress | None = None) -> RidgeResult:
    """Fit the model of one split, and write its checkpoint.

    Raises:
        UsageError: there are too few training videos to choose a penalty.
        OutputError: the checkpoint cannot be written.
    """
    split, settings = run.splits[number], run.settings
    model = RidgeScorer(settings.model)
    if settings.model.components:
        _project(model, [_rows(run, name, 0) for name in split.train], settings)
    videos = []
    for done, name in enumerate(split.train, 1):
        videos.append(_fitted_to(run, name, model))
        if progress:
            progress("videos", done, len(split.train))
    penalty, validation = settings.penalty, None
    if penalty is None:
        penalty, validation = _choose(videos, settings)
    (weights,) = _solve(videos, [penalty])
    _set_weights(model, weights, videos, settings)
    facts = {"split": split_facts(split), "penalty": penalty, "validation": validation}
    target = run.folder(number) / BEST
    make_folder(target.parent)
    training = {**run.facts, **facts}
    save_trained(target, Trained("ridge", asdict(settings.model), run.features, training, model.state_dict()))
    return RidgeResult(split, target, penalty, validation)


@dataclass(frozen=True, eq=False)
class _Video:
    """What the regression needs of a video: its share of the normal equations, and rows to validate on."""

    products: TimeArray
    """[C, C] mean over frames and draws of phi phi^T, less the mean of phi over the video."""
    moments: TimeArray
    """[C] mean of phi times the target."""
    draws: Sequence[FloatArray]
    """[T, C] phi of each draw, less its mean."""
    target: FloatArray
    """[T]"""


def _fitted_to(run: Run[RidgeSettings], name: str, model: RidgeScorer) -> _Video:
    target = target_of(run.videos[name])
    draws = [
        _expanded(model, _rows(run, name, draw)) for draw in range(run.settings.draws if run.draw else 1)
    ]
    stacked = np.concatenate(draws).astype(np.float64)
    products = stacked.T @ stacked / len(stacked)
    moments = stacked.T @ np.tile(target, len(draws)) / len(stacked)
    return _Video(products, moments, draws, target)


def _rows(run: Run[RidgeSettings], name: str, draw: int) -> FloatArray:
    """[T, D] what the model reads of a draw of a video, with the ends scaled up."""
    return run.inputs.of(run.drawn(name, run.settings.seed, draw).features) * _scales(run.settings)


def _scales(settings: RidgeSettings) -> FloatArray:
    """[D] factors of the input during the fit."""
    scales = np.ones(settings.model.dim_in, np.float32)
    if settings.ends:
        scales[-2:] = _END_SCALE
    return scales


@torch.inference_mode()
def _expanded(model: RidgeScorer, rows: FloatArray) -> FloatArray:
    """[T, C] phi of rows [T, D], less its mean over the video."""
    phi = model.expand(torch.from_numpy(rows)[None])[0]
    expanded: FloatArray = (phi - phi.mean(dim=0)).numpy()
    return expanded


def _project(model: RidgeScorer, videos: Sequence[FloatArray], settings: RidgeSettings) -> None:
    """Draw the random features of the kernel; it is as wide as frames of one video are apart."""
    smooth = [averaged(torch.from_numpy(rows)[None], settings.model.window)[0] for rows in videos]
    variance = float(np.mean([rows.var(dim=0, correction=0).sum().item() for rows in smooth]))
    rng = np.random.default_rng(settings.seed)
    shape = (settings.model.components, settings.model.dim_in)
    projection = rng.standard_normal(shape) * np.sqrt(2 * settings.gamma / variance)
    model.get_buffer("projection").copy_(torch.from_numpy(projection))
    offset = rng.uniform(0, 2 * np.pi, settings.model.components)
    model.get_buffer("offset").copy_(torch.from_numpy(offset))


def _solve(videos: Sequence[_Video], penalties: Sequence[float]) -> list[TimeArray]:
    """[C] the weights that minimise the mean squared error over videos, plus each penalty."""
    products = np.mean([video.products for video in videos], axis=0)
    moments = np.mean([video.moments for video in videos], axis=0)
    identity = np.eye(len(moments))
    return [np.asarray(np.linalg.solve(products + penalty * identity, moments)) for penalty in penalties]


def _choose(videos: Sequence[_Video], settings: RidgeSettings) -> tuple[float, float]:
    """The penalty whose models rank frames best in folds of the training videos, and their correlation."""
    if len(videos) < _FOLDS:
        fault = f"{len(videos)} training videos are too few to choose a penalty by {_FOLDS} folds"
        raise UsageError(fault, hint="--penalty 0.1, or more videos")
    names = [str(number) for number in range(len(videos))]
    correlations: dict[float, list[float]] = {penalty: [] for penalty in PENALTIES}
    for fold in k_fold(names, _FOLDS, settings.seed):
        train = [videos[int(name)] for name in fold.train]
        for penalty, weights in zip(PENALTIES, _solve(train, PENALTIES), strict=True):
            for video in (videos[int(name)] for name in fold.test):
                rows = video.draws[:_VALIDATION_DRAWS]
                scores = [_smooth(each @ weights, settings.model.window) for each in rows]
                correlations[penalty].extend(spearman_rho(np.stack(scores), video.target)[:, 0].tolist())
    means = {penalty: float(np.mean(values)) for penalty, values in correlations.items()}
    best = max(means, key=lambda penalty: means[penalty])
    return best, means[best]


def _smooth(scores: TimeArray, window: int) -> FloatArray:
    rows = torch.from_numpy(np.asarray(scores, np.float32))[None, :, None]
    return averaged(rows, window)[0, :, 0].numpy()


def _set_weights(
    model: RidgeScorer, weights: TimeArray, videos: Sequence[_Video], settings: RidgeSettings
) -> None:
    """Give the model its weights, the scale of the ends among them, and the spread of its scores."""
    window = model.config.window
    spreads = [_smooth(video.draws[0] @ weights, window).std() for video in videos]
    # 0 where all annotators give all frames one score; then so is the model's
    model.get_buffer("spread").fill_(float(np.mean(spreads)) or 1.0)
    with torch.no_grad():
        model.weights.copy_(torch.from_numpy(weights))
        scaled = model.get_buffer("projection") if settings.model.components else model.weights
        scaled *= torch.from_numpy(_scales(settings))
