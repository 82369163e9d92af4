"""The writer `write`: the captioner that ships, fitted on Flickr8k (docs/algorithms/captioner.md)."""

from typing import Final

import numpy as np

from vidsum import checkpoints
from vidsum.checkpoints.trained import read_trained
from vidsum.device import cached_model
from vidsum.errors import WeightsError
from vidsum.grounding.text import load_text_encoder
from vidsum.grounding.writers import SegmentFeatures, Sentence
from vidsum.models.captioner import Captioner, build_captioner
from vidsum.models.configs import CaptionerConfig
from vidsum.models.scaling import logistic

NAME: Final = "captioner"  # in the registry
BEAMS: Final = 5  # width of the beam search
COSINE_WEIGHT: Final = 4.0  # weight of the cosine, relative to the mean log-probability
CONFIDENCE: Final = (3.1, 17.5, -5.4)  # weights of log-probability and cosine, offset, in the logit


def load_captioner() -> Captioner:
    """Return the captioner, kept for the next video. Raises WeightsError where it is damaged."""
    return _load(checkpoints.sha256_of(NAME))


@cached_model(maxsize=1)
def _load(sha256: str) -> Captioner:
    trained = read_trained(checkpoints.path_of(NAME))
    try:
        return build_captioner(CaptionerConfig(**trained.config), trained.tensors)
    except (TypeError, ValueError) as error:
        raise WeightsError(f"the weights {NAME} are not those of a captioner ({error})") from error


def write(seen: SegmentFeatures) -> list[Sentence]:
    """Write the sentence of the beam search that is likely and close to the segment in the space."""
    encode, beams = load_text_encoder("minilm").encode, load_captioner().write(seen.features, BEAMS)
    said = []
    for beam, embedding in zip(beams, seen.embeddings, strict=True):
        chances = np.array([sentence.log_probability for sentence in beam])
        cosines = encode([sentence.text for sentence in beam]) @ embedding
        best = int(np.argmax(chances + COSINE_WEIGHT * cosines))
        sure = CONFIDENCE[0] * chances[best] + CONFIDENCE[1] * cosines[best] + CONFIDENCE[2]
        said.append(Sentence(beam[best].text, float(logistic(sure))))
    return said
