"""A plot of moments: a row for each query, with its saliency curve and the moments found."""

import os
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from vidsum.axis import clock, round_times, title
from vidsum.figures import new_figure, save_figure
from vidsum.grounding.queries import in_short
from vidsum.outputs import as_utf8
from vidsum.types import Grounding, QueryMoments

MOST_ROWS = 12
_CURVE, _BEST, _OTHERS = "#374151", "#2563eb", "#93c5fd"
_MOST_LETTERS = 110
_BAR = 0.13
"""Height of a moment, of a curve's; the moments stand below the curve, one above the other."""


def moments_plot(grounding: Grounding, target: str | os.PathLike[str]) -> tuple[str, ...]:
    """Plot the saliency curve and the moments of the first queries, as PNG or SVG by the suffix.

    The same moments give the same bytes.

    Returns:
        A warning where there are more queries than rows.

    Raises:
        UsageError: another suffix.
        OutputError: the file cannot be written.
    """
    save_figure(_draw(grounding), target)
    n_queries = len(grounding.queries)
    if n_queries <= MOST_ROWS:
        return ()
    return (f"{target}: shows the first {MOST_ROWS} of {n_queries} queries",)


def _draw(grounding: Grounding) -> Figure:
    shown = grounding.queries[:MOST_ROWS]
    figure = new_figure(11, 0.9 + 1.45 * len(shown))
    panels = figure.subplots(len(shown), sharex=True, squeeze=False)[:, 0]
    for axes, query in zip(panels, shown, strict=True):
        _draw_query(axes, grounding, query)
    panels[-1].set_xlim(0, grounding.video_duration_s)
    panels[-1].set_xticks(round_times(grounding.video_duration_s, 12))
    panels[-1].xaxis.set_major_formatter(FuncFormatter(lambda time_s, _: clock(time_s)))
    panels[-1].set_xlabel("time (min:s)")
    heading = f"{title(grounding.video, 'Moments')}: saliency and moments, by {Path(grounding.model).name}"
    figure.suptitle(as_utf8(heading), x=0.01, ha="left", fontsize=11, fontweight="bold", parse_math=False)
    return figure


def _draw_query(axes: Axes, grounding: Grounding, query: QueryMoments) -> None:
    edges = [*grounding.timestamps.tolist(), grounding.video_duration_s]
    axes.stairs(query.saliency, edges, baseline=None, color=_CURVE, linewidth=1.2)
    for rank, moment in enumerate(query.moments, 1):
        length_s = moment.end_s - moment.start_s
        colour = _BEST if rank == 1 else _OTHERS
        axes.barh(-0.6 * _BAR - rank * _BAR, length_s, 0.7 * _BAR, left=moment.start_s, color=colour)
    best = query.moments[0]
    axes.axvspan(best.start_s, best.end_s, color=_BEST, alpha=0.12, linewidth=0)
    axes.set_ylim(-(len(query.moments) + 1.2) * _BAR, 1.06)
    axes.set_yticks([0, 1], ["lowest", "highest"], fontsize=8)
    axes.set_title(in_short(query.query, _MOST_LETTERS), loc="left", fontsize=10, parse_math=False)
    axes.spines[["top", "right"]].set_visible(False)
