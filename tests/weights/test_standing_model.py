"""The recipe of the model of where passages can begin and end."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize

from tests.summary.test_standing import spoken
from vidsum.summary.standing import StandingRun
from vidsum.weights.recipes import standing_model
from vidsum.weights.recipes.standing_model import (
    CHOSEN,
    FACTS,
    LABELS,
    MEANING,
    PENALTY,
    Talk,
    chosen,
    elsewhere,
    fit,
    held_out,
    is_best,
    read_talks,
    verdicts,
)  # fmt: skip

TEXTS = [f"Printers number {n} cast letters of lead in towns." for n in range(8)]


def made_up(seed: int, best: tuple[tuple[int, int], ...] = ()) -> Talk:
    """Return a talk of which the first fact says where passages begin."""
    rng = np.random.default_rng(seed)
    inputs = rng.normal(size=(8, 4 + FACTS)).astype(np.float32)
    labels = np.stack([(inputs[:, 4] > 0) * 0.5, rng.integers(0, 3, 8) / 2], axis=1).astype(np.float32)
    return Talk(spoken(*TEXTS), inputs, labels, best)


def test_model_is_that_of_a_slow_minimum() -> None:
    talks = [made_up(seed) for seed in range(3)]
    tensors = fit(talks)
    x, y = (np.concatenate([getattr(talk, name) for talk in talks]) for name in ("inputs", "labels"))
    scale = np.array([MEANING] * 4 + [1.0] * FACTS) / (x.std(axis=0) + 1e-6)
    rows = (x - x.mean(axis=0)) * scale

    def loss(weights: np.ndarray, labels: np.ndarray) -> float:
        scores = rows @ weights[:-1] + weights[-1]
        entropy = np.logaddexp(0, scores) - labels * scores
        return float(entropy.sum() + PENALTY / 2 * (weights[:-1] ** 2).sum())

    for end in range(2):
        slow = minimize(loss, np.zeros(x.shape[1] + 1), args=(y[:, end],), method="BFGS").x
        np.testing.assert_allclose(tensors["weight"][end], slow[:-1] * scale, atol=2e-4)
        assert tensors["bias"][end] == pytest.approx(slow[-1], abs=2e-3)
    np.testing.assert_allclose(tensors["mean"], x.mean(axis=0), rtol=1e-5)


def test_answers_are_of_models_that_other_talks_fitted(monkeypatch: pytest.MonkeyPatch) -> None:
    talks, fitted = [made_up(seed) for seed in range(standing_model.FOLDS)], list[set[int]]()
    number_of = {id(talk): number for number, talk in enumerate(talks)}

    def watched(some: list[Talk]) -> dict[str, np.ndarray]:
        fitted.append({number_of[id(talk)] for talk in some})
        return fit(some)

    monkeypatch.setattr(standing_model, "fit", watched)
    edges = held_out(talks, lambda inputs: inputs)
    assert all(len(rows) == 8 for rows in edges)
    left_out = [set(range(len(talks))) - some for some in fitted]
    assert sorted(number for some in left_out for number in some) == [*range(len(talks))]


def test_what_is_unknown_elsewhere_is_nan() -> None:
    row = elsewhere(np.ones((1, 4 + FACTS), np.float32))[0]
    assert np.isnan(row).tolist() == [True] * 4 + [False] * 7 + [True] * 3


def test_passages_that_stand_best_do_not_overlap() -> None:
    runs = [StandingRun(first, first + 1, first / 10) for first in range(7)]
    assert [run.first for run in chosen(runs)] == [6, 4, 2]
    assert len(chosen(runs)) == CHOSEN


def test_a_passage_is_among_the_best_by_half_of_both() -> None:
    talk = made_up(0, best=((2, 5),))
    assert is_best(talk, StandingRun(2, 3, 1.0))
    assert not is_best(talk, StandingRun(1, 3, 1.0))
    assert is_best(talk, StandingRun(0, 5, 1.0)) == (4 / 6 >= 0.5)
    assert not is_best(made_up(0), StandingRun(0, 1, 1.0))


def test_verdicts_are_means() -> None:
    talk = Talk(spoken(*TEXTS), np.zeros((8, FACTS)), np.zeros((8, 2), np.float32), [(0, 1)])
    talk.labels[0, 0] = talk.labels[3, 1] = 0.5
    assert verdicts(talk, [StandingRun(0, 1, 1.0), StandingRun(0, 3, 1.0)]) == [1.0, 0.5, 0.5, 1.0]
    assert verdicts(talk, []) == [0.0] * 4


def test_labels_name_sentences_of_the_labelled_parts() -> None:
    for row in json.loads(LABELS.read_text(encoding="utf-8"))["talks"]:
        first, last = row["labelled"]
        assert 0 <= first < last <= row["sentences"]
        for name in ("begins", "ends"):
            good, fair = (set(row[name][grade]) for grade in ("good", "fair"))
            assert not good & fair
            assert (good | fair) <= set(range(first, last))
        assert all(first <= begin <= end < last for begin, end in row["best"])


def test_a_transcript_with_other_sentences_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = json.loads(LABELS.read_text(encoding="utf-8"))["talks"][0]
    (tmp_path / "labels.json").write_text(json.dumps({"talks": [row]}))
    monkeypatch.setattr(standing_model, "LABELS", tmp_path / "labels.json")
    path = tmp_path / row["repository"] / row["path"]
    path.parent.mkdir(parents=True)
    path.write_text("One sentence of a talk.")
    with pytest.raises(ValueError, match="1 sentences, not 128"):
        next(read_talks(tmp_path))
