"""The writer `write`: sentences of the captioner that ships (docs/algorithms/captioner.md)."""

from typing import Final

import numpy as np

from vidsum import checkpoints
from vidsum.checkpoints.trained import read_trained
from vidsum.errors import WeightsError
from vidsum.grounding.text import load_text_encoder
from vidsum.grounding.writers import Seen, Sentence, judged
from vidsum.memory import kept
from vidsum.models.captioner import Captioner, captioner_of
from vidsum.models.configs import CaptionerConfig
from vidsum.types import FloatArray

NAME: Final = "captioner"
"""In the registry."""
WIDTH: Final = 5
"""Of the beam search."""
NEARNESS: Final = 2.0
"""Weight of the map's cosine beside the mean log-probability of a sentence."""


def load_captioner() -> Captioner:
    """The captioner, kept for the next video. Raises WeightsError where it is damaged."""
    return _loaded(checkpoints.sha256_of(NAME))


@kept(maxsize=1)
def _loaded(sha256: str) -> Captioner:
    trained = read_trained(checkpoints.path_of(NAME))
    try:
        return captioner_of(CaptionerConfig(**trained.config), trained.tensors)
    except (TypeError, ValueError) as error:
        raise WeightsError(f"the weights {NAME} are not those of a captioner ({error})") from error


def write(seen: Seen) -> list[Sentence]:
    """The sentences of the captioner: of those that beam search finds, the best by `nearest`."""
    return judged("write", seen, nearest(load_captioner(), seen.features, seen.embeddings))


def nearest(captioner: Captioner, features: FloatArray, embeddings: FloatArray) -> list[str]:
    """For each of N pictures the sentence that is likely and lies near the picture on the map.

    Args:
        captioner: what writes.
        features: [N, D]
        embeddings: [N, E] of the map.
    """
    encode = load_text_encoder("minilm").encode
    best = []
    for found, embedding in zip(captioner.write(features, WIDTH), embeddings, strict=True):
        chances = np.array([each.log_probability for each in found])
        scores = chances + NEARNESS * (encode([each.text for each in found]) @ embedding)
        best.append(found[int(scores.argmax())].text)
    return best
