"""What a trained model reads of clips: their embeddings, and with a guide how well each fits the query.

The guide is an addition of ours to MRNet's input; docs/algorithms/captions.md tells what it is worth.
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from vidsum.errors import InputError
from vidsum.grounding.spaces import ClipEmbeddings, curves_of
from vidsum.types import FloatArray

if TYPE_CHECKING:
    from vidsum.checkpoints.trained import Trained

_SCALE = 0.25
"""Of the guide's curves, whose deviation is 1, beside embeddings of length 1."""


class Reads(NamedTuple):
    """What a checkpoint says that its model reads."""

    space: str
    """Of clips and queries."""
    clip_s: float
    """Seconds of a clip."""
    guided: bool
    """Whether clips come with a guide."""


def reads_of(trained: "Trained", name: str) -> Reads:
    """What the model of a checkpoint reads; `name` is for messages.

    Raises:
        InputError: the checkpoint does not say, or not what makes sense.
    """
    try:
        space, clip_s = str(trained.features["space"]), float(trained.features["clip_s"])
        guided = bool(trained.features.get("guided", False))
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{name}: does not say what features it reads (space, clip_s)") from error
    if not clip_s > 0:
        raise InputError(f"{name}: its clips must be longer than {clip_s:g} s")
    return Reads(space, clip_s, guided)


def rows_of(video: ClipEmbeddings) -> FloatArray:
    """[T, D] the parts of the space side by side."""
    return np.concatenate(video.parts, axis=1)


def guided_rows(video: ClipEmbeddings, query: FloatArray) -> FloatArray:
    """[T, D + C] for one query [Dq]: the parts of the space, then the query's curves.

    The curves are standardised over the whole video: each window of a long one is told whether the query is
    likelier elsewhere.
    """
    curves = curves_of(video, query[None])[0]
    return np.concatenate([rows_of(video), _SCALE * curves.T], axis=1)
