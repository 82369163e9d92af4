"""Checkpoints of untrained models, and tensors of random ones."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
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


def map_tensors(rng: np.random.Generator, d: int, h: int, e: int) -> dict[str, np.ndarray]:
    """Random tensors of a map from d numbers by h to e; see `VisualSemanticMap`."""
    shapes = {"mean": (d,), "hidden.weight": (h, d), "hidden.bias": (h,), "output.weight": (e, h)}
    shapes |= {"output.bias": (e,), "answer.weight": (e, e), "answer.bias": (e,), "noise.weight": (e, e)}
    shapes |= {"cohort.mean": (e,), "cohort.weight": (e, e)}
    made = {name: rng.standard_normal(shape, np.float32) for name, shape in shapes.items()}
    return {**made, "scale": np.abs(rng.standard_normal(d, np.float32)) + 1}
