"""What a trained model reads of clips: their embeddings, and with a guide how well each fits the query.

The guide is an addition of ours to MRNet's input; docs/algorithms/captions.md tells what it is worth.
"""

import numpy as np

from vidsum.grounding.spaces import ClipEmbeddings, curves_of
from vidsum.types import FloatArray

_SCALE = 0.25
"""Of the guide's curves, whose deviation is 1, beside embeddings of length 1."""


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
