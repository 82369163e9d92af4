"""The graphs of MoViNet that the recipe makes of the conversion in the shared folder."""

from pathlib import Path

import pytest

from vidsum import checkpoints


@pytest.mark.shared
def test_the_shipped_graphs_are_those_of_the_recipe(shared: Path) -> None:
    onnx = pytest.importorskip("onnx")
    from vidsum.weights.recipes.movinet_a0 import convert_frames, convert_head

    source = onnx.load(shared / "models" / "movinet_a0_stream_int8.onnx")
    folder = checkpoints.path_of("movinet_a0")
    for name, convert in {"movinet_a0": convert_frames, "movinet_a0_head": convert_head}.items():
        assert convert(source) == onnx.load(folder / f"{name}.onnx")
