"""Plots of evaluations of summaries: FullTransNet's Figs. 3 and 4."""

from collections.abc import Mapping
from itertools import cycle, islice
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from vidsum.errors import UsageError
from vidsum.io.atomic import as_utf8
from vidsum.lab.datasets.annotated_videos import AnnotatedVideo
from vidsum.lab.datasets.labels import Labels
from vidsum.lab.evaluation.reference import (
    CHANGE_POINTS,
    KNAPSACKS,
    Reference,
    at_every_frame,
    key_shots,
    reference_of,
)
from vidsum.lab.evaluation.summary_evaluation import Videos
from vidsum.models.scaling import unit_range
from vidsum.results import figures
from vidsum.types import BoolArray, FloatArray

_ROWS = (*figures.OTHERS, figures.GREY)  # colours of rows; annotators are blue


def plot_scores(
    videos: Mapping[str, AnnotatedVideo],
    predictions: Mapping[str, Mapping[str, FloatArray]],
    target: Path,
    limit: int = 8,
) -> None:
    """Plot scores [T] over time as PNG or SVG, each curve scaled to [0, 1] in each video (constant: 0.5).

    `limit` is the maximum number of videos. Raises UsageError: another suffix, or scores of no video.
    OutputError: the file cannot be written.
    """
    names = [name for name in videos if any(name in row for row in predictions.values())]
    if not names:
        raise UsageError("no video to plot: no row has scores")
    drawn = names[:limit]
    n_columns = min(2, len(drawn))
    n_rows = -(-len(drawn) // n_columns)
    figure = figures.new_figure(6.5 * n_columns, 2.2 * n_rows + 0.8)
    panels = list(figure.subplots(n_rows, n_columns, squeeze=False).flat)
    for axes, name in zip(panels, drawn, strict=False):
        _draw_video(axes, videos[name], {row: scores.get(name) for row, scores in predictions.items()})
        axes.set_title(as_utf8(name), loc="left", fontsize=10, parse_math=False)
    for axes in panels[len(drawn) :]:
        axes.set_axis_off()
    for axes in panels[len(drawn) - n_columns : len(drawn)]:
        axes.set_xlabel("time (min:s)")
    some = f", {len(drawn)} of {len(names)} videos" if len(drawn) < len(names) else ""
    figures.draw_heading(figure, f"Importance, each curve from its lowest to its highest{some}")
    colours = (figures.BLUE, *islice(cycle(_ROWS), len(predictions)))
    lines = [Line2D([], [], color=colour) for colour in colours]
    rows = ["annotators' mean", *map(as_utf8, predictions)]
    figure.legend(lines, rows, loc="outside lower center", ncols=4, frameon=False)
    figures.save_figure(figure, target)


def _draw_video(axes: Axes, video: AnnotatedVideo, rows: Mapping[str, FloatArray | None]) -> None:
    times = video.features.timestamps
    axes.plot(times, unit_range(video.gtscore, flat=0.5), color=figures.BLUE, linewidth=1.8, alpha=0.85)
    for colour, scores in zip(cycle(_ROWS), rows.values(), strict=False):
        if scores is not None:
            axes.plot(times, unit_range(scores, flat=0.5), color=colour, linewidth=1.1)
    figures.draw_time_axis(axes, video.features.duration_s, 8)
    axes.set_ylim(-0.04, 1.04)
    axes.set_yticks([0, 1], ["lowest", "highest"], fontsize=8)


def plot_segments(
    videos: Videos,
    predictions: Mapping[str, Mapping[str, FloatArray]],
    selections: Mapping[str, Mapping[str, BoolArray]],
    target: Path,
    limit: int = 6,
) -> None:
    """Plot the key shots of each row under the part of the annotators whose summaries have a frame.

    `selections` are finished summaries by video; the rest as in `plot_scores`. UsageError too: no shots.
    """
    scored = all(video.user_scores is not None for video in videos.values())
    drawn: list[tuple[str, AnnotatedVideo | Labels]] = [*videos.items()][:limit]
    n_rows = len(predictions) + 1
    figure = figures.new_figure(8.5, 0.5 + len(drawn) * (0.8 + 0.26 * n_rows))
    for axes, (name, video) in zip(figure.subplots(len(drawn), squeeze=False)[:, 0], drawn, strict=True):
        reference = reference_of(name, video, scored=scored)
        axes.stairs(
            people_of(reference), np.arange(reference.n_frames + 1), fill=True, color=figures.BLUE, alpha=0.7
        )
        for place, (row, scores) in enumerate(predictions.items(), 1):
            chosen = selections.get(row, {}).get(video.name)
            if chosen is None:
                shots = reference.shots(CHANGE_POINTS, np.random.default_rng(0))
                frame_scores = at_every_frame(scores[name], reference.picks, reference.n_frames)
                chosen = key_shots(frame_scores[None], shots, KNAPSACKS[-1])[0]
            axes.broken_barh(runs_of(chosen), (-0.7 * place, 0.5), color=_ROWS[(place - 1) % len(_ROWS)])
        axes.set_xlim(0, reference.n_frames)
        axes.set_ylim(-0.7 * n_rows + 0.6, 1.05)
        places = [0.5, *(0.25 - 0.7 * place for place in range(1, n_rows))]
        axes.set_yticks(places, ["annotators", *map(as_utf8, predictions)], fontsize=9)
        axes.set_title(as_utf8(name), loc="left", fontsize=10, parse_math=False)
        axes.spines[["top", "right"]].set_visible(False)
    axes.set_xlabel("frame")
    some = f", {len(drawn)} of {len(videos)} videos" if len(drawn) < len(videos) else ""
    figures.draw_heading(figure, f"Key shots of 15 %; annotators: how many chose a frame{some}")
    figures.save_figure(figure, target)


def people_of(reference: Reference) -> FloatArray:
    """Return [n_frames] the fraction of the annotators whose key-shot summaries have each frame."""
    summaries = reference.summaries(CHANGE_POINTS)
    if summaries is None:
        shots = reference.shots(CHANGE_POINTS, np.random.default_rng(0))
        summaries = key_shots(reference.scores_of_frames(CHANGE_POINTS), shots, KNAPSACKS[-1])
    return np.asarray(summaries.mean(axis=0), np.float32)


def runs_of(frames: BoolArray) -> list[tuple[int, int]]:
    """First frame and length of each run of frames that are chosen."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], frames, [False]]).astype(np.int8)))
    return [(start, end - start) for start, end in edges.reshape(-1, 2).tolist()]
