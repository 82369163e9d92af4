"""The list of faults fits the code."""

from pathlib import Path

import pytest

from tests.mutants.__main__ import ROOT, Mutant, draw, find_failure, read_mutants

MUTANTS = read_mutants()
IDS = [f"{mutant.file}:{mutant.function}" for mutant in MUTANTS]


@pytest.mark.parametrize("mutant", MUTANTS, ids=IDS)
def test_faulty_line_is_in_the_code(mutant: Mutant) -> None:
    text = (ROOT / mutant.file).read_text("utf-8")
    assert mutant.plant(text) != text


@pytest.mark.parametrize("path", sorted({path for mutant in MUTANTS for path in mutant.tests}))
def test_tests_of_a_fault_exist(path: str) -> None:
    assert (ROOT / path).exists()


@pytest.mark.parametrize("mutant", MUTANTS, ids=IDS)
def test_file_that_mirrors_the_module_runs_first(mutant: Mutant) -> None:
    module = Path(mutant.file.removeprefix("vidsum/"))
    mirror = str("tests" / module.with_name(f"test_{module.name}"))
    assert mirror == mutant.tests[0] or not (ROOT / mirror).exists()


def test_a_seed_draws_the_same_faults_again() -> None:
    assert draw(MUTANTS, 5, seed=3) == draw(MUTANTS, 5, seed=3) != draw(MUTANTS, 5, seed=4)


def test_no_fault_is_drawn_twice() -> None:
    assert sorted(map(str, draw(MUTANTS, len(MUTANTS) + 1, seed=0))) == sorted(map(str, MUTANTS))


@pytest.mark.deep
def test_name_of_the_first_failing_test_is_given_without_its_parameters(tmp_path: Path) -> None:
    tests = "import pytest\n\n\ndef test_fine():\n    pass\n\n\n"
    tests += "@pytest.mark.parametrize('n', [1, 2])\ndef test_even(n):\n    assert n == 2\n"
    (tmp_path / "test_numbers.py").write_text(tests)
    assert find_failure(["test_numbers.py"], tmp_path) == ["test_numbers.py::test_even"]
