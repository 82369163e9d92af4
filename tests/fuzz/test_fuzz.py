"""A few damaged files of each kind; `python -m tests.fuzz.fuzz_inputs` tries as many as you like."""

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.fuzz import good, reads
from tests.fuzz.fuzz_inputs import find_faults, make_case, outcome
from tests.fuzz.kinds import KINDS, Case
from vidsum.errors import InputError


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [4, pytest.param(100, marks=pytest.mark.deep)])
def test_damaged_files_are_read_or_refused_in_one_line(kind: str, count: int) -> None:
    assert find_faults(kind, 0, 0, count)[1] == {}


@pytest.mark.parametrize("kind", KINDS)
def test_a_case_is_the_same_at_every_call(kind: str) -> None:
    cases = [make_case(kind, 0, 7) for _ in range(2)]
    assert cases[0] == cases[1]
    assert cases[0].content != make_case(kind, 1, 7).content


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
