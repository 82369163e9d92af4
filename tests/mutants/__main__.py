"""Plant each fault of `mutants.json` in a copy of the project and report whether the tests find it.

    python -m tests.mutants [--only vidsum/shots] [--draw 40 --seed 1] [--jobs 2] [--report FILE.json]

A fault replaces one line of one function. Its tests run until the first failure; the test that failed must
pass without the fault. A fault without a failure is a survivor. The command ends with 1 if a fault
survives that an earlier run found (`found` in the list), and with 2 if a line to replace is not in the code.

The tests of a fault run in the order of the list, the file that mirrors the module first; the command
prints which of them failed first. To measure whether the names of tests say what is broken, draw 40 faults
with a seed that has not been used (`--draw 40 --seed S`). Read only the file and the name of the test, not
its parameters, its body or its traceback. A fault is named if they say which behaviour is wrong, so that a
maintainer knows what to look for. A name that only says where, or that something is wrong, does not count;
nor does a survivor. Whoever judges should not have written the names. Report the seed and the count before
any test is renamed.
"""

import argparse
import ast
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import SimpleQueue

ROOT = Path(__file__).resolve().parents[2]
LIST = Path(__file__).parent / "mutants.json"
_TIMEOUT_S = 600.0
"""A fault that makes a loop endless is found by this limit."""
_ALL = "deep or not deep"
"""Deep tests find faults, too."""


@dataclass(frozen=True)
class Outcome:
    """`found`, `SURVIVED` or `tests fail anyway`, and the name of the test that failed first."""

    state: str
    test: str


@dataclass(frozen=True)
class Mutant:
    """One line of one function, a wrong version of it, and the tests that should fail."""

    file: str
    function: str
    line: str
    wrong: str
    tests: tuple[str, ...]
    found: bool = True

    def plant(self, text: str) -> str:
        """Return the text of the file with the fault. Raises LookupError: the line is not in the function."""
        lines = text.split("\n")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef) and node.name == self.function.split(".")[-1]:
                for number in range(node.lineno - 1, node.end_lineno or node.lineno):
                    if lines[number].strip() == self.line:
                        indent = lines[number][: len(lines[number]) - len(lines[number].lstrip())]
                        lines[number] = indent + self.wrong
                        return "\n".join(lines)
        raise LookupError(f"{self.file}: {self.function} has no line {self.line!r}")


def read_mutants(only: str = "") -> list[Mutant]:
    """Read the faults of files whose path, or whose tests' path, starts with `only`."""
    mutants = [Mutant(**{**row, "tests": tuple(row["tests"])}) for row in json.loads(LIST.read_text("utf-8"))]
    return [m for m in mutants if m.file.startswith(only) or any(t.startswith(only) for t in m.tests)]


def draw(mutants: Sequence[Mutant], count: int, seed: int) -> list[Mutant]:
    """Draw `count` of the faults at random, or all of them if there are fewer."""
    return random.Random(seed).sample(mutants, min(count, len(mutants)))


def copy_project(folder: Path) -> Path:
    """Copy what git tracks, as hard links where possible, and return the copy's root."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    for name in filter(None, names.decode().split("\0")):
        source, target = ROOT / name, folder / name
        if source.exists() or source.is_symlink():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target, follow_symlinks=False)
    return folder


def find_failure(tests: Sequence[str], copy: Path) -> str:
    """Return the first test that fails in a copy of the project, or does not end in time; empty if none."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-m", _ALL]
    environment = {**os.environ, "PYTHONPATH": f"{copy}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    for test in tests:  # one by one: pytest runs a file with its folder, if both are given
        try:
            run = subprocess.run(
                [*command, test],
                cwd=copy,
                env=environment,
                capture_output=True,
                text=True,
                timeout=_TIMEOUT_S,
            )
        except subprocess.TimeoutExpired:
            return test
        if run.returncode not in (0, 1, 2, 5):  # 2: a module cannot be imported; 5: all tests are left out
            raise RuntimeError(f"{test}: pytest ended with {run.returncode}: {run.stdout[-400:]}")
        if run.returncode in (1, 2):
            failed = re.search(r"^(?:FAILED|ERROR) (\S+?\.py)(::[^\s\[]+)?", run.stdout, re.MULTILINE)
            return "".join(failed.groups(default="")) if failed else test
    return ""


def check(mutants: Sequence[Mutant], jobs: int) -> list[Outcome]:
    """Return the outcome of each fault; prints two lines when a fault is done."""
    with tempfile.TemporaryDirectory() as folder:
        copies: SimpleQueue[Path] = SimpleQueue()
        for number in range(jobs):
            copies.put(copy_project(Path(folder) / str(number)))

        def run(number: int) -> Outcome:
            mutant, copy = mutants[number], copies.get()
            path = copy / mutant.file
            right = path.read_text("utf-8")
            tests = [test for test in mutant.tests if (copy / test).exists()]
            try:
                path.write_text(mutant.plant(right), "utf-8")
                failure = find_failure(tests, copy)
                path.write_text(right, "utf-8")
                is_found = bool(failure) and not find_failure([failure], copy)
                state = "found" if is_found else "tests fail anyway" if failure else "SURVIVED"
            finally:
                copies.put(copy)
            print(
                f"{number + 1}/{len(mutants)} {state}: {mutant.file} {mutant.function}: {mutant.wrong}",
                f"    {failure or 'no test failed'}",
                sep="\n",
                flush=True,
            )
            return Outcome(state, failure)

        with ThreadPoolExecutor(jobs) as pool:
            return list(pool.map(run, range(len(mutants))))


def main() -> int:
    """Check the faults that the arguments choose, and return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.mutants", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--only", default="", metavar="PATH", help="faults or tests below this path")
    parser.add_argument("--draw", type=int, metavar="N", help="check N of these faults, drawn at random")
    parser.add_argument("--seed", type=int, default=0, help="of the draw (0)")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--report", type=Path, help="write the results to this file")
    options = parser.parse_args()
    mutants, stale = read_mutants(options.only), list[str]()
    if options.draw is not None:
        mutants = draw(mutants, options.draw, options.seed)
    for mutant in mutants:
        try:
            mutant.plant((ROOT / mutant.file).read_text("utf-8"))
        except (LookupError, OSError) as error:
            stale.append(str(error))
    if stale:
        print(*stale, f"{len(stale)} lines of {LIST.name} are out of date", sep="\n", file=sys.stderr)
        return 2
    outcomes = check(mutants, options.jobs)
    checked = list(zip(mutants, outcomes, strict=True))
    if options.report:
        rows = [{"file": m.file, "wrong": m.wrong, **asdict(outcome)} for m, outcome in checked]
        options.report.write_text(json.dumps(rows, indent=1) + "\n", "utf-8")
    lost = [m for m, outcome in checked if m.found and outcome.state != "found"]
    n_found = sum(outcome.state == "found" for outcome in outcomes)
    print(f"{n_found} of {len(mutants)} found, {len(lost)} lost")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
