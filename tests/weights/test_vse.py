"""The training of the map `vse`, in small."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from vidsum.checkpoints.trained import read_trained
from vidsum.models.scaling import unit_rows
from vidsum.models.vse import CLASSES, UnpackedTensors, VisualSemanticMap
from vidsum.weights.recipes import vse
from vidsum.weights.recipes.vse_data import read_pictures
from vidsum.weights.recipes.vse_views import make_view

COLOURS = {"red": (200, 30, 30), "green": (30, 180, 30), "blue": (30, 30, 200), "yellow": (200, 190, 40)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Photographs of one colour with sentences, COCO's among them, and a video's frames."""
    rng = np.random.default_rng(0)
    rows, annotations, sentences = [], [], []
    names = list(COLOURS)
    for number in range(48):
        colour = names[number % 4]
        pixels = np.clip(COLOURS[colour] + rng.normal(0, 20, (40, 50, 3)), 0, 255).astype(np.uint8)
        keys = {"flickr8k": f"{number:03}", "coco": f"{number}", "msrvtt": f"video{number}-shot0_0.0"}
        for name, key in keys.items():
            path = tmp_path / "pictures" / name / f"{key}.jpg"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(pixels).save(path)
        rows += [(f"{number:03}.jpg", f"a {colour} wall"), (f"{number:03}.jpg", f"everything is {colour}")]
        annotations.append({"image_id": number, "caption": f"a {colour} picture"})
        sentences.append({"video_id": f"video{number}", "caption": f"something {colour}"})
    (tmp_path / "sentences").mkdir()
    with (tmp_path / "sentences/flickr8k.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("image", "caption"), *rows])
    videos = [{"video_id": f"video{n}", "split": "train" if n < 40 else "test"} for n in range(48)]
    for name, document in (
        ("coco", {"annotations": annotations}),
        ("msrvtt", {"videos": videos, "sentences": sentences}),
        ("msvd", []),
    ):
        (tmp_path / f"sentences/{name}.json").write_text(json.dumps(document))
    return tmp_path


def test_parts_of_the_pictures_are_those_of_the_card(folder: Path) -> None:
    flickr8k = read_pictures(folder, ("flickr8k",))
    assert [picture.path.stem for picture in flickr8k if picture.split == "test"][:3] == ["000", "008", "016"]
    assert sum(picture.split == "val" for picture in flickr8k) == 3  # every sixteenth of the other 42
    coco = read_pictures(folder, ("coco",))
    assert [picture.path.stem for picture in coco if picture.split == "test"][:3] == ["0", "4", "8"]
    assert {picture.split for picture in read_pictures(folder, ("msrvtt",))} == {"train"}
    assert len(read_pictures(folder, ("msrvtt",))) == 40


def test_views_depend_on_name_and_number_alone(folder: Path) -> None:
    path = folder / "pictures/flickr8k/000.jpg"
    whole, mirrored, *crops = (make_view(path, number) for number in range(4))
    np.testing.assert_array_equal(whole[:, ::-1], mirrored)
    assert not np.array_equal(*crops)
    np.testing.assert_array_equal(make_view(path, 2), crops[0])


def test_mean_of_maps_is_the_mean_of_their_outputs() -> None:
    rng = np.random.default_rng(0)
    sample = rng.normal(size=(20, 6)).astype(np.float32)
    shapes = {"hidden.weight": (5, 6), "hidden.bias": (5,), "output.weight": (4, 5), "output.bias": (4,)}
    maps = [{k: rng.normal(size=s).astype(np.float32) for k, s in shapes.items()} for _ in range(2)]
    standards = [vse.feature_standard((sample * factor)[None]) for factor in (1.0, 2.0)]
    outputs = []
    for layers, standard in zip(maps, standards, strict=True):
        hidden = np.maximum(
            vse.standardise(sample[None], standard)[0] @ layers["hidden.weight"].T + layers["hidden.bias"], 0
        )
        rows = hidden @ layers["output.weight"].T + layers["output.bias"]
        outputs.append(rows / np.linalg.norm(rows, axis=1).mean())
    mean = VisualSemanticMap(vse.mean_of_maps(maps, standards, sample))
    np.testing.assert_allclose(mean(sample), unit_rows(sum(outputs)), atol=1e-4)


def test_answers_and_noise_are_those_of_simulated_pictures() -> None:
    rng = np.random.default_rng(0)
    sentences = rng.normal(size=(4000, 4)).astype(np.float32)
    pictures = (0.5 * sentences + [1, 0, 0, 0] + 0.1 * rng.normal(size=(4000, 4))).astype(np.float32)
    measured = vse.measure_map(pictures, sentences, np.arange(4000))
    np.testing.assert_allclose(measured["answer.weight"], 0.5 * np.eye(4), atol=0.02)
    np.testing.assert_allclose(measured["answer.bias"], [1, 0, 0, 0], atol=0.02)
    noise = measured["noise.weight"]
    np.testing.assert_allclose(noise @ noise.T, 0.01 * np.eye(4), atol=0.002)


def test_loss_is_least_where_pictures_are_their_sentences() -> None:
    rows = torch.nn.functional.normalize(torch.randn(6, 8, generator=torch.manual_seed(0)), dim=1)
    assert vse.contrastive_loss(rows, rows) < vse.contrastive_loss(rows, rows.roll(1, 0))


@pytest.mark.deep
def test_map_is_trained_resumes_and_finds_colours(
    folder: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vse, "EPOCHS", 6)
    monkeypatch.setattr(vse, "BATCH", 16)
    runs = (vse.Run(("flickr8k",), 2, 0), vse.Run(vse.EVERYTHING, 1, 1))
    vse.make_map(folder, folder / "map.safetensors", runs)
    first = (folder / "map.safetensors").read_bytes()
    vse.make_map(folder, folder / "map.safetensors", runs)
    assert (folder / "map.safetensors").read_bytes() == first
    trained = read_trained(folder / "map.safetensors")
    assert trained.config == {"dim_in": 3584, "hidden": 2048, "dim_out": 384}
    assert trained.tensors[CLASSES].shape == (3, 1000)
    pictures = [picture for picture in read_pictures(folder, ("flickr8k",)) if picture.split == "test"]
    part = vse.load_part(pictures, 1, 0)
    rows = VisualSemanticMap(UnpackedTensors(trained.tensors))(part.features[0])
    assert rows.shape == (len(pictures), 384)
