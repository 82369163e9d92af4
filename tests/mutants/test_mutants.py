"""The list of faults fits the code."""

import pytest

from tests.mutants.__main__ import ROOT, Mutant, read_mutants

MUTANTS = read_mutants()


@pytest.mark.parametrize("mutant", MUTANTS, ids=[f"{mutant.file}:{mutant.function}" for mutant in MUTANTS])
def test_faulty_line_is_in_the_code(mutant: Mutant) -> None:
    text = (ROOT / mutant.file).read_text("utf-8")
    assert mutant.plant(text) != text


@pytest.mark.parametrize("path", sorted({path for mutant in MUTANTS for path in mutant.tests}))
def test_tests_of_a_fault_exist(path: str) -> None:
    assert (ROOT / path).exists()
