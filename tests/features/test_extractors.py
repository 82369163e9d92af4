"""Each extractor's features against an independent source, with random weights."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.features import networks
from tests.features.conftest import RandomClips
from vidsum.checkpoints.registry import HubSource, builtin_entries
from vidsum.errors import UsageError
from vidsum.features import EXTRACTORS, describe
from vidsum.features.clip_family import CLIP_MODELS
from vidsum.features.extractor import imagenet_classes, kinetics_classes
from vidsum.features.torch_backend import build_torch_extractor
from vidsum.types import Picture
from vidsum.video.frames import Exact, ShortSide

RandomWeights = Callable[[str], networks.Weights]

IMAGENET_MEAN = torch.tensor([0.485, 0.456, 0.406]).view(3, 1, 1)
IMAGENET_STD = torch.tensor([0.229, 0.224, 0.225]).view(3, 1, 1)


@pytest.fixture(autouse=True)
def _shallow_clip(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("open_clip.get_model_config", networks.shallow_clip_config)


def as_images(clips: Picture) -> Tensor:
    """[N, 1, H, W, 3] pixels to [N, 3, H, W] in [0, 1]."""
    return torch.from_numpy(clips[:, 0]).permute(0, 3, 1, 2) / 255


@pytest.mark.parametrize("name", ["googlenet", "mobilenet_v2"])
def test_extractor_agrees_with_torchvision(random_clips: RandomClips, name: str) -> None:
    model, spec = getattr(networks, name)(), describe(name)
    extractor = build_torch_extractor(spec, spec.build(model.state_dict()), device="cpu")
    clips = random_clips(spec)
    inputs: list[Tensor] = []
    head = model.fc if name == "googlenet" else model.classifier
    head.register_forward_hook(lambda _module, arguments, _output: inputs.append(arguments[0]))
    with torch.inference_mode():
        logits = model((as_images(clips) - IMAGENET_MEAN) / IMAGENET_STD)
    features = extractor.encode(clips)
    np.testing.assert_allclose(features, inputs[0], rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(extractor.logits(features), logits, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(
    "name", ["clip", "mobileclip2-s0", pytest.param("siglip2-b16-256", marks=pytest.mark.deep)]
)
def test_clip_family_agrees_with_open_clip(random_clips: RandomClips, name: str) -> None:
    from open_clip.pretrained import get_pretrained_cfg

    model, spec = networks.clip(name), describe(name)
    weights = dict(model.state_dict())
    if name == "clip":  # OpenAI's archive also holds three numbers about the model
        weights |= {"input_resolution": torch.tensor(224), "context_length": torch.tensor(77)}
        weights["vocab_size"] = torch.tensor(49408)
    extractor = build_torch_extractor(spec, spec.build(weights), device="cpu")
    clips, facts = random_clips(spec), get_pretrained_cfg(*OPEN_CLIP[name])
    mean, std = (torch.tensor(facts[key]).view(3, 1, 1) for key in ("mean", "std"))
    with torch.inference_mode():
        images = model.encode_image((as_images(clips) - mean) / std, normalize=True)
    np.testing.assert_allclose(extractor.encode(clips), images, atol=1e-4)


def test_clip_family_follows_open_clip() -> None:
    import open_clip
    from open_clip.pretrained import get_pretrained_cfg

    for name, model in CLIP_MODELS.items():
        assert model.architecture == OPEN_CLIP[name][0]
        config = open_clip.factory.get_model_config(model.architecture)
        facts = get_pretrained_cfg(*OPEN_CLIP[name])
        size, text = config["vision_cfg"]["image_size"], config["text_cfg"]
        assert (model.dim, model.preprocessing.crop) == (config["embed_dim"], size)
        assert model.max_tokens == text["context_length"]
        assert model.has_own_tokenizer == ("hf_tokenizer_name" in text)
        squash = facts["resize_mode"] == "squash"
        assert model.preprocessing.size == (Exact(size, size) if squash else ShortSide(size))
        if name != "clip":
            source = builtin_entries()[name].files[0].sources[0]
            assert isinstance(source, HubSource)
            assert source.hub == facts["hf_hub"].strip("/")
    from torchvision.models import MobileNet_V2_Weights
    from torchvision.models.video import R3D_18_Weights

    imagenet = MobileNet_V2_Weights.IMAGENET1K_V1.meta["categories"]
    assert list(imagenet_classes()) == imagenet
    assert list(kinetics_classes()) == R3D_18_Weights.KINETICS400_V1.meta["categories"]


OPEN_CLIP = {
    "clip": ("ViT-B-32-quickgelu", "openai"),
    "mobileclip2-s0": ("MobileCLIP2-S0", "dfndr2b"),
    "mobileclip2-s2": ("MobileCLIP2-S2", "dfndr2b"),
    "siglip2-b16-256": ("ViT-B-16-SigLIP2-256", "webli"),
}
SLOW = ("c3d", "c3d_fc7", "i3d", "mobileclip2-s0", "mobileclip2-s2", "siglip2-b16-256")
CLASSES = {"mobilenet_v2": 1000, "efficientnet_lite0": 1000, "googlenet": 1000, "i3d": 400, "i3d_128": 400}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.deep] * (name in SLOW)) for name in EXTRACTORS]
)
def test_extractor_follows_its_spec(
    random_weights: RandomWeights, random_clips: RandomClips, name: str
) -> None:
    """Its size, in any batch; a name for each logit."""
    spec = describe(name, clip_frames=9 if "i3d" in name else None)
    if spec.custom:  # it has no weights
        extractor = spec.custom.extractor(spec)
    else:
        extractor = build_torch_extractor(spec, spec.build(random_weights(name)), device="cpu")
    clips = random_clips(spec)
    together = extractor.encode(clips)
    assert together.shape == (2, spec.dim + spec.inner)
    alone = extractor.encode(clips[1:])
    np.testing.assert_allclose(alone, together[1:], rtol=1e-3, atol=1e-4 * np.abs(together).max())
    assert np.abs(together[0] - together[1]).max() > 1e-3 * np.abs(together).max()
    assert len(spec.class_names() if spec.class_names else ()) == CLASSES.get(name, 0)
    if name in CLASSES:
        assert extractor.logits(together).shape == (2, CLASSES[name])
    else:
        with pytest.raises(UsageError, match=f"{name} has no class scores") as refused:
            extractor.logits(together)
        assert set(CLASSES) == set(str(refused.value.hint).removeprefix("choose from ").split(", "))


def test_i3d_128_is_i3d_on_smaller_pictures(random_weights: RandomWeights, random_clips: RandomClips) -> None:
    large, small = (describe(name, clip_frames=9) for name in ("i3d", "i3d_128"))
    views = [spec.preprocessing.crop / vars(spec.preprocessing.size)["pixels"] for spec in (large, small)]
    assert views[0] == pytest.approx(views[1], abs=0.002)
    clips = random_clips(small)
    found = build_torch_extractor(small, small.build(random_weights("i3d")), device="cpu").encode(clips)
    images = torch.from_numpy(clips).permute(0, 4, 1, 2, 3) / 127.5 - 1
    with torch.inference_mode():
        expected = large.build(random_weights("i3d")).backbone.eval()(images)
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4 * float(expected.abs().max()))


@pytest.mark.deep
@pytest.mark.parametrize("name", ["mobilenet_v2", "i3d", "clip"])
def test_extractor_in_bf16(random_weights: RandomWeights, random_clips: RandomClips, name: str) -> None:
    spec = describe(name, clip_frames=9 if name == "i3d" else None)
    network = spec.build(random_weights(name))
    clips = random_clips(spec, 1)
    exact, rounded = (
        build_torch_extractor(spec, network, device="cpu", precision=precision).encode(clips)[0]
        for precision in ("fp32", "bf16")
    )
    assert exact.dtype == rounded.dtype == np.float32
    assert not np.array_equal(rounded, exact)
    assert exact @ rounded / np.linalg.norm(exact) / np.linalg.norm(rounded) > 0.995
