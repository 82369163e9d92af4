"""Choose the image-text space to fetch: the most accurate one that is free to use and fits the machine."""

import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from vidsum.checkpoints.registry import RegistryEntry, builtin_entries
from vidsum.device import may_have_gpu, n_threads
from vidsum.errors import UsageError

BEST_SPACE = "best"  # its name on the command line
_BASE_BYTES, _COPIES = 1_000_000_000, 4
"""Memory of the first use: vidsum itself with PyTorch, and the copies of the weights while they are exported;
with MobileCLIP2-S0 (300 MB) it took 2.3 GiB."""
_MAX_SHARE = 1 / 3  # of a video's length, that a network may take without a GPU
_MEMORY_LIMIT = Path("/sys/fs/cgroup/memory.max")  # of a container


@dataclass(frozen=True)
class Machine:
    """The parts of a machine that decide which networks it can run."""

    memory_bytes: int | None  # None where it is unknown
    threads: int
    has_gpu: bool


def this_machine() -> Machine:
    return Machine(_memory_bytes(), n_threads(), may_have_gpu())


def fits(entry: RegistryEntry, machine: Machine) -> bool:
    """Return whether a machine has the memory for a space, and a GPU or processor that is fast enough."""
    if entry.space is None:
        return False
    needed = _BASE_BYTES + _COPIES * entry.space.megabytes * 1_000_000
    has_memory = machine.memory_bytes is None or needed <= machine.memory_bytes
    is_fast = machine.has_gpu or entry.space.cpu_s / machine.threads <= 60 * _MAX_SHARE
    return has_memory and is_fast


def choose_best(entries: Iterable[RegistryEntry], machine: Machine) -> RegistryEntry:
    """Return the space of the best published accuracy without restricted terms that fits a machine.

    Raises UsageError: none fits.
    """
    fitting = [entry for entry in entries if entry.space and not entry.terms and fits(entry, machine)]
    if not fitting:
        raise UsageError("no image-text space fits this machine", hint="the space vse works on all machines")
    return max(fitting, key=lambda entry: entry.space.accuracy if entry.space else 0)


def best_space() -> RegistryEntry:
    """Return the space of the registry for this machine. Raises UsageError: none fits."""
    return choose_best(builtin_entries().values(), this_machine())


def describe_cost(entry: RegistryEntry) -> str:
    """Return name, size, licence and speed of a space in one line."""
    if entry.space is None:
        raise ValueError(f"{entry.name} is no image-text space")
    size, seconds = f"about {entry.space.megabytes:,} MB", f"about {entry.space.cpu_s:g} s"
    return f"{entry.name}: {size}, {entry.licence}, {seconds} of one CPU core per minute of video"


def _memory_bytes() -> int | None:
    """Return the memory that this process may use, where it is known."""
    sizes = []
    with suppress(AttributeError, ValueError, OSError):  # Windows has no sysconf
        sizes.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    with suppress(OSError, ValueError):  # "max" is no number
        sizes.append(int(_MEMORY_LIMIT.read_text()))
    return min(sizes, default=None)
