"""The map that ships: from EfficientNet-Lite0's features to the space of MiniLM's sentences."""

from typing import Final

from vidsum import checkpoints
from vidsum.checkpoints.trained import read_trained
from vidsum.errors import WeightsError
from vidsum.memory import kept
from vidsum.models.configs import VSEConfig
from vidsum.models.vse import VisualSemanticMap, map_of

NAME: Final = "vse"
"""In the registry."""
EXTRACTOR: Final = "efficientnet_lite0"
"""Whose features it reads."""


def load_map() -> VisualSemanticMap:
    """The map, kept for the next video. Raises WeightsError where it is damaged."""
    return _loaded(checkpoints.sha256_of(NAME))


@kept(maxsize=1)
def _loaded(sha256: str) -> VisualSemanticMap:
    trained = read_trained(checkpoints.path_of(NAME))
    try:
        return map_of(VSEConfig(**trained.config), trained.tensors)
    except (TypeError, ValueError) as error:
        raise WeightsError(f"the weights {NAME} are not those of a map ({error})") from error
