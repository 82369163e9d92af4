"""A few damaged files of each kind; `python -m tests.fuzz.fuzz_inputs` tries as many as you like."""

import json
from pathlib import Path

import pytest

from tests.fuzz import good, reads
from tests.fuzz.fuzz_inputs import find_faults, outcome
from tests.fuzz.kinds import KINDS, Case


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [4, pytest.param(100, marks=pytest.mark.deep)])
def test_damaged_files(kind: str, count: int) -> None:
    assert find_faults(kind, 0, 0, count)[1] == {}


def test_good_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for document in good.film_and_results()[1]:
        content = json.dumps(document).encode()
        assert outcome(Case("result.json", content, reads.read_result), tmp_path) == "read"
