"""Settings of training a summarizer or a visual-semantic embedding. Fields are options of `vidsum train`."""

from dataclasses import asdict, dataclass, field
from typing import Annotated, Any

from vidsum.evaluation.settings import Captions, Pictures
from vidsum.models.configs import FullTransNetConfig, RidgeConfig, VSEConfig
from vidsum.options import Option, check
from vidsum.settings import DEFAULT_EXTRACTOR, Device
from vidsum.training.settings import LoopSettings, own_fields


@dataclass(frozen=True)
class FullTransNetSettings:
    """Training FullTransNet, with the defaults of the paper, which has no patience and no validation."""

    PANEL = "Training"

    model: FullTransNetConfig = field(default_factory=FullTransNetConfig)
    """`dim_in` comes from the data, whatever it is here."""
    loop: LoopSettings = field(default_factory=lambda: LoopSettings(patience=50))
    """Without a validation split there is no early stop."""
    lr: Annotated[float, Option("Learning rate of Adam.", above=0)] = 1e-3
    weight_decay: Annotated[float, Option("Weight decay of Adam.", min=0)] = 1e-4
    crop: Annotated[
        float,
        Option(
            "Minimum fraction of each video to train on (random runs of shots); 1: whole videos, as in the "
            "paper.",
            above=0,
            max=1,
        ),
    ] = 1.0
    noise: Annotated[
        float,
        Option(
            "Maximum fraction of the decoder's input tokens to replace at random, so that it relies on the "
            "video; 0: none, as in the paper.",
            min=0,
            max=1,
        ),
    ] = 0.0
    anneal: Annotated[
        bool, Option("Lower the learning rate to 0 in half a cosine.", flags=("--anneal/--no-anneal",))
    ] = False
    validation: Annotated[
        float,
        Option(
            "Fraction of the training videos that choose the best epoch; 0: take the last epoch.",
            min=0,
            below=1,
        ),
    ] = 0.2
    ends: Annotated[
        bool, Option("Also read the time from the start and to the end.", flags=("--ends/--no-ends",))
    ] = False
    device: Device = "auto"

    def __post_init__(self) -> None:
        check(self)

    @property
    def own(self) -> dict[str, Any]:
        """The choices that are neither the model's nor the loop's, JSON-ready."""
        return own_fields(self)

    @property
    def flat(self) -> dict[str, Any]:
        """All choices by name, JSON-ready."""
        return {**asdict(self.model), **asdict(self.loop), **self.own}


@dataclass(frozen=True)
class RidgeSettings:
    """Ridge regression of people's scores on frames."""

    PANEL = "Training"

    model: RidgeConfig = field(default_factory=RidgeConfig)
    """`dim_in` comes from the data, whatever it is here."""
    penalty: Annotated[
        float | None,
        Option(
            "Weight of the squared weights beside the mean squared error.",
            above=0,
            shown="chosen by five folds of the training videos",
        ),
    ] = None
    gamma: Annotated[
        float, Option("With --components: width of the kernel; larger is narrower.", above=0)
    ] = 0.5
    """Of exp(-gamma |x - y|^2), where the mean of |x - y|^2 within a video is 2."""
    ends: Annotated[
        bool, Option("Also read the time from the start and to the end.", flags=("--ends/--no-ends",))
    ] = True
    draws: Annotated[int, Option("With --space vse: simulations of each video.", min=1)] = 6
    seed: Annotated[int, Option("Random seed of the folds and of the random features.", min=0)] = 0

    def __post_init__(self) -> None:
        check(self)

    @property
    def own(self) -> dict[str, Any]:
        """What its checkpoints record: all choices, those of the model among them."""
        return self.flat

    @property
    def flat(self) -> dict[str, Any]:
        """All choices by name, JSON-ready."""
        return {**asdict(self.model), **own_fields(self)}


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
