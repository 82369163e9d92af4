"""Checkpoints of untrained models."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from vidsum.checkpoints.trained import Trained, save_trained
from vidsum.models.configs import DETRConfig, FullTransNetConfig, MRNetConfig
from vidsum.models.detr_models import build
from vidsum.models.fulltransnet import FullTransNet
from vidsum.models.mrnet import MRNet

_SIZES = {"d": 16, "heads": 2, "d_ff": 16}


def save_untrained(path: Path, model: str, features: dict[str, Any], seed: int = 0, **sizes: Any) -> Path:
    """Write a small model that reads these features; the sizes are fields of its configuration."""
    kind = {"fulltransnet": FullTransNetConfig, "mrnet": MRNetConfig}.get(model, DETRConfig)
    config = kind(**{**_SIZES, **sizes})
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        network = {FullTransNetConfig: FullTransNet, MRNetConfig: MRNet}.get(
            kind, lambda it: build(model, it)
        )(config)
    path.parent.mkdir(parents=True, exist_ok=True)
    save_trained(path, Trained(model, asdict(config), features, {}, network.state_dict()))
    return path
