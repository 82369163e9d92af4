"""Evaluations of moments and of QVHighlights: published figures, direct loops, baselines."""

import json
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
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


@dataclass(frozen=True)
class Sample:
    """QVHighlights' sample predictions, their report, and its figures in per cent."""

    queries: dict[str, Query]
    predictions: dict[str, QueryPrediction]
    report: Any
    figures: dict[str, Any]


@pytest.fixture(scope="module")
def folder(shared: Path) -> Path:
    return shared / "data" / "qvhighlights"


@pytest.fixture(scope="module")
def sample(folder: Path) -> Sample:
    queries = read_highlights(folder / "highlight_val_release.jsonl")
    predictions = read_highlight_predictions(folder / "sample_val_preds.jsonl", queries)
    report = evaluate_highlights(queries, predictions, name="sample", n_seeds=1)
    return Sample(queries, predictions, report, in_per_cent(figures(report.rows["sample"])))


@pytest.mark.parametrize(("comparison", "fraction"), [("mmn", 1.0), ("2d-tan", 0.0)])
def test_comparisons_differ_at_the_threshold_itself(comparison: Comparison, fraction: float) -> None:
    half = best_ious(stack_intervals([[(0.0, 1.0)]]), stack_intervals([[(0.0, 2.0)]]))
    assert measure(half, comparison).recall[1, 0.5] == fraction


@pytest.mark.shared
def test_every_published_figure_is_met(folder: Path, sample: Sample) -> None:
    published = json.loads((folder / "sample_val_preds_metrics_raw.json").read_text())
    del published["brief"]
    measured = deepcopy(sample.figures)
    for name in LENGTHS:
        del measured[name]["MR-mIoU"], measured[name]["MR-R1"]["0.3"]
    assert measured == published


@pytest.mark.shared
def test_figures_that_are_not_published_are_those_of_a_direct_loop(folder: Path, sample: Sample) -> None:
    predictions, truths = (
        [json.loads(line) for line in (folder / name).read_text().splitlines()]
        for name in ("sample_val_preds.jsonl", "highlight_val_release.jsonl")
    )
    direct = in_per_cent(moment_figures({line["qid"]: line for line in predictions}, truths))
    for name in LENGTHS:
        assert sample.figures[name]["MR-mIoU"] == direct[name]["MR-mIoU"]
        assert sample.figures[name]["MR-R1"]["0.3"] == direct[name]["MR-R1"]["0.3"]


@pytest.mark.shared
def test_every_figure_of_the_published_table_is_met(folder: Path, sample: Sample) -> None:
    brief = json.loads((folder / "sample_val_preds_metrics_raw.json").read_text())["brief"]
    found = sample.figures
    assert brief == {
        **{f"MR-full-R1@{at}": found["full"]["MR-R1"][at] for at in ("0.5", "0.7")},
        **{f"MR-full-mAP@{at}": found["full"]["MR-mAP"][at] for at in ("0.5", "0.75")},
        **{f"MR-{name}-mAP": found[name]["MR-mAP"]["average"] for name in LENGTHS},
        **{f"{name}-{key[3:]}": found[name][key] for name in found if "HL" in name for key in found[name]},
    }


@pytest.mark.shared
def test_whole_videos_of_qvhighlights_have_the_known_figures(sample: Sample) -> None:
    whole = in_per_cent(figures(sample.report.rows["whole video"]))["full"]
    assert (whole["MR-R1"]["0.5"], whole["MR-R1"]["0.7"], whole["MR-mAP"]["average"]) == (9.03, 6.06, 5.58)


@pytest.mark.shared
def test_missing_scores_of_last_clips_are_counted(sample: Sample) -> None:
    warning = "queries whose last clip has no score, which mAP counts as 0: 13"
    assert sample.report.warnings == (warning,)


@pytest.mark.shared
def test_published_predictions_are_written_as_they_were_read(sample: Sample, tmp_path: Path) -> None:
    write_predictions(tmp_path / "again.jsonl", sample.predictions.values())
    assert read_highlight_predictions(tmp_path / "again.jsonl", sample.queries) == sample.predictions


@pytest.fixture(scope="module")
def right() -> Any:
    """The report of right answers."""
    return evaluate_highlights(QUERIES, answers(), name="mine", n_seeds=2)


def test_report_of_highlights_counts_videos_queries_and_seeds(right: Any) -> None:
    assert (dict(right.facts), right.warnings) == ({"n_videos": 2, "n_queries": 3, "n_seeds": 2}, ())


def test_report_of_highlights_has_chance_and_the_whole_video(right: Any) -> None:
    assert list(right.rows) == ["mine", "random", "whole video"]


def test_moments_of_right_answers_are_wholly_right(right: Any) -> None:
    moments = right.rows["mine"].moments
    assert set(moments["full"].recall.values()) == set(moments["full"].precision.values()) == {1.0}


def test_lengths_without_a_window_have_no_measures(right: Any) -> None:
    moments = right.rows["mine"].moments
    assert moments["full"] == moments["short"]
    assert moments["middle"] is moments["long"] is None


def test_clips_of_right_answers_are_right_where_there_are_some(right: Any) -> None:
    clips = right.rows["mine"].clips
    assert clips["Fair"].precision == clips["Fair"].hit == 1.0
    assert clips["VeryGood"].precision == pytest.approx(2 / 3)  # nothing is very good to see in one


def test_whole_video_is_one_moment(right: Any) -> None:
    recall = right.rows["whole video"].moments["full"].recall
    assert recall[0.5] == 1.0  # 4 of 8 s, all, 2 of 4 s
    assert recall[0.55] == pytest.approx(1 / 3)


def test_no_clip_of_the_whole_video_stands_out(right: Any) -> None:
    fair = right.rows["whole video"].clips["Fair"]
    assert fair.precision == pytest.approx((2 / 4 + 1 + 1 / 2) / 3)
    assert fair.hit == pytest.approx(2 / 3)


def test_random_clips_come_to_what_is_expected() -> None:
    random = evaluate_highlights({"9": QUERIES["9"]}, answers(), n_seeds=2000).rows["random"]
    assert random.clips["Good"].hit == pytest.approx(0.5, abs=0.05)
    assert random.clips["Good"].precision == pytest.approx(0.75, abs=0.03)  # of two clips, one right


BARE = {qid: Query(qid, query.text, query.video, 8.0, query.windows) for qid, query in QUERIES.items()}


def test_data_without_annotators_has_moments_alone() -> None:
    report = evaluate_highlights(BARE, answers(), n_seeds=1)
    assert report.warnings == ("the data has no saliency_scores of annotators: only moments are measured",)
    assert [row.clips for row in report.rows.values()] == [None] * 3


def test_saliency_without_annotators_is_refused() -> None:
    with pytest.raises(UsageError, match="no saliency to measure"):
        evaluate_highlights(BARE, answers(moments=None))


def test_query_without_moments_counts_as_missed() -> None:
    given = answers()
    given["8"] = QueryPrediction("8", "A dog", "x", (), (1, 1, 1, 1))
    own = evaluate_highlights(QUERIES, given, n_seeds=1).rows["predictions"]
    assert own.moments["full"].recall[0.5] == own.moments["full"].precision[0.5] == pytest.approx(2 / 3)


def test_empty_moments_count_as_wrong_with_a_warning() -> None:
    given = answers()
    given["7"] = QueryPrediction("7", "A girl", "x", (Moment(4, 4, 1.0), Moment(2, 6, 0.9)), (1, 2, 3, 4))
    report = evaluate_highlights(QUERIES, given, n_seeds=1)
    assert report.warnings == ("moments that are empty and count as wrong: 1",)
    full = report.rows["predictions"].moments["full"]
    assert full.recall[0.5] == pytest.approx(2 / 3)
    assert full.precision[0.5] == pytest.approx((1 / 2 + 1 + 1) / 3)


def test_moments_out_of_order_and_missing_scores_are_warnings() -> None:
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


@pytest.fixture
def report(videos: dict[str, MomentVideo]) -> Any:
    """The report of a wrong moment before a right one, of no moment, and of a right one."""
    answers = {"v_a": [[Moment(6, 7, 0.9), Moment(8, 10, 0.5)], []], "v_b": [[Moment(0, 20, 1)]]}
    return evaluate_moments(videos, {"mine": answers}, n_seeds=3)


def test_report_of_moments_has_chance_and_the_whole_video(report: Any) -> None:
    assert list(report.rows) == ["mine", "random", "whole video"]


def test_report_of_moments_has_the_facts_of_the_data(report: Any) -> None:
    averages = {"video_s": 15.0, "query_words": 2.0, "moment_s": 7.25}
    counts = {"n_videos": 2, "n_queries": 3}
    assert dict(report.facts) == {**counts, "averages": averages, "comparison": "mmn", "n_seeds": 3}
    assert "15.0 s per video, 2.0 words per query, 7.2 s per moment" in report.note


def test_repairs_of_the_data_are_warnings(report: Any) -> None:
    assert report.warnings == ("cut: 1, first in v_b",)


def test_recall_is_of_one_or_of_five_moments(report: Any) -> None:
    own = report.rows["mine"]
    assert own.recall[1, 0.7] == pytest.approx(1 / 3)
    assert own.recall[5, 0.7] == pytest.approx(2 / 3)


def test_miou_is_of_the_first_moments(report: Any) -> None:
    assert report.rows["mine"].miou == pytest.approx(1 / 3)
    assert report.rows["whole video"].miou == pytest.approx((0.5 + 0.2 + 1) / 3)


def test_moments_without_a_query_are_refused(videos: dict[str, MomentVideo]) -> None:
    with pytest.raises(UsageError, match="no query"):
        evaluate_moments({"v_c": videos["v_c"]}, {})


def test_highlights_without_a_query_are_refused() -> None:
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


Cases = list[tuple[list[Interval], list[Interval]]]


@given(cases=DRAWN, comparison=st.sampled_from(["mmn", "2d-tan"]))
def test_recall_is_that_of_a_direct_loop(cases: Cases, comparison: Comparison) -> None:
    given_, right = [case[0] for case in cases], [case[1] for case in cases]
    measured = measure(best_ious(stack_intervals(given_, max(TOP)), stack_intervals(right)), comparison)
    strict = comparison == "2d-tan"
    assert measured.recall == {
        (top, at): pytest.approx(slow_recall(given_, right, top, at, strict))
        for top in TOP
        for at in THRESHOLDS
    }
    assert measured.curve == pytest.approx([slow_recall(given_, right, 1, at, strict) for at in CURVE])


@given(cases=DRAWN, comparison=st.sampled_from(["mmn", "2d-tan"]))
def test_miou_is_that_of_a_direct_loop(cases: Cases, comparison: Comparison) -> None:
    given_, right = [case[0] for case in cases], [case[1] for case in cases]
    measured = measure(best_ious(stack_intervals(given_, max(TOP)), stack_intervals(right)), comparison)
    best = [
        max((hull_overlap(moment, truth) for moment in moments[:1] for truth in truths), default=0.0)
        for moments, truths in cases
    ]
    assert measured.miou == pytest.approx(np.mean(best))


DURATIONS = np.array([10.0, 600.0])


def test_random_moments_lie_inside_their_videos() -> None:
    drawn = random_moments(DURATIONS, 100)
    assert drawn.shape == (100, 2, 5, 2)
    assert (drawn[..., 0] >= 0).all()
    assert (drawn[..., 1] <= DURATIONS[:, None]).all()


def test_random_moments_are_a_third_of_their_videos_on_average() -> None:
    drawn = random_moments(DURATIONS, 4000)
    lengths = (drawn[..., 1] - drawn[..., 0]).mean(axis=(0, 2))
    assert lengths == pytest.approx(DURATIONS / 3, rel=0.02)  # of two uniform points on a line


def test_random_moments_of_a_seed_do_not_depend_on_the_number_of_seeds() -> None:
    assert random_moments(DURATIONS, 2).tolist() == random_moments(DURATIONS, 100)[:2].tolist()


def test_random_moments_differ_by_query_and_seed() -> None:
    rows = random_moments(np.array([1.0, 1.0]), 2).reshape(4, 10).tolist()
    assert len(set(map(tuple, rows))) == 4


def test_whole_video_begins_at_zero_and_ends_with_it() -> None:
    assert whole_video(DURATIONS).tolist() == [[[0.0, 10.0]], [[0.0, 600.0]]]
