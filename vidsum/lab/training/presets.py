"""Published training settings of the moment models by data set, and ours for simulated data."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from vidsum.models.configs import HEADS
from vidsum.options import option

MRNET: Final[Mapping[str, Mapping[str, Any]]] = {
    "activitynet": {},
    "charades": {
        **{"lr": 1e-3, "epochs": 25, "decay_at": (8, 13), "lambda_c": 0.05, "margin": 0.4},
        **{"cross_modal": False, "kernel": 17, "convolutions": 2},
    },
    "tacos": {
        **{"clips": 128, "lr": 1.5e-3, "epochs": 250, "decay_at": (130, 190), "margin": 0.1},
        **{"iou_low": 0.3, "iou_high": 0.7, "positives": 3, "kernel": 5, "convolutions": 3},
    },
    "qvhighlights": {"clips": 75, "lr": 1e-4, "epochs": 200, "decay_at": ()},
    "captions": {
        **{"epochs": 12, "decay_at": (8, 11), "warmup": 2.0, "batch_size": 24, "weight_decay": 1e-2},
        "dropout_in": 0.1,
    },
}
"""The paper's settings, or those of its code; the rest is the default, that of ActivityNet Captions. Rate and
epochs for QVHighlights are those of Moment-DETR. `captions` is ours."""

MRNET_HEADS: Final[Mapping[str, Mapping[str, int]]] = {"paper": {}, "light": HEADS["light"]}
"""The paper's head is that of the preset."""

DETR: Final[Mapping[str, Mapping[str, Any]]] = {
    "qvhighlights": {"clips": 75, "mask_depth": 32, "mask_init": "he"},
    "captions": {
        **{"epochs": 14, "lr": 4e-4, "warmup": 0.3, "decay_at": (10, 13), "batch_size": 8},
        "dropout_in": 0.0,
    },
}
"""`qvhighlights`: published for Moment-DETR and QD-DETR, with STAMP's mask depth and a
start that leaves masks of this depth a gradient (docs/algorithms/learned-masks.md). `captions` is ours."""

DETR_SIZES: Final[Mapping[str, Mapping[str, int]]] = {
    "paper": {"d": 256, "d_ff": 1024},
    "light": {"d": 128, "d_ff": 256},
}


@dataclass(frozen=True, kw_only=True)
class MRNetChoice:
    head: Literal["paper", "light"] = option(
        "Head of the model. paper: the paper's map of proposals; light: one for a CPU.",
        "paper",
        panel="Model",
    )
    preset: Literal["activitynet", "charades", "tacos", "qvhighlights", "captions"] | None = option(
        "Preset of settings. Published ones; captions is ours.",
        None,
        panel="Training",
        default_text="activitynet; with --recipe captions: captions",
    )


@dataclass(frozen=True, kw_only=True)
class DETRChoice:
    model: Literal["moment-detr", "qd-detr", "mrnet-detr"] = option(
        "Model to train. mrnet-detr is MRNet's encoder with the decoder of QD-DETR.", "qd-detr", panel="Model"
    )
    size: Literal["paper", "light"] = option(
        "paper: d 256, d_ff 1024. light: 128, 256, for a CPU.", "paper", panel="Model"
    )
    preset: Literal["qvhighlights", "captions"] | None = option(
        "Preset of settings. The published one; captions is ours.",
        None,
        panel="Training",
        default_text="qvhighlights; with --recipe captions: captions",
    )
