"""The layout of the tree: names of modules, the few at the top, and a folder of tests for each package."""

import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "vidsum"
_LINKS = ("commands", "weights")  # folders of the checkout that ship as packages of vidsum
_TOP = {"__init__", "__main__", "device", "errors", "options", "times", "types", "version"}
_REPEATED = ("__init__", "settings")  # names that each package has for the same purpose
_TESTS_OF_ALL = {"extensions", "fuzz", "golden", "mutants"}  # folders of tests that are of no single package


def modules() -> list[Path]:
    """The modules of the package, relative to it, without those of the command line."""
    paths = (path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py"))
    return sorted(path for path in paths if path.parts[0] not in _LINKS)


def packages() -> set[str]:
    return {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").is_file()}


def test_name_of_a_module_is_unique() -> None:
    places = defaultdict(list)
    for path in modules():
        if path.stem not in _REPEATED:
            places[path.stem].append(str(path))
    assert {name: paths for name, paths in places.items() if len(paths) > 1} == {}


def test_few_modules_stand_outside_of_packages() -> None:
    assert {path.stem for path in PACKAGE.glob("*.py")} == _TOP


def test_each_folder_with_modules_is_a_package() -> None:
    """The rule of pyproject.toml finds packages, and would leave out other folders."""
    assert {path.parent for path in modules()} == {p.parent for p in modules() if p.stem == "__init__"}


def test_packages_have_a_purpose() -> None:
    texts = {path: (PACKAGE / path).read_text("utf-8") for path in modules() if path.stem == "__init__"}
    assert {str(path) for path, text in texts.items() if not text.startswith('"""')} == set()


def test_each_package_is_in_the_table_of_layers() -> None:
    page = (ROOT / "docs" / "contributing.md").read_text("utf-8")
    named = set(re.findall(r"`(?:vidsum/)?(\w+)/`", page.partition("## What a change takes")[0]))
    assert packages() - named == set()


def test_folders_of_tests_mirror_packages() -> None:
    folders = {path.name for path in (ROOT / "tests").iterdir() if (path / "__init__.py").is_file()}
    assert folders - packages() - _TESTS_OF_ALL == set()


def test_settings_load_neither_numpy_nor_torch() -> None:
    """A command line lists all options before it loads anything slow."""
    names = [
        ".".join(("vidsum", *path.with_suffix("").parts)) for path in modules() if path.stem == "settings"
    ]
    assert len(names) > 5
    program = (
        f"import sys; import {', '.join(names)}; print([m for m in ('numpy', 'torch') if m in sys.modules])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == "[]"
