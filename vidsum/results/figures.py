"""Figures of Matplotlib as PNG or SVG files: the same bytes for the same content, legible 800 pixels wide."""

import os
import warnings
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LinearSegmentedColormap, Normalize, PowerNorm
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter

from vidsum.errors import UsageError
from vidsum.io.atomic import as_utf8, atomic_write
from vidsum.times import format_short_time
from vidsum.types import FloatArray, TimeArray, VideoInfo

BLUE, PALE_BLUE, GREY, PALE_GREY, INK = "#2563eb", "#93c5fd", "#6b7280", "#d1d5db", "#374151"
OTHERS = ("#d97706", "#16a34a", "#9333ea", "#dc2626", "#0891b2")
"""FullTransNet's orange and green, then others, of what stands beside what is blue."""
SHADES = LinearSegmentedColormap.from_list(
    "weights", ("#ffffff", "#cfe1fb", "#7fb0f0", "#2563eb", "#17329a", "#0b1440")
)


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure, in inches at 140 dots per inch; its layout makes room for texts."""
    figure = Figure(figsize=(width, height), dpi=140, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def save_figure(figure: Figure, target: str | os.PathLike[str], label: str | None = None) -> None:
    """Write a labelled figure as PNG or SVG. Raises UsageError: another suffix; OutputError: cannot write."""
    suffix = Path(target).suffix.lower()
    if suffix not in (".png", ".svg"):
        raise UsageError("plot must end in .png or .svg", subject=target)
    # neither the date, nor the version of Matplotlib, nor random names of the SVG's parts
    unnamed, labelled = ("Date", "Description") if suffix == ".svg" else ("Software", "Comment")
    with mpl.rc_context({"svg.hashsalt": "vidsum"}), warnings.catch_warnings(), atomic_write(target) as part:
        warnings.filterwarnings("ignore", "Glyph .* missing")  # a name in a script that the font has not
        figure.savefig(part, metadata={unnamed: None, labelled: label})


ACCENT = (37, 99, 235)  # RGB of what is selected
_ROUND_STEPS_S = (0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200)


def video_title(video: VideoInfo | None, otherwise: str) -> str:
    """Return the video's file name, or another word where there is no video."""
    return otherwise if video is None else as_utf8(Path(video.path).name)


def round_times(duration_s: float, most: int) -> list[float]:
    """0 and the multiples of a round time up to the end, at most `most` + 1 of them."""
    step = next((step for step in _ROUND_STEPS_S if duration_s / step <= most), duration_s / most)
    return [number * step for number in range(int(duration_s / step) + 1)]


def draw_heading(figure: Figure, text: str) -> None:
    """The title above all that a figure holds."""
    figure.suptitle(as_utf8(text), x=0.01, ha="left", fontsize=11, fontweight="bold", parse_math=False)


def draw_time_axis(axes: Axes, duration_s: float, most: int = 12) -> None:
    """The whole video from left to right, with ticks at round times."""
    axes.set_xlim(0, duration_s)
    axes.set_xticks(round_times(duration_s, most))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda time_s, _: format_short_time(time_s)))
    axes.spines[["top", "right"]].set_visible(False)


def label_cells(axis: Axis, cells: TimeArray, times_s: TimeArray) -> None:
    """Ticks on an axis of cells, the first from -0.5 to 0.5, where the times are."""
    axis.set_ticks(cells, [format_short_time(time_s) for time_s in times_s], fontsize=8)


def draw_map(axes: Axes, weights: FloatArray, name: str, norm: Normalize) -> None:
    """Weights [N, M] by colour, with their scale."""
    image = draw_map_image(axes, weights, norm)
    axes.set_title(name, loc="left", fontsize=10.5, pad=12)
    assert axes.figure is not None
    bar = axes.figure.colorbar(image, ax=axes, pad=0.03, fraction=0.05, aspect=30, extend="max")
    bar.ax.tick_params(labelsize=8)


def draw_map_image(axes: Axes, weights: FloatArray, norm: Normalize) -> AxesImage:
    """Weights [N, M] by colour."""
    return axes.imshow(weights, cmap=SHADES, norm=norm, aspect="auto", interpolation="antialiased")


def root_norm(weights: FloatArray) -> Normalize:
    """Colours of attention weights: by their roots, the darkest at least four times the mean."""
    positive = weights[weights > 0]
    return PowerNorm(0.5, vmin=0, vmax=max(float(np.quantile(positive, 0.995)), 4 * float(positive.mean())))


def quantile_norm(weights: FloatArray) -> Normalize:
    """Colours from the lowest weight to the highest, but the rarest, for nearly even weights."""
    return Normalize(*np.quantile(weights, [0.005, 0.995]))


def mark_cells(axes: Axes, start: float, end: float, colour: str, side: str) -> None:
    """A strip along a map's top or right side, from one position to another."""
    if side == "top":
        piece = Rectangle((start, 1.006), end - start, 0.018, transform=axes.get_xaxis_transform())
    else:
        piece = Rectangle((1.006, start), 0.018, end - start, transform=axes.get_yaxis_transform())
    piece.set(color=colour, linewidth=0, clip_on=False)
    axes.add_patch(piece)
