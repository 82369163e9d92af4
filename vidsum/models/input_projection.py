"""How features of a clip or a word become tokens, in MRNet and in the DETR models."""

from torch import nn


def input_projection(dim: int, d: int, dropout: float) -> nn.Sequential:
    """Two layers from dim to d numbers: each a norm, dropout and a linear layer, with a ReLU between them."""
    return nn.Sequential(
        nn.LayerNorm(dim),
        nn.Dropout(dropout),
        nn.Linear(dim, d),
        nn.ReLU(),
        nn.LayerNorm(d),
        nn.Dropout(dropout),
        nn.Linear(d, d),
    )
