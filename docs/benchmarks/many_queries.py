"""What many queries on a long video cost by each model, and whether MRNet loses anything in bf16.

    python -m docs.benchmarks.many_queries FOLDER

The ten films of `docs.benchmarks.grounding`, whose features it uses again, one after another as one video of
20 minutes, asked 53 of their queries: processor seconds on one thread, features and text embeddings apart.
Then MRNet in fp32 and in bf16 on the ten films, asked captions, paraphrases and short queries: R@1 at IoU .5
and .7, R@5 at .5, per cent, and the difference in R@1 .5 with 95 per cent of a bootstrap over clips.
"""

import time

import numpy as np
import torch

from docs.benchmarks import argument_parser
from docs.benchmarks.grounding import TOP_K, measures, resampled
from docs.benchmarks.joined import Asked, composite, embed, one_after_another, truth_of
from vidsum.device import Precision
from vidsum.grounding.find import Request, locate
from vidsum.grounding.spaces import embed_queries
from vidsum.intervals import stack_intervals
from vidsum.lab.evaluation.moment_metrics import best_ious
from vidsum.types import TimeArray

KINDS = ("query", "paraphrase", "short")
MODELS: tuple[tuple[str, Precision], ...] = (
    ("similarity", "fp32"),
    ("mrnet", "fp32"),
    ("mrnet", "bf16"),
    ("qd-detr", "fp32"),
    ("qd-detr-stamp", "fp32"),
    ("moment-detr", "fp32"),
)
N_QUERIES = 53


def seconds(model: str, precision: Precision, asked: Asked, texts: list[str]) -> float:
    """Processor seconds of a model for some queries on a video, once it is loaded."""
    request = Request(texts, embed_queries("vse", texts, "cpu"))
    video = asked[0]
    locate(model, video, Request(texts[:1], request.vectors[:1]), TOP_K, "cpu", precision)
    started = time.process_time()
    locate(model, video, request, TOP_K, "cpu", precision)
    return time.process_time() - started


def found(films: list[Asked], precision: Precision) -> tuple[TimeArray, list[str], list[tuple[float, float]]]:
    """[Q, 4] measures of MRNet's answers, the clip that each query is about, and the first answers."""
    ious, clips, firsts = [], list[str](), list[tuple[float, float]]()
    for video, truth in films:
        texts = [query.text for query in truth.queries]
        answers = locate(
            "mrnet", video, Request(texts, embed_queries("vse", texts, "cpu")), TOP_K, "cpu", precision
        )
        intervals = [[(one.start_s, one.end_s) for one in answer.moments] for answer in answers]
        windows = stack_intervals([query.windows for query in truth.queries])
        ious.append(best_ious(stack_intervals(intervals, TOP_K), windows))
        clips += [query.qid for query in truth.queries]
        firsts += [row[0] for row in intervals]
    return measures(np.concatenate(ious)), clips, firsts


def main() -> None:
    """Print both tables."""
    parser = argument_parser(__doc__, "folder")
    parser.add_argument("--seeds", type=int, nargs="+", default=range(10))
    options = parser.parse_args()
    torch.set_num_threads(1)
    films = [composite(options.folder, "all", 120, seed)[0] for seed in options.seeds]
    videos = [embed(film, "vse") for film in films]
    by_kind = {kind: [truth_of(film, kind) for film in films] for kind in KINDS}
    long = one_after_another(videos, by_kind["query"])
    every = [query.text for truths in by_kind.values() for film in truths for query in film.queries]
    texts = list(dict.fromkeys(every))[:N_QUERIES]
    print(f"{len(texts)} queries, {long[1].duration_s / 60:.0f} minutes\n")
    print("| model | processor s |\n|---|---|")
    for model, precision in MODELS:
        cost = seconds(model, precision, long, texts)
        print(f"| {model}, {precision} | {cost:.1f} |", flush=True)
    print("\n| kind | queries | fp32 | bf16 | difference | same first answer |\n|---|---|---|---|---|---|")
    for kind, truths in by_kind.items():
        asked = list(zip(videos, truths, strict=True))
        (exact, clips, first), (rough, _, second) = (found(asked, how) for how in ("fp32", "bf16"))
        cells = [" / ".join(f"{100 * mean:.1f}" for mean in each.mean(axis=0)[:3]) for each in (exact, rough)]
        less = 100 * (rough - exact)
        low, high = np.percentile(resampled(less, clips)[:, 0], [2.5, 97.5])
        same = np.mean([a == b for a, b in zip(first, second, strict=True)])
        cells += [f"{less[:, 0].mean():.1f} [{low:.1f}, {high:.1f}]", f"{100 * same:.0f} %"]
        print(f"| {kind} | {len(clips)} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
