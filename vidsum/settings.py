"""What can be chosen about a run. The fields have the names of the command line's options."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Literal, get_args

from vidsum.device import Precision
from vidsum.errors import UsageError

if TYPE_CHECKING:
    from vidsum.types import Interval

DEFAULT_EXTRACTOR = "mobilenet_v2"
DEFAULT_MODEL = "auto"
SHIPPED_MODEL = "fulltransnet"
"""The checkpoint that comes with vidsum, by its name in the registry."""
SHIPPED_GROUNDER = "mrnet"
"""The same for finding moments."""


AttentionPart = Literal["mean", "all"] | tuple[int, int]
"""What is drawn of attention: the mean of all layers and heads, each by itself, or one (layer, head)."""

Snap = Literal["none", "kts", "transnetv2"]
"""Whose shot edges the edges of moments move to, where one is near."""

Mask = Literal["lam", "stamp"]
"""Kinds of learned mask that a model's attention may have."""


@dataclass(frozen=True)
class Extraction:
    """How features are made. None stands for the extractor's own value."""

    extractor: str = DEFAULT_EXTRACTOR
    fps: float | None = None
    """Frames sampled per second."""
    clip_frames: int | None = None
    stride_frames: int | None = None
    logits: bool = False
    """Keep the class scores as well."""
    precision: Precision = "fp32"
    backend: Literal["torch", "onnx"] = "torch"
    device: str = "auto"
    reader: str = "pyav"
    strict: bool = False
    """Raise an error where a video is damaged in part, instead of using what decodes."""
    cache: bool = True
    allow_playlists: bool = False
    """Read ffconcat lists and .m3u8 playlists, with the local files that they name, as videos."""


@dataclass(frozen=True)
class ShotSettings:
    """How a video is cut into shots. None stands for the method's own value."""

    shots: str = "kts"
    max_shots: int | None = None
    min_shot_s: float | None = None
    max_shot_s: float | None = None


@dataclass(frozen=True)
class Selection:
    """What goes into a summary."""

    budget: str | float = "15%"
    """A share of the video (`15%`, 0.15) or a time (`45s`, `1:30`, 45)."""
    model: str = DEFAULT_MODEL
    """What gives the importance scores: one of `vidsum.summary.score.MODELS`, or a checkpoint's path."""
    seed: int = 0
    """Of the scorers `random` and `cluster`."""
    beams: int = 1
    """Summaries that a trained model writes side by side; 1 is greedy."""
    keep: "tuple[Interval, ...]" = ()
    drop: "tuple[Interval, ...]" = ()

    def __post_init__(self) -> None:
        if self.beams < 1:
            raise UsageError(f"beams must be at least 1, not {self.beams}")
        for name, stretches in (("keep", self.keep), ("drop", self.drop)):
            for stretch in stretches:
                if not _is_interval(stretch):
                    raise UsageError(f"{name} takes pairs (start_s, end_s) of numbers, not {stretch!r}")


@dataclass(frozen=True)
class Retrieval:
    """How the moments of queries are found."""

    top_k: int = 5
    """Most moments of a query."""
    model: str = DEFAULT_MODEL
    """What gives the moments: one of `vidsum.grounding.find.MODELS`, or a checkpoint's path."""
    space: str = "auto"
    """Where text and video are compared: one of `vidsum.grounding.spaces.SPACES`."""
    snap: Snap = "none"
    mask: Mask | None = None
    """The learned mask of a DETR model, by which its checkpoint is chosen; a file must have it."""

    def __post_init__(self) -> None:
        if self.top_k < 1:
            raise UsageError(f"top_k must be at least 1, not {self.top_k}")
        if self.snap not in get_args(Snap):
            raise UsageError(
                f"moments cannot be snapped to {self.snap!r}", hint=f"choose from {', '.join(get_args(Snap))}"
            )
        if self.mask not in (None, *get_args(Mask)):
            raise UsageError(
                f"there is no mask {self.mask!r}", hint=f"choose from {', '.join(get_args(Mask))}"
            )


def parse_attention_part(text: str) -> AttentionPart:
    """`mean`, `all`, or a layer and a head, counted from 0: `5.0`.

    Raises:
        UsageError: the text is none of these.
    """
    wholes: dict[str, AttentionPart] = {"mean": "mean", "all": "all"}
    if text in wholes:
        return wholes[text]
    numbers = re.fullmatch(r"(\d{1,3})\.(\d{1,3})", text, re.ASCII)
    if numbers is None:
        raise UsageError(f"{text!r} is no part of attention", hint="mean, all, or LAYER.HEAD such as 5.0")
    return int(numbers[1]), int(numbers[2])


def _is_interval(value: object) -> bool:
    return (
        isinstance(value, Sequence) and len(value) == 2 and all(isinstance(time_s, Real) for time_s in value)
    )
