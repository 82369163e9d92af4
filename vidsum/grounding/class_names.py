"""The names of a network's classes as MiniLM embeds them, kept on disk: they are the same for every video."""

import contextlib
import re
from importlib.metadata import version
from pathlib import Path

import numpy as np

from vidsum import checkpoints
from vidsum.errors import OutputError, UsageError
from vidsum.features import describe
from vidsum.grounding.text import load_text_tower
from vidsum.home import home
from vidsum.outputs import whole_file
from vidsum.provenance import digest_of
from vidsum.types import FloatArray

_TEMPLATES = {"i3d": "{}", "efficientnet_lite0": "there is a {}"}
"""A sentence for each class: Kinetics has phrases, ImageNet has nouns."""


def name_embeddings(extractor: str, device: str = "auto") -> FloatArray:
    """The class names of an extractor's logits, [K, 384], each of length 1.

    Args:
        extractor: one with classes.
        device: where MiniLM runs, if they are not on disk yet.

    Raises:
        UsageError: the extractor has no such classes.
        WeightsError: MiniLM's weights are missing, cannot be fetched or fail their check.
    """
    if extractor not in _TEMPLATES:
        raise UsageError(
            f"{extractor} has no class names to compare with text", hint=f"{' and '.join(_TEMPLATES)} have"
        )
    path = _path(extractor)
    if path.is_file():
        with contextlib.suppress(OSError, ValueError, EOFError):  # a damaged file is made anew
            kept: FloatArray = np.load(path)
            return kept
    made = load_text_tower("minilm", device).encode(sentences(extractor))
    with contextlib.suppress(OSError, OutputError):  # a folder that cannot be written to keeps nothing
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as part:
            np.save(part, made)
    return made


def sentences(extractor: str) -> list[str]:
    """What is embedded for each class: its name, without remarks in brackets, in the extractor's template."""
    names = describe(extractor).class_names
    assert names is not None
    return [_TEMPLATES[extractor].format(re.sub(r"\s*\([^)]*\)", "", name)) for name in names()]


def _path(extractor: str) -> Path:
    """The file for these weights, this template and these names, which are torchvision's.

    Its version stands for the names: to import it would take as long as all the rest.
    """
    made_from = {
        "weights_sha256": checkpoints.sha256_of("minilm"),
        "extractor": extractor,
        "template": _TEMPLATES[extractor],
        "torchvision": version("torchvision"),
    }
    return home() / "class_names" / f"{digest_of(made_from)}.npy"
