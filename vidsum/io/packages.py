"""The packages that vidsum runs on: how to install them, what is wrong with PyTorch, and no telemetry."""

import os
import shlex
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from traceback import walk_tb
from typing import Any

from vidsum.errors import PackageError, VidsumError

EXTRAS: Mapping[str, tuple[str, ...]] = {
    "torch": ("torch", "torchvision", "open_clip"),
    "speech": ("faster_whisper", "ctranslate2"),
    "ocr": ("pyclipper",),
    "h5": ("h5py",),
    "decord": ("decord",),
    "ray": ("ray",),
    "postgres": ("psycopg",),
    "glove": ("pyarrow",),
    "onnx": ("onnxscript", "onnx"),
    "mcp": ("mcp",),
    "captions": ("pycocoevalcap",),
    "heic": ("pi_heif",),
}  # extras that a base installation lacks, and the modules that come with each
_PAIR = ("torch", "torchvision")
_CHECKED = (*_PAIR, "cv2")  # packages that may be installed, and yet not work
_OPENCV = (
    "opencv-python",
    *(f"opencv-{name}" for name in ("python-headless", "contrib-python", "contrib-python-headless")),
)
"""Packages that all install `cv2`, one over the other: removing or upgrading one breaks it."""
_FAILURES = (ImportError, OSError, RuntimeError, AttributeError)  # from importing what does not fit together


def installed_version(package: str) -> str:
    """Return the installed version of a package, or `not installed`; it is not imported."""
    from importlib import metadata

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def pip_install_command(*arguments: str) -> str:
    """Return the command that installs packages for this interpreter: a bare `pip` may serve another."""
    return _pip_command("install", *arguments)


def _pip_command(*arguments: str) -> str:
    words = [sys.executable or "python", "-m", "pip", *arguments]
    if os.name == "nt":
        from subprocess import list2cmdline

        return list2cmdline(words)
    return shlex.join(words)


def has_extra(extra: str) -> bool:
    """Return whether all modules of an extra can be found; none is imported."""
    return all(find_spec(module) for module in EXTRAS[extra])


def require_extra(extra: str, user: str) -> None:
    """Raise PackageError where an extra is missing that `user`, such as an extractor, needs."""
    if not has_extra(extra):
        raise PackageError(f"{user} needs {EXTRAS[extra][0]}", hint=install_extra_command(extra))


def install_extra_command(extra: str) -> str:
    return pip_install_command(f"vidsum[{extra}]")


def pytorch_repair_command() -> str:
    """Return the command that installs PyTorch and torchvision that match."""
    return pip_install_command("--force-reinstall", *_PAIR)


def check_opencv() -> VidsumError | None:
    """Return what is wrong with OpenCV: it does not work, or is installed several times; else None."""
    try:
        import cv2

        _ = cv2.resize, cv2.cvtColor
    except _FAILURES as error:
        return _opencv_error(f"OpenCV does not work: {_reason(error)}")
    if len(names := _installed_opencv()) < 2:
        return None
    return _opencv_error(f"{' and '.join(names)} are installed over each other: to remove one breaks cv2")


def _opencv_error(fault: str) -> VidsumError:
    """Return an error with the commands that leave one OpenCV."""
    names = _installed_opencv()
    installed = ", ".join(f"{name} {installed_version(name)}" for name in names) or "not installed"
    install = pip_install_command("--force-reinstall", "--no-deps", _OPENCV[0])
    remove = f"{_pip_command('uninstall', '-y', *names)} && " if len(names) > 1 else ""
    return VidsumError(f"{fault} ({installed})", hint=f"{remove}{install}")


def _installed_opencv() -> list[str]:
    return [name for name in _OPENCV if installed_version(name) != "not installed"]


def _reason(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)


def explain_import_error(error: Exception) -> VidsumError | None:
    """Return the error to show for a missing extra, or a PyTorch or OpenCV that does not work; else None."""
    if missing := _missing_extra(error):
        return missing
    package = _broken_package(error)
    if package is None:
        return None
    if package == "cv2":
        return _opencv_error(f"OpenCV does not work: {_reason(error)}")
    installed = ", ".join(f"{name} {installed_version(name)}" for name in _PAIR)
    return VidsumError(
        f"{package} cannot be imported: {_reason(error)} ({installed})", hint=pytorch_repair_command()
    )


def _missing_extra(error: Exception) -> PackageError | None:
    module = (error.name or "").partition(".")[0] if isinstance(error, ModuleNotFoundError) else ""
    extra = next((extra for extra, modules in EXTRAS.items() if module in modules), None)
    if extra is None or find_spec(module):
        return None
    return PackageError(f"{module} is not installed", hint=install_extra_command(extra))


def _broken_package(error: Exception) -> str | None:
    """Return which package failed to import, could not be found, or lacks its content."""
    if not isinstance(error, _FAILURES):
        return None
    if isinstance(error, ImportError) and (name := (error.name or "").partition(".")[0]) in _CHECKED:
        return name
    if isinstance(error, AttributeError) and getattr(error.obj, "__name__", None) == "cv2":
        return "cv2"  # what is left of it is a folder, or belongs to another version
    frames = [frame for frame, _ in walk_tb(error.__traceback__) if frame.f_code.co_name == "<module>"]
    modules = [str(frame.f_globals.get("__name__")).partition(".")[0] for frame in frames]
    return next((module for module in reversed(modules) if module in _CHECKED), None)


TELEMETRY_VARIABLES = {
    "ORT_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "RAY_USAGE_STATS_ENABLED": "0",
}  # of onnxruntime, huggingface_hub and Ray


def turn_off_telemetry() -> None:
    """Turn off the telemetry of libraries, also in the processes that vidsum starts.

    onnxruntime 1.32 reports as soon as it is imported: it stores a device id in the user's cache folder and
    queues facts about the machine; `disable_telemetry_events` comes too late. So vidsum sets the variables
    when it is imported itself.
    """
    os.environ.update(TELEMETRY_VARIABLES)


def load_onnxruntime() -> Any:
    """Return onnxruntime, without its events. Raises ImportError where it is not installed."""
    import onnxruntime

    onnxruntime.disable_telemetry_events()
    return onnxruntime
