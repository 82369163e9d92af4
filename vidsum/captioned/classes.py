"""What a classifier would show of captions: evidence for text, simulated and real.

No frame is needed to simulate it: a class gets a score by the cosine of its name and the caption, and noise
as real frames have it. docs/algorithms/captions.md has the equations and the measurements.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np

from vidsum.captioned.videos import shots_of_captions
from vidsum.datasets.summaries import AnnotatedVideo
from vidsum.features import describe
from vidsum.grounding.conse import name_embeddings
from vidsum.types import FloatArray

EXTRACTOR: Final = "efficientnet_lite0"
"""The classifier of objects."""
MOTION: Final = "i3d"
"""The classifier of motion."""
EVIDENCE: Final = "efficientnet_lite0-evidence"
"""Name of the extractor of simulated evidence of objects."""


@dataclass(frozen=True)
class Response:
    """How a network's scores answer to what is said of a frame; measured on real clips."""

    cosines: tuple[float, ...]
    """Of a class's name and the caption,"""
    scores: tuple[float, ...]
    """and the mean score there, less the mean of all classes."""
    lasting: float
    """Standard deviation of what a class's score differs by for as long as a shot lasts,"""
    passing: float
    """and frame by frame."""
    persistence: float
    """Correlation of the passing noise of neighbouring frames, half a second apart."""
    sharpness: float
    """How far noise is along what the last layer tells apart best, see `Classifier.noise`."""
    gain: tuple[float, float]
    """a and b of `Classifier.gain`."""
    scale: float
    """Divides the evidence, so that its standard deviation is about 1."""


RESPONSES: Final = {
    EXTRACTOR: Response(
        (-0.2, 0.0, 0.075, 0.125, 0.175, 0.225, 0.275, 0.325, 0.4, 0.475, 0.55, 0.7, 0.9),
        (-0.25, -0.15, -0.07, 0.06, 0.17, 0.39, 0.69, 1.0, 1.3, 2.6, 4.3, 7.2, 9.0),
        lasting=0.95,
        passing=0.7,
        persistence=0.6,
        sharpness=1,
        gain=(0.7, 0.2),
        scale=3,
    ),
    MOTION: Response(
        (-0.2, -0.125, -0.07, -0.02, 0.025, 0.075, 0.125, 0.17, 0.22, 0.275, 0.32, 0.39, 0.48, 0.7, 0.9),
        (-2.2, -1.9, -1.5, -0.9, -0.57, -0.13, 0.43, 1.3, 2.5, 3.6, 5.2, 11, 19, 24, 26),
        lasting=2.9,
        passing=2.0,
        persistence=0.64,
        sharpness=0.5,
        gain=(3, 0.7),
        scale=12,
    ),
}


@dataclass(frozen=True, eq=False)
class Classifier:
    """The last layer of a network, and the names of its classes."""

    names: FloatArray
    """[K, 384] embeddings, each of length 1."""
    weights: FloatArray
    """[K, D]"""
    response: Response = RESPONSES[EXTRACTOR]

    @property
    def to_evidence(self) -> FloatArray:
        """[384, D]: evidence = to_evidence x, but for a constant, of features x [D] before the last layer."""
        return np.asarray(
            self.names.T @ (self.weights - self.weights.mean(axis=0)) / self.response.scale, np.float32
        )

    def evidence(self, scores: FloatArray) -> FloatArray:
        """[T, 384] of class scores [T, K]: the sum of the classes' names, each as often as its score says."""
        centred = scores - scores.mean(axis=1, keepdims=True)
        return np.asarray(centred @ self.names / self.response.scale, np.float32)

    @cached_property
    def noise(self) -> FloatArray:
        """[384, 384] that turns standard normal rows into evidence of noise of deviation 1 in the scores.

        Classes that the network finds alike err together: the noise of the scores is a random mixture of the
        last layer's weights, seen through that layer. The mixture's singular values have the power of the
        sharpness; with 0, all features would be equally noisy.
        """
        centred = self.weights - self.weights.mean(axis=0)
        if self.response.sharpness != 1:
            left, values, right = np.linalg.svd(centred, full_matrices=False)
            centred = (left * values**self.response.sharpness) @ right
        scores = centred @ self.weights.T
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
        a, b = self.response.gain
        slopes = a * spread / (1 + b * spread)
        return np.asarray((directions * slopes) @ directions.T, np.float32)


def load_classifier(device: str = "auto", extractor: str = EXTRACTOR) -> Classifier:
    """Of objects or motion. Raises WeightsError where its weights or MiniLM's cannot be had."""
    from vidsum import checkpoints

    head = describe(extractor).build(checkpoints.load_state_dict(extractor)).head
    assert head is not None
    weights = head.weight.detach().flatten(1).numpy()
    return Classifier(name_embeddings(extractor, device), weights, RESPONSES[extractor])


def simulated(video: AnnotatedVideo, classifiers: Sequence[Classifier], *seed: int) -> AnnotatedVideo:
    """A captioned video with evidence for its captions in place of their embeddings, drawn from a seed.

    The features are those of each classifier, side by side. The evidence is less its mean over the video:
    what real frames have in common differs from what captions have in common.
    """
    rng = np.random.default_rng([*seed, *video.name.encode()])
    array = np.hstack([evidence_of(video.features.array, each, rng) for each in classifiers])
    centred = np.asarray(array - array.mean(axis=0), np.float32)
    name = EVIDENCE if len(classifiers) == 1 else f"{EVIDENCE}-and-motion"
    return replace(video, features=replace(video.features, array=centred, extractor=name))


def evidence_of(captions: FloatArray, classifier: Classifier, rng: np.random.Generator) -> FloatArray:
    """[T, 384] evidence that a network might give of frames with these captions [T, 384].

    A class whose name is close to the caption gets a high score. A part of the noise lasts as long as a shot,
    as a network errs in the same way on similar frames.
    """
    response, shot = classifier.response, shots_of_captions(captions)
    lasting, passing = (
        rng.standard_normal((n, len(classifier.noise)), np.float32) for n in (shot[-1] + 1, len(captions))
    )
    kept = response.persistence
    for t in range(1, len(passing)):
        if shot[t] == shot[t - 1]:
            passing[t] = kept * passing[t - 1] + np.sqrt(1 - kept**2) * passing[t]
    scores = np.interp(captions @ classifier.names.T, response.cosines, response.scores)
    noise = (response.lasting * lasting[shot] + response.passing * passing) @ classifier.noise
    return classifier.evidence(scores) @ classifier.gain + noise
