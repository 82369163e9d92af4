"""vidsum: video summarization and moment retrieval on raw video.

    import vidsum
    summary = vidsum.summarize("film.mp4", budget="15%")
    vidsum.write_video(summary, "film_summary.mp4")

The names below are the public ones. They load on first use: `import vidsum` itself does not import torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vidsum.errors import VidsumError as VidsumError
    from vidsum.export import write_json as write_json
    from vidsum.export import write_plot as write_plot
    from vidsum.export import write_storyboard as write_storyboard
    from vidsum.export import write_video as write_video
    from vidsum.features.store import read_features as read_features
    from vidsum.features.store import write_features as write_features
    from vidsum.highlighting import find_highlights as find_highlights
    from vidsum.pipeline import extract as extract
    from vidsum.pipeline import find_shots as find_shots
    from vidsum.pipeline import summarize as summarize
    from vidsum.retrieval import ground as ground
    from vidsum.types import Features as Features
    from vidsum.types import Grounding as Grounding
    from vidsum.types import Highlights as Highlights
    from vidsum.types import Moment as Moment
    from vidsum.types import QueryMoments as QueryMoments
    from vidsum.types import Shots as Shots
    from vidsum.types import Summary as Summary
    from vidsum.types import VideoInfo as VideoInfo
    from vidsum.video.probe import probe as probe

__version__ = "0.1.0"

_HOMES = {
    "VidsumError": "vidsum.errors",
    "read_features": "vidsum.features.store",
    "write_features": "vidsum.features.store",
    "extract": "vidsum.pipeline",
    "find_shots": "vidsum.pipeline",
    "summarize": "vidsum.pipeline",
    "ground": "vidsum.retrieval",
    "find_highlights": "vidsum.highlighting",
    "write_json": "vidsum.export",
    "write_plot": "vidsum.export",
    "write_storyboard": "vidsum.export",
    "write_video": "vidsum.export",
    "Features": "vidsum.types",
    "Grounding": "vidsum.types",
    "Highlights": "vidsum.types",
    "Moment": "vidsum.types",
    "QueryMoments": "vidsum.types",
    "Shots": "vidsum.types",
    "Summary": "vidsum.types",
    "VideoInfo": "vidsum.types",
    "probe": "vidsum.video.probe",
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'vidsum' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
