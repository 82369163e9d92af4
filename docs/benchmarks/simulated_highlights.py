"""Moments and saliency of QVHighlights' queries, in videos as the map might show them.

    python -m docs.benchmarks.simulated_highlights ANNOTATIONS.jsonl CAPTIONS.jsonl.gz [--model FILE ...]
        [--seed 7]

A video shows the captions of its clips, as the visual-semantic map shows what captions describe
(docs/algorithms/captions.md). Queries, windows and saliency are people's. All rows answer the same videos.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from docs.benchmarks import argument_parser
from docs.benchmarks.grounding import by_spans, decoded
from vidsum import checkpoints
from vidsum.grounding.find import EncodedQueries, locate
from vidsum.grounding.spaces import ClipEmbeddings
from vidsum.grounding.text import load_text_encoder
from vidsum.grounding.vse import load_map
from vidsum.grounding.windows import resample
from vidsum.lab.datasets.clip_captions import embed_captions, read_clip_captions
from vidsum.lab.datasets.moments import MomentVideo, Query, read_highlights, read_moments
from vidsum.lab.evaluation.highlight_metrics import HighlightMeasures
from vidsum.lab.evaluation.moments import evaluate_highlights
from vidsum.lab.evaluation.report import Row
from vidsum.lab.evaluation.submissions import QueryPrediction
from vidsum.lab.training.scripts import script_of
from vidsum.lab.training.sentences import ClipCaptions, captions_of, embed_sentences
from vidsum.lab.training.simulated import SimulationSettings, simulate_video
from vidsum.results.moments import Moment
from vidsum.types import FloatArray

ENCODER = "minilm"
TOP_K = 10


def simulation(videos: dict[str, MomentVideo], captions: Path) -> SimulationSettings:
    """How the videos are simulated that have captions of their clips."""
    texts = read_clip_captions(captions)
    vectors = embed_captions(texts)
    clips = {name: ClipCaptions(texts[name], vectors[name]) for name in videos if name in texts}
    encode, sha256 = load_text_encoder(ENCODER).encode, checkpoints.sha256_of(ENCODER)
    described = {name: videos[name] for name in clips}
    known = captions_of(described, embed_sentences(described, encode, sha256), clips)
    return SimulationSettings(known, load_map().simulate, 75, 2.0)


def simulate_dataset(
    videos: dict[str, MomentVideo], captions: Path, seed: int
) -> Iterator[tuple[MomentVideo, ClipEmbeddings]]:
    """Each video that has captions of its clips, as the map might show it."""
    settings = simulation(videos, captions)
    for number, video in enumerate(settings.captions.videos):
        script = script_of(settings.captions, number)
        yield video, simulate_video(script, settings, np.random.default_rng([seed, number]))


def answered(model: str, query: Query, video: ClipEmbeddings) -> Iterator[tuple[str, QueryPrediction]]:
    """Return a model's moments, and the name of its row; of a DETR model also what its decoder answers."""
    request = EncodedQueries([query.text], load_text_encoder(ENCODER).encode([query.text]))
    (answer,) = locate(model, video, request, TOP_K)
    yield model, _prediction(query, answer.moments, answer.saliency)
    if model != "similarity":
        (alone,) = locate(model, video, request, TOP_K, alone=True)
        yield f"{model}, alone", _prediction(query, alone.moments, alone.saliency)
    if model != "similarity" and (grounder := by_spans(model)):
        (spans,) = decoded(grounder, video, request, TOP_K)
        assert spans.saliency is not None
        yield f"{model}, spans", _prediction(query, spans.moments, spans.saliency)


def _prediction(query: Query, moments: Sequence[Moment], saliency: FloatArray) -> QueryPrediction:
    """With the saliency of the clips that annotators scored."""
    clips = resample(saliency[:, None], query.n_clips)[:, 0].tolist()
    return QueryPrediction(query.qid, query.text, query.video, tuple(moments), tuple(clips))


def rows_of(
    annotations: Path, captions: Path, models: Sequence[str], seed: int
) -> list[Row[HighlightMeasures]]:
    """Rows of random, whole video and each model, on the same videos."""
    known = read_highlights(annotations)
    rows: dict[str, dict[str, QueryPrediction]] = {}
    for video, seen in simulate_dataset(dict(read_moments(annotations)), captions, seed):
        for query in video.queries:
            for model in models:
                for row, answer in answered(model, known[str(query.qid)], seen):
                    rows.setdefault(row, {})[str(query.qid)] = answer
    queries = {qid: known[qid] for qid in known if qid in rows[models[0]]}
    reports = [evaluate_highlights(queries, of_row, name=row) for row, of_row in rows.items()]
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


def main() -> None:
    """Print the table."""
    parser = argument_parser(__doc__, "annotations", "captions")
    parser.add_argument("--model", action="append", default=[])
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    models = ["similarity", *options.model]
    print("| | " + " | ".join(MEASURES) + " |\n|" + "---|" * (len(MEASURES) + 1))
    for row in rows_of(options.annotations, options.captions, models, options.seed):
        print(f"| {row.name} | " + " | ".join(f"{100 * share:.1f}" for share in measured(row)) + " |")


if __name__ == "__main__":
    main()
