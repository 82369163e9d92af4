"""A plot of a training run: loss and validation over the epochs, with the best epoch marked."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.ticker import MaxNLocator

from vidsum.figures import new_figure, save_figure
from vidsum.training.state import Epoch

_LOSS, _VALIDATION, _BEST = "#d97706", "#2563eb", "#9ca3af"


def plot_curves(history: Sequence[Epoch], best: Epoch, target: Path) -> None:
    """Plot the curves as PNG; the same history gives the same bytes.

    Raises:
        OutputError: the file cannot be written.
    """
    has_validation = best.validation is not None
    figure = new_figure(8, 5 if has_validation else 3)
    rows = figure.subplots(2 if has_validation else 1, 1, sharex=True, squeeze=False)[:, 0]
    epochs = [epoch.epoch for epoch in history]
    rows[0].plot(epochs, [epoch.loss for epoch in history], color=_LOSS, linewidth=1.3)
    rows[0].set_ylabel("loss")
    if has_validation:
        rows[1].plot(epochs, [epoch.validation for epoch in history], color=_VALIDATION, linewidth=1.3)
        rows[1].plot([best.epoch], [best.validation], "o", color=_VALIDATION)
        rows[1].set_ylabel("validation")
    for axes in rows:
        axes.axvline(best.epoch, color=_BEST, linewidth=0.8, linestyle="--")
        axes.spines[["top", "right"]].set_visible(False)
    rows[-1].set_xlabel("epoch")
    rows[-1].xaxis.set_major_locator(MaxNLocator(integer=True))
    shown = "" if best.validation is None else f", validation {best.validation:.3f}"
    rows[0].set_title(f"best epoch {best.epoch}{shown}", loc="left", fontsize=11, fontweight="bold")
    save_figure(figure, target)
