"""Run an extractor's network in onnxruntime: from a graph that ships, or from PyTorch's cached export."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vidsum.device import Precision, choose_device, device_type, n_threads
from vidsum.errors import Mention, UsageError, fill
from vidsum.features.extractor import Arrays, Extractor, Network, Spec
from vidsum.io.cache import cached_bytes
from vidsum.io.packages import installed_version, load_onnxruntime
from vidsum.types import FloatArray, Picture
from vidsum.version import __version__

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from torch import Tensor, nn

Provider = tuple[str, dict[str, int]]  # onnxruntime's name of what runs the network, and its options

_CPU, _CUDA = "CPUExecutionProvider", "CUDAExecutionProvider"


def choose_provider(device: str, precision: Precision) -> Provider:
    """Return the provider for a device and precision, or UsageError; `auto` is the GPU if both can use it."""
    if precision not in ("fp32", "int8"):
        fault = f"the onnx backend runs in fp32 and int8, not {precision}"
        raise UsageError(fault, hint=(Mention("backend", "torch"), " has them all"))
    onnxruntime = load_onnxruntime()
    if device_type(device) == "cpu":
        return _CPU, {}
    chosen = choose_device(device)
    if chosen.type == "cuda" and _CUDA in onnxruntime.get_available_providers():
        return _CUDA, {"device_id": chosen.index or 0}
    if device == "auto":
        return _CPU, {}
    fault = f"this onnxruntime does not run on {chosen.type}"
    raise UsageError(fault, hint=fill("{}, or {}", Mention("device", "cpu"), Mention("backend", "torch")))


def build_graph_extractor(
    spec: Spec, folder: Path, arrays: Arrays, *, device: str = "auto", precision: Precision = "fp32"
) -> Extractor:
    """Return an extractor without torch, by a graph of `Spec.graphs` in `folder`. Raises UsageError."""
    provider, classify = choose_provider(device, precision), None
    # small networks: the decoder takes as long
    run = _runner(folder / spec.graphs[precision], provider, threads=n_threads(while_decoding=True))
    if spec.classifier:
        weights, bias = (arrays[name].astype(np.float32) for name in spec.classifier)
        classify = lambda features: np.asarray(features @ weights.T + bias, np.float32)  # noqa: E731
    return Extractor(spec, run, _device_of(provider), precision, "onnx", classify)


def build_cell_runner(spec: Spec, folder: Path, device: str = "auto") -> Callable[[Picture], FloatArray]:
    """Return a function from clips to the last feature maps [N, D + inner, rows, columns]."""
    return _runner(folder / spec.graphs["fp32"], choose_provider(device, "fp32"), "cells")


def build_onnx_extractor(
    spec: Spec,
    build: Callable[[], Network],
    weights_sha256: str,
    *,
    device: str = "auto",
    precision: Precision = "fp32",
) -> Extractor:
    """Return an extractor exported by PyTorch, cached by its weights. Raises UsageError.

    `build` makes the network where there is no export, or PyTorch runs its classifier.
    """
    provider, network = choose_provider(device, precision), cache(build)
    provenance = {
        "network": spec.network or spec.name,
        "weights": weights_sha256,
        "clip_frames": spec.clip_frames,
        "made by": [__version__, installed_version("torch")],
    }
    run = _runner(cached_bytes("onnx", provenance, lambda: export_extractor(spec, network())), provider)
    classify = None
    if spec.class_names:
        from vidsum.features.torch_backend import build_classifier

        classify = build_classifier(network())
    return Extractor(spec, run, _device_of(provider), precision, "onnx", classify)


def _runner(
    model: bytes | Path, provider: Provider, output: str = "features", threads: int | None = None
) -> Callable[[Picture], FloatArray]:
    session = open_session(model, provider, threads=threads)

    def run(clips: Picture) -> FloatArray:
        features: FloatArray = session.run([output], {"clips": clips})[0]
        return features

    return run


def open_session(
    model: bytes | Path,
    provider: Provider = (_CPU, {}),
    without: Sequence[str] = (),
    *,
    plans_memory: bool = True,
    threads: int | None = None,
) -> "InferenceSession":
    """Return a graph ready to run, prepared `without` some of onnxruntime's optimizers.

    With `plans_memory`, the layout of the memory is planned once for each size of the input. By default it
    runs in `n_threads`.
    """
    onnxruntime = load_onnxruntime()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads or n_threads()
    options.enable_mem_pattern = plans_memory
    # threads that wait in a loop take their time from the decoder's
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    session = onnxruntime.InferenceSession(
        model, options, providers=[provider], disabled_optimizers=list(without)
    )
    if provider[0] == _CPU:  # it keeps the file's bytes for another provider, should this one fail
        vars(session).pop("_model_bytes", None)
    return session


def _device_of(provider: Provider) -> str:
    return "cpu" if provider[0] == _CPU else "cuda"


def export_extractor(spec: Spec, network: Network) -> bytes:
    """Return the network as ONNX, from pixels to features, for any number of clips."""
    import torch

    from vidsum.features.torch_backend import build_encoder

    side = spec.preprocessing.crop
    example = torch.zeros(2, spec.clip_frames, side, side, 3, dtype=torch.uint8)
    batch = ({0: torch.export.Dim("N")},)
    return export(build_encoder(spec, network), example, "clips", ["features"], batch)


def export(
    model: "nn.Module",
    example: "Tensor",
    inputs: str,
    outputs: Sequence[str],
    dynamic_shapes: tuple[Mapping[int, Any]] | None = None,
) -> bytes:
    """Return a network with its weights as an ONNX file; `inputs` and `outputs` name its tensors."""
    import torch

    program = torch.onnx.export(
        model,
        (example,),
        input_names=[inputs],
        output_names=outputs,
        dynamic_shapes=dynamic_shapes,
        dynamo=True,
        verbose=False,
    )
    assert program is not None
    content: bytes = program.model_proto.SerializeToString()
    return content
