"""Each extractor's features against an independent source, with random weights."""

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.conftest import deep_but
from tests.features import networks
from tests.features.conftest import RandomClips, make_clips
from vidsum.checkpoints.registry import HubSource, builtin_entries
from vidsum.errors import UsageError
from vidsum.features import EXTRACTORS, describe
from vidsum.features.clip_family import CLIP_MODELS
from vidsum.features.extractor import Extractor, imagenet_classes, kinetics_classes
from vidsum.features.extractors import efficientnet_lite0
from vidsum.features.torch_backend import build_torch_extractor
from vidsum.models.efficientnet_lite import from_published
from vidsum.types import FloatArray, Picture
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


def build(name: str, weights: networks.Weights, **options: object) -> Extractor:
    spec = describe(name, **options)  # type: ignore[arg-type]
    return build_torch_extractor(spec, spec.build(weights), device="cpu")


@pytest.mark.parametrize("name", ["googlenet", "mobilenet_v2"])
def test_features_and_class_scores_agree_with_torchvision(random_clips: RandomClips, name: str) -> None:
    model = getattr(networks, name)()
    extractor = build(name, model.state_dict())
    clips = random_clips(extractor.spec)
    inputs: list[Tensor] = []
    head = model.fc if name == "googlenet" else model.classifier
    head.register_forward_hook(lambda _module, arguments, _output: inputs.append(arguments[0]))
    with torch.inference_mode():
        logits = model((as_images(clips) - IMAGENET_MEAN) / IMAGENET_STD)
    features = extractor.encode(clips)
    np.testing.assert_allclose(features, inputs[0], rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(extractor.logits(features), logits, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("name", deep_but({"clip"}, ["clip", "mobileclip2-s0", "siglip2-b16-256"]))
def test_clip_family_agrees_with_open_clip(random_clips: RandomClips, name: str) -> None:
    from open_clip.pretrained import get_pretrained_cfg

    model = networks.clip(name)
    extractor = build(name, dict(model.state_dict()))
    clips, facts = random_clips(extractor.spec), get_pretrained_cfg(*OPEN_CLIP[name])
    mean, std = (torch.tensor(facts[key]).view(3, 1, 1) for key in ("mean", "std"))
    with torch.inference_mode():
        images = model.encode_image((as_images(clips) - mean) / std, normalize=True)
    np.testing.assert_allclose(extractor.encode(clips), images, atol=1e-4)


@pytest.mark.deep
def test_numbers_about_the_model_in_openais_archive_are_left_out(random_clips: RandomClips) -> None:
    weights = dict(networks.clip().state_dict())
    numbers = {"input_resolution": 224, "context_length": 77, "vocab_size": 49408}
    archive = weights | {name: torch.tensor(number) for name, number in numbers.items()}
    clips = random_clips(describe("clip"), 1)
    np.testing.assert_array_equal(build("clip", archive).encode(clips), build("clip", weights).encode(clips))


@pytest.mark.parametrize("name", CLIP_MODELS)
def test_sizes_of_the_clip_family_are_those_of_open_clip(name: str) -> None:
    import open_clip

    model = CLIP_MODELS[name]
    assert model.architecture == OPEN_CLIP[name][0]
    config = open_clip.factory.get_model_config(model.architecture)
    size, text = config["vision_cfg"]["image_size"], config["text_cfg"]
    assert (model.dim, model.preprocessing.crop) == (config["embed_dim"], size)
    assert model.max_tokens == text["context_length"]
    assert model.has_own_tokenizer == ("hf_tokenizer_name" in text)


@pytest.mark.parametrize("name", CLIP_MODELS)
def test_pictures_of_the_clip_family_are_resized_as_by_open_clip(name: str) -> None:
    from open_clip.pretrained import get_pretrained_cfg

    preprocessing = CLIP_MODELS[name].preprocessing
    size, is_squashed = preprocessing.crop, get_pretrained_cfg(*OPEN_CLIP[name])["resize_mode"] == "squash"
    assert preprocessing.size == (Exact(size, size) if is_squashed else ShortSide(size))


@pytest.mark.parametrize("name", [name for name in CLIP_MODELS if name != "clip"])
def test_weights_of_the_clip_family_are_those_of_open_clip(name: str) -> None:
    from open_clip.pretrained import get_pretrained_cfg

    source = builtin_entries()[name].files[0].sources[0]
    assert isinstance(source, HubSource)
    assert source.hub == get_pretrained_cfg(*OPEN_CLIP[name])["hf_hub"].strip("/")


def test_names_of_imagenets_classes_are_torchvisions() -> None:
    from torchvision.models import MobileNet_V2_Weights

    assert list(imagenet_classes()) == MobileNet_V2_Weights.IMAGENET1K_V1.meta["categories"]


def test_names_of_the_classes_of_kinetics_are_torchvisions() -> None:
    from torchvision.models.video import R3D_18_Weights

    assert list(kinetics_classes()) == R3D_18_Weights.KINETICS400_V1.meta["categories"]


OPEN_CLIP = {
    "clip": ("ViT-B-32-quickgelu", "openai"),
    "clip-b32-256": ("ViT-B-32-256", "datacomp_s34b_b86k"),
    "mobileclip2-s0": ("MobileCLIP2-S0", "dfndr2b"),
    "mobileclip2-s2": ("MobileCLIP2-S2", "dfndr2b"),
    "pe-core-s16-384": ("PE-Core-S-16-384", "meta"),
    "siglip2-b16-256": ("ViT-B-16-SigLIP2-256", "webli"),
}
SLOW = (
    "c3d", "c3d_fc7", "clip-b32-256", "i3d", "i3d_128", "mobileclip2-s0", "mobileclip2-s2", "pe-core-s16-384",
    "siglip2-b16-256",
)  # fmt: skip
CLASSES = {"mobilenet_v2": 1000, "efficientnet_lite0": 1000, "googlenet": 1000, "i3d": 400, "i3d_128": 400}


each_extractor = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.deep] * (name in SLOW)) for name in EXTRACTORS]
)


Encoded = Callable[[str], tuple[Extractor, Picture, FloatArray]]


@pytest.fixture(scope="module")
def encoded(random_weights: RandomWeights) -> Encoded:
    """An extractor by its name, two random clips, and their features; each made once."""

    def encode(name: str) -> tuple[Extractor, Picture, FloatArray]:
        spec = describe(name, clip_frames=9 if "i3d" in name else None)
        if spec.custom:  # it has no weights
            extractor = spec.custom.extractor(spec)
        else:
            extractor = build_torch_extractor(spec, spec.build(random_weights(name)), device="cpu")
        clips = make_clips(spec)
        return extractor, clips, extractor.encode(clips)

    return cache(encode)


@each_extractor
def test_features_have_the_size_of_the_spec(encoded: Encoded, name: str) -> None:
    extractor, _, features = encoded(name)
    assert features.shape == (2, extractor.spec.dim + extractor.spec.inner)


@each_extractor
def test_features_of_a_clip_do_not_depend_on_its_batch(encoded: Encoded, name: str) -> None:
    extractor, clips, together = encoded(name)
    alone = extractor.encode(clips[1:])
    np.testing.assert_allclose(alone, together[1:], rtol=1e-3, atol=1e-4 * np.abs(together).max())


@each_extractor
def test_features_of_different_clips_differ(encoded: Encoded, name: str) -> None:
    _, _, features = encoded(name)
    assert np.abs(features[0] - features[1]).max() > 1e-3 * np.abs(features).max()


@pytest.mark.parametrize("name", EXTRACTORS)
def test_extractor_names_its_classes(name: str) -> None:
    spec = describe(name)
    assert len(spec.class_names() if spec.class_names else ()) == CLASSES.get(name, 0)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.deep] * (name in SLOW)) for name in CLASSES]
)
def test_extractor_scores_each_class(encoded: Encoded, name: str) -> None:
    extractor, _, features = encoded(name)
    assert extractor.logits(features).shape == (2, CLASSES[name])


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.deep] * (name in SLOW))
        for name in EXTRACTORS
        if name not in CLASSES
    ],
)
def test_extractor_without_classes_names_those_with_some(encoded: Encoded, name: str) -> None:
    extractor, _, features = encoded(name)
    with pytest.raises(UsageError, match=f"{name} has no class scores") as refused:
        extractor.logits(features)
    assert set(CLASSES) == set(str(refused.value.hint).removeprefix("choose from ").split(", "))


def test_i3d_128_sees_as_much_of_a_picture_as_i3d() -> None:
    views = [
        spec.preprocessing.crop / vars(spec.preprocessing.size)["pixels"]
        for spec in (describe("i3d"), describe("i3d_128"))
    ]
    assert views[0] == pytest.approx(views[1], abs=0.002)


@pytest.mark.deep
def test_i3d_128_is_the_network_of_i3d(encoded: Encoded, random_weights: RandomWeights) -> None:
    _, clips, features = encoded("i3d_128")
    images = torch.from_numpy(clips).permute(0, 4, 1, 2, 3) / 127.5 - 1
    with torch.inference_mode():
        expected = describe("i3d", clip_frames=9).build(random_weights("i3d")).backbone.eval()(images)
    np.testing.assert_allclose(features, expected, rtol=1e-3, atol=1e-4 * float(expected.abs().max()))


@pytest.mark.deep
@pytest.mark.parametrize("name", ["mobilenet_v2", "i3d", "clip"])
def test_features_in_bf16_are_near_those_in_fp32(
    random_weights: RandomWeights, random_clips: RandomClips, name: str
) -> None:
    if name == "i3d":  # whose layers take half a minute in whole
        spec, network = networks.small_i3d()
    else:
        spec = describe(name)
        network = spec.build(random_weights(name))
    clips = random_clips(spec, 1)
    exact, rounded = (
        build_torch_extractor(spec, network, device="cpu", precision=precision).encode(clips)[0]
        for precision in ("fp32", "bf16")
    )
    assert exact.dtype == rounded.dtype == np.float32
    assert not np.array_equal(rounded, exact)
    assert exact @ rounded / np.linalg.norm(exact) / np.linalg.norm(rounded) > 0.995


def test_efficientnet_lite0_has_the_weights_of_its_checkpoint() -> None:
    weights = networks.efficientnet_lite0_weights()
    expected, head = from_published(weights)
    network = efficientnet_lite0.build(weights)
    for name, tensor in network.backbone.state_dict().items():
        assert torch.equal(tensor, expected[name]), name
    assert (network.head is None) == (head is None)
