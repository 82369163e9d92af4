"""What is measured of a map: scikit-learn's regression, and plain covariances."""

import numpy as np

from vidsum.lab.training.vse_measured import PENALTIES, measure_map


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
