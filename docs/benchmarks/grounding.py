"""How well moments are found in films joined from real clips, whose moments are known.

    python -m docs.benchmarks.grounding FOLDER [--ask all odd] [--model mrnet] [--model FILE ...]

Joins all shared clips into ten films of two minutes in FOLDER (those that are there are used again), asks
each for its clips by caption, paraphrase, short query and by what no class names, and asks all ten, one
after another, as one film of 20 minutes, for captions. "Contrast" knows no shots. Trained models are added
to similarity; "alone" they answer by themselves. Settings were chosen by the queries about every second clip;
`--ask odd` prints the table of the others, which test them. `--joins N` fades the joins, and the search knows
every Nth alone, so that shots are long. Intervals are of a bootstrap over clips, 95 per cent; the last column
is the paired difference from similarity in R@1 IoU .5.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path

import numpy as np

from docs.benchmarks import argument_parser
from docs.benchmarks.joined import (
    FIRST,
    FOLDERS,
    HALVES,
    KINDS,
    composite,
    embed,
    hide_joins,
    names_of,
    one_after_another,
    truth_of,
)
from vidsum import checkpoints
from vidsum.checkpoints.named import checkpoint_file
from vidsum.checkpoints.trained import read_trained
from vidsum.grounding.chosen_model import EncodedQueries, load_model, locate, resolve_model
from vidsum.grounding.moment_model import MomentModel, Prediction, build_moment_model, ground_video
from vidsum.grounding.proposals import find_moments
from vidsum.grounding.spaces import ClipEmbeddings, embed_queries, embed_words, similarity_curves
from vidsum.lab.datasets.timed_sentences import MomentVideo
from vidsum.lab.evaluation.moment_evaluation import best_ious, random_moments, whole_video
from vidsum.lab.evaluation.submissions import MomentPredictions
from vidsum.models.detr_models import MODELS
from vidsum.results.moments import Moment
from vidsum.types import FloatArray, TimeArray, stack_intervals

TOP_K = 5
_DRAWS = 2000
Answers = dict[str, list[list[Moment]]]
"""Name of the row -> moments of each query."""


def by_curve(video: ClipEmbeddings, curves: FloatArray) -> list[list[Moment]]:
    """Moments of each query by its curve [T]."""
    find = partial(
        find_moments,
        timestamps=video.timestamps,
        step_s=video.step_s,
        duration_s=video.duration_s,
        top_k=TOP_K,
        shots_s=video.shots_s,
        scenes_s=video.scenes_s,
    )
    return [find(curve) for curve in curves]


def answers(
    embedded: Mapping[str, ClipEmbeddings], texts: Sequence[str], models: Sequence[str], parts: bool = False
) -> Answers:
    """The moments of each query by each row of the table; `embedded` is the video in each space."""
    rows: Answers = {}
    for space, video in embedded.items():
        queries = embed_queries(space, texts)
        curves = similarity_curves(video, queries)
        if parts:
            classes = ("objects", "actions")[: bool(video.objects) + bool(video.actions)]
            for number, row in enumerate(("map", *classes)):
                rows[f"{space}: {row}"] = by_curve(video, curves[:, number])
        for model in models:
            named, reads = resolve_model(model, space if model in ("auto", "similarity") else "auto")
            if reads == space:
                request = EncodedQueries(texts, queries)
                row = model if named != "similarity" else f"{space}: {model}"
                rows[row] = [
                    list(answer.moments) for answer in locate(load_model(named), video, request, TOP_K)
                ]
                if named != "similarity":
                    alone_answers = locate(load_model(named), video, request, TOP_K, alone=True)
                    rows[f"{model}, alone"] = [list(answer.moments) for answer in alone_answers]
                    if parts and (grounder := by_spans(named)):
                        answered = decoded(grounder, video, request, TOP_K)
                        rows[f"{model}, spans"] = [answer.moments for answer in answered]
    return rows


@lru_cache(maxsize=20)
def by_spans(model: str) -> MomentModel | None:
    """A DETR model that answers with its decoder's spans, and not with runs of its saliency."""
    trained = read_trained(checkpoint_file(model))
    return replace(build_moment_model(trained, model), moments="spans") if trained.model in MODELS else None


def decoded(
    grounder: MomentModel, video: ClipEmbeddings, request: EncodedQueries, top_k: int
) -> list[Prediction]:
    """Return the model's answers to each query."""
    return ground_video(grounder, video, embed_words(grounder.space, request.texts), request.vectors, top_k)


def measures(ious: TimeArray) -> TimeArray:
    """[..., Q, 4] of IoU [..., Q, K]: is the first .5, is it .7, is any .5; that of the first."""
    first = ious[..., 0]
    return np.stack([first >= 0.5, first >= 0.7, ious.max(axis=-1) >= 0.5, first], axis=-1).astype(np.float64)


def intervals(rows: TimeArray, clips: Sequence[str]) -> tuple[TimeArray, TimeArray]:
    """[M] and [2, M]: the means of rows [Q, M], and their 95 per cent intervals by a bootstrap over clips."""
    return rows.mean(axis=0), np.percentile(resampled(rows, clips), [2.5, 97.5], axis=0)


def resampled(rows: TimeArray, clips: Sequence[str], seed: int = 0) -> TimeArray:
    """[N, M] the means of rows [Q, M] in each of N draws of the clips that the queries are about."""
    _, clip_of = np.unique(clips, return_inverse=True)
    n_clips = int(clip_of.max()) + 1
    sums = np.stack([np.bincount(clip_of, column, n_clips) for column in rows.T], axis=-1)
    draws = np.random.default_rng(seed).multinomial(n_clips, np.full(n_clips, 1 / n_clips), _DRAWS)
    counts = np.bincount(clip_of, minlength=n_clips)
    means: TimeArray = (draws @ sums) / (draws @ counts)[:, None]
    return means


def scored(truths: Mapping[str, MomentVideo], answered: MomentPredictions) -> TimeArray:
    """[Q, 4] `measures` of the answers to all queries."""
    moments = [
        [(m.start_s, m.end_s) for m in query_moments] for video in truths for query_moments in answered[video]
    ]
    windows = [query.windows for truth in truths.values() for query in truth.queries]
    return measures(best_ious(stack_intervals(moments, TOP_K), stack_intervals(windows)))


def table(truths: Mapping[str, MomentVideo], rows: Mapping[str, MomentPredictions]) -> str:
    """The measures of each row, in Markdown, beside chance and the whole video."""
    queries = [query for truth in truths.values() for query in truth.queries]
    windows = stack_intervals([query.windows for query in queries])
    durations_s = np.array([query.duration_s for query in queries])
    measured = {name: scored(truths, of_row) for name, of_row in rows.items()}
    chance = random_moments(durations_s, 10, TOP_K)
    measured["random"] = measures(best_ious(chance, windows)).mean(axis=0)
    measured["whole video"] = measures(best_ious(whole_video(durations_s), windows))
    clips = [query.qid for query in queries]
    lines = [f"{len(truths)} videos, {len(queries)} queries of {len(set(clips))} clips", ""]
    lines += ["| | R@1 IoU .5 | R@1 IoU .7 | R@5 IoU .5 | mIoU | less similarity |", f"|{'---|' * 6}"]
    floor = measured[next(name for name in measured if name.endswith("similarity"))]
    for name, of_row in measured.items():
        of_all = np.column_stack([of_row, of_row[:, 0] - floor[:, 0]])
        means, (low, high) = intervals(of_all, clips)
        cells = [
            f"{100 * m:.1f} [{100 * a:.0f}, {100 * b:.0f}]" for m, a, b in zip(means, low, high, strict=True)
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


VideoInSpaces = tuple[Mapping[str, ClipEmbeddings], MomentVideo]
"""A video in each space, and its queries."""


def compared(
    videos: Sequence[VideoInSpaces],
    models: Sequence[str],
    parts: bool = False,
    halves: Sequence[str] = ("all",),
) -> str:
    """The tables of some videos, one for the queries of each half of the clips."""
    rows: dict[str, dict[str, list[list[Moment]]]] = {}
    for video, truth in videos:
        texts = [query.text for query in truth.queries]
        for row, moments in answers(video, texts, models, parts).items():
            rows.setdefault(row, {})[truth.name] = moments
    truths = {truth.name: truth for _, truth in videos}
    return "\n\n".join(f"{half} clips, {table(*of_half(half, truths, rows))}" for half in halves)


def of_half(
    half: str, truths: Mapping[str, MomentVideo], rows: Mapping[str, Mapping[str, list[list[Moment]]]]
) -> tuple[dict[str, MomentVideo], dict[str, dict[str, list[list[Moment]]]]]:
    """Only the queries of one half of the clips, and their answers; all of footage that is not joined."""
    names = names_of(half)
    chosen = {
        name: [number for number, query in enumerate(truth.queries) if half == "all" or query.qid in names]
        for name, truth in truths.items()
    }
    few = {
        name: replace(truth, queries=tuple(truth.queries[number] for number in chosen[name]))
        for name, truth in truths.items()
    }
    answered = {
        row: {name: [answered_rows[name][number] for number in numbers] for name, numbers in chosen.items()}
        for row, answered_rows in rows.items()
    }
    return few, answered


def main() -> None:
    """Print the tables."""
    parser = argument_parser(__doc__, "folder", small="films --seeds 0 --ask all")
    parser.add_argument("--clips", choices=HALVES, default="all", help="clips that are joined")
    parser.add_argument("--first", action="store_true", help="join the 14 clips without `wide`")
    parser.add_argument(
        "--ask", choices=HALVES, nargs="+", default=["all"], help="clips asked for, a table each"
    )
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--seeds", type=int, nargs="+", default=range(10))
    parser.add_argument("--seconds", type=int, default=120)
    parser.add_argument("--precision", default="auto")
    parser.add_argument("--parts", action="store_true", help="the map, objects and spans alone too")
    parser.add_argument("--joins", type=int, metavar="N", help="fade all joins, and hide all but every Nth")
    parser.add_argument("--model", action="append", default=[])
    options = parser.parse_args()
    spaces = ["vse"] if checkpoints.find("clip") is None else ["vse", "clip"]
    models = ["similarity", *options.model]
    folders = (FIRST,) if options.first else FOLDERS
    films = [
        composite(options.folder, options.clips, options.seconds, seed, folders)[0] for seed in options.seeds
    ]

    def see(path: Path) -> dict[str, ClipEmbeddings]:
        return {space: embed(path, space, options.precision) for space in spaces}

    joined = [see(film) for film in films]
    if options.joins:
        joined = [
            {space: hide_joins(video, options.joins, number) for space, video in spaces.items()}
            for number, spaces in enumerate(joined)
        ]

    def of_kind(kind: str) -> list[MomentVideo]:
        return [truth_of(film, kind) for film in films]

    for kind in options.kinds:
        pairs = list(zip(joined, of_kind(kind), strict=True))
        print(f"{kind}, joined: {compared(pairs, models, options.parts, options.ask)}\n", flush=True)
    embedded = [spaces["vse"] for spaces in joined]
    long, truth = one_after_another(embedded, of_kind("query"))
    tables = compared([({"vse": long}, truth)], models, halves=options.ask)
    print(f"query, {truth.duration_s / 60:.0f} minutes: {tables}", flush=True)


if __name__ == "__main__":
    main()
