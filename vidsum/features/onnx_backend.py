"""Running an extractor's network in onnxruntime: exported once by PyTorch, kept in the cache folder."""

from importlib.util import find_spec
from pathlib import Path

import torch

from vidsum.device import Precision, choose_device
from vidsum.disk_cache import home
from vidsum.errors import UsageError
from vidsum.features.extractor import Extractor, Network, Spec
from vidsum.features.torch_backend import build_encoder
from vidsum.outputs import atomic_write, make_folder
from vidsum.types import FloatArray, Picture
from vidsum.version import __version__

_PACKAGES = ("onnx", "onnxscript", "onnxruntime")

Provider = tuple[str, dict[str, int]]
"""onnxruntime's name of what runs the network, and its options."""

_CPU, _CUDA = "CPUExecutionProvider", "CUDAExecutionProvider"


def choose_provider(device: str, precision: Precision) -> Provider:
    """The provider for a device; for `auto`, the GPU if both PyTorch and onnxruntime can use it.

    Raises UsageError where onnxruntime is not installed, or does not run on that device, or precision is not
    fp32.
    """
    missing = [name for name in _PACKAGES if find_spec(name) is None]
    if missing:
        raise UsageError(f"the onnx backend needs {', '.join(missing)}", hint="pip install 'vidsum[onnx]'")
    if precision != "fp32":
        fault = f"the onnx backend runs in fp32, not {precision}"
        raise UsageError(fault, hint="--backend torch has them all")
    import onnxruntime

    chosen = choose_device(device)
    if chosen.type == "cuda" and _CUDA in onnxruntime.get_available_providers():
        return _CUDA, {"device_id": chosen.index or 0}
    if chosen.type == "cpu" or device == "auto":
        return _CPU, {}
    fault = f"this onnxruntime does not run on {chosen.type}"
    raise UsageError(fault, hint="--device cpu, or --backend torch")


def onnx_extractor(
    spec: Spec, network: Network, weights_sha256: str, *, device: str = "auto", precision: Precision = "fp32"
) -> Extractor:
    """An extractor that runs in onnxruntime, on as many threads as PyTorch is set to use.

    The exported file is found again by the hash of the network's weights. Raises UsageError, see
    `choose_provider`, and OutputError where the file cannot be written to the cache folder.
    """
    provider = choose_provider(device, precision)
    import onnxruntime

    path = exported_path(spec, weights_sha256)
    if not path.exists():
        export(spec, network, path)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    session = onnxruntime.InferenceSession(path, options, providers=[provider])

    def run(clips: Picture) -> FloatArray:
        features: FloatArray = session.run(["features"], {"clips": clips})[0]
        return features

    runs_on = "cpu" if provider[0] == _CPU else "cuda"
    return Extractor(spec, run, runs_on, precision, "onnx", network.head, network.text_encoder)


def exported_path(spec: Spec, weights_sha256: str) -> Path:
    """The path of the exported network in the cache, by its weights, the versions and the length of clips."""
    made_by = f"vidsum{__version__}-torch{torch.__version__.partition('+')[0]}"
    return home() / "onnx" / f"{spec.name}-{weights_sha256[:16]}-{spec.clip_frames}f-{made_by}.onnx"


def export(spec: Spec, network: Network, path: Path) -> None:
    """Write the network as ONNX, from pixels to features, for any number of clips. Raises OutputError."""
    side = spec.preprocessing.crop
    example = torch.zeros(2, spec.clip_frames, side, side, 3, dtype=torch.uint8)
    make_folder(path.parent)
    with atomic_write(path) as part:
        torch.onnx.export(
            build_encoder(spec, network),
            (example,),
            part,
            input_names=["clips"],
            output_names=["features"],
            dynamic_shapes=({0: torch.export.Dim("N")},),
            dynamo=True,
            external_data=False,
            verbose=False,
        )
