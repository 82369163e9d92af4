"""Animals by the classes of the network of objects, as dark pictures are near to "an animal" in the space.

docs/algorithms/describe.md has how right they are.
"""

from typing import Final

import numpy as np

from vidsum.description.words import parents_of, read_words
from vidsum.types import FloatArray

N_ANIMALS: Final = 398  # the first classes of ImageNet are the animals
FEW: Final = 0.15  # sum of classes below which an animal is doubtful
MANY: Final = 0.5  # sum of classes from which there is an animal, whatever the space says
UNNAMED_SURE: Final = 0.85  # confidence from which an animal is named without its class
SEEN_SURE: Final = 0.8  # confidence of an animal with `MANY`
_LEAST = 0.05  # of a class: 398 small shares are no animal
_ANIMAL: Final = "an animal"


def animal_shares(objects: FloatArray) -> FloatArray:
    """Return [N] the sums of ImageNet's animals, those of `_LEAST` or more, of probabilities [N, 1000]."""
    animals = objects[:, :N_ANIMALS]
    return np.asarray(np.where(animals >= _LEAST, animals, 0).sum(axis=1), np.float32)


def weigh_animals(chances: FloatArray, shares: FloatArray) -> FloatArray:
    """Return probabilities of words [N, P] in which animals [N] agree with the classes.

    An animal that no class shows is 0 unless it is as sure as `UNNAMED_SURE`, and one that classes show has
    `SEEN_SURE` or more.
    """
    words = read_words()
    below = [any(words[other].text == _ANIMAL for other in (n, *parents_of(n))) for n in range(len(words))]
    is_unseen = (shares < FEW)[:, None] & np.array(below) & (chances < UNNAMED_SURE)
    weighed = np.where(is_unseen, 0, chances)
    animal = next(number for number, word in enumerate(words) if word.text == _ANIMAL)
    weighed[shares >= MANY, animal] = np.maximum(weighed[shares >= MANY, animal], SEEN_SURE)
    return np.asarray(weighed, np.float32)
