"""The cost of learned masks in QD-DETR, and how far a new mask differs from token to token.

    OMP_NUM_THREADS=1 python -m docs.benchmarks.mask_costs

First table: a forward and a backward pass of the published sizes (d = 256, 75 clips, 32 words, fp32), the
least processor time of all rounds; in a round each row runs once. Second table: of masks of 75 random tokens,
the standard deviation of a key's numbers over the tokens, the mean of 20 masks.
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import get_args

import torch

from docs.benchmarks import argument_parser, processor_s
from docs.benchmarks.tables import print_table
from vidsum.models.attention.learned_mask import LearnedMask
from vidsum.models.configs import DETRConfig, MaskConfig, MaskInit
from vidsum.models.detr import DETRInputs
from vidsum.models.detr_models import build

SIZES = DETRConfig()
_MASKS = 20


def masks_of(depths: Sequence[int]) -> dict[str, MaskConfig | None]:
    """The rows of the first table."""
    return {
        "no mask": None,
        **{f"STAMP, depth {depth}": MaskConfig(depth=depth) for depth in depths},
        **{f"LAM, depth {depth}": MaskConfig(kind="lam", depth=depth) for depth in depths},
        "static": MaskConfig(kind="static"),
    }


def training_step(mask: MaskConfig | None, batch: int) -> tuple[Callable[[], object], int]:
    """A forward and a backward pass with a mask, and the number of parameters."""
    model = build("qd-detr", replace(SIZES, mask=mask)).train()
    weights = list(model.parameters())
    video, words = (
        torch.randn(batch, length, dim)
        for length, dim in ((SIZES.clips, SIZES.dim_video), (SIZES.words, SIZES.dim_query))
    )
    inputs = DETRInputs(
        video,
        torch.ones(video.shape[:2], dtype=torch.bool),
        words,
        torch.ones(words.shape[:2], dtype=torch.bool),
    )

    def step() -> object:
        detections = model(*inputs)
        total = sum(output.square().mean() for output in detections)
        return torch.autograd.grad(total, weights, allow_unused=True)

    return step, sum(weight.numel() for weight in weights)


def print_costs(depths: Sequence[int], batch: int, rounds: int) -> None:
    """Print the table of costs."""
    steps = {row: training_step(mask, batch) for row, mask in masks_of(depths).items()}
    seconds: dict[str, list[float]] = {row: [] for row in steps}
    for _ in range(rounds + 1):
        for row, (step, _) in steps.items():
            start = processor_s()
            step()
            seconds[row].append(processor_s() - start)
    least = {row: min(of_row[1:]) for row, of_row in seconds.items()}  # the first one makes buffers
    print_table(
        ["", "parameters", "ms", "of no mask"],
        (
            [row, f"{count / 1e6:.2f} M", f"{1000 * least[row]:.0f}", f"{least[row] / least['no mask']:.2f}"]
            for row, (_, count) in steps.items()
        ),
    )


@torch.inference_mode()
def spread(depth: int, init: MaskInit) -> float:
    """The mean deviation of a key's numbers over random tokens, in new masks."""
    deviations = []
    for _ in range(_MASKS):
        mask = LearnedMask(MaskConfig(depth=depth, init=init), SIZES.d, SIZES.clips)
        rows = mask(torch.randn(1, SIZES.clips, SIZES.d), SIZES.clips).dense()[0]
        deviations.append(float(rows.std(dim=0).mean()))
    return sum(deviations) / _MASKS


def main() -> None:
    """Print both tables."""
    parser = argument_parser(__doc__, small="--depths 2 --batch 1 --rounds 1")
    parser.add_argument("--depths", type=int, nargs="+", default=[2, 8, 32])
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=3)
    options: argparse.Namespace = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    print_costs(options.depths, options.batch, options.rounds)
    print()
    starts = get_args(MaskInit)
    print_table(
        ["depth", *starts],
        ([f"{depth}", *(f"{spread(depth, init):.1e}" for init in starts)] for depth in options.depths),
    )


if __name__ == "__main__":
    main()
