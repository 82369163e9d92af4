"""The measures of QVHighlights compared with a direct loop over queries, on data full of ties."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.lab.evaluation.highlight_loop import LENGTHS, LEVELS, clip_figures, moment_figures
from vidsum.lab.evaluation import highlight_metrics
from vidsum.lab.evaluation.highlight_metrics import measure_clips, measure_moments

# tenths of seconds, which floats do not hold: IoU that are thresholds are rounded
interval = st.tuples(st.integers(0, 40), st.integers(1, 40)).map(lambda one: [one[0] / 5, sum(one) / 5])
maybe_empty = interval | st.integers(0, 80).map(lambda at: [at / 5, at / 5])
scored = st.tuples(maybe_empty, st.integers(0, 3)).map(lambda one: [*one[0], one[1]])
answer = st.tuples(
    st.lists(scored, min_size=1, max_size=12), st.lists(interval, min_size=1, max_size=5, unique_by=tuple)
)


def lines(cases: list[tuple[list[Any], list[Any]]]) -> tuple[dict[int, Any], list[dict[str, Any]]]:
    """Predictions and truths, as the direct loop takes them."""
    predictions = {qid: {"pred_relevant_windows": moments} for qid, (moments, _) in enumerate(cases)}
    return predictions, [{"qid": qid, "relevant_windows": right} for qid, (_, right) in enumerate(cases)]


@settings(max_examples=25)
@given(cases=st.lists(answer, min_size=1, max_size=5), echoed=st.booleans())
def test_moments_are_measured_as_by_a_direct_loop(
    cases: list[tuple[list[Any], list[Any]]], echoed: bool
) -> None:
    if echoed:  # moments that are right windows, so that high thresholds are met too
        cases = [([*([*one, 2] for one in right), *moments], right) for moments, right in cases]
    moments = np.zeros((len(cases), 10, 2))
    scores = np.full((len(cases), 10), -np.inf)
    windows = np.zeros((len(cases), max(len(right) for _, right in cases), 2))
    for row, (found, right) in enumerate(cases):
        top = np.array(found[:10], float)
        moments[row, : len(top)], scores[row, : len(top)] = top[:, :2], top[:, 2]
        windows[row, : len(right)] = right
    measured = measure_moments(moments, scores, windows)
    lengths = {end - start for _, right in cases for start, end in right}
    for name, (above, at_most) in LENGTHS.items():
        measures = measured[name]
        if not any(above < length <= at_most for length in lengths):
            assert measures is None
            continue
        figures = moment_figures(*lines(cases), [name])[name]
        assert list(measures.recall.values()) == list(figures["MR-R1"].values())
        assert measures.miou == pytest.approx(figures["MR-mIoU"])
        found_ap = [*measures.precision.values(), measures.mean_precision]
        assert found_ap == pytest.approx(list(figures["MR-mAP"].values()))


video = st.integers(2, 12).flatmap(
    lambda n_clips: st.tuples(
        st.lists(st.integers(-2, 2), min_size=n_clips - 1, max_size=n_clips),
        st.lists(st.tuples(*[st.integers(0, 4)] * 3), min_size=n_clips, max_size=n_clips),
    )
)


@settings(max_examples=25)
@given(videos=st.lists(video, min_size=1, max_size=4))
def test_clips_are_measured_as_by_a_direct_loop(
    videos: list[tuple[list[int], list[tuple[int, ...]]]],
) -> None:
    longest = max(len(right) for _, right in videos)
    saliency = np.full((len(videos), longest), -np.inf)
    annotators = np.zeros((len(videos), longest, 3), np.float32)
    for row, (given_, right) in enumerate(videos):
        saliency[row, : len(given_)] = given_
        annotators[row, : len(right)] = right
    measured = measure_clips(saliency, annotators, np.array([len(right) for _, right in videos]))
    predictions = {qid: {"pred_saliency_scores": given_} for qid, (given_, _) in enumerate(videos)}
    truths = [
        {"qid": qid, "duration": 2 * len(right) + 1, "saliency_scores": right}
        | {"relevant_clip_ids": list(range(len(right)))}
        for qid, (_, right) in enumerate(videos)
    ]
    figures = clip_figures(predictions, truths)
    for name in LEVELS:
        assert measured[name].precision == pytest.approx(figures[f"HL-min-{name}"]["HL-mAP"])
        assert measured[name].hit == pytest.approx(figures[f"HL-min-{name}"]["HL-Hit1"])


def test_levels_and_lengths_are_those_of_the_field() -> None:
    assert highlight_metrics.LEVELS == LEVELS
    assert list(highlight_metrics.LENGTHS_S) == ["full", "short", "middle", "long"]


@pytest.mark.parametrize(
    ("moments", "scores", "windows", "expected"),
    [
        ([[[0, 10], [50, 60]]], [[0.1, 0.9]], [[[50, 60]]], (0.0, 1.0)),
        ([[[4, 4], [0, 10]], [[0, 10], [4, 4]]], [[0.9, 0.1]] * 2, [[[0, 10]]] * 2, (0.5, 0.75)),
        # 4.95 / 9.9 is a half; 4.95 / (4.95 + 9.9 - 4.95), which average precision goes by, a little less
        ([[[0, 4.95]]], [[0]], [[[0, 9.9]]], (1.0, 0.0)),
    ],
    ids=["recall is of the file's first moment", "empty moments are wrong", "a half by two formulas"],
)
def test_recall_and_precision_at_a_half(moments: Any, scores: Any, windows: Any, expected: Any) -> None:
    measured = measure_moments(np.array(moments, float), np.array(scores, float), np.array(windows, float))
    full = measured["full"]
    assert full is not None
    assert (full.recall[0.5], full.precision[0.5]) == expected


ENDS_ARE_GOOD = np.array([4, 0, 0, 4], np.float32).reshape(1, 4, 1)


def test_precision_of_clips_of_one_score_counts_them_together() -> None:
    measured = measure_clips(np.zeros((1, 4)), ENDS_ARE_GOOD, np.array([4]))["VeryGood"]
    assert measured.precision == 0.5


@pytest.mark.parametrize(("saliency", "hit"), [([0, 0, 0, 0], 1.0), ([0, 1, 1, 0], 0.0)])
def test_first_of_equal_clips_is_the_best_one(saliency: list[float], hit: float) -> None:
    assert measure_clips(np.array([saliency]), ENDS_ARE_GOOD, np.array([4]))["VeryGood"].hit == hit
