"""Sizes and switches of the models, without PyTorch: a command line can list them before it loads anything.

Defaults are the papers'. Each option is a field, declared once (see `vidsum.options`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Any, Literal

from vidsum.errors import Mention, UsageError, fill
from vidsum.options import Limits, Option, check, from_mapping, option

MaskKind = Literal["lam", "stamp", "static"]
"""Learned masks of a model's attention. LAM and STAMP differ in cross-attention alone: STAMP reads the tokens
that attend, LAM the logits Q K^T. The static one reads nothing."""
Fusion = Literal["product", "sum", "hide"]
"""How a mask M changes logits: times M, plus M, or plus (M - 1) * 10000, which hides (SwinBERT's)."""
MaskInit = Literal["default", "xavier", "he"]
"""Start of a mask's linear layers: as PyTorch's, Xavier's weights, or He's and biases of 0."""
Bound = Literal["none", "sigmoid"]
Pattern = Literal["full", "local", "global", "local-global"]
"""The attention pattern of an encoder: the rows of FullTransNet's Table III."""
Head = Literal["linear", "pointer"]
Decay = Literal["bidirectional", "forward", "none"]
"""MRNet's Eq. 4; `forward` lets a clip see only itself and those before it, as the original RetNet."""
Region = Literal["vv", "qq", "vq", "qv"]
"""A part of the attention matrix (MRNet, Eq. 2): who attends to whom; v is a clip, q is a query."""
Nonlinearity = Literal["softmax", "gate", "none"]
"""The function of the masked logits; `none` is Eq. 3, retention by itself."""

Dimension = Annotated[int, Limits(min=1)]
Dropout = Annotated[float, Option("Dropout rate.", min=0, max=0.99)]
InputDropout = Annotated[float, Option("Dropout rate of the features, before projection.", min=0, max=0.99)]
Clips = Annotated[
    int,
    Option(
        "Clips per video (T), averaged; `train detr` keeps shorter videos.",
        min=2,
        flags=("--clips-per-video",),
    ),
]
FeedForward = Annotated[int, Option("Feed-forward hidden size (d_ff).", min=1)]
Heads = Annotated[int, Option("Attention heads (h).", min=1)]


@dataclass(frozen=True)
class MaskTraits:
    """Properties of a kind of mask that models and options depend on."""

    is_fixed: bool = False  # the same for all videos, and with a loss of its own
    is_square: bool = False  # its tokens are its keys: none in cross-attention
    has_layers: bool = True  # linear layers, which `init` starts and `bound` keeps within 0 and 1
    may_hide: bool = False  # its numbers are at most 1, so that 0 can hide a key


MASK_TRAITS: Mapping[MaskKind, MaskTraits] = MappingProxyType(
    {
        "lam": MaskTraits(),
        "stamp": MaskTraits(),
        "static": MaskTraits(is_fixed=True, is_square=True, has_layers=False, may_hide=True),
    }
)
_HIDING = [kind for kind, traits in MASK_TRAITS.items() if traits.may_hide]


@dataclass(frozen=True, kw_only=True)
class MaskConfig:
    """A learned mask of the attention, with the defaults of the papers where they have one."""

    PANEL = "Model"

    kind: MaskKind = option(
        "Learned mask of the attention.",
        "stamp",
        flags=("--mask",),
        default_text="none",
        more="In cross-attention lam reads QK^T, stamp the tokens. static: SwinBERT's sparse mask, "
        "the same for all videos, for moment-detr and qd-detr.",
    )
    depth: int = option(
        "Linear layers of the mask (L).", 2, min=1, max=64, default_text="2; with `detr`, 32 on QVHighlights"
    )  # a ReLU follows each but the last; the papers went up to 64
    fusion: Fusion = option(
        f"Multiply logits by the mask, add it, or hide ({', '.join(_HIDING)} only): add (M - 1) * 10000, as "
        "SwinBERT.",
        None,
        default_text=f"product; hide with --mask {' or '.join(_HIDING)}",
    )
    shared: bool = option(
        "The first layer's mask for all layers, or one per layer.",
        False,
        flags=("--mask-shared/--mask-per-layer",),
        default_text="mask-per-layer",
    )
    identity: bool = option(
        "Start as no mask, or like a linear layer.",
        False,
        flags=("--mask-identity/--mask-plain",),
        default_text="mask-plain",
    )  # like no mask, it extends a trained model; the papers do not say how their layers start
    init: MaskInit = option(
        "Initial weights of the mask.", "default", default_text="PyTorch's; with `detr`, he on QVHighlights"
    )
    bound: Bound = option("sigmoid: keep the mask within 0 and 1.", "none", default_text="none")

    def __post_init__(self) -> None:
        """Refuse with a UsageError what is not allowed, or has no effect on a mask of this kind.

        Except `depth`: checkpoints with a static mask may have stored 32, of the preset `qvhighlights`.
        """
        if self.fusion is None:
            hides = self.kind in MASK_TRAITS and self.traits.may_hide  # type: ignore[unreachable]
            default = "hide" if hides else "product"
            object.__setattr__(self, "fusion", default)  # the dataclass is frozen
        check(self)
        if self.fusion == "hide" and not self.traits.may_hide:
            fault = (
                f"hide is for {' and '.join(_HIDING)} masks, whose numbers are at most 1, not for {self.kind}"
            )
            ways = Mention("mask", _HIDING[0]), Mention("mask_fusion", "product")
            raise UsageError(fault, hint=fill("{}, or {} or sum", *ways))
        for name, default in (("init", "default"), ("bound", "none")):
            if not self.traits.has_layers and getattr(self, name) != default:
                fault = (
                    f"{name} has no effect on a {self.kind} mask, which has no layers and lies within 0 and 1"
                )
                raise UsageError(fault, hint=("leave out ", Mention(f"mask_{name}")))

    @property
    def traits(self) -> MaskTraits:
        """Return the properties of its kind."""
        return MASK_TRAITS[self.kind]


@dataclass(frozen=True, kw_only=True)
class FullTransNetConfig:
    """FullTransNet; defaults of its Table IV, last row."""

    PANEL = "Model"

    dim_in: Dimension = 1024
    d: int = option("Model dimension (d).", 64, min=2)
    layers: int = option("Encoder layers, and decoder layers (N).", 6, min=1)
    heads: Heads = 8
    d_k: int | None = option("Size of a head's queries and keys.", None, min=1, default_text="d / heads")
    d_v: int | None = option("Size of a head's values.", None, min=1, default_text="d / heads")
    d_ff: FeedForward = 2048
    attention: Pattern = option("Attention pattern of the encoder.", "local-global")
    window: int = option("Local window in tokens (w); odd.", 17, min=1)
    global_tokens: int = option("Global tokens per shot.", 3, min=1, max=3)  # first, middle, last sample
    head: Head = option(
        "Head of the model.",
        "linear",
        more="linear: the paper's, for up to 1536 samples; pointer: for any length, if there is no mask.",
    )
    target: Literal["next", "same-step"] = option(
        "Key frame that a step of the decoder predicts: the next one, or (same-step) the one that it "
        "was just given, as in the public code.",
        "next",
        more="Such a decoder cannot summarize without labels.",
    )
    norm: Literal["after", "before"] = option(
        "Place of the norm: after each sum, as in the paper, or before each sub-layer.",
        "after",
        more="before: six layers learn without a warm-up.",
    )
    t_max: Dimension = 1536  # longer videos are summarized in windows of t_max samples
    dropout: Dropout = 0.1
    mask: MaskConfig | None = None  # mask of the encoder's attention; it has t_max columns with any head

    def __post_init__(self) -> None:
        """Refuse with a UsageError what makes no model; a mask from JSON becomes a MaskConfig."""
        object.__setattr__(self, "mask", from_mapping(MaskConfig, self.mask))
        check(self)
        _refuse_fixed(self.mask, "FullTransNet: its loss has no term for one")
        is_split = self.d % self.heads == 0 or None not in (self.d_k, self.d_v)
        _require(is_split and self.d % 2 == 0, "d", "even and a multiple of heads", self.d, self.heads)
        _require(self.window % 2 == 1, "window", "odd", self.window)

    @property
    def attention_window(self) -> int:
        """Tokens that a token has in its window: itself alone where the pattern is global."""
        return 1 if self.attention == "global" else self.window

    @property
    def decodes(self) -> bool:
        """Whether the decoder can write a summary of its own."""
        return self.target == "next"

    @property
    def max_samples(self) -> int | None:
        """Maximum number of samples in a window: t_max with the linear head or a mask, else None."""
        return self.t_max if self.head == "linear" or self.mask else None


@dataclass(frozen=True, kw_only=True)
class RidgeConfig:
    """Ridge regression on frames: a baseline, and the summarizer that ships."""

    PANEL = "Model"

    dim_in: Dimension = 1024
    window: int = option(
        "Smoothing window of features and scores in samples; odd.", 7, min=1, flags=("--smoothing-window",)
    )
    novelty: float = option(
        "Weight of the scorer contrastive's curve beside the model's, both of deviation 1.", 0.0, min=0
    )

    def __post_init__(self) -> None:
        check(self)
        _require(self.window % 2 == 1, "window", "odd", self.window)


LIGHT_HEAD: Mapping[str, Any] = MappingProxyType(
    {"dim_map": 64, "hidden": 64, "kernel": 5, "convolutions": 2, "dim_joint": 64}
)
"""MRNet's head for a CPU, as in `MRNetConfig(**LIGHT_HEAD)`; the defaults are the paper's."""


@dataclass(frozen=True, kw_only=True)
class MRNetConfig:
    """MRNet; defaults of its Sec. 4.2 for ActivityNet Captions."""

    PANEL = "Model"

    dim_video: Dimension = 500
    dim_query: Dimension = 768
    clips: Clips = 64
    d: int = option("Model dimension (d).", 256, min=2)
    layers: int = option("MRT blocks (N).", 2, min=0)
    heads: Heads = 8
    d_ff: FeedForward = 1024
    gamma: float = option("Retention from one clip to the next.", 0.98, above=0, max=1)
    decay: Decay = option("Retention mask; none leaves it out.", "bidirectional")
    sparse: bool = option("Use the learnable sparse mask.", True, flags=("--sparse/--no-sparse",))
    sparsity: float = option("Fraction of the sparse mask that stays (alpha).", 0.25, min=0, below=1)
    regions: tuple[Region, ...] = option(
        "Region of the attention to mask.", ("vv",), flags=("--region",), default_text="vv"
    )  # Table 8
    cross_modal: bool = option(
        "Queries and clips attend to each other.",
        True,
        flags=("--cross-modal/--no-cross-modal",),
        default_text="cross-modal; no-cross-modal with charades",
    )  # Table A2
    nonlinearity: Nonlinearity = option(
        "Softmax, or RetNet's swish gate.", "softmax", choices=("softmax", "gate")
    )
    dropout: Dropout = 0.1
    dropout_in: InputDropout = 0.5
    dim_map: Dimension = 256  # width of a proposal; clips are projected to it if it is not d
    hidden: Dimension = 512
    kernel: Dimension = 9
    convolutions: Dimension = 4
    dim_joint: Dimension = 256  # width of the space in which proposals and queries are compared
    counts: tuple[int, ...] = ()  # diagonals of the map at each stride; `pooling_counts` of T where empty
    # the fields below are for the authors' checkpoints
    diagonal: float = 1.0  # of M_RD; 2 in the public code
    positions: Literal["after", "before"] = "after"  # after the projections (Eq. 1), or in the code before
    bias: bool = False  # whether the projections of Eq. 1 have one
    inputs: Literal["projected", "pooled"] = "projected"  # by two layers for each modality, or pooled
    pool: Dimension = 1  # features per clip, joined by `pooled` inputs
    dim_pool: Dimension = 512
    queries_attend: bool = True  # if not, a block takes each query as its own value
    contrastive_power: Annotated[float, Limits(above=0)] = 0.5  # in `match_scores`
    mask: MaskConfig | None = None  # a learned one on top of Eq. 7; not in the paper

    def __post_init__(self) -> None:
        """Refuse with a UsageError what makes no model; JSON's lists become tuples, its mask a MaskConfig."""
        object.__setattr__(self, "mask", from_mapping(MaskConfig, self.mask))
        check(self)
        _refuse_fixed(self.mask, "MRNet's blocks: they have a sparse mask of their own")
        object.__setattr__(self, "regions", tuple(self.regions))
        object.__setattr__(self, "counts", tuple(self.counts))
        _require(self.d % (2 * self.heads) == 0, "d", "an even multiple of heads", self.d, self.heads)
        _require(self.kernel % 2 == 1, "kernel", "odd", self.kernel)


@dataclass(frozen=True, kw_only=True)
class DETRConfig:
    """The DETR models; defaults published for QVHighlights."""

    PANEL = "Model"

    dim_video: Dimension = 2818  # SlowFast's 2304 features, CLIP's 512 and the two temporal endpoints
    dim_query: Dimension = 512
    clips: Clips = 75
    words: int = option("Maximum number of words per query.", 32, min=1, flags=("--max-words",))
    d: int = option("Model dimension (d).", 256, min=4)
    heads: Heads = 8
    d_ff: FeedForward = 1024
    layers: int = option("Layers of each encoder.", 2, min=1)
    decoder_layers: int = option("Decoder layers.", 2, min=1)
    n_moments: int = option("Moments per answer.", 10, min=1)
    dropout: Dropout = 0.1
    dropout_in: InputDropout = 0.5
    linear_layers: int = option(
        "Linear layers at the end of each encoder layer: what STAMP compares a mask with.",
        0,
        min=0,
        flag_on=(),
    )  # not in mrnet-detr
    mask: MaskConfig | None = None
    # the fields below are for mrnet-detr only; see `MRNetConfig`
    gamma: Annotated[float, Limits(above=0, max=1)] = 0.98
    decay: Decay = "bidirectional"
    sparse: bool = True
    sparsity: Annotated[float, Limits(min=0, below=1)] = 0.25

    def __post_init__(self) -> None:
        """Refuse with a UsageError what makes no model; a mask from JSON becomes a MaskConfig."""
        object.__setattr__(self, "mask", from_mapping(MaskConfig, self.mask))
        check(self)
        # the sines and cosines of an anchor's centre and of its width take half of d each
        fits = self.d % 4 == 0 and self.d % (2 * self.heads) == 0
        _require(fits, "d", "a multiple of 4 and of twice the heads", self.d, self.heads)


def _refuse_fixed(mask: MaskConfig | None, reason: str) -> None:
    if mask and mask.traits.is_fixed:
        raise UsageError(f"no {mask.kind} mask in {reason}", hint=Mention("mask", "stamp"))


def _require(holds: bool, name: str, rule: str, value: int, heads: int = 0) -> None:
    """Refuse with a UsageError the value of a field that breaks a rule, which may be about the heads."""
    if not holds:
        among = f" with {heads} heads" if heads else ""
        raise UsageError((Mention(name), f" must be {rule}, not {value}{among}"), option=name)
