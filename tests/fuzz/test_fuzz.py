"""A few damaged files of each kind; `python -m tests.fuzz.fuzz_inputs` tries as many as you like."""

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.fuzz import good, reads
from tests.fuzz.fuzz_inputs import case_of, outcome, run_apart
from tests.fuzz.kinds import KINDS, Case
from vidsum.errors import InputError

COUNT, COUNTS = 40, {"result": 150}
FEW = 4
"""Of each kind in the default suite, in this process."""


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_files_are_read_or_refused_in_one_line(kind: str, tmp_path: Path) -> None:
    found = [outcome(case_of(kind, 0, number), tmp_path) for number in range(FEW)]
    assert set(found) <= {"read", "refused"}


@pytest.mark.deep
@pytest.mark.parametrize("kind", KINDS)
def test_many_damaged_files_are_read_or_refused_in_one_line(kind: str) -> None:
    count = COUNTS.get(kind, COUNT)
    found = run_apart(kind, seed=0, first=0, count=count)
    assert len(found) == count
    assert {number: result for number, result in found.items() if result not in ("read", "refused")} == {}


@pytest.mark.parametrize("kind", KINDS)
def test_a_case_is_the_same_at_every_call(kind: str) -> None:
    cases = [case_of(kind, 0, 7) for _ in range(2)]
    assert cases[0] == cases[1]
    assert cases[0].content != case_of(kind, 1, 7).content


def test_results_are_read_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for document in good.film_and_results()[1]:
        content = json.dumps(document).encode()
        assert outcome(Case("result.json", content, reads.read_result), tmp_path) == "read"


def _refuse(message: str) -> Callable[[Path], None]:
    def read(path: Path) -> None:
        raise InputError(message)

    return read


def _warn(path: Path) -> None:
    warnings.warn("something is odd", stacklevel=1)


@pytest.mark.parametrize(
    ("read", "expected"),
    [
        (lambda path: path.read_bytes(), "read"),
        (_refuse("a.json: is no JSON"), "refused"),
        (_refuse("a.json: is\nno JSON"), "a message that is no line"),
        (_warn, "warning: something is odd"),
        (lambda path: 1 // 0, "ZeroDivisionError"),
    ],
)
def test_what_is_a_fault(tmp_path: Path, read: Callable[[Path], Any], expected: str) -> None:
    assert expected in outcome(Case("a.json", b"{}", read), tmp_path)
    assert list(tmp_path.iterdir()) == []
