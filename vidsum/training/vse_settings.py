"""What can be chosen about training a visual-semantic embedding. Fields are options of `vidsum train vse`."""

from dataclasses import dataclass, field
from typing import Annotated

from vidsum.evaluation.settings import Captions, Pictures
from vidsum.models.configs import VSEConfig
from vidsum.options import Option, check
from vidsum.settings import DEFAULT_EXTRACTOR, Device
from vidsum.training.settings import LoopSettings


@dataclass(frozen=True)
class VSEData:
    """Pictures with sentences, and what sees them."""

    PANEL = "Data and output"

    captions: Captions
    pictures: Pictures
    extractor: Annotated[
        str,
        Option(
            "Feature extractor of single frames, such as mobilenet_v2, or one of an installed package.",
            flags=("--extractor", "-e"),
            metavar="NAME",
        ),
    ] = DEFAULT_EXTRACTOR

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True)
class VSESettings:
    """Training maps with a contrastive loss; their mean is the map."""

    PANEL = "Training"

    model: VSEConfig = field(default_factory=VSEConfig)
    """Of each map; the dimensions come from the data."""
    loop: LoopSettings = field(default_factory=lambda: LoopSettings(epochs=40))
    maps: Annotated[int, Option("Maps to train and average.", min=1)] = 3
    views: Annotated[
        int, Option("Views of each picture: whole, mirrored, then random crops, some degraded.", min=1)
    ] = 8
    phrases: Annotated[
        float, Option("Fraction of the sentences that are shortened to a few words.", min=0, max=1)
    ] = 0.3
    temperature: Annotated[float, Option("Divides the cosines in the loss.", above=0)] = 0.05
    input_dropout: Annotated[float, Option("Dropout of the features.", min=0, below=1)] = 0.2
    dropout: Annotated[float, Option("Dropout of the hidden layer.", min=0, below=1)] = 0.5
    lr: Annotated[float, Option("Largest learning rate of AdamW.", above=0)] = 1e-3
    weight_decay: Annotated[float, Option("Weight decay of AdamW.", min=0)] = 0.01
    batch_size: Annotated[int, Option("Pictures per step.", min=2)] = 512
    device: Device = "auto"

    def __post_init__(self) -> None:
        check(self)
