"""The processor time that each network that ships takes for an input, and for an hour of film.

    python -m docs.benchmarks.network_costs [--runs 5]

Inputs are random: pictures of the size that a network gets, sound, and sentences of ten words. The time is
the least of some runs, user and system, of all threads; film and sound are not read. The last column compares
it with that of a picture of EfficientNet-Lite0, since times depend on what else the machine does.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from docs.benchmarks import argument_parser, processor_s
from docs.benchmarks.tables import print_table
from vidsum.crop.faces import load_face_detector
from vidsum.features.movinet import FPS, SIDE, MovementStream
from vidsum.features.settings import Extraction
from vidsum.features.yamnet import RATE, STEP_S, score_sounds
from vidsum.grounding.text_encoders import load_text_encoder
from vidsum.pipelines.decoding import load_extractor

_HOUR_S = 3600
_N_FRAMES, _SOUND_S, _N_SENTENCES = 40, 30, 20
_PICTURE = (224, 398, 3)  # of a film of 16:9, in which faces are looked for


class Work(NamedTuple):
    """Inputs of a network in one run, inputs an hour, and the run."""

    network: str
    n: int
    n_an_hour: float
    run: Callable[[], object]


def works() -> Iterator[Work]:
    """Yield the networks; each is loaded when it is reached."""
    rng = np.random.default_rng(0)
    extractor = load_extractor(Extraction())
    clips = rng.integers(0, 256, (_N_FRAMES, 1, 224, 224, 3), np.uint8)
    yield Work("efficientnet_lite0, a picture", _N_FRAMES, 2 * _HOUR_S, lambda: extractor.encode(clips))
    # one picture with a little noise: the network begins anew at each cut
    shot = rng.integers(0, 248, (1, SIDE, SIDE, 3), np.uint8)
    frames = shot + rng.integers(0, 8, (_N_FRAMES, SIDE, SIDE, 3), np.uint8)
    movement = MovementStream()
    yield Work("movinet_a0, a frame", _N_FRAMES, FPS * _HOUR_S, lambda: movement.read(frames))
    sound = rng.normal(0, 0.1, _SOUND_S * RATE).astype(np.float32)
    yield Work("yamnet, a window", round(_SOUND_S / STEP_S), _HOUR_S / STEP_S, lambda: score_sounds([sound]))
    detect, picture = load_face_detector(), rng.integers(0, 256, _PICTURE, np.uint8)
    yield Work("yunet, a picture", 1, 0, lambda: detect(picture))
    texts = [" ".join(rng.choice(["a", "dog", "runs", "red", "on"], 10)) for _ in range(_N_SENTENCES)]
    encoder = load_text_encoder("minilm")
    yield Work("minilm, a sentence", _N_SENTENCES, 0, lambda: encoder.encode(texts))


def cost_s(run: Callable[[], object], runs: int) -> float:
    """Return the least processor seconds of some runs, after one that is not counted."""
    run()
    costs = []
    for _ in range(runs):
        start_s = processor_s()
        run()
        costs.append(processor_s() - start_s)
    return min(costs)


def main() -> None:
    """Print the table."""
    parser = argument_parser(__doc__, small="--runs 1")
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    costs = [(work, cost_s(work.run, runs) / work.n) for work in works()]
    heads = "network", "ms", "s an hour", "of the first row"
    print_table(heads, (cells(work, each_s, costs[0][1]) for work, each_s in costs))


def cells(work: Work, each_s: float, first_s: float) -> list[str]:
    """A row of the table."""
    an_hour = f"{each_s * work.n_an_hour:.0f}" if work.n_an_hour else ""
    return [work.network, f"{1000 * each_s:.1f}", an_hour, f"{each_s / first_s:.2f}"]


if __name__ == "__main__":
    main()
