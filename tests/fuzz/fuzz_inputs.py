"""Damaged files of every kind but video, given to what reads them: each is read or refused in one line.

    python -m tests.fuzz.fuzz_inputs --count 2000
    python -m tests.fuzz.fuzz_inputs --kinds h5 --count 1 --first 417     # one case again

Anything else is a fault: another exception, a warning, a message of several lines, numbers that make no
sense, too much time or memory, the end of the process. Faults are kept in `--keep`, each with its file.
A case is known by its kind, the seed and its number; where a process ends, another goes on behind the case.
"""

import argparse
import faulthandler
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from tests.fuzz.kinds import KINDS, Case
from vidsum.errors import VidsumError

SECONDS, MEBIBYTES = 20, 1024
"""What a case may take: time of the processor, which does not depend on what else runs, and address space
beyond that of a process that has read files of the kind."""
LONGEST_MESSAGE = 1000
ROOT = Path(__file__).parents[2]


class _TooSlow(BaseException):
    """The time of a case is up."""


def case_of(kind: str, seed: int, number: int) -> Case:
    """A damaged file, the same at every call."""
    return KINDS[kind](random.Random(f"{kind} {seed} {number}"))


def outcome(case: Case, folder: Path) -> str:
    """What comes of a case: `read`, `refused`, or what is wrong in the words of a traceback."""
    path = folder / case.name
    path.write_bytes(case.content)
    signal.signal(signal.SIGPROF, _stop)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    faulthandler.dump_traceback_later(20 * SECONDS, exit=True)  # for what waits, or does not leave C code
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            case.read(path)
        result = "read"
    except VidsumError as error:
        short = "\n" not in error.message and len(error.message) <= LONGEST_MESSAGE
        result = "refused" if short else f"a message that is no line: {error.message!r:.300}"
    except (Exception, _TooSlow):
        result = traceback.format_exc(limit=-4)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        faulthandler.cancel_dump_traceback_later()
        path.unlink(missing_ok=True)
    return f"warning: {warned[0].message}" if warned else result


def _stop(signum: int, frame: FrameType | None) -> None:
    raise _TooSlow


def run_here(kind: str, seed: int, numbers: Sequence[int], folder: Path) -> None:
    """Try cases in this process, and print a line before and after each."""
    os.chdir(folder)
    for number in (-1, -2):  # loads what there is to load
        outcome(case_of(kind, seed, number), folder)
    in_use = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    most = in_use + MEBIBYTES * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    for number in numbers:
        print(json.dumps([number, None]), flush=True)
        print(json.dumps([number, outcome(case_of(kind, seed, number), folder)]), flush=True)


def run_apart(kind: str, seed: int, first: int, count: int) -> dict[int, str]:
    """The outcome of each case, tried in processes of their own."""
    found: dict[int, str] = {}
    while first + len(found) < first + count:
        start = first + len(found)
        command = [sys.executable, "-m", __spec__.name, "--kinds", kind, "--seed", str(seed), "--here"]
        command += ["--first", str(start), "--count", str(first + count - start)]
        begun = -1
        with tempfile.TemporaryFile("w+") as told:
            streams: Any = {"stdout": subprocess.PIPE, "stderr": told, "text": True}
            with subprocess.Popen(command, cwd=ROOT, **streams) as process:
                assert process.stdout is not None
                for line in process.stdout:
                    begun, result = json.loads(line)
                    if result is not None:
                        found[begun] = result
            told.seek(0)
            ended = told.read()
        if process.returncode == 0:
            break
        if begun in found or begun < start:
            raise RuntimeError(f"{kind}: no case can be tried: {ended[-2000:]}")
        found[begun] = f"{ended[-2000:]}\nthe process ended with {process.returncode}"
    return found


def keep(kind: str, seed: int, faults: dict[int, str], folder: Path) -> None:
    """Write the files of faults, and beside each what happened."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, reason in faults.items():
        case = case_of(kind, seed, number)
        place = folder / f"{kind}-{seed}-{number}-{case.name}"
        place.write_bytes(case.content)
        place.with_name(f"{place.name}.txt").write_text(reason)


def main() -> None:
    """Try cases of each kind and leave with 1 if there is a fault."""
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=layout)
    parser.add_argument("--kinds", nargs="*", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, default=Path(tempfile.gettempdir()) / "vidsum-fuzz")
    parser.add_argument("--here", action="store_true", help="in this process, for one kind")
    given = parser.parse_args()
    if given.here:
        with tempfile.TemporaryDirectory() as folder:
            run_here(given.kinds[0], given.seed, range(given.first, given.first + given.count), Path(folder))
        return
    n_faults = 0
    for kind in given.kinds:
        found = run_apart(kind, given.seed, given.first, given.count)
        faults = {number: result for number, result in found.items() if result not in ("read", "refused")}
        keep(kind, given.seed, faults, given.keep)
        counts = Counter(found.values())
        n_read, n_refused = counts["read"], counts["refused"]
        print(f"{kind}: {len(found)} tried, {n_read} read, {n_refused} refused, {len(faults)} faults")
        for number, reason in list(faults.items())[:20]:
            print(f"  {number}: {reason.strip().splitlines()[-1]:.200}")
        n_faults += len(faults)
    if n_faults:
        print(f"the files are in {given.keep}")
    sys.exit(bool(n_faults))


if __name__ == "__main__":
    main()
