"""Predicted scores are drawn beside the annotators', scaled alike."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.lab.training.videos import sampled_video
from vidsum.errors import UsageError
from vidsum.lab.datasets.annotated_videos import AnnotatedVideo
from vidsum.lab.evaluation.plots import people_of, plot_scores, plot_segments
from vidsum.lab.evaluation.reference import reference_of
from vidsum.types import FloatArray

N_SAMPLES = 240


def simulated_video(name: str) -> AnnotatedVideo:
    return sampled_video(name, np.ones((N_SAMPLES, 4)), np.linspace(0, 1, N_SAMPLES), samples=None)


VIDEOS = {name: simulated_video(name) for name in ("tvsum/video_1", "tvsum/video_2", "tvsum/video_10")}
CURVE = np.sin(np.arange(N_SAMPLES) / 20).astype(np.float32)
PREDICTIONS = {"model a": dict.fromkeys(VIDEOS, CURVE), "model b": {"tvsum/video_2": -CURVE}}


def svg_text(predictions: dict[str, dict[str, FloatArray]], folder: Path, limit: int = 8) -> str:
    """The SVG; each of its texts stands in a comment beside the glyphs."""
    target = folder / "scores.svg"
    plot_scores(VIDEOS, predictions, target, limit)
    return target.read_text(encoding="utf-8")


def test_names_of_videos_and_rows_and_times_are_drawn(tmp_path: Path) -> None:
    text = svg_text(PREDICTIONS, tmp_path)
    for words in (*VIDEOS, *PREDICTIONS, "annotators' mean", "2:00"):
        assert f"<!-- {words} -->" in text


def test_each_row_has_a_line_in_the_legend_and_for_each_video_that_it_scored(tmp_path: Path) -> None:
    text = svg_text(PREDICTIONS, tmp_path)
    lines = {colour: text.count(f"stroke: {colour}") for colour in ("#2563eb", "#d97706", "#16a34a")}
    assert lines == {"#2563eb": 4, "#d97706": 4, "#16a34a": 2}


def test_more_videos_than_the_limit_are_left_out_and_counted(tmp_path: Path) -> None:
    text = svg_text(PREDICTIONS, tmp_path, limit=2)
    assert "<!-- tvsum/video_2 -->" in text
    assert "<!-- tvsum/video_10 -->" not in text
    assert "2 of 3 videos" in text


def test_videos_within_the_limit_are_not_counted(tmp_path: Path) -> None:
    assert "of 3 videos" not in svg_text(PREDICTIONS, tmp_path)


def test_videos_without_scores_are_not_drawn(tmp_path: Path) -> None:
    text = svg_text({"model b": PREDICTIONS["model b"]}, tmp_path)
    assert "<!-- tvsum/video_2 -->" in text
    assert "tvsum/video_1 " not in text


@pytest.mark.parametrize("predictions", [{}, {"model": {"tvsum/video_3": CURVE}}])
def test_scores_that_cannot_be_drawn_are_refused(
    predictions: dict[str, dict[str, FloatArray]], tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="no video"):
        plot_scores(VIDEOS, predictions, tmp_path / "scores.png")


def test_names_in_any_script_can_be_drawn(tmp_path: Path) -> None:
    name = "我的/视频_$1"
    plot_scores({name: simulated_video(name)}, {"模型": {name: CURVE}}, tmp_path / "scores.png")
    assert (tmp_path / "scores.png").stat().st_size > 0


def with_annotators(name: str, seed: int = 0) -> AnnotatedVideo:
    """Three annotators, eight shots."""
    scores = np.random.default_rng(seed).random((3, N_SAMPLES)).astype(np.float32)
    ones, curve = np.ones((N_SAMPLES, 4)), np.linspace(0, 1, N_SAMPLES)
    return sampled_video(name, ones, curve, N_SAMPLES // 8, user_scores=scores)


def test_curve_of_annotators_is_how_many_chose_each_frame() -> None:
    video = with_annotators("video_1")
    assert video.user_scores is not None
    expected = np.zeros(video.n_frames)
    for scores in video.user_scores:
        frames = np.repeat(scores, 15)
        means = [frames[first : last + 1].mean() for first, last in video.change_points]
        # shots of one length: 15 % of the frames is one of the eight
        first, last = video.change_points[int(np.argmax(means))]
        expected[first : last + 1] += 1 / 3
    np.testing.assert_allclose(people_of(reference_of("video_1", video)), expected, atol=1e-6)


def test_annotators_who_gave_summaries_are_counted_as_they_are() -> None:
    summary = np.random.default_rng(1).integers(0, 2, (4, N_SAMPLES * 15)).astype(np.float32)
    video = replace(with_annotators("video_1"), user_summary=summary)
    np.testing.assert_allclose(people_of(reference_of("video_1", video)), summary.mean(axis=0))


@pytest.fixture
def segments_text(tmp_path: Path) -> str:
    """The SVG of one of two videos, with a row of scores and a row of finished summaries."""
    videos = {name: with_annotators(name) for name in ("video_1", "video_2")}
    frames = np.arange(N_SAMPLES * 15) % 700 < 100
    rows = {"model a": dict.fromkeys(videos, CURVE), "finished": dict.fromkeys(videos, CURVE)}
    chosen = {"finished": dict.fromkeys(videos, frames)}
    plot_segments(videos, rows, chosen, tmp_path / "a.svg", 1)
    return (tmp_path / "a.svg").read_text(encoding="utf-8")


def test_segments_are_drawn_with_the_names_of_their_rows(segments_text: str) -> None:
    for words in ("video_1", "annotators", "model a", "finished"):
        assert f"<!-- {words} -->" in segments_text
    assert "1 of 2 videos" in segments_text


def test_each_run_of_a_finished_summary_is_a_piece(segments_text: str) -> None:
    assert segments_text.count("fill: #16a34a") == 6


def test_each_key_shot_of_a_model_is_a_piece(segments_text: str) -> None:
    assert segments_text.count("fill: #d97706") == 1
