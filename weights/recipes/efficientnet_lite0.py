"""Make the files of EfficientNet-Lite0 that ship from its published checkpoint.

    python -m vidsum.weights.recipes.efficientnet_lite0 weights

`efficientnet_lite0.safetensors` holds the published tensors, which PyTorch reads too.
`efficientnet_lite0.onnx` reads them there, and has batch normalisations as they are: onnxruntime folds them
when it loads the graph. `efficientnet_lite0-int8.onnx` is quantised, and holds its own weights.

In 8 bits it is half the work on processors with instructions for them. Activations are uint8, with one
scale each; weights int8, with one for each channel. What ReLU6 gives lies in [0, 6]; the ranges of the
rest were measured on real frames. The first layers stay in fp32, for 4 % more time: rounding their few
weights would do more harm than rounding all others. Rounding the weights of a channel shifts its mean, and
the bias is corrected by as much (Nagel et al. 2019, "Data-Free Quantization Through Weight Equalization
and Bias Correction", section 4.2).
"""

import json
import math
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import load_file

from vidsum.features.extractor import Preprocessing
from vidsum.features.extractors.efficientnet_lite0 import SPEC
from vidsum.models.efficientnet_lite_layout import EPSILON, INNER, STAGES, layer_name
from vidsum.types import FloatArray
from vidsum.weights.recipes.sources import fetch_source

_OPSET, _IR = 17, 8  # versions that onnxruntime has read since 1.12


class LiteGraph:
    """Nodes and constants, in order; batch normalisations are folded into the convolutions before them."""

    def __init__(self, weights: Mapping[str, npt.NDArray[Any]]) -> None:
        self.weights = {layer_name(name): array for name, array in weights.items()}
        self.nodes: list[Any] = []
        self.clipped: dict[str, str] = {}
        """Outputs of ReLU6, by the name of the convolution before."""
        self.constants: dict[str, npt.NDArray[Any]] = {
            "zero": np.array(0, np.float32),
            "six": np.array(6, np.float32),
        }

    def to_model(self, preprocessing: Preprocessing) -> onnx.ModelProto:
        """Return the network as an ONNX model.

        It goes from pixels, `clips` [N, 1, side, side, 3] uint8, to `features` [N, 1280 + 2304],
        see `INNER`.
        """
        x = self.add_normalisation(preprocessing)
        x = self.add_convolution(x, "conv_stem", "bn0", stride=2, clipped=True)
        number = 0
        for count, _, stride, expansion, _ in STAGES:
            for place in range(count):
                x = self.add_block(x, f"blocks.{number}", 1 if place else stride, expansion, adds=place > 0)
                number += 1
        head = self.add_convolution(x, "conv_head", "bn1", clipped=True)
        outputs = self.add_features([head, *(self.clipped[name] for name in INNER)])
        return self.make_model(preprocessing.crop, outputs)

    def add_features(self, layers: list[str]) -> list[str]:
        """Add the means over space of layers [N, C, 7, 7], one after another; return the model's outputs."""
        of_space = {"axes": [2, 3], "keepdims": 0}
        means = [self.add_node("ReduceMean", [self.to_float(y)], f"{y}.mean", **of_space) for y in layers]
        return [self.add_node("Concat", means, "features", axis=1)]

    def add_node(self, kind: str, inputs: list[str], output: str, **attributes: Any) -> str:
        """Add a node; returns its output's name."""
        self.nodes.append(helper.make_node(kind, inputs, [output], **attributes))
        return output

    def add_normalisation(self, preprocessing: Preprocessing) -> str:
        """Pixels as the network reads them, [N, 3, side, side]."""
        side = preprocessing.crop
        self.constants["shape"] = np.array([-1, side, side, 3])
        self.constants["mean"] = np.array(preprocessing.mean, np.float32)[:, None, None]
        self.constants["scale"] = (1 / np.array(preprocessing.std, np.float32))[:, None, None]
        x = self.add_node("Reshape", ["clips", "shape"], "frames")
        x = self.add_node("Cast", [x], "pixels", to=TensorProto.FLOAT)
        # first, because onnxruntime takes 3 ms a frame for arithmetic over a last axis of length 3
        x = self.add_node("Transpose", [x], "planes", perm=[0, 3, 1, 2])
        x = self.add_node("Sub", [x, "mean"], "centred")
        return self.add_node("Mul", [x, "scale"], "image")

    def add_convolution(
        self, x: str, name: str, norm: str, *, stride: int = 1, groups: int = 1, clipped: bool = False
    ) -> str:
        """Add a convolution with the normalisation after it, and ReLU6 if `clipped`; return its name."""
        kernel, bias = self.fold_norm(name, norm)
        self.constants[f"{name}.kernel"], self.constants[f"{name}.bias"] = kernel, bias
        inputs = [x, f"{name}.kernel", f"{name}.bias"]
        x = self.add_node("Conv", inputs, f"{name}.out", **padding_attributes(kernel, stride, groups))
        return self.add_node("Clip", [x, "zero", "six"], f"{name}.clipped") if clipped else x

    def add_block(self, x: str, name: str, stride: int, expansion: int, *, adds: bool) -> str:
        """Widen, filter each channel by itself, narrow; added to its input where `adds`."""
        y = x
        if expansion > 1:
            wide = f"{name}.expand_conv"
            y = self.clipped[wide] = self.add_convolution(y, wide, f"{name}.bn0", clipped=True)
        depthwise = f"{name}.depthwise_conv"
        groups = len(self.weights[f"{depthwise}.weight"])
        y = self.add_convolution(y, depthwise, f"{name}.bn1", stride=stride, groups=groups, clipped=True)
        self.clipped[depthwise] = y
        y = self.add_convolution(y, f"{name}.project_conv", f"{name}.bn2")
        return self.add_sum(x, y, f"{name}.sum") if adds else y

    def add_sum(self, x: str, y: str, name: str) -> str:
        """Add the sum of two tensors; return its name."""
        return self.add_node("Add", [x, y], name)

    def to_float(self, x: str) -> str:
        """Return a tensor in fp32."""
        return x

    def fold_norm(self, name: str, norm: str) -> tuple[FloatArray, FloatArray]:
        """Kernel and bias of a convolution with the normalisation after it."""
        parts = ("weight", "bias", "running_mean", "running_var")
        gain, shift, mean, variance = (self.weights[f"{norm}.{part}"].astype(np.float64) for part in parts)
        factor = gain / np.sqrt(variance + EPSILON)
        kernel = self.weights[f"{name}.weight"] * factor[:, None, None, None]
        return kernel.astype(np.float32), (shift - mean * factor).astype(np.float32)

    def make_model(self, side: int, outputs: list[str]) -> onnx.ModelProto:
        """Return the model of all nodes."""
        clips = helper.make_tensor_value_info("clips", TensorProto.UINT8, ["N", 1, side, side, 3])
        shapes = {"features": ["N", None], "cells": ["N", None, None, None]}
        given = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shapes[name]) for name in outputs]
        constants = [numpy_helper.from_array(array, name) for name, array in self.constants.items()]
        graph = helper.make_graph(self.nodes, "efficientnet_lite0", [clips], given, constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=_IR)


def padding_attributes(kernel: FloatArray, stride: int, groups: int) -> dict[str, Any]:
    """Return strides, groups and pads of a convolution, as attributes of its node."""
    add_sum = kernel.shape[-1] - stride  # TensorFlow's "SAME": the odd position comes after
    pads = [add_sum // 2] * 2 + [add_sum - add_sum // 2] * 2
    return {"strides": [stride] * 2, "group": groups, "pads": pads}


class StoredGraph(LiteGraph):
    """The network in fp32, whose weights lie in a safetensors file.

    It also gives `cells` [N, 1280 + 2304, 7, 7], whose means are the features.
    """

    def __init__(self, file: Path) -> None:
        """`file` is to stand beside the graph; it holds the tensors by their published names."""
        super().__init__(load_file(file))
        self._stored = {layer_name(name): tensor for name, tensor in external_tensors(file).items()}
        self._used: list[TensorProto] = []

    def add_convolution(
        self, x: str, name: str, norm: str, *, stride: int = 1, groups: int = 1, clipped: bool = False
    ) -> str:
        """Add a convolution and the normalisation after it, and ReLU6 if `clipped`; return its name."""
        kernel = self._add_stored(f"{name}.weight")
        padding = padding_attributes(self.weights[kernel], stride, groups)
        x = self.add_node("Conv", [x, kernel], f"{name}.convolved", **padding)
        parts = ("weight", "bias", "running_mean", "running_var")
        inputs = [x, *(self._add_stored(f"{norm}.{part}") for part in parts)]
        x = self.add_node("BatchNormalization", inputs, f"{name}.out", epsilon=EPSILON)
        return self.add_node("Clip", [x, "zero", "six"], f"{name}.clipped") if clipped else x

    def add_features(self, layers: list[str]) -> list[str]:
        """Add the layers side by side, and their means over space."""
        cells = self.add_node("Concat", layers, "cells", axis=1)
        return [self.add_node("ReduceMean", [cells], "features", axes=[2, 3], keepdims=0), cells]

    def make_model(self, side: int, outputs: list[str]) -> onnx.ModelProto:
        """Return the model, which names the places of its weights in the file."""
        model = super().make_model(side, outputs)
        model.graph.initializer.extend(self._used)
        return model

    def _add_stored(self, name: str) -> str:
        self._used.append(self._stored[name])
        self._used[-1].name = name
        return name


def external_tensors(file: Path) -> dict[str, TensorProto]:
    """Return what an ONNX model says about the tensors of a safetensors file that stands beside it."""
    content = file.read_bytes()
    start = 8 + int.from_bytes(content[:8], "little")
    types = {"F32": TensorProto.FLOAT, "I64": TensorProto.INT64}
    tensors = {}
    for name, facts in json.loads(content[8:start]).items():
        first, end = facts["data_offsets"]
        tensors[name] = TensorProto(
            name=name,
            dims=facts["shape"],
            data_type=types[facts["dtype"]],
            data_location=TensorProto.EXTERNAL,
        )
        place = {"location": file.name, "offset": start + first, "length": end - first}
        for key, value in place.items():
            tensors[name].external_data.add(key=key, value=str(value))
    return tensors


_FLOATING = ("conv_stem", "blocks.0.")
_LEVELS = 255
_LARGEST_BIAS = 2**30
Channels = npt.NDArray[np.float64]  # a number for each channel
Range = tuple[float, float]

RANGES: Mapping[str, Range] = {
    "blocks.0.project_conv.out": (-36.42, 46.34),
    "blocks.1.project_conv.out": (-51.33, 58.34),
    "blocks.2.project_conv.out": (-53.09, 53.25),
    "blocks.2.sum": (-61.78, 63.45),
    "blocks.3.project_conv.out": (-39.47, 46.67),
    "blocks.4.project_conv.out": (-30.09, 28.19),
    "blocks.4.sum": (-50.63, 53.56),
    "blocks.5.project_conv.out": (-37.13, 37.27),
    "blocks.6.project_conv.out": (-24.14, 20.49),
    "blocks.6.sum": (-37.6, 37.89),
    "blocks.7.project_conv.out": (-18.86, 17.24),
    "blocks.7.sum": (-38.58, 39.35),
    "blocks.8.project_conv.out": (-42.17, 37.84),
    "blocks.9.project_conv.out": (-25.86, 19.23),
    "blocks.9.sum": (-43.7, 39.16),
    "blocks.10.project_conv.out": (-27.95, 19.17),
    "blocks.10.sum": (-53.29, 43),
    "blocks.11.project_conv.out": (-37.76, 33.1),
    "blocks.12.project_conv.out": (-17.92, 18.38),
    "blocks.12.sum": (-39.21, 35.42),
    "blocks.13.project_conv.out": (-19.18, 20.84),
    "blocks.13.sum": (-42.23, 37.92),
    "blocks.14.project_conv.out": (-24.22, 24.59),
    "blocks.14.sum": (-46.86, 42.31),
    "blocks.15.project_conv.out": (-17.58, 16.01),
}
"""Least and greatest value of what is not clipped, on all frames of 14 real clips."""


class Int8Graph(LiteGraph):
    """The network of `LiteGraph`, a quantised tensor under each name but those of the first layers."""

    def __init__(self, weights: Mapping[str, npt.NDArray[Any]]) -> None:
        super().__init__(weights)
        self._scales: dict[str, float] = {}
        self._means: dict[str, Channels] = {}

    def add_convolution(
        self, x: str, name: str, norm: str, *, stride: int = 1, groups: int = 1, clipped: bool = False
    ) -> str:
        """Add a convolution with its normalisation; a clipped one is quantised to the range of ReLU6."""
        if name.startswith(_FLOATING):
            y = super().add_convolution(x, name, norm, stride=stride, groups=groups, clipped=clipped)
            if not clipped:  # the last of them
                y = self._add_rounding(y, f"{y}.whole", RANGES[y])
        else:
            y = f"{name}.out"
            self._quantise(y, (0.0, 6.0) if clipped else RANGES[y])
            inputs = [*self._quantised_inputs(x), *self._add_weights(x, name, norm, groups, y)]
            self.add_node(
                "QLinearConv", inputs, y, **padding_attributes(self.weights[f"{name}.weight"], stride, groups)
            )
        self._means[y] = self._channel_means(norm, clipped=clipped)
        return y

    def add_sum(self, x: str, y: str, name: str) -> str:
        """Add the sum of two tensors, which onnxruntime computes in integers too; return its name."""
        terms = [
            self.add_node("DequantizeLinear", self._quantised_inputs(term), f"{name}.{term}")
            for term in (x, y)
        ]
        total = self.add_node("Add", terms, f"{name}.float")
        self._means[name] = self._means[x] + self._means[y]
        return self._add_rounding(total, name, RANGES[name])

    def to_float(self, x: str) -> str:
        """Return a tensor in fp32."""
        return self.add_node("DequantizeLinear", self._quantised_inputs(x), f"{x}.float")

    def _add_weights(self, x: str, name: str, norm: str, groups: int, y: str) -> list[str]:
        """Inputs of a convolution after those of what it is applied to: weights, the scale of y, bias."""
        kernel, bias = self.fold_norm(name, norm)
        # of a channel with hardly any weights, the bias decides, which has to fit into 32 bits
        least = np.abs(bias) / self._scales[x] / _LARGEST_BIAS
        scales = np.maximum(np.abs(kernel).max(axis=(1, 2, 3)) / 127, np.maximum(least, 1e-30))
        whole = np.round(kernel / scales[:, None, None, None])
        errors = (whole * scales[:, None, None, None] - kernel).sum(axis=(2, 3))
        bias = bias - (errors[:, 0] * self._means[x] if groups > 1 else errors @ self._means[x])
        self.constants |= {
            f"{name}.kernel": whole.astype(np.int8),
            f"{name}.scales": scales.astype(np.float32),
            f"{name}.zeros": np.zeros(len(kernel), np.int8),
            f"{name}.bias": np.round(bias / (self._scales[x] * scales)).astype(np.int32),
        }
        weights = [f"{name}.{part}" for part in ("kernel", "scales", "zeros")]
        return [*weights, *self._quantised_inputs(y)[1:], f"{name}.bias"]

    def _channel_means(self, norm: str, *, clipped: bool) -> Channels:
        """Mean of each channel over what the network was trained on, as its normalisation tells it.

        What is clipped is taken as normally distributed before (section 4.2.1).
        """
        mean, deviation = (self.weights[f"{norm}.{part}"].astype(np.float64) for part in ("bias", "weight"))
        if not clipped:
            return mean
        deviation = np.maximum(np.abs(deviation), 1e-9)
        return mean_of_relu(mean, deviation) - mean_of_relu(mean - 6, deviation)

    def _quantise(self, name: str, of: Range) -> None:
        """Give a tensor its scale and its zero point."""
        low, high = min(of[0], 0.0), max(of[1], 0.0)
        scale = (high - low) / _LEVELS
        self._scales[name] = scale
        self.constants |= {
            f"{name}.scale": np.array(scale, np.float32),
            f"{name}.zero": np.array(round(-low / scale), np.uint8),
        }

    def _quantised_inputs(self, name: str) -> list[str]:
        """Return a tensor, its scale and its zero point."""
        return [name, f"{name}.scale", f"{name}.zero"]

    def _add_rounding(self, x: str, name: str, of: Range) -> str:
        """Add the quantisation of a tensor in fp32; return its name."""
        self._quantise(name, of)
        return self.add_node("QuantizeLinear", [x, *self._quantised_inputs(name)[1:]], name)


def mean_of_relu(mean: Channels, deviation: Channels) -> Channels:
    """Mean of max(x, 0) of a normally distributed x."""
    at = mean / deviation
    density = np.exp(-(at**2) / 2) / math.sqrt(2 * math.pi)
    below = 0.5 * (1 + np.vectorize(math.erf, otypes=[float])(at / math.sqrt(2)))
    above: Channels = mean * below + deviation * density
    return above


def make_files(source: Path, preprocessing: Preprocessing, folder: Path) -> None:
    """Write the three files of published weights, a safetensors file, to a folder."""
    tensors = folder / "efficientnet_lite0.safetensors"
    shutil.copyfile(source, tensors)
    graphs = {"": StoredGraph(tensors), "-int8": Int8Graph(load_file(source))}
    for kind, graph in graphs.items():
        path = folder / f"efficientnet_lite0{kind}.onnx"
        path.write_bytes(graph.to_model(preprocessing).SerializeToString(deterministic=True))
        onnx.checker.check_model(path)


if __name__ == "__main__":
    make_files(fetch_source(SPEC.checkpoint), SPEC.preprocessing, Path(sys.argv[1]))
