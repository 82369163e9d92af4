"""Text and video in one space: what it takes of a video, and curves that are known beforehand."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import get_args

import numpy as np
import pytest
from scipy.special import softmax

from tests.conftest import real_weights
from vidsum import checkpoints
from vidsum.checkpoints.registry import builtin_entries
from vidsum.errors import InputError, UsageError
from vidsum.features import describe
from vidsum.features.settings import CLIP_FAMILY, Extraction
from vidsum.grounding import spaces, vse_map
from vidsum.grounding.settings import EmbeddingSpace
from vidsum.grounding.spaces import (
    MIXTURE_WEIGHT_LINE,
    SPACES,
    ClassMixture,
    ClipEmbeddings,
    ImageTextSpace,
    class_probabilities,
    describe_space,
    embed_queries,
    embed_video,
    extraction_for,
    find_space_of_features,
    log_likelihood,
    mixture_weights,
    name_embeddings,
    resolve_space,
    similarity,
)
from vidsum.grounding.text_encoders import DIMS
from vidsum.grounding.vse_map import EXTRACTOR, NAME, RECORDED, load_map, mapped_rows
from vidsum.models.scaling import unit_rows
from vidsum.results.features import Features
from vidsum.types import FloatArray


def random_rows(seed: int, *shape: int) -> FloatArray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def seen(extractor: str, logits: FloatArray | None, step_s: float) -> Features:
    """Features over twelve seconds with these class scores."""
    count = round(12 / step_s) if logits is None else len(logits)
    return Features(
        array=random_rows(9, count, 512),
        timestamps=np.arange(count, dtype=np.float64) * step_s,
        step_s=step_s,
        covers_s=step_s,
        duration_s=12.0,
        video_fps=25.0,
        extractor=extractor,
        logits=logits,
    )


# names and what they ask for


def test_auto_is_clip_where_its_weights_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "find", lambda _name: None)
    assert resolve_space("auto") == resolve_space("vse") == "vse"
    monkeypatch.setattr(checkpoints, "find", lambda name: Path(name) if name == "clip" else None)
    assert resolve_space("auto") == resolve_space("clip") == "clip"
    assert [name for name in SPACES if describe_space(name).is_installed()] == ["clip"]
    with pytest.raises(UsageError, match="unknown space 'siglip'"):
        resolve_space("siglip")


def test_a_space_asks_for_its_features_and_leaves_the_rest_as_it_was() -> None:
    how = Extraction(fps=5, stride_frames=3, precision="bf16", device="cpu", reader="opencv", cache=False)
    for space, extractor in (("clip", "clip"), ("vse", "efficientnet_lite0")):
        extraction = extraction_for(space, how)
        assert extraction.extractor == extractor
        assert extraction.logits == (space == "vse")
        rest = (extraction.precision, extraction.device, extraction.reader, extraction.cache)
        assert rest == ("bf16", "cpu", "opencv", False)


# vse


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> FloatArray:
    """Random embeddings of 40 classes in 16 dimensions, and a map to those that takes the first 16."""
    made = unit_rows(random_rows(2, 40, 16))
    monkeypatch.setattr(spaces, "name_embeddings", lambda: made)
    monkeypatch.setattr(vse_map, "mapped_rows", lambda features: unit_rows(features.array[:, :16]))
    return made


@pytest.mark.usefixtures("names")
def test_all_parts_lie_on_one_grid() -> None:
    pictures = seen("efficientnet_lite0", random_rows(4, 24, 40) * 5, 0.5)
    video = embed_video("vse", pictures)
    assert len(video) == 12
    assert video.timestamps.tolist() == list(range(12))
    assert (video.step_s, video.duration_s) == (1.0, 12.0)
    # half-second samples: the row of a second is the mean of its two, and so are the probabilities
    mapped = unit_rows(pictures.array[:, :16]).reshape(12, 2, 16).mean(axis=1)
    np.testing.assert_allclose(video.rows, unit_rows(mapped), atol=1e-5)
    assert pictures.logits is not None
    probabilities = class_probabilities(pictures.logits).reshape(12, 2, 40).mean(axis=1)
    assert video.objects is not None
    np.testing.assert_allclose(video.objects.probabilities, probabilities, atol=1e-6)
    with pytest.raises(UsageError, match="efficientnet_lite0 have no class scores"):
        embed_video("vse", seen("efficientnet_lite0", None, 0.5))


def test_curves_are_the_weighted_sum_of_the_standardised_parts(names: FloatArray) -> None:
    objects = ClassMixture(class_probabilities(random_rows(6, 12, len(names))), names)
    rows, queries = unit_rows(random_rows(8, 12, 16)), unit_rows(random_rows(7, 3, 16))
    found = similarity(ClipEmbeddings(rows, np.arange(12.0), 1.0, 12.0, objects), queries)
    slope, offset = MIXTURE_WEIGHT_LINE
    for row, query in zip(found, queries, strict=True):
        weight = max(0.0, slope * max(float(name @ query) for name in names) + offset)
        curve = standard(rows @ query) + weight * standard(log_likelihood(objects, query[None])[0])
        np.testing.assert_allclose(row, standard(curve), atol=1e-4)


def standard(curve: FloatArray) -> FloatArray:
    return (curve - curve.mean()) / curve.std()


def test_probabilities_are_the_softmax_of_the_cooled_logits() -> None:
    logits = random_rows(0, 7, 30) * 20
    np.testing.assert_allclose(class_probabilities(logits), softmax(logits / 2, axis=1), rtol=1e-4, atol=1e-7)
    assert np.isfinite(class_probabilities(logits * 100)).all()


def test_the_likelihood_is_a_sum_over_the_classes() -> None:
    probabilities, names = class_probabilities(random_rows(0, 7, 30) * 5), unit_rows(random_rows(1, 30, 12))
    queries = unit_rows(random_rows(2, 3, 12))
    found = log_likelihood(ClassMixture(probabilities, names), queries)

    def slow(query: FloatArray, row: FloatArray) -> float:
        return math.log(
            sum(p * math.exp(10 * float(query @ name)) for p, name in zip(row, names, strict=True))
        )

    expected = [[slow(query, row) for row in probabilities] for query in queries]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_name_embeddings_are_stored_by_checkpoint(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    batches: list[list[str]] = []

    def encode(texts: Sequence[str]) -> FloatArray:
        batches.append(list(texts))
        return np.array([[len(text), 1.0] for text in texts], np.float32)

    monkeypatch.setattr(spaces, "load_text_encoder", lambda *_: SimpleNamespace(encode=encode))
    first, again = name_embeddings(), name_embeddings()
    assert first.shape == (1000, 2)
    assert first.dtype == again.dtype == np.float32
    assert (first == again).all()
    ((first_name, *others),) = batches
    assert first_name == "there is a tench"
    assert not any("(" in name for name in others)  # no remarks
    monkeypatch.setattr(checkpoints, "sha256_of", lambda _name: "0" * 64)
    name_embeddings()
    files = list((own_home / "class_names").iterdir())
    assert len(batches) == len(files) == 2
    assert {path.suffix for path in files} == {".bin"}


def test_a_class_name_counts_more_the_nearer_a_query_is_to_it(names: FloatArray) -> None:
    mixture = ClassMixture(np.full((2, 40), 1 / 40, np.float32), names)
    far, near = mixture_weights(mixture, np.stack([-names.mean(axis=0), names[3]]))
    assert far == 0
    assert near == pytest.approx(sum(MIXTURE_WEIGHT_LINE))


@pytest.mark.parametrize("clips", [1, 7])
def test_where_all_clips_are_alike_the_curve_is_0(clips: int) -> None:
    mixture = ClassMixture(np.full((clips, 5), 0.2, np.float32), unit_rows(random_rows(0, 5, 8)))
    alike = np.tile(unit_rows(random_rows(2, 1, 8)), (clips, 1))
    video = ClipEmbeddings(alike, np.arange(float(clips)), 1.0, clips, mixture)
    assert (similarity(video, unit_rows(random_rows(1, 2, 8))) == 0).all()
    assert (similarity(replace(video, objects=None), unit_rows(random_rows(1, 2, 8))) == 0).all()


@pytest.mark.deep
@pytest.mark.weights
def test_a_photograph_is_found_by_what_it_shows() -> None:
    """The sample's rows by the shipped map: its queries are answered where its own film shows them."""
    real_weights("minilm")
    rows = load_map().simulate(embed_queries("vse", SENTENCES), np.zeros((3, 384), np.float32))
    curves = similarity(ClipEmbeddings(rows, np.arange(3.0), 1.0, 3.0), embed_queries("vse", QUERIES))
    assert curves.argmax(axis=1).tolist() == [0, 1, 2]


SENTENCES = ["a black dog runs over a meadow", "two men play guitar on a stage", "a child swims in a pool"]
QUERIES = ["a dog", "musicians", "someone in the water"]


def test_a_text_is_the_mean_of_its_prompts(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {"a red {ball}": [3.0, 0, 0], "there is a red {ball}": [0, 3, 0]}
    texts |= {"rain": [0, 0, 1], "there is rain": [0, 0, 2]}

    def encode(texts_read: list[str]) -> FloatArray:
        return np.array([texts[text] for text in texts_read], np.float32)

    monkeypatch.setattr(spaces, "load_text_encoder", lambda *_: SimpleNamespace(encode=encode))
    half, rows = np.sqrt(0.5), embed_queries("vse", ["a red {ball}", "rain"])
    np.testing.assert_allclose(rows, [[half, half, 0], [0, 0, 1]], rtol=1e-6)
    np.testing.assert_allclose(embed_queries("clip", ["a red {ball}"]), [[1, 0, 0]])


# clip


def test_clip_compares_frames_and_text_by_their_cosine() -> None:
    frames = seen("clip", None, 1.0)
    video = embed_video("clip", frames)
    assert video.objects is None
    rows = video.rows
    np.testing.assert_allclose(rows, unit_rows(frames.array), atol=1e-6)
    curves = similarity(video, rows[[3, 8]])
    assert curves.argmax(axis=1).tolist() == [3, 8]


def test_still_clips_are_no_answer_unless_most_of_the_video_is_still() -> None:
    rows = np.array([[1, 0], [0, 1], [0.6, 0.8], [0.8, 0.6], [0, 1], [0.6, 0.8]], np.float32)
    video = ClipEmbeddings(rows, np.arange(6.0), 1.0, 6.0)
    query = np.array([[1, 0]], np.float32)
    (curve,) = similarity(video, query)
    still = np.array([True, False, False, False, False, False])
    (capped,) = similarity(replace(video, is_still=still), query)
    assert capped[0] == pytest.approx(np.median(curve))
    np.testing.assert_array_equal(capped[1:], curve[1:])
    still[1:4] = True
    np.testing.assert_array_equal(similarity(replace(video, is_still=still), query)[0], curve)


def test_embeddings_are_read_if_the_map_that_is_here_made_them() -> None:
    features = Features.from_array(np.ones((3, 4)), extractor=EXTRACTOR)
    made = replace(features, embeddings=np.ones((3, 2), np.float32))  # elsewhere
    by_map, by_other = (
        replace(made, provenance={"parameters": {RECORDED: sha256}})
        for sha256 in (checkpoints.sha256_of(NAME), "0" * 64)
    )
    assert mapped_rows(made) is mapped_rows(by_map) is made.embeddings
    for made in (features, by_other):
        with pytest.raises(UsageError, match="without the map vse, or with another one") as refused:
            mapped_rows(made)
        assert refused.value.hint == f"extract them again, with extractor={EXTRACTOR!r}"


@pytest.mark.parametrize("space", SPACES.values(), ids=str)
def test_a_space_agrees_with_its_encoders(space: ImageTextSpace) -> None:
    spec = describe(space.extractor)
    assert space.dim == DIMS[space.text_encoder]
    assert space.is_mapped or (spec.dim, spec.inner, space.weights) == (space.dim, 0, (spec.checkpoint,))
    assert set(space.weights) <= builtin_entries().keys()
    assert (space.name in CLIP_FAMILY) != space.is_mapped
    assert get_args(EmbeddingSpace) == ("auto", *CLIP_FAMILY, "vse")


def test_pictures_in_a_space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def encode(paths: Sequence[Path], extractor: str, device: str) -> FloatArray:
        assert (extractor, device) == ("clip", "auto")
        return np.array([[3, 4] for _ in paths])

    monkeypatch.setattr("vidsum.features.pictures.encode_pictures", encode)
    paths = [tmp_path / name for name in ("one.jpg", "two.jpg")]
    for path in paths:
        path.touch()
    rows = describe_space("clip").encode_images([*map(str, paths)])
    np.testing.assert_allclose(rows, [[0.6, 0.8]] * 2, rtol=1e-6)
    with pytest.raises(InputError, match=r"none\.jpg: no such file"):
        describe_space("clip").encode_images([tmp_path / "none.jpg"])


def test_folder_is_no_picture(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not a file"):
        describe_space("clip").encode_images([tmp_path])


@pytest.mark.parametrize(("extractor", "space"), [("clip", "clip"), (EXTRACTOR, None), ("i3d", None)])
def test_space_of_features_is_known_where_they_are_its_rows(extractor: str, space: str | None) -> None:
    assert find_space_of_features(extractor) == space
