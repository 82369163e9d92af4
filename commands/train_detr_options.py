"""The options of `vidsum train detr` alone; for those without a default the preset or the size has one."""

from enum import Enum
from pathlib import Path
from typing import Annotated

from vidsum.commands.options import option
from vidsum.commands.train_moments_options import OF_PRESET
from vidsum.commands.train_options import DATA, MODEL, TRAINING

_OF_SIZE = "the size's"


class ModelName(str, Enum):
    """The models that answer with a fixed number of moments and a saliency of each clip."""

    moment_detr = "moment-detr"
    qd_detr = "qd-detr"
    mrnet_detr = "mrnet-detr"


class PresetName(str, Enum):
    """Settings to begin with: published ones, and ours for what is made up."""

    qvhighlights = "qvhighlights"
    captions = "captions"
    planted = "planted"


class SizeName(str, Enum):
    """Sizes of the transformer."""

    paper = "paper"
    light = "light"


TextFeatures = Annotated[
    Path | None,
    option(
        "--text-features",
        help="Folder with the words of each query, qidNUMBER.npz, as published for QVHighlights; --text "
        "says what made them.",
        show_default="the words are embedded",
        metavar="FOLDER",
        rich_help_panel=DATA,
    ),
]
Model = Annotated[
    ModelName,
    option(
        "--model",
        help="qd-detr; moment-detr; or mrnet-detr: MRNet's encoder with the decoder of QD-DETR.",
        rich_help_panel=MODEL,
    ),
]
Size = Annotated[
    SizeName,
    option("--size", help="paper: d 256, d_ff 1024. light: 128, 256, for a CPU.", rich_help_panel=MODEL),
]
Words = Annotated[
    int | None,
    option("--words", help="Most words of a query.", min=1, show_default="32", rich_help_panel=MODEL),
]
Layers = Annotated[
    int | None,
    option("--layers", help="Layers of each encoder.", min=1, show_default="2", rich_help_panel=MODEL),
]
DecoderLayers = Annotated[
    int | None,
    option("--decoder-layers", help="Layers of the decoder.", min=1, show_default="2", rich_help_panel=MODEL),
]
NMoments = Annotated[
    int | None,
    option("--n-moments", help="Moments of an answer.", min=1, show_default="10", rich_help_panel=MODEL),
]
Width = Annotated[
    int | None,
    option("--d", help="Numbers in a token (d).", min=4, show_default=_OF_SIZE, rich_help_panel=MODEL),
]
WidthFF = Annotated[
    int | None,
    option(
        "--d-ff",
        help="Numbers in the middle of a feed-forward network (d_ff).",
        min=1,
        show_default=_OF_SIZE,
        rich_help_panel=MODEL,
    ),
]
Preset = Annotated[
    PresetName | None,
    option(
        "--preset",
        help="Settings to begin with: the published ones; captions, planted: ours.",
        show_default="qvhighlights; for captions and planted theirs",
        rich_help_panel=TRAINING,
    ),
]
MaxNorm = Annotated[
    float | None,
    option(
        "--max-norm", help="Longest gradient of a step.", show_default=OF_PRESET, rich_help_panel=TRAINING
    ),
]
