"""The options of `vidsum train mrnet` alone, about the model and its training; for those without a default
the preset has one.
"""

from enum import Enum
from typing import Annotated

from vidsum.commands.options import option
from vidsum.commands.train_moments_options import OF_PRESET
from vidsum.commands.train_options import MODEL, TRAINING


class PresetName(str, Enum):
    """Settings to begin with: published ones of data sets, and ours for what is made up."""

    activitynet = "activitynet"
    charades = "charades"
    tacos = "tacos"
    qvhighlights = "qvhighlights"
    captions = "captions"
    planted = "planted"


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
Layers = Annotated[int, option("--layers", help="MRT blocks (N).", min=0, rich_help_panel=MODEL)]
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
        show_default="cross-modal; no-cross-modal with charades",
        rich_help_panel=MODEL,
    ),
]
Nonlinearity = Annotated[
    NonlinearityName,
    option("--nonlinearity", help="Softmax, or the swish gate of RetNet.", rich_help_panel=MODEL),
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
