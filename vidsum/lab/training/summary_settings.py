"""Settings of training a summarizer. Fields are options of `vidsum train`."""

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from vidsum.device import Device
from vidsum.errors import Mention, UsageError, fill
from vidsum.grounding.settings import CaptionSpace
from vidsum.lab.training.settings import LoopSettings
from vidsum.models.configs import FullTransNetConfig, RidgeConfig
from vidsum.options import Checked, option


@dataclass(frozen=True, kw_only=True)
class SplitOptions:
    """The annotated videos of a summarizer, and their split. UsageError: neither features nor captions."""

    PANEL = "Data and output"

    data: tuple[Path, ...] = option(
        "h5 file of annotated videos, or a folder.", (), metavar="PATH", more="The first is the test set."
    )
    captions: tuple[Path, ...] = option(
        "Captions of the frames, in place of --data.", (), metavar="FILE.json"
    )
    annotations: tuple[Path, ...] = option(
        "Scores of annotators.",
        (),
        metavar="FILE",
        more="ydata-tvsum50.mat or SumMe's protocol (.npz): one for each --captions, or for each "
        "--data that has no gtscore, such as files of `vidsum extract`.",
    )
    space: CaptionSpace = option(
        "Features made from --captions.",
        "text",
        flags=("--captions-as",),
        more="text: their embeddings; vse: what the map to sentences might show of such frames, with "
        "its noise. Either model reads real video by that map.",
    )
    splits: str = option(
        "canonical, augmented, transfer, or a file.",
        "canonical",
        metavar="SETTING|FILE",
        more="A file has published splits (.json, .yml).",
    )
    split: tuple[int, ...] = option("Train this split only, counted from 0.", (), min=0, default_text="all")

    def __post_init__(self) -> None:
        if bool(self.data) == bool(self.captions):
            fault = "give videos with features, or captions of their frames"
            raise UsageError(
                fault,
                hint=fill(
                    "{}, or {} {}",
                    Mention("data", "FILE.h5"),
                    Mention("captions", "FILE.json"),
                    Mention("annotations", "FILE.mat"),
                ),
            )
        if self.space != "text" and not self.captions:
            raise UsageError(
                fill("{} has no effect on {}", Mention("space"), Mention("data")), hint="leave it out"
            )

    @property
    def files(self) -> tuple[Path, ...]:
        """All files that the videos come from."""
        from vidsum.lab.datasets.annotated_videos import annotated_files

        data = [file for path in self.data for file in annotated_files(path)]
        return (*data, *self.captions, *self.annotations)


@dataclass(frozen=True, kw_only=True)
class FullTransNetSettings(Checked):
    """Training FullTransNet, with the defaults of the paper, which has no patience, validation or warm-up."""

    PANEL = "Training"

    model: FullTransNetConfig = field(default_factory=FullTransNetConfig)
    """`dim_in` comes from the data, whatever it is here."""
    loop: LoopSettings = field(default_factory=lambda: LoopSettings(patience=50))
    """Without a validation split there is no early stop."""
    lr: float = option("Learning rate of Adam.", 1e-3, above=0)
    weight_decay: float = option("Weight decay of Adam.", 1e-4, min=0)
    crop: float = option(
        "Minimum fraction of each video to train on (random runs of shots); 1: whole videos, as in the "
        "paper.",
        1.0,
        above=0,
        max=1,
    )
    order: Literal["time", "any"] = option(
        "Order of the key frames that the decoder learns.",
        "time",
        more="time: the paper's; any: each frame that is not chosen yet is right, the more so the "
        "higher people's score.",
    )
    ridge: float = option(
        "Weight of ridge regression's scores, beside people's, in the target of --order any.",
        0.0,
        min=0,
        max=1,
    )
    warm_up: float = option(
        "Epochs in which the learning rate rises to its full value.",
        2.0,
        min=0,
        more="The paper has none: the states of six layers that end in a norm can become the same for all "
        "samples.",
    )
    anneal: bool = option(
        "Lower the learning rate to 0 in half a cosine.", False, flags=("--anneal/--no-anneal",)
    )
    validation: float = option(
        "Fraction of the training videos that choose the best epoch; 0: take the last epoch.",
        0.2,
        min=0,
        below=1,
    )
    ends: bool = option(
        "Also read the time from the start and to the end.", False, flags=("--ends/--no-ends",)
    )
    device: Device = "auto"

    def lr_share(self, epochs: float) -> float:
        """Return the fraction of the learning rate after a number of epochs, which may be fractional."""
        share = (1 + math.cos(math.pi * epochs / self.loop.epochs)) / 2 if self.anneal else 1.0
        return share * min(1.0, epochs / self.warm_up) if self.warm_up else share


@dataclass(frozen=True, kw_only=True)
class RidgeSettings(Checked):
    """Ridge regression of people's scores on frames."""

    PANEL = "Training"

    model: RidgeConfig = field(default_factory=RidgeConfig)
    penalty: float | None = option(
        "Weight of the squared weights in addition to the mean squared error.",
        None,
        above=0,
        default_text="chosen by five folds of the training videos",
    )
    ends: bool = option(
        "Also read the time from the start and to the end.", True, flags=("--ends/--no-ends",)
    )
    draws: int = option("With --captions-as vse: simulations of each video.", 6, min=1)
    seed: int = option("Random seed of the folds and of the simulations.", 0, min=0)
