"""Where a token is, as sines and cosines (Vaswani et al. 2017) of a share of the whole."""

import math

import torch
from torch import Tensor


def sines(share: Tensor, d: int) -> Tensor:
    """[..., d] sines and cosines of shares [...] of a video, at d / 2 frequencies from 1 to 1 / 10,000."""
    pair = torch.arange(0, d, 2, device=share.device, dtype=torch.float32) / d
    angle = share[..., None] * (2 * math.pi) * 10000.0**-pair
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(-2)
