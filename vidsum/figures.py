"""Figures of Matplotlib as PNG or SVG files: drawn without a display, the same bytes for the same content."""

import os
import warnings
from io import BytesIO
from pathlib import Path

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from vidsum.errors import UsageError
from vidsum.labels import labelled
from vidsum.outputs import atomic_write


def new_figure(width: float, height: float) -> Figure:
    """An empty figure, in inches at 140 dots per inch; its layout makes room for texts."""
    figure = Figure(figsize=(width, height), dpi=140, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def save_figure(figure: Figure, target: str | os.PathLike[str], label: str | None = None) -> None:
    """Write a figure as PNG or SVG by the suffix; see `vidsum.labels` for the label.

    Raises UsageError for another suffix, and OutputError where the file cannot be written.
    """
    suffix = Path(target).suffix.lower()
    if suffix not in (".png", ".svg"):
        raise UsageError(f"{target}: plot must end in .png or .svg")
    # neither the date, nor the version of Matplotlib, nor random names of the SVG's parts
    metadata = {"Date": None} if suffix == ".svg" else {"Software": None}
    drawn = BytesIO()
    with mpl.rc_context({"svg.hashsalt": "vidsum"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # a name in a script that the font has not
        figure.savefig(drawn, format=suffix[1:], metadata=metadata)
    with atomic_write(target) as part:
        part.write_bytes(labelled(drawn.getvalue(), suffix, label))
