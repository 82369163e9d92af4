"""The files of EfficientNet-Lite0 that a recipe makes: the numbers of PyTorch, from any weights."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file
from safetensors.torch import save_file

from tests.conftest import real_weights
from tests.features.conftest import RandomClips
from tests.features.networks import Weights
from vidsum.errors import WeightsError
from vidsum.features import describe
from vidsum.features.onnx_backend import build_graph_extractor
from vidsum.features.torch_backend import build_torch_extractor
from vidsum.weights.recipes.efficientnet_lite0 import make_files, mean_of_relu
from vidsum.weights.recipes.sources import fetch_source

SPEC = describe("efficientnet_lite0")


def test_graph_of_random_weights_gives_the_features_of_torch(
    random_clips: RandomClips, random_weights: Callable[[str], Weights], tmp_path: Path
) -> None:
    weights = random_weights("efficientnet_lite0")
    save_file(weights, tmp_path / "published")
    make_files(tmp_path / "published", SPEC.preprocessing, tmp_path)
    arrays = load_file(tmp_path / "efficientnet_lite0.safetensors")
    ours = build_graph_extractor(SPEC, tmp_path, arrays, device="cpu")
    theirs = build_torch_extractor(SPEC, SPEC.build(weights), device="cpu")
    for count in (3, 1):
        clips = random_clips(SPEC, count)
        wanted = theirs.encode(clips)
        np.testing.assert_allclose(ours.encode(clips), wanted, atol=1e-4 * np.abs(wanted).max())
    np.testing.assert_allclose(ours.logits(wanted), theirs.logits(wanted), rtol=1e-4, atol=1e-4)


def test_mean_after_relu6_is_the_mean_of_draws() -> None:
    means, deviations = np.array([-3.0, -0.5, 0.0, 2.0, 6.5, 9.0]), np.array([1.0, 2.0, 0.1, 4.0, 3.0, 1e-9])
    draws = np.random.default_rng(0).normal(size=(400_000, 1)) * deviations + means
    found = mean_of_relu(means, deviations) - mean_of_relu(means - 6, deviations)
    np.testing.assert_allclose(found, np.clip(draws, 0, 6).mean(axis=0), atol=0.01)


@pytest.mark.deep
@pytest.mark.weights
def test_shipped_files_are_made_by_the_recipe(tmp_path: Path) -> None:
    try:
        source = fetch_source("efficientnet_lite0")
    except WeightsError as error:
        pytest.skip(f"no weights of efficientnet_lite0: {error}")
    make_files(source, SPEC.preprocessing, tmp_path)
    for path in tmp_path.iterdir():
        assert path.read_bytes() == (real_weights("efficientnet_lite0") / path.name).read_bytes(), path.name
