"""Predicted scores are drawn beside the annotators', scaled alike, the same on every run."""

from pathlib import Path

import numpy as np
import pytest

from vidsum.errors import OutputError, UsageError
from vidsum.lab.datasets.summaries import AnnotatedVideo
from vidsum.lab.evaluation.plots import plot_scores
from vidsum.results.features import Features
from vidsum.types import FloatArray

N_SAMPLES = 240


def simulated_video(name: str) -> AnnotatedVideo:
    return AnnotatedVideo(
        name=name,
        features=Features.from_array(np.ones((N_SAMPLES, 4), np.float32)),
        picks=np.arange(N_SAMPLES, dtype=np.int64) * 15,
        n_frames=N_SAMPLES * 15,
        change_points=np.array([[0, N_SAMPLES * 15 - 1]]),
        gtscore=np.linspace(0, 1, N_SAMPLES, dtype=np.float32),
    )


VIDEOS = {name: simulated_video(name) for name in ("tvsum/video_1", "tvsum/video_2", "tvsum/video_10")}
CURVE = np.sin(np.arange(N_SAMPLES) / 20).astype(np.float32)
PREDICTIONS = {"model a": dict.fromkeys(VIDEOS, CURVE), "model b": {"tvsum/video_2": -CURVE}}


def svg_text(predictions: dict[str, dict[str, FloatArray]], folder: Path, limit: int = 8) -> str:
    """The SVG; each of its texts stands in a comment beside the glyphs."""
    target = folder / "scores.svg"
    plot_scores(VIDEOS, predictions, target, limit)
    return target.read_text(encoding="utf-8")


def test_the_same_scores_give_the_same_bytes(tmp_path: Path) -> None:
    for suffix in (".png", ".svg"):
        for name in ("a", "b"):
            plot_scores(VIDEOS, PREDICTIONS, tmp_path / f"{name}{suffix}", 1)
        assert (tmp_path / f"a{suffix}").read_bytes() == (tmp_path / f"b{suffix}").read_bytes()


def test_names_rows_and_times_are_written(tmp_path: Path) -> None:
    text = svg_text(PREDICTIONS, tmp_path)
    for words in (*VIDEOS, *PREDICTIONS, "annotators' mean", "2:00"):
        assert f"<!-- {words} -->" in text


def test_a_line_for_each_row_that_scored_the_video(tmp_path: Path) -> None:
    text = svg_text(PREDICTIONS, tmp_path)
    in_legend = 1
    assert text.count("stroke: #2563eb") == 3 + in_legend
    assert text.count("stroke: #d97706") == 3 + in_legend
    assert text.count("stroke: #16a34a") == 1 + in_legend


def test_only_the_first_videos_are_drawn_and_the_title_says_so(tmp_path: Path) -> None:
    text = svg_text(PREDICTIONS, tmp_path, limit=2)
    assert "<!-- tvsum/video_2 -->" in text
    assert "<!-- tvsum/video_10 -->" not in text
    assert "2 of 3 videos" in text
    assert "of 3 videos" not in svg_text(PREDICTIONS, tmp_path)


def test_a_video_that_no_row_scored_is_left_out(tmp_path: Path) -> None:
    text = svg_text({"model b": PREDICTIONS["model b"]}, tmp_path)
    assert "<!-- tvsum/video_2 -->" in text
    assert "tvsum/video_1 " not in text


@pytest.mark.parametrize(
    ("predictions", "message"),
    [
        ({}, "no video"),
        ({"model": {"tvsum/video_3": CURVE}}, "no video"),
        ({str(number): PREDICTIONS["model a"] for number in range(7)}, "7 rows are too many"),
    ],
)
def test_scores_that_cannot_be_drawn_are_refused(
    predictions: dict[str, dict[str, FloatArray]], message: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=message):
        plot_scores(VIDEOS, predictions, tmp_path / "scores.png")


def test_names_in_any_script_can_be_drawn(tmp_path: Path) -> None:
    name = "我的/视频_$1"
    plot_scores({name: simulated_video(name)}, {"模型": {name: CURVE}}, tmp_path / "scores.png")
    assert (tmp_path / "scores.png").stat().st_size > 0


def test_another_suffix_or_no_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="must end in"):
        plot_scores(VIDEOS, PREDICTIONS, tmp_path / "scores.pdf", 1)
    with pytest.raises(OutputError, match="no folder"):
        plot_scores(VIDEOS, PREDICTIONS, tmp_path / "none" / "scores.png", 1)
