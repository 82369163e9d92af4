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


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with two files of tests that fail."""
    tests = "import pytest\n\n\ndef test_fine():\n    pass\n\n\n"
    tests += "@pytest.mark.parametrize('n', [1, 2])\ndef test_even(n):\n    assert n == 2\n"
    (tmp_path / "tests").mkdir()
    for name in ("far", "near"):
        (tmp_path / "tests" / f"test_{name}.py").write_text(tests)
    return tmp_path


@pytest.mark.deep
def test_first_failing_test_is_named_without_its_parameters(project: Path) -> None:
    assert find_failure(["tests"], project) == "tests/test_far.py::test_even"


@pytest.mark.deep
def test_file_that_comes_first_runs_before_its_folder(project: Path) -> None:
    assert find_failure(["tests/test_near.py", "tests"], project) == "tests/test_near.py::test_even"


@pytest.mark.deep
def test_passing_tests_have_no_failure(project: Path) -> None:
    assert find_failure(["tests/test_near.py::test_fine"], project) == ""
