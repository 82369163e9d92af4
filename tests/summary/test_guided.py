"""Importance guided by text: the equation, what a text changes in a summary, and what is refused."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter1d

import vidsum
from vidsum.errors import UsageError
from vidsum.grounding.spaces import ClassMixture, ClipEmbeddings
from vidsum.models.scaling import logistic
from vidsum.results.features import Features
from vidsum.results.summary import Summary
from vidsum.summary import guided as module
from vidsum.summary.guided import guide_importance, guide_texts
from vidsum.summary.settings import Selection
from vidsum.types import FloatArray

AXES = np.eye(4, dtype=np.float32)
TEXTS = {"a dog": AXES[0], "a boat": AXES[1]}


@pytest.fixture(autouse=True)
def known_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts are axes of a space of four."""
    monkeypatch.setattr(module, "embed_queries", lambda space, texts: np.stack([*map(TEXTS.get, texts)]))


def features_of(rows: FloatArray) -> Features:
    """Captions, two a second."""
    times = np.arange(len(rows)) / 2
    return Features(rows, times, 0.5, 0.5, len(rows) / 2, 30.0, extractor="minilm")


def frames_of(numbers: list[int]) -> Features:
    """Features of these axes, three seconds per axis, with a little of all."""
    return features_of(np.repeat(AXES[numbers] + 0.01, 6, axis=0))


def test_actions_add_to_the_similarity_by_the_weight_of_their_names() -> None:
    features = features_of(np.random.default_rng(1).random((12, 4), np.float32))
    probabilities = np.random.default_rng(2).dirichlet(np.ones(2), 12).astype(np.float32)
    actions = ClassMixture(probabilities, AXES[[0, 3]], (2.0, -0.8))  # the first name is "a dog"
    flat = np.full(12, 0.5, np.float32)
    rows = features.array / np.linalg.norm(features.array, axis=1, keepdims=True)
    likelihood = np.log(probabilities @ np.exp([10.0, 0.0]))
    curve = rows[:, 0] + rows[:, 0].std() * 1.2 * (likelihood - likelihood.mean()) / likelihood.std()
    smoothed = gaussian_filter1d(curve, 2.0)
    expected = logistic(3 * ((smoothed - smoothed.mean()) / smoothed.std() - 1))
    guided = guide_importance(flat, features, ["a dog"], actions=actions)
    assert guided == pytest.approx(expected, abs=1e-4)


def test_actions_change_nothing_for_texts_that_no_name_is_near() -> None:
    features = features_of(np.random.default_rng(1).random((12, 4), np.float32))
    actions = ClassMixture(np.full((12, 1), 1, np.float32), AXES[[3]], (2.0, -0.8))
    flat = np.full(12, 0.5, np.float32)
    guided = guide_importance(flat, features, ["a boat"], actions=actions)
    assert guided == pytest.approx(guide_importance(flat, features, ["a boat"]), abs=1e-6)


def test_guided_importance_is_its_equation() -> None:
    rng = np.random.default_rng(3)
    features = features_of(rng.random((30, 4), np.float32))
    importance = rng.random(30).astype(np.float32) * 0.8 + 0.1

    def standard(curve: FloatArray) -> FloatArray:
        return np.asarray((curve - curve.mean()) / curve.std())

    def similarity(texts: list[str]) -> FloatArray:
        rows = features.array / np.linalg.norm(features.array, axis=1, keepdims=True)
        best = np.max([rows @ TEXTS[text] for text in texts], axis=0)
        return standard(gaussian_filter1d(best, 2.0))

    own = standard(np.log(importance / (1 - importance)))
    curve = 3 * (similarity(["a dog", "a boat"]) + 0.25 * own - 1)
    guided = guide_importance(importance, features, ["a dog", "a boat"])
    assert guided == pytest.approx(logistic(curve), abs=1e-5)


CLIPS = ClipEmbeddings(np.repeat(AXES[[2, 0, 3]] + 0.01, 3, axis=0), np.arange(9.0), 1.0, 9.0)
"""Nine seconds whose middle shows the dog."""


def test_clips_guide_in_place_of_features() -> None:
    importance = np.full(18, 0.5, np.float32)
    curve = guide_importance(importance, frames_of([1, 1, 1]), ["a dog"], "clip", CLIPS)
    expected = guide_importance(importance, frames_of([2, 0, 3]), ["a dog"])
    assert curve == pytest.approx(expected, abs=1e-3)


def test_features_without_a_text_space_are_guided_by_clips() -> None:
    importance, features = np.full(18, 0.5, np.float32), frames_of([1, 1, 1])
    other = replace(features, extractor="i3d")
    curve = guide_importance(importance, features, ["a dog"], "clip", CLIPS)
    assert guide_importance(importance, other, ["a dog"], "clip", CLIPS) == pytest.approx(curve)
    assert guide_texts(Selection(about=("a dog",)), "i3d", "clip") == ("a dog",)


def test_importance_decides_where_a_text_fits_everywhere() -> None:
    importance = np.linspace(0.1, 0.9, 12, dtype=np.float32)
    curve = guide_importance(importance, frames_of([0, 0]), ["a dog"])
    assert (np.diff(curve) > 0).all()


@pytest.mark.parametrize("value", [0.0, 0.5, 1.0])
def test_text_decides_where_importance_is_constant(value: float) -> None:
    curve = guide_importance(np.full(18, value, np.float32), frames_of([2, 0, 3]), ["a dog"])
    assert curve.argmax() in range(6, 12)
    assert np.isfinite(curve).all()
    assert 0 <= curve.min() < curve.max() <= 1


def summarize_animals(**options: Any) -> Summary:
    """A dog is shown from 12 s on, a boat from 36 s on, each for 12 s."""
    features = frames_of([2, 2, 2, 2, 0, 0, 0, 0, 3, 3, 3, 3, 1, 1, 1, 1])
    return vidsum.summarize(features, 3, shots="uniform", model="uniform", **options)


@pytest.mark.parametrize(("text", "start_s"), [("a dog", 12.0), ("a boat", 36.0)])
def test_summary_about_a_text_shows_it(text: str, start_s: float) -> None:
    summary = summarize_animals(about=text)
    assert all(start_s <= start < stop <= start_s + 12 for start, stop in summary.segments)
    assert summary.provenance["summary"]["about"] == [text]


def test_summary_about_nothing_records_no_text() -> None:
    assert "about" not in summarize_animals().provenance["summary"]
    assert Selection().about == ()


def test_features_without_a_text_space_are_refused() -> None:
    with pytest.raises(UsageError, match="features of i3d cannot be compared with text"):
        guide_texts(Selection(about=("a dog",)), "i3d")


@pytest.mark.parametrize(("about", "message"), [(" ", "needs a text"), (3, "about must be")])
def test_text_that_is_none_is_refused(about: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        vidsum.summarize(frames_of([0, 1]), 1, about=about)
