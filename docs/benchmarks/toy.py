"""MRNet on toy data: does it learn, and what do its masks give?

    python -m docs.benchmarks.toy [--masks both decay sparse none] [--seeds 1] [--test-seed 0]
        [--clips 64] [--noise 1] [--gamma 0.98] [--epochs 15] [--decay-at 10] [--map light] [--lr 8e-4]

Trains a small MRNet for each mask and seed on 600 new videos per epoch (see vidsum.training.toy) and tests
it on 500 others. Seconds are wall time and, in brackets, processor time.
"""

import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from docs.benchmarks import argument_parser
from vidsum.checkpoints.trained import read_trained
from vidsum.evaluation.moment_metrics import MomentMeasures, measure
from vidsum.models.configs import HEADS, MRNetConfig
from vidsum.models.mrnet import MRNet
from vidsum.options import build
from vidsum.training.mrnet import best_ious, train_mrnet
from vidsum.training.settings import MRNetSettings
from vidsum.training.sources import toy_data
from vidsum.training.toy import Toy, draw_moments

MASKS = {
    "both": {"decay": "bidirectional", "sparse": True},
    "decay": {"decay": "bidirectional", "sparse": False},
    "sparse": {"decay": "none", "sparse": True},
    "none": {"decay": "none", "sparse": False},
}
MAPS = {**HEADS, "tiny": {"dim_map": 32, "hidden": 32, "kernel": 3, "convolutions": 2, "dim_joint": 32}}
SIZES = {"d": 64, "d_ff": 128, "heads": 4, "dropout": 0.0, "dropout_in": 0.0}
"""Nothing is dropped: no video is seen twice."""
TEST_SEED = 1_000_000
"""Far from the seeds of training."""


def run(mask: str, seed: int, how: Toy, test_seed: int, **choices: Any) -> MomentMeasures:
    """Train and test one model."""
    chosen = {**SIZES, **MASKS[mask], **choices, "warmup": 1.0, "seed": seed, "device": "cpu"}
    settings = build(MRNetSettings, chosen)
    with tempfile.TemporaryDirectory() as folder:
        trained = read_trained(
            train_mrnet(toy_data(draw_moments, how, seed), settings, Path(folder)).checkpoint
        )
    model = MRNet(MRNetConfig(**trained.config)).eval()
    model.load_state_dict(dict(trained.tensors))
    with torch.inference_mode():
        test = draw_moments(Toy(**{**asdict(how), "n_videos": 500}), TEST_SEED + test_seed)
        return measure(best_ious(model, test), "mmn")


def main() -> None:
    """Print a line a model."""
    parser = argument_parser(__doc__)
    parser.add_argument("--masks", nargs="+", choices=MASKS, default=["both"])
    parser.add_argument("--seeds", nargs="+", type=int, default=[1])
    parser.add_argument("--test-seed", type=int, default=0, help="other videos to test on")
    parser.add_argument("--clips", type=int, default=64)
    parser.add_argument("--noise", type=float, default=Toy.noise)
    parser.add_argument("--gamma", type=float, default=0.98)
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--lr", type=float, default=8e-4)
    parser.add_argument("--decay-at", nargs="*", type=int, default=[])
    parser.add_argument("--map", choices=MAPS, default="light")
    options = parser.parse_args()
    choices = {"gamma": options.gamma, "epochs": options.epochs, "decay_at": tuple(options.decay_at)}
    choices |= {"lr": options.lr, **MAPS[options.map]}
    how = Toy(clips=options.clips, noise=options.noise)
    print("| masks | seed | R@1 IoU .5 | .7 | mIoU | s |\n|---|---|---|---|---|---|")
    for seed in options.seeds:
        for mask in options.masks:
            started, busy = time.perf_counter(), time.process_time()
            found = run(mask, seed, how, options.test_seed, **choices)
            shares = (found.recall[1, 0.5], found.recall[1, 0.7], found.miou)
            cells = " | ".join(f"{100 * share:.1f}" for share in shares)
            took = f"{time.perf_counter() - started:.0f} ({time.process_time() - busy:.0f})"
            print(f"| {mask} | {seed} | {cells} | {took} |", flush=True)


if __name__ == "__main__":
    main()
