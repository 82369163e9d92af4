"""Local-global attention against PyTorch's fused full attention: processor time and peak memory, one thread.

    python -m docs.benchmarks.attention > docs/benchmarks/attention.csv

A forward pass with the sizes of FullTransNet: 8 heads of 8, window 17. `few` has 51 global tokens in all,
`per shot` three for each shot of 15 s at two samples a second. Times are medians. Memory is the peak of the
allocator of tensors, above the inputs.
"""

import csv
import json
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention
from torch.profiler import ProfilerActivity, profile

from docs.benchmarks import argument_parser, processor_s
from vidsum.models.attention.local_global import SparsePattern, local_global_attention

_HEADS, _SIZE, _WINDOW, _FEW, _SHOT = 8, 8, 17, 51, 30
_TOKENS = (150, 500, 1000, 1536, 5000, 16000)
_RUNS = 5


def peak_mib(call: Callable[[], object]) -> float:
    """Return the peak MiB of tensors during a call."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        call()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(path))
        events = json.loads(path.read_text("utf-8"))["traceEvents"]
    memory = [event for event in events if event["name"] == "[memory]"]
    memory.sort(key=lambda event: (event["ts"], event["args"]["Ev Idx"]))
    held, peak = 0, 0
    for event in memory:
        held += event["args"]["Bytes"]
        peak = max(peak, held)
    return peak / 2**20


def median_ms(call: Callable[[], object]) -> float:
    """Return the median processor time of a call in milliseconds."""
    call()
    times = []
    for _ in range(_RUNS):
        start = processor_s()
        call()
        times.append(processor_s() - start)
    return 1000 * median(times)


def calls(n_tokens: int) -> dict[str, Callable[[], Tensor]]:
    """Return the compared computations on one random sequence."""
    q, k, v = torch.randn(3, 1, _HEADS, n_tokens, _SIZE, generator=torch.Generator().manual_seed(0))
    is_valid = torch.ones(1, n_tokens, dtype=torch.bool)
    few, per_shot = torch.zeros_like(is_valid), torch.zeros_like(is_valid)
    few[0, torch.linspace(0, n_tokens - 1, min(_FEW, n_tokens)).long()] = True
    for sample in (0, _SHOT // 2, _SHOT - 1):
        per_shot[0, sample::_SHOT] = True
    pattern = SparsePattern.of(few, is_valid, _WINDOW)

    def attend(is_global: Tensor) -> Tensor:
        return local_global_attention(q, k, v, SparsePattern.of(is_global, is_valid, _WINDOW))

    return {
        "few": lambda: attend(few),
        "few, pattern shared": partial(local_global_attention, q, k, v, pattern),
        "per shot": lambda: attend(per_shot),
        "fused full": partial(scaled_dot_product_attention, q, k, v),
    }


@torch.inference_mode()
def main() -> None:
    parser = argument_parser(__doc__, small="--tokens 150")
    parser.add_argument("--tokens", type=int, nargs="+", default=_TOKENS)
    options = parser.parse_args()
    torch.set_num_threads(1)
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerow(["tokens", "attention", "ms", "MiB"])
    for n_tokens in options.tokens:
        for name, call in calls(n_tokens).items():
            table.writerow([n_tokens, name, f"{median_ms(call):.2f}", f"{peak_mib(call):.1f}"])


if __name__ == "__main__":
    main()
