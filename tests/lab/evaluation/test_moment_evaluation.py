"""Evaluations of moments and of QVHighlights: published figures, direct loops, baselines."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.lab.datasets.moment_layouts import moment_video
from tests.lab.evaluation.highlight_loop import LENGTHS, hull_overlap, moment_figures
from vidsum.errors import UsageError
from vidsum.lab.datasets.timed_sentences import MomentVideo, Query, read_highlights
from vidsum.lab.evaluation.highlight_metrics import HighlightMeasures
from vidsum.lab.evaluation.moment_evaluation import (
    CURVE,
    THRESHOLDS,
    TOP,
    best_ious,
    evaluate_highlights,
    evaluate_moments,
    measure,
    random_moments,
    whole_video,
)
from vidsum.lab.evaluation.settings import Comparison
from vidsum.lab.evaluation.submissions import QueryPrediction, read_highlight_predictions, write_predictions
from vidsum.results.moments import Moment
from vidsum.types import FloatArray, Interval, stack_intervals


def clips(*scores: int) -> FloatArray:
    """Return the scores of two annotators who agree."""
    return np.repeat(np.array(scores, np.float32)[:, None], 2, axis=1)


QUERIES = {
    "7": Query("7", "A girl", "x", 8.0, ((2.0, 6.0),), clips(0, 4, 2, 0)),
    "8": Query("8", "A dog", "x", 8.0, ((0.0, 8.0),), clips(3, 3, 3, 3)),
    "9": Query("9", "A cat", "y", 4.0, ((0.0, 2.0),), clips(4, 0)),
}


def answers(**changes: Any) -> dict[str, QueryPrediction]:
    """Right answers, but for the changes."""
    return {
        qid: QueryPrediction(
            **{
                "qid": qid,
                "query": query.text,
                "video": query.video,
                "moments": tuple(Moment(*window, 1.0) for window in query.windows),
                "saliency": tuple(query.saliency[:, 0].tolist()) if query.saliency is not None else None,
                **changes,
            }
        )
        for qid, query in QUERIES.items()
    }


def figures(row: HighlightMeasures) -> dict[str, Any]:
    """A row by the names of the published metrics file, in per cent."""
    found: dict[str, Any] = {}
    for name, measures in (row.moments or {}).items():
        precision = {str(at): share for at, share in measures.precision.items()}
        found[name] = {
            "MR-mAP": {**precision, "average": measures.mean_precision},
            "MR-R1": {str(at): share for at, share in measures.recall.items()},
            "MR-mIoU": measures.miou,
        }
    for name, of_level in (row.clips or {}).items():
        found[f"HL-min-{name}"] = {"HL-mAP": of_level.precision, "HL-Hit1": of_level.hit}
    return found


def in_per_cent(values: Any) -> Any:
    """With two decimals, as published."""
    if isinstance(values, dict):
        return {key: in_per_cent(value) for key, value in values.items()}
    return float(f"{100 * values:.2f}")


@pytest.mark.shared
def test_every_published_figure_is_met(shared: Path, tmp_path: Path) -> None:
    folder = shared / "data" / "qvhighlights"
    queries = read_highlights(folder / "highlight_val_release.jsonl")
    predictions = read_highlight_predictions(folder / "sample_val_preds.jsonl", queries)
    report = evaluate_highlights(queries, predictions, name="sample", n_seeds=1)
    published = json.loads((folder / "sample_val_preds_metrics_raw.json").read_text())
    brief = published.pop("brief")
    found = in_per_cent(figures(next(iter(report.rows.values()))))
    unpublished = {name: (found[name].pop("MR-mIoU"), found[name]["MR-R1"].pop("0.3")) for name in LENGTHS}
    assert found == published
    lines = [
        [json.loads(line) for line in (folder / name).read_text().splitlines()]
        for name in ("sample_val_preds.jsonl", "highlight_val_release.jsonl")
    ]
    direct = in_per_cent(moment_figures({line["qid"]: line for line in lines[0]}, lines[1]))
    assert unpublished == {name: (direct[name]["MR-mIoU"], direct[name]["MR-R1"]["0.3"]) for name in LENGTHS}
    assert brief == {
        **{f"MR-full-R1@{at}": found["full"]["MR-R1"][at] for at in ("0.5", "0.7")},
        **{f"MR-full-mAP@{at}": found["full"]["MR-mAP"][at] for at in ("0.5", "0.75")},
        **{f"MR-{name}-mAP": found[name]["MR-mAP"]["average"] for name in LENGTHS},
        **{f"{name}-{key[3:]}": found[name][key] for name in found if "HL" in name for key in found[name]},
    }
    whole = in_per_cent(figures(report.rows["whole video"]))["full"]  # field notes 3
    assert (whole["MR-R1"]["0.5"], whole["MR-R1"]["0.7"], whole["MR-mAP"]["average"]) == (9.03, 6.06, 5.58)
    assert report.warnings == ("queries whose last clip has no score, which mAP counts as 0: 13",)
    write_predictions(tmp_path / "again.jsonl", predictions.values())
    assert read_highlight_predictions(tmp_path / "again.jsonl", queries) == predictions


def test_right_answers_are_wholly_right() -> None:
    report = evaluate_highlights(QUERIES, answers(), name="mine", n_seeds=2)
    assert (dict(report.facts), report.warnings) == ({"n_videos": 2, "n_queries": 3, "n_seeds": 2}, ())
    assert list(report.rows) == ["mine", "random", "whole video"]
    own = next(iter(report.rows.values()))
    assert own.moments["full"] == own.moments["short"]
    assert set(own.moments["full"].recall.values()) == set(own.moments["full"].precision.values()) == {1.0}
    assert own.moments["middle"] is own.moments["long"] is None
    assert own.clips["Fair"].precision == own.clips["Fair"].hit == 1.0
    assert own.clips["VeryGood"].precision == pytest.approx(2 / 3)  # nothing is very good to see in one


def test_the_whole_video_is_one_moment_and_no_clip_stands_out() -> None:
    whole = evaluate_highlights(QUERIES, answers(), n_seeds=1).rows["whole video"]
    assert whole.moments["full"].recall[0.5] == 1.0  # 4 of 8 s, all, 2 of 4 s
    assert whole.moments["full"].recall[0.55] == pytest.approx(1 / 3)
    assert whole.clips["Fair"].precision == pytest.approx((2 / 4 + 1 + 1 / 2) / 3)
    assert whole.clips["Fair"].hit == pytest.approx(2 / 3)


def test_random_clips_come_to_what_is_expected() -> None:
    random = evaluate_highlights({"9": QUERIES["9"]}, answers(), n_seeds=2000).rows["random"]
    assert random.clips["Good"].hit == pytest.approx(0.5, abs=0.05)
    assert random.clips["Good"].precision == pytest.approx(0.75, abs=0.03)  # of two clips, one right


def test_data_without_annotators_has_moments_alone() -> None:
    bare = {qid: Query(qid, one.text, one.video, 8.0, one.windows) for qid, one in QUERIES.items()}
    report = evaluate_highlights(bare, answers(), n_seeds=1)
    assert report.warnings == ("the data has no saliency_scores of annotators: only moments are measured",)
    assert [row.clips for row in report.rows.values()] == [None] * 3
    with pytest.raises(UsageError, match="no saliency to measure"):
        evaluate_highlights(bare, answers(moments=None))


def test_a_query_without_moments_counts_as_missed() -> None:
    given = answers()
    given["8"] = QueryPrediction("8", "A dog", "x", (), (1, 1, 1, 1))
    own = evaluate_highlights(QUERIES, given, n_seeds=1).rows["predictions"]
    assert own.moments["full"].recall[0.5] == own.moments["full"].precision[0.5] == pytest.approx(2 / 3)


def test_empty_moments_are_wrong_ones_and_counted() -> None:
    given = answers()
    given["7"] = QueryPrediction("7", "A girl", "x", (Moment(4, 4, 1.0), Moment(2, 6, 0.9)), (1, 2, 3, 4))
    report = evaluate_highlights(QUERIES, given, n_seeds=1)
    assert report.warnings == ("moments that are empty and count as wrong: 1",)
    own = next(iter(report.rows.values())).moments
    assert own["full"].recall[0.5] == pytest.approx(2 / 3)
    assert own["full"].precision[0.5] == pytest.approx((1 / 2 + 1 + 1) / 3)


def test_odd_predictions_give_warnings() -> None:
    given = answers()
    given["7"] = QueryPrediction("7", "A girl", "x", (Moment(0, 1, 0.1), Moment(2, 6, 0.9)), (1, 2, 3))
    assert evaluate_highlights(QUERIES, given, n_seeds=1).warnings == (
        "first moments that are not those of the highest score, but taken for R1: 1",
        "queries whose last clip has no score, which mAP counts as 0: 1",
    )


@pytest.fixture
def videos() -> dict[str, MomentVideo]:
    """Two videos with three queries, one of them with two windows."""
    return {
        "v_a": moment_video("v_a", 10.0, ("a dog", (0.0, 5.0), (8.0, 10.0)), ("a cat", (2.0, 4.0))),
        "v_b": replace(moment_video("v_b", 20.0, ("a bird", (0.0, 20.0))), repairs=("cut",)),
        "v_c": moment_video("v_c", 20.0),
    }


def test_rows_stand_above_chance_and_the_whole_video(videos: dict[str, MomentVideo]) -> None:
    wrong, right = Moment(6, 7, 0.9), Moment(8, 10, 0.5)
    mine = {"v_a": [[wrong, right], []], "v_b": [[Moment(0, 20, 1)]]}
    report = evaluate_moments(videos, {"mine": mine}, n_seeds=3)
    assert list(report.rows) == ["mine", "random", "whole video"]
    averages = {"video_s": 15.0, "query_words": 2.0, "moment_s": 7.25}
    counts = {"n_videos": 2, "n_queries": 3}
    assert dict(report.facts) == {**counts, "averages": averages, "comparison": "mmn", "n_seeds": 3}
    assert "15.0 s per video, 2.0 words per query, 7.2 s per moment" in report.note
    assert report.warnings == ("cut: 1, first in v_b",)
    own, _, whole = report.rows.values()
    assert own.recall[1, 0.7] == pytest.approx(1 / 3)
    assert own.recall[5, 0.7] == pytest.approx(2 / 3)
    assert own.miou == pytest.approx(1 / 3)
    assert whole.miou == pytest.approx((0.5 + 0.2 + 1) / 3)


def test_data_without_a_query_makes_no_report(videos: dict[str, MomentVideo]) -> None:
    with pytest.raises(UsageError, match="no query"):
        evaluate_moments({"v_c": videos["v_c"]}, {})
    with pytest.raises(UsageError, match="no query"):
        evaluate_highlights({}, {})


# --- measures against a direct loop ---

# tenths of seconds, which floats do not hold: IoU that are thresholds are rounded
WINDOWS = st.tuples(st.integers(0, 9), st.integers(1, 6)).map(lambda w: (w[0] / 10, sum(w) / 10))
ANSWERS = WINDOWS | st.integers(0, 15).map(lambda at: (at / 10, at / 10))
DRAWN = st.lists(
    st.tuples(st.lists(ANSWERS, max_size=7), st.lists(WINDOWS, min_size=1, max_size=3)),
    min_size=1,
    max_size=6,
)

Intervals = Sequence[Sequence[Interval]]


def slow_recall(given: Intervals, right: Intervals, top: int, at: float, strict: bool) -> float:
    """Query by query, moment by moment."""
    found = 0
    for moments, truths in zip(given, right, strict=True):
        overlaps = [hull_overlap(moment, truth) for moment in moments[:top] for truth in truths]
        found += any(overlap > at if strict else overlap >= at for overlap in overlaps)
    return found / len(right)


@settings(max_examples=40)
@given(cases=DRAWN, comparison=st.sampled_from(["mmn", "2d-tan"]))
def test_measures_are_those_of_a_direct_loop(
    cases: list[tuple[list[Interval], list[Interval]]], comparison: Comparison
) -> None:
    given_, right = [case[0] for case in cases], [case[1] for case in cases]
    found = measure(best_ious(stack_intervals(given_, max(TOP)), stack_intervals(right)), comparison)
    strict = comparison == "2d-tan"
    assert found.recall == {
        (top, at): pytest.approx(slow_recall(given_, right, top, at, strict))
        for top in TOP
        for at in THRESHOLDS
    }
    assert found.curve == pytest.approx([slow_recall(given_, right, 1, at, strict) for at in CURVE])
    best = [
        max((hull_overlap(moment, truth) for moment in moments[:1] for truth in truths), default=0.0)
        for moments, truths in cases
    ]
    assert found.miou == pytest.approx(np.mean(best))


@pytest.mark.parametrize(("comparison", "fraction"), [("mmn", 1.0), ("2d-tan", 0.0)])
def test_the_comparisons_differ_at_the_threshold_itself(comparison: Comparison, fraction: float) -> None:
    half = best_ious(stack_intervals([[(0.0, 1.0)]]), stack_intervals([[(0.0, 2.0)]]))
    assert measure(half, comparison).recall[1, 0.5] == fraction


def test_random_moments_are_inside_and_as_long_as_expected() -> None:
    durations = np.array([10.0, 600.0])
    drawn = random_moments(durations, 4000)
    assert drawn.shape == (4000, 2, 5, 2)
    assert (drawn[..., 0] >= 0).all()
    assert (drawn[..., 1] <= durations[:, None]).all()
    lengths = (drawn[..., 1] - drawn[..., 0]).mean(axis=(0, 2))
    assert lengths == pytest.approx(durations / 3, rel=0.02)  # of two uniform points on a line
    assert random_moments(durations, 2).tolist() == drawn[:2].tolist()
    rows = random_moments(np.array([1.0, 1.0]), 2).reshape(4, 10).tolist()
    assert len(set(map(tuple, rows))) == 4  # of DRAWN and seeds
    assert whole_video(durations).tolist() == [[[0.0, 10.0]], [[0.0, 600.0]]]
