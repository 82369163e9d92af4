"""Plots of moments: a row for each query, or one for highlights, with the saliency curve and the moments."""

import os
from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from vidsum.io.provenance import label_of
from vidsum.results.figures import (
    BLUE,
    INK,
    PALE_BLUE,
    draw_heading,
    draw_time_axis,
    new_figure,
    save_figure,
    video_title,
)
from vidsum.results.moments import Grounding, Highlights, Moment, shorten
from vidsum.types import FloatArray

MAX_ROWS = 12
_SPEECH_COLOURS = ("#ea580c", "#fdba74")  # of the best moment, and of the others
_MAX_LETTERS = 110
_BAR = 0.13  # height of a moment, of a curve's; the moments stand below the curve, one above the other


def moments_plot(grounding: Grounding, target: str | os.PathLike[str]) -> tuple[str, ...]:
    """Plot the saliency curve and the moments of the first queries, as PNG or SVG by the suffix.

    Returns a warning where there are more queries than rows. Raises UsageError: another suffix. OutputError:
    the file cannot be written.
    """
    queries, n_queries = grounding.queries[:MAX_ROWS], len(grounding.queries)
    figure = new_figure(11, 0.9 + 1.45 * len(queries))
    panels = figure.subplots(len(queries), sharex=True, squeeze=False)[:, 0]
    edges_s = [*grounding.timestamps.tolist(), grounding.video_duration_s]
    for axes, query in zip(panels, queries, strict=True):
        _draw_row(axes, query.saliency, edges_s, query.moments)
        if query.said is not None:
            axes.stairs(query.said, edges_s, baseline=None, color=_SPEECH_COLOURS[0], linewidth=1.0)
        axes.set_yticks([0, 1], ["lowest", "highest"], fontsize=8)
        # how likely the video matches, too: each curve is scaled to its own highest
        match = "" if query.present is None else f"  (match {100 * query.present:.0f} %)"
        heading = shorten(query.query, _MAX_LETTERS) + match
        axes.set_title(heading, loc="left", fontsize=10, parse_math=False)
    name = f"saliency and moments, by {Path(grounding.model).name}"
    name += " (orange: speech)" if "speech" in grounding.evidence else ""
    _finish(figure, panels[-1], grounding, f"{video_title(grounding.video, 'Moments')}: {name}", target)
    is_cut = n_queries > MAX_ROWS
    return (f"{target}: shows the first {MAX_ROWS} of {n_queries} queries",) if is_cut else ()


def highlights_plot(highlights: Highlights, target: str | os.PathLike[str]) -> None:
    """Plot the saliency curve and the moments of highlights; errors as `moments_plot`."""
    figure = new_figure(11, 2.9)
    axes = figure.add_subplot()
    ends_s = min(highlights.timestamps[-1] + highlights.clip_s, highlights.video_duration_s)
    _draw_row(axes, highlights.saliency, [*highlights.timestamps.tolist(), ends_s], highlights.moments)
    axes.set_yticks([0, 0.5, 1], ["0", "0.5", "1"], fontsize=8)
    _finish(figure, axes, highlights, f"{video_title(highlights.video, 'Highlights')}: saliency", target)


def _draw_row(axes: Axes, saliency: FloatArray, edges_s: Sequence[float], moments: Sequence[Moment]) -> None:
    axes.stairs(saliency, edges_s, baseline=None, color=INK, linewidth=1.2)
    for rank, moment in enumerate(moments, 1):
        best, others = _SPEECH_COLOURS if moment.evidence == "speech" else (BLUE, PALE_BLUE)
        place, colour = -0.6 * _BAR - rank * _BAR, best if rank == 1 else others
        axes.barh(place, moment.end_s - moment.start_s, 0.7 * _BAR, left=moment.start_s, color=colour)
        if rank == 1:
            axes.axvspan(moment.start_s, moment.end_s, color=best, alpha=0.12, linewidth=0)
    axes.set_ylim(-(len(moments) + 1.2) * _BAR, 1.06)
    axes.spines[["top", "right"]].set_visible(False)


def _finish(
    figure: Figure, last: Axes, result: Grounding | Highlights, heading: str, target: str | os.PathLike[str]
) -> None:
    draw_time_axis(last, result.video_duration_s)
    last.set_xlabel("time (min:s)")
    draw_heading(figure, heading)
    save_figure(figure, target, label_of(result.provenance))
