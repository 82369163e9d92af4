"""The options about learned masks, of every command that trains a transformer."""

from enum import Enum
from typing import Annotated, Any

from vidsum.commands.options import option
from vidsum.commands.train_options import MODEL
from vidsum.errors import UsageError


class MaskName(str, Enum):
    """Kinds of learned mask."""

    lam = "lam"
    stamp = "stamp"


class FusionName(str, Enum):
    """How a mask and the logits become one."""

    product = "product"
    sum = "sum"


Mask = Annotated[
    MaskName | None,
    option(
        "--mask",
        help="Learned mask of the attention; lam reads QK^T in cross-attention, stamp the tokens.",
        show_default="none",
        rich_help_panel=MODEL,
    ),
]
MaskDepth = Annotated[
    int | None,
    option(
        "--mask-depth",
        help="Linear layers that make a mask (L).",
        min=1,
        max=64,
        show_default="2; with `detr`, 32 on QVHighlights",
        rich_help_panel=MODEL,
    ),
]
MaskFusion = Annotated[
    FusionName | None,
    option(
        "--mask-fusion",
        help="The mask times the logits, or plus them.",
        show_default="product",
        rich_help_panel=MODEL,
    ),
]
MaskShared = Annotated[
    bool | None,
    option(
        "--mask-shared/--mask-per-layer",
        help="One mask, made by the first layer, for all layers; or one for each.",
        show_default="mask-per-layer",
        rich_help_panel=MODEL,
    ),
]
MaskIdentity = Annotated[
    bool | None,
    option(
        "--mask-identity/--mask-plain",
        help="Start as if there were no mask, or as any linear layer does.",
        show_default="mask-plain",
        rich_help_panel=MODEL,
    ),
]


def chosen_mask(
    mask: MaskName | None,
    depth: int | None,
    fusion: FusionName | None,
    shared: bool | None,
    identity: bool | None,
) -> dict[str, Any] | None:
    """What was chosen, as `MaskConfig` names it; the rest has its defaults. None without a mask.

    Raises:
        UsageError: something was chosen about a mask, but no mask.
    """
    about = {
        "depth": depth,
        "fusion": None if fusion is None else fusion.value,
        "shared": shared,
        "identity": identity,
    }
    given = {name: value for name, value in about.items() if value is not None}
    if mask is not None:
        return {"kind": mask.value, **given}
    if given:
        off = {"shared": "per-layer", "identity": "plain"}
        flags = (f"--mask-{off[name] if value is False else name}" for name, value in given.items())
        raise UsageError(f"{' and '.join(flags)}: there is no mask", hint="--mask lam or --mask stamp")
    return None
