"""What learned masks are worth: a DETR model with each of them and with none, over several seeds.

    python -m docs.benchmarks.masks OUT [--model qd-detr] [--masks none stamp lam] [--seeds 0 1 2]
        [--epochs 6] [--videos 2400] [--depth 2] [--identity] [--queries 1550]

Trains each on the captions of QVHighlights' training split, as `vidsum train detr --recipe captions --size
light` does (runs in OUT; those that are there are used again), and answers the validation split on simulated
videos (docs/benchmarks/simulated_highlights.py). Prints the mean and the standard deviation over the seeds.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from docs.benchmarks import argument_parser
from docs.benchmarks.simulated_highlights import FILE, heading, measured, rows_of
from vidsum.evaluation.highlight_metrics import HighlightMeasures
from vidsum.evaluation.report import Row
from vidsum.options import build
from vidsum.training.detr import train_detr
from vidsum.training.settings import DataSettings, DETRSettings
from vidsum.training.simulated_data import simulated_highlights

TRAIN = FILE.with_name("highlight_train_release.jsonl")
CLIP_S = 2.0
"""As QVHighlights: 75 clips are a whole video."""


def trained(asked: argparse.Namespace, mask: str, seed: int) -> Path:
    """The checkpoint of one run."""
    folder: Path = asked.out / f"{asked.model}-{mask}-{seed}"
    short = {"epochs": asked.epochs, "decay_at": (asked.epochs - 1,)}
    chosen = {**DETRSettings.published("captions", "light"), **short, "seed": seed}
    if mask != "none":
        chosen["mask"] = {"kind": mask, "depth": asked.depth, "identity": asked.identity}
    settings = build(DETRSettings, chosen)
    captions = DataSettings((str(TRAIN),), clip_s=CLIP_S, videos=asked.videos)
    # the same videos for all: only the model's start and the order of the examples are the seed's
    data = simulated_highlights(captions, settings.model.clips, settings.model.words)
    return train_detr(data, asked.model, settings, folder).checkpoint


def line(name: str, of_seeds: Sequence[Row[HighlightMeasures]]) -> str:
    """Mean and standard deviation of the official measures, in Markdown, per cent."""
    values = 100 * np.array([measured(row) for row in of_seeds])
    if len(values) == 1:
        return f"| {name} | " + " | ".join(f"{value:.1f}" for value in values[0]) + " |"
    both = zip(values.mean(0), values.std(0, ddof=1), strict=True)
    cells = [f"{mean:.1f} ± {spread:.1f}" for mean, spread in both]
    return f"| {name} | " + " | ".join(cells) + " |"


def main() -> None:
    """Train what is not there yet, and print the table."""
    parser = argument_parser(__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--model", default="qd-detr")
    parser.add_argument("--masks", nargs="+", default=["none", "stamp", "lam"])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--videos", type=int, default=2400)
    parser.add_argument("--depth", type=int, default=2)
    parser.add_argument("--queries", type=int, default=1550)
    parser.add_argument("--identity", action="store_true")
    options = parser.parse_args()
    runs = {mask: [str(trained(options, mask, seed)) for seed in options.seeds] for mask in options.masks}
    models = ["similarity", *(one for of_mask in runs.values() for one in of_mask)]
    rows = {row.name: row for row in rows_of(models, options.queries, 7)}
    print(heading())
    for name in ("random", "whole video", "similarity"):
        print(line(name, [rows[name]]))
    for mask, of_mask in runs.items():
        print(line(f"{options.model}, {mask}, spans", [rows[f"{one}, spans"] for one in of_mask]))
        print(line(f"{options.model}, {mask}, saliency", [rows[one] for one in of_mask]))


if __name__ == "__main__":
    main()
