"""The space `clip`, from the video to moments: by colours, and with random weights beside open_clip."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import vidsum
from tests import media
from tests.features import networks
from tests.program import check_schema
from tests.untrained import save_untrained
from vidsum import checkpoints, features
from vidsum.errors import UsageError
from vidsum.features.extractor import Extractor
from vidsum.features.settings import Extraction
from vidsum.grounding import text_encoders
from vidsum.grounding.text_encoders import TextEncoder
from vidsum.results.moments import Grounding
from vidsum.types import FloatArray

QUERIES = ["a dog in the snow", "two people dance", "a red wall"]
COLOURS = [(220, 20, 20), (20, 220, 20), (20, 20, 220)]
SHOT_S, FPS = 8, 5
both_networks = pytest.mark.deep  # both become ONNX graphs; tests/features has each of them
MEAN, STD = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache, which keeps the embeddings of the background's phrases."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture
def clip(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[nn.Module]:
    """Random weights of CLIP are here, and none of another network."""
    model = networks.clip()

    def load_state_dict(name: str) -> networks.Weights:
        assert name == "clip"
        return model.state_dict()

    monkeypatch.setenv("VIDSUM_HOME", str(home))
    monkeypatch.setattr("open_clip.get_model_config", networks.shallow_clip_config)
    monkeypatch.setattr(checkpoints, "load_state_dict", load_state_dict)
    monkeypatch.setattr(checkpoints, "find", lambda name: Path(name) if name == "clip" else None)
    for stored in (text_encoders._load, features._load):
        stored.cache_clear()
    yield model
    for stored in (text_encoders._load, features._load):
        stored.cache_clear()


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A shot of each colour, which darkens by a tenth."""

    def paint(number: int, width: int, height: int) -> np.ndarray:
        within = number % (SHOT_S * FPS) / (10 * SHOT_S * FPS)
        return np.asarray(flat(COLOURS[number // (SHOT_S * FPS)], height) * (1 - within), np.uint8)

    path = tmp_path_factory.mktemp("film") / "film.mp4"
    n_frames = len(COLOURS) * SHOT_S * FPS
    return media.make_video(path, n_frames=n_frames, fps=FPS, width=64, height=64, paint=paint).path


def flat(colour: tuple[int, int, int], side: int) -> np.ndarray:
    """A picture of one colour."""
    return np.broadcast_to(np.array(colour, np.uint8), (side, side, 3))


DIM = 512


def encode_pictures(clips: np.ndarray) -> FloatArray:
    """[N, 512] mean colours, less grey."""
    colours = clips.mean(axis=(1, 2, 3)) - 90
    return np.pad(colours, ((0, 0), (0, DIM - 3))).astype(np.float32)


def encode_texts(texts: Sequence[str]) -> FloatArray:
    """[N, 512] the colours that texts name; other texts, as those of the background, are like no picture."""
    names = np.array([[name in text.split() for name in ("red", "green", "blue")] for text in texts], float)
    others = np.random.default_rng(0).normal(size=(len(texts), DIM - 3)) * ~names.any(axis=1, keepdims=True)
    return np.hstack([names, others]).astype(np.float32)


@pytest.fixture
def colours(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The networks of CLIP see and read colours; all else of the space is as it is."""
    encoder = TextEncoder("clip", encode_texts, lambda texts: [encode_texts(texts)], str.split, 77)

    def load_extractor(extraction: Extraction) -> Extractor:
        assert extraction.extractor == "clip"
        return Extractor(features.describe("clip"), encode_pictures, "cpu", "fp32", "torch")

    monkeypatch.setattr("vidsum.pipelines.decoding.load_extractor", load_extractor)
    for module in ("pipelines.ground", "pipelines.queries", "grounding.spaces"):
        monkeypatch.setattr(f"vidsum.{module}.load_text_encoder", lambda name: encoder)
    monkeypatch.setattr(checkpoints, "find", lambda name: Path(name) if name == "clip" else None)


@pytest.mark.usefixtures("colours")
def test_a_colour_is_found_in_its_shot_in_the_space(film: Path) -> None:
    result = vidsum.ground(film, ["a red wall", "a green wall", "a blue wall"], top_k=1, device="cpu")
    assert (result.model, result.space, len(result.timestamps)) == ("similarity", "clip", 3 * SHOT_S)
    for number, answer in enumerate(result.queries):
        assert [moment.interval for moment in answer.moments] == [(number * SHOT_S, (number + 1) * SHOT_S)]
        assert answer.present is not None
    assert result.warnings == ("the space clip was never measured: check its answers",)


def cosines(model: nn.Module) -> FloatArray:
    """[M, 3] of the queries with the colours, by open_clip."""
    import open_clip

    tokens = open_clip.get_tokenizer("ViT-B-32-quickgelu")(QUERIES)
    pixels = (np.stack([flat(colour, 224) for colour in COLOURS]) / 255 - MEAN) / STD
    with torch.inference_mode():
        texts = model.encode_text(tokens, normalize=True)
        images = model.encode_image(torch.from_numpy(pixels).permute(0, 3, 1, 2).float(), normalize=True)
        return np.asarray((texts @ images.T).numpy())


@both_networks
def test_clip_space_moments(clip: nn.Module, film: Path) -> None:
    result = vidsum.ground(film, QUERIES, top_k=1, device="cpu")
    assert (result.model, result.space, len(result.timestamps)) == ("similarity", "clip", 3 * SHOT_S)
    for answer, expected in zip(result.queries, cosines(clip), strict=True):
        shots = answer.saliency.reshape(3, SHOT_S).mean(axis=1)
        assert shots.argsort().tolist() == expected.argsort().tolist()
        (moment,) = answer.moments
        best_s = SHOT_S * int(expected.argmax())
        assert moment.start_s <= best_s < moment.end_s
        assert {moment.start_s % SHOT_S, moment.end_s % SHOT_S} == {0}
    assert result.warnings == ("the space clip was never measured: check its answers",)
    check_schema(result.to_dict(with_saliency=True), "moments")


@both_networks
def test_match_probability(clip: nn.Module, film: Path) -> None:
    """Check match probabilities by cosines alone, in a space without named objects."""
    result = vidsum.ground(film, QUERIES, device="cpu")
    document = result.to_dict(with_saliency=False)
    assert "vse_sha256" not in document["provenance"]["grounding"]
    for query in result.queries:
        assert query.present is not None
        assert all(0 < moment.present <= query.present for moment in query.moments if moment.present)
    least = max(query.present or 0 for query in result.queries)
    filtered = vidsum.ground(film, QUERIES, min_present=least, device="cpu")
    assert sum(bool(query.moments) for query in filtered.queries) == 1


def guided(path: Path, name: str) -> Path:
    """A checkpoint of the space with a guide, untrained."""
    mrnet = {"dim_video": 513, "dim_joint": 8, "hidden": 8, "kernel": 3, "convolutions": 2}
    sizes = mrnet if name == "mrnet" else {"dim_video": 515, "words": 77}
    reads = {"space": "clip", "clip_s": 1.0, "guided": True}
    return save_untrained(path, name, reads, dim_query=512, clips=16, **sizes)


@both_networks
@pytest.mark.parametrize("name", ["mrnet", "qd-detr"])
def test_a_guided_model_reads_clip(name: str, clip: nn.Module, film: Path, tmp_path: Path) -> None:
    path = guided(tmp_path / "best.safetensors", name)

    def ask(*queries: str) -> Grounding:
        return vidsum.ground(film, list(queries), model=path, device="cpu")

    result = ask(*QUERIES)
    assert (result.model, result.space) == (str(path), "clip")
    alone = [ask(query).queries[0] for query in QUERIES]
    for answer, single in zip(result.queries, alone, strict=True):
        assert answer.moments
        assert answer.moments[0].start_s == pytest.approx(single.moments[0].start_s, abs=1e-3)
        np.testing.assert_allclose(answer.saliency, single.saliency, atol=1e-3)
    with pytest.raises(UsageError, match="reads the space clip, not vse"):
        vidsum.ground(film, QUERIES, model=path, space="vse", device="cpu")


@both_networks
def test_summary_about_a_text_in_the_space(
    clip: nn.Module, film: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # pictures of one colour are worth as much as others
    monkeypatch.setattr(
        "vidsum.pipelines.summarize.quality_at", lambda changes, times_s: np.ones(len(times_s), np.float32)
    )
    for query, expected in zip(QUERIES, cosines(clip), strict=True):
        options = {"about": query, "extractor": "clip", "model": "uniform", "shots": "uniform"}
        summary = vidsum.summarize(film, 3, device="cpu", **options)  # type: ignore[arg-type]
        best_s = SHOT_S * int(expected.argmax())
        assert all(best_s <= start < stop <= best_s + SHOT_S for start, stop in summary.segments)
        assert summary.provenance["summary"]["guide"]["space"] == "clip"
        assert "the space clip was never measured: check its answers" in summary.warnings
