"""No code reads the text of a message, and messages name options as values."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from pathlib import Path

import pytest

from docs.options import commands, flags_of
from vidsum.commands.options import leaves_of

_ROOT = Path(__file__).parents[1]
_SOURCES = {
    str(path.relative_to(_ROOT)): path.read_text("utf-8")
    for folder in ("vidsum", "commands")
    for path in sorted((_ROOT / folder).rglob("*.py"))
    if not {"weights", "schemas"} & {*path.relative_to(_ROOT).parts[:-1]}
}

_parse = cache(ast.parse)

_CUTS = {
    "startswith",
    "endswith",
    "removeprefix",
    "removesuffix",
    "split",
    "rsplit",
    "partition",
    "rpartition",
}
_METHODS = _CUTS | {"replace", "find", "index", "count", "splitlines"}
_PATTERNS = {"match", "search", "fullmatch", "findall", "finditer", "split", "sub", "subn"}
_ATTRIBUTES = {"message", "messages", "hint", "hint_text", "words", "warnings", "help", "more", "details"}
_NAMES = {"message", "messages", "hint", "warning", "warnings", "fault", "notice", "notices", "help"}
_ERRORS = {"error", "fault", "problem", "broken", "reason", "notice"}
"""Names that hold a message, or an error that has one."""


def _is_message(node: ast.AST, aliases: set[str]) -> bool:
    """Return whether an expression is, or may be, the text of a message, or several of them."""
    match node:
        case ast.Name(id=name):
            return name in _NAMES | aliases
        case ast.Attribute(value=ast.Name(id=name), attr="text"):
            return name in _ERRORS
        case ast.Attribute(attr=attr):
            return attr in _ATTRIBUTES
        case ast.Call(func=ast.Name(id="str"), args=[ast.Name(id=name)]):
            return name in _ERRORS
        case ast.BoolOp(values=values):
            return any(_is_message(value, aliases) for value in values)
        case ast.Subscript(slice=ast.Constant(value=str())):
            return False  # a fact
        case ast.Subscript(value=value) | ast.Starred(value=value) | ast.NamedExpr(value=value):
            return _is_message(value, aliases)
        case ast.Call(func=ast.Attribute(value=value, attr="lower" | "strip" | "rstrip")):
            return _is_message(value, aliases)
    return False


def _pairs(node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Yield the names that a statement or a comprehension sets, with their values."""
    match node:
        case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)):
            yield from zip(names, values, strict=False)
        case ast.Assign(targets=[target], value=value):
            yield target, value
        case ast.For(target=target, iter=value) | ast.comprehension(target=target, iter=value):
            yield target, value


def _aliases(nodes: Sequence[ast.AST]) -> set[str]:
    """Return the names in a function that hold a message."""
    known, pairs = set[str](), [*chain.from_iterable(map(_pairs, nodes))]
    for _ in range(2):  # an alias of an alias
        for target, value in pairs:
            if isinstance(target, ast.Name) and _is_message(value, known):
                known.add(target.id)
    return known


def _is_beginning(node: ast.AST) -> bool:
    """Return whether a text is the beginning of a message, as `f"{name}: "`, or prose."""
    match node:
        case ast.JoinedStr(values=[*_, ast.Constant(value=str(end))]):
            return end.endswith(": ")
        case ast.Constant(value=str(text)):
            return bool(re.search(r"[a-z]{2}[.:]?( [a-z]| ?$)", text)) and " " in text
    return False


def _is_set_of_messages(node: ast.AST, aliases: set[str]) -> bool:
    match node:
        case ast.Set(elts=parts) | ast.Call(func=ast.Name(id="set" | "frozenset"), args=parts):
            return any(_is_message(part, aliases) for part in parts)
    return False


def _is_read(node: ast.AST, aliases: set[str]) -> bool:
    """Return whether an expression decides or cuts by the text of a message, and does not only lay it out."""
    match node:
        case ast.Call(func=ast.Attribute(attr="split" | "splitlines"), args=[], keywords=[]):
            return False
        case ast.Call(func=ast.Attribute(value=value, attr=method), args=args):
            return (
                (method in _METHODS and _is_message(value, aliases))
                or (method in _CUTS and any(map(_is_beginning, args)))
                or (method in _PATTERNS and any(_is_message(arg, aliases) for arg in args))
            )
        case ast.Compare(left=left, ops=[ast.In() | ast.NotIn()], comparators=[value]):
            return _is_message(value, aliases)
        case ast.BinOp(left=left, op=ast.BitAnd() | ast.Sub(), right=right):
            return _is_set_of_messages(left, aliases) or _is_set_of_messages(right, aliases)
        case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq()], comparators=[ast.Constant(value=str())]):
            return _is_message(left, aliases)
    return False


def find_reads(source: str) -> list[int]:
    """Return the lines of a source that read the text of a message."""
    tree = _parse(source)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    lines = set[int]()
    for function in functions:
        aliases = _aliases(nodes := [*ast.walk(function)])
        lines |= {getattr(node, "lineno", 0) for node in nodes if _is_read(node, aliases)}
    return sorted(lines)


def test_no_code_reads_a_message() -> None:
    reads = []
    for name, source in _SOURCES.items():
        lines = source.splitlines()
        reads += [f"{name}:{number}: {lines[number - 1].strip()}" for number in find_reads(source)]
    assert reads == [], "decide by an attribute of the error, such as `subject`, or return the fact itself"


@pytest.mark.parametrize(
    "line",
    [
        "message if message.startswith(prefix) else prefix + message",
        '"; ".join(text.removeprefix(f"{name}: ") for text in texts)',
        '[paragraph for paragraph in paragraphs if paragraph.startswith("vidsum ")]',
        '(self.help or "").split("\\n\\n")',
        'text.removesuffix(" Can be repeated.")',
        're.split("[.] ", parameter.help)[0]',
        "silent in grounding.warnings",
        "earlier & {*grounding.warnings}",
        "set(result.warnings) - known",
        '[note for note in result.warnings if note.endswith(":")]',
        "_SOUND.search(str(error))",
        'error.text == "has no sound"',
    ],
)
def test_reading_a_message_is_noticed(line: str) -> None:
    assert find_reads(f"def f():\n    return {line}\n") == [2]


@pytest.mark.parametrize(
    "line",
    ['" ".join(str(error).split())', 'path.name.endswith(".json")', 'fault["type"].partition("_")[0]'],
)
def test_layout_and_facts_are_no_reading(line: str) -> None:
    assert find_reads(f"def f():\n    return {line}\n") == []


_FLAG = re.compile(r"(?<![\w.=/-])(?<!\x00)--?[a-zA-Z][\w-]*")
_FUNCTIONS = {"fill", "unknown_name_error"}  # which make messages, as the classes of errors do
_PROGRAMS = ("ffmpeg", "iconv", "mkdir", "pip", "ray", "say", "jq", "vidsum")
"""Programs whose command lines messages quote, with their flags; those of vidsum are the same in Python."""
_OTHER_FLAGS = {
    "vidsum/lab/importers/import_detr.py": {"--span_loss_type"},  # of the authors' training script
    "vidsum/io/packages.py": {"--force-reinstall", "--no-deps", "-y"},  # arguments of pip
}


def _texts(node: ast.AST, values: Mapping[str, list[ast.AST]]) -> Iterator[str]:
    """Yield the texts in an expression and in what its names are set to, with \\0 for values."""
    match node:
        case ast.JoinedStr(values=parts):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "\0" for part in parts)
        case ast.Constant(value=str(text)):
            yield text
        case ast.Name(id=name):
            for value in values.get(name, ()):
                yield from _texts(value, {})
        case ast.Call(func=ast.Name(id="Mention")):
            return
        case _:
            for part in ast.iter_child_nodes(node):
                yield from _texts(part, values)


def _values(nodes: Sequence[ast.AST]) -> dict[str, list[ast.AST]]:
    """Return what the names in a function are set to."""
    values = defaultdict[str, list[ast.AST]](list)
    for node in nodes:
        for target, value in _pairs(node):
            if isinstance(target, ast.Name):
                values[target.id].append(value)
    return values


@cache
def _messages(name: str) -> set[str]:
    """Return the texts of the messages and hints of a module."""
    tree, texts = _parse(_SOURCES[name]), set[str]()
    module = _values([node for node in tree.body if isinstance(node, ast.Assign)])
    for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
        values = {**module, **_values(nodes := [*ast.walk(function)])}
        is_text = isinstance(function.returns, ast.Name) and function.returns.id == "Text"
        for node in nodes:
            match node:
                case ast.Call(func=ast.Name(id=made), args=args, keywords=keywords):
                    if made.endswith("Error") or made in _FUNCTIONS:
                        for part in (*args, *(keyword.value for keyword in keywords)):
                            texts |= {*_texts(part, values)}
                case ast.Return(value=ast.expr() as value) if is_text:
                    texts |= {*_texts(value, values)}
    return texts


def _flags_in(text: str) -> Iterator[tuple[str, str]]:
    """Yield the flags in a message, each with the program that it is of; none for those on their own."""
    for match in _FLAG.finditer(text):
        before = re.split("[;`]", text[: match.start()])[-1]
        named = [program for program in _PROGRAMS if re.search(rf"\b{program}\b", before)]
        yield match[0], max(named, key=lambda program: before.rindex(program), default="")


def test_messages_name_options_as_values() -> None:
    alone = []
    for name in _SOURCES:
        known = {"--help", *_OTHER_FLAGS.get(name, ())}
        for text in _messages(name):
            alone += [(name, text) for flag, program in _flags_in(text) if not program and flag not in known]
    assert alone == [], 'Mention("budget", "20s") is a flag on the command line, and a keyword in Python'


def test_commands_in_messages_have_their_flags() -> None:
    known = {
        words: {"--help", *(flag for leaf in leaves_of(command) for flag in flags_of(leaf))}
        for words, command in commands()
    }
    texts = {*chain.from_iterable(map(_messages, _SOURCES))}
    unknown = []
    for text in sorted(texts):
        for flag, program in _flags_in(text):
            after = text[: text.index(flag)].rpartition("vidsum ")[2]
            fitting = [words for words in known if f"{after} ".startswith(f"{words} ")]
            if program == "vidsum" and fitting and flag not in known[max(fitting, key=len)]:
                unknown.append((text, flag))
    assert unknown == []
