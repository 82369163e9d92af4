"""The recipe of the models that mark sentences."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize

from tests.summary.test_standing import spoken
from vidsum.weights.recipes import standing_model
from vidsum.weights.recipes.standing_model import (
    FACTS,
    LABELS,
    MEANING,
    PENALTY,
    Talk,
    columns_of,
    elsewhere,
    fit,
    held_out,
    read_talks,
)

TEXTS = [f"Printers number {n} cast letters of lead in towns." for n in range(8)]
WIDTH = 6 + FACTS


def made_up(seed: int, *, has_subject: bool = True) -> Talk:
    """Return a talk of random labels."""
    rng = np.random.default_rng(seed)
    labels = (rng.integers(0, 3, (8, 3)) / 2).astype(np.float32)
    labels[:, 2] = labels[:, 2] if has_subject else np.nan
    return Talk(spoken(*TEXTS), rng.normal(size=(8, WIDTH)).astype(np.float32), labels, ())


def test_models_are_those_of_a_slow_minimum() -> None:
    talks = [made_up(seed, has_subject=seed > 0) for seed in range(4)]
    tensors = fit(talks)
    x, y = (np.concatenate([getattr(talk, name) for talk in talks]) for name in ("inputs", "labels"))
    scale = np.array([MEANING] * 6 + [1.0] * FACTS) / (x.std(axis=0) + 1e-6)
    for mark, columns in enumerate(columns_of(WIDTH)):
        is_known = ~np.isnan(y[:, mark])
        rows, labels = ((x - x.mean(axis=0)) * scale)[:, columns][is_known], y[is_known, mark]

        def loss(weights: np.ndarray, rows: np.ndarray = rows, labels: np.ndarray = labels) -> float:
            scores = rows @ weights[:-1] + weights[-1]
            entropy = np.logaddexp(0, scores) - labels * scores
            return float(entropy.sum() + PENALTY / 2 * (weights[:-1] ** 2).sum())

        slow = minimize(loss, np.zeros(columns.sum() + 1), method="BFGS").x
        np.testing.assert_allclose(tensors["weight"][mark, columns], slow[:-1] * scale[columns], atol=2e-4)
        assert not tensors["weight"][mark, ~columns].any()
        assert tensors["bias"][mark] == pytest.approx(slow[-1], abs=2e-3)
    np.testing.assert_allclose(tensors["mean"], x.mean(axis=0), rtol=1e-5)


def test_begin_and_end_read_no_places_and_the_subject_no_neighbours() -> None:
    begin, end, subject = columns_of(WIDTH)
    assert begin.tolist() == end.tolist() == [True] * 16 + [False] * 3
    assert subject.tolist() == [True] * 2 + [False] * 14 + [True] * 3


def test_marks_are_of_models_that_other_talks_fitted(monkeypatch: pytest.MonkeyPatch) -> None:
    talks, fitted = [made_up(seed) for seed in range(standing_model.FOLDS)], list[set[int]]()
    number_of = {id(talk): number for number, talk in enumerate(talks)}

    def watched(some: list[Talk]) -> dict[str, np.ndarray]:
        fitted.append({number_of[id(talk)] for talk in some})
        return fit(some)

    monkeypatch.setattr(standing_model, "fit", watched)
    assert [rows.shape for rows in held_out(talks)] == [(8, 3)] * len(talks)
    left_out = [set(range(len(talks))) - some for some in fitted]
    assert sorted(number for some in left_out for number in some) == [*range(len(talks))]


def test_what_is_unknown_elsewhere_is_nan() -> None:
    row = elsewhere(np.ones((1, WIDTH), np.float32))[0]
    assert np.isnan(row).tolist() == [True] * 6 + [False] * 7 + [True] * 4 + [False] * 2


def test_labels_name_sentences_of_the_labelled_parts() -> None:
    for row in json.loads(LABELS.read_text(encoding="utf-8"))["talks"]:
        first, last = row["labelled"]
        assert 0 <= first < last <= row["sentences"]
        for name in ("begins", "ends"):
            good, fair = (set(row[name][grade]) for grade in ("good", "fair"))
            assert not good & fair
            assert (good | fair) <= set(range(first, last))
        passages = [*row["best"], *(part for parts in row.get("summaries", ()) for part in parts)]
        assert all(first <= begin <= end < last for begin, end in passages)
        assert set(row.get("subject", ())) <= set(range(first, last))


def test_subjects_and_summaries_are_of_whole_talks() -> None:
    for row in json.loads(LABELS.read_text(encoding="utf-8"))["talks"]:
        assert ("subject" in row) == ("summaries" in row) == (row["labelled"] == [0, row["sentences"]])


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
