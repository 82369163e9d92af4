"""Features of a video: one vector for each frame or clip, by a pretrained network.

An extractor is a file of `vidsum/features/extractors/`, of which there is no other list, or comes from
outside (`extractor`). This module loads neither torch nor NumPy by itself.
"""

from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from vidsum.checkpoints.registry import own_entry, own_weights
from vidsum.device import BACKENDS, Backend, Precision, device_type, require_precision
from vidsum.errors import UsageError
from vidsum.features.extractor import own_extractor
from vidsum.memory import cached_model
from vidsum.names import unknown_name_error
from vidsum.packages import require_extra
from vidsum.settings import EXTRACTORS

if TYPE_CHECKING:
    from vidsum.features.extractor import Extractor, Spec
    from vidsum.types import Progress

_KEPT = 4
"""Extractors in memory at a time; a command runs at most three of them on a video."""


def describe(
    name: str, *, fps: float | None = None, clip_frames: int | None = None, stride_frames: int | None = None
) -> "Spec":
    """Return the specification of one of `EXTRACTORS` or of an own one, without its weights or importing
    torch.

    The extractor's own `fps`, `clip_frames` and `stride_frames` (see `Spec`) stand where none are given.
    Raises UsageError for an unknown extractor, or one that cannot take such clips.
    """
    if name in EXTRACTORS:
        spec: Spec = import_module(f"vidsum.features.extractors.{name}").SPEC
    elif own := own_extractor(name):
        spec = own.spec
    elif (entry := own_entry(name)) and entry.network:
        # other weights do not fit the map to sentences, so that the layers for it are left out
        spec = replace(describe(entry.network), name=name, checkpoint=name, network=entry.network, inner=0)
    else:
        raise unknown_name_error("extractor", name, (*EXTRACTORS, *own_weights()))
    chosen = {"fps": fps, "clip_frames": clip_frames, "stride_frames": stride_frames}
    given: dict[str, Any] = {field: value for field, value in chosen.items() if value is not None}
    return replace(spec, **given)


def choose_backend(
    spec: "Spec", backend: Backend = "auto", *, device: str = "auto", precision: Precision = "fp32"
) -> Backend:
    """What will run an extractor: `torch` or `onnx`, before weights are fetched or a video is read.

    `auto` is onnxruntime where it runs the network on the CPU without torch, else torch.

    Raises UsageError where a name is unknown, the device or a package is missing, or they do not go together.
    """
    if backend not in BACKENDS:
        raise unknown_name_error("backend", backend, BACKENDS)
    require_precision(device, precision)
    of_device = device_type(device)
    if precision == "int8" and not can_be_int8(spec, backend):
        raise UsageError("int8 is for efficientnet_lite0, in onnxruntime", hint="--precision auto")
    if backend == "auto":
        if spec.graph is not None and of_device == "cpu" and precision in ("fp32", "int8"):
            return "onnx"
        backend = "torch"
    if backend == "onnx":
        from vidsum.features.onnx_backend import choose_provider, require_exporter

        choose_provider(device, precision)
        require_exporter(spec)
    return backend


def can_be_int8(spec: "Spec", backend: Backend) -> bool:
    """Return whether there is an int8 form of a network, for this backend."""
    return spec.graph is not None and backend != "torch"


def weights_sha256(spec: "Spec") -> str:
    """Return SHA-256 of an extractor's weights as they were published.

    Raises PackageError: the network needs torch, so that to fetch its weights would be of no use.
    """
    from vidsum import checkpoints

    if spec.own:
        return spec.own.sha256
    if spec.graph is None and checkpoints.find(spec.checkpoint) is None:
        require_extra("torch", spec.name)
    return checkpoints.sha256_of(spec.checkpoint)


def load_extractor(
    spec: "Spec",
    *,
    device: str = "auto",
    precision: Precision = "fp32",
    backend: Backend = "auto",
    progress: "Progress | None" = None,
) -> "Extractor":
    """Return an extractor with its pretrained weights, which are fetched on first use.

    Args:
        spec: from `describe`.
        device: `auto`, `cpu`, `cuda`, `cuda:1` or `mps`.
        precision: `fp32`; `bf16` is about twice as fast on CPUs with such instructions; `fp16` is for GPUs,
            `int8` for `efficientnet_lite0` on CPUs.
        backend: `torch`, `onnx` for onnxruntime, in fp32, or `auto`, see `choose_backend`.
        progress: called while the weights are fetched.

    Errors are those of `choose_backend`, and WeightsError where weights cannot be had or fail their check.
    """
    from vidsum import checkpoints

    chosen = choose_backend(spec, backend, device=device, precision=precision)
    if chosen == "torch":
        from vidsum.features.torch_backend import torch_extractor

        network = spec.build(checkpoints.load_state_dict(spec.checkpoint, progress))
        return torch_extractor(spec, network, device=device, precision=precision)
    from vidsum.features import onnx_backend

    digest = checkpoints.sha256_of(spec.checkpoint, progress)
    if spec.graph is not None:
        arrays = checkpoints.load_arrays(spec.checkpoint, progress)
        return onnx_backend.graph_extractor(spec, arrays, digest, device=device, precision=precision)
    network = spec.build(checkpoints.load_state_dict(spec.checkpoint, progress))
    return onnx_backend.onnx_extractor(spec, network, digest, device=device, precision=precision)


def kept_extractor(
    spec: "Spec", *, device: str = "auto", precision: Precision = "fp32", backend: Backend = "auto"
) -> "Extractor":
    """`load_extractor`, with the network kept in memory for the next video of a batch."""
    if spec.own:
        return spec.own.extractor(spec)
    # the rate and the stride are no part of the network; the clips' length is part of an exported one
    digest = weights_sha256(spec)
    return replace(_loaded(spec.name, spec.clip_frames, device, precision, backend, digest), spec=spec)


@cached_model(maxsize=_KEPT)
def _loaded(
    name: str, clip_frames: int, device: str, precision: Precision, backend: Backend, weights_sha256: str
) -> "Extractor":
    """Return an extractor by all that its network depends on; other weights of the same name are loaded
    anew.
    """
    spec = describe(name, clip_frames=clip_frames)
    return load_extractor(spec, device=device, precision=precision, backend=backend)
