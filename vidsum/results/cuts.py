"""What a result cuts from its video: segments, shots or moments."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from vidsum.outputs import as_utf8


@dataclass(frozen=True)
class Cut:
    """A segment [start_s, end_s) of the video, and what the result says about it."""

    start_s: float
    end_s: float
    label: str
    """In one line: its kind and number, or its query and rank."""
    query: str = ""
    rank: int | None = None
    score: float | None = None
    evidence: str = ""
    """What found a moment, `seen` or `said`, where the result tells."""


def cuts_of(document: Mapping[str, Any]) -> list[Cut]:
    """The cuts of a document of summarize, shots, highlights or ground, in its order.

    Segments and shots are in time order, moments by query and then by rank.
    """
    if "queries" in document:
        return [cut for query in document["queries"] for cut in _moments(query["moments"], query["query"])]
    if "moments" in document:
        return list(_moments(document["moments"]))
    kind = "segment" if "segments" in document else "shot"
    return [
        Cut(each["start_s"], each["end_s"], f"{kind} {number}")
        for number, each in enumerate(document[f"{kind}s"], 1)
    ]


def _moments(moments: list[dict[str, Any]], query: str = "") -> Iterator[Cut]:
    text = as_utf8(" ".join(query.split()))
    for rank, one in enumerate(moments, 1):
        label = f"{text} ({rank})" if text else f"highlight {rank}"
        yield Cut(one["start_s"], one["end_s"], label, text, rank, one["score"], one.get("evidence", ""))
