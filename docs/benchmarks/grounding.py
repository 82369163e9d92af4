"""How well moments are found in real footage: composites of real clips, whose moments are known.

    python -m docs.benchmarks.grounding FOLDER [--clips all|even|odd] [--seeds 5 6 7 8 9] [--seconds 120]
        [--model mrnet] [--model RUN/best.safetensors ...]

Joins the shared clips into videos in FOLDER, one a seed (those that are there are used again), and asks
each for the captions of its clips. Settings were chosen with `--clips even --seeds 0 1 2 3 4` alone.
"""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from docs.benchmarks import argument_parser
from tests.conftest import SHARED
from vidsum import checkpoints
from vidsum.checkpoints.named import named_file
from vidsum.checkpoints.trained import read_trained
from vidsum.datasets.moments import MomentVideo, Query
from vidsum.evaluation.moments import evaluate_moments
from vidsum.evaluation.submissions import MomentPredictions
from vidsum.grounding.find import Request, locate, model_for
from vidsum.grounding.grounder import Grounder, Prediction, ground_video, grounder_of
from vidsum.grounding.proposals import Grouping, moments_of
from vidsum.grounding.spaces import (
    ClipEmbeddings,
    curves_of,
    embed_queries,
    embed_video,
    embed_words,
    extractions_of,
)
from vidsum.models.detr_models import MODELS
from vidsum.pipelines.extraction import extraction_job, run_jobs
from vidsum.settings import Extraction
from vidsum.types import FloatArray, Moment
from vidsum.video.probe import probe

HALVES = {"all": slice(None), "even": slice(0, None, 2), "odd": slice(1, None, 2)}
TOP_K = 5


def composite(folder: Path, clips: str, seconds: int, seed: int) -> tuple[Path, MomentVideo]:
    """A video of joined clips, and where each caption is true in it."""
    target = folder / f"{clips}_{seconds}_{seed}.mp4"
    if not target.with_suffix(".json").exists():
        _join(folder, target, clips, seconds, seed)
    return target, truth_of(target)


def truth_of(film: Path) -> MomentVideo:
    """Where each caption is true in a composite, from the JSON beside it."""
    truth: dict[str, Any] = json.loads(film.with_suffix(".json").read_text())
    windows: dict[str, list[tuple[float, float]]] = {}
    for moment in truth["moments"]:
        windows.setdefault(moment["query"], []).append((moment["start"], moment["end"]))
    queries = tuple(
        Query("", text, film.stem, truth["duration"], tuple(where)) for text, where in windows.items()
    )
    return MomentVideo(film.stem, truth["duration"], queries)


def _join(folder: Path, target: Path, clips: str, seconds: int, seed: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    known = json.loads((SHARED / "videos" / "clips.json").read_text())["clips"]
    chosen = [{**one, "file": str(SHARED / "videos" / one["file"])} for one in known[HALVES[clips]]]
    listed = folder / f"{clips}.json"
    listed.write_text(json.dumps({"clips": chosen}))
    tool = SHARED / "tools" / "make_composite.py"
    options = [f"--seconds={seconds}", f"--seed={seed}"]
    subprocess.run([sys.executable, tool, listed, target, *options], check=True)


def embed(path: Path, space: str) -> ClipEmbeddings:
    """A composite in a space; its features are kept in the cache."""
    video, how = probe(path), Extraction()
    jobs = [extraction_job(video, one) for one in extractions_of(space, how)]
    return embed_video(space, run_jobs(video, jobs, how, None))


def by_curve(
    video: ClipEmbeddings, curves: FloatArray, grouping: Grouping = "contrast"
) -> list[list[Moment]]:
    """Moments of each query by the grouping of its curve [T]."""
    where = (video.timestamps, video.step_s, video.duration_s, TOP_K)
    return [moments_of(curve, *where, grouping=grouping) for curve in curves]


def answers(
    path: Path, texts: Sequence[str], spaces: Sequence[str], models: Sequence[str]
) -> dict[str, list[list[Moment]]]:
    """The moments of each query by each row of the table."""
    found: dict[str, list[list[Moment]]] = {}
    for space in spaces:
        video, queries = embed(path, space), embed_queries(space, texts)
        curves = curves_of(video, queries)
        rows = ["motion", "objects", "similarity"] if curves.shape[1] == 3 else ["similarity"]
        for number, row in enumerate(rows):
            found[f"{space}: {row}"] = by_curve(video, curves[:, number])
        found[f"{space}: similarity, hybrid"] = by_curve(video, curves[:, -1], "hybrid")
        for model in models:
            named, reads = model_for(model, "auto")
            if reads == space:
                asked = Request(texts, queries)
                found[model] = [list(one.moments) for one in locate(named, video, asked, TOP_K)]
                if grounder := by_spans(named):
                    answered = decoded(grounder, video, asked, TOP_K)
                    found[f"{model}, spans"] = [one.moments for one in answered]
    return found


@lru_cache(maxsize=20)
def by_spans(model: str) -> Grounder | None:
    """A DETR model that answers with its decoder's spans, and not with runs of its saliency."""
    trained = read_trained(named_file(model))
    return replace(grounder_of(trained, model), moments="spans") if trained.model in MODELS else None


def decoded(grounder: Grounder, video: ClipEmbeddings, asked: Request, top_k: int) -> list[Prediction]:
    """What it finds for each query."""
    return ground_video(grounder, video, embed_words(grounder.space, asked.texts), asked.vectors, top_k)


def table(truths: Mapping[str, MomentVideo], rows: Mapping[str, MomentPredictions]) -> str:
    """The measures of each row, in Markdown."""
    report = evaluate_moments(truths, rows)
    lines = [f"{report.facts['n_videos']} videos, {report.facts['n_queries']} queries", ""]
    lines += ["| | R@1 IoU .5 | R@1 IoU .7 | R@5 IoU .5 | mIoU |", "|---|---|---|---|---|"]
    for row in report.rows:
        recall = row.measures.recall
        shares = (recall[1, 0.5], recall[1, 0.7], recall[5, 0.5], row.measures.miou)
        lines.append(f"| {row.name} | " + " | ".join(f"{100 * share:.1f}" for share in shares) + " |")
    return "\n".join(lines)


def main() -> None:
    """Print the table."""
    parser = argument_parser(__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--clips", choices=HALVES, default="all")
    parser.add_argument("--seeds", type=int, nargs="+", default=[5, 6, 7, 8, 9])
    parser.add_argument("--seconds", type=int, default=120)
    parser.add_argument("--model", action="append", default=[])
    options = parser.parse_args()
    spaces = ["conse"] if checkpoints.find("clip") is None else ["conse", "clip"]
    truths: dict[str, MomentVideo] = {}
    rows: dict[str, dict[str, list[list[Moment]]]] = {}
    for seed in options.seeds:
        path, truth = composite(options.folder, options.clips, options.seconds, seed)
        truths[truth.name] = truth
        texts = [query.text for query in truth.queries]
        for row, found in answers(path, texts, spaces, options.model).items():
            rows.setdefault(row, {})[truth.name] = found
    print(table(truths, rows))
    lengths = [
        end - start for one in truths.values() for query in one.queries for start, end in query.windows
    ]
    print(f"\nmoments of {np.min(lengths):.1f} to {np.max(lengths):.1f} s; without CLIP" * (len(spaces) == 1))


if __name__ == "__main__":
    main()
