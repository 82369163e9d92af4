"""List the options of the public functions in their docstrings, where `help()` shows them."""

import re
from collections.abc import Callable
from importlib import import_module
from inspect import cleandoc, isclass, isfunction
from typing import Any, get_type_hints

from vidsum.options import Leaf, leaves
from vidsum.pipelines import keywords

_HEAD = "\n\nOptions:\n"


def add_option_help(value: Any) -> None:
    """Append the options that a function, or the methods of a class, take to the docstrings; once."""
    functions = vars(value).values() if isclass(value) else (value,)
    for function in filter(isfunction, functions):
        doc = function.__doc__ or ""
        if _HEAD not in doc and (title := option_type(function)):
            options = options_of_type(title)
            lines = (f"    {leaf.name}: {describe_option(leaf, hint)}" for leaf, hint in options)
            function.__doc__ = cleandoc(doc) + _HEAD + "\n".join(lines)


def option_type(function: Callable[..., Any]) -> str | None:
    """Return the type in `vidsum.pipelines.keywords` of a function's further keywords; None without any."""
    title = re.search(r"\w+Options\b", str(function.__annotations__.get("options", "")))
    return title[0] if title and title[0] in keywords.SETTINGS else None


def options_of_type(title: str) -> list[tuple[Leaf, Any]]:
    """Return the options of a type in `vidsum.pipelines.keywords`, and the types of their values."""
    known = {leaf.name: leaf for path in keywords.SETTINGS[title].split() for leaf in leaves(_load(path))}
    return [(known[name], hint) for name, hint in get_type_hints(getattr(keywords, title)).items()]


def describe_option(leaf: Leaf, hint: Any) -> str:
    """Return type, default and meaning of an option in one line."""
    kind = hint.__name__ if isinstance(hint, type) else re.sub(r"(typing|collections\.abc)\.", "", str(hint))
    return f"{kind} = {leaf.default!r}. {'False: ' if leaf.is_inverted else ''}{leaf.text}"


def _load(path: str) -> Any:
    """Return the settings class of a path such as `shots.ShotSettings`."""
    module, _, name = path.rpartition(".")
    return getattr(import_module(f"vidsum.{module}.settings"), name)
