"""Settings of the figures of attention. Fields are options of `vidsum evaluate attention`."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from vidsum.errors import UsageError
from vidsum.options import Option, check, option

AttentionPart = Literal["mean", "all"] | tuple[int, int]
"""Part of FullTransNet's attention to draw: the mean of all layers and heads, all of them, or one."""


@dataclass(frozen=True, kw_only=True)
class AttentionRequest:
    """A figure of the attention of a FullTransNet. Raises UsageError: no such part."""

    PANEL = "What to draw"

    model: str = option(
        "Model of `train fulltransnet`, by name or checkpoint.",
        "fulltransnet",
        flags=("--model", "-m"),
        metavar="NAME|FILE",
    )
    part: str = option(
        "Layers and heads: mean, all (each separately), or one: 5.0 is layer 5, head 0, counted from 0.",
        "mean",
        metavar="mean|all|LAYER.HEAD",
    )

    def __post_init__(self) -> None:
        check(self)
        parse_part(self.part)


@dataclass(frozen=True, kw_only=True)
class AttentionFiles:
    """The figure, {video}_attention.png."""

    PANEL = "Output"

    output_dir: Annotated[
        Path | None, Option("Folder of the figures.", default_text="current folder", metavar="FOLDER")
    ] = None
    plot_format: Annotated[Literal["png", "svg"], Option("Format of the figures.")] = "png"
    overwrite: bool = option("Replace existing outputs.", False)

    def path(self, source: str, request: AttentionRequest) -> Path:
        """Return the file of a video; a part of the attention other than the mean is in its name."""
        part = "" if request.part == "mean" else f"_{request.part}"
        return (self.output_dir or Path()) / f"{Path(source).stem}_attention{part}.{self.plot_format}"


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
