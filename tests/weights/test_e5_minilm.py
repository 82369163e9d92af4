"""The recipe of the matrix from E5's sentences to MiniLM's."""

import gzip
import json
from pathlib import Path

import numpy as np
from sklearn.linear_model import Ridge

from vidsum.weights.recipes.e5_minilm import choose, draw, fit_ridge


def test_matrix_is_that_of_ridge_regression() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(60, 5)).astype(np.float32), rng.normal(size=(60, 3)).astype(np.float32)
    expected = Ridge(alpha=10.0).fit(x, y)
    matrix = fit_ridge(x, y, 10.0)
    np.testing.assert_allclose(matrix[:-1], expected.coef_.T, atol=1e-5)
    np.testing.assert_allclose(matrix[-1], expected.intercept_, atol=1e-5)


def test_penalty_of_the_best_cosine_on_rows_held_out_is_chosen() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 6)).astype(np.float32)
    y = x[:, :4] / np.linalg.norm(x[:, :4], axis=1, keepdims=True)
    matrix, cosines = choose(x, y)
    best = max(cosines, key=cosines.__getitem__)
    is_held = np.arange(len(x)) % 10 == 0
    np.testing.assert_array_equal(matrix, fit_ridge(x[~is_held], y[~is_held], best))


def test_sentences_of_all_layouts_are_drawn_once_in_a_fixed_order(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "a.csv.gz", "wt") as file:
        file.write('image,caption\n1.jpg,"a dog, asleep"\n2.jpg, a cat \n')
    (tmp_path / "b.json").write_text(json.dumps({"v": {"sentences": ["a cat", "a bird"]}}))
    (tmp_path / "c.jsonl").write_text('{"query": "a fish"}\n')
    files = sorted(tmp_path.iterdir())
    texts = draw(files, 10)
    assert sorted(texts) == ["a bird", "a cat", "a dog, asleep", "a fish"]
    assert draw(files, 2) == texts[:2]
