"""How much a trained model's curve should count beside similarity's, in simulated films.

    python -m docs.benchmarks.beside ANNOTATIONS.jsonl CAPTIONS.jsonl.gz [--model FILE ...] [--films 40]

Films are joined from the captions of annotated videos, as the visual-semantic map might show them
(docs/algorithms/captions.md); their shots are known. Up to eight sentences of a film are asked for as they
are, and with words changed or left out. R@1 IoU .5, R@1 IoU .7, R@5 IoU .5 and mIoU of both, per cent, and
what each weight gains in mIoU, in brackets 95 per cent of a bootstrap over films. Last, the weight that has
the highest mIoU in four fifths of the films, and what it finds in the fifth.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from docs.benchmarks import argument_parser
from docs.benchmarks.grounding import TOP_K, measures, resampled
from docs.benchmarks.simulated_highlights import simulation
from vidsum.grounding.grounder import ground_video, load_grounder
from vidsum.grounding.proposals import moments_of
from vidsum.grounding.spaces import ClipEmbeddings, similarity, standard
from vidsum.grounding.text import load_text_encoder
from vidsum.intervals import iou
from vidsum.lab.datasets.moments import read_moments
from vidsum.lab.training.scripts import Script, ask, joined
from vidsum.lab.training.simulated import Simulation, simulate_video
from vidsum.types import FloatArray, Interval, TimeArray

SEED, SHORTEST_S, LONGEST_S, MOST_ASKED, FOLDS = 11, 60, 120, 8, 5
MOST_TRUE = 0.5
"""A sentence that is true in more of a film than this is not asked for."""
WEIGHTS = (0.0, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0)

Asked = tuple[str, tuple[Interval, ...]]
"""A text, and where it is true."""


def films(how: Simulation, n_films: int) -> Iterator[tuple[ClipEmbeddings, list[Asked]]]:
    """Each film and its queries."""
    for number in range(n_films):
        rng = np.random.default_rng([SEED, number])
        script = joined(how.captions, LONGEST_S, rng)
        while script.duration_s <= SHORTEST_S:
            script = joined(how.captions, LONGEST_S, rng)
        video = replace(simulate_video(script, how, rng), shots_s=edges_of(script))
        yield video, list(queries_of(script, how, rng))


def edges_of(script: Script) -> TimeArray:
    """The edges of its shots."""
    parts = sorted(script.segments, key=lambda each: each.start_s)
    pairs = [(one, after) for one, after in pairwise(parts) if after.shot is None or after.shot != one.shot]
    changes = [after.start_s for _, after in pairs]
    return np.unique([0.0, *changes, script.duration_s])


def queries_of(script: Script, how: Simulation, rng: np.random.Generator) -> Iterator[Asked]:
    """Some of its sentences, each as it is and as a query of the training would have it."""
    own = rng.permutation(list(dict.fromkeys(segment.sentence for segment in script.true)))
    for sentence in own[:MOST_ASKED].tolist():
        asked = ask(script, how.captions, sentence, rng)
        if 0 < sum(end - start for start, end in asked.moments) <= MOST_TRUE * script.duration_s:
            yield how.captions.texts[sentence], asked.moments
            yield how.captions.query_texts[asked.query], asked.moments


def curves_of(model: str, video: ClipEmbeddings, texts: Sequence[str]) -> list[FloatArray]:
    """[T] the model's curve for each text, of deviation 1."""
    grounder, encoder = load_grounder(model), load_text_encoder("minilm")
    predictions = ground_video(grounder, video, grounder.tokens(encoder, texts), encoder.encode(texts), 1)
    return [standard(each.curve[None])[0] for each in predictions]


def found(video: ClipEmbeddings, curve: FloatArray, windows: Sequence[Interval]) -> TimeArray:
    """[4] `measures` of the moments of a curve."""
    where = (video.timestamps, video.step_s, video.duration_s)
    moments = moments_of(curve, *where, TOP_K, shots_s=video.shots_s)
    ious = iou([(each.start_s, each.end_s) for each in moments], list(windows)).max(axis=1)
    return measures(ious)


def chosen(rows: TimeArray, film_of: TimeArray) -> tuple[list[float], TimeArray]:
    """The weight of each fold, and [4] the measures of the queries [Q, W, 4] that did not choose theirs."""
    weights, held_out = list[float](), np.zeros(4)
    for fold in range(FOLDS):
        out = film_of % FOLDS == fold
        best = int(rows[~out].mean(axis=0)[:, -1].argmax())
        weights.append(WEIGHTS[best])
        held_out += rows[out, best].sum(axis=0)
    return weights, held_out / len(rows)


def main() -> None:
    """Print the tables."""
    parser = argument_parser(__doc__, "annotations", "captions")
    parser.add_argument("--model", action="append", default=[])
    parser.add_argument("--films", type=int, default=40)
    options = parser.parse_args()
    how = simulation(dict(read_moments(options.annotations)), options.captions)
    rows: dict[str, list[TimeArray]] = {model: [] for model in options.model}
    film_of = list[int]()
    for number, (video, asked) in enumerate(films(how, options.films)):
        texts = [text for text, _ in asked]
        curves = similarity(video, load_text_encoder("minilm").encode(texts))
        film_of += [number] * len(asked)
        for model, of_model in rows.items():
            for curve, own, (_, windows) in zip(curves, curves_of(model, video, texts), asked, strict=True):
                of_model.append(np.stack([found(video, curve + w * own, windows) for w in WEIGHTS]))
    for model, of_model in rows.items():
        measured = np.stack(of_model)
        print(f"\n{model}, {len(measured)} queries\n")
        print("| weight | as it is | words changed | gain |\n|---|---|---|---|")
        for place, weight in enumerate(WEIGHTS):
            cells = [
                " ".join(f"{100 * m:.1f}" for m in measured[form::2, place].mean(axis=0)) for form in (0, 1)
            ]
            gain = measured[:, place, -1:] - measured[:, 0, -1:]
            low, high = np.percentile(resampled(gain, list(map(str, film_of))), [2.5, 97.5])
            cells.append(f"{100 * gain.mean():+.1f} [{100 * low:.1f}, {100 * high:.1f}]")
            print(f"| {weight:g} | {' | '.join(cells)} |")
        weights, held_out = chosen(measured, np.array(film_of))
        print(f"\nfolds: {weights}: {' '.join(f'{100 * m:.1f}' for m in held_out)}", flush=True)


if __name__ == "__main__":
    main()
