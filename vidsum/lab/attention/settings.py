"""Settings of the figures of attention. Fields are options of `vidsum evaluate attention`."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from vidsum.errors import UsageError
from vidsum.grounding.settings import SHIPPED_GROUNDER
from vidsum.options import Option, check, option

AttentionKind = Literal["attention", "mask", "weights"]
AttentionPart = Literal["mean", "all"] | tuple[int, int]
"""Part of FullTransNet's attention to draw: the mean of all layers and heads, all of them, or one."""


@dataclass(frozen=True, kw_only=True)
class AttentionRequest:
    """Figures of the attention of one model. Raises UsageError: options do not go together."""

    PANEL = "What to draw"

    model: str | None = option(
        "Trained model by name or checkpoint: of `train fulltransnet`, or with --query of `train mrnet` or "
        "`train detr`.",
        None,
        flags=("--model", "-m"),
        default_text=f"fulltransnet; with --query {SHIPPED_GROUNDER}",
        metavar="NAME|FILE",
    )
    query: tuple[str, ...] = option("Text query for a moment model. Can be repeated.", (), metavar="TEXT")
    kind: tuple[AttentionKind, ...] = option(
        "Figure. With --query also mask (the masks of the layers) and weights (the distribution of attention "
        "weights, with and without masks). Can be repeated.",
        ("attention",),
    )
    part: str = option(
        "Without --query: layers and heads: mean, all (each separately), or one, such as 5.0 (layer 5, head "
        "0, counted from 0).",
        "mean",
        metavar="mean|all|LAYER.HEAD",
    )

    def __post_init__(self) -> None:
        check(self)
        parse_part(self.part)
        if not self.query and self.kind != ("attention",):
            raise UsageError("mask and weights are figures of moment models", hint="add --query TEXT")
        if self.query and self.part != "mean":
            raise UsageError("--part is for FullTransNet", hint="leave out --query or --part")


@dataclass(frozen=True, kw_only=True)
class AttentionFiles:
    """Files of the figures, {video}_attention.png and so on."""

    PANEL = "Output"

    output_dir: Annotated[
        Path | None, Option("Folder of the figures.", default_text="current folder", metavar="FOLDER")
    ] = None
    plot_format: Annotated[Literal["png", "svg"], Option("Format of the figures.")] = "png"
    overwrite: bool = option("Replace existing outputs.", False)

    def paths(self, source: str, request: AttentionRequest) -> dict[str, Path]:
        """Return the file of each kind; a part of the attention other than the mean is in its name."""
        part = "" if request.part == "mean" else f"_{request.part}"
        folder = self.output_dir or Path()
        return {
            kind: folder / f"{Path(source).stem}_{kind}{part}.{self.plot_format}" for kind in request.kind
        }


def parse_part(text: str) -> AttentionPart:
    """Return `mean`, `all`, or a layer and a head from 0: `5.0`. Raises UsageError: none of these."""
    if text == "mean":
        return "mean"
    if text == "all":
        return "all"
    numbers = re.fullmatch(r"(\d{1,3})\.(\d{1,3})", text, re.ASCII)
    if numbers is None:
        raise UsageError(f"unknown part of attention {text!r}", hint="mean, all, or LAYER.HEAD such as 5.0")
    return int(numbers[1]), int(numbers[2])
