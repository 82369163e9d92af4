"""Plots of evaluations: importance scores beside the annotators' (FullTransNet, Fig. 3), R@1 over the IoU."""

from collections.abc import Mapping
from itertools import cycle
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from vidsum.errors import UsageError
from vidsum.figures import BLUE, GREY, OTHERS, heading, new_figure, save_figure, time_axis
from vidsum.lab.datasets.summaries import AnnotatedVideo
from vidsum.lab.evaluation.moment_metrics import CURVE, RANDOM, THRESHOLDS, WHOLE, MomentMeasures
from vidsum.lab.evaluation.report import Report
from vidsum.outputs import as_utf8
from vidsum.scaling import unit_range
from vidsum.types import FloatArray

_ROWS = (*OTHERS, GREY)
"""Of scores, beside the annotators' blue."""
_BASELINES = {RANDOM: ":", WHOLE: "--"}
"""Their lines, which are grey."""


def plot_scores(
    videos: Mapping[str, AnnotatedVideo],
    predictions: Mapping[str, Mapping[str, FloatArray]],
    target: Path,
    limit: int = 8,
    *,
    label: str | None = None,
) -> None:
    """Plot scores [T] over time as PNG or SVG by the suffix; the same scores give the same bytes.

    The scores of different models have no common unit, so each curve is scaled, in each video by itself, to
    [0, 1]. A constant curve is drawn at 0.5. `limit` is the maximum number of videos: the first that some row
    has scores of; `label` see `vidsum.labels`.

    Raises UsageError: another suffix, more than six rows, or scores of no video. OutputError: the file cannot
    be written.
    """
    if len(predictions) > len(_ROWS):
        raise UsageError(f"{len(predictions)} rows are too many for one plot, which has {len(_ROWS)} colours")
    names = [name for name in videos if any(name in row for row in predictions.values())]
    if not names:
        raise UsageError("no video to plot: no row has scores")
    drawn = {name: videos[name] for name in names[:limit]}
    save_figure(_draw(drawn, predictions, len(names)), target, label)


def _draw(
    videos: Mapping[str, AnnotatedVideo], predictions: Mapping[str, Mapping[str, FloatArray]], n_videos: int
) -> Figure:
    n_columns = min(2, len(videos))
    n_rows = -(-len(videos) // n_columns)
    figure = new_figure(6.5 * n_columns, 2.2 * n_rows + 0.8)
    panels = list(figure.subplots(n_rows, n_columns, squeeze=False).flat)
    for axes, (name, video) in zip(panels, videos.items(), strict=False):
        _draw_video(axes, video, {row: scores.get(name) for row, scores in predictions.items()})
        axes.set_title(as_utf8(name), loc="left", fontsize=10, parse_math=False)
    for axes in panels[len(videos) :]:
        axes.set_axis_off()
    for axes in panels[len(videos) - n_columns : len(videos)]:
        axes.set_xlabel("time (min:s)")
    some = f", {len(videos)} of {n_videos} videos" if len(videos) < n_videos else ""
    heading(figure, f"Importance, each curve from its lowest to its highest{some}")
    lines = [Line2D([], [], color=colour) for colour in (BLUE, *_ROWS[: len(predictions)])]
    rows = ["annotators' mean", *map(as_utf8, predictions)]
    figure.legend(lines, rows, loc="outside lower center", ncols=4, frameon=False)
    return figure


def _draw_video(axes: Axes, video: AnnotatedVideo, rows: Mapping[str, FloatArray | None]) -> None:
    times = video.features.timestamps
    axes.plot(times, unit_range(video.gtscore, flat=0.5), color=BLUE, linewidth=1.8, alpha=0.85)
    for colour, scores in zip(_ROWS, rows.values(), strict=False):
        if scores is not None:
            axes.plot(times, unit_range(scores, flat=0.5), color=colour, linewidth=1.1)
    time_axis(axes, video.features.duration_s, 8)
    axes.set_ylim(-0.04, 1.04)
    axes.set_yticks([0, 1], ["lowest", "highest"], fontsize=8)


def plot_recall(report: Report[MomentMeasures], title: str, target: Path, label: str | None = None) -> None:
    """Plot R@1 over the IoU; target, label and errors are those of `plot_scores`."""
    figure = new_figure(6.5, 4.0)
    axes = figure.subplots()
    colours = cycle((BLUE, *OTHERS))
    for row in report.rows:
        is_baseline = row.name in _BASELINES
        axes.plot(
            CURVE,
            [100 * fraction for fraction in row.measures.curve],
            color=GREY if is_baseline else next(colours),
            linestyle=_BASELINES.get(row.name, "-"),
            label=as_utf8(row.name),
        )
    axes.set_title(as_utf8(title), loc="left", fontsize=10, parse_math=False)
    axes.set_xlabel("IoU")
    axes.set_ylabel("R@1 (%)")
    axes.set_xticks(THRESHOLDS)
    axes.set_xlim(CURVE[0], CURVE[-1])
    axes.set_ylim(0, 100)
    axes.grid(axis="x", alpha=0.4)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    save_figure(figure, target, label)
