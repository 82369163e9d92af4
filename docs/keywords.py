"""Print the options as types of Python keywords, from the settings.

python -m docs.keywords > vidsum/pipelines/keywords.py
"""

from types import NoneType
from typing import Any, Literal, get_args, get_origin

from vidsum.archive.settings import SearchOptions
from vidsum.features.settings import Extraction
from vidsum.grounding.settings import Describing, HighlightSettings, Retrieval, Watching
from vidsum.options import item_of, leaves, required
from vidsum.shots.settings import ShotSettings
from vidsum.speech.settings import Transcription
from vidsum.summary.settings import Selection
from vidsum.video.settings import Clips, Shorts

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
    "SummarizerOptions": ("SummaryOptions", Selection, ("budget",)),
    "GroundOptions": ("ReadingOptions", Retrieval, ()),
    "GrounderOptions": ("GroundOptions", Retrieval, ("top_k",)),
    "HighlightOptions": ("ExtractionOptions", HighlightSettings, ()),
    "WatchOptions": ("TypedDict", Watching, ()),
    "DescribeOptions": ("ReadingOptions", Describing, ()),
    "ClipOptions": ("TypedDict", Shorts, ()),
    "MomentClipOptions": ("ClipOptions", Clips, ("pad_s", "least_s")),
    "SpeechOptions": ("TypedDict", Transcription, ()),
    "ArchiveSearchOptions": ("TypedDict", SearchOptions, ()),
}
"""Base and options of each type; without names, the options that no other type has."""
_PARAMETERS = ("shots", "model", "language", "top_k")
"""Parameters that functions declare themselves."""


def page() -> str:
    """Return the whole file."""
    named = {(kind, name) for _, kind, names in _TYPES.values() for name in names}
    text = _HEAD
    for title, (base, kind, names) in _TYPES.items():
        rest = [
            leaf.name
            for leaf in leaves(kind)
            if (kind, leaf.name) not in named and leaf.name not in _PARAMETERS
        ]
        text += f"\n\nclass {title}({base}, total=False):\n"
        text += f'    """Options of `{kind.__module__}.{kind.__name__}`."""\n'
        fields = [leaf for leaf in leaves(kind) if leaf.name in (names or rest)]
        text += "\n" if fields else ""
        text += "".join(f"    {leaf.name}: {_type_name(leaf.kind)}\n" for leaf in fields)
    return text


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
    print(page(), end="")
