"""Damaged files of every kind but video, given to what reads them: each is read or refused in one line.

    python -m tests.fuzz.fuzz_inputs --count 2000
    python -m tests.fuzz.fuzz_inputs --kinds h5 --count 1 --first 417     # one case again

Anything else is a fault: another exception, a warning, a message of several lines, numbers that make no
sense, too much time or memory. The file of a fault is kept in `--keep`. A case is known by its kind, the seed
and its number.
"""

import argparse
import faulthandler
import random
import resource
import signal
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from contextlib import chdir
from pathlib import Path
from types import FrameType

from tests.fuzz.kinds import KINDS, Case
from vidsum.errors import VidsumError

SECONDS, MEBIBYTES = 20, 1024
"""Limits of a case: time of the processor, and address space beyond that of the process."""
LONGEST_MESSAGE = 1000


class _TooSlow(BaseException):
    """The time of a case is up."""


def make_case(kind: str, seed: int, number: int) -> Case:
    """A damaged file, the same at every call."""
    return KINDS[kind](random.Random(f"{kind} {seed} {number}"))


def outcome(case: Case, folder: Path) -> str:
    """Return `read`, `refused`, or what is wrong in the words of a traceback."""
    path = folder / case.name
    path.write_bytes(case.content)
    signal.signal(signal.SIGPROF, _stop)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    faulthandler.dump_traceback_later(20 * SECONDS, exit=True)  # for what waits, or does not leave C code
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            case.read(path)
        result = "read"
    except VidsumError as error:
        is_short = "\n" not in error.message and len(error.message) <= LONGEST_MESSAGE
        result = "refused" if is_short else f"a message that is no line: {error.message!r:.300}"
    except ModuleNotFoundError:
        raise  # an extra is not installed, which skips the test
    except (Exception, _TooSlow):
        result = traceback.format_exc(limit=-4)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        faulthandler.cancel_dump_traceback_later()
        path.unlink(missing_ok=True)
    return f"warning: {caught[0].message}" if caught else result


def _stop(signum: int, frame: FrameType | None) -> None:
    raise _TooSlow


def limit_memory() -> None:
    """Give this process little more address space than it has."""
    in_use = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    limit = in_use + MEBIBYTES * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def find_faults(kind: str, seed: int, first: int, count: int) -> tuple[Counter[str], dict[int, str]]:
    """Count what is read and refused of some cases, and describe the others by number."""
    counts, faults = Counter[str](), dict[int, str]()
    with tempfile.TemporaryDirectory() as name, chdir(name):
        for number in range(first, first + count):
            result = outcome(make_case(kind, seed, number), Path(name))
            counts[result if result in ("read", "refused") else "fault"] += 1
            if counts["fault"] > len(faults):
                faults[number] = result
    return counts, faults


def main() -> None:
    """Try cases of each kind, and leave with 1 if there is a fault."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kinds", nargs="*", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, default=Path(tempfile.gettempdir()) / "vidsum-fuzz")
    options = parser.parse_args()
    find_faults(options.kinds[0], options.seed, -2, 2)  # loads what there is to load
    limit_memory()
    n_faults = 0
    for kind in options.kinds:
        counts, faults = find_faults(kind, options.seed, options.first, options.count)
        print(f"{kind}: {counts['read']} read, {counts['refused']} refused, {len(faults)} faults")
        for number, reason in faults.items():
            print(f"  {number}: {reason.strip().splitlines()[-1]:.200}")
            case = make_case(kind, options.seed, number)
            options.keep.mkdir(parents=True, exist_ok=True)
            (options.keep / f"{kind}-{options.seed}-{number}-{case.name}").write_bytes(case.content)
        n_faults += len(faults)
    sys.exit(bool(n_faults))


if __name__ == "__main__":
    main()
