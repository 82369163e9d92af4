"""Features of a video: one vector for each frame or clip, by a pretrained network.

An extractor is a file of `vidsum/features/extractors/`, or is registered by the user (`CustomExtractor`).
This module imports neither torch nor NumPy: commands import `vidsum.features.settings`.
"""

from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from vidsum.device import BACKENDS, Backend, Precision, cached_model, device_type, require_precision
from vidsum.errors import Mention, UsageError, unknown_name_error
from vidsum.features.settings import EXTRACTORS, VARIANTS
from vidsum.io.packages import require_extra

if TYPE_CHECKING:
    from vidsum.features.extractor import Extractor, Network, Spec

_N_CACHED = 4  # extractors in memory at a time; a command runs at most three of them on a video


def describe(
    name: str, *, fps: float | None = None, clip_frames: int | None = None, stride_frames: int | None = None
) -> "Spec":
    """Return the specification of an extractor, without its weights or importing torch.

    `fps`, `clip_frames` and `stride_frames` replace its defaults. Raises UsageError: unknown, or cannot.
    """
    from vidsum.checkpoints.registry import user_entries, user_entry
    from vidsum.features.extractor import find_custom_extractor  # imports NumPy

    if name in EXTRACTORS:
        module = import_module(f"vidsum.features.extractors.{VARIANTS.get(name, name)}")
        specs: tuple[Spec, ...] = getattr(module, "SPECS", None) or (module.SPEC,)
        spec = next(spec for spec in specs if spec.name == name)
    elif custom := find_custom_extractor(name):
        spec = custom.spec
    elif (entry := user_entry(name)) and entry.network:
        # the graphs hold their own weights, and others do not fit the map to sentences
        spec = replace(
            describe(entry.network), name=name, checkpoint=name, network=entry.network, graphs={}, inner=0
        )
    else:
        raise unknown_name_error("extractor", name, (*EXTRACTORS, *user_entries()))
    chosen = {"fps": fps, "clip_frames": clip_frames, "stride_frames": stride_frames}
    overrides: dict[str, Any] = {field: value for field, value in chosen.items() if value is not None}
    return replace(spec, **overrides)


def choose_backend(
    spec: "Spec", backend: Backend = "auto", *, device: str = "auto", precision: Precision = "fp32"
) -> Backend:
    """Choose `torch` or `onnx` for an extractor, before weights are fetched or a video is read.

    `auto` is onnxruntime where it runs the network on the CPU without torch, else torch. Raises UsageError
    where a name is unknown, the device or a package is missing, or they do not go together.
    """
    if backend not in BACKENDS:
        raise unknown_name_error("backend", backend, BACKENDS)
    require_precision(device, precision)
    of_device = device_type(device)
    if precision == "int8" and not can_be_int8(spec, backend):
        raise UsageError("int8 is for efficientnet_lite0, in onnxruntime", hint=Mention("precision", "auto"))
    if spec.custom and (backend == "onnx" or precision != "fp32"):
        name, value = ("backend", backend) if backend == "onnx" else ("precision", precision)
        fault = f"{spec.name} is a custom extractor, which does not run in {value}"
        raise UsageError(fault, hint=Mention(name, "auto"))
    if backend == "auto":
        is_on_cpu = of_device == "cpu" and precision in ("fp32", "int8")
        if spec.graphs and is_on_cpu:
            return "onnx"
        backend = "onnx" if spec.prefers_onnx and is_on_cpu else "torch"
    if backend == "onnx":
        from vidsum.features.onnx_backend import choose_provider

        choose_provider(device, precision)
        if not spec.graphs:
            require_extra("onnx", f"{spec.name} in onnxruntime")
    return backend


def can_be_int8(spec: "Spec", backend: Backend) -> bool:
    """Return whether a network has an int8 form for this backend."""
    return "int8" in spec.graphs and backend != "torch"


def weights_sha256(spec: "Spec") -> str:
    """Return the SHA-256 of an extractor's published weights. Raises PackageError: it needs torch."""
    from vidsum import checkpoints

    if spec.custom:
        return spec.custom.sha256
    if not spec.graphs and checkpoints.find(spec.checkpoint) is None:
        require_extra("torch", spec.name)
    return checkpoints.sha256_of(spec.checkpoint)


def get_extractor(
    spec: "Spec", *, device: str = "auto", precision: Precision = "fp32", backend: Backend = "auto"
) -> "Extractor":
    """Return an extractor with its pretrained weights; its network stays in memory for the next video.

    `spec` is from `describe`. In `bf16` it is about twice as fast on CPUs with such instructions; `fp16` is
    for GPUs, `int8` for `efficientnet_lite0` on CPUs. Raises the errors of `choose_backend`, and WeightsError
    where weights are unavailable or fail their check.
    """
    chosen = choose_backend(spec, backend, device=device, precision=precision)
    if spec.custom:
        return spec.custom.extractor(spec)
    # the rate and the stride are no part of the network; the clips' length is part of an exported one
    digest = weights_sha256(spec)
    return replace(_load(spec.name, spec.clip_frames, device, precision, chosen, digest), spec=spec)


@cached_model(maxsize=_N_CACHED)
def _load(
    name: str, clip_frames: int, device: str, precision: Precision, backend: Backend, weights_sha256: str
) -> "Extractor":
    """Load an extractor, cached by all that its network depends on, the weights' SHA-256 included."""
    from vidsum import checkpoints

    spec = describe(name, clip_frames=clip_frames)

    def build() -> "Network":
        return spec.build(checkpoints.load_state_dict(spec.checkpoint))

    if backend == "torch":
        from vidsum.features.torch_backend import build_torch_extractor

        return build_torch_extractor(spec, build(), device=device, precision=precision)
    from vidsum.features.onnx_backend import build_graph_extractor, build_onnx_extractor

    if not spec.graphs:
        return build_onnx_extractor(spec, build, weights_sha256, device=device, precision=precision)
    folder, arrays = checkpoints.path_of(spec.checkpoint), checkpoints.open_arrays(spec.checkpoint)
    return build_graph_extractor(spec, folder, arrays, device=device, precision=precision)
