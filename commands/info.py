"""`vidsum info`: versions, device, weights and cache; or what is known of a video file."""

import platform
from dataclasses import asdict
from importlib import metadata
from typing import Annotated, Any

import typer

from vidsum.commands import options
from vidsum.commands.batch import run_batch, run_one
from vidsum.commands.result import Result, View, render

_PACKAGES = ("torch", "torchvision", "av", "decord", "opencv-python", "numpy", "scikit-learn", "onnxruntime")


def info(
    videos: Annotated[
        list[str] | None,
        typer.Argument(help="Video files to tell about.", show_default=False, metavar="[VIDEO]..."),
    ] = None,
    cache: Annotated[bool, typer.Option("--cache", help="Only the cache of features.")] = False,
    allow_playlists: options.AllowPlaylists = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    config: options.Config = None,
) -> None:
    """Show versions, device, weights and cache, or what is known of video files.

    vidsum info

    vidsum info film.mp4
    """
    view = View(json, quiet, verbose)
    if videos:
        run_batch("info", videos, view, lambda video, _: _video(video, allow_playlists))
        return
    result = run_one("info", None, view, _cache if cache else _machine)
    render(result, view)
    if result.exit_code:
        raise typer.Exit(result.exit_code)


def _video(path: str, allow_playlists: bool) -> Result:
    from vidsum import probe
    from vidsum.pipelines.summary import notes_on_time_stamps

    video = probe(path, allow_playlists=allow_playlists)
    facts = asdict(video)
    return Result("info", path, facts, lines=_lines(facts), messages=notes_on_time_stamps(video))


def _cache() -> Result:
    from vidsum.pipelines.summary import cache_state

    now = cache_state()
    facts = {
        "folder": str(now.folder),
        "entries": now.entries,
        "bytes": now.bytes,
        "limit_bytes": now.limit_bytes,
    }
    used = f"{now.bytes / 2**20:.1f} of {now.limit_bytes / 2**20:.0f} MiB"
    text = f"{now.entries} entries, {used}, in {now.folder}"
    return Result("info", data={"cache": facts}, lines=(text,))


def _machine() -> Result:
    from vidsum import checkpoints
    from vidsum.device import choose_device
    from vidsum.version import __version__

    device = choose_device("auto")
    facts = {
        "vidsum": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        **{name: _version(name) for name in _PACKAGES},
        "ffmpeg": _ffmpeg(),
        "device": _device_name(str(device)),
        "weights": ", ".join(s.entry.name for s in checkpoints.entries() if s.state == "present")
        or "none here yet",
    }
    cache = _cache()
    return Result(
        "info", data={**facts, **cache.data}, lines=(*_lines(facts), f"{'cache':<20} {cache.lines[0]}")
    )


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def _ffmpeg() -> str:
    """The FFmpeg libraries that PyAV carries; a program named ffmpeg is not used."""
    import av

    return ", ".join(
        f"{name} {'.'.join(map(str, version))}" for name, version in sorted(av.library_versions.items())
    )


def _device_name(device: str) -> str:
    import torch

    if device.startswith("cuda"):
        return f"{device} ({torch.cuda.get_device_name()})"
    return f"{device} ({torch.get_num_threads()} threads)"


def _lines(facts: dict[str, Any]) -> tuple[str, ...]:
    return tuple(f"{name:<20} {value}" for name, value in facts.items())
