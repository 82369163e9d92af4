"""Moments and saliency on QVHighlights' annotations, with videos simulated from them.

    python -m docs.benchmarks.simulated_highlights [--model FILE ...] [--queries 1550] [--seed 7]

Each query of the validation split gets a video of the space conse that shows it where annotators said so,
and other sentences elsewhere (docs/algorithms/captions.md). The official measures are taken against the
annotations themselves. All rows answer the same videos.
"""

from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np

from docs.benchmarks import argument_parser
from docs.benchmarks.grounding import by_spans, decoded
from tests.conftest import SHARED
from vidsum import checkpoints
from vidsum.datasets.moments import MomentVideo, Query, read_highlights, read_moments
from vidsum.evaluation.highlight_metrics import HighlightMeasures
from vidsum.evaluation.moments import evaluate_highlights
from vidsum.evaluation.report import Row
from vidsum.evaluation.submissions import QueryPrediction
from vidsum.features.resample import resample
from vidsum.grounding.conse import name_embeddings
from vidsum.grounding.find import Request, locate
from vidsum.grounding.spaces import CLASSIFIERS, ClipEmbeddings, text_encoder_of
from vidsum.grounding.text import load_text_encoder
from vidsum.training.captions import embed_captions
from vidsum.training.scripts import filled, script_of
from vidsum.training.simulated import NOISE, Classifier, Simulation, simulate_video
from vidsum.types import FloatArray, Moment

FILE = SHARED / "data" / "qvhighlights" / "highlight_val_release.jsonl"
SPACE = "conse"
TOP_K = 10


def simulated(videos: dict[str, MomentVideo], seed: int) -> Iterator[tuple[str, ClipEmbeddings]]:
    """Each query's qid, and the video that it is asked of."""
    encoder = text_encoder_of(SPACE)
    captions = embed_captions(videos, load_text_encoder(encoder).encode, checkpoints.sha256_of(encoder), seed)
    how = Simulation(captions, [Classifier(name_embeddings(one), NOISE[one]) for one in CLASSIFIERS], 75, 2.0)
    for number, video in enumerate(captions.videos):
        for query in video.queries:
            rng = np.random.default_rng([seed, int(query.qid or 0)])
            yield str(query.qid), simulate_video(filled(script_of(captions, number), captions, rng), how, rng)


def answered(model: str, query: Query, video: ClipEmbeddings) -> Iterator[tuple[str, QueryPrediction]]:
    """What a model finds, and the name of its row; of a DETR model also what its decoder answers."""
    asked = Request([query.text], load_text_encoder(text_encoder_of(SPACE)).encode([query.text]))
    (answer,) = locate(model, video, asked, TOP_K)
    yield model, _prediction(query, answer.moments, answer.saliency)
    if model != "similarity" and (grounder := by_spans(model)):
        (spans,) = decoded(grounder, video, asked, TOP_K)
        assert spans.saliency is not None
        yield f"{model}, spans", _prediction(query, spans.moments, spans.saliency)


def _prediction(query: Query, moments: Sequence[Moment], saliency: FloatArray) -> QueryPrediction:
    """With the saliency of the clips that annotators scored."""
    clips = resample(saliency[:, None], query.n_clips)[:, 0].tolist()
    return QueryPrediction(query.qid, query.text, query.video, tuple(moments), tuple(clips))


def rows_of(models: Sequence[str], n_queries: int, seed: int) -> list[Row[HighlightMeasures]]:
    """Rows of random, whole video and each model, on the same videos."""
    known = read_highlights(FILE)
    found: dict[str, dict[str, QueryPrediction]] = {}
    for qid, video in islice(simulated(read_moments(FILE), seed), n_queries):
        for model in models:
            for row, answer in answered(model, known[qid], video):
                found.setdefault(row, {})[qid] = answer
    queries = {qid: known[qid] for qid in known if qid in found[models[0]]}
    reports = [evaluate_highlights(queries, of_row, name=row) for row, of_row in found.items()]
    return [*reports[0].rows[1:], *(report.rows[0] for report in reports)]


MEASURES = ("R1 .5", "R1 .7", "mAP .5", "mAP .75", "mAP", "HD mAP", "HIT@1")


def measured(row: Row[HighlightMeasures]) -> tuple[float, ...]:
    """`MEASURES` of a row, shares; those of saliency at Very Good."""
    measures = row.measures
    assert measures.moments is not None
    assert measures.clips is not None
    windows, clips = measures.moments["full"], measures.clips["VeryGood"]
    assert windows is not None
    at_iou = (windows.recall[0.5], windows.recall[0.7], windows.precision[0.5], windows.precision[0.75])
    return (*at_iou, windows.mean_precision, clips.precision, clips.hit)


def heading() -> str:
    """The first lines of a table, in Markdown."""
    return "| | " + " | ".join(MEASURES) + " |\n|" + "---|" * (len(MEASURES) + 1)


def main() -> None:
    """Print the table."""
    parser = argument_parser(__doc__)
    parser.add_argument("--model", action="append", default=[])
    parser.add_argument("--queries", type=int, default=1550)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    print(heading())
    for row in rows_of(["similarity", *options.model], options.queries, options.seed):
        print(f"| {row.name} | " + " | ".join(f"{100 * share:.1f}" for share in measured(row)) + " |")


if __name__ == "__main__":
    main()
