"""Whether a second network of objects pays: R@1 of `similarity`, and processor seconds.

    python -m docs.benchmarks.ensembles FOLDER [--ask even odd all]

The films of `docs.benchmarks.grounding`, whose motion it uses again. Objects by EfficientNet-Lite0 (as in
`conse`), by MobileNetV2, which knows the same 1,000 classes, and by the mean of their class probabilities.
Prices are of the object networks alone, as in `docs.benchmarks.motion`. R@1 at IoU .5 and .7, R@5 at .5, per
cent; the last column is the difference of captions in R@1 .5 from the first row, and 95 per cent of a
bootstrap over clips.
"""

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from docs.benchmarks import argument_parser
from docs.benchmarks.joined import HALVES, composite, features_of
from docs.benchmarks.motion import KINDS, Way, less_than, of_half, price, scored
from vidsum import extract
from vidsum.grounding.conse import ClassMixture, class_probabilities
from vidsum.grounding.spaces import ClipEmbeddings, of_mixtures, similarity
from vidsum.grounding.windows import on_grid
from vidsum.pipelines.moments import seen
from vidsum.settings import Extraction
from vidsum.shots import find
from vidsum.types import Features, FloatArray

NETWORKS = ("efficientnet_lite0", "mobilenet_v2")


def with_objects(video: ClipEmbeddings, probabilities: FloatArray) -> ClipEmbeddings:
    """The same video, its objects by other class probabilities [T, K]."""
    motion, objects = video.mixtures
    mixtures = (motion, ClassMixture(probabilities, objects.names))
    other = of_mixtures(mixtures, video.timestamps, video.duration_s)
    return replace(other, shots_s=video.shots_s, is_still=video.is_still)


def ways_of(path: Path) -> dict[str, Way]:
    """The ways to see the objects of a film."""
    motion, objects = features_of(path, "conse", "bf16")
    video = seen("conse", (motion, objects), find(objects).edges_s, "cpu")

    def on_video(features: Features) -> FloatArray:
        assert features.logits is not None
        rows = class_probabilities(features.logits)
        return on_grid(rows, features, video.timestamps, video.step_s)

    other = extract(path, NETWORKS[1], logits=True, device="cpu")
    first, second = on_video(objects), on_video(other)
    videos = {
        NETWORKS[0]: video,
        NETWORKS[1]: with_objects(video, second),
        "both, mean": with_objects(video, (first + second) / 2),
    }
    return {name: Way(each, partial(similarity, each)) for name, each in videos.items()}


def main() -> None:
    """Print a table for each half of the clips."""
    parser = argument_parser(__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--ask", choices=HALVES, nargs="+", default=["even", "odd", "all"])
    options = parser.parse_args()
    films = [composite(options.folder, "all", 120, seed)[0] for seed in range(10)]
    looked = [ways_of(film) for film in films]
    prices = {name: price(Extraction(extractor=name, device="cpu", precision="fp32")) for name in NETWORKS}
    prices["both, mean"] = sum(prices.values())
    found = {name: scored(films, looked, name) for name in looked[0]}
    for half in options.ask:
        print(f"{half} clips\n\n| objects | processor s per s | {' | '.join(KINDS)} | difference |")
        print(f"|{'---|' * (3 + len(KINDS))}")
        for name, by_kind in found.items():
            means = [100 * np.mean(of_half(by_kind[kind], half)[0], axis=0)[:3] for kind in KINDS]
            cells = [" / ".join(f"{mean:.1f}" for mean in each) for each in means]
            more = less_than(found[NETWORKS[0]], by_kind, half)
            print(f"| {name} | {prices[name]:.3f} | {' | '.join(cells)} | {more} |")
        print(flush=True)


if __name__ == "__main__":
    main()
