"""MRNet's switches in small: the rows of its Tables 6, 7, 8, A1 and A2, and of Fig. 5.

    OMP_NUM_THREADS=1 nice -n 10 python -m docs.benchmarks.qvhighlights_switches \\
        --annotations highlight_val_release.jsonl --captions clip_captions_val.jsonl.gz --out RUNS

Data and folds are those of docs.benchmarks.qvhighlights_small: captions of clips, with their similarity to
the query. Fold k has seed k. A run ends when R@1 IoU .5 of its validation videos has not risen for PATIENCE
epochs, and answers the fold's queries with its best epoch. A killed run goes on, a finished one is not done
again. Prints R@1 and mIoU of the first moment, and paired differences from the paper's settings: 95 %
intervals, bold where Holm's test holds over all cells at .05.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import ttest_1samp

from docs.benchmarks import argument_parser
from docs.benchmarks.qvhighlights_measures import holm
from docs.benchmarks.qvhighlights_small import Data, read_data
from vidsum.checkpoints.trained import read_trained
from vidsum.grounding.grounder import grounder_of
from vidsum.grounding.proposals import moments_of
from vidsum.grounding.spaces import similarity
from vidsum.intervals import iou
from vidsum.lab.datasets.examples import MomentExample
from vidsum.lab.training.data import MomentData
from vidsum.lab.training.mrnet import best_ious, train_mrnet
from vidsum.lab.training.settings import MRNetSettings
from vidsum.models.mrnet import MRNet
from vidsum.options import build
from vidsum.outputs import atomic_write
from vidsum.types import TimeArray

MOST_EPOCHS, PATIENCE = 20, 5
SIZES = {
    **{"d": 32, "d_ff": 64, "heads": 4, "dim_map": 16, "hidden": 16, "kernel": 3, "dim_joint": 32},
    **{"epochs": MOST_EPOCHS, "decay_at": (), "patience": PATIENCE, "device": "cpu"},
}
PAPER, SIMILARITY = "the paper's", "similarity, no training"
SWITCHES: dict[str, dict[str, Any]] = {
    PAPER: {},
    "no M_RD, no M_LS (Tables 6, 8)": {"decay": "none", "sparse": False},
    "no M_RD (Table 6)": {"decay": "none"},
    "no M_LS (Tables 6, 7)": {"sparse": False},
    "no sparsity loss (Table 7)": {"lambda_s": 0.0},
    "all regions masked (Table 8)": {"regions": ("vv", "qq", "vq", "qv")},
    "gamma .97 (Table A1)": {"gamma": 0.97},
    "no cross-modal attention (Table A2)": {"cross_modal": False},
    "forward decay (Fig. 5)": {"decay": "forward"},
    "gate (Fig. 5)": {"nonlinearity": "gate"},
}


def run(data: Data, switches: Mapping[str, Any], fold: int, folder: Path) -> dict[str, Any]:
    """Train on a fold; the IoU of the first moment of each query that it holds out, and the epochs."""
    parts = {name: [_example(data, n) for n in part] for name, part in data.parts(fold).items()}
    features = {"space": "features", "clip_s": data.videos[0].step_s}
    own = MomentData(lambda _: parts["train"], parts["val"], features, {"fold": fold})
    chosen = {**SIZES, "clips": len(parts["val"][0].video), "seed": fold, **switches}
    settings = build(MRNetSettings, chosen, MRNetSettings.published("captions", "light"))
    fitted = train_mrnet(own, settings, folder)
    model = grounder_of(read_trained(fitted.checkpoint), folder.name, "cpu").model
    assert isinstance(model, MRNet)
    ious = best_ious(model.eval(), parts["test"])[:, 0]
    return {"best": fitted.best.epoch, "epochs": len(fitted.history), "ious": ious.tolist()}


def untrained(data: Data, fold: int) -> list[float]:
    """The IoU of the first moment of the similarity curve."""
    ious = []
    for number in data.parts(fold)["test"]:
        query, video = data.queries[number], data.videos[number]
        (curve,) = similarity(video, data.vectors[number][None])
        where = (video.timestamps, video.step_s, video.duration_s, 1)
        (first,) = moments_of(curve, *where, grouping="contrast")
        ious.append(float(iou([(first.start_s, first.end_s)], list(query.windows)).max()))
    return ious


def _example(data: Data, number: int) -> MomentExample:
    """A query of the data as MRNet reads it: without the endpoints, with one vector."""
    own = data.examples[number]
    return MomentExample(own.name, own.video[:, :-2], data.vectors[number][None], own.windows[None])


def measures(ious: TimeArray) -> TimeArray:
    """[Q, 3] in per cent: R@1 at .5 and at .7, and mIoU."""
    return 100 * np.stack([ious >= 0.5, ious >= 0.7, ious], axis=-1)


def print_table(found: Mapping[str, TimeArray]) -> None:
    """Means with standard errors, and differences from the paper's settings."""
    less = {name: rows - found[PAPER] for name, rows in found.items() if name != PAPER}
    tests = {name: ttest_1samp(rows, 0.0) for name, rows in less.items()}
    is_sure = np.reshape(holm(np.ravel([test.pvalue for test in tests.values()]).tolist()), (-1, 3))
    sure = dict(zip(tests, is_sure, strict=True))
    heads = " | ".join(f"{head}{what}" for what in ("", " less") for head in ("R@1 .5", "R@1 .7", "mIoU"))
    print(f"{len(found[PAPER])} queries\n\n| row | {heads} |\n|{'---|' * 7}")
    for name, rows in found.items():
        errors = rows.std(axis=0, ddof=1) / len(rows) ** 0.5
        cells = [f"{mean:.1f} ({error:.1f})" for mean, error in zip(rows.mean(axis=0), errors, strict=True)]
        if name == PAPER:
            cells += [""] * 3
        else:
            low, high = tests[name].confidence_interval(0.95)
            marks = np.where(sure[name], "**", "")
            gains = zip(less[name].mean(axis=0), low, high, marks, strict=True)
            cells += [f"{mark}{mean:+.1f}{mark} [{a:.1f}, {b:.1f}]" for mean, a, b, mark in gains]
        print(f"| {name} | {' | '.join(cells)} |")


def main() -> None:
    """Run what is missing, fold by fold, and print the table."""
    parser = argument_parser(__doc__)
    parser.add_argument("--annotations", type=Path, required=True)
    parser.add_argument("--captions", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--folds", nargs="+", type=int, default=[0, 1])
    options = parser.parse_args()
    data = read_data(options.annotations, options.captions)
    found: dict[str, list[float]] = {}
    for fold in options.folds:
        found.setdefault(SIMILARITY, []).extend(untrained(data, fold))
        for number, (name, switches) in enumerate(SWITCHES.items()):
            folder = options.out / "switches" / f"{number}-{fold}"
            file = folder.with_suffix(".json")
            if not file.exists():
                facts = run(data, switches, fold, folder)
                with atomic_write(file) as target:
                    target.write_text(json.dumps(facts))
                print(f"{name}, fold {fold}: best epoch {facts['best']} of {facts['epochs']}", flush=True)
            found.setdefault(name, []).extend(json.loads(file.read_text())["ious"])
    print_table({name: measures(np.array(ious)) for name, ious in found.items()})


if __name__ == "__main__":
    main()
