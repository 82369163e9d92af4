"""Make the two graphs of MoViNet-A0-Stream that ship from a conversion of its TensorFlow Lite file.

    python -m vidsum.weights.recipes.movinet_a0 movinet_a0_stream_int8.onnx weights

The source is made by `python -m tf2onnx.convert --tflite movinet_a0_stream_int8.tflite --opset 13`. The
weights stay in 8 bits, and are expanded when a graph is loaded; what layers read is no longer rounded.

`movinet_a0.onnx` reads frames that follow each other, and the states of those before. All layers but one of
each block see single frames, so the frames are their batch. That layer sees the last three or five frames,
and its state is the two or four before. `movinet_a0_head.onnx` reads means of vectors over time.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import NodeProto, TensorProto, helper, numpy_helper

from vidsum.types import FloatArray

_OPSET, _IR = 17, 8  # versions that onnxruntime has read since 1.12
_SIDE, _DIM, _CLASSES = 172, 480, 600
_IMAGE = "serving_default_image:0"
_NO_STEP = ("QuantizeLinear", "DequantizeLinear", "Reshape", "Transpose", "Slice")
"""Nodes of the source without a counterpart: nothing is rounded, all tensors are [N, C, H, W], and what gives
the next states is made with the states."""
_END = np.iinfo(np.int64).max


class GraphWriter:
    """Nodes and constants of a new graph, by those of the source."""

    def __init__(self, source: onnx.ModelProto) -> None:
        constants = {value.name: numpy_helper.to_array(value) for value in source.graph.initializer}
        self.scaled = {
            node.output[0]: [constants[name] for name in node.input]
            for node in source.graph.node
            if node.op_type == "DequantizeLinear" and node.input[0] in constants
        }  # codes, scale and zero of each constant in 8 bits
        self.shapes = {
            value.name: [dim.dim_value for dim in value.type.tensor_type.shape.dim]
            for value in source.graph.input
        }
        self.nodes: list[NodeProto] = []
        self.constants: dict[str, npt.NDArray[Any]] = {}
        self.renamed: dict[str, str] = {}  # from tensors of the source
        self.states: dict[str, list[int]] = {}  # with the shapes

    def add(self, kind: str, inputs: list[str], output: str, **attributes: Any) -> str:
        """Add a node; return its output's name."""
        self.nodes.append(helper.make_node(kind, inputs, [output], **attributes))
        return output

    def constant(self, name: str, array: npt.ArrayLike, dtype: npt.DTypeLike = np.float32) -> str:
        """Add a constant; return its name."""
        self.constants[name] = np.array(array, dtype)
        return name

    def codes(self, source: str, name: str, shape: tuple[int, ...]) -> str:
        """Add weights in 8 bits, with what expands them; return their name."""
        codes, scale, zero = self.scaled[source]
        assert not np.any(zero)
        self.constant(f"{name}.codes", codes.reshape(shape), np.int8)
        self.constant(f"{name}.scale", _along_first(scale, len(shape)))
        whole = self.add("Cast", [f"{name}.codes"], f"{name}.whole", to=TensorProto.FLOAT)
        return self.add("Mul", [whole, f"{name}.scale"], f"{name}.kernel")

    def floats(self, source: str) -> FloatArray:
        """Return a constant in 8 or 32 bits as numbers."""
        codes, scale, zero = self.scaled[source]
        whole = codes.astype(np.float64) - _along_first(zero, codes.ndim)
        return np.asarray(whole * _along_first(scale, codes.ndim), np.float32)

    def convert(self, node: NodeProto) -> None:
        """Add the counterpart of a node."""
        name, kind = f"{node.op_type.lower()}{len(self.nodes)}", node.op_type
        inputs = [self.renamed.get(tensor, tensor) for tensor in node.input]
        made = inputs[0]
        if kind == "Conv":
            made = self.convolve(node, made, name)
        elif kind == "Clip":
            made = self.add("Clip", [made, self.constant("zero", 0), self.constant("six", 6)], name)
        elif kind == "AveragePool":
            made = self.add(kind, inputs, name, **_attributes(node))
        elif kind == "Mul":
            self.scale(made, node.input[1])
        elif kind == "Add":
            made = self.add(kind, inputs, name)
        elif kind == "Concat":
            made = self.put_after_state(made, inputs[1], name)
        elif kind not in _NO_STEP:
            raise ValueError(f"{kind} has no counterpart")
        self.renamed[node.output[0]] = made

    def convolve(self, node: NodeProto, tensor: str, name: str) -> str:
        """Add a convolution over space or over time; return its output's name."""
        kernel, bias = node.input[1], self.floats(node.input[2])
        shape = self.scaled[kernel][0].shape
        if shape[2:] in ((3, 1), (5, 1)):
            return self.convolve_time(tensor, self.floats(kernel)[:, 0, :, 0], bias, name)
        inputs = [tensor, self.codes(kernel, name, shape), self.constant(f"{name}.bias", bias)]
        of_space = {
            key: value for key, value in _attributes(node).items() if key in ("group", "strides", "pads")
        }
        return self.add("Conv", inputs, name, **of_space)

    def convolve_time(self, tensor: str, kernel: FloatArray, bias: FloatArray, name: str) -> str:
        """Add sums of k frames of [N + k - 1, C, H, W], with weights [C, k]; return the output's name."""
        length, total = kernel.shape[1], self.constant(f"{name}.bias", bias[:, None, None])
        for place in range(length):
            frames = self.cut(tensor, place, place - length + 1 or _END, f"{name}.frames{place}")
            weight = self.constant(f"{name}.weight{place}", kernel[:, place, None, None])
            term = self.add("Mul", [frames, weight], f"{name}.term{place}")
            total = self.add("Add", [term, total], f"{name}.sum{place}")
        return total

    def cut(self, tensor: str, start: int, end: int, name: str) -> str:
        """Add what gives the frames from a start to an end; return its output's name."""
        bounds = [self.constant(f"frame {number}", [number], np.int64) for number in (start, end)]
        return self.add("Slice", [tensor, *bounds, self.constant("frame 0", [0], np.int64)], name)

    def put_after_state(self, source: str, frames: str, name: str) -> str:
        """Put frames after those of a state [k - 1, C, H, W]; return the name of all."""
        _, length, height, width, channels = self.shapes[source]
        state = f"state {len(self.states)}"
        self.states[state] = [length, channels, height, width]
        every = self.add("Concat", [state, frames], name, axis=0)
        self.cut(every, -length, _END, f"next {state}")
        return every

    def scale(self, tensor: str, source: str) -> None:
        """Multiply the convolution that gives a tensor by the one number of a constant."""
        (number,) = np.unique(self.floats(source))
        for part in ("scale", "bias"):
            self.constants[f"{tensor}.{part}"] *= number

    def to_model(self, inputs: list[Any], outputs: dict[str, list[Any]]) -> onnx.ModelProto:
        """Return the graph as a model."""
        shapes = outputs.items()
        made = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes]
        constants = [numpy_helper.from_array(array, name) for name, array in self.constants.items()]
        graph = helper.make_graph(self.nodes, "movinet_a0", inputs, made, constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=_IR)


def _along_first(values: npt.NDArray[Any], n_axes: int) -> npt.NDArray[Any]:
    return values.reshape(-1, *[1] * (n_axes - 1)) if values.ndim else values


def _attributes(node: NodeProto) -> dict[str, Any]:
    return {value.name: helper.get_attribute_value(value) for value in node.attribute}


def convert_frames(source: onnx.ModelProto) -> onnx.ModelProto:
    """Return the graph from `frames` [N, 172, 172, 3] in uint8 and the states to `vectors` [N, 480]."""
    graph = GraphWriter(source)
    pixels = graph.add("Cast", ["frames"], "pixels", to=TensorProto.FLOAT)
    planes = graph.add("Transpose", [pixels], "planes", perm=[0, 3, 1, 2])
    graph.renamed[_IMAGE] = graph.add("Mul", [planes, graph.constant("range", 1 / 255)], "image")
    mean = _place(source, "ReduceSum")
    for node in source.graph.node[:mean]:
        if not any(name.endswith("frame_count:0") for name in node.input) and node.op_type != "Cast":
            graph.convert(node)
    last = graph.renamed[source.graph.node[mean].input[0]]
    graph.add("ReduceMean", [last], "vectors", axes=[2, 3], keepdims=0)
    inputs = [helper.make_tensor_value_info("frames", TensorProto.UINT8, ["N", _SIDE, _SIDE, 3])]
    states = graph.states.items()
    inputs += [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in states]
    following = {f"next {name}": shape for name, shape in states}
    return graph.to_model(inputs, {"vectors": ["N", _DIM], **following})


def convert_head(source: onnx.ModelProto) -> onnx.ModelProto:
    """Return the graph from `means` of vectors [N, 480] to `logits` [N, 600]."""
    graph, place = GraphWriter(source), _place(source, "Div")
    hidden, last = (node for node in source.graph.node[place:] if node.op_type == "Conv")
    for node, tensor, name in ((hidden, "means", "hidden"), (last, "active", "logits")):
        kernel = graph.codes(node.input[1], name, graph.scaled[node.input[1]][0].shape[:2])
        bias = graph.constant(f"{name}.bias", graph.floats(node.input[2]))
        graph.add("Gemm", [tensor, kernel, bias], name, transB=1)
        if name == "hidden":
            graph.add("Clip", [name, graph.constant("zero", 0), graph.constant("six", 6)], "active")
    means = helper.make_tensor_value_info("means", TensorProto.FLOAT, ["N", _DIM])
    return graph.to_model([means], {"logits": ["N", _CLASSES]})


def _place(source: onnx.ModelProto, kind: str) -> int:
    (place,) = (number for number, node in enumerate(source.graph.node) if node.op_type == kind)
    return place


if __name__ == "__main__":
    published, folder = onnx.load(sys.argv[1]), Path(sys.argv[2])
    onnx.save(convert_frames(published), folder / "movinet_a0.onnx")
    onnx.save(convert_head(published), folder / "movinet_a0_head.onnx")
