"""Masks of QD-DETR in small, trained until validation stops improving: LAM's Table 1b and c, STAMP's Table 3.

    OMP_NUM_THREADS=1 nice -n 19 python -m docs.benchmarks.masks_small --out RUNS \\
        --annotations highlight_val_release.jsonl --captions clip_captions_val.jsonl.gz    # then --table

QVHighlights' validation videos in five folds, all that come from one YouTube video in the same. A video is
25 clips, the captions of which are embedded by LSA (of the captions alone: no labels), with the cosine to the
query. Run k answers fold k with seed k: it trains on the other four less a tenth of their videos, whose mAP
by spans chooses the epoch, and stops after 15 epochs without a better one. The rows of a run draw the same
negatives. A killed run goes on; a finished one is not done again.
"""

import csv
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import normalize

from docs.benchmarks import argument_parser
from docs.benchmarks.highlight_folds import Data
from vidsum.checkpoints.trained import read_trained
from vidsum.grounding.spaces import ClipEmbeddings, guided_rows
from vidsum.grounding.windows import resample, with_endpoints
from vidsum.lab.datasets.clip_captions import read_clip_captions
from vidsum.lab.datasets.moment_examples import HighlightExample, scores_at
from vidsum.lab.datasets.timed_sentences import CLIP_S, read_moments
from vidsum.lab.training.annotated import MomentData
from vidsum.lab.training.settings import DETRSettings
from vidsum.lab.training.train_detr import measure_model, train_detr
from vidsum.models.configs import DETRConfig
from vidsum.models.detr_models import build as build_model
from vidsum.options import build
from vidsum.types import FloatArray, TimeArray, iou

CLIPS, DIM, DRAWS = 25, 64, 10_000
SIZES = {"clips": CLIPS, "d": 64, "d_ff": 128, "heads": 4, "dropout": 0.0, "dropout_in": 0.0}
RECIPE = {"lr": 5e-4, "warmup": 0.3, "decay_at": (40, 60), "batch_size": 16, "epochs": 70, "patience": 15}
ROWS: Mapping[str, Mapping[str, Any]] = {
    "none": {},
    "stamp": {"mask": "stamp"},
    "lam": {"mask": "lam"},
    "+ linear": {"linear_layers": 2},
    "stamp 32 he": {"mask": "stamp", "mask_depth": 32, "mask_init": "he"},
    "static": {"mask": "static"},
}
"""Masks have depth 2 and PyTorch's start unless their name says otherwise."""
MEASURES = ("R1 .5", "R1 .7", "mAP")


def read_data(annotations: Path, captions: Path) -> Data:
    """Return all queries of the file, and their videos' captions, as LSA of the captions has them."""
    of_video = read_clip_captions(captions)
    distinct = sorted({caption for texts in of_video.values() for caption in texts})
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
        scores = resample(scores_at(query.saliency, np.arange(n_clips) * CLIP_S)[:, None], CLIPS)[:, 0]
        windows = np.array(query.windows, np.float32) / np.float32(query.duration_s)
        clips = with_endpoints(guided_rows(videos[-1], vector))
        examples.append(HighlightExample(query.video, clips, words[known or [0]][:32], windows, scores))
    return Data(queries, vectors, videos, examples)


def run(row: str, data: Data, number: int, epochs: int, out: Path) -> dict[str, Any]:
    """Train a row, and measure the best epoch's answer to each query of the fold."""
    parts, chosen = data.split(number), {"epochs": epochs, "seed": number, "device": "cpu"}
    settings = build(DETRSettings, {**SIZES, **RECIPE, **ROWS[row], **chosen})
    source = MomentData(
        partial(data.draw, parts["train"], number), [data.examples[n] for n in parts["val"]], {}, {}
    )
    fitted = train_detr(source, "qd-detr", settings, out / folder_name(row, number))
    trained = read_trained(fitted.checkpoint)
    model = build_model("qd-detr", DETRConfig(**trained.config)).eval()
    model.load_state_dict(dict(trained.tensors))
    measures = {}
    for place in parts["test"]:
        moments = measure_model(model, [data.examples[place]])
        if moments:
            group = data.queries[place].video.rsplit("_", 2)[0]
            figures = moments.recall[0.5], moments.recall[0.7], moments.mean_precision
            measures[data.queries[place].qid] = [group, *figures]
    facts = {"parameters": sum(weights.numel() for weights in model.parameters()), "epoch": fitted.best.epoch}
    about = {"epochs": len(fitted.history), "validation": fitted.best.validation, "measures": measures}
    return {"row": row, "run": number, **facts, **about}


def folder_name(row: str, number: int) -> str:
    """Return the name of a run's folder."""
    return f"{row.replace(' ', '-')}-{number}"


def differences(pairs: Iterable[tuple[Mapping[str, Any], Mapping[str, Any]]]) -> TimeArray:
    """Return [3, M] mean difference of the queries, in per cent, and its 95 % interval.

    Of a bootstrap over the runs and, in each, over the videos of YouTube.
    """
    sums = []
    for first, second in pairs:
        rows = [[*first["measures"][qid], *second["measures"][qid][1:]] for qid in first["measures"]]
        _, video = np.unique([row[0] for row in rows], return_inverse=True)
        values = np.array([row[1:] for row in rows], np.float64)
        gains = np.c_[100 * (values[:, :3] - values[:, 3:]), np.ones(len(rows))]
        by_video = np.zeros((video.max() + 1, 4))
        np.add.at(by_video, video, gains)
        sums.append(by_video)
    draw, drawn = np.random.default_rng(0), np.empty((DRAWS, 3))
    for number in range(DRAWS):
        total = np.zeros(4)
        for place in draw.integers(len(sums), size=len(sums)):
            total += sums[place][draw.integers(len(sums[place]), size=len(sums[place]))].sum(axis=0)
        drawn[number] = total[:3] / total[3]
    whole = sum(part.sum(axis=0) for part in sums)
    return np.stack([whole[:3] / whole[3], *np.percentile(drawn, [2.5, 97.5], axis=0)])


def whole_video_recall(annotations: Path, runs: Sequence[Mapping[str, Any]]) -> float:
    """Return R@1 at IoU .5, in per cent, of the whole video as the answer to each query of the runs."""
    queries = {query.qid: query for video in read_moments(annotations).values() for query in video.queries}
    tested = [queries[qid] for run in runs for qid in run["measures"]]
    hits = [iou([(0.0, query.duration_s)], query.windows).max() >= 0.5 for query in tested]
    return 100 * float(np.mean(hits))


def print_table(runs: Sequence[Mapping[str, Any]]) -> None:
    """Print a CSV: means of each row over its runs, and paired differences from none."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    facts = ("row", "runs", "parameters", "best epochs", "epochs", "validation mAP")
    writer.writerow([*facts, *MEASURES, *(f"{name} - none" for name in MEASURES)])
    reference = {run["run"]: run for run in runs if run["row"] == "none"}
    for row in ROWS:
        of_row = [run for run in runs if run["row"] == row]
        if not of_row:
            continue
        values = np.array([measures[1:] for run in of_row for measures in run["measures"].values()])
        epochs = [" ".join(str(run[name]) for run in of_row) for name in ("epoch", "epochs")]
        validation = f"{100 * np.mean([run['validation'] for run in of_row]):.1f}"
        means = [f"{100 * value:.1f}" for value in values.mean(axis=0)]
        pairs = [(run, reference[run["run"]]) for run in of_row if run["run"] in reference]
        cells = [f"{m:+.1f} [{low:.1f}, {high:.1f}]" for m, low, high in differences(pairs).T]
        writer.writerow([row, len(of_row), of_row[0]["parameters"], *epochs, validation, *means, *cells])


def main() -> None:
    """Make what is missing, all rows of a run before the next; or print the table of what is there."""
    data = "--annotations data/highlights/queries.jsonl --captions data/highlights/captions.jsonl"
    parser = argument_parser(__doc__, small=f"{data} --out data --only none stamp --runs 0 --epochs 2")
    for name in ("annotations", "captions", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--only", nargs="+", choices=[*ROWS], default=[*ROWS], metavar="ROW")
    parser.add_argument("--runs", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--epochs", type=int, default=RECIPE["epochs"], help="at most")
    parser.add_argument("--table", action="store_true")
    chosen = parser.parse_args()
    files = {(row, n): chosen.out / f"{folder_name(row, n)}.json" for n in chosen.runs for row in chosen.only}
    if chosen.table:
        runs = [json.loads(file.read_text()) for file in files.values() if file.exists()]
        print_table(runs)
        print(f"whole video: {whole_video_recall(chosen.annotations, runs):.1f}")
        return
    data = read_data(chosen.annotations, chosen.captions)
    for (row, number), file in files.items():
        if not file.exists():
            facts = run(row, data, number, chosen.epochs, chosen.out)
            file.write_text(json.dumps(facts))
            summary = {name: value for name, value in facts.items() if name != "measures"}
            print(json.dumps(summary), flush=True)


if __name__ == "__main__":
    main()
