"""Sizes and switches of the models, without PyTorch: a command line can list them before it loads anything.

Defaults are the papers'. Each option is a field, declared once (see `vidsum.options`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Any, Literal

from vidsum.errors import UsageError
from vidsum.options import Limits, Option, check, from_mapping
from vidsum.settings import MaskKind

Fusion = Literal["product", "sum"]
MaskInit = Literal["default", "xavier", "he"]
"""How the linear layers of a learned mask start: as PyTorch's, with Xavier's weights, or with He's and biases
of 0."""
Bound = Literal["none", "sigmoid"]
Pattern = Literal["full", "local", "global", "local-global"]
"""What an encoder's token attends to: the rows of FullTransNet's Table III."""
Head = Literal["linear", "pointer", "frame"]
Decay = Literal["bidirectional", "forward", "none"]
"""MRNet's Eq. 4; `forward` lets a clip see only itself and those before it, as the original RetNet."""
Region = Literal["vv", "qq", "vq", "qv"]
"""A part of the attention matrix (MRNet, Eq. 2): who attends to whom; v is a clip, q is a query."""
Nonlinearity = Literal["softmax", "gate", "none"]
"""The function of the masked logits; `none` is Eq. 3, retention by itself."""
Positions = Literal["after", "before"]
"""Whether positions come in after the projections, as in MRNet's Eq. 1, or before, as in the public code."""
Inputs = Literal["projected", "pooled"]
"""How features become tokens: by two layers for each modality, or as in MRNet's public code."""

Dimension = Annotated[int, Limits(min=1)]
Dropout = Annotated[float, Option("Dropout rate.", min=0, max=0.99)]
InputDropout = Annotated[float, Option("Dropout rate of the features, before projection.", min=0, max=0.99)]
Clips = Annotated[
    int,
    Option("Clips that a video is averaged into (T); `train detr` reads a shorter video as it is.", min=2),
]
FeedForward = Annotated[int, Option("Feed-forward hidden size (d_ff).", min=1)]
Heads = Annotated[int, Option("Attention heads (h).", min=1)]


@dataclass(frozen=True)
class MaskConfig:
    """A learned mask of the attention, with the defaults of the papers where they have one."""

    PANEL = "Model"

    kind: Annotated[
        MaskKind,
        Option(
            "Learned mask of the attention; in cross-attention lam reads QK^T, stamp the tokens. static: "
            "SwinBERT's sparse mask, the same for all videos, for moment-detr and qd-detr.",
            flags=("--mask",),
            shown="none",
        ),
    ] = "stamp"
    depth: Annotated[
        int,
        Option("Linear layers of the mask (L).", min=1, max=64, shown="2; with `detr`, 32 on QVHighlights"),
    ] = 2
    """A ReLU follows each but the last. The papers went up to 64; their best on QVHighlights is 32."""
    fusion: Annotated[Fusion, Option("Multiply logits by the mask, or add it.", shown="product")] = "product"
    shared: Annotated[
        bool,
        Option(
            "The first layer's mask for all layers, or one per layer.",
            flags=("--mask-shared/--mask-per-layer",),
            shown="mask-per-layer",
        ),
    ] = False
    identity: Annotated[
        bool,
        Option(
            "Start as if there were no mask, or as any linear layer does.",
            flags=("--mask-identity/--mask-plain",),
            shown="mask-plain",
        ),
    ] = False
    """True lets a trained model be extended. The papers do not say how their layers start."""
    init: Annotated[
        MaskInit,
        Option("Initial weights of the mask: PyTorch's, Xavier's, or He's.", shown="default: PyTorch's"),
    ] = "default"
    bound: Annotated[
        Bound, Option("sigmoid: keep the mask within 0 and 1, as in the papers' figures.", shown="none")
    ] = "none"

    def __post_init__(self) -> None:
        """Refuse with a UsageError what is not allowed, or has no effect on a static mask."""
        check(self)
        if self.kind == "static" and (self.init != "default" or self.bound != "none"):
            name = "init" if self.init != "default" else "bound"
            fault = f"{name} has no effect on a static mask, which has no layers and lies within 0 and 1"
            raise UsageError(fault, hint=f"leave out --mask-{name}")


@dataclass(frozen=True)
class FullTransNetConfig:
    """FullTransNet; defaults of its Table IV, last row."""

    PANEL = "Model"

    dim_in: Dimension = 1024
    """D, of the features."""
    d: Annotated[int, Option("Model dimension (d).", min=2)] = 64
    layers: Annotated[int, Option("Encoder layers, and decoder layers (N).", min=1)] = 6
    heads: Heads = 8
    """d_k = d_v = d / h."""
    d_ff: FeedForward = 2048
    attention: Annotated[Pattern, Option("What a token of the encoder attends to.")] = "local-global"
    window: Annotated[int, Option("Local window in tokens (w); odd.", min=1)] = 17
    """The token itself is among them."""
    global_tokens: Annotated[int, Option("Global tokens per shot.", min=1, max=3)] = 3
    """1: the first sample; 2: the middle one too; 3: the last one too."""
    head: Annotated[
        Head,
        Option(
            "linear: the paper's, for up to 1536 samples; pointer: for any length, if there is no mask; "
            "frame: a score for each frame, without the decoder."
        ),
    ] = "linear"
    """`linear` has t_max outputs; `pointer` compares with the encoder's output; `frame` is `FrameScorer`."""
    t_max: Dimension = 1536
    """Longer videos are summarized in windows of t_max samples."""
    dropout: Dropout = 0.1
    mask: MaskConfig | None = None
    """Of the encoder's attention; it has t_max columns, whatever the head."""

    def __post_init__(self) -> None:
        """Refuse with a UsageError what makes no model; a mask from JSON becomes a MaskConfig."""
        object.__setattr__(self, "mask", from_mapping(MaskConfig, self.mask))
        check(self)
        _refuse_static(self.mask, "FullTransNet: its loss has no term for one")
        _require(self.d % self.heads == 0 and self.d % 2 == 0, "d must be even and a multiple of heads", self)
        _require(self.window % 2 == 1, "window must be odd", self)

    @property
    def most_samples(self) -> int | None:
        """Maximum number of samples in a window: t_max with the linear head or a mask, else None."""
        return self.t_max if self.head == "linear" or self.mask else None


@dataclass(frozen=True)
class RidgeConfig:
    """Ridge regression on frames: a baseline, and the summarizer that ships."""

    PANEL = "Model"

    dim_in: Dimension = 1024
    """D, of the input."""
    window: Annotated[int, Option("Samples that are averaged, before and after; odd.", min=1)] = 7
    components: Annotated[
        int, Option("Random features of a Gaussian kernel; 0: linear in the features.", min=0)
    ] = 0
    novelty: Annotated[
        float,
        Option("Weight of the scorer contrastive's curve beside the model's, both of deviation 1.", min=0),
    ] = 0.0
    """It is not fitted: captions, and features simulated from them, lack most of what it measures."""

    def __post_init__(self) -> None:
        check(self)
        _require(self.window % 2 == 1, "window must be odd", self)


@dataclass(frozen=True)
class VSEConfig:
    """A visual-semantic embedding: one hidden layer, from features to the space of sentences."""

    PANEL = "Model"

    dim_in: Dimension = 1280
    """D, of the features."""
    hidden: Annotated[int, Option("Units of the hidden layer.", min=1)] = 1024
    """Of all maps together, where several were averaged."""
    dim_out: Dimension = 384
    """E, of the sentences' embeddings."""

    def __post_init__(self) -> None:
        check(self)


HEADS: Mapping[str, Mapping[str, int]] = MappingProxyType(
    {
        "paper": {"dim_map": 256, "hidden": 512, "kernel": 9, "convolutions": 4, "dim_joint": 256},
        "light": {"dim_map": 64, "hidden": 64, "kernel": 5, "convolutions": 2, "dim_joint": 64},
    }
)
"""Sizes of MRNet's proposal map, as in `MRNetConfig(**HEADS["light"])`: the paper's, and one for a CPU."""


@dataclass(frozen=True)
class MRNetConfig:
    """MRNet; defaults of its Sec. 4.2 for ActivityNet Captions."""

    PANEL = "Model"

    dim_video: Dimension = 500
    dim_query: Dimension = 768
    clips: Clips = 64
    d: Annotated[int, Option("Model dimension (d).", min=2)] = 256
    layers: Annotated[int, Option("MRT blocks (N).", min=0)] = 2
    heads: Heads = 8
    d_ff: FeedForward = 1024
    gamma: Annotated[float, Option("Retention from one clip to the next.", above=0, max=1)] = 0.98
    decay: Annotated[Decay, Option("Retention mask; none leaves it out.")] = "bidirectional"
    sparse: Annotated[bool, Option("Use the learnable sparse mask.", flags=("--sparse/--no-sparse",))] = True
    """The mask acts on the region vv."""
    sparsity: Annotated[float, Option("Fraction of the sparse mask that stays (alpha).", min=0, below=1)] = (
        0.25
    )
    """The loss acts while the mask's mean is above alpha / 2."""
    regions: Annotated[
        tuple[Region, ...],
        Option("Region of the attention to mask. Can be repeated.", flags=("--region",), shown="vv"),
    ] = ("vv",)
    """Table 8."""
    cross_modal: Annotated[
        bool,
        Option(
            "Queries and clips attend to each other.",
            flags=("--cross-modal/--no-cross-modal",),
            shown="cross-modal; no-cross-modal with charades",
        ),
    ] = True
    """Table A2."""
    nonlinearity: Annotated[
        Nonlinearity, Option("Softmax, or RetNet's swish gate.", choices=("softmax", "gate"))
    ] = "softmax"
    dropout: Dropout = 0.1
    dropout_in: InputDropout = 0.5
    dim_map: Dimension = 256
    """Of a proposal; clips are projected to it where it is not d."""
    hidden: Dimension = 512
    kernel: Dimension = 9
    convolutions: Dimension = 4
    dim_joint: Dimension = 256
    """Of the space in which proposals and queries are compared."""
    counts: tuple[int, ...] = ()
    """Diagonals of the map at each stride; `pooling_counts` of T where empty."""
    diagonal: float = 1.0
    """Of M_RD; 2 in the public code. This and what follows are for the authors' checkpoints."""
    positions: Positions = "after"
    bias: bool = False
    """Whether the projections of Eq. 1 have one."""
    inputs: Inputs = "projected"
    pool: Dimension = 1
    """Features per clip, joined by `pooled` inputs."""
    dim_pool: Dimension = 512
    queries_attend: bool = True
    """False: a block takes each query as its own value, without the layer that follows attention."""
    contrastive_power: Annotated[float, Limits(above=0)] = 0.5
    """Exponent of the contrastive score in `match_scores`."""
    mask: MaskConfig | None = None
    """A learned one on top of Eq. 7; not in the paper."""

    def __post_init__(self) -> None:
        """Refuse with a UsageError what makes no model; JSON's lists become tuples, its mask a MaskConfig."""
        object.__setattr__(self, "mask", from_mapping(MaskConfig, self.mask))
        check(self)
        _refuse_static(self.mask, "MRNet's blocks: they have a sparse mask of their own")
        object.__setattr__(self, "regions", tuple(self.regions))
        object.__setattr__(self, "counts", tuple(self.counts))
        _require(self.d % (2 * self.heads) == 0, "d must be an even multiple of heads", self)
        _require(self.kernel % 2 == 1, "kernel must be odd", self)


@dataclass(frozen=True)
class DETRConfig:
    """The DETR models; defaults published for QVHighlights."""

    PANEL = "Model"

    dim_video: Dimension = 2818
    """SlowFast's 2304 features, CLIP's 512 and the two temporal endpoints."""
    dim_query: Dimension = 512
    clips: Clips = 75
    words: Annotated[int, Option("Maximum number of words per query.", min=1)] = 32
    d: Annotated[int, Option("Model dimension (d).", min=4)] = 256
    heads: Heads = 8
    d_ff: FeedForward = 1024
    layers: Annotated[int, Option("Layers of each encoder.", min=1)] = 2
    """QD-DETR has two encoders."""
    decoder_layers: Annotated[int, Option("Decoder layers.", min=1)] = 2
    n_moments: Annotated[int, Option("Moments per answer.", min=1)] = 10
    dropout: Dropout = 0.1
    dropout_in: InputDropout = 0.5
    mask: MaskConfig | None = None
    """The learned mask of the encoders' attention."""
    gamma: Annotated[float, Limits(above=0, max=1)] = 0.98
    """This and what follows are of mrnet-detr alone; see `MRNetConfig`."""
    decay: Decay = "bidirectional"
    sparse: bool = True
    sparsity: Annotated[float, Limits(min=0, below=1)] = 0.25

    def __post_init__(self) -> None:
        """Refuse with a UsageError what makes no model; a mask from JSON becomes a MaskConfig."""
        object.__setattr__(self, "mask", from_mapping(MaskConfig, self.mask))
        check(self)
        # the sines and cosines of an anchor's centre and of its width take half of d each
        fits = self.d % 4 == 0 and self.d % (2 * self.heads) == 0
        _require(fits, "d must be a multiple of 4 and of twice the heads", self)


def _refuse_static(mask: MaskConfig | None, reason: str) -> None:
    if mask and mask.kind == "static":
        raise UsageError(f"no static mask in {reason}", hint="--mask stamp")


def _require(holds: bool, rule: str, config: Any) -> None:
    """Refuse a config that breaks a rule between its fields; the rule begins with a field's name."""
    if not holds:
        name = rule.split()[0]
        heads = f" with {config.heads} heads" if "heads" in rule else ""
        raise UsageError(f"{rule}, not {getattr(config, name)}{heads}")
