"""Small annotation files in the layouts of the field."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vidsum.lab.datasets.timed_sentences import MomentVideo, Query


def write_json(path: Path, videos: Mapping[str, Any]) -> Path:
    """A file of ActivityNet Captions, Charades-STA or TACoS."""
    path.write_text(json.dumps(videos))
    return path


def write_lines(path: Path, *entries: Mapping[str, Any]) -> Path:
    """A file of QVHighlights."""
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    return path


def in_seconds(duration: float, *annotations: tuple[float, float, str]) -> dict[str, Any]:
    """A video of ActivityNet Captions or Charades-STA."""
    return {
        "duration": duration,
        "timestamps": [[start, end] for start, end, _ in annotations],
        "sentences": [sentence for *_, sentence in annotations],
    }


def highlight(qid: int, vid: str, query: str, *windows: tuple[float, float]) -> dict[str, Any]:
    """A line of QVHighlights, whose videos have 150 seconds."""
    return {"qid": qid, "query": query, "duration": 150, "vid": vid, "relevant_windows": windows}


def with_saliency(line: Mapping[str, Any], scores: Mapping[int, Sequence[Any]]) -> dict[str, Any]:
    """A line of QVHighlights with what annotators gave some of its clips."""
    return {**line, "relevant_clip_ids": list(scores), "saliency_scores": list(map(list, scores.values()))}


def moment_video(name: str, duration_s: float, *queries: tuple[Any, ...], **facts: Any) -> MomentVideo:
    """A video with its queries, each a text and its windows; `facts` are other fields of its queries."""
    return MomentVideo(
        name,
        duration_s,
        tuple(Query("", text, name, duration_s, tuple(windows), **facts) for text, *windows in queries),
    )
