"""YAMNet: write the ONNX file that ships from the published TFLite file, and compare both.

    python -m docs.benchmarks.yamnet convert yamnet.tflite weights/yamnet.onnx
    python -m docs.benchmarks.yamnet compare yamnet.tflite weights/yamnet.onnx SOUND ...
    python -m docs.benchmarks.yamnet store yamnet.tflite tests/features/yamnet_scores.json

They need `pip install ai-edge-litert`. The published file has weights of 8 bits, and its runtime rounds some
activations to 8 bits too; the ONNX file has the same weights, and computes in fp32. So `compare` runs the
published file as it is, and a copy whose weights were made fp32, which its runtime then rounds nowhere.
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from flatbuffers import Builder
from onnx import TensorProto, checker, helper, numpy_helper

from tests.features.test_sounds import synthetic_sounds
from vidsum.features.onnx_backend import open_session
from vidsum.features.sounds import RATE, STEP_S, WINDOW, iter_windows
from vidsum.grounding.windows import grid
from vidsum.types import FloatArray
from vidsum.video.damage import DecodeLog
from vidsum.video.listen import probe_sound, read_sound

_OPSET, _IR = 18, 8
_NAMES = {code: name for name, code in vars(schema.BuiltinOperator).items() if not name.startswith("_")}
_TYPES = {schema.TensorType.FLOAT32: np.float32, schema.TensorType.INT8: np.int8}


class Published:
    """The only graph of a TFLite file."""

    def __init__(self, content: bytes) -> None:
        self.model = schema.ModelT.InitFromObj(schema.Model.GetRootAs(content, 0))
        self.graph = self.model.subgraphs[0]
        self.operators = [(self._name_of(operator), operator) for operator in self.graph.operators]
        # an operator that only makes weights fp32 stands for its input
        self._sources = {
            operator.outputs[0]: operator.inputs[0]
            for name, operator in self.operators
            if name == "DEQUANTIZE"
        }

    def _name_of(self, operator: Any) -> str:
        code = self.model.operatorCodes[operator.opcodeIndex]
        return str(_NAMES[max(code.builtinCode, code.deprecatedBuiltinCode)])

    def shape(self, number: int) -> list[int]:
        return list(map(int, self.graph.tensors[number].shape))

    def read(self, number: int) -> tuple[np.ndarray, np.float32 | None]:
        """Return a constant as it is stored, and what its integers are multiplied by."""
        tensor = self.graph.tensors[self._sources.get(number, number)]
        data = bytes(bytearray(self.model.buffers[tensor.buffer].data))
        values = np.frombuffer(data, _TYPES[tensor.type]).reshape(list(tensor.shape))
        if values.dtype == np.float32:
            return values, None
        (scale,), (zero,) = tensor.quantization.scale, tensor.quantization.zeroPoint
        assert zero == 0
        return values, np.float32(scale)

    def as_fp32(self) -> bytes:
        """Return the file with all weights in fp32; this object is of no use afterwards."""
        for number, tensor in enumerate(self.graph.tensors):
            if tensor.type == schema.TensorType.INT8:
                values, scale = self.read(number)
                content = (values.astype(np.float32) * scale).tobytes()
                self.model.buffers[tensor.buffer].data = np.frombuffer(content, np.uint8)
                tensor.type, tensor.quantization = schema.TensorType.FLOAT32, None
        self.graph.operators = [operator for name, operator in self.operators if name != "DEQUANTIZE"]
        for operator in self.graph.operators:
            operator.inputs = [self._sources.get(number, number) for number in operator.inputs]
        builder = Builder(0)
        builder.Finish(self.model.Pack(builder), b"TFL3")
        return bytes(builder.Output())


class OnnxGraph:
    """Nodes and constants; methods add them, and return the name of what they make."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: dict[str, np.ndarray] = {}

    def add(self, kind: str, inputs: list[str], name: str, **attributes: Any) -> str:
        self.nodes.append(helper.make_node(kind, inputs, [name], name=name, **attributes))
        return name

    def keep(self, name: str, values: Any) -> str:
        self.constants[name] = np.ascontiguousarray(values)
        return name

    def add_weights(self, name: str, values: np.ndarray, scale: np.float32 | None) -> str:
        """Add weights; no DequantizeLinear, with which onnxruntime would round activations too."""
        if scale is None:
            return self.keep(name, values)
        whole = self.add("Cast", [self.keep(f"{name}.int8", values)], f"{name}.whole", to=TensorProto.FLOAT)
        return self.add("Mul", [whole, self.keep(f"{name}.scale", scale)], name)

    def serialise(self) -> bytes:
        samples = helper.make_tensor_value_info("samples", TensorProto.FLOAT, ["N", WINDOW])
        scores = helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["N", 521])
        constants = [numpy_helper.from_array(array, name) for name, array in self.constants.items()]
        graph = helper.make_graph(self.nodes, "yamnet", [samples], [scores], constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=_IR)
        checker.check_model(model, full_check=True)
        return bytes(model.SerializeToString())


def convert(content: bytes) -> bytes:
    """Return the ONNX file: windows of samples [N, 15600] to scores of classes [N, 521]."""
    published, graph = Published(content), OnnxGraph()
    by_name = [(name, operator) for name, operator in published.operators if name != "DEQUANTIZE"]
    dense = [operator for name, operator in by_name if name == "FULLY_CONNECTED"]
    window = next(operator.inputs[1] for name, operator in by_name if name == "MUL")
    x = add_spectrogram(graph, published, window, dense[:3])
    for number, (name, operator) in enumerate(pair for pair in by_name if "CONV" in pair[0]):
        x = add_convolution(graph, published, operator, x, f"conv{number}", is_depthwise="DEPTH" in name)
    x = graph.add("ReduceMean", [x, graph.keep("places", np.array([2, 3]))], "mean", keepdims=0)
    weights = graph.add_weights("classes", *transposed(published, dense[3].inputs[1]))
    x = graph.add("MatMul", [x, weights], "classes.product")
    x = graph.add("Add", [x, graph.keep("classes.bias", published.read(dense[3].inputs[2])[0])], "logits")
    graph.add("Sigmoid", [x], "scores")
    return graph.serialise()


def transposed(published: Published, number: int) -> tuple[np.ndarray, np.float32 | None]:
    values, scale = published.read(number)
    return values.T, scale


def add_spectrogram(graph: OnnxGraph, published: Published, window: int, dense: list[Any]) -> str:
    """Add the logarithm of the mel spectrogram, as [N, 1, 96, 64].

    A frame has 400 samples; the published file puts it in the middle of 512 and has the Fourier transform as
    two matrices. The frequencies that no band of `mel` reads are left out.
    """
    (real, scale), (imaginary, other), (mel, mel_scale) = (
        published.read(operator.inputs[1]) for operator in dense
    )
    used = np.flatnonzero(np.abs(mel).sum(axis=0))
    first, last = used[0], used[-1] + 1
    fourier = np.concatenate(
        [
            matrix[first:last, 56:-56].astype(np.float32) * by
            for matrix, by in ((real, scale), (imaginary, other))
        ]
    )
    fourier *= published.read(window)[0]  # of each sample of a frame
    pieces = graph.add("Reshape", ["samples", graph.keep("pieces", np.array([0, -1, 80]))], "in_pieces")
    frames = np.arange(96)[:, None] * 2 + np.arange(5)
    x = graph.add("Gather", [pieces, graph.keep("frames", frames)], "in_frames", axis=1)
    x = graph.add("Reshape", [x, graph.keep("frame", np.array([0, 96, 400]))], "windows")
    x = graph.add("MatMul", [x, graph.keep("fourier", fourier.T)], "spectrum")
    graph.nodes.append(
        helper.make_node(
            "Split", [graph.add("Mul", [x, x], "squares")], ["real", "imaginary"], axis=-1, num_outputs=2
        )
    )
    x = graph.add("Sqrt", [graph.add("Add", ["real", "imaginary"], "power")], "magnitude")
    x = graph.add("MatMul", [x, graph.add_weights("mel", mel[:, first:last].T, mel_scale)], "bands")
    x = graph.add("Add", [x, graph.keep("floor", published.read(dense[2].inputs[2])[0])], "raised")
    x = graph.add("Log", [x], "log_mel")
    return graph.add("Reshape", [x, graph.keep("picture", np.array([-1, 1, 96, 64]))], "in_picture")


def add_convolution(
    graph: OnnxGraph, published: Published, operator: Any, x: str, name: str, *, is_depthwise: bool
) -> str:
    """Add a convolution and ReLU. TensorFlow's "SAME": the odd position of the padding comes after."""
    options = operator.builtinOptions
    assert options.fusedActivationFunction == schema.ActivationFunctionType.RELU
    assert options.padding == schema.Padding.SAME
    values, scale = published.read(operator.inputs[1])
    values = values.transpose((3, 0, 1, 2) if is_depthwise else (0, 3, 1, 2))
    kernel = values.shape[-1]
    sums = []
    for size, stride in zip(
        published.shape(operator.inputs[0])[1:3], (options.strideH, options.strideW), strict=True
    ):
        sums.append(max((-(-size // stride) - 1) * stride + kernel - size, 0))
    pads = [total // 2 for total in sums] + [total - total // 2 for total in sums]
    inputs = [
        x,
        graph.add_weights(name, values, scale),
        graph.keep(f"{name}.bias", published.read(operator.inputs[2])[0]),
    ]
    groups = len(values) if is_depthwise else 1
    x = graph.add(
        "Conv", inputs, f"{name}.sum", group=groups, pads=pads, strides=[options.strideH, options.strideW]
    )
    return graph.add("Relu", [x], f"{name}.out")


def read_windows(path: str) -> FloatArray:
    """Return the windows [N, 15600] of a file."""
    sound = probe_sound(path)
    windows = np.concatenate(list(iter_windows(read_sound(sound, RATE, 30.0, DecodeLog()))))
    return windows[: len(grid(sound.duration_s, STEP_S))]  # the last block ends in silence


def run_published(
    content: bytes, windows: FloatArray, kernels: OpResolverType = OpResolverType.AUTO
) -> FloatArray:
    """Return [N, 521] by the runtime of the published file."""
    interpreter = Interpreter(model_content=content, num_threads=1, experimental_op_resolver_type=kernels)
    interpreter.allocate_tensors()
    (entry,), (scores, *_) = interpreter.get_input_details(), interpreter.get_output_details()
    rows = []
    for window in windows:
        interpreter.set_tensor(entry["index"], window[None])
        interpreter.invoke()
        rows.append(interpreter.get_tensor(scores["index"])[0].copy())
    return np.array(rows)


def compare(content: bytes, onnx: Path, paths: list[str]) -> Iterator[str]:
    """Yield the greatest difference between scores for each sound.

    These are the ONNX file and the published one in fp32, the ONNX file and the published one as it is, and
    the latter by two kinds of kernels; then the share of windows in which the same classes reach .5.
    """
    session, in_fp32 = open_session(onnx), Published(content).as_fp32()
    yield f"{'sound':20} {'windows':>7} {'fp32':>9} {'as it is':>9} {'kernels':>9} {'same at .5':>10}"
    for path in paths:
        windows = read_windows(path)
        scores, exact = session.run(None, {"samples": windows})[0], run_published(in_fp32, windows)
        rounded = run_published(content, windows)
        other = run_published(content, windows, OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES)
        pairs = ((scores, exact), (scores, rounded), (rounded, other))
        differences = [float(np.abs(first - second).max()) for first, second in pairs]
        same = ((scores >= 0.5) == (rounded >= 0.5)).all(axis=1).mean()
        figures = " ".join(f"{difference:9.6f}" for difference in differences)
        yield f"{Path(path).name:20} {len(windows):7} {figures} {same:10.0%}"


def stored_scores(content: bytes) -> str:
    """Return the scores of the tests' sounds by the published file in fp32, as JSON."""
    sounds = synthetic_sounds()
    rows = run_published(Published(content).as_fp32(), np.stack(list(sounds.values())))
    scores = {
        name: {str(number): round(float(row[number]), 5) for number in np.flatnonzero(row >= 0.005)}
        for name, row in zip(sounds, rows, strict=True)
    }
    lines = [f"{json.dumps(name)}: {json.dumps(classes)}" for name, classes in scores.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("task", choices=("convert", "compare", "store"))
    parser.add_argument("tflite", type=Path)
    parser.add_argument("file", type=Path)
    parser.add_argument("sounds", nargs="*")
    arguments = parser.parse_args()
    content = arguments.tflite.read_bytes()
    if arguments.task == "convert":
        arguments.file.write_bytes(convert(content))
    elif arguments.task == "store":
        arguments.file.write_text(stored_scores(content), encoding="utf-8")
    else:
        for line in compare(content, arguments.file, arguments.sounds):
            print(line)


if __name__ == "__main__":
    main()
