"""Moment models with a warm-up, on captions of the clips of QVHighlights' videos, beside similarity.

    OMP_NUM_THREADS=1 nice -n 15 python -m docs.benchmarks.moment_models --out RUNS \\
        --annotations highlight_val_release.jsonl --captions clip_captions_val.jsonl.gz

Folds are those of `highlight_folds`: a model answers one, and trains on the other four less a tenth of their
videos, which choose the epoch. A video is 75 clips, whose captions MiniLM embeds, with the cosine to the
query as the guide. Similarity learns nothing: the mean of that cosine over three clips, grouped as `vidsum
ground` does. Random is the mean of ten draws. Rows of "another" ask the trained model with the next query or
its video: where nothing is lost, the model does not read it. A row is over all of its runs, a run being one
fold and seed, and over the runs of each seed; differences from similarity are of the same queries, and their
95 per cent intervals of a bootstrap over YouTube's videos. Deviation and perplexity are those of `states`. A
killed run goes on; a finished one is not done again.
"""

import argparse
import csv
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from docs.benchmarks import argument_parser, processor_s
from docs.benchmarks.grounding import intervals
from docs.benchmarks.highlight_folds import N_FOLDS, Data
from docs.benchmarks.states import spread
from docs.benchmarks.tables import print_table, with_interval
from vidsum.checkpoints.trained import read_trained
from vidsum.grounding.moment_model import MomentModel, MomentSource, build_moment_model, ground_video
from vidsum.grounding.proposals import find_moments
from vidsum.grounding.spaces import ClipEmbeddings, guided_rows, similarity
from vidsum.grounding.text_encoders import load_text_encoder
from vidsum.grounding.windows import resample, with_endpoints
from vidsum.lab.datasets.clip_captions import embed_captions, read_clip_captions
from vidsum.lab.datasets.moment_examples import HighlightExample, MomentExample, scores_at
from vidsum.lab.datasets.timed_sentences import CLIP_S, read_moments
from vidsum.lab.evaluation.highlight_metrics import MAX_MOMENTS, measure_moments
from vidsum.lab.evaluation.moment_evaluation import random_moments
from vidsum.lab.training.annotated import MomentData
from vidsum.lab.training.loop import FitResult
from vidsum.lab.training.settings import DETRSettings, MRNetSettings
from vidsum.lab.training.train_detr import train_detr
from vidsum.lab.training.train_mrnet import train_mrnet
from vidsum.options import build
from vidsum.results.moments import Moment
from vidsum.types import TimeArray, stack_intervals

CLIPS = 75
FEATURES = {"space": "features", "text": "minilm", "clip_s": CLIP_S, "guided": True}
SMALL_MRNET = {
    "d": 128,
    "d_ff": 256,
    "dim_map": 32,
    "hidden": 32,
    "kernel": 3,
    "dim_joint": 32,
    "batch_size": 12,
}
RECIPES: Mapping[str, Mapping[str, Any]] = {
    "mrnet": {**MRNetSettings.published("captions", "light"), **SMALL_MRNET},
    "qd-detr": DETRSettings.published("captions", "light"),
    "moment-detr": DETRSettings.published("captions", "light"),
}
"""The preset `captions`, with `WARM_UP`."""
WARM_UP = 2.0  # epochs
SOURCES: Mapping[str, Sequence[MomentSource]] = {"mrnet": ("spans",)}
"""Where moments come from; DETR models have spans, as published, and runs of saliency, as `ground` takes."""
PARTS = ("", "query", "video")
"""The part of the input that another query gives: an ablation."""
MEASURES = ("R1 .5", "R1 .7", "mAP")
SIMILARITY = "similarity"
BEST, LOG = "best.safetensors", "log.csv"
DRAWS = 10  # of random moments
Measures = dict[str, list[Any]]  # qid -> [YouTube video, R1 .5, R1 .7, mAP]
Rows = dict[str, list[Measures]]  # the measures of each run


def read_data(annotations: Path, captions: Path) -> Data:
    """All queries of the file, and their videos' captions, by MiniLM."""
    of_video, encoder = embed_captions(read_clip_captions(captions)), load_text_encoder("minilm")
    queries = [query for video in read_moments(annotations).values() for query in video.queries]
    texts = [query.text for query in queries]
    vectors, words = encoder.encode(texts), encoder.encode_words(texts)
    videos, examples = [], []
    for query, vector, tokens in zip(queries, vectors, words, strict=True):
        assert query.saliency is not None
        rows = of_video[query.video][: min(query.n_clips, CLIPS)]
        videos.append(ClipEmbeddings(rows, np.arange(len(rows)) * CLIP_S, CLIP_S, query.duration_s))
        clips = with_endpoints(guided_rows(videos[-1], vector))
        windows = np.array(query.windows, np.float32) / np.float32(query.duration_s)
        scores = scores_at(query.saliency, np.arange(len(rows)) * CLIP_S)
        examples.append(HighlightExample(query.video, clips, tokens[:32], windows, scores))
    return Data(queries, vectors, videos, examples)


def train_model(name: str, data: Data, fold: int, seed: int, epochs: int | None, out: Path) -> FitResult:
    """Train a model for a fold, or go on with it."""
    choices = {**RECIPES[name], "clips": CLIPS, "warmup": WARM_UP, "seed": seed, "device": "cpu"}
    if epochs:
        stretch = epochs / choices["epochs"]
        choices |= {"epochs": epochs, "decay_at": [round(stretch * at) for at in choices["decay_at"]]}
    parts = data.split(fold)
    if name == "mrnet":
        train, val = ([alone(data, n) for n in parts[part]] for part in ("train", "val"))
        moments = MomentData(lambda epoch: train, val, FEATURES, {})
        return train_mrnet(moments, build(MRNetSettings, choices), out, progress=print_epoch)
    drawn = partial(data.draw, parts["train"], seed)
    highlights = MomentData(drawn, [data.examples[n] for n in parts["val"]], FEATURES, {})
    return train_detr(highlights, name, build(DETRSettings, choices), out, progress=print_epoch)


def alone(data: Data, number: int) -> MomentExample:
    """A query with its video as MRNet reads them."""
    clips = resample(guided_rows(data.videos[number], data.vectors[number]), CLIPS)
    example = data.examples[number]
    return MomentExample(example.name, clips, data.vectors[number, None], example.windows[None])


def print_epoch(name: str, done: float, total: float) -> None:
    """Say how far a training is, after each epoch."""
    if done == int(done):
        print(f"{name}: {done:.0f} of {total:.0f} epochs, {processor_s():.0f} s", flush=True)


class QueryInput(NamedTuple):
    """The numbers of the queries whose video, and whose text, a model gets."""

    video: int
    text: int


def exchange_inputs(part: str, numbers: Sequence[int], data: Data) -> Iterator[QueryInput]:
    """Yield the input for each query of a fold, in which a part may come from another query."""
    for place, number in enumerate(numbers):
        others = (*numbers[place + 1 :], *numbers[:place])
        other = next(n for n in others if data.queries[n].video != data.queries[number].video)
        yield {
            "": QueryInput(number, number),
            "query": QueryInput(number, other),
            "video": QueryInput(other, number),
        }[part]


def by_model(model: MomentModel, data: Data, ask: QueryInput) -> list[Moment]:
    """The model's moments; MRNet reads no words, but the vector that its guide comes from."""
    vector = data.vectors[ask.text, None]
    words = data.examples[ask.text].words if model.max_words else vector
    return ground_video(model, data.videos[ask.video], [words], vector, MAX_MOMENTS)[0].moments


def by_similarity(data: Data, ask: QueryInput) -> list[Moment]:
    """Moments of the mean of the cosine over three clips."""
    video = data.videos[ask.video]
    curve = similarity(video, data.vectors[ask.text, None])[0]
    smooth = np.convolve(np.pad(curve, 1, mode="edge"), np.full(3, 1 / 3), "valid").astype(np.float32)
    return find_moments(smooth, video.timestamps, CLIP_S, video.duration_s, MAX_MOMENTS)


def by_chance(draw: TimeArray, ask: QueryInput) -> list[Moment]:
    """Moments of a draw [Q, K, 2] for all queries, all with the same score."""
    return [Moment(start_s, end_s, 0.0) for start_s, end_s in draw[ask.video].tolist()]


def baselines(data: Data, folds: Iterable[Sequence[int]]) -> Rows:
    """Return the rows of similarity and of random moments, for the queries of some folds."""
    tested = [*chain(*folds)]
    draws = random_moments(np.array([query.duration_s for query in data.queries]), DRAWS, MAX_MOMENTS)
    rows: Rows = defaultdict(list)
    rows["random"] = [measure(tested, data, partial(by_chance, draw)) for draw in draws]
    rows[SIMILARITY] = [measure(tested, data, partial(by_similarity, data))]
    return rows


def measure(
    numbers: Sequence[int], data: Data, answer: Callable[[QueryInput], list[Moment]], part: str = ""
) -> Measures:
    """The official measures of the answers to each query, part of which is another's."""
    measures: Measures = {}
    for number, ask in zip(numbers, exchange_inputs(part, numbers, data), strict=True):
        query, moments = data.queries[number], answer(ask)
        spans = stack_intervals([[moment.interval for moment in moments]], MAX_MOMENTS)
        scores = np.full((1, MAX_MOMENTS), -np.inf)
        scores[0, : len(moments)] = [moment.score for moment in moments]
        figures = measure_moments(spans, scores, stack_intervals([query.windows]))["full"]
        assert figures
        group = query.video.rsplit("_", 2)[0]
        measures[query.qid] = [group, figures.recall[0.5], figures.recall[0.7], figures.mean_precision]
    return measures


def rows_of(name: str, folder: Path, data: Data, numbers: Sequence[int]) -> dict[str, Any]:
    """The measures of the best epoch so far of a model, whole and with parts of another query."""
    model = build_moment_model(read_trained(folder / BEST), name, "cpu")
    model.model.eval()
    rows = {}
    for source in SOURCES.get(name, ("spans", "saliency")):
        answer = partial(by_model, replace(model, moments=source), data)
        for part in PARTS:
            row = f"{name}, {source}" + (f", another {part}" if part else "")
            rows[row] = measure(numbers, data, answer, part)
    return rows


def facts_of(name: str, folder: Path, data: Data, numbers: Sequence[int]) -> list[str]:
    """A row of a training: epochs, the best one, its validation, and the spread of the states."""
    trained = read_trained(folder / BEST)
    model = build_moment_model(trained, name, "cpu").model.eval()
    of_queries = []
    for n in numbers:
        rows = resample(guided_rows(data.videos[n], data.vectors[n]), CLIPS)
        words = data.vectors[n, None] if name == "mrnet" else data.examples[n].words
        of_queries.append(spread(model, rows, words))
    deviation, perplexity = np.mean(of_queries, axis=0)
    with (folder / LOG).open(encoding="utf-8") as log:
        epochs = len(list(csv.DictReader(log)))
    best = trained.training["best"]
    facts = [
        f"{epochs} of {trained.training['epochs']}",
        f"{best['epoch']}",
        f"{100 * best['validation']:.1f}",
    ]
    return [name, *facts, f"{deviation:.2f}", "-" if np.isnan(perplexity) else f"{perplexity:.2f}"]


def print_rows(rows: Mapping[str, Sequence[Measures]]) -> None:
    """Print the mean of each row over its runs, and its differences from similarity on the same queries."""
    floor = {qid: values[1:] for measures in rows[SIMILARITY] for qid, values in measures.items()}

    def cells(row: str) -> list[str]:
        queries = [item for measures in rows[row] for item in measures.items()]
        figures = 100 * np.array([values[1:] for _, values in queries])
        gains = figures - 100 * np.array([floor[qid] for qid, _ in queries])
        means, ends = intervals(gains, [values[0] for _, values in queries])
        differences = (with_interval(*cell, 1) for cell in zip(means, ends.T, strict=True))
        counts = f"{len(rows[row])}", f"{len(queries)}"
        return [row, *counts, *(f"{value:.1f}" for value in figures.mean(axis=0)), *differences]

    less = (f"{name} less {SIMILARITY}" for name in MEASURES)
    print_table(["row", "runs", "answers", *MEASURES, *less], map(cells, rows))


def main() -> None:
    """Train what is missing and print the tables."""
    data_files = "--annotations data/highlights/queries.jsonl --captions data/highlights/captions.jsonl"
    small = f"{data_files} --out data --only mrnet qd-detr --epochs 1"
    parser = argument_parser(__doc__, small=small)
    for name in ("annotations", "captions", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--only", nargs="+", choices=[*RECIPES], default=[*RECIPES], metavar="MODEL")
    parser.add_argument("--folds", nargs="+", type=int, choices=range(N_FOLDS), default=[0])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--epochs", type=int, help="default: of the recipe; the learning rate falls in step")
    parser.add_argument("--table", action="store_true", help="train nothing: the tables of what is there")
    options: argparse.Namespace = parser.parse_args()
    torch.set_num_threads(1)
    data = read_data(options.annotations, options.captions)
    tested = {fold: data.split(fold)["test"] for fold in options.folds}
    rows, facts = baselines(data, tested.values()), []
    for name, seed, fold in product(options.only, options.seeds, options.folds):
        folder = options.out / f"{name}-{fold}-{seed}"
        if not options.table:
            train_model(name, data, fold, seed, options.epochs, folder)
        if (folder / BEST).exists():
            facts.append([f"{fold}", f"{seed}", *facts_of(name, folder, data, tested[fold])])
            for row, measures in rows_of(name, folder, data, tested[fold]).items():
                rows[row].append(measures)
                if len(options.seeds) > 1 and "another" not in row:
                    rows[f"{row}, seed {seed}"].append(measures)
    heads = ("fold", "seed", "model", "epochs", "best", "validation", "deviation", "perplexity")
    print_table(heads, facts)
    print()
    print_rows(rows)


if __name__ == "__main__":
    main()
