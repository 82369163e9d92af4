"""Names, docstrings and lengths of the package's files are those of docs/contributing.md."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
MODULES = sorted(
    path
    for folder in ("vidsum", "commands")
    for path in (ROOT / folder).rglob("*.py")
    if path.relative_to(ROOT).parts[:2] not in (("vidsum", "commands"), ("vidsum", "weights"))
)
"""All modules; the links to `commands/` and `weights/` would show some of them twice."""
FORBIDDEN_NAMES = {
    "how",
    "one",
    "each",
    "told",
    "kept",
    "asked",
    "shown",
    "found",
    "heard",
    "given",
    "own",
    "wishes",
    "beside",
}
"""Pronouns and participles say nothing about a value."""
_MAX_LINES = 350
FORBIDDEN_STARTS = ("What", "Of", "The same", "Those", "One of", "Who")
_RULE = "docs/contributing.md#language: say what the value is, or start the docstring with a verb or a noun"


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def names_in(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield every name that a module binds, with its line."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name, node.lineno
            case ast.Name(ctx=ast.Store()):
                yield node.id, node.lineno
            case ast.Attribute(ctx=ast.Store()):
                yield node.attr, node.lineno
            case ast.arg():
                yield node.arg, node.lineno
            case (
                ast.ExceptHandler(name=str(name))
                | ast.MatchAs(name=str(name))
                | ast.MatchStar(name=str(name))
            ):
                yield name, node.lineno
            case ast.Import() | ast.ImportFrom():
                for alias in node.names:
                    yield alias.asname or alias.name, node.lineno


def docstrings_in(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield the texts that stand alone: docstrings of modules, classes, functions and attributes."""
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text))):
                yield text, node.lineno


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_names_and_docstrings(path: Path) -> None:
    tree = tree_of(path)
    names = [f"line {line}: {name}" for name, line in names_in(tree) if name.strip("_") in FORBIDDEN_NAMES]
    starts = re.compile(rf"({'|'.join(FORBIDDEN_STARTS)})\b")
    texts = [f"line {line}: {text[:60]}" for text, line in docstrings_in(tree) if starts.match(text)]
    assert path.stem.strip("_") not in FORBIDDEN_NAMES, _RULE
    assert names == [], _RULE
    assert texts == [], _RULE


def test_the_page_lists_the_rules() -> None:
    page = (ROOT / "docs" / "contributing.md").read_text("utf-8")
    assert {word for word in (*FORBIDDEN_NAMES, *FORBIDDEN_STARTS) if f"`{word}`" not in page} == set()


def test_class_names() -> None:
    homes = defaultdict[str, list[str]](list)
    for path in MODULES:
        for node in tree_of(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(str(path.relative_to(ROOT)))
    assert {name: paths for name, paths in homes.items() if len(paths) > 1} == {}


def test_file_lengths() -> None:
    lengths = {str(path.relative_to(ROOT)): len(path.read_text("utf-8").splitlines()) for path in MODULES}
    assert {path: length for path, length in lengths.items() if length > _MAX_LINES} == {}
