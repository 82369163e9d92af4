"""F-measure against scikit-learn and Eq. 14-15 as they are written."""

import numpy as np
import pytest
from sklearn.metrics import f1_score

from vidsum.evaluation.key_shots import f_measures


def test_every_pair_is_as_scikit_learn_has_it() -> None:
    rng = np.random.default_rng(0)
    summaries, references = rng.random((4, 500)) < 0.15, rng.random((3, 500)) < 0.3
    expected = [[f1_score(reference, summary) for reference in references] for summary in summaries]
    np.testing.assert_allclose(f_measures(summaries, references, np.ones(500)), expected, rtol=1e-12)


def test_a_stretch_counts_as_all_its_frames() -> None:
    rng = np.random.default_rng(1)
    summaries, references, lengths = rng.random((4, 9)) < 0.5, rng.random((3, 9)) < 0.5, rng.integers(1, 9, 9)
    frames = [np.repeat(rows, lengths, axis=1) for rows in (summaries, references)]
    np.testing.assert_allclose(
        f_measures(summaries, references, lengths), f_measures(*frames, np.ones(lengths.sum())), rtol=1e-12
    )


def test_precision_and_recall_by_hand() -> None:
    summary, reference = [1, 1, 1, 0, 0, 0], [0, 0, 1, 1, 0, 0]
    precision, recall = 1 / 3, 1 / 2
    assert f_measures(summary, reference, [1] * 6).item() == pytest.approx(
        2 * precision * recall / (precision + recall)
    )


@pytest.mark.parametrize("reference", [[0, 0, 0], [0, 0, 1]])
def test_no_overlap_is_zero(reference: list[int]) -> None:
    assert f_measures([[0, 0, 0], [1, 1, 0]], reference, [1, 1, 1]).tolist() == [[0], [0]]
