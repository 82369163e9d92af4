"""Training a visual-semantic embedding: it learns, goes on, is one map, and its measured parts are right."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn import functional

from tests.pictures import EXTRACTOR, embedded, make_pictures, use_stand_ins, write_csv
from vidsum.checkpoints.trained import Trained, read_trained
from vidsum.errors import InputError, OutputError
from vidsum.features.extractor import CustomExtractor, _registered
from vidsum.lab.evaluation.vse import read_map
from vidsum.lab.training.settings import LoopSettings
from vidsum.lab.training.summary_settings import VSEData, VSESettings
from vidsum.lab.training.vse import (
    average_maps,
    batches,
    contrastive_loss,
    feature_standard,
    lr_share,
    standardise,
    train_vse,
)
from vidsum.lab.training.vse_measured import PENALTIES, measure_map
from vidsum.models.configs import VSEConfig

SETTINGS = VSESettings(
    model=VSEConfig(hidden=32),
    loop=LoopSettings(epochs=20),
    maps=2,
    views=2,
    phrases=0.2,
    input_dropout=0.05,
    dropout=0.1,
    lr=0.01,
    batch_size=16,
    device="cpu",
)


@pytest.fixture
def data(own_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> VSEData:
    """96 pictures of 16 kinds, and networks that need no weights."""
    use_stand_ins(monkeypatch)
    make_pictures(folder := tmp_path / "data", 96)
    return VSEData(captions=folder / "captions.csv", pictures=folder / "images", extractor=EXTRACTOR)


def test_it_learns_and_the_mean_of_the_maps_is_one_map(data: VSEData, tmp_path: Path) -> None:
    result = train_vse(data, SETTINGS, tmp_path / "run")
    assert (result.n_validation, result.up_to_date, result.warnings) == (6, False, ())
    assert result.validation["r5"] == 1.0  # chance is .83, but there are pictures of one kind
    whole, trained = read_map(result.checkpoint)
    assert (trained.model, whole.config) == ("vse", VSEConfig(dim_in=48, hidden=64, dim_out=32))
    assert trained.features["extractor"] == EXTRACTOR
    assert trained.training["pictures"] == {"train": 78, "val": 6}
    assert trained.training["best"]["recall"] == list(result.validation.values())
    seen = whole.simulate(embedded(["a red circle"] * 3), np.zeros((3, 32), np.float32))
    assert np.allclose(np.linalg.norm(seen, axis=1), 1)


def test_the_mean_of_maps_weighs_them_equally() -> None:
    rng = np.random.default_rng(0)
    shapes = {"hidden.weight": (9, 6), "hidden.bias": (9,), "output.weight": (4, 9), "output.bias": (4,)}
    maps = [
        {name: factor * rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
        for factor in (1, 2, 3)
    ]
    trained = [
        Trained("vse-map", {}, {}, {}, {n: torch.from_numpy(t) for n, t in own.items()}) for own in maps
    ]
    x = rng.standard_normal((50, 6)).astype(np.float32)

    def outputs(layers: dict[str, np.ndarray]) -> np.ndarray:
        hidden = np.maximum(x @ layers["hidden.weight"].T + layers["hidden.bias"], 0)
        return np.asarray(hidden @ layers["output.weight"].T + layers["output.bias"])

    scaled = [each / np.linalg.norm(each, axis=1).mean() for each in map(outputs, maps)]
    whole = average_maps(trained, x)
    assert whole["hidden.weight"].shape == (27, 6)
    assert np.allclose(outputs(whole), np.mean(scaled, axis=0), atol=5e-3)


def test_it_can_be_stopped_anywhere_and_gives_the_same_bytes(data: VSEData, tmp_path: Path) -> None:
    small = replace(SETTINGS, loop=LoopSettings(epochs=2), batch_size=40)
    train_vse(data, small, tmp_path / "whole")
    for calls in (1, 2, 5, 5, 5):
        steps = iter(range(calls - 1))

        def stop(what: str, done: float, total: float, steps: Iterator[int] = steps) -> None:
            if next(steps, None) is None:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            train_vse(data, small, tmp_path / "parts", progress=stop)
    assert not (tmp_path / "parts" / "best.safetensors").exists()
    assert not train_vse(data, small, tmp_path / "parts").up_to_date
    for name in ("best", "map_0/best", "map_1/last"):
        first, second = ((tmp_path / run / f"{name}.safetensors").read_bytes() for run in ("whole", "parts"))
        assert first == second
    assert train_vse(data, small, tmp_path / "parts").up_to_date
    with pytest.raises(OutputError, match=r"phrases was 0.2, is 0.5"):
        train_vse(data, replace(small, phrases=0.5), tmp_path / "parts")
    assert not train_vse(data, replace(small, phrases=0.5), tmp_path / "parts", overwrite=True).up_to_date
    assert train_vse(data, replace(small, maps=1), tmp_path / "parts", overwrite=True).up_to_date is False
    assert {path.name for path in (tmp_path / "parts").glob("*/*")} == {
        "best.safetensors",
        "last.safetensors",
        "log.csv",
        "curves.png",
    }
    assert not list((tmp_path / "parts" / "map_1").iterdir())
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "best.safetensors").write_text("mine")
    with pytest.raises(OutputError, match="is not of a training run"):
        train_vse(data, small, tmp_path / "foreign")


def test_pictures_to_test_on_are_not_read_and_bad_ones_are_left_out(data: VSEData, tmp_path: Path) -> None:
    small = replace(SETTINGS, loop=LoopSettings(epochs=1), maps=1)
    for number in range(0, 96, 8):
        (data.pictures / f"{number:03}.png").write_text("for testing")
    (data.pictures / "002.png").write_text("damaged")
    result = train_vse(data, small, tmp_path / "run")
    assert result.warnings == ("pictures that cannot be read and are left out: 1, such as 002.png",)
    assert read_trained(result.checkpoint).training["pictures"] == {"train": 77, "val": 6}
    for number in range(1, 96):
        (data.pictures / f"{number:03}.png").write_text("damaged")
    with pytest.raises(InputError, match="only 0 of 78 pictures can be read"):
        train_vse(data, small, tmp_path / "run", overwrite=True)


def test_too_few_pictures_and_features_of_nan(
    data: VSEData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_csv(data.captions, {f"{number:03}.png": ["a"] for number in range(40)})
    with pytest.raises(InputError, match="has 3 pictures of the split val, 5 are needed"):
        train_vse(data, SETTINGS, tmp_path / "run")
    broken = CustomExtractor("broken", lambda each: np.full((len(each), 4), np.inf), dim=4, size=32)
    monkeypatch.setitem(_registered, "broken", broken)
    with pytest.raises(InputError, match="gives NaN or infinite features"):
        train_vse(replace(data, extractor="broken"), SETTINGS, tmp_path / "run")


def test_an_epoch_has_each_picture_once_with_a_sentence_of_its_own() -> None:
    picture_of = np.repeat(np.arange(50), np.arange(50) % 4 + 1)
    settings = replace(SETTINGS, views=3, phrases=0.4, batch_size=16)
    found = [batches(picture_of, settings, epoch) for epoch in range(1, 60)]
    for epoch in found:
        assert [len(step.picture) for step in epoch.values()] == [17, 17, 16]
        pictures, sentences = (
            np.concatenate([getattr(step, name) for step in epoch.values()])
            for name in ("picture", "sentence")
        )
        assert sorted(pictures) == list(range(50))
        assert np.array_equal(picture_of[sentences], pictures)
    steps = [step for epoch in found for step in epoch.values()]
    assert {int(each) for step in steps for each in step.sentence} == set(range(len(picture_of)))
    forms, views = (
        np.bincount(np.concatenate([getattr(step, name) for step in steps])) for name in ("form", "view")
    )
    assert np.allclose(forms / forms.sum(), (0.6, 0.2, 0.2), atol=0.03)
    assert np.allclose(views / views.sum(), 1 / 3, atol=0.03)
    again = batches(picture_of, settings, 1)
    assert all(
        np.array_equal(a, b) for name in again for a, b in zip(again[name], found[0][name], strict=True)
    )
    assert len(batches(picture_of, replace(settings, batch_size=500), 1)) == 1


def test_the_loss_is_that_of_its_equation() -> None:
    x, y = (
        functional.normalize(torch.randn(7, 5, generator=torch.Generator().manual_seed(seed)), dim=1)
        for seed in (0, 1)
    )
    scores = np.exp((x @ y.T).numpy() / 0.1)
    own = np.diag(scores)
    expected = -(np.log(own / scores.sum(axis=0)).mean() + np.log(own / scores.sum(axis=1)).mean()) / 2
    assert float(contrastive_loss(x, y, 0.1)) == pytest.approx(expected, rel=1e-5)


def test_the_learning_rate_rises_and_falls() -> None:
    shares = [lr_share(step / 100) for step in range(101)]
    assert (shares[10], max(shares)) == (1, 1)
    assert 0 < shares[0] < 0.1
    assert shares[100] == pytest.approx(0)
    assert all(first < second for first, second in pairwise(shares[:11]))
    assert all(first > second for first, second in pairwise(shares[10:]))


def test_features_are_standardised_over_all_views() -> None:
    features = np.random.default_rng(0).gamma(2, 3, (3, 200, 6)).astype(np.float32)
    features[:, :, 5] = 4  # always the same
    roots = np.sqrt(features)
    found = standardise(features, feature_standard(features))
    assert np.allclose(found.mean(axis=(0, 1)), 0, atol=1e-4)
    assert np.allclose(found[:, :, :5].std(axis=(0, 1)), 1, atol=0.02)
    assert np.isfinite(found).all()
    assert found is features
    assert np.allclose(
        found[:, :, 0] * roots[:, :, 0].std() + roots[:, :, 0].mean(), roots[:, :, 0], atol=0.05
    )


def test_answer_and_noise_are_a_ridge_regression_and_its_held_out_residuals() -> None:
    from sklearn.linear_model import Ridge

    rng = np.random.default_rng(0)
    picture_of = np.repeat(np.arange(300), 2)
    sentences = rng.standard_normal((600, 6))
    matrix, spread = rng.standard_normal((6, 6)), np.diag((0.1, 0.2, 0.3, 0.4, 0.5, 0.6))
    pictures = np.stack([sentences[picture_of == n].mean(axis=0) for n in range(300)]) @ matrix.T + 2
    pictures += rng.standard_normal((300, 6)) @ spread
    found = measure_map(pictures.astype(np.float32), sentences.astype(np.float32), picture_of)
    centred = sentences - sentences.mean(axis=0)
    gain = (centred * pictures[picture_of]).sum() / (centred**2).sum()
    rest = pictures[picture_of] - gain * sentences
    fits = [Ridge(alpha=penalty).fit(sentences, rest) for penalty in PENALTIES]
    weight = found["answer.weight"] - gain * np.eye(6)
    assert any(np.allclose(weight, fit.coef_, atol=3e-3) for fit in fits)
    assert any(np.allclose(found["answer.bias"], fit.intercept_, atol=2e-3) for fit in fits)
    residuals = pictures[picture_of] - sentences @ found["answer.weight"].T - found["answer.bias"]
    covariance = found["noise.weight"] @ found["noise.weight"].T
    assert np.allclose(covariance, residuals.T @ residuals / 600, rtol=0.1, atol=0.05)
    assert np.trace(covariance) > np.trace(residuals.T @ residuals / 600)  # held out
    assert np.allclose(found["cohort.mean"], pictures.mean(axis=0), atol=1e-4)
    spread = found["cohort.weight"].astype(np.float64)
    assert np.allclose(spread @ spread.T, np.cov(pictures.T, bias=True), rtol=2e-3, atol=2e-2)
