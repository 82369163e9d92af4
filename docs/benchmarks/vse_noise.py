"""How the map's noise changes in time, on clips that one caption each describes: `vidsum.datasets.captioned`.

    python -m docs.benchmarks.vse_noise FOLDER [FOLDER ...]

Each FOLDER holds videos and `clips.json`, with a caption (`query`) that is true of each whole video. Prints,
by the time between two frames of a clip, half the squared distance of their vectors, as a fraction of the
variance of the noise on photographs; and the same of draws for the same captions.
"""

import json
from pathlib import Path

import numpy as np

import vidsum
from docs.benchmarks import argument_parser
from vidsum.datasets.captioned import noise_of
from vidsum.grounding.text import load_text_encoder
from vidsum.grounding.vse import EXTRACTOR, load_map
from vidsum.types import FloatArray

STEPS = (1, 2, 4, 8, 16)
"""Times that are compared, in frames, two a second."""
DRAWS = 10


def apart(clips: list[FloatArray], steps: int) -> list[float]:
    """Half the mean squared distance of vectors so many frames apart, in each clip that is long enough."""
    long = [rows for rows in clips if len(rows) > steps + 2]
    return [float(((rows[steps:] - rows[:-steps]) ** 2).sum(axis=1).mean() / 2) for rows in long]


def main() -> None:
    """Print the table."""
    parser = argument_parser(__doc__)
    parser.add_argument("folders", type=Path, nargs="+")
    options = parser.parse_args()
    visual, real, texts = load_map(), [], []
    for folder in options.folders:
        for clip in json.loads((folder / "clips.json").read_text())["clips"]:
            real.append(visual(vidsum.extract(folder / clip["file"], EXTRACTOR).array))
            texts.append(clip["query"])
    captions, rng = load_text_encoder("minilm").encode(texts), np.random.default_rng(0)
    drawn = []
    for _ in range(DRAWS):
        for caption, rows in zip(captions, real, strict=True):
            same = np.repeat(caption[None], len(rows), axis=0)
            drawn.append(visual.seen(same, noise_of(same, rng)))
    variance = float((visual.tensors["noise.weight"] ** 2).sum())
    print(f"{len(real)} clips, {sum(map(len, real))} frames; variance of the noise {variance:.3f}")
    print("\n| seconds apart | clips | draws |\n|---|---|---|")
    for steps in STEPS:
        of_clips, of_draws = (np.mean(apart(clips, steps)) / variance for clips in (real, drawn))
        print(f"| {steps / 2:g} | {of_clips:.2f} | {of_draws:.2f} |")


if __name__ == "__main__":
    main()
