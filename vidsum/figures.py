"""Figures of Matplotlib as PNG or SVG files: drawn without a display, the same bytes for the same content.

Those of a video share title, colour and axis of time.
"""

import os
import warnings
from io import BytesIO
from pathlib import Path

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from vidsum.errors import UsageError
from vidsum.labels import labelled
from vidsum.outputs import as_utf8, atomic_write
from vidsum.types import VideoInfo


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


ACCENT = (37, 99, 235)
"""RGB of what is selected."""
_ROUND_STEPS_S = (0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200)


def title(video: VideoInfo | None, otherwise: str) -> str:
    """The video's file name, or another word where there is no video."""
    return otherwise if video is None else as_utf8(Path(video.path).name)


def round_times(duration_s: float, most: int) -> list[float]:
    """0 and the multiples of a round time up to the end, at most `most` + 1 of them."""
    step = next((step for step in _ROUND_STEPS_S if duration_s / step <= most), duration_s / most)
    return [number * step for number in range(int(duration_s / step) + 1)]
