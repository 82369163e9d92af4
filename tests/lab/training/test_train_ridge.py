"""Fitting ridge regression: against scikit-learn's, a loop over penalties, and what a run leaves."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr

from tests.lab.training.videos import sampled_video
from tests.models.test_ridge import slow_average
from vidsum.checkpoints.trained import Trained, read_trained
from vidsum.errors import OutputError, UsageError
from vidsum.lab.datasets.annotated_videos import AnnotatedVideo, target_of
from vidsum.lab.datasets.splits import Split, k_fold
from vidsum.lab.training.run import read_run, start_run
from vidsum.lab.training.summary_settings import RidgeSettings
from vidsum.lab.training.train_ridge import PENALTIES, Fitted, fit_split
from vidsum.models.configs import RidgeConfig
from vidsum.results.features import Features
from vidsum.summary.importance import contrastive
from vidsum.summary.importance_model import ImportanceModel, load_importance_model

DIM, N_VIDEOS, WINDOW = 12, 9, 3
MODEL = RidgeConfig(window=WINDOW)
SETTINGS = RidgeSettings(model=MODEL, penalty=0.05)


def noisy_video(number: int) -> AnnotatedVideo:
    """Scores of three annotators that a direction of the features explains in part; lengths differ."""
    rng = np.random.default_rng([5, number])
    n_samples = 30 + 4 * number
    array = rng.normal(1, 1, (n_samples, DIM)).astype(np.float32)
    signal = array @ np.linspace(-1, 1, DIM) + np.linspace(0, 2, n_samples)
    scores = (signal + rng.normal(0, 6, (3, n_samples))).astype(np.float32)
    return sampled_video(f"made/video_{number}", array, scores.mean(axis=0), None, user_scores=scores)


VIDEOS = {video.name: video for video in map(noisy_video, range(1, N_VIDEOS + 1))}
NAMES = tuple(VIDEOS)
SPLIT = Split("made-1", NAMES[:-2], NAMES[-2:])


def fit(out: Path, settings: RidgeSettings = SETTINGS, **options: Any) -> tuple[Fitted, ImportanceModel]:
    videos = options.pop("videos", VIDEOS)
    checkpoint, fitted = fit_split(start_run("ridge", videos, [SPLIT], settings, out, **options), 0)
    return fitted, load_importance_model(str(checkpoint), "cpu")


def read_rows(video: AnnotatedVideo, ends: bool = True) -> np.ndarray:
    """[T, D] what the regression is fitted on: times of the ends three times as large, means of windows."""
    times = np.arange(len(video.features)) / 2 + 0.25
    columns = [video.features.array.astype(np.float64)]
    if ends:
        columns += [3 * np.minimum(each, 60)[:, None] / 60 for each in (times, len(times) / 2 - times)]
    rows = slow_average(np.concatenate(columns, axis=1), WINDOW)
    return rows - rows.mean(axis=0)


def reference(videos: list[AnnotatedVideo], penalty: float, ends: bool = True) -> np.ndarray:
    """scikit-learn's weights: each video counts as much, whatever its length."""
    from sklearn.linear_model import Ridge

    rows = [read_rows(video, ends) for video in videos]
    model = Ridge(alpha=penalty * len(videos), fit_intercept=False)
    weights = np.concatenate([np.full(len(each), 1 / len(each)) for each in rows])
    targets = np.concatenate([target_of(video) for video in videos])
    model.fit(np.concatenate(rows), targets, sample_weight=weights)
    return np.asarray(model.coef_)


@dataclass(frozen=True)
class Compared:
    """A fit, scikit-learn's weights for the same rows, and the deviation of its scores."""

    fitted: Fitted
    summarizer: ImportanceModel
    weights: np.ndarray
    spread: float
    penalty: float
    ends: bool


@pytest.fixture(
    scope="module",
    params=[(penalty, ends) for penalty in (0.0003, 0.05, 3.0) for ends in (True, False)],
    ids=str,
)
def compared(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Compared:
    penalty, ends = request.param
    settings = replace(SETTINGS, penalty=penalty, ends=ends)
    fitted, summarizer = fit(tmp_path_factory.mktemp("ridge") / "run", settings)
    train = [VIDEOS[name] for name in SPLIT.train]
    weights = reference(train, penalty, ends)
    fits = [slow_average(read_rows(video, ends) @ weights, WINDOW) for video in train]
    spread = float(np.mean([scores.std() for scores in fits]))
    return Compared(fitted, summarizer, weights, spread, penalty, ends)


def test_weights_are_those_of_scikit_learn(compared: Compared) -> None:
    scale = np.array([1.0] * DIM + [3.0] * (2 * compared.ends))
    np.testing.assert_allclose(compared.summarizer.model.weights, compared.weights * scale, atol=1e-5)


def test_penalty_that_is_given_is_not_validated(compared: Compared) -> None:
    assert (compared.fitted.penalty, compared.fitted.validation) == (compared.penalty, None)


def test_unit_of_scores_is_their_deviation_within_the_training_videos(compared: Compared) -> None:
    assert compared.summarizer.model.spread == pytest.approx(compared.spread, rel=1e-5)


def test_scores_are_those_of_scikit_learn_in_their_unit(compared: Compared) -> None:
    for video in VIDEOS.values():
        wanted = slow_average(read_rows(video, compared.ends) @ compared.weights, WINDOW)
        scores = compared.summarizer.model(compared.summarizer.inputs.of(video.features))
        np.testing.assert_allclose(scores, (wanted - wanted.mean()) / compared.spread, atol=1e-4)


def test_penalty_is_the_best_of_the_folds(tmp_path: Path) -> None:
    result, _ = fit(tmp_path / "run", replace(SETTINGS, penalty=None, seed=3))
    train = [VIDEOS[name] for name in SPLIT.train]
    means = {}
    for penalty in PENALTIES:
        rhos = []
        for fold in k_fold([str(number) for number in range(len(train))], 5, 3):
            weights = reference([train[int(name)] for name in fold.train], penalty)
            for video in (train[int(name)] for name in fold.test):
                scores = slow_average(read_rows(video) @ weights, WINDOW)
                rhos.append(spearmanr(scores, target_of(video)).statistic)
        means[penalty] = np.mean(rhos)
    assert result.penalty == max(means, key=lambda penalty: means[penalty])
    assert result.validation == pytest.approx(max(means.values()), abs=1e-3)
    assert max(means.values()) - min(means.values()) > 0.005  # there is something to choose


def held_out_slope(videos: list[AnnotatedVideo], penalty: float, novelty: float) -> float:
    """Slope of the targets on scores of the regressions of folds, each video with the same weight."""
    together, squares = list[float](), list[float]()
    for fold in k_fold([str(number) for number in range(len(videos))], 5, 0):
        train = [videos[int(name)] for name in fold.train]
        weights = reference(train, penalty)
        spread = np.mean([slow_average(read_rows(video) @ weights, WINDOW).std() for video in train])
        for video in (videos[int(name)] for name in fold.test):
            scores = slow_average(read_rows(video) @ weights, WINDOW) / spread
            new = contrastive(video.features).astype(np.float64)
            scores = (scores + novelty * (new - new.mean()) / new.std()) / np.sqrt(1 + novelty**2)
            scores -= scores.mean()
            together.append(float(np.mean(scores * target_of(video))))
            squares.append(float(np.mean(scores**2)))
    return float(np.mean(together) / np.mean(squares))


@pytest.mark.parametrize("novelty", [0.0, 0.5])
def test_slope_is_of_videos_that_folds_hold_out(tmp_path: Path, novelty: float) -> None:
    settings = replace(SETTINGS, model=replace(MODEL, novelty=novelty))
    fitted, summarizer = fit(tmp_path / "run", settings)
    wanted = held_out_slope([VIDEOS[name] for name in SPLIT.train], 0.05, novelty)
    assert fitted.slope == pytest.approx(wanted, rel=1e-3)
    assert summarizer.slope == fitted.slope
    assert 0.1 < fitted.slope < 1


def test_scores_are_taken_as_fitted_where_videos_are_too_few_for_folds(tmp_path: Path) -> None:
    run = start_run("ridge", VIDEOS, [Split("few", NAMES[:4], NAMES[4:])], SETTINGS, tmp_path)
    _, fitted = fit_split(run, 0)
    assert fitted.slope == fitted.model.spread


def test_draws_count_as_one_video_of_so_many_frames(tmp_path: Path) -> None:
    """The fit equals one to videos with the frames of all draws."""

    from sklearn.linear_model import Ridge

    def draw(video: AnnotatedVideo, *seed: int) -> AnnotatedVideo:
        rng = np.random.default_rng([*seed, *video.name.encode()])
        noise = rng.normal(0, 1, video.features.array.shape).astype(np.float32)
        array = video.features.array + noise
        return replace(video, features=replace(video.features, array=array, extractor="drawn"))

    draw.weights = {}  # type: ignore[attr-defined]

    settings = replace(SETTINGS, draws=3, seed=4)
    _, summarizer = fit(tmp_path / "run", settings, draw=draw)
    assert summarizer.extractor == "drawn"
    model = Ridge(alpha=0.05 * len(SPLIT.train), fit_intercept=False)
    drawn = [draw(VIDEOS[name], 4, number) for name in SPLIT.train for number in range(3)]
    rows = [read_rows(video) for video in drawn]
    weights = np.concatenate([np.full(len(each), 1 / (3 * len(each))) for each in rows])
    model.fit(
        np.concatenate(rows), np.concatenate([target_of(each) for each in drawn]), sample_weight=weights
    )
    found = summarizer.model.weights
    np.testing.assert_allclose(found, model.coef_ * ([1] * DIM + [3] * 2), atol=1e-5)


def best(run: Path) -> Path:
    return run / "split_0" / "best.safetensors"


def test_same_settings_make_the_same_bytes(tmp_path: Path) -> None:
    for out in ("first", "run", "run"):
        fit(tmp_path / out, SETTINGS)
        assert best(tmp_path / out).read_bytes() == best(tmp_path / "first").read_bytes()


def test_run_with_other_settings_is_left_alone(tmp_path: Path) -> None:
    fit(tmp_path, SETTINGS)
    before = best(tmp_path).read_bytes()
    with pytest.raises(OutputError, match="penalty was"):
        fit(tmp_path, replace(SETTINGS, penalty=0.5))
    assert best(tmp_path).read_bytes() == before


def test_run_with_other_settings_is_overwritten_if_asked_for(tmp_path: Path) -> None:
    fit(tmp_path, SETTINGS)
    before = best(tmp_path).read_bytes()
    fit(tmp_path, replace(SETTINGS, penalty=0.5), overwrite=True)
    assert best(tmp_path).read_bytes() != before


def test_no_model_of_a_run_that_was_overwritten_is_left(tmp_path: Path) -> None:
    splits = [replace(split, name=f"made-{n}") for n, split in enumerate(k_fold(NAMES, 3), 1)]
    before = start_run("ridge", VIDEOS, splits, SETTINGS, tmp_path)
    for number in range(3):
        fit_split(before, number)
    after = start_run("ridge", VIDEOS, splits, replace(SETTINGS, penalty=0.5), tmp_path, overwrite=True)
    fit_split(after, 0)
    left = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.safetensors"))
    assert left == ["split_0/best.safetensors"]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Trained]:
    """The record of a run with a file of its data, and its checkpoint."""
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "made.h5").write_bytes(b"videos")
    fit(folder / "run", sources=[folder / "made.h5"])
    return dict(read_run(folder / "run")), read_trained(best(folder / "run"))


def test_run_and_checkpoint_have_model_and_features(recorded: tuple[dict[str, Any], Trained]) -> None:
    run, trained = recorded
    assert run["model"] == trained.model == "ridge"
    assert run["features"] == trained.features
    assert (trained.features["dim"], trained.features["fps"], trained.features["ends"]) == (DIM, 2, True)
    assert run["settings"]["model"]["dim_in"] == trained.config["dim_in"] == DIM + 2


def test_run_and_checkpoint_have_data_and_split(recorded: tuple[dict[str, Any], Trained]) -> None:
    run, trained = recorded
    assert [split["folder"] for split in run["splits"]] == ["split_0"]
    assert trained.training["data"] == run["data"]
    assert run["data"][0]["name"] == "made.h5"
    assert trained.training["split"]["test"] == list(SPLIT.test)


def test_videos_of_equal_scores_make_a_model_that_scores_zero(tmp_path: Path) -> None:
    level = {
        name: replace(video, user_scores=None, gtscore=np.full(len(video.features), 3, np.float32))
        for name, video in VIDEOS.items()
    }
    _, summarizer = fit(tmp_path / "run", videos=level)
    rows = summarizer.inputs.of(VIDEOS[NAMES[0]].features)
    np.testing.assert_array_equal(summarizer.model(rows), np.zeros(len(rows)))


def test_too_few_videos_to_choose_a_penalty_are_refused(tmp_path: Path) -> None:
    few = Split("made-1", NAMES[:3], NAMES[3:])
    run = start_run("ridge", VIDEOS, [few], replace(SETTINGS, penalty=None), tmp_path)
    with pytest.raises(UsageError, match="3 training videos are too few to choose a penalty"):
        fit_split(run, 0)


def test_features_of_another_size_are_refused(tmp_path: Path) -> None:
    other = VIDEOS[NAMES[0]]
    wide = replace(other, features=Features.from_array(np.ones((len(other.features), 3))))
    with pytest.raises(UsageError, match="3 numbers"):
        start_run("ridge", {**VIDEOS, wide.name: wide}, [SPLIT], SETTINGS, tmp_path)


@pytest.mark.parametrize("wrong", [{"penalty": 0.0}, {"draws": 0}, {"seed": -1}], ids=str)
def test_wrong_setting_of_ridge_is_named(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=next(iter(wrong))):
        RidgeSettings(**wrong)
