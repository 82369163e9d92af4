"""Seconds that FullTransNet takes for a video of ten minutes: 1,200 samples, 180 steps, the paper's sizes.

python -m docs.benchmarks.decoding

Random weights and features: no step depends on what they are. The model is kept from ending early. Threads
are the encoder's: the steps of decoding run on one.
"""

import argparse
import time
from collections.abc import Callable
from functools import partial
from typing import cast

import torch
from torch import Tensor

from vidsum.models.configs import FullTransNetConfig, Head
from vidsum.models.fulltransnet import FullTransNet, global_tokens
from vidsum.summary.decoding import decode

NEVER = -1e4
"""Bias of the end."""
SHOT = 24
"""Samples of a shot."""


def simulated(head: Head, n_samples: int) -> tuple[FullTransNet, Tensor, Tensor]:
    """A model that never ends a summary, features [T, D], and the first, middle and last of equal shots."""
    torch.manual_seed(0)
    model = FullTransNet(FullTransNetConfig(head=head)).eval()
    torch.nn.init.constant_(model.end.bias, NEVER)
    is_global = global_tokens(torch.arange(n_samples) // SHOT, 3)
    return model, torch.randn(n_samples, model.config.dim_in), is_global


@torch.inference_mode()
def encode(model: FullTransNet, features: Tensor, is_global: Tensor) -> object:
    """The encoder alone."""
    return model.encode(features[None], is_global[None])


@torch.inference_mode()
def decode_again_and_again(
    model: FullTransNet, features: Tensor, is_global: Tensor, n_key_frames: int
) -> tuple[int, ...]:
    """Greedy decoding without a cache: encoder and decoder go over everything at each step."""
    chosen: list[int] = []
    for _ in range(n_key_frames):
        key_frames = torch.tensor(chosen, dtype=torch.int64)
        row = model(features[None], is_global[None], key_frames[None])[0, -1, :-1]
        chosen.append(int(row.index_fill(0, key_frames, NEVER).argmax()))
    return tuple(chosen)


def seconds_of(run: Callable[[], object]) -> float:
    """Wall time of one call."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def measure(head: Head, n_samples: int, n_steps: int, repeat: int) -> dict[str, float]:
    """Least seconds of each way; they take turns, so that a busy machine slows all alike."""
    given = simulated(head, n_samples)
    runs: dict[str, Callable[[], object]] = {
        "encode": partial(encode, *given),
        "encode, decode": partial(decode, *given, n_steps),
        "encode, decode, 4 beams": partial(decode, *given, n_steps, width=4),
    }
    rounds = [{name: seconds_of(run) for name, run in runs.items()} for _ in range(repeat)]
    return {name: min(turn[name] for turn in rounds) for name in runs}


def main() -> None:
    """Print a row for each way, head and number of threads; without a cache once only, for it takes long."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--samples", type=int, default=1200)
    parser.add_argument("--steps", type=int, default=180)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    print(f"{options.samples} samples, {options.steps} steps")
    for threads in options.threads:
        torch.set_num_threads(threads)
        for head in ("linear", "pointer"):
            times = measure(cast(Head, head), options.samples, options.steps, options.repeat)
            for name, seconds in times.items():
                print(f"  {threads} threads  {head:9}{name:26}{seconds:8.2f} s", flush=True)
    torch.set_num_threads(options.threads[0])
    no_cache = partial(decode_again_and_again, *simulated("linear", options.samples), options.steps)
    print(f"  {options.threads[0]} threads  linear   no cache                  {seconds_of(no_cache):8.2f} s")


if __name__ == "__main__":
    main()
