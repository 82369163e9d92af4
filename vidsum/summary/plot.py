"""A plot of a summary: the importance curve, the shots and what was selected of them."""

import os

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from vidsum.figures import ACCENT, clock, new_figure, round_times, save_figure, title
from vidsum.provenance import label_of
from vidsum.results.summary import Summary


def importance_plot(summary: Summary, target: str | os.PathLike[str]) -> None:
    """Plot the importance curve with the shots, their scores and the segments, as PNG or SVG by the suffix.

    The same summary gives the same bytes. Errors are those of `save_figure`.
    """
    save_figure(_draw_plot(summary), target, label_of(summary.provenance))


def _draw_plot(summary: Summary) -> Figure:
    figure = new_figure(11, 3.6)
    axes = figure.add_subplot()
    for number, (start, end) in enumerate(summary.segments):
        label = "selected" if number == 0 else None
        axes.axvspan(start, end, color=_unit(ACCENT), alpha=0.16, linewidth=0, label=label)
    edges = [shot.start_s for shot in summary.shots[1:]]
    axes.vlines(
        edges, 0, 1, transform=axes.get_xaxis_transform(), color="#9ca3af", linewidth=0.6, label="shot border"
    )
    scores, borders = [shot.score for shot in summary.shots], [summary.shots[0].start_s, *edges]
    borders.append(summary.shots[-1].end_s)
    axes.stairs(scores, borders, baseline=None, color="#d97706", linewidth=1.6, label="shot score")
    axes.plot(
        summary.timestamps,
        summary.importance,
        drawstyle="steps-post",  # a sample stands for the time up to the next
        color=_unit(ACCENT),
        linewidth=1.3,
        label="importance",
    )
    axes.set_xlim(0, summary.video_duration_s)
    axes.set_ylim(bottom=0)  # so that a nearly level curve looks level
    axes.set_xticks(round_times(summary.video_duration_s, 12))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda time_s, _: clock(time_s)))
    axes.set_xlabel("time (min:s)")
    axes.set_ylabel("importance")
    axes.set_title(
        title(summary.video, "Summary"), loc="left", fontsize=11, fontweight="bold", parse_math=False
    )
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=4, frameon=False, fontsize=9)
    return figure


def _unit(colour: tuple[int, int, int]) -> tuple[float, ...]:
    return tuple(part / 255 for part in colour)
