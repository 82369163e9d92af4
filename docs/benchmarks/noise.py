"""How real clips and simulated ones compare: the basis of `vidsum.training.simulated.NOISE`.

    python -m docs.benchmarks.noise FOLDER --annotations TRAIN.json [...]

FOLDER holds the composites that `docs.benchmarks.grounding FOLDER --first --clips even --seeds 0 1 2 3 4`
made: the half of the clips on which settings may be chosen. For each network of the space `conse`, for real
clips with known captions and for clips simulated from annotations:

own      mean and deviation of the cosine of a clip and its caption
others   mean cosine of a clip and the captions of others
first    fraction of the clips that fit their own caption best of seven
within   mean cosine of two clips of one segment
between  mean cosine of two clips of different captions
top      quartiles of the probability of the most likely class
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from docs.benchmarks import argument_parser
from docs.benchmarks.joined import FIRST, composite, embed
from vidsum.datasets.moments import MomentVideo, read_moments
from vidsum.grounding.conse import name_embeddings
from vidsum.grounding.spaces import CLASSIFIERS, ClipEmbeddings, embed_queries
from vidsum.grounding.text import load_text_encoder
from vidsum.training.captions import Captions, embed_captions
from vidsum.training.scripts import Script, Segment
from vidsum.training.simulated import NOISE, Classifier, Simulation, simulate_video
from vidsum.types import FloatArray

N_CAPTIONS = 7
"""Of a video: as many as half of the shared clips are."""

Labelled = tuple[ClipEmbeddings, FloatArray, np.ndarray, np.ndarray]
"""A video, its captions' embeddings, and of each clip the number of its segment and of its caption."""


def real(folder: Path, seed: int) -> Labelled:
    """A composite of the first half of the shared clips."""
    path, truth = composite(folder, "even", 120, seed, (FIRST,))
    segments = sorted(
        (start, end, number) for number, query in enumerate(truth.queries) for start, end in query.windows
    )
    video = embed(path, "conse")
    return video, embed_queries("conse", [query.text for query in truth.queries]), *labels(video, segments)


def simulated(captions: Captions, classifiers: Sequence[Classifier], seed: int) -> Labelled:
    """A video of seven captions, six seconds each, four times over."""
    rng = np.random.default_rng(seed)
    sentences = rng.choice(len(captions.vectors), N_CAPTIONS, replace=False)
    order = np.concatenate([rng.permutation(N_CAPTIONS) for _ in range(4)])
    script = Script(
        "simulated",
        6.0 * len(order),
        tuple(Segment(int(sentences[one]), 6.0 * place, 6.0 * place + 6) for place, one in enumerate(order)),
    )
    video = simulate_video(script, Simulation(captions, classifiers, 64, 1.0), rng)
    segments = [
        (one.start_s, one.end_s, int(number)) for one, number in zip(script.segments, order, strict=True)
    ]
    return video, captions.vectors[sentences], *labels(video, segments)


def labels(
    video: ClipEmbeddings, segments: Sequence[tuple[float, float, int]]
) -> tuple[np.ndarray, np.ndarray]:
    """[T] the segment and the caption of each clip; -1 where it is not inside one with a second to spare."""
    segment, caption = np.full(len(video), -1), np.full(len(video), -1)
    for place, (start_s, end_s, number) in enumerate(segments):
        inside = (video.timestamps >= start_s + 1) & (video.timestamps + video.step_s <= end_s - 1)
        segment[inside], caption[inside] = place, number
    return segment, caption


def measured(videos: Sequence[Labelled], part: int) -> str:
    """A row of the table."""
    own, others, first, within, between, top = [], [], [], [], [], []
    for video, captions, segment, caption in videos:
        labelled = caption >= 0
        rows, segment, caption = video.parts[part][labelled], segment[labelled], caption[labelled]
        cosines = rows @ captions.T
        is_own = np.arange(len(captions)) == caption[:, None]
        own.append(cosines[is_own])
        others.append(cosines[~is_own])
        first.append(cosines.argmax(axis=1) == caption)
        pairs, upper = rows @ rows.T, np.triu(np.ones((len(rows), len(rows)), np.bool_), 1)
        within.append(pairs[upper & (segment[:, None] == segment)])
        between.append(pairs[upper & (caption[:, None] != caption)])
        top.append(video.mixtures[part].probabilities[labelled].max(axis=1))
    joined = [np.concatenate(values) for values in (own, others, first, within, between)]
    quartiles = " ".join(f"{value:.2f}" for value in np.quantile(np.concatenate(top), (0.25, 0.5, 0.75)))
    means = [f"{values.mean():.3f}" for values in joined]
    means[0] += f" ± {joined[0].std():.3f}"
    return " | ".join([*means, quartiles])


def main() -> None:
    """Print the table."""
    parser = argument_parser(__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--annotations", type=Path, nargs="+", required=True)
    parser.add_argument("--videos", type=int, default=20, help="simulated videos")
    options = parser.parse_args()
    annotated: dict[str, MomentVideo] = {}
    for path in options.annotations:
        annotated |= dict(list(read_moments(path).items())[:300])
    captions = embed_captions(annotated, load_text_encoder("minilm").encode, "minilm")
    classifiers = [Classifier(name_embeddings(one), NOISE[one]) for one in CLASSIFIERS]
    sets = {
        "real": [real(options.folder, seed) for seed in range(5)],
        "simulated": [simulated(captions, classifiers, seed) for seed in range(options.videos)],
    }
    print("| | own | others | first | within | between | top |\n|---|---|---|---|---|---|---|")
    for part, network in enumerate(CLASSIFIERS):
        for name, videos in sets.items():
            print(f"| {network}, {name} | {measured(videos, part)} |")


if __name__ == "__main__":
    main()
