"""What a classifier of single frames would show of captions: evidence for text, simulated and real.

No frame is needed to simulate it: a class gets a score by the cosine of its name and the caption, and noise
as real frames have it. docs/algorithms/captions.md has the equations and the measurements.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from vidsum.datasets.summaries import AnnotatedVideo
from vidsum.features import describe
from vidsum.grounding.conse import name_embeddings
from vidsum.scaling import unit_rows
from vidsum.types import FloatArray

EXTRACTOR: Final = "efficientnet_lite0"
"""The classifier: the objects of the space `conse`."""
EVIDENCE: Final = "efficientnet_lite0-evidence"
"""Name of the extractor of simulated evidence."""

_COSINES: Final = (-0.2, 0.0, 0.075, 0.125, 0.175, 0.225, 0.275, 0.325, 0.4, 0.475, 0.55, 0.7, 0.9)
_SCORES: Final = (-0.25, -0.15, -0.07, 0.06, 0.17, 0.39, 0.69, 1.0, 1.3, 2.6, 4.3, 7.2, 9.0)
"""Mean score of a class, less the mean of all classes, by the cosine of its name with the caption."""
_LASTING, _PASSING = 0.95, 0.7
"""Standard deviation of what a class's score differs by for as long as a shot lasts, and frame by frame."""
_PERSISTENCE = 0.6
"""Correlation of the passing noise of neighbouring frames, half a second apart."""
_SAME_SHOT = 0.6
"""Neighbouring frames whose captions have a smaller cosine are of different shots."""
_GAIN = (0.7, 0.2)
"""a and b of `Classifier.gain`, from the same clips."""
_SCALE = 3.0
"""Divides the evidence, so that its standard deviation is about 1."""


@dataclass(frozen=True, eq=False)
class Classifier:
    """The last layer of a network, and the names of its classes."""

    names: FloatArray
    """[K, 384] embeddings, each of length 1."""
    weights: FloatArray
    """[K, D]"""

    @property
    def to_evidence(self) -> FloatArray:
        """[384, D]: evidence = to_evidence x, but for a constant, of features x [D] before the last layer."""
        return np.asarray(self.names.T @ (self.weights - self.weights.mean(axis=0)) / _SCALE, np.float32)

    def evidence(self, scores: FloatArray) -> FloatArray:
        """[T, 384] of class scores [T, K]: the sum of the classes' names, each as often as its score says."""
        return np.asarray((scores - scores.mean(axis=1, keepdims=True)) @ self.names / _SCALE, np.float32)

    @cached_property
    def noise(self) -> FloatArray:
        """[384, 384] that turns standard normal rows into evidence of noise of deviation 1 in the scores.

        Classes that the network finds alike err together: the noise of the scores is a random mixture of the
        last layer's weights, seen through that layer.
        """
        scores = (self.weights - self.weights.mean(axis=0)) @ self.weights.T
        spread = np.sqrt((scores**2).sum(axis=0).mean())
        return np.asarray(np.linalg.qr(self.evidence(scores / spread))[1], np.float32)

    @cached_property
    def gain(self) -> FloatArray:
        """[384, 384] what is left of evidence by names alone in that of frames.

        A network hardly tells apart what its last layer's weights do not: along a direction in which noise of
        deviation 1 in the scores has the deviation s, the evidence is a s / (1 + b s) of what the names say.
        """
        squares, directions = np.linalg.eigh(self.noise.T @ self.noise)
        spread = np.sqrt(np.maximum(squares, 0))
        slopes = _GAIN[0] * spread / (1 + _GAIN[1] * spread)
        return np.asarray((directions * slopes) @ directions.T, np.float32)


def load_classifier(device: str = "auto") -> Classifier:
    """EfficientNet-Lite0's. Raises WeightsError where its weights or MiniLM's cannot be had."""
    from vidsum import checkpoints

    head = describe(EXTRACTOR).build(checkpoints.load_state_dict(EXTRACTOR)).head
    assert head is not None
    return Classifier(name_embeddings(EXTRACTOR, device), head.weight.detach().numpy())


def simulated(video: AnnotatedVideo, classifier: Classifier, *seed: int) -> AnnotatedVideo:
    """A captioned video with evidence for its captions in place of their embeddings, drawn from a seed.

    The evidence is less its mean over the video: what real frames have in common differs from what captions
    have in common.
    """
    rng = np.random.default_rng([*seed, *video.name.encode()])
    array = evidence_of(video.features.array, classifier, rng)
    centred = np.asarray(array - array.mean(axis=0), np.float32)
    return replace(video, features=replace(video.features, array=centred, extractor=EVIDENCE))


def evidence_of(captions: FloatArray, classifier: Classifier, rng: np.random.Generator) -> FloatArray:
    """[T, 384] evidence that a network might give of frames with these captions [T, 384].

    A class whose name is close to the caption gets a high score. A part of the noise lasts as long as a shot,
    as a network errs in the same way on similar frames.
    """
    shot = shots_of_captions(captions)
    lasting, passing = (
        rng.standard_normal((n, len(classifier.noise)), np.float32) for n in (shot[-1] + 1, len(captions))
    )
    for t in range(1, len(passing)):
        if shot[t] == shot[t - 1]:
            passing[t] = _PERSISTENCE * passing[t - 1] + np.sqrt(1 - _PERSISTENCE**2) * passing[t]
    scores = np.interp(captions @ classifier.names.T, _COSINES, _SCORES)
    noise = (_LASTING * lasting[shot] + _PASSING * passing) @ classifier.noise
    return classifier.evidence(scores) @ classifier.gain + noise


def shots_of_captions(captions: FloatArray) -> npt.NDArray[np.int64]:
    """[T] number of the shot of each caption's frame: another one begins where the caption is another."""
    rows = unit_rows(captions)
    is_new = np.einsum("td,td->t", rows[1:], rows[:-1]) < _SAME_SHOT
    return np.concatenate([[0], np.cumsum(is_new)])
