"""Time and peak memory of local-global attention beside dense attention under the same mask.

python -m docs.benchmarks.attention                  # CPU, and CUDA where there is one
python -m docs.benchmarks.attention --sizes 150 1536 --device cpu

`sparse` is vidsum's. `matrix` writes the masked softmax out, scores and all; `fused` is PyTorch's
scaled_dot_product_attention with the whole mask. Memory is what the tensor allocator held at its peak above
the inputs, the T x T mask of the dense ways being one of them: so they are not charged for it. It is exact to
the byte, as the resident size of a process is not.
"""

import json
import math
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention
from torch.profiler import ProfilerActivity, profile

from docs.benchmarks import argument_parser
from vidsum.models.attention.local_global import local_global_attention, local_global_mask

SIZES = (150, 500, 1536, 5000, 15_000, 50_000)
SIZES_WITH_SHARE = (150, 500, 1536, 5000)
"""Where global tokens grow with T, so does everything with its square."""
HEADS, D_K, WINDOW = 8, 8, 17
"""The paper's."""
FEW = 51
"""Global tokens of the table in which their number does not change: 17 shots."""
SHARE = 44 / 149
"""Of global tokens, as the paper counts them for Table III."""
WAYS = ("sparse", "matrix", "fused")
MOST_BYTES = 3 * 2**30
"""What a way may need before its row is left out."""

Inputs = tuple[Tensor, Tensor, Tensor, Tensor, Tensor]
"""q, k, v [1, h, T, d_k], is_global and is_valid [1, T]."""


def inputs(n_tokens: int, n_global: int, device: str, *, backward: bool) -> Inputs:
    """A video's queries, keys and values, with global tokens spread evenly."""
    generator = torch.Generator().manual_seed(0)
    q, k, v = torch.randn(3, 1, HEADS, n_tokens, D_K, generator=generator).to(device).unbind()
    for x in (q, k, v):
        x.requires_grad_(backward)
    is_global = torch.zeros(1, n_tokens, dtype=torch.bool, device=device)
    is_global[0, torch.linspace(0, n_tokens - 1, n_global).long()] = True
    return q, k, v, is_global, torch.ones_like(is_global)


def attention_of(way: str, given: Inputs) -> Callable[[], Tensor]:
    """A call of one way."""
    q, k, v, is_global, is_valid = given
    if way == "sparse":
        return lambda: local_global_attention(q, k, v, is_global, is_valid, WINDOW)
    mask = local_global_mask(is_global, is_valid, WINDOW)[:, None]
    if way == "fused":
        return lambda: scaled_dot_product_attention(q, k, v, attn_mask=mask)
    return lambda: matrix_attention(q, k, v, mask)


def matrix_attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    """Eq. 10 as it is written."""
    scores = q @ k.transpose(2, 3) / math.sqrt(D_K)
    return scores.masked_fill(~mask, -math.inf).softmax(dim=3) @ v


def peak_bytes(run: Callable[[], object], device: str) -> int:
    """Most bytes that tensors held at one moment of a call, above what was there before it."""
    if device == "cuda":
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        run()
        torch.cuda.synchronize()
        return torch.cuda.max_memory_allocated() - before
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        run()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(path))
        events = json.loads(path.read_text())["traceEvents"]
    changes = sorted(
        (event["ts"], event["args"]["Ev Idx"], event["args"]["Bytes"])
        for event in events
        if event["name"] == "[memory]"
    )
    held = peak = 0
    for *_, change in changes:
        held += change
        peak = max(peak, held)
    return peak


def least_seconds(run: Callable[[], object], device: str) -> float:
    """The least time of a call, of as many as fit into two seconds."""
    best, spent, calls = math.inf, 0.0, 0
    while calls < 3 or (spent < 2 and calls < 30):
        start = time.perf_counter()
        run()
        if device == "cuda":
            torch.cuda.synchronize()
        seconds = time.perf_counter() - start
        best, spent, calls = min(best, seconds), spent + seconds, calls + 1
    return best


def needs_bytes(way: str, n_tokens: int, *, backward: bool) -> int:
    """About what a way holds at its peak; the mask, and eight bytes a pair while it is made, among it."""
    if way == "sparse":
        return 0
    floats_per_pair = {"matrix": HEADS * (4 if backward else 3), "fused": 1}[way]
    return n_tokens**2 * (9 + 4 * floats_per_pair)


def measure(way: str, n_tokens: int, n_global: int, device: str, *, backward: bool) -> tuple[float, float]:
    """(milliseconds, MiB) of one cell."""
    given = inputs(n_tokens, n_global, device, backward=backward)
    attention = attention_of(way, given)

    def run() -> None:
        out = attention()
        if backward:
            torch.autograd.grad(out.sum(), given[:3])

    run()  # the first is to warm up
    return 1000 * least_seconds(run, device), peak_bytes(run, device) / 2**20


def row(n_tokens: int, n_global: int, device: str, *, backward: bool) -> str:
    """One T: milliseconds and MiB of each way, and the memory of the dense ones over the sparse one's."""
    cells = {
        way: measure(way, n_tokens, n_global, device, backward=backward)
        for way in WAYS
        if needs_bytes(way, n_tokens, backward=backward) <= MOST_BYTES
    }
    text = f"{n_tokens:8}"
    for way in WAYS:
        text += f"{cells[way][0]:12.2f}{cells[way][1]:10.2f}" if way in cells else f"{'-':>12}{'-':>10}"
    for way in WAYS[1:]:
        text += f"{cells[way][1] / cells['sparse'][1]:9.1f}x" if way in cells else f"{'-':>10}"
    return text


def print_table(sizes: Sequence[int], device: str, *, few: bool, backward: bool) -> None:
    """A row for each T."""
    what = "forward and backward" if backward else "forward"
    share = f"{FEW} global tokens" if few else f"{SHARE:.1%} global tokens"
    print(f"\n{device}, {what}, {share}")
    print(f"{'':8}" + "".join(f"{way:>22}" for way in WAYS) + f"{'memory / sparse':>20}")
    print(f"{'T':>8}" + f"{'ms':>12}{'MiB':>10}" * len(WAYS) + "".join(f"{way:>10}" for way in WAYS[1:]))
    for n_tokens in sizes:
        n_global = FEW if few else round(SHARE * n_tokens)
        print(row(n_tokens, n_global, device, backward=backward), flush=True)


def main() -> None:
    """Print a table for each device, share of global tokens and direction."""
    parser = argument_parser(__doc__)
    parser.add_argument("--sizes", type=int, nargs="*", help="T, in tokens")
    parser.add_argument("--device", choices=["cpu", "cuda"], help="both, where there is a GPU")
    options = parser.parse_args()
    devices = (
        [options.device] if options.device else ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
    )
    print(f"fp32, {HEADS} heads of {D_K}, window {WINDOW}, {torch.get_num_threads()} threads")
    print(f"-: would need more than {MOST_BYTES / 2**30:g} GiB")
    for device in devices:
        for few in (True, False):
            for backward in (False, True):
                sizes = options.sizes or (SIZES if few else SIZES_WITH_SHARE)
                print_table(sizes, device, few=few, backward=backward)


if __name__ == "__main__":
    main()
