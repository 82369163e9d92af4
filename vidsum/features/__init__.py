"""Features of a video: one vector for each frame or clip, by a pretrained network."""

from dataclasses import replace
from functools import lru_cache
from importlib import import_module

from vidsum.device import Precision
from vidsum.errors import UsageError
from vidsum.features.extractor import BACKENDS, Backend, Extractor, Spec
from vidsum.types import Progress

__all__ = [
    "EXTRACTORS",
    "Backend",
    "Extractor",
    "Spec",
    "check_backend",
    "describe",
    "kept_extractor",
    "load_extractor",
]

_SPECS = {
    "mobilenet_v2": ("vidsum.features.mobilenet_v2", "SPEC"),
    "i3d": ("vidsum.features.i3d", "SPEC"),
    "efficientnet_lite0": ("vidsum.features.efficientnet_lite0", "SPEC"),
    "googlenet": ("vidsum.features.googlenet", "SPEC"),
    "c3d": ("vidsum.features.c3d", "SPEC"),
    "c3d_fc7": ("vidsum.features.c3d", "SPEC_FC7"),
    "clip": ("vidsum.features.clip", "SPEC"),
}

_KEPT = 4
"""Extractors in memory at a time; a command runs at most three of them on a video."""

EXTRACTORS = tuple(_SPECS)
"""The names of the extractors; the first is the default."""


def describe(
    name: str,
    *,
    fps: float | None = None,
    clip_frames: int | None = None,
    stride_frames: int | None = None,
) -> Spec:
    """What an extractor sees of a video and what it gives, without its weights and without importing torch.

    Args:
        name: one of `EXTRACTORS`.
        fps: frames per second to feed it with, in place of its own.
        clip_frames: frames that one feature sees, in place of its own.
        stride_frames: frames from one clip to the next, in place of its own.

    Raises:
        UsageError: there is no such extractor, or it cannot take such clips.
    """
    if name not in _SPECS:
        raise UsageError(f"there is no extractor {name!r}", hint=f"choose from {', '.join(EXTRACTORS)}")
    module, attribute = _SPECS[name]
    spec: Spec = getattr(import_module(module), attribute)
    return replace(
        spec,
        fps=spec.fps if fps is None else fps,
        clip_frames=spec.clip_frames if clip_frames is None else clip_frames,
        stride_frames=spec.stride_frames if stride_frames is None else stride_frames,
    )


def check_backend(backend: Backend = "torch", *, device: str = "auto", precision: Precision = "fp32") -> None:
    """Refuse what `load_extractor` cannot run, before weights are fetched or a video is read.

    Raises:
        UsageError: a name is unknown, the device or a package is not there, or they do not go together.
    """
    if backend not in BACKENDS:
        raise UsageError(f"there is no backend {backend!r}", hint=f"use {' or '.join(BACKENDS)}")
    if backend == "torch":
        from vidsum.features.torch_backend import choose_place

        choose_place(device, precision)
    else:
        from vidsum.features.onnx_backend import choose_provider

        choose_provider(device, precision)


def load_extractor(
    name: str,
    *,
    device: str = "auto",
    precision: Precision = "fp32",
    backend: Backend = "torch",
    fps: float | None = None,
    clip_frames: int | None = None,
    stride_frames: int | None = None,
    progress: Progress | None = None,
) -> Extractor:
    """An extractor with its pretrained weights, which are fetched on first use.

    Args:
        name: one of `EXTRACTORS`.
        device: `auto`, `cpu`, `cuda`, `cuda:1` or `mps`.
        precision: `fp32`; `bf16` is about twice as fast on CPUs with such instructions; `fp16` is for GPUs.
        backend: `torch`, or `onnx` for onnxruntime (`pip install vidsum[onnx]`), in fp32.
        fps, clip_frames, stride_frames: see `describe`.
        progress: told of the download.

    Raises:
        UsageError: a name is unknown, or the choices do not go together.
        WeightsError: the weights are missing, cannot be fetched or fail their check.
    """
    spec = describe(name, fps=fps, clip_frames=clip_frames, stride_frames=stride_frames)
    check_backend(backend, device=device, precision=precision)
    from vidsum import checkpoints

    weights = checkpoints.load_state_dict(spec.checkpoint, progress)
    if backend == "torch":
        from vidsum.features.torch_backend import torch_extractor

        return torch_extractor(spec, spec.build(weights), device=device, precision=precision)
    from vidsum.features.onnx_backend import onnx_extractor

    digest = checkpoints.sha256_of(spec.checkpoint)
    return onnx_extractor(spec, spec.build(weights), digest, device=device, precision=precision)


def kept_extractor(
    name: str,
    *,
    device: str = "auto",
    precision: Precision = "fp32",
    backend: Backend = "torch",
    fps: float | None = None,
    clip_frames: int | None = None,
    stride_frames: int | None = None,
) -> Extractor:
    """`load_extractor`, with its network kept for the next call: the next video of a batch has it ready.

    Arguments and errors are those of `load_extractor`. Networks that were loaded long ago are dropped.
    """
    spec = describe(name, fps=fps, clip_frames=clip_frames, stride_frames=stride_frames)
    from vidsum import checkpoints

    # the rate and the stride are no part of the network; the clips' length is part of an exported one
    loaded = _loaded(
        name, device, precision, backend, spec.clip_frames, checkpoints.sha256_of(spec.checkpoint)
    )
    return replace(loaded, spec=spec)


@lru_cache(maxsize=_KEPT)
def _loaded(
    name: str, device: str, precision: Precision, backend: Backend, clip_frames: int, weights_sha256: str
) -> Extractor:
    """An extractor by all that its network depends on; other weights of the same name are loaded anew."""
    return load_extractor(name, device=device, precision=precision, backend=backend, clip_frames=clip_frames)
