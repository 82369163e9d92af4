"""The class names of a network, embedded by MiniLM and cached on disk: they are the same for every video."""

import re
from importlib.metadata import version

from vidsum import checkpoints
from vidsum.disk_cache import kept_rows
from vidsum.errors import UsageError
from vidsum.features import describe
from vidsum.grounding.text import load_text_encoder
from vidsum.types import FloatArray

_TEMPLATES = {"i3d": "{}", "efficientnet_lite0": "there is a {}"}
"""A sentence for each class: Kinetics has phrases, ImageNet has nouns."""


def name_embeddings(extractor: str, device: str = "auto") -> FloatArray:
    """The class names of an extractor's logits, [K, 384] of length 1; MiniLM runs on `device` where needed.

    Raises:
        UsageError: the extractor has no classes.
        WeightsError: MiniLM's weights are missing, cannot be fetched or fail their check.
    """
    if extractor not in _TEMPLATES:
        raise UsageError(
            f"{extractor} has no class names to compare with text", hint=f"{' and '.join(_TEMPLATES)} have"
        )
    return kept_rows(
        "class_names",
        _made_from(extractor),
        lambda: load_text_encoder("minilm", device).encode(sentences(extractor)),
    )


def sentences(extractor: str) -> list[str]:
    """The text of each class: its name, without remarks in brackets, in the extractor's template."""
    names = describe(extractor).class_names
    assert names is not None
    return [_TEMPLATES[extractor].format(re.sub(r"\s*\([^)]*\)", "", name)) for name in names()]


def _made_from(extractor: str) -> dict[str, str]:
    """What the embeddings depend on. torchvision's version stands for its names: importing it is slow."""
    return {
        "weights_sha256": checkpoints.sha256_of("minilm"),
        "extractor": extractor,
        "template": _TEMPLATES[extractor],
        "torchvision": version("torchvision"),
    }
