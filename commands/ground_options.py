"""Options of `vidsum ground` that no other command has."""

from enum import Enum
from typing import Annotated

from vidsum.commands import options
from vidsum.commands.mask_options import MaskName

_WHAT = "Queries and moments"


class SpaceName(str, Enum):
    """Where text and video are compared."""

    auto = "auto"
    clip = "clip"
    conse = "conse"


class SnapName(str, Enum):
    """Whose shot edges the edges of moments move to."""

    none = "none"
    kts = "kts"
    transnetv2 = "transnetv2"


Query = Annotated[
    list[str] | None,
    options.option(
        "--query",
        help="What to look for, in English; repeatable.",
        metavar="TEXT",
        rich_help_panel=_WHAT,
    ),
]
QueryFile = Annotated[
    str | None,
    options.option(
        "--queries",
        help="File of queries, one a line (UTF-8); - for stdin.",
        show_default=False,
        metavar="FILE",
        rich_help_panel=_WHAT,
    ),
]
TopK = Annotated[
    int, options.option("--top-k", "-k", help="Most moments of a query.", min=1, rich_help_panel=_WHAT)
]
Model = Annotated[
    str,
    options.option(
        "--model",
        "-m",
        help="What gives the moments: similarity, mrnet, qd-detr, moment-detr, mrnet-detr, or a checkpoint "
        "of `vidsum train mrnet` or `train detr` (.safetensors). auto: mrnet in the space conse, else "
        "similarity.",
        metavar="NAME|FILE",
        rich_help_panel=_WHAT,
    ),
]
Mask = Annotated[
    MaskName | None,
    options.option(
        "--mask",
        help="Learned mask of a DETR model: chooses its checkpoint; a file must have it.",
        show_default="none, or the file's",
        rich_help_panel=_WHAT,
    ),
]
Space = Annotated[
    SpaceName,
    options.option(
        "--space",
        help="Where text and video are compared. auto: that of a trained model, else clip where its weights "
        "are here, else conse.",
        rich_help_panel=_WHAT,
    ),
]
Snap = Annotated[
    SnapName,
    options.option(
        "--snap", help="Move edges of moments to edges of shots within a second.", rich_help_panel=_WHAT
    ),
]
Clips = Annotated[
    str | None,
    options.option(
        "--clips",
        help="Also an MP4 of each moment, {video}_{query number}_{rank}.mp4, in this folder or beside the "
        "JSON.",
        show_default=False,
        metavar="[FOLDER]",
        rich_help_panel=options.OUT,
    ),
]
Plot = Annotated[
    bool,
    options.option(
        "--plot",
        help="Also {video}_moments.png: the saliency curve and the moments of each query.",
        rich_help_panel=options.OUT,
    ),
]
Saliency = Annotated[
    bool,
    options.option("--saliency", help="The saliency curves in the JSON too.", rich_help_panel=options.OUT),
]
