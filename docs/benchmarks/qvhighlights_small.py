"""Masks of QD-DETR in small, on all folds: LAM's Table 1b and c, STAMP's Tables 2 and 3 and Fig. S4.

    OMP_NUM_THREADS=1 nice -n 10 python -m docs.benchmarks.qvhighlights_small --out RUNS \\
        --annotations highlight_val_release.jsonl --captions clip_captions_val.jsonl.gz    # then --table

The folds and captions are those of docs.benchmarks.qvhighlights, in 25 clips a video, embedded by LSA (the
captions alone: no labels), beside the cosine with the query. A run trains for a fixed schedule and answers
with the epoch of the best validation (mAP by spans). Run k is fold k % 5 with seed k. The rows of a run start
from the same weights, but those that only one has, and read the same batches; the runs of a row train side by
side, as one model with a weight more. A run is a file in RUNS; what is there is not done again.
"""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import normalize

from docs.benchmarks import argument_parser
from docs.benchmarks.mask_rows import ROWS, Row, Stack, made, n_parameters
from docs.benchmarks.qvhighlights import N_FOLDS, SOURCES, dealt, youtube_id
from docs.benchmarks.qvhighlights_measures import MEASURES, measures_of
from docs.benchmarks.qvhighlights_small_table import print_table
from vidsum.grounding.proposals import moments_of
from vidsum.grounding.spaces import ClipEmbeddings, guided_rows
from vidsum.grounding.windows import resample, with_endpoints
from vidsum.lab.datasets.clip_captions import read_clip_captions
from vidsum.lab.datasets.examples import HighlightExample, Pair, scores_at
from vidsum.lab.datasets.moments import CLIP_S, Query, read_highlights, read_moments
from vidsum.lab.evaluation.highlight_metrics import MAX_MOMENTS
from vidsum.lab.evaluation.models import to_clips
from vidsum.lab.evaluation.submissions import QueryPrediction
from vidsum.lab.training.detr import clips_inside, detr_loss, measured
from vidsum.lab.training.loop import seed_of
from vidsum.lab.training.moments import Batches, collate_pairs, shuffled
from vidsum.lab.training.settings import DETRSettings
from vidsum.models.detr import Detections, start_end
from vidsum.models.qd_detr import QDDETR
from vidsum.options import build as settings_from
from vidsum.outputs import atomic_write
from vidsum.results.moments import Moment
from vidsum.types import FloatArray

CLIPS, DIM = 25, 64
SIZES = {"clips": CLIPS, "d": 32, "d_ff": 64, "heads": 4, "dropout": 0.0, "lr": 2e-3, "batch_size": 16}
SCHEDULE = {"epochs": 20, "decay_at": (14, 18)}
_CPU = torch.device("cpu")
# --- data ---


@dataclass(frozen=True)
class Data:
    """All queries in one order: what is asked, their vectors, and examples without false pairs."""

    queries: Sequence[Query]
    vectors: FloatArray
    videos: Sequence[ClipEmbeddings]
    examples: Sequence[HighlightExample]

    def parts(self, fold: int) -> dict[str, list[int]]:
        """The numbers of the queries of train, val and test."""
        ids = [youtube_id(query.video) for query in self.queries]
        parts = dealt(ids, fold)
        return {name: [n for n, own in enumerate(ids) if own in part] for name, part in parts.items()}

    def drawn(self, numbers: Sequence[int], seed: int, epoch: int) -> list[HighlightExample]:
        """Examples of an epoch, each with another query of them that its video does not answer."""
        draw, found = np.random.default_rng((seed, epoch)), list[HighlightExample]()
        for number in numbers:
            other = number
            while self.queries[other].video == self.queries[number].video:
                other = numbers[draw.integers(len(numbers))]
            clips = with_endpoints(guided_rows(self.videos[number], self.vectors[other]))
            found.append(replace(self.examples[number], negative=Pair(clips, self.examples[other].words)))
        return found


def read_data(annotations: Path, captions: Path) -> Data:
    """All queries of the file, and their videos' captions, as LSA of the captions has them (no labels)."""
    of_video = read_clip_captions(captions)
    distinct = sorted({caption for own in of_video.values() for caption in own})
    tfidf = TfidfVectorizer(min_df=5, sublinear_tf=True)
    space = TruncatedSVD(DIM, random_state=0).fit(tfidf.fit_transform(distinct))
    words = normalize(space.components_.T).astype(np.float32)
    words_of, number_of = tfidf.build_analyzer(), tfidf.vocabulary_

    def vectors_of(texts: Sequence[str]) -> FloatArray:
        return np.asarray(normalize(space.transform(tfidf.transform(texts))), np.float32)

    queries = [query for video in read_moments(annotations).values() for query in video.queries]
    vectors = vectors_of([query.text for query in queries])
    videos, examples = [], []
    for query, vector in zip(queries, vectors, strict=True):
        assert query.saliency is not None
        step, n_clips = query.duration_s / CLIPS, query.n_clips
        rows = resample(vectors_of(of_video[query.video])[:n_clips], CLIPS)
        videos.append(ClipEmbeddings(rows, np.arange(CLIPS) * step, step, query.duration_s))
        known = [number_of[word] for word in words_of(query.text) if word in number_of]
        given = resample(scores_at(query.saliency, np.arange(n_clips) * CLIP_S)[:, None], CLIPS)[:, 0]
        windows = np.array(query.windows, np.float32) / np.float32(query.duration_s)
        clips = with_endpoints(guided_rows(videos[-1], vector))
        examples.append(HighlightExample(query.video, clips, words[known or [0]][:32], windows, given))
    return Data(queries, vectors, videos, examples)


# --- runs ---


def run(row: Row, data: Data, numbers: Sequence[int]) -> list[dict[str, Any]]:
    """Train on the folds of some runs, side by side, and answer each fold's queries with the best epoch."""
    began = time.process_time()
    parts = [data.parts(number % N_FOLDS) for number in numbers]
    dims = {"dim_video": data.examples[0].video.shape[1], "dim_query": data.examples[0].words.shape[1]}
    chosen = {**SIZES, **SCHEDULE, "seed": numbers[0]}
    tested = [
        ([data.queries[n] for n in own["test"]], [data.examples[n] for n in own["test"]]) for own in parts
    ]
    if not row.trains:
        about = {"parameters": 0, "epoch": 0, "history": [], "seconds": 0}
        return [{**about, "measures": answered(None, *each)} for each in tested]
    settings = settings_from(DETRSettings, chosen, DETRSettings.published("captions", "light"))
    stack = Stack([made(row, replace(settings.model, **dims), number) for number in numbers])
    kept = {name: each.detach().clone() for name, each in stack.weights.items()}
    losses, scores = list[float](), list[list[float]]()
    best, at = [-1.0] * len(numbers), [0] * len(numbers)

    def drawn(epoch: int) -> list[list[HighlightExample]]:
        return [data.drawn(own["train"], number, epoch) for own, number in zip(parts, numbers, strict=True)]

    for epoch, loss in enumerate(epochs(stack, row, drawn, settings), 1):
        losses.append(loss)
        scores.append([])
        for place, own in enumerate(parts):
            found = measured(stack.model(place), [data.examples[n] for n in own["val"]], 128)
            score = found.mean_precision if found else 0.0
            scores[-1].append(score)
            if score > best[place]:
                best[place], at[place] = score, epoch
                for name, each in stack.weights.items():
                    kept[name][place] = each.detach()[place]
    stack.weights = kept
    facts = []
    for place in range(stack.k):
        model = stack.model(place)
        measures = answered(model, *tested[place])
        history = [(loss, each[place]) for loss, each in zip(losses, scores, strict=True)]
        count = {"parameters": n_parameters(model), "epoch": at[place], "history": history}
        facts.append({**count, "seconds": time.process_time() - began, "measures": measures})
    return facts


def epochs(
    stack: Stack, row: Row, examples: Callable[[int], list[list[HighlightExample]]], settings: DETRSettings
) -> Iterator[float]:
    """Train; after each epoch the mean loss of the models together."""
    is_mask = {name: ".mask." in name for name in stack.weights}
    groups = [
        {"params": [each for name, each in stack.weights.items() if is_mask[name] == kind], "share": share}
        for kind, share in ((False, 1.0), (True, row.rate))
    ]
    optimizer = torch.optim.AdamW(groups, lr=settings.lr, weight_decay=settings.weight_decay, fused=True)
    size = settings.batch_size
    for epoch in range(1, settings.loop.epochs + 1):
        torch.manual_seed(seed_of(settings.loop.seed, epoch))
        drawn = [shuffled(own) for own in examples(epoch)]
        steps, losses = min(map(len, drawn)) // size, list[float]()
        for number in range(steps):
            together = [each for own in drawn for each in own[number * size : (number + 1) * size]]
            batch = collate_pairs(together, _CPU)
            loss = detr_loss(cast(QDDETR, stack), batch, settings.loss, with_negatives=True)
            loss = stack.k * (loss + settings.loss.static_sparsity * stack.sparsity())
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            stack.clip(settings.max_norm)
            for group in optimizer.param_groups:
                share = group["share"] * settings.lr_share(epoch - 1 + (number + 1) / steps)
                group["lr"] = settings.lr * share
            optimizer.step()
            losses.append(loss.item() / stack.k)
        yield float(np.mean(losses))


@torch.inference_mode()
def answered(
    model: QDDETR | None, queries: Sequence[Query], examples: Sequence[HighlightExample]
) -> dict[str, list[float | None]]:
    """By query: MEASURES of the spans, mAP of segments of the saliency, the AUC of clips inside windows.

    Without a model the cosine with the query is the saliency, and its segments are the spans.
    """
    answers: dict[str, dict[str, QueryPrediction]] = {source: {} for source in SOURCES}
    areas: dict[str, float | None] = {}
    asked = iter(queries)
    for batch in Batches(examples, 32, collate_pairs, _CPU).values():
        found = model(*batch.inputs) if model else None
        curves = found.saliency if found else batch.inputs.video[..., DIM]
        for row, (curve, inside) in enumerate(zip(curves.numpy(), clips_inside(batch), strict=True)):
            query = next(asked)
            times = np.arange(query.n_clips) * CLIP_S
            clips = curve[np.minimum((times / query.duration_s * CLIPS).astype(int), CLIPS - 1)]
            segments = moments_of(clips, times, CLIP_S, query.duration_s, MAX_MOMENTS, grouping="contrast")
            by_source = (_spans(found, row, query.duration_s) if found else segments), segments
            for source, moments in zip(SOURCES, by_source, strict=True):
                own = tuple(to_clips(moment, query.duration_s) for moment in moments)
                answers[source][query.qid] = QueryPrediction(
                    query.qid, query.text, query.video, own, tuple(clips.tolist())
                )
            is_mixed = inside.any() and not inside.all()
            areas[query.qid] = float(roc_auc_score(inside, curve)) if is_mixed else None
    by_qid = {query.qid: query for query in queries}
    spans_by, segments_by = (measures_of(by_qid, answers[source]) for source in SOURCES)
    place = MEASURES.index("mAP")
    return {qid: [*spans_by[qid], segments_by[qid][place], areas[qid]] for qid in by_qid}


def _spans(found: Detections, row: int, duration_s: float) -> list[Moment]:
    """The moments of a query, best first."""
    spans = duration_s * start_end(found.spans[-1, row]).clamp(0, 1).double().numpy()
    scores = found.logits[-1, row].softmax(-1)[:, 0].double().numpy()
    order = np.argsort(-scores, kind="stable")[:MAX_MOMENTS]
    return [Moment(float(spans[n, 0]), float(spans[n, 1]), float(scores[n])) for n in order]


def run_file(out: Path, row: str, number: int) -> Path:
    """The file of a run."""
    return out / "small" / f"{row.replace(', ', '-').replace(' ', '-').replace('/', '_')}-{number}.json"


def main() -> None:
    """See the module."""
    parser = argument_parser(__doc__)
    parser.add_argument("--annotations", type=Path, required=True)
    parser.add_argument("--captions", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", nargs="+", choices=[*ROWS], default=[*ROWS], metavar="ROW")
    parser.add_argument("--runs", nargs="+", type=int, default=[*range(N_FOLDS)])
    parser.add_argument("--table", action="store_true")
    chosen = parser.parse_args()
    if chosen.table:
        files = {row: [run_file(chosen.out, row, number) for number in chosen.runs] for row in ROWS}
        done = {row: [file for file in own if file.exists()] for row, own in files.items()}
        print_table(done, {qid: query.video for qid, query in read_highlights(chosen.annotations).items()})
        return
    data = read_data(chosen.annotations, chosen.captions)
    for name in chosen.only:
        files = [run_file(chosen.out, name, number) for number in chosen.runs]
        if not all(file.exists() for file in files):
            files[0].parent.mkdir(parents=True, exist_ok=True)
            for file, facts in zip(files, run(ROWS[name], data, chosen.runs), strict=True):
                with atomic_write(file) as target:
                    target.write_text(json.dumps({"row": name, **facts}))
            print(name, chosen.runs, f"{facts['seconds']:.0f} s", flush=True)


if __name__ == "__main__":
    main()
