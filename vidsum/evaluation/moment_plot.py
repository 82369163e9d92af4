"""A plot of R@1 over the IoU that is asked for, a curve for each row of the report."""

from itertools import cycle
from pathlib import Path

from vidsum.evaluation.moment_baselines import RANDOM, WHOLE
from vidsum.evaluation.moment_metrics import CURVE, THRESHOLDS
from vidsum.evaluation.moment_report import MomentReport
from vidsum.figures import new_figure, save_figure
from vidsum.outputs import as_utf8

_TRIVIAL = {RANDOM: ":", WHOLE: "--"}
"""Rows that have not looked: grey."""
_COLOURS = ("#2563eb", "#d97706", "#16a34a", "#9333ea", "#dc2626", "#0891b2")


def plot_recall(report: MomentReport, title: str, target: Path, label: str | None = None) -> None:
    """Plot the curves as PNG or SVG by the suffix; the same report gives the same bytes.

    See `vidsum.labels` for the label.

    Raises:
        UsageError: another suffix.
        OutputError: the file cannot be written.
    """
    figure = new_figure(6.5, 4.0)
    axes = figure.subplots()
    colours = cycle(_COLOURS)
    for row in report.rows:
        trivial = row.name in _TRIVIAL
        axes.plot(
            CURVE,
            [100 * share for share in row.measures.curve],
            color="#6b7280" if trivial else next(colours),
            linestyle=_TRIVIAL.get(row.name, "-"),
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
