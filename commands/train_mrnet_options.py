"""The options of `vidsum train mrnet`. Those without a default take the preset's value."""

from enum import Enum
from pathlib import Path
from typing import Annotated

from vidsum.commands.options import option
from vidsum.commands.train_options import DATA, MODEL, TRAINING

OF_PRESET = "the preset's"


class PresetName(str, Enum):
    """Settings to begin with: published ones of data sets, and ours for what is made up."""

    activitynet = "activitynet"
    charades = "charades"
    tacos = "tacos"
    qvhighlights = "qvhighlights"
    captions = "captions"
    planted = "planted"


class RecipeName(str, Enum):
    """Where the training examples come from."""

    features = "features"
    captions = "captions"


class SpaceName(str, Enum):
    """What the features are."""

    features = "features"
    clip = "clip"
    conse = "conse"


class TextName(str, Enum):
    """What embeds the queries."""

    minilm = "minilm"
    clip = "clip"
    glove = "glove"


class MapName(str, Enum):
    """Sizes of the proposal map."""

    paper = "paper"
    light = "light"


class DecayName(str, Enum):
    """The retention mask of Eq. 4."""

    bidirectional = "bidirectional"
    forward = "forward"
    none = "none"


class RegionName(str, Enum):
    """Parts of the attention: who attends to whom; v is a clip, q a query."""

    vv = "vv"
    qq = "qq"
    vq = "vq"
    qv = "qv"


class NonlinearityName(str, Enum):
    """What follows the masked attention."""

    softmax = "softmax"
    gate = "gate"


Data = Annotated[
    list[str],
    option(
        "--data",
        help="Annotations: ActivityNet Captions, Charades-STA, TACoS (JSON) or QVHighlights (JSON lines); "
        "with --recipe captions, repeatable. planted: made-up moments, to try the model on.",
        show_default=False,
        metavar="FILE|planted",
        rich_help_panel=DATA,
    ),
]
Recipe = Annotated[
    RecipeName,
    option(
        "--recipe",
        help="features: of the annotated videos. captions: features of a space are made up from the "
        "sentences, no video is needed.",
        rich_help_panel=DATA,
    ),
]
ClipS = Annotated[
    float,
    option("--clip-s", help="With captions: seconds of a clip; a window has T clips.", rich_help_panel=DATA),
]
Guided = Annotated[
    bool,
    option(
        "--guided/--plain",
        help="With captions: whether each clip comes with how well it fits the query by similarity.",
        rich_help_panel=DATA,
    ),
]
Videos = Annotated[
    int,
    option("--videos", help="With captions: videos made up in an epoch.", min=1, rich_help_panel=DATA),
]
Features = Annotated[
    list[Path] | None,
    option(
        "--features",
        help="HDF5 file, or folder with a file a video; several are put side by side.",
        show_default=False,
        metavar="PATH",
        rich_help_panel=DATA,
    ),
]
Space = Annotated[
    SpaceName,
    option(
        "--space",
        help="clip or conse: the features are embeddings in the space of `vidsum ground`, which can then use "
        "the model. features: any others. With captions: the space that they are made up in, conse if not "
        "chosen.",
        rich_help_panel=DATA,
    ),
]
Text = Annotated[
    TextName | None,
    option(
        "--text",
        help="What embeds the queries of other features.",
        show_default="minilm",
        rich_help_panel=DATA,
    ),
]
Validation = Annotated[
    str,
    option(
        "--validation",
        help="What chooses the best epoch: annotations of other videos, or a share of the training videos; "
        "0: take the last epoch.",
        metavar="FILE|SHARE",
        rich_help_panel=DATA,
    ),
]
Preset = Annotated[
    PresetName | None,
    option(
        "--preset",
        help="Settings to begin with: published ones; captions, planted: ours.",
        show_default="activitynet; for captions and planted theirs",
        rich_help_panel=TRAINING,
    ),
]

Head = Annotated[
    MapName,
    option("--head", help="Proposal map: the paper's, or one for a CPU.", rich_help_panel=MODEL),
]
Clips = Annotated[
    int | None,
    option(
        "--clips",
        help="Clips that a video is averaged into (T).",
        min=2,
        show_default=OF_PRESET,
        rich_help_panel=MODEL,
    ),
]
Layers = Annotated[int, option("--layers", help="MRT blocks (N).", min=0, rich_help_panel=MODEL)]
Width = Annotated[int, option("--d", help="Numbers in a token (d).", min=2, rich_help_panel=MODEL)]
WidthFF = Annotated[
    int, option("--d-ff", help="Numbers in the middle of a block.", min=1, rich_help_panel=MODEL)
]
Gamma = Annotated[float, option("--gamma", help="Retention of a clip to the next.", rich_help_panel=MODEL)]
Decay = Annotated[
    DecayName,
    option("--decay", help="Retention mask; none leaves it out.", rich_help_panel=MODEL),
]
Sparse = Annotated[
    bool,
    option("--sparse/--no-sparse", help="With the learnable sparse mask.", rich_help_panel=MODEL),
]
Sparsity = Annotated[
    float,
    option("--sparsity", help="Share of the sparse mask that is left (alpha).", rich_help_panel=MODEL),
]
Regions = Annotated[
    list[RegionName] | None,
    option(
        "--region",
        help="Part of the attention that is masked; may be given several times.",
        show_default="vv",
        rich_help_panel=MODEL,
    ),
]
CrossModal = Annotated[
    bool,
    option(
        "--cross-modal/--no-cross-modal",
        help="Queries and clips attend to each other.",
        rich_help_panel=MODEL,
    ),
]
Nonlinearity = Annotated[
    NonlinearityName,
    option("--nonlinearity", help="Softmax, or the swish gate of RetNet.", rich_help_panel=MODEL),
]
Dropout = Annotated[
    float, option("--dropout", help="Share dropped in a block.", min=0, max=0.99, rich_help_panel=MODEL)
]
DropoutIn = Annotated[
    float | None,
    option(
        "--dropout-in",
        help="Share dropped of the features.",
        min=0,
        max=0.99,
        show_default="0.5, or the preset's",
        rich_help_panel=MODEL,
    ),
]

Epochs = Annotated[
    int | None,
    option(
        "--epochs",
        help="Train for at most so many epochs.",
        min=1,
        show_default=OF_PRESET,
        rich_help_panel=TRAINING,
    ),
]
LearningRate = Annotated[
    float | None,
    option("--lr", help="Learning rate of AdamW.", show_default=OF_PRESET, rich_help_panel=TRAINING),
]
Warmup = Annotated[
    float | None,
    option(
        "--warmup",
        help="Epochs in which the learning rate rises from 0.",
        show_default="0, or the preset's",
        rich_help_panel=TRAINING,
    ),
]
DecayAt = Annotated[
    list[int] | None,
    option(
        "--decay-at",
        help="Epoch after which the learning rate is a tenth; may be given several times.",
        min=1,
        show_default=OF_PRESET,
        rich_help_panel=TRAINING,
    ),
]
WeightDecay = Annotated[
    float | None,
    option(
        "--weight-decay",
        help="Weight decay of AdamW.",
        show_default="1e-5, or the preset's",
        rich_help_panel=TRAINING,
    ),
]
BatchSize = Annotated[
    int | None,
    option(
        "--batch-size",
        help="Videos of a step.",
        min=1,
        show_default="12, or the preset's",
        rich_help_panel=TRAINING,
    ),
]
QueriesPerVideo = Annotated[
    int | None,
    option(
        "--queries-per-video",
        help="Most queries of a video that go through the model together; 1: single-query mode.",
        min=1,
        show_default="all",
        rich_help_panel=TRAINING,
    ),
]
LambdaC = Annotated[
    float | None,
    option(
        "--lambda-c",
        help="Weight of the contrastive loss.",
        show_default=OF_PRESET,
        rich_help_panel=TRAINING,
    ),
]
LambdaS = Annotated[
    float, option("--lambda-s", help="Weight of the sparsity loss.", rich_help_panel=TRAINING)
]
Patience = Annotated[
    int | None,
    option(
        "--patience",
        help="Stop after so many epochs without a better one.",
        min=1,
        show_default="none",
        rich_help_panel=TRAINING,
    ),
]
