"""Plant each fault of `mutants.json` in a copy of the project and report whether the tests find it.

    python -m tests.mutants [--only vidsum/shots] [--jobs 2] [--report FILE.json]

A fault replaces one line of one function. Its tests run until the first failure; the test that failed must
pass without the fault. A fault without a failure is a survivor. The command ends with 1 if a fault
survives that an earlier run found (`found` in the list), and with 2 if a line to replace is not in the code.
"""

import argparse
import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

ROOT = Path(__file__).resolve().parents[2]
LIST = Path(__file__).parent / "mutants.json"
_TIMEOUT_S = 600.0
"""A fault that makes a loop endless is found by this limit."""
_ALL = "deep or not deep"
"""Deep tests find faults, too."""


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


def copy_project(folder: Path) -> Path:
    """Copy what git tracks, as hard links where possible, and return the copy's root."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    for name in filter(None, names.decode().split("\0")):
        source, target = ROOT / name, folder / name
        if source.exists() or source.is_symlink():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target, follow_symlinks=False)
    return folder


def find_failure(tests: Sequence[str], copy: Path) -> Sequence[str]:
    """Return the first test that fails in a copy of the project; all of them if they do not end in time."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-m", _ALL, *tests]
    environment = {**os.environ, "PYTHONPATH": f"{copy}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    try:
        run = subprocess.run(
            command, cwd=copy, env=environment, capture_output=True, text=True, timeout=_TIMEOUT_S
        )
    except subprocess.TimeoutExpired:
        return tests
    if run.returncode not in (0, 1, 2):  # 2: a module cannot be imported
        raise RuntimeError(f"{tests}: pytest ended with {run.returncode}: {run.stdout[-400:]}")
    failed = re.findall(r"^(?:FAILED|ERROR) (\S+?\.py)(::[^\s\[]+)?", run.stdout, re.MULTILINE)
    return ["".join(name) for name in failed[:1]] or (tests if run.returncode else ())


def check(mutants: Sequence[Mutant], jobs: int) -> list[str]:
    """Return `found`, `SURVIVED` or `tests fail anyway` for each fault; prints a line when one is done."""
    with tempfile.TemporaryDirectory() as folder:
        copies: SimpleQueue[Path] = SimpleQueue()
        for number in range(jobs):
            copies.put(copy_project(Path(folder) / str(number)))

        def run(number: int) -> str:
            mutant, copy = mutants[number], copies.get()
            path = copy / mutant.file
            right = path.read_text("utf-8")
            tests = [test for test in mutant.tests if (copy / test).exists()]
            try:
                path.write_text(mutant.plant(right), "utf-8")
                failure = find_failure(tests, copy)
                path.write_text(right, "utf-8")
                is_found = bool(failure) and not find_failure(failure, copy)
                state = "found" if is_found else "tests fail anyway" if failure else "SURVIVED"
            finally:
                copies.put(copy)
            print(
                f"{number + 1}/{len(mutants)} {state}: {mutant.file} {mutant.function}: {mutant.wrong}",
                flush=True,
            )
            return state

        with ThreadPoolExecutor(jobs) as pool:
            return list(pool.map(run, range(len(mutants))))


def main() -> int:
    """Check the faults that the arguments choose, and return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.mutants", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--only", default="", metavar="PATH", help="faults or tests below this path")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--report", type=Path, help="write the results to this file")
    options = parser.parse_args()
    mutants, stale = read_mutants(options.only), list[str]()
    for mutant in mutants:
        try:
            mutant.plant((ROOT / mutant.file).read_text("utf-8"))
        except (LookupError, OSError) as error:
            stale.append(str(error))
    if stale:
        print(*stale, f"{len(stale)} lines of {LIST.name} are out of date", sep="\n", file=sys.stderr)
        return 2
    states = check(mutants, options.jobs)
    if options.report:
        rows = [{"file": m.file, "wrong": m.wrong, "state": c} for m, c in zip(mutants, states, strict=True)]
        options.report.write_text(json.dumps(rows, indent=1) + "\n", "utf-8")
    lost = [m for m, state in zip(mutants, states, strict=True) if m.found and state != "found"]
    print(f"{states.count('found')} of {len(mutants)} found, {len(lost)} lost")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
