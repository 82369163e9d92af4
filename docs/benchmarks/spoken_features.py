"""Features of spoken queries: the mean of Whisper's encoder over a recording, in data2vec's place.

    python -m docs.benchmarks.spoken_features RECORDINGS OUT

writes OUT/NAME.npy for each recording, 512 numbers, as `vidsum train mrnet --query-features OUT` reads them.
As in MRNet's public code, each frame (50 a second) is normalised, and the mean taken.
"""

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from docs.benchmarks import argument_parser
from docs.benchmarks.voices import read_whole
from vidsum.scaling import mean_of_normalised
from vidsum.speech.recognize import load_recognizer
from vidsum.types import FloatArray

if TYPE_CHECKING:
    from faster_whisper import WhisperModel


@lru_cache(maxsize=1)
def _model() -> "WhisperModel":
    return load_recognizer("cpu")  # which checks the weights each time


def frames_of(samples: FloatArray) -> FloatArray:
    """[L, 512] of samples [N] at 16 kHz, at most 30 s; no silence fills the encoder's window."""
    model = _model()
    return np.array(model.encode(model.feature_extractor(samples)))[0]


def vector_of(samples: FloatArray) -> FloatArray:
    """[512] of samples [N]."""
    return mean_of_normalised(frames_of(samples))


def main() -> None:
    """Write the files."""
    parser = argument_parser(__doc__, "recordings", "out")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for path in sorted(options.recordings.iterdir()):
        np.save(options.out / f"{path.stem}.npy", vector_of(read_whole(path)))


if __name__ == "__main__":
    main()
