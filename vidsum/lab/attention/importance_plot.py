"""Pictures of FullTransNet's attention, as Figs. 5-8 of the paper: encoder, decoder, cross attention."""

import os
from itertools import pairwise

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure

from vidsum.lab.attention.importance_maps import AttentionMaps
from vidsum.results import figures
from vidsum.types import TimeArray


def plot_importance_attention(
    maps: AttentionMaps, target: str | os.PathLike[str], *, grids: bool = False, label: str | None = None
) -> None:
    """Draw every layer and head (`grids`, Fig. 5) or their mean (Fig. 6); errors as `figures.save_figure`."""
    figures.save_figure(_draw_grids(maps) if grids else _draw_panels(maps), target, label)


def _draw_panels(maps: AttentionMaps) -> Figure:
    """Encoder top left, decoder top right, cross attention below (Fig. 6); of each the mean of all maps."""
    figure = figures.new_figure(11, 9.8)
    top, bottom = figure.subfigures(2, 1, height_ratios=(5.2, 4.6), squeeze=False)[:, 0]
    encoder, decoder = top.subplots(1, 2)
    cross = bottom.subplots()
    means = [part.mean(axis=(0, 1)) for part in (maps.encoder, maps.decoder, maps.cross)]
    figures.draw_map(encoder, means[0], "Encoder", figures.root_norm(means[0]))
    figures.draw_map(decoder, means[1], "Decoder, masked", figures.root_norm(means[1]))
    colours = figures.quantile_norm(means[2])
    even = maps.samples_per_cell / len(maps.timestamps)
    name = f"Cross attention, {colours.vmin:.2g} to {colours.vmax:.2g} (even: {even:.2g})"
    figures.draw_map(cross, means[2], name, colours)
    for axis in (encoder.xaxis, encoder.yaxis, cross.xaxis):
        _mark_times(axis, maps)
    _mark_steps(decoder.xaxis, maps, first="start")
    for axis in (decoder.yaxis, cross.yaxis):
        _mark_steps(axis, maps)
    _mark_shots(encoder, maps, along_y=True)
    _mark_shots(cross, maps, along_y=False)
    _label(encoder, "sample attended to (min:s)", "sample (min:s)")
    _label(decoder, "step whose token it has read", "step")
    _label(cross, "sample attended to (min:s)", "step")
    positions = (maps.key_frames + 0.5) / maps.samples_per_cell - 0.5
    name, steps = "key frame that the step writes", np.arange(len(positions))
    cross.plot(positions, steps, "o", ms=5, mfc="none", mec=figures.OTHERS[0], mew=0.9, label=name)
    cross.legend(loc="lower right", bbox_to_anchor=(1.01, 1.015), frameon=False, fontsize=9)
    figures.draw_heading(figure, _title(maps))
    return figure


def _draw_grids(maps: AttentionMaps) -> Figure:
    """Layers from top to bottom, heads from left to right, in three blocks as in Fig. 5."""
    n_layers, n_heads = maps.encoder.shape[:2]
    figure = figures.new_figure(1.05 * n_heads + 1, 3 * (1.05 * n_layers + 0.8))
    parts = {"Encoder": maps.encoder, "Decoder, masked": maps.decoder, "Cross attention": maps.cross}
    blocks = figure.subfigures(3, 1, squeeze=False)[:, 0]
    for block, (name, weights) in zip(blocks, parts.items(), strict=True):
        block.suptitle(f"{name}: rows are layers, columns are heads", x=0.02, ha="left", fontweight="bold")
        grid = block.subplots(n_layers, n_heads, squeeze=False)
        for row, layer in enumerate(maps.layers):
            grid[row, 0].set_ylabel(str(layer), rotation=0, ha="right", va="center")
            for column, axes in enumerate(grid[row]):
                figures.draw_map_image(axes, weights[row, column], figures.root_norm(weights[row, column]))
                axes.set(xticks=[], yticks=[])
        for axes, head in zip(grid[0], maps.heads, strict=True):
            axes.set_title(str(head), fontsize=10)
    return figure


def _mark_times(axis: Axis, maps: AttentionMaps) -> None:
    """Ticks at round times, on an axis of cells."""
    end_s = min(float(maps.edges_s[-1]), _end_s(maps))
    times = np.array([time_s for time_s in figures.round_times(end_s, 8) if time_s >= maps.timestamps[0]])
    figures.label_cells(axis, _cells(maps, times), times)


def _mark_steps(axis: Axis, maps: AttentionMaps, first: str = "1") -> None:
    """Ticks at some of the steps, counted from 1; a step that writes no key frame writes the end."""
    n_steps = maps.decoder.shape[2]
    steps = np.unique(np.linspace(0, n_steps - 1, min(n_steps, 8)).astype(int))
    names = {0: first} if first != "1" else {len(maps.key_frames): "end"}
    axis.set_ticks(steps, [names.get(step, str(step + 1)) for step in steps.tolist()], fontsize=8)


def _mark_shots(axes: Axes, maps: AttentionMaps, *, along_y: bool) -> None:
    """A strip of alternating greys along the top, a piece per shot; with `along_y` also on the right."""
    edges = _cells(maps, maps.edges_s)
    edges[-1] = maps.encoder.shape[2] - 0.5  # a window may end inside a shot
    for number, (start, end) in enumerate(pairwise(edges)):
        colour = (figures.GREY, figures.PALE_GREY)[number % 2]
        figures.mark_cells(axes, start, end, colour, "top")
        if along_y:
            figures.mark_cells(axes, start, end, colour, "right")


def _label(axes: Axes, x: str, y: str) -> None:
    axes.set_xlabel(x, fontsize=9)
    axes.set_ylabel(y, fontsize=9)


def _cells(maps: AttentionMaps, times_s: TimeArray) -> TimeArray:
    """Positions on an axis of cells, whose first cell is from -0.5 to 0.5."""
    samples = np.interp(times_s, [*maps.timestamps, _end_s(maps)], np.arange(len(maps.timestamps) + 1.0))
    return np.asarray(samples / maps.samples_per_cell - 0.5, np.float64)


def _end_s(maps: AttentionMaps) -> float:
    """Return where the last sample would give way to another."""
    step_s = np.median(np.diff(maps.timestamps)) if len(maps.timestamps) > 1 else maps.edges_s[-1]
    return float(maps.timestamps[-1] + step_s)


def _title(maps: AttentionMaps) -> str:
    parts = (("layer", maps.layers), ("head", maps.heads))
    layers, heads = (
        f"{name} {numbers[0]}" if len(numbers) == 1 else f"mean of {len(numbers)} {name}s"
        for name, numbers in parts
    )
    pooled = f"; {maps.samples_per_cell} samples to a cell" if maps.samples_per_cell > 1 else ""
    return f"Attention weights, {layers}, {heads}{pooled}"
