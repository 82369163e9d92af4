"""The options of `vidsum train mrnet` that say what it is trained on."""

from enum import Enum
from pathlib import Path
from typing import Annotated

from vidsum.commands.options import option
from vidsum.commands.train_options import DATA

SHARE = 0.1
"""Of the training videos that choose the best epoch, where nothing is said."""


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
    float | None,
    option(
        "--clip-s",
        help="With captions: seconds of a clip; a window has T clips.",
        show_default="1",
        rich_help_panel=DATA,
    ),
]
Guided = Annotated[
    bool | None,
    option(
        "--guided/--plain",
        help="With captions: whether each clip comes with how well it fits the query by similarity.",
        show_default="guided",
        rich_help_panel=DATA,
    ),
]
Videos = Annotated[
    int | None,
    option(
        "--videos",
        help="With captions: videos made up in an epoch.",
        min=1,
        show_default="1200",
        rich_help_panel=DATA,
    ),
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
    str | None,
    option(
        "--validation",
        help="What chooses the best epoch: annotations of other videos, or a share of the training videos; "
        "0: take the last epoch.",
        show_default=f"{SHARE:g}",
        metavar="FILE|SHARE",
        rich_help_panel=DATA,
    ),
]
