"""The layout of EfficientNet-Lite0, for its PyTorch and ONNX forms, without importing torch."""

import re

STAGES = (
    (1, 3, 1, 1, 16),
    (2, 3, 2, 6, 24),
    (2, 5, 2, 6, 40),
    (3, 3, 2, 6, 80),
    (3, 5, 1, 6, 112),
    (4, 5, 2, 6, 192),
    (1, 3, 1, 6, 320),
)  # blocks, kernel, stride of the first block, expansion, outputs
EPSILON = 1e-3  # epsilon of the batch normalisations
INNER = ("blocks.14.expand_conv", "blocks.15.depthwise_conv")
"""Inner layers of 1,152 channels, whose means over space are appended to the features for the map
`vidsum.grounding.vse_map`."""


def layer_name(published: str) -> str:
    """Return the name here of a published tensor: `_blocks.0._bn1.weight` is `blocks.0.bn1.weight`."""
    return re.sub(r"(^|\.)_", r"\1", published)
