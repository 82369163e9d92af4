"""vidsum: video summarization and moment retrieval on raw video.

    import vidsum
    summary = vidsum.summarize("film.mp4", budget="15%")
    vidsum.write_video(summary, "film_summary.mp4")

The names below are the public ones. They load on first use: `import vidsum` itself does not import torch. It
sets the variables that turn off the telemetry of other libraries (`vidsum.io.packages`).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from vidsum.io.packages import turn_off_telemetry
from vidsum.version import __version__

if TYPE_CHECKING:
    from vidsum.archive.archive import Archive as Archive
    from vidsum.archive.several import search_archives as search_archives
    from vidsum.device import unload as unload
    from vidsum.errors import VidsumError as VidsumError
    from vidsum.features.extractor import CustomExtractor as CustomExtractor
    from vidsum.features.extractor import register_extractor as register_extractor
    from vidsum.outputs.alone import write_features as write_features
    from vidsum.outputs.alone import write_json as write_json
    from vidsum.outputs.audio_description import write_audio_description as write_audio_description
    from vidsum.outputs.bundle import write_report as write_report
    from vidsum.outputs.clips import write_clips as write_clips
    from vidsum.outputs.mp4 import write_video as write_video
    from vidsum.outputs.picture_files import write_plot as write_plot
    from vidsum.outputs.picture_files import write_storyboard as write_storyboard
    from vidsum.outputs.timelines import write_timeline as write_timeline
    from vidsum.pipelines.chapters import find_chapters as find_chapters
    from vidsum.pipelines.cut_shots import find_shots as find_shots
    from vidsum.pipelines.describe import describe as describe
    from vidsum.pipelines.download import download as download
    from vidsum.pipelines.ground import ground as ground
    from vidsum.pipelines.highlights import find_highlights as find_highlights
    from vidsum.pipelines.make_reel import make_reel as make_reel
    from vidsum.pipelines.make_shorts import make_shorts as make_shorts
    from vidsum.pipelines.plan import extract as extract
    from vidsum.pipelines.read_text import read_screen as read_screen
    from vidsum.pipelines.sources import Video as Video
    from vidsum.pipelines.sources import iter_results as iter_results
    from vidsum.pipelines.sources import read_frames as read_frames
    from vidsum.pipelines.summarize import summarize as summarize
    from vidsum.pipelines.transcribe import transcribe as transcribe
    from vidsum.pipelines.trim import trim as trim
    from vidsum.pipelines.watch import Alert as Alert
    from vidsum.pipelines.watch import watch as watch
    from vidsum.results.descriptions import Description as Description
    from vidsum.results.descriptions import Descriptions as Descriptions
    from vidsum.results.edits import apply_decisions as apply_decisions
    from vidsum.results.feature_files import read_features as read_features
    from vidsum.results.features import Features as Features
    from vidsum.results.load import load as load
    from vidsum.results.moments import Grounding as Grounding
    from vidsum.results.moments import Highlights as Highlights
    from vidsum.results.moments import Moment as Moment
    from vidsum.results.moments import QueryMoments as QueryMoments
    from vidsum.results.reel import Reel as Reel
    from vidsum.results.result import Result as Result
    from vidsum.results.screen_text import ScreenLine as ScreenLine
    from vidsum.results.screen_text import ScreenText as ScreenText
    from vidsum.results.shorts import Short as Short
    from vidsum.results.shorts import Shorts as Shorts
    from vidsum.results.shots import Chapter as Chapter
    from vidsum.results.shots import Chapters as Chapters
    from vidsum.results.shots import Shots as Shots
    from vidsum.results.summary import Removal as Removal
    from vidsum.results.summary import Summary as Summary
    from vidsum.results.summary import Trim as Trim
    from vidsum.results.transcript import Transcript as Transcript
    from vidsum.types import VideoInfo as VideoInfo
    from vidsum.video.probe import probe as probe

turn_off_telemetry()

_NAMES = {
    "pipelines.watch": "Alert watch",
    "archive.archive": "Archive",
    "archive.several": "search_archives",
    "errors": "VidsumError",
    "features.extractor": "CustomExtractor register_extractor",
    "device": "unload",
    "pipelines.chapters": "find_chapters",
    "pipelines.describe": "describe",
    "pipelines.download": "download",
    "outputs.alone": "write_features write_json",
    "outputs.clips": "write_clips",
    "outputs.mp4": "write_video",
    "outputs.picture_files": "write_plot write_storyboard",
    "pipelines.highlights": "find_highlights",
    "pipelines.ground": "ground",
    "pipelines.make_shorts": "make_shorts",
    "pipelines.plan": "extract",
    "outputs.bundle": "write_report",
    "pipelines.read_text": "read_screen",
    "pipelines.make_reel": "make_reel",
    "pipelines.sources": "iter_results read_frames Video",
    "pipelines.transcribe": "transcribe",
    "outputs.audio_description": "write_audio_description",
    "pipelines.cut_shots": "find_shots",
    "pipelines.summarize": "summarize",
    "outputs.timelines": "write_timeline",
    "pipelines.trim": "trim",
    "results.descriptions": "Description Descriptions",
    "results.edits": "apply_decisions",
    "results.feature_files": "read_features",
    "results.features": "Features",
    "results.load": "load",
    "results.moments": "Grounding Highlights Moment QueryMoments",
    "results.reel": "Reel",
    "results.result": "Result",
    "results.screen_text": "ScreenLine ScreenText",
    "results.shorts": "Short Shorts",
    "results.shots": "Chapter Chapters Shots",
    "results.summary": "Removal Summary Trim",
    "results.transcript": "Transcript",
    "types": "VideoInfo",
    "video.probe": "probe",
}
"""The public names of each module."""
_HOMES = {name: f"vidsum.{module}" for module, names in _NAMES.items() for name in names.split()}
_COMMANDS = {
    "chapters": "find_chapters",
    "highlights": "find_highlights",
    "edit": "apply_decisions",
    "info": "probe",
    "report": "write_report",
    "shorts": "make_shorts",
    "search": "Archive",
    "export": "write_timeline",
    "moments": "ground",
    "reel": "make_reel",
    "shots": "find_shots",
}
"""Functions with another name than their command or result."""
__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        function = _COMMANDS.get(name)
        hint = f"; use vidsum.{function}" if function else ""
        raise AttributeError(f"module 'vidsum' has no attribute {name!r}{hint}")
    value = getattr(import_module(_HOMES[name]), name)
    import_module("vidsum.pipelines.option_help").add_option_help(value)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
