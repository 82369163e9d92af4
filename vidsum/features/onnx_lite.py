"""EfficientNet-Lite0 as an ONNX graph, written from its published tensors: without torch, in a moment."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from vidsum.features.extractor import Preprocessing
from vidsum.models.efficientnet_lite_layout import EPSILON, STAGES, own_name
from vidsum.types import FloatArray

_OPSET, _IR = 17, 8
"""Versions that onnxruntime has read since 1.12."""
_FLOAT = 1
"""`onnx.TensorProto.FLOAT`"""


class LiteGraph:
    """Nodes and constants, in order; batch normalisations are folded into the convolutions before them."""

    def __init__(self, weights: Mapping[str, npt.NDArray[Any]]) -> None:
        self.weights = {own_name(name): array for name, array in weights.items()}
        self.nodes: list[Any] = []
        self.constants: dict[str, npt.NDArray[Any]] = {
            "zero": np.array(0, np.float32),
            "six": np.array(6, np.float32),
        }

    def written(self, preprocessing: Preprocessing) -> bytes:
        """The network as the bytes of an ONNX file.

        It goes from pixels, `clips` [N, 1, side, side, 3] uint8, to `features` [N, 1280].
        """
        x = self.normalised(preprocessing)
        x = self.convolution(x, "conv_stem", "bn0", stride=2, clipped=True)
        number = 0
        for count, _, stride, expansion, _ in STAGES:
            for place in range(count):
                x = self.block(x, f"blocks.{number}", 1 if place else stride, expansion, adds=place > 0)
                number += 1
        x = self.floats(self.convolution(x, "conv_head", "bn1", clipped=True))
        self.node("ReduceMean", [x], "features", axes=[2, 3], keepdims=0)
        return self.serialised(preprocessing.crop)

    def node(self, kind: str, inputs: list[str], output: str, **attributes: Any) -> str:
        """Add a node; returns its output's name."""
        from onnx import helper

        self.nodes.append(helper.make_node(kind, inputs, [output], **attributes))
        return output

    def normalised(self, preprocessing: Preprocessing) -> str:
        """Pixels as the network reads them, [N, 3, side, side]."""
        side = preprocessing.crop
        self.constants["shape"] = np.array([-1, side, side, 3])
        self.constants["mean"] = np.array(preprocessing.mean, np.float32)[:, None, None]
        self.constants["scale"] = (1 / np.array(preprocessing.std, np.float32))[:, None, None]
        x = self.node("Reshape", ["clips", "shape"], "frames")
        x = self.node("Cast", [x], "pixels", to=_FLOAT)
        # first, because onnxruntime takes 3 ms a frame for arithmetic over a last axis of length 3
        x = self.node("Transpose", [x], "planes", perm=[0, 3, 1, 2])
        x = self.node("Sub", [x, "mean"], "centred")
        return self.node("Mul", [x, "scale"], "image")

    def convolution(
        self, x: str, name: str, norm: str, *, stride: int = 1, groups: int = 1, clipped: bool = False
    ) -> str:
        """A convolution with the normalisation after it, and ReLU6 or not."""
        kernel, bias = self.folded(f"{name}.weight", norm)
        self.constants[f"{name}.kernel"], self.constants[f"{name}.bias"] = kernel, bias
        inputs = [x, f"{name}.kernel", f"{name}.bias"]
        x = self.node("Conv", inputs, f"{name}.out", **places(kernel, stride, groups))
        return self.node("Clip", [x, "zero", "six"], f"{name}.clipped") if clipped else x

    def block(self, x: str, name: str, stride: int, expansion: int, *, adds: bool) -> str:
        """Widen, filter each channel by itself, narrow; added to its input where `adds`."""
        y = x
        if expansion > 1:
            y = self.convolution(y, f"{name}.expand_conv", f"{name}.bn0", clipped=True)
        depthwise = f"{name}.depthwise_conv"
        groups = len(self.weights[f"{depthwise}.weight"])
        y = self.convolution(y, depthwise, f"{name}.bn1", stride=stride, groups=groups, clipped=True)
        y = self.convolution(y, f"{name}.project_conv", f"{name}.bn2")
        return self.added(x, y, f"{name}.sum") if adds else y

    def added(self, x: str, y: str, name: str) -> str:
        """The sum of two."""
        return self.node("Add", [x, y], name)

    def floats(self, x: str) -> str:
        """The same in fp32."""
        return x

    def folded(self, name: str, norm: str) -> tuple[FloatArray, FloatArray]:
        """Kernel and bias of a convolution with the normalisation after it."""
        parts = ("weight", "bias", "running_mean", "running_var")
        gain, shift, mean, variance = (self.weights[f"{norm}.{part}"].astype(np.float64) for part in parts)
        factor = gain / np.sqrt(variance + EPSILON)
        kernel = self.weights[name] * factor[:, None, None, None]
        return kernel.astype(np.float32), (shift - mean * factor).astype(np.float32)

    def serialised(self, side: int) -> bytes:
        """The model as the bytes of an ONNX file."""
        from onnx import TensorProto, checker, helper, numpy_helper

        clips = helper.make_tensor_value_info("clips", TensorProto.UINT8, ["N", 1, side, side, 3])
        features = helper.make_tensor_value_info("features", TensorProto.FLOAT, ["N", 1280])
        constants = [numpy_helper.from_array(array, name) for name, array in self.constants.items()]
        graph = helper.make_graph(self.nodes, "efficientnet_lite0", [clips], [features], constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=_IR)
        checker.check_model(model)
        return bytes(model.SerializeToString())


def places(kernel: FloatArray, stride: int, groups: int) -> dict[str, Any]:
    """Where a convolution's kernel goes, as attributes of its node."""
    added = kernel.shape[-1] - stride  # TensorFlow's "SAME": the odd position comes after
    pads = [added // 2] * 2 + [added - added // 2] * 2
    return {"strides": [stride] * 2, "group": groups, "pads": pads}
