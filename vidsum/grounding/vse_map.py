"""The map that ships: from EfficientNet-Lite0's features to the space of MiniLM's sentences."""

from typing import Final

from vidsum import checkpoints
from vidsum.checkpoints.trained import read_trained
from vidsum.device import cached_model
from vidsum.errors import Mention, UsageError
from vidsum.models.vse import UnpackedTensors, VisualSemanticMap
from vidsum.results.features import Features
from vidsum.types import FloatArray

NAME: Final = "vse"  # in the registry
EXTRACTOR: Final = "efficientnet_lite0"  # whose features it reads
RECORDED: Final = "map_sha256"  # where features record the map that made their embeddings


def load_map() -> VisualSemanticMap:
    """Return the map, kept for the next video. Raises WeightsError where it is damaged."""
    return _load(checkpoints.sha256_of(NAME))


def mapped_rows(features: Features) -> FloatArray:
    """Return [T, E] of a video by the map. Raises UsageError: the features have none, or another's."""
    made_by = features.provenance.get("parameters", {}).get(RECORDED)
    if features.embeddings is None or made_by not in (None, checkpoints.sha256_of(NAME)):
        fault = f"the features of {features.extractor} were made without the map {NAME}, or with another one"
        raise UsageError(fault, hint=("extract them again, with ", Mention("extractor", EXTRACTOR)))
    return features.embeddings


@cached_model(maxsize=1)
def _load(sha256: str) -> VisualSemanticMap:
    return VisualSemanticMap(UnpackedTensors(read_trained(checkpoints.path_of(NAME)).tensors))
