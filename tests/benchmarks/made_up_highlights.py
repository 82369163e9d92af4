"""Moments and saliency on QVHighlights' annotations, with videos made up from them: no features are at hand.

    python -m tests.benchmarks.made_up_highlights [--model FILE ...] [--queries 1550] [--seed 7]

Each query of the validation split gets a video of the space conse that shows it where annotators said so,
and other sentences elsewhere (docs/algorithms/captions.md). The official measures are taken against the
annotations themselves. All rows answer the same videos.
"""

import argparse
from collections.abc import Iterator
from itertools import islice

import numpy as np

from tests.conftest import SHARED
from vidsum import checkpoints
from vidsum.datasets.captions import embed_captions, filled, script_of
from vidsum.datasets.highlights import HighlightQuery, read_highlights
from vidsum.datasets.made_up import HAZE, Classifier, Making, see
from vidsum.datasets.moments import MomentVideo, read_moments
from vidsum.evaluation.highlight_predictions import HighlightPrediction
from vidsum.evaluation.highlight_report import HighlightRow, evaluate_highlights
from vidsum.features.resample import resample
from vidsum.grounding.class_names import name_embeddings
from vidsum.grounding.locate import Asked, locate
from vidsum.grounding.spaces import CLASSIFIERS, ClipEmbeddings, text_tower_of
from vidsum.grounding.text import load_text_tower

FILE = SHARED / "data" / "qvhighlights" / "highlight_val_release.jsonl"
SPACE = "conse"
TOP_K = 10


def made_up(videos: dict[str, MomentVideo], seed: int) -> Iterator[tuple[str, ClipEmbeddings]]:
    """Each query's qid, and the video that it is asked of."""
    tower = text_tower_of(SPACE)
    captions = embed_captions(videos, load_text_tower(tower).encode, checkpoints.sha256_of(tower), seed)
    how = Making(captions, [Classifier(name_embeddings(one), HAZE[one]) for one in CLASSIFIERS], 75, 2.0)
    for number, video in enumerate(captions.videos):
        for query in video.queries:
            rng = np.random.default_rng([seed, int(query.qid or 0)])
            yield str(query.qid), see(filled(script_of(captions, number), captions, rng), how, rng)


def answered(model: str, query: HighlightQuery, video: ClipEmbeddings) -> HighlightPrediction:
    """What a model finds: moments, and the saliency of the clips that annotators scored."""
    vectors = load_text_tower(text_tower_of(SPACE)).encode([query.text])
    (found,) = locate(model, video, Asked([query.text], vectors), TOP_K)
    saliency = resample(found.saliency[:, None], query.n_clips)[:, 0]
    return HighlightPrediction(
        query.qid, query.text, query.video, tuple(found.moments), tuple(saliency.tolist())
    )


def line(row: HighlightRow) -> str:
    """The official measures of a row, in Markdown, per cent."""
    assert row.moments is not None
    assert row.clips is not None
    windows, clips = row.moments["full"], row.clips["VeryGood"]
    assert windows is not None
    shares = (windows.recall[0.5], windows.recall[0.7], windows.precision[0.5], windows.precision[0.75])
    shares = (*shares, windows.mean_precision, clips.precision, clips.hit)
    return f"| {row.name} | " + " | ".join(f"{100 * share:.1f}" for share in shares) + " |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", action="append", default=[])
    parser.add_argument("--queries", type=int, default=1550)
    parser.add_argument("--seed", type=int, default=7)
    asked = parser.parse_args()
    known = read_highlights(FILE)
    models = ["similarity", *asked.model]
    found: dict[str, dict[str, HighlightPrediction]] = {model: {} for model in models}
    for qid, video in islice(made_up(read_moments(FILE), asked.seed), asked.queries):
        for model in models:
            found[model][qid] = answered(model, known[qid], video)
    queries = {qid: query for qid, query in known.items() if qid in found["similarity"]}
    print(f"{len(queries)} queries\n")
    print("| | R1 .5 | R1 .7 | mAP .5 | mAP .75 | mAP | HD mAP | HIT@1 |")
    print("|---|---|---|---|---|---|---|---|")
    for model in models:
        report = evaluate_highlights(queries, found[model], name=model)
        if model == models[0]:
            print("\n".join(line(row) for row in report.rows[1:]))
        print(line(report.rows[0]))


if __name__ == "__main__":
    main()
