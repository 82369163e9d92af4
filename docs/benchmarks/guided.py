"""What `--title` and `--about` are worth, by people's scores and captions of frames.

    python -m docs.benchmarks.guided --tvsum tvsum/ --qvhighlights qvhighlights/ [--every 14]

TVSum: the title of each video, Spearman's rho with each annotator, averaged; the 30 videos that trained the
shipped ridge regression chose the weight, the other 20 test it. QVHighlights: every Nth query of the
validation set, by turns for choosing and for the test; the fraction of the best 15 % of the clips that lies
in what people marked as true of the query. ± is the standard error.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from docs.benchmarks import argument_parser
from vidsum.grounding.text import load_text_encoder
from vidsum.lab.datasets.captioned import captioned_videos
from vidsum.lab.datasets.clip_captions import read_clip_captions
from vidsum.lab.datasets.labels import read_tvsum_mat
from vidsum.lab.evaluation.summary_metrics import spearman_rho
from vidsum.results.features import Features
from vidsum.summary.guided import guided
from vidsum.summary.summarizer import importance, load_summarizer
from vidsum.types import FloatArray

SHARE = 0.15
_SPLIT = Path(__file__).with_name("tvsum_ship.json")


def with_titles(folder: Path) -> dict[str, dict[str, list[float]]]:
    """By part of the videos and row: rho of each video."""
    annotations = folder / "ydata-tvsum50.mat"
    videos = captioned_videos(folder / "frame_captions.json", annotations)
    people, test = read_tvsum_mat(annotations), set(json.loads(_SPLIT.read_text())[0]["test_keys"])
    model, rows = load_summarizer(), dict[str, dict[str, list[float]]]()
    for name, video in videos.items():
        own, title = importance(model, video.features, None), people[name].title
        curves = {
            "importance": own,
            "title": guided(np.full_like(own, 0.5), video.features, [], title),
            "importance, --title": guided(own, video.features, [], title),
        }
        part = rows.setdefault("20 test videos" if name in test else "30 videos that chose", {})
        for row, curve in curves.items():
            rho = spearman_rho(curve, people[name].user_scores[:, video.picks])
            part.setdefault(row, []).append(float(rho.mean()))
    return rows


def with_queries(folder: Path, every: int) -> dict[str, dict[str, list[float]]]:
    """By part of the queries and row: the fraction of the chosen clips that are true of the query."""
    lines = (folder / "highlight_val_release.jsonl").read_text().splitlines()[::every]
    captions, encoder = read_clip_captions(folder / "clip_captions_val.jsonl.gz"), load_text_encoder("minilm")
    model, rows = load_summarizer(), dict[str, dict[str, list[float]]]()
    for number, query in enumerate(map(json.loads, lines)):
        of_video = captions[query["vid"]]
        clips = encoder.encode([text if isinstance(text, str) else " ".join(text) for text in of_video])
        features = _two_a_second(clips)
        own, n_clips = importance(model, features, None), len(clips)
        is_true = np.isin(np.arange(n_clips), query["relevant_clip_ids"])
        flat = np.full_like(own, 0.5)
        curves = {
            "importance": own,
            "similarity": guided(flat, features, [query["query"]], None),
            "--about": guided(own, features, [query["query"]], None),
            "importance x similarity": own * guided(flat, features, [query["query"]], None),
            "random": np.random.default_rng(number).random(len(own)),
        }
        part = rows.setdefault("test queries" if number % 2 else "queries that chose", {})
        for row, curve in curves.items():
            best = np.argsort(-curve.reshape(n_clips, 4).mean(axis=1), kind="stable")
            chosen = is_true[best[: max(1, round(SHARE * n_clips))]]
            part.setdefault(row, []).append(float(chosen.mean()))
    return rows


def _two_a_second(clips: FloatArray) -> Features:
    """The rate that the model reads; clips last two seconds."""
    rows = np.repeat(clips, 4, axis=0)
    return Features(rows, np.arange(len(rows)) / 2, 0.5, 0.5, len(rows) / 2, 30.0, extractor="minilm")


def print_table(rows: Mapping[str, Mapping[str, Sequence[float]]], first: str) -> None:
    """Means, standard errors, and differences to the first row, paired."""
    for part, by_row in rows.items():
        print(f"\n{part}: {len(by_row[first])}\n\n| row | mean | less {first} |\n|---|---|---|")
        for row, values in by_row.items():
            less = np.array(values) - np.array(by_row[first])
            error = len(values) ** -0.5
            print(
                f"| {row} | {np.mean(values):.3f} ± {np.std(values) * error:.3f} "
                f"| {less.mean():+.3f} ± {less.std() * error:.3f} |"
            )


def main() -> None:
    """Print the tables."""
    parser = argument_parser(__doc__)
    parser.add_argument("--tvsum", type=Path, required=True)
    parser.add_argument("--qvhighlights", type=Path, required=True)
    parser.add_argument("--every", type=int, default=14)
    options = parser.parse_args()
    print_table(with_titles(options.tvsum), "importance")
    print_table(with_queries(options.qvhighlights, options.every), "similarity")


if __name__ == "__main__":
    main()
