"""The options that all commands have which train a model to find moments; the preset has their defaults."""

from typing import Annotated

from vidsum.commands.options import option
from vidsum.commands.train_options import MODEL, TRAINING

OF_PRESET = "the preset's"

Clips = Annotated[
    int | None,
    option(
        "--clips",
        help="Clips that a video is averaged into (T); `train detr` reads a video of fewer as it is.",
        min=2,
        show_default=OF_PRESET,
        rich_help_panel=MODEL,
    ),
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
        show_default=OF_PRESET,
        rich_help_panel=TRAINING,
    ),
]
BatchSize = Annotated[
    int | None,
    option(
        "--batch-size",
        help="Videos of a step; in `train detr` each has one query.",
        min=1,
        show_default=OF_PRESET,
        rich_help_panel=TRAINING,
    ),
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
