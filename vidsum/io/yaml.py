"""YAML from files that anyone may have written: whatever is wrong is one InputError.

A mapping that has a key twice is an error: PyYAML would drop the first value.
"""

import os
from typing import Any

import yaml

from vidsum.errors import InputError, quote
from vidsum.io.text import read_text

_MAX_VALUES = 1_000_000
"""Limit with all aliases expanded: a few lines of them can mean billions of values."""
_MAX_INTEGER_BITS = 64
"""Limit of a whole number: a longer 0x... can neither be printed nor become a float."""

_MAX_DEPTH_IN_C = 1000
_QUICK = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""PyYAML may have been built without it."""


def read_yaml(path: str | os.PathLike[str]) -> Any:
    """Return the value in a YAML file. Raises InputError: it cannot be read, or is not YAML."""
    return parse_yaml(read_text(path), str(path))


def parse_yaml(text: str, where: str) -> Any:
    """Return the value of a YAML text: plain values, no objects of Python; `where` is the file, for messages.

    Raises InputError: it is not YAML, a value is not what its form says (a date 2001-99-99), a mapping has a
    key twice, or it is too deep or too large.
    """
    try:
        loader = _loader(text)
        try:
            node = loader.get_single_node()
            if node is None:
                return None
            _check_node(node, loader, where, {})
            return loader.construct_document(node)
        finally:
            loader.dispose()
    except yaml.YAMLError as error:
        reason = " ".join(str(error).split())
    except RecursionError:
        reason = "nested too deep"
    except MemoryError:
        reason = "too large for the memory of this machine"
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        reason = "a value is not what its tag says"  # PyYAML's way with lists and mappings of odd tags
    raise InputError(f"{where}: cannot be read as YAML ({reason})")


def _loader(text: str) -> yaml.SafeLoader:
    """Return the quick loader, which is in C, where its recursion cannot overflow the stack, else the one in
    Python.

    Of nested blocks, two at most begin in one column, and each bracket opens one value.
    """
    columns = max(map(len, text.splitlines()), default=0)
    depth = 2 * columns + text.count("[") + text.count("{")
    kind: type[yaml.SafeLoader] = yaml.SafeLoader if depth > _MAX_DEPTH_IN_C else _QUICK
    return kind(text)


def _check_node(node: yaml.Node, loader: yaml.SafeLoader, where: str, sizes: dict[int, int | None]) -> int:
    """Return the number of values in a node with its aliases written out; what cannot be used is an
    InputError.

    `sizes` are those of the nodes looked at so far, by their id; None while one is looked at.
    """
    place = f"{where}: line {node.start_mark.line + 1}"
    if id(node) in sizes:
        size = sizes[id(node)]
        if size is None:
            raise InputError(f"{place}: a value that holds itself")
        return size
    sizes[id(node)] = None
    if isinstance(node, yaml.ScalarNode):
        _check_scalar(node, loader, place)
        inner: list[yaml.Node] = []
    elif isinstance(node, yaml.MappingNode):
        _check_keys(node, place)
        inner = [part for pair in node.value for part in pair]
    else:
        inner = node.value
    size = sizes[id(node)] = 1 + sum(_check_node(part, loader, where, sizes) for part in inner)
    if size > _MAX_VALUES:
        raise InputError(f"{place}: holds more than {_MAX_VALUES} values, with its aliases written out")
    return size


def _check_scalar(node: yaml.ScalarNode, loader: yaml.SafeLoader, place: str) -> None:
    """PyYAML takes for a date what has the form of one, and raises whatever `datetime` does if it is none."""
    if node.tag == "tag:yaml.org,2002:merge":
        return
    try:
        value = loader.construct_object(node)
        is_sound = not isinstance(value, int) or value.bit_length() <= _MAX_INTEGER_BITS
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        is_sound = False
    if not is_sound:
        raise InputError(
            f"{place}: {quote(node.value)} cannot be read as the number or date that it looks like",
            hint="put it in quotes",
        )


def _check_keys(node: yaml.MappingNode, place: str) -> None:
    seen: set[tuple[str, str]] = set()
    for key, _ in node.value:
        if not isinstance(key.value, str):
            continue
        if (key.tag, key.value) in seen:
            raise InputError(f"{place}: a mapping has the key {quote(key.value)} twice")
        seen.add((key.tag, key.value))
