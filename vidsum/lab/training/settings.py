"""Settings of the training loop and of moment models. Fields are options of `vidsum train`."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from vidsum.device import Device
from vidsum.errors import UsageError
from vidsum.models.configs import LIGHT_HEAD, MASK_TRAITS, DETRConfig, MaskKind, MRNetConfig
from vidsum.options import Checked, Limits, Option, check, option

Presets = Mapping[str, Mapping[str, Any]]  # values of settings, by the name of the preset
NonNegative = Annotated[float, Limits(min=0)]


@dataclass(frozen=True, kw_only=True)
class LoopSettings(Checked):
    """How long and how to train."""

    PANEL = "Training"

    epochs: int = option("Maximum number of epochs.", 300, min=1)
    seed: int = option(
        "Random seed.",
        0,
        min=0,
        more="Of initial weights, order of the examples and dropout.",
    )
    patience: int | None = option(
        "Stop after this many epochs without improvement.", None, min=1, default_text="none"
    )
    precision: Literal["fp32", "bf16"] = option("Floating-point type of the computations.", "fp32")
    """bf16 by autocast; weights and optimizer stay float32. On CUDA fp32 multiplies in TF32."""


@dataclass(frozen=True, kw_only=True)
class LossSettings:
    """The constants of MRNet's Eq. 10 to 12, with the published ones of ActivityNet Captions."""

    PANEL = "Training"

    iou_low: Annotated[float, Limits(min=0, max=1)] = 0.5  # a proposal of this IoU, or less, is wrong
    iou_high: Annotated[float, Limits(min=0, max=1)] = 1.0
    """A proposal of this IoU, or more, is right; between the two the target rises linearly (2D-TAN)."""
    lambda_c: float = option("Weight of the contrastive loss.", 0.1, min=0)
    lambda_s: float = option("Weight of the sparsity loss.", 10.0, min=0)
    margin: NonNegative = 0.3  # subtracted from the cosine of a query and its own moment
    positives: Annotated[int, Limits(min=1)] = 1
    """Moments that a query owns: its proposals of the highest IoU."""
    temperature: Annotated[float, Limits(above=0)] = 0.1
    negative_iou: Annotated[float, Limits(min=0, max=1)] = 0.5
    """Moments of one video that overlap less are different moments."""

    def __post_init__(self) -> None:
        check(self)
        if self.iou_low >= self.iou_high:
            raise UsageError(f"iou_low must be below iou_high: {self.iou_low:g}, {self.iou_high:g}")


@dataclass(frozen=True, kw_only=True)
class MatchWeights(Checked):
    """Weights of the costs, in the assignment and in the loss of what is assigned."""

    span: NonNegative = 10.0  # the L1 distance of centre and width
    giou: NonNegative = 1.0  # 1 - generalized IoU
    label: NonNegative = 4.0  # whether it is a moment


@dataclass(frozen=True, kw_only=True)
class DETRLossSettings(Checked):
    """The constants of the DETR losses, with those published for QVHighlights."""

    match: MatchWeights = field(default_factory=MatchWeights)
    no_moment: NonNegative = 0.1
    """Weight of predictions without a ground-truth window in the loss of the labels."""
    saliency: NonNegative = 1.0  # weight of the saliency losses, together
    margin: NonNegative = 0.2  # by how much one clip's saliency must exceed another's
    tau: Annotated[float, Limits(above=0)] = 0.5  # temperature of the rank-contrastive loss
    lambda_s: NonNegative = 10.0  # weight of the sparsity loss, of mrnet-detr alone
    static_sparsity: NonNegative = 0.5  # weight of the sparsity loss of static masks, as in SwinBERT


LearningRate = Annotated[float, Option("Learning rate of AdamW.", above=0)]
WeightDecay = Annotated[float, Option("Weight decay of AdamW.", min=0)]
BatchSize = Annotated[int, Option("Videos per step; `train detr` has one query per video.", min=1)]
DecayAt = Annotated[tuple[int, ...], Option("Divide the learning rate by 10 after this epoch.", min=1)]


@dataclass(frozen=True, kw_only=True)
class MomentSettings(Checked):
    """Settings of the trainers of all moment models: rates, presets, and choices by name."""

    PANEL = "Training"
    PRESETS: ClassVar[Presets] = {}
    """Published choices by data set, and ours for simulated data."""
    SIZES: ClassVar[Presets] = {}
    """Changes of the preset, which has the paper's size."""

    lr: LearningRate = 1e-4
    weight_decay: WeightDecay = 1e-4
    batch_size: BatchSize = 32
    warmup: float = option("Epochs of linear learning-rate warm-up.", 0.0, min=0)  # the papers have none
    decay_at: DecayAt = ()
    max_norm: Annotated[float, Limits(above=0)] = 0.1
    start: str | None = option("Initial weights: a checkpoint by name or file.", None, default_text="random")
    device: Device = "auto"

    def lr_share(self, epochs: float) -> float:
        """Return the fraction of the learning rate after a number of epochs, which may be fractional."""
        rise = min(1.0, epochs / self.warmup) if self.warmup else 1.0
        return float(rise * 0.1 ** sum(epochs > end for end in self.decay_at))

    @classmethod
    def published(cls, preset: str, size: str = "paper") -> dict[str, Any]:
        """Return the choices of a preset, in one of `SIZES`."""
        return {**cls.PRESETS[preset], **cls.SIZES[size]}


@dataclass(frozen=True, kw_only=True)
class MRNetSettings(MomentSettings):
    """Training MRNet, with the published settings of ActivityNet Captions."""

    PRESETS: ClassVar[Presets] = {
        "activitynet": {},
        "charades": {
            "lr": 1e-3,
            "epochs": 25,
            "decay_at": (8, 13),
            "lambda_c": 0.05,
            "margin": 0.4,
            "cross_modal": False,
            "kernel": 17,
            "convolutions": 2,
        },
        "tacos": {
            "clips": 128,
            "lr": 1.5e-3,
            "epochs": 250,
            "decay_at": (130, 190),
            "margin": 0.1,
            "iou_low": 0.3,
            "iou_high": 0.7,
            "positives": 3,
            "kernel": 5,
            "convolutions": 3,
        },
        "qvhighlights": {"clips": 75, "lr": 1e-4, "epochs": 200, "decay_at": ()},
        "captions": {
            "epochs": 12,
            "decay_at": (8, 11),
            "warmup": 2.0,
            "batch_size": 24,
            "weight_decay": 1e-2,
            "dropout_in": 0.1,
        },
    }
    """The paper's settings, or the settings of its code; the rest is the default, for ActivityNet Captions.
    Rate and epochs for QVHighlights are from Moment-DETR. `captions` is ours."""
    SIZES: ClassVar[Presets] = {"paper": {}, "light": LIGHT_HEAD}

    model: MRNetConfig = field(default_factory=MRNetConfig)
    """Its dimensions come from the data, whatever they are here."""
    loss: LossSettings = field(default_factory=LossSettings)
    loop: LoopSettings = field(default_factory=lambda: LoopSettings(epochs=15))
    lr: LearningRate = 8e-4
    weight_decay: WeightDecay = 1e-5
    batch_size: BatchSize = 12
    queries_per_video: int | None = option(
        "Maximum number of queries per video and forward pass; 1: single-query mode.",
        None,
        min=1,
        default_text="all",
    )
    """1 is the paper's single-query mode, None (all) its multi-query mode."""
    decay_at: DecayAt = (7,)
    max_norm: Annotated[float, Limits(above=0)] = 5.0


@dataclass(frozen=True, kw_only=True)
class DETRSettings(MomentSettings):
    """Training the DETR models, with the published settings of QVHighlights."""

    PRESETS: ClassVar[Presets] = {
        "qvhighlights": {"clips": 75, "mask_depth": 32, "mask_init": "he"},
        "captions": {
            "epochs": 14,
            "lr": 4e-4,
            "warmup": 0.3,
            "decay_at": (10, 13),
            "batch_size": 8,
            "dropout_in": 0.0,
        },
    }
    """`qvhighlights`: published for Moment-DETR and QD-DETR, with STAMP's mask depth and a start that leaves
    masks of this depth a gradient (docs/algorithms/learned-masks.md). `captions` is ours."""
    SIZES: ClassVar[Presets] = {"paper": {}, "light": {"d": 128, "d_ff": 256}}

    model: DETRConfig = field(default_factory=DETRConfig)
    loss: DETRLossSettings = field(default_factory=DETRLossSettings)
    loop: LoopSettings = field(default_factory=lambda: LoopSettings(epochs=200))
    max_norm: float = option("Gradient clipping norm.", 0.1, above=0)
    optimizer: Literal["adamw", "adam"] = option(
        "Optimizer.",
        "adamw",
        more="adamw: QD-DETR's; adam: LAM's and STAMP's, whose weight decay is part of the gradient.",
    )

    @classmethod
    def published(cls, preset: str, size: str = "paper", mask: MaskKind | None = None) -> dict[str, Any]:
        """Return the choices of a preset, in one of `SIZES`, without a start of masks that have no layers."""
        choices = super().published(preset, size)
        if mask and not MASK_TRAITS[mask].has_layers:
            choices.pop("mask_init", None)
        return choices


@dataclass(frozen=True, kw_only=True)
class MRNetChoice:
    head: Literal["paper", "light"] = option(
        "Head of the model.",
        "paper",
        panel="Model",
        more="paper: the paper's map of proposals; light: a smaller head, for a CPU.",
    )
    preset: Literal["activitynet", "charades", "tacos", "qvhighlights", "captions"] | None = option(
        "Preset of settings.",
        None,
        panel="Training",
        default_text="activitynet; with --recipe captions: captions",
        more="Published ones; captions is ours.",
    )


@dataclass(frozen=True, kw_only=True)
class DETRChoice:
    model: Literal["moment-detr", "qd-detr", "mrnet-detr"] = option(
        "Model to train.",
        "qd-detr",
        panel="Model",
        more="mrnet-detr is MRNet's encoder with the decoder of QD-DETR.",
    )
    size: Literal["paper", "light"] = option(
        "paper: d 256, d_ff 1024.",
        "paper",
        panel="Model",
        more="light: 128, 256, for a CPU.",
    )
    preset: Literal["qvhighlights", "captions"] | None = option(
        "Preset of settings.",
        None,
        panel="Training",
        default_text="qvhighlights; with --recipe captions: captions",
        more="The published one; captions is ours.",
    )


@dataclass(frozen=True, kw_only=True)
class DataSettings(Checked):
    """Training data of a moment model."""

    PANEL = "Data and output"

    data: Annotated[
        tuple[str, ...],
        Option(
            "Annotations.",
            metavar="FILE",
            more="ActivityNet Captions, Charades-STA, TACoS (JSON) or QVHighlights (JSON lines). "
            "Several with --recipe captions.",
        ),
    ]
    recipe: Literal["features", "captions"] = option(
        "Source of the features.",
        "features",
        more="features: those of the annotated videos; captions: simulated from the sentences, so "
        "that no video is needed.",
    )
    features: tuple[Path, ...] = option(
        "Features of the videos.",
        (),
        metavar="PATH",
        more="HDF5 file, folder with one file per video, or captions of clips (.jsonl, .jsonl.gz). "
        "Several are concatenated. With --recipe captions: captions of clips, which then show what their "
        "videos do.",
    )
    space: Literal["features", "clip", "vse"] = option(
        "Space of the features.",
        "features",
        more="clip or vse: `vidsum ground` can use the model; features: any others. With captions: "
        "the space to simulate, vse by default.",
    )
    text: Literal["minilm", "clip", "glove"] | None = option(
        "Text encoder of the queries.", None, default_text="minilm"
    )
    videos: int | None = option(
        "With captions: simulated videos per epoch.", None, min=1, default_text="1200"
    )
    validation: str | None = option(
        "Validation data.",
        None,
        default_text="0.1",
        metavar="FILE|FRACTION",
        more="Annotations of other videos, or a fraction of the training videos; 0: take the last epoch.",
    )
    text_features: Path | None = option(
        "Folder with the words of the queries.",
        None,
        default_text="the words are embedded",
        metavar="FOLDER",
        more="qidNUMBER.npz, as published for QVHighlights; --text names their encoder.",
    )
    """For DETR models only."""
    query_features: Path | None = option(
        "Folder with vectors of the queries.",
        None,
        default_text="the sentences are embedded",
        metavar="FOLDER",
        more="One vector per query, or its tokens or frames, which are averaged: the audios or "
        "qidNUMBER of --data as .pt, .npy or .npz.",
    )
    """For MRNet only."""

    @property
    def held_out(self) -> Path | float:
        """`validation` as a file of annotations or a fraction of the videos."""
        try:
            return 0.1 if self.validation is None else float(self.validation)
        except ValueError:
            return Path(str(self.validation))


def recorded(settings: Any) -> dict[str, Any]:
    """Return what a checkpoint records of settings; the model's and the loop's it has elsewhere."""
    choices = asdict(settings)
    loss = choices.pop("loss", {})
    return {name: value for name, value in {**choices, **loss}.items() if name not in ("model", "loop")}
