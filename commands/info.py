"""`vidsum info`: versions, device, weights and cache; or details of video files."""

import platform
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vidsum.batch.inputs import BatchInput, read_inputs
from vidsum.batch.reply import Reply
from vidsum.batch.runner import Progress
from vidsum.batch.settings import PRINTING
from vidsum.batch.states import Columns
from vidsum.commands.batch import Reading, Videos, run_verb
from vidsum.commands.config import config_file, user_file
from vidsum.commands.options import Flags, Only, command
from vidsum.commands.result import run_alone
from vidsum.features.settings import Extraction
from vidsum.io.packages import (
    EXTRAS,
    check_opencv,
    explain_import_error,
    has_extra,
    install_extra_command,
    installed_version,
)
from vidsum.options import option
from vidsum.times import format_short_time

app = typer.Typer(add_completion=False)

if TYPE_CHECKING:
    from vidsum.types import VideoInfo

_PACKAGES = (
    "torch",
    "torchvision",
    "av",
    "decord",
    "opencv-python",
    "numpy",
    "scikit-learn",
    "onnx",
    "onnxruntime",
)
_NAMES = {"length_s": "duration_s", "sound": "audio_codec"}
_COLUMNS: Columns = {
    name: _NAMES.get(name, name) for name in ("length_s", "fps", "width", "height", "codec", "sound", "bytes")
}


@dataclass(frozen=True, kw_only=True)
class InfoOptions:
    """Scope of the report."""

    PANEL = "Cache"

    cache: bool = option("Show only the cache of features, texts and embeddings.", False)
    clear_cache: bool = option("Remove all entries of the cache.", False)


@command(
    app,
    "vidsum info",
    "vidsum info film.mp4",
)
def info(
    videos: Videos,
    common: Annotated[Reading, Flags(("recursive", *PRINTING))],
    settings: InfoOptions,
    extraction: Annotated[Extraction, Only(("video_track", "audio_track"))],
) -> None:
    """Show versions, devices, weights and cache; or details of video files."""
    config = config_file(common.config)
    if videos or common.from_file:
        inputs = read_inputs(videos, common)
        work = partial(_describe_video, extraction, str(config) if config else None)
        run_verb("info", work, inputs, common, columns=_COLUMNS)
    else:
        only_cache = settings.cache or settings.clear_cache
        step = partial(_cache, clear=settings.clear_cache)
        run_alone("info", common, step if only_cache else partial(_machine, config))


def _describe_video(
    extraction: Extraction, config: str | None, item: BatchInput, progress: Progress | None
) -> Reply:
    """Describe a video, and name the configuration file that decides how it is read, if any."""
    from vidsum.pipelines.sources import describe_file, list_tracks, probe_video
    from vidsum.results.result import video_data

    video = probe_video(item.path, extraction)
    facts, tracks = video_data(video) or {}, list_tracks(video)
    if config:
        facts["config"] = config
    lines = (f"{item.path}: {_describe(video)}", *map(_track_line, tracks))
    data = {**facts, "tracks": tracks}
    return Reply(data=data, lines=lines, messages=describe_file(video), details=_lines(facts))


def _describe(video: "VideoInfo") -> str:
    """Return length, size, rate, codecs and bytes of a video in a line."""
    rate = f"{video.fps:.5g} fps{' on average' if video.is_vfr else ''}"
    codecs = f"{video.codec} + {video.audio_codec}" if video.audio_codec else f"{video.codec}, no sound"
    size = f"{video.display_width} x {video.display_height}"
    return f"{format_short_time(video.duration_s)}, {size}, {rate}, {codecs}, {video.bytes / 1e6:.1f} MB"


def _track_line(track: dict[str, Any]) -> str:
    """Return a track in a line; a star marks the one of its kind that is used."""
    is_video = track["kind"] == "video"
    size = "{width}x{height}" if is_video else "{channels} channels, {sample_rate} Hz"
    words = [track["codec"], size.format(**track), track["language"], track["title"], *track["flags"]]
    name = f"{track['kind']} track {track['number']}{' *' if track['chosen'] else ''}"
    return f"{name:<20} {', '.join(filter(None, words))}"


def _cache(*, clear: bool = False) -> Reply:
    from vidsum.io.cache import cache_state, clear_cache

    if clear:
        clear_cache()
    facts = cache_state()
    used = f"{facts['bytes'] / 2**20:.1f} of {facts['limit_bytes'] / 2**20:.0f} MiB"
    text = f"{facts['entries']} entries, {used}, in {facts['folder']}"
    return Reply(data={"cache": facts}, lines=(text,))


def _machine(config: Path | None) -> Reply:
    from vidsum import checkpoints
    from vidsum.version import __version__

    messages: tuple[str, ...] = ()
    try:
        device = _device()
    except Exception as error:
        if (broken := explain_import_error(error)) is None:
            raise
        device, messages = "unknown", (f"{broken.message}: {broken.hint}",)
    if (broken := check_opencv()) is not None:
        messages += (f"{broken.message}: {broken.hint}",)
    statuses = checkpoints.entries()
    fetched = [s.entry.name for s in statuses if s.state == "present" and not s.entry.shipped]
    facts = {
        "vidsum": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        **{name: installed_version(name) for name in _PACKAGES},
        "ffmpeg": _ffmpeg(),
        "extras": _extras(),
        "device": device,
        "config": str(config or f"none (looked for {user_file()})"),
        "weights": ", ".join(fetched) or "none fetched (most commands need none)",
    }
    cache = _cache()
    return Reply(
        data={**facts, **cache.data},
        lines=(*_lines(facts), f"{'cache':<20} {cache.lines[0]}"),
        messages=messages,
    )


def _extras() -> str:
    """Return the optional parts that are installed, and the command for another."""
    present = [extra for extra in EXTRAS if has_extra(extra)]
    missing = [extra for extra in EXTRAS if extra not in present]
    hint = f"; not installed: {', '.join(missing)} ({install_extra_command(missing[0])})" if missing else ""
    return (", ".join(present) or "none") + hint


def _ffmpeg() -> str:
    """Return the FFmpeg libraries that PyAV carries; a program named ffmpeg is not used."""
    import av

    return ", ".join(
        f"{name} {'.'.join(map(str, version))}" for name, version in sorted(av.library_versions.items())
    )


def _device() -> str:
    """Return the device that `auto` selects; PyTorch is asked where there may be a GPU."""
    from vidsum.device import choose_device, device_type, n_cores

    device = "cpu" if device_type() == "cpu" else str(choose_device())
    if not device.startswith("cuda"):
        return f"{device} ({n_cores()} cores)"
    import torch

    return f"{device} ({torch.cuda.get_device_name()})"


def _lines(facts: dict[str, Any]) -> tuple[str, ...]:
    return tuple(f"{name:<20} {value}" for name, value in facts.items())
