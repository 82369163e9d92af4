"""Plots of moments: a row for each query, or one for highlights, with the saliency curve and the moments."""

import os
from pathlib import Path

from matplotlib.axes import Axes

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
from vidsum.results.moments import Grounding, Highlights, QueryMoments, format_match, shorten

MAX_ROWS = 12
_SPEECH_COLOURS = ("#ea580c", "#fdba74")  # of the best moment, and of the others
_MAX_LETTERS = 110
_BAR = 0.13  # height of a moment, of a curve's; the moments stand below the curve, one above the other


def moments_plot(result: Grounding | Highlights, target: str | os.PathLike[str]) -> tuple[str, ...]:
    """Plot the saliency curves and moments of queries, or of highlights, as PNG or SVG by the suffix.

    Returns a warning where there are more queries than rows. Raises UsageError: another suffix. OutputError:
    the file cannot be written.
    """
    if isinstance(result, Grounding):
        rows, step_s = result.queries, result.step_s
        name = f"saliency and moments, by {Path(result.model).name}"
        name += " (orange: speech)" if "speech" in result.evidence else ""
    else:
        rows, step_s, name = (QueryMoments("", result.moments, result.saliency),), result.clip_s, "saliency"
    times, duration_s = result.timestamps, result.video_duration_s
    # a result that was read may have no curves
    edges_s = [*times.tolist(), min(float(times[-1]) + step_s, duration_s) if len(times) else duration_s]
    figure = new_figure(11, 0.9 + 1.45 * min(len(rows), MAX_ROWS))
    panels = figure.subplots(min(len(rows), MAX_ROWS), sharex=True, squeeze=False)[:, 0]
    for axes, row in zip(panels, rows, strict=False):
        _draw_row(axes, row, edges_s)
    draw_time_axis(panels[-1], duration_s)
    panels[-1].set_xlabel("time (min:s)")
    draw_heading(figure, f"{video_title(result.video, result.kind.capitalize())}: {name}")
    save_figure(figure, target, label_of(result.provenance))
    is_cut = len(rows) > MAX_ROWS
    return (f"{target}: shows the first {MAX_ROWS} of {len(rows)} queries",) if is_cut else ()


def _draw_row(axes: Axes, row: QueryMoments, edges_s: list[float]) -> None:
    axes.stairs(row.saliency, edges_s, baseline=None, color=INK, linewidth=1.2)
    if row.said is not None:
        axes.stairs(row.said, edges_s, baseline=None, color=_SPEECH_COLOURS[0], linewidth=1.0)
    for rank, moment in enumerate(row.moments, 1):
        best, others = _SPEECH_COLOURS if moment.evidence == "speech" else (BLUE, PALE_BLUE)
        place, colour = -0.6 * _BAR - rank * _BAR, best if rank == 1 else others
        axes.barh(place, moment.end_s - moment.start_s, 0.7 * _BAR, left=moment.start_s, color=colour)
        if rank == 1:
            axes.axvspan(moment.start_s, moment.end_s, color=best, alpha=0.12, linewidth=0)
    # how likely the video matches, too: each curve is scaled to its own highest
    match = "" if row.present is None else f"  (match {format_match(row.present)})"
    title = shorten(row.query, _MAX_LETTERS) + match
    axes.set_title(title, loc="left", fontsize=10, parse_math=False)
    axes.set_yticks([0, 1], ["lowest", "highest"] if row.query else ["0", "1"], fontsize=8)
    axes.set_ylim(-(len(row.moments) + 1.2) * _BAR, 1.06)
    axes.spines[["top", "right"]].set_visible(False)
