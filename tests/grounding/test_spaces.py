"""Text and video in one space: what it takes of a video, and curves that are known beforehand."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import real_weights
from vidsum import checkpoints, device
from vidsum.errors import UsageError
from vidsum.features import describe
from vidsum.grounding import spaces
from vidsum.grounding.conse import ClassMixture, class_probabilities, conse, log_likelihood
from vidsum.grounding.spaces import (
    ClipEmbeddings,
    embed_queries,
    embed_video,
    extractions_of,
    similarity,
    space_for,
)
from vidsum.scaling import unit_rows
from vidsum.settings import Extraction
from vidsum.types import Features, FloatArray


def random_rows(seed: int, *shape: int) -> FloatArray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def seen(extractor: str, logits: FloatArray | None, step_s: float, covers_s: float | None = None) -> Features:
    """Features over twelve seconds with these class scores."""
    count = round(12 / step_s) if logits is None else len(logits)
    return Features(
        array=random_rows(9, count, 512),
        timestamps=np.arange(count, dtype=np.float64) * step_s,
        step_s=step_s,
        covers_s=covers_s or step_s,
        duration_s=12.0,
        video_fps=25.0,
        extractor=extractor,
        logits=logits,
    )


# names and what they ask for


def test_auto_is_clip_where_its_weights_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "find", lambda _name: None)
    assert space_for("auto") == space_for("conse") == "conse"
    monkeypatch.setattr(checkpoints, "find", lambda name: Path(name) if name == "clip" else None)
    assert space_for("auto") == space_for("clip") == "clip"


def test_a_space_that_does_not_exist_is_refused() -> None:
    with pytest.raises(UsageError, match="unknown space 'siglip'"):
        space_for("siglip")


def test_a_space_asks_for_its_features_and_leaves_the_rest_as_it_was() -> None:
    how = Extraction(fps=5, stride_frames=3, precision="bf16", device="cpu", reader="opencv", cache=False)
    for space, extractors in (("clip", ["clip"]), ("conse", ["i3d", "efficientnet_lite0"])):
        asked = extractions_of(space, how)
        assert [one.extractor for one in asked] == extractors
        for one in asked:
            assert one.logits == (space == "conse")
            assert (one.precision, one.device, one.reader, one.cache) == ("bf16", "cpu", "opencv", False)
            spec = describe(
                one.extractor, fps=one.fps, clip_frames=one.clip_frames, stride_frames=one.stride_frames
            )
            assert spec.step_s <= spec.covers_s  # no part of the video goes unseen


def test_a_quick_look_at_motion_covers_the_video_in_what_the_processor_does_best(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def of(**how: Any) -> list[tuple[str, str]]:
        quick = extractions_of("conse", Extraction(**how), thorough=False)
        spec = describe(quick[0].extractor, stride_frames=quick[0].stride_frames)
        assert spec.step_s == spec.covers_s  # no part of the video goes unseen
        return [(one.extractor, one.precision) for one in quick]

    objects = ("efficientnet_lite0", "auto")
    for preferred, precision in ((True, "bf16"), (False, "fp32")):
        monkeypatch.setattr(device, "prefers_bf16", lambda name, preferred=preferred: preferred)
        assert of() == [("i3d_128", precision), objects]
        assert extractions_of("conse", Extraction())[0].precision == precision
        assert of(precision="int8") == [("i3d_128", precision), ("efficientnet_lite0", "int8")]
        assert of(backend="onnx")[0] == ("i3d_128", "fp32")
        assert {given for _, given in of(precision="fp32")} == {"fp32"}
    assert extractions_of("clip", Extraction(), thorough=False) == extractions_of("clip", Extraction())


# conse


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> dict[str, FloatArray]:
    """Random embeddings of 30 and 40 classes in 16 dimensions."""
    made = {"i3d": unit_rows(random_rows(1, 30, 16)), "efficientnet_lite0": unit_rows(random_rows(2, 40, 16))}
    monkeypatch.setattr(spaces, "name_embeddings", lambda extractor, _device: made[extractor])
    return made


def test_both_parts_lie_on_one_grid(names: dict[str, FloatArray]) -> None:
    motion = seen("i3d", random_rows(3, 9, 30) * 5, 1.28)
    objects = seen("efficientnet_lite0", random_rows(4, 24, 40) * 5, 0.5)
    video = embed_video("conse", [motion, objects], "cpu")
    assert len(video) == 12
    assert video.timestamps.tolist() == list(range(12))
    assert (video.step_s, video.duration_s) == (1.0, 12.0)
    assert [part.shape for part in video.parts] == [(12, 16), (12, 16)]
    # half-second clips: the probabilities of a second are the mean of its two
    assert objects.logits is not None
    probabilities = class_probabilities(objects.logits).reshape(12, 2, 40).mean(axis=1)
    np.testing.assert_allclose(video.mixtures[1].probabilities, probabilities, atol=1e-6)
    np.testing.assert_allclose(
        video.parts[1], conse(ClassMixture(probabilities, names["efficientnet_lite0"])), atol=1e-5
    )


@pytest.mark.usefixtures("names")
def test_features_without_class_scores_are_refused() -> None:
    with pytest.raises(UsageError, match="i3d have no class scores"):
        embed_video("conse", [seen("i3d", None, 1.0), seen("efficientnet_lite0", None, 0.5)], "cpu")


def test_curves_are_the_sum_of_the_standardised_parts(names: dict[str, FloatArray]) -> None:
    mixtures = tuple(
        ClassMixture(class_probabilities(random_rows(seed, 12, len(rows))), rows)
        for seed, rows in ((5, names["i3d"]), (6, names["efficientnet_lite0"]))
    )
    queries = unit_rows(random_rows(7, 3, 16))
    found = similarity(ClipEmbeddings((), np.arange(12.0), 1.0, 12.0, mixtures), queries)
    for row, query in zip(found, queries, strict=True):
        first, second = (log_likelihood(one, query[None])[0] for one in mixtures)
        both = (first - first.mean()) / first.std() + (second - second.mean()) / second.std()
        np.testing.assert_allclose(row, (both - both.mean()) / both.std(), atol=1e-4)


@given(seed=st.integers(0, 100), clips=st.integers(3, 30), parts=st.integers(1, 3))
def test_curves_have_mean_0_and_deviation_1(seed: int, clips: int, parts: int) -> None:
    rows = tuple(unit_rows(random_rows(seed + part, clips, 8)) for part in range(parts))
    queries = unit_rows(random_rows(seed + 50, 4, 8))
    curves = similarity(ClipEmbeddings(rows, np.arange(float(clips)), 1.0, clips), queries)
    assert curves.shape == (4, clips)
    np.testing.assert_allclose(curves.mean(axis=1), 0, atol=1e-4)
    np.testing.assert_allclose(curves.std(axis=1), 1, atol=1e-3)


@pytest.mark.parametrize("clips", [1, 7])
def test_where_all_clips_are_alike_the_curve_is_0(clips: int) -> None:
    mixture = ClassMixture(np.full((clips, 5), 0.2, np.float32), unit_rows(random_rows(0, 5, 8)))
    video = ClipEmbeddings((), np.arange(float(clips)), 1.0, clips, (mixture,))
    assert (similarity(video, unit_rows(random_rows(1, 2, 8))) == 0).all()
    cosines = replace(video, mixtures=(), parts=(np.ones((clips, 8), np.float32),))
    assert (similarity(cosines, unit_rows(random_rows(1, 2, 8))) == 0).all()


@pytest.mark.weights
def test_a_query_is_found_where_its_action_is() -> None:
    real_weights("minilm")
    actions, objects = class_names_of("i3d"), class_names_of("efficientnet_lite0")
    does = ["yoga", "flipping pancake", "playing drums"]
    shows = ["patio", "frying pan", "drum"]
    motion, things = random_rows(0, 12, 400), random_rows(1, 24, 1000)
    for third in range(3):
        motion[4 * third : 4 * third + 4, actions.index(does[third])] += 20
        things[8 * third : 8 * third + 8, objects.index(shows[third])] += 20
    video = embed_video("conse", [seen("i3d", motion, 1.0), seen("efficientnet_lite0", things, 0.5)], "cpu")
    queries = [
        "a woman does yoga on a terrace",
        "someone cooks pancakes",
        "a man hits the cymbals of a drum kit",
    ]
    curves = similarity(video, embed_queries("conse", queries, "cpu"))
    for third, curve in enumerate(curves):
        assert sorted(np.argsort(-curve)[:4]) == list(range(4 * third, 4 * third + 4))


def class_names_of(extractor: str) -> list[str]:
    names = describe(extractor).class_names
    assert names is not None
    return list(names())


# clip


def test_clip_compares_frames_and_text_by_their_cosine() -> None:
    frames = seen("clip", None, 1.0)
    video = embed_video("clip", [frames], "cpu")
    assert video.mixtures == ()
    (rows,) = video.parts
    np.testing.assert_allclose(rows, unit_rows(frames.array), atol=1e-6)
    curves = similarity(video, rows[[3, 8]])
    assert curves.argmax(axis=1).tolist() == [3, 8]


def test_still_clips_are_no_answer_unless_most_of_the_video_is_still() -> None:
    rows = np.array([[1, 0], [0, 1], [0.6, 0.8], [0.8, 0.6], [0, 1], [0.6, 0.8]], np.float32)
    video = ClipEmbeddings((rows,), np.arange(6.0), 1.0, 6.0)
    query = np.array([[1, 0]], np.float32)
    (curve,) = similarity(video, query)
    still = np.array([True, False, False, False, False, False])
    (capped,) = similarity(replace(video, is_still=still), query)
    assert capped[0] == pytest.approx(np.median(curve))
    np.testing.assert_array_equal(capped[1:], curve[1:])
    still[1:4] = True
    np.testing.assert_array_equal(similarity(replace(video, is_still=still), query)[0], curve)
