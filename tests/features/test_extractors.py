"""Each extractor's features against an independent source, with random weights."""

from collections.abc import Callable

import numpy as np
import open_clip
import pytest
import torch
from torch import Tensor

from tests.features import networks
from tests.features.conftest import RandomClips
from vidsum.errors import UsageError
from vidsum.features import EXTRACTORS, describe
from vidsum.features.torch_backend import torch_extractor
from vidsum.types import Picture

RandomWeights = Callable[[str], networks.Weights]

IMAGENET_MEAN = torch.tensor([0.485, 0.456, 0.406]).view(3, 1, 1)
IMAGENET_STD = torch.tensor([0.229, 0.224, 0.225]).view(3, 1, 1)


def as_images(clips: Picture) -> Tensor:
    """[N, 1, H, W, 3] pixels to [N, 3, H, W] in [0, 1]."""
    return torch.from_numpy(clips[:, 0]).permute(0, 3, 1, 2) / 255


def test_googlenet_agrees_with_torchvision(random_clips: RandomClips) -> None:
    model = networks.googlenet()
    spec = describe("googlenet")
    extractor = torch_extractor(spec, spec.build(model.state_dict()), device="cpu")
    clips = random_clips(spec)
    pooled: list[Tensor] = []
    model.avgpool.register_forward_hook(lambda _module, _inputs, output: pooled.append(output.flatten(1)))
    with torch.inference_mode():
        logits = model((as_images(clips) - IMAGENET_MEAN) / IMAGENET_STD)
    features = extractor.encode(clips)
    np.testing.assert_allclose(features, pooled[0], rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(extractor.logits(features), logits, rtol=1e-3, atol=1e-4)


def test_mobilenet_v2_agrees_with_torchvision(random_clips: RandomClips) -> None:
    model = networks.mobilenet_v2()
    spec = describe("mobilenet_v2")
    extractor = torch_extractor(spec, spec.build(model.state_dict()), device="cpu")
    clips = random_clips(spec)
    with torch.inference_mode():
        images = (as_images(clips) - IMAGENET_MEAN) / IMAGENET_STD
        pooled, logits = model.features(images).mean(dim=(2, 3)), model(images)
    features = extractor.encode(clips)
    np.testing.assert_allclose(features, pooled, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(extractor.logits(features), logits, rtol=1e-3, atol=1e-4)


def test_clip_agrees_with_open_clip(random_clips: RandomClips) -> None:
    model = networks.clip()
    spec = describe("clip")
    # OpenAI's archive also holds three numbers about the model, and some weights in half precision
    numbers = {"input_resolution": torch.tensor(224), "context_length": torch.tensor(77)}
    weights = {**model.state_dict(), **numbers, "vocab_size": torch.tensor(49408)}
    extractor = torch_extractor(spec, spec.build(weights), device="cpu")
    clips = random_clips(spec)
    mean = torch.tensor(open_clip.OPENAI_DATASET_MEAN).view(3, 1, 1)
    std = torch.tensor(open_clip.OPENAI_DATASET_STD).view(3, 1, 1)
    texts = ["a person flips a pancake", "two dogs"]
    with torch.inference_mode():
        images = model.encode_image((as_images(clips) - mean) / std, normalize=True)
        queries = model.encode_text(open_clip.tokenize(texts), normalize=True)
    np.testing.assert_allclose(extractor.encode(clips), images, atol=1e-5)
    np.testing.assert_allclose(extractor.encode_text(texts), queries, atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(extractor.encode_text(texts), axis=1), 1, atol=1e-6)


@pytest.mark.parametrize("name", EXTRACTORS)
def test_features_have_the_declared_size_and_do_not_depend_on_the_batch(
    random_weights: RandomWeights, random_clips: RandomClips, name: str
) -> None:
    spec = describe(name, clip_frames=9 if name == "i3d" else None)
    extractor = torch_extractor(spec, spec.build(random_weights(name)), device="cpu")
    clips = random_clips(spec)
    together = extractor.encode(clips)
    assert together.shape == (2, spec.dim)
    assert together.dtype == np.float32
    alone = np.concatenate([extractor.encode(clips[:1]), extractor.encode(clips[1:])])
    np.testing.assert_allclose(alone, together, rtol=1e-3, atol=1e-4 * np.abs(together).max())
    assert np.abs(together[0] - together[1]).max() > 1e-3 * np.abs(together).max()


@pytest.mark.parametrize("name", EXTRACTORS)
def test_bf16_is_close_to_fp32(random_weights: RandomWeights, random_clips: RandomClips, name: str) -> None:
    spec = describe(name, clip_frames=9 if name == "i3d" else None)
    network = spec.build(random_weights(name))
    clips = random_clips(spec)
    exact = torch_extractor(spec, network, device="cpu").encode(clips)
    rounded = torch_extractor(spec, network, device="cpu", precision="bf16").encode(clips)
    assert rounded.dtype == np.float32
    assert not np.array_equal(rounded, exact)
    cosine = (exact * rounded).sum(1) / np.linalg.norm(exact, axis=1) / np.linalg.norm(rounded, axis=1)
    assert cosine.min() > 0.995


@pytest.mark.parametrize(
    ("name", "classes"),
    [("mobilenet_v2", 1000), ("efficientnet_lite0", 1000), ("googlenet", 1000), ("i3d", 400)],
)
def test_logits_have_a_name_each(random_weights: RandomWeights, name: str, classes: int) -> None:
    spec = describe(name)
    extractor = torch_extractor(spec, spec.build(random_weights(name)), device="cpu")
    assert spec.class_names is not None
    assert len(spec.class_names()) == classes
    assert extractor.logits(np.zeros((3, spec.dim), np.float32)).shape == (3, classes)


def test_c3d_has_neither_classes_nor_text(random_weights: RandomWeights) -> None:
    spec = describe("c3d")
    extractor = torch_extractor(spec, spec.build(random_weights("c3d")), device="cpu")
    with pytest.raises(UsageError, match="c3d has no class scores"):
        extractor.logits(np.zeros((1, 4096), np.float32))
    with pytest.raises(UsageError, match="c3d cannot encode text"):
        extractor.encode_text(["a dog"])


@pytest.mark.parametrize(
    "shape", [(2, 224, 224, 3), (2, 1, 200, 224, 3), (2, 2, 224, 224, 3), (0, 1, 224, 224, 3)]
)
def test_clips_of_another_shape_are_refused(random_weights: RandomWeights, shape: tuple[int, ...]) -> None:
    spec = describe("mobilenet_v2")
    extractor = torch_extractor(spec, spec.build(random_weights("mobilenet_v2")), device="cpu")
    with pytest.raises(UsageError, match=r"mobilenet_v2 takes clips of shape \[N, 1, 224, 224, 3\]"):
        extractor.encode(np.zeros(shape, np.uint8))


def test_fp16_on_a_cpu_is_refused(random_weights: RandomWeights) -> None:
    spec = describe("mobilenet_v2")
    with pytest.raises(UsageError, match="fp16 is for GPUs") as caught:
        torch_extractor(spec, spec.build(random_weights("mobilenet_v2")), device="cpu", precision="fp16")
    assert "bf16" in (caught.value.hint or "")
