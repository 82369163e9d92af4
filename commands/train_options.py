"""The options of `vidsum train fulltransnet`."""

from enum import Enum
from pathlib import Path
from typing import Annotated

from vidsum.commands.options import option


class AttentionName(str, Enum):
    """What the encoder of FullTransNet attends to."""

    full = "full"
    local = "local"
    global_ = "global"
    local_global = "local-global"


class HeadName(str, Enum):
    """How FullTransNet scores samples."""

    linear = "linear"
    pointer = "pointer"


class TrainingPrecision(str, Enum):
    """Floating-point types a model can be trained in."""

    fp32 = "fp32"
    bf16 = "bf16"


DATA, MODEL, TRAINING = "Data and output", "Model", "Training"

Data = Annotated[
    list[Path],
    option(
        "--data",
        help="h5 file of annotated videos; may be given several times. The first is the one to test on.",
        show_default=False,
        metavar="FILE",
        rich_help_panel=DATA,
    ),
]
Splits = Annotated[
    str,
    option(
        "--splits",
        help="canonical, augmented or transfer, or a file of published splits (.json, .yml).",
        metavar="SETTING|FILE",
        rich_help_panel=DATA,
    ),
]
Out = Annotated[
    Path,
    option(
        "--out",
        "-o",
        help="Folder of the run; an unfinished run in it goes on.",
        show_default=False,
        metavar="FOLDER",
        rich_help_panel=DATA,
    ),
]
Only = Annotated[
    list[int] | None,
    option(
        "--split",
        help="Train this split only, counted from 0; may be given several times.",
        show_default="all",
        min=0,
        rich_help_panel=DATA,
    ),
]
Overwrite = Annotated[
    bool,
    option("--overwrite", help="Start anew where the folder holds a run.", rich_help_panel=DATA),
]

Attention = Annotated[
    AttentionName,
    option("--attention", help="What a token of the encoder attends to.", rich_help_panel=MODEL),
]
Layers = Annotated[
    int,
    option("--layers", help="Layers of the encoder, and of the decoder (N).", min=1, rich_help_panel=MODEL),
]
Width = Annotated[int, option("--d", help="Numbers in a token (d).", min=2, rich_help_panel=MODEL)]
WidthFF = Annotated[
    int,
    option(
        "--d-ff", help="Numbers in the middle of a feed-forward network (d_ff).", min=1, rich_help_panel=MODEL
    ),
]
Heads = Annotated[int, option("--heads", help="Heads of attention (h).", min=1, rich_help_panel=MODEL)]
Window = Annotated[
    int, option("--window", help="Tokens in a local window (w); odd.", min=1, rich_help_panel=MODEL)
]
GlobalTokens = Annotated[
    int,
    option("--global-tokens", help="Global tokens of a shot.", min=1, max=3, rich_help_panel=MODEL),
]
Head = Annotated[
    HeadName,
    option(
        "--head",
        help="linear: the paper's, for up to 1536 samples; pointer: for any length, if there is no mask.",
        rich_help_panel=MODEL,
    ),
]
Dropout = Annotated[
    float,
    option(
        "--dropout",
        help="Share of the numbers that are dropped at random in training.",
        min=0,
        max=0.99,
        rich_help_panel=MODEL,
    ),
]

Epochs = Annotated[
    int, option("--epochs", help="Train for at most so many epochs.", min=1, rich_help_panel=TRAINING)
]
LearningRate = Annotated[float, option("--lr", help="Learning rate of Adam.", rich_help_panel=TRAINING)]
WeightDecay = Annotated[
    float, option("--weight-decay", help="Weight decay of Adam.", rich_help_panel=TRAINING)
]
Seed = Annotated[
    int,
    option(
        "--seed",
        help="Seed of the first weights, the order of the videos and the dropout.",
        min=0,
        rich_help_panel=TRAINING,
    ),
]
Crop = Annotated[
    float,
    option(
        "--crop",
        help="Train on random runs of shots, at least this share of a video; 1: whole videos, as the paper.",
        rich_help_panel=TRAINING,
    ),
]
Noise = Annotated[
    float,
    option(
        "--noise",
        help="Most that is replaced, at random, of what the decoder is told of the steps before, so that it "
        "relies on the video; 0: nothing, as the paper.",
        rich_help_panel=TRAINING,
    ),
]
Validation = Annotated[
    float,
    option(
        "--validation",
        help="Share of the training videos that choose the best epoch; 0: take the last epoch.",
        rich_help_panel=TRAINING,
    ),
]
Patience = Annotated[
    int,
    option(
        "--patience", help="Stop after so many epochs without a better one.", min=1, rich_help_panel=TRAINING
    ),
]
Precision = Annotated[
    TrainingPrecision,
    option("--precision", help="Floating-point type of the computations.", rich_help_panel=TRAINING),
]
Device = Annotated[
    str,
    option("--device", help="auto, cpu, cuda, cuda:N or mps.", metavar="DEVICE", rich_help_panel=TRAINING),
]
