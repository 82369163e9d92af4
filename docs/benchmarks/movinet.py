"""Compare the shipped graphs of MoViNet with the files that they are made from.

    python -m docs.benchmarks.movinet compare FOLDER VIDEO ...
    python -m docs.benchmarks.movinet store FOLDER

FOLDER holds `movinet_a0_stream_int8.tflite` and its conversion `movinet_a0_stream_int8.onnx`. LiteRT (the
package `ai-edge-litert`) runs the first, and onnxruntime the second without its rounding. `store` writes what
the tests compare with, from the sample film.
"""

import json
import sys
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from vidsum import checkpoints
from vidsum.features.extractor import crop_centre
from vidsum.features.movinet import DIM, NAME, SIDE, classify_actions
from vidsum.features.onnx_backend import open_session
from vidsum.models.scaling import unit_rows
from vidsum.types import FloatArray, Picture
from vidsum.video.frames import Sampling, ShortSide
from vidsum.video.probe import probe
from vidsum.video.read import read_frames

_SAMPLE = Path(__file__).parents[1] / "sample" / "big_buck_bunny.mp4"
_OUTPUTS = Path(__file__).parents[2] / "tests" / "features" / "movinet_outputs.json"
_FILE = "movinet_a0_stream_int8"
Outputs = tuple[FloatArray, FloatArray]
"""The numbers [N, 480] of frames [N, 172, 172, 3], and the logits [600] of their mean."""
Run = Callable[[dict[str, Any]], dict[str, Any]]


def first_frames(path: Path, count: int) -> Picture:
    """The first frames of a film as the network sees them, five a second."""
    with read_frames(probe(path), [Sampling(5.0, ShortSide(SIDE))]) as frames:
        return np.stack([crop_centre(frame.image, SIDE) for _, frame in islice(frames, count)])


def by_shipped(frames: Picture) -> Outputs:
    """By the graphs that ship, without cuts."""
    session = open_session(checkpoints.path_of(NAME) / f"{NAME}.onnx")
    states = {state.name: np.zeros(state.shape, np.float32) for state in session.get_inputs()[1:]}
    (rows,) = session.run(["vectors"], {"frames": frames, **states})
    return rows, classify_actions(rows.mean(axis=0, keepdims=True))[0]


def _frame_by_frame(frames: Picture, run: Run, states: dict[str, Any], head: tuple[str, str, str]) -> Outputs:
    """By a network that reads single frames; `head` names its image, its sum and the logits.

    The sum is set to 0 before each frame for its numbers, and goes on for the logits.
    """
    image, total, logits = head
    rows, sums = list[FloatArray](), states[total]
    for frame in frames:
        picture = (frame / np.float32(255))[None, None]
        rows.append(run({**states, image: picture})[total].reshape(DIM))
        outputs = run({**states, image: picture, total: sums})
        sums = outputs[total]
        states = {name: states[name] if name == total else outputs[name] for name in states}
    return np.stack(rows), outputs[logits][0]


def by_lite(file: Path, frames: Picture) -> Outputs:
    """By the published file in LiteRT, which rounds what layers read."""
    from ai_edge_litert.interpreter import Interpreter

    runner = Interpreter(str(file), num_threads=1).get_signature_runner("serving_default")
    inputs = runner.get_input_details().items()
    states = {name: np.zeros(value["shape"], value["dtype"]) for name, value in inputs if name != "image"}
    head = ("image", "state_head_pool_buffer", "logits")
    return _frame_by_frame(frames, lambda values: runner(**values), states, head)


def by_unrounded(file: Path, frames: Picture) -> Outputs:
    """By the conversion of the file, without the nodes that round what layers read."""
    model = onnx.load(file)
    constants, renamed = {value.name for value in model.graph.initializer}, dict[str, str]()
    nodes = []
    for node in model.graph.node:
        node.input[:] = [renamed.get(name, name) for name in node.input]
        if node.op_type in ("QuantizeLinear", "DequantizeLinear") and node.input[0] not in constants:
            renamed[node.output[0]] = node.input[0]
        else:
            nodes.append(node)
    names = [value.name for value in model.graph.output]
    nodes += [onnx.helper.make_node("Identity", [renamed[name]], [name]) for name in names if name in renamed]
    needed = {name for node in nodes for name in node.input}
    used = [value for value in model.graph.initializer if value.name in needed]
    del model.graph.node[:], model.graph.initializer[:]
    model.graph.node.extend(nodes)
    model.graph.initializer.extend(used)
    session = open_session(model.SerializeToString())
    image, total, logits = (
        "serving_default_image:0",
        "serving_default_state_head_pool_buffer:0",
        "StatefulPartitionedCall:0",
    )
    inputs = [value for value in session.get_inputs() if value.name != image]
    kinds = {"tensor(float)": np.float32, "tensor(int32)": np.int32}
    states = {value.name: np.zeros(value.shape, kinds[value.type]) for value in inputs}
    # the outputs come in the order of the inputs, the logits in another place than the image
    following = dict(zip((name for name in names if name != logits), states, strict=True))

    def run(values: dict[str, Any]) -> dict[str, Any]:
        outputs = dict(zip(names, session.run(names, values), strict=True))
        return {following.get(name, name): value for name, value in outputs.items()}

    return _frame_by_frame(frames, run, states, (image, total, logits))


def cosines(first: FloatArray, second: FloatArray) -> FloatArray:
    """[N] of rows [N, D]."""
    return np.asarray((unit_rows(first) * unit_rows(second)).sum(axis=1))


def compare(folder: Path, films: list[Path]) -> None:
    """Print how near the outputs for the first ten seconds of films are."""
    of_lite, of_unrounded = list[Any](), list[Any]()
    for film in films:
        frames = first_frames(film, 50)
        shipped, lite = by_shipped(frames), by_lite(folder / f"{_FILE}.tflite", frames)
        unrounded = by_unrounded(folder / f"{_FILE}.onnx", frames)
        of_unrounded.append(max(np.abs(a - b).max() for a, b in zip(shipped, unrounded, strict=True)))
        (cosine,) = cosines(shipped[1][None], lite[1][None])
        same = shipped[1].argmax() == lite[1].argmax()
        of_lite.append((cosine, same, cosines(shipped[0], lite[0]).mean()))
    worst, (cosine, same, of_frames) = max(of_unrounded), np.mean(of_lite, axis=0)
    print(f"{len(films)} films; from the file without rounding: {worst:.1e} at most")
    print(f"from LiteRT: cosine of logits {cosine:.3f}, of frames {of_frames:.3f}, same action {same:.1%}")


def store(folder: Path) -> None:
    """Write the outputs of the two files for five seconds of the sample film, which fades in before."""
    frames = first_frames(_SAMPLE, 37)[12:]
    rows, logits = by_unrounded(folder / f"{_FILE}.onnx", frames)
    lite = by_lite(folder / f"{_FILE}.tflite", frames)
    stored = {"rows": rows[[0, 12, 24]], "logits": logits, "lite_logits": lite[1]}
    _OUTPUTS.write_text(json.dumps({name: np.round(value, 4).tolist() for name, value in stored.items()}))


if __name__ == "__main__":
    if sys.argv[1] == "store":
        store(Path(sys.argv[2]))
    else:
        compare(Path(sys.argv[2]), [*map(Path, sys.argv[3:])])
