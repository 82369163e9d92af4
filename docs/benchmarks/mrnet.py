"""Parameters of MRNet and its seconds a query, as in Table A3 of the paper, and a step of training.

    python -m docs.benchmarks.mrnet                 # CPU, and CUDA where there is one
    python -m docs.benchmarks.mrnet --device cpu

Random weights and features, T = 64. A query is asked by itself, as in the paper; `one` is the time of a
single query, `sixteen` that of each of sixteen asked at once. The time of the text encoder comes on top.
On the CPU it is processor time on one thread, which other work on the machine changes least; on a GPU it is
wall time.
"""

import time
from collections.abc import Callable

import torch
from torch.utils.flop_counter import FlopCounterMode

from docs.benchmarks import argument_parser
from vidsum.models.configs import HEADS, MRNetConfig
from vidsum.models.mrnet import MRNet, match_scores

SIZES = {
    "light, clips of 768 numbers": MRNetConfig(dim_video=768, dim_query=384, **HEADS["light"]),
    "light": MRNetConfig(**HEADS["light"]),
    "paper": MRNetConfig(**HEADS["paper"]),
}
"""The last two read what the paper read: C3D of 500 numbers and DistilBERT of 768."""
VIDEOS, QUERIES = 12, 4
"""Of a training step."""
BATCH = 16


def millions(*parts: torch.nn.Module) -> str:
    """Parameters of modules."""
    return f"{sum(one.numel() for part in parts for one in part.parameters()) / 1e6:.2f}"


def least_seconds(call: Callable[[], object], device: str, calls: int = 4) -> float:
    """The least time of a call; the first is there to warm up."""
    clock = time.process_time if device == "cpu" else time.perf_counter
    best = float("inf")
    for _ in range(calls):
        started = clock()
        call()
        if device == "cuda":
            torch.cuda.synchronize()
        best = min(best, clock() - started)
    return best


def ask(model: MRNet, n_queries: int, device: str) -> Callable[[], None]:
    """Scores so many queries at once, each with its own copy of the video."""
    config = model.config
    video = torch.randn(n_queries, config.clips, config.dim_video, device=device)
    queries = torch.randn(n_queries, 1, config.dim_query, device=device)

    def call() -> None:
        with torch.inference_mode():
            match_scores(model(video, queries))

    return call


def multiplications(model: MRNet, device: str) -> float:
    """Billions of multiply-adds of a query."""
    with FlopCounterMode(display=False) as counter:
        ask(model, 1, device)()
    return counter.get_total_flops() / 2e9


def train(model: MRNet, device: str) -> float:
    """Seconds of a step forward and back."""
    config = model.config
    video = torch.randn(VIDEOS, config.clips, config.dim_video, device=device)
    queries = torch.randn(VIDEOS, QUERIES, config.dim_query, device=device)

    def call() -> None:
        model.zero_grad()
        (match_scores(model(video, queries)).mean() + model.sparsity_loss()).backward()

    return least_seconds(call, device)


def print_table(device: str) -> None:
    """A row for each size."""
    print(f"\n{device}, fp32\n")
    print(
        f"| head | M parameters | of the MRT blocks | of the map | G multiply-adds a query | s a query, one "
        f"| sixteen | training step, {VIDEOS} x {QUERIES} |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for name, config in SIZES.items():
        model = MRNet(config).to(device).eval()
        is_slow = name == "paper" and device == "cpu"
        of_map = millions(model.map, model.proposal_iou, model.proposal_contrastive)
        one = least_seconds(ask(model, 1, device), device, calls=1 if is_slow else 4)
        sixteen = "-" if is_slow else f"{least_seconds(ask(model, BATCH, device), device) / BATCH:.4f}"
        step = "-" if is_slow else f"{train(model.train(), device):.2f}"
        print(
            f"| {name} | {millions(model)} | {millions(model.blocks, model.norm)} | {of_map} "
            f"| {multiplications(model.eval(), device):.1f} | {one:.4f} | {sixteen} | {step} |",
            flush=True,
        )


def main() -> None:
    """Print a table for each device."""
    parser = argument_parser(__doc__)
    parser.add_argument("--device", choices=["cpu", "cuda"], help="both, where there is a GPU")
    options = parser.parse_args()
    torch.set_num_threads(1)
    for device in (
        [options.device] if options.device else ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
    ):
        print_table(device)


if __name__ == "__main__":
    main()
