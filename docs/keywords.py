"""Print the options as types of Python keywords, from the settings; or as a page for people.

python -m docs.keywords > vidsum/pipelines/keywords.py
python -m docs.keywords page > docs/python_options.md
"""

import sys
from inspect import isclass, isfunction
from textwrap import fill
from types import NoneType
from typing import Any, Literal, get_args, get_origin

import vidsum
from vidsum.archive.settings import Indexing, SearchOptions
from vidsum.description.settings import Describing
from vidsum.features.settings import Extraction
from vidsum.grounding.settings import HighlightSettings, Retrieval, Watching
from vidsum.options import item_of, leaves, required
from vidsum.pipelines import keywords
from vidsum.pipelines.option_help import option_type, options_of_type
from vidsum.shots.settings import ChapterSettings, ShotSettings
from vidsum.speech.settings import Transcription, Trimming
from vidsum.summary.settings import ReelSettings, Selection, ShortSettings
from vidsum.video.settings import Clips, SoundLevel, Styling

_HEAD = '''"""The options of Python functions as types of keywords; made by `python -m docs.keywords`."""

from collections.abc import Sequence
from typing import Literal, TypedDict
'''
_TYPES: dict[str, tuple[str, type[Any], tuple[str, ...]]] = {
    "ReadingOptions": ("TypedDict", Extraction, ()),
    "SamplingOptions": ("ReadingOptions", Extraction, ("fps", "clip_frames", "stride_frames", "logits")),
    "ExtractionOptions": ("SamplingOptions", Extraction, ("extractor",)),
    "ShotOptions": ("ExtractionOptions", ShotSettings, ()),
    "SummaryOptions": ("ShotOptions", Selection, ()),
    "ReelOptions": ("ExtractionOptions", ReelSettings, ()),
    "GroundOptions": ("ReadingOptions", Retrieval, ()),
    "HighlightOptions": ("ExtractionOptions", HighlightSettings, ()),
    "WatchOptions": ("TypedDict", Watching, ()),
    "DescribeOptions": ("ReadingOptions", Describing, ()),
    "ChapterOptions": ("ReadingOptions", ChapterSettings, ()),
    "ShortOptions": ("ReadingOptions", ShortSettings, ()),
    "SoundOptions": ("TypedDict", SoundLevel, ()),
    "ClipOptions": ("SoundOptions", Styling, ()),
    "MomentClipOptions": ("ClipOptions", Clips, ("pad_s",)),
    "TrimOptions": ("ReadingOptions", Trimming, ()),
    "SpeechOptions": ("TypedDict", Transcription, ()),
    "IndexOptions": ("ReadingOptions", Indexing, ()),
    "ArchiveSearchOptions": ("TypedDict", SearchOptions, ()),
}
"""Base and options of each type; without names, the options that no other type has."""
_LINE_LENGTH = 110
_PARAMETERS = ("budget", "shots", "model", "top_k")
"""Parameters that functions declare themselves; `transcribe` declares `language` too."""


def types() -> str:
    """Return the whole file of types."""
    named = {(kind, name) for _, kind, names in _TYPES.values() for name in names}
    every = [leaf for _, kind, _ in _TYPES.values() for leaf in leaves(kind)]
    long = {leaf.name: leaf.kind for leaf in every if _is_long(leaf.name, leaf.kind)}
    text = "\n".join([_HEAD, *(_choices(name, kind) for name, kind in long.items())])
    for title, (base, kind, names) in _TYPES.items():
        rest = [
            leaf.name
            for leaf in leaves(kind)
            if (kind, leaf.name) not in {*named, (Transcription, "language")} and leaf.name not in _PARAMETERS
        ]
        text += f"\n\nclass {title}({base}, total=False):\n"
        fields = [leaf for leaf in leaves(kind) if leaf.name in (names or rest)]
        for leaf in fields:
            is_long = _is_long(leaf.name, leaf.kind)
            text += f"    {leaf.name}: {_alias(leaf.name) if is_long else _type_name(leaf.kind)}\n"
        text += "" if fields else "    pass\n"
    text += "\n\nSETTINGS = {\n"
    text += "".join(f'    "{title}": "{" ".join(_paths(title))}",\n' for title in _TYPES)
    return text + '}\n"""The settings classes that declare the options of each type."""\n'


def _choices(name: str, kind: Any) -> str:
    """Return a choice with its own name, as ruff formats it, which is too long for a line of a class."""
    return f"{_alias(name)} = Literal[\n" + "".join(f'    "{text}",\n' for text in get_args(kind)) + "]\n"


def _alias(name: str) -> str:
    return name.title().replace("_", "")


def _is_long(name: str, kind: Any) -> bool:
    is_choice = get_origin(kind) is Literal
    return is_choice and len(f"    {name}: {_type_name(kind)}") > _LINE_LENGTH


def _paths(title: str) -> list[str]:
    """Return the settings of a type and its bases, each once; `settings`, the module, is left out."""
    paths: list[str] = []
    while title in _TYPES:
        title, kind, _ = _TYPES[title]
        path = f"{kind.__module__}.{kind.__name__}".removeprefix("vidsum.").replace(".settings.", ".")
        paths += [] if path in paths else [path]
    return paths


_PAGE_HEAD = """# Options of the Python functions

Names and defaults. `help(vidsum.summarize)` says what each option of a function means. A section includes
the options of the section after "and". Made by `python -m docs.keywords page`.
"""


def page() -> str:
    """Return the page of all options."""
    text, takers = _PAGE_HEAD, _takers()
    for title, (base, _, _) in _TYPES.items():
        inherited = getattr(keywords, base).__annotations__ if base in _TYPES else ()
        options = (leaf for leaf, _ in options_of_type(title) if leaf.name not in inherited)
        more = f"and [{base}](#{base.lower()})" if base in _TYPES else ""
        text += f"\n## {title}\n\n"
        text += f"Of {', '.join(f'`{name}`' for name in takers[title])}.\n\n" if title in takers else ""
        words = " ".join([*(f"`{leaf.name}={leaf.default!r}`" for leaf in options), more])
        text += fill(words, 110, break_long_words=False, break_on_hyphens=False) + "\n"
    return text


def _takers() -> dict[str, list[str]]:
    """Return the public functions and methods that take each type of options."""
    takers: dict[str, list[str]] = {}
    for name in vidsum.__all__:
        value = getattr(vidsum, name)
        for function in vars(value).values() if isclass(value) else (value,):
            if isfunction(function) and (title := option_type(function)):
                method = "" if function.__name__ in (name, "__init__") else f".{function.__name__}"
                takers.setdefault(title, []).append(f"{name}{method}")
    return takers


def _type_name(kind: Any) -> str:
    """Return a type as source code; for a tuple field, any sequence or a single text."""
    if item := item_of(kind):
        several = f"Sequence[{_type_name(item)}]"
        return f"str | {several}" if item is str else several
    if get_origin(kind) is Literal:
        return "Literal[" + ", ".join(f'"{choice}"' for choice in get_args(kind)) + "]"
    if NoneType in get_args(kind) and required(kind) is not kind:
        return f"{_type_name(required(kind))} | None"
    return kind.__name__ if isinstance(kind, type) and not get_args(kind) else str(kind)


if __name__ == "__main__":
    print(page() if sys.argv[1:] == ["page"] else types(), end="")
