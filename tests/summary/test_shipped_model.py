"""The model that ships: when `auto` takes it, and what is done to its curve. Needs no weights but its own."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from vidsum import checkpoints
from vidsum.checkpoints.named import checkpoint_digest, checkpoint_file
from vidsum.checkpoints.trained import read_trained, save_trained
from vidsum.errors import InputError, UsageError
from vidsum.features.settings import DEFAULT_EXTRACTOR, Extraction
from vidsum.grounding.settings import HighlightSettings
from vidsum.grounding.vse_map import load_map
from vidsum.models.configs import FullTransNetConfig
from vidsum.models.fulltransnet import FullTransNet, PointerHead
from vidsum.models.ridge import RidgeScorer
from vidsum.pipelines.highlights import find_highlights, plan_highlights
from vidsum.pipelines.summarize import summarize
from vidsum.results.features import Features
from vidsum.results.shots import Shots
from vidsum.summary.importance import SCORERS, contrastive
from vidsum.summary.importance_model import FeatureTransform, importance, load_importance_model
from vidsum.summary.liveness import liveness
from vidsum.summary.score import best_score, candidate_models, is_flat, score
from vidsum.summary.settings import SHIPPED_MODELS, Selection

CLIPS = 12


@pytest.fixture(autouse=True)
def offline(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty cache and no network."""
    monkeypatch.setenv("VIDSUM_OFFLINE", "1")


def features(extractor: str = DEFAULT_EXTRACTOR, fps: float = 2.0) -> Features:
    """Scenes of two seconds, live but for the second half, in which pictures stand still."""
    rng = np.random.default_rng(0)
    scenes = np.repeat(rng.gamma(0.5, 1, (CLIPS, 1280)), 4, axis=0)
    live = np.maximum(scenes * rng.normal(1, 0.3, scenes.shape), 0)
    live[len(live) // 2 :] = live[len(live) // 2]
    inside = np.tile(live, 3)[:, : len(load_map().tensors["mean"])]  # inner layers like them
    return replace(Features.from_array(live, fps, extractor=extractor), embeddings=load_map()(inside))


@pytest.mark.parametrize(("extractor", "rate", "first"), [
    ("efficientnet_lite0", 2.0, "ridge"), ("efficientnet_lite0", 2.59, "ridge"),
    ("efficientnet_lite0", 1.41, "ridge"), ("efficientnet_lite0", 2.7, "highlights"),
    ("efficientnet_lite0", 1.0, "highlights"), ("mobilenet_v2", 2.0, "highlights"),
    ("custom", 2.0, "highlights"),
])  # fmt: skip
def test_auto_takes_it_for_features_that_it_reads(extractor: str, rate: float, first: str) -> None:
    models = candidate_models("auto", extractor, rate, True)
    assert models == ("ridge", "highlights", "contrastive")[first != "ridge" :]
    made = features(extractor, rate)
    scored = best_score(models, made, None, Selection(), 0.15, "cpu")
    assert (scored.model, scored.warnings) == (first, ())
    assert scored.reason.startswith("auto: ")
    assert not is_flat(scored.importance)


@pytest.mark.parametrize(("name", "kind"), [("ridge", RidgeScorer), ("fulltransnet", FullTransNet)])
def test_they_are_what_auto_says_that_it_reads(name: str, kind: type) -> None:
    shipped = load_importance_model(name, "cpu")
    assert isinstance(shipped.model, kind)
    assert (shipped.extractor, shipped.fps, shipped.dim) == (DEFAULT_EXTRACTOR, 2.0, 384)
    assert shipped.inputs == FeatureTransform("vse", ends=True)
    trained = read_trained(checkpoint_file(name))
    # the map that ships, not an older one
    assert trained.training["weights"]["vse"] == checkpoints.sha256_of("vse")
    assert checkpoint_digest(name) == checkpoint_digest(str(checkpoint_file(name)))


def test_its_scores_are_those_of_its_weights_and_of_novelty() -> None:
    """The checkpoint's numbers, in NumPy, by the equations of the class."""
    shipped, made = load_importance_model(device="cpu"), features()
    assert isinstance(shipped.model, RidgeScorer)
    tensors, config = shipped.model.arrays, shipped.model.config
    times = np.arange(len(made)) / 2 + 0.25
    ends = np.minimum(np.stack([times, times[::-1]], axis=1), 60) / 60
    mapped = made.embeddings
    assert mapped is not None
    x = np.concatenate([mapped - mapped.mean(axis=0), ends], axis=1)
    half = config.window // 2

    def smooth(rows: np.ndarray) -> np.ndarray:
        padded = np.concatenate([rows[:1]] * half + [rows] + [rows[-1:]] * half)
        return np.stack([padded[t : t + config.window].mean(axis=0) for t in range(len(rows))])

    scores = smooth(smooth(x) @ tensors["weights"])
    scores = (scores - scores.mean()) / tensors["spread"]
    if config.novelty:
        novelty = contrastive(made)
        novelty = (novelty - novelty.mean()) / novelty.std()
        scores = (scores + config.novelty * novelty) / np.sqrt(1 + config.novelty**2)
    found = importance(shipped, made, None)
    np.testing.assert_allclose(found, 1 / (1 + np.exp(-scores)), atol=1e-4)


def test_fulltransnet_is_the_published_form_and_its_decoder_decides() -> None:
    """The published sizes, and a head for any length; where the decoder turns round, the curve does."""
    summarizer, made = load_importance_model("fulltransnet", "cpu"), features()
    model, shots = summarizer.model, Shots(np.array([0, 3, 8, 14, 20, 24.0]), "made up")
    assert isinstance(model, FullTransNet)
    assert model.config == FullTransNetConfig(dim_in=386, head="pointer")
    assert isinstance(model.head, PointerHead)
    curve = importance(summarizer, made, shots)
    assert not is_flat(curve)
    with torch.no_grad():
        model.head.q.weight.neg_()  # the decoder's steps now point to what they avoided
    assert np.corrcoef(curve, importance(summarizer, made, shots))[0, 1] < 0


@pytest.mark.parametrize("name", SHIPPED_MODELS)
def test_another_map_than_that_of_the_training_is_refused(name: str, tmp_path: Path) -> None:
    trained = read_trained(checkpoint_file(name))
    other = {**trained.training, "weights": {**trained.training["weights"], "vse": "0" * 64}}
    copy = tmp_path / "other.safetensors"
    save_trained(copy, replace(trained, training=other))
    with pytest.raises(InputError, match=r"other\.safetensors: was trained for another map"):
        load_importance_model(str(copy), "cpu")


def test_its_curve_alone_is_multiplied_by_liveness(tmp_path: Path) -> None:
    made = features()
    own = importance(load_importance_model(device="cpu"), made, None)
    live = liveness(made)
    assert live[26:].max() < 0.01 < 0.9 < live[:23].max()
    named = score(made, None, Selection(model="ridge"), 0.15, "cpu")
    np.testing.assert_allclose(named, own * live, atol=1e-6)
    copy = tmp_path / "own.safetensors"
    shutil.copy(checkpoint_file("ridge"), copy)
    by_path = score(made, None, Selection(model=str(copy)), 0.15, "cpu")
    np.testing.assert_allclose(by_path, own, atol=1e-6)
    for model in ("highlights", "contrastive"):
        others = score(made, None, Selection(model=model), 0.15)
        np.testing.assert_array_equal(others, SCORERS[model](made, 0))
    made, shots = features(), Shots(np.array([0, 8, 24.0]), "made up")
    live = liveness(made)
    own = importance(load_importance_model("fulltransnet", "cpu"), made, shots)
    named = score(made, shots, Selection(model="fulltransnet"), 0.15, "cpu")
    np.testing.assert_allclose(named, own * live, atol=1e-6)
    assert not is_flat(named)


def test_features_that_it_does_not_read_are_refused_by_name() -> None:
    with pytest.raises(UsageError, match="reads features of efficientnet_lite0, not of clip"):
        candidate_models("ridge", "clip", 2.0, True, device="cpu")
    with pytest.raises(UsageError, match="reads 2 features a second, not 4"):
        candidate_models("ridge", DEFAULT_EXTRACTOR, 4.0, True, device="cpu")


def test_highlights_are_found_by_the_scores_of_summaries() -> None:
    made = features()
    found = find_highlights(made, 2, device="cpu")
    curve = score(made, None, Selection(model="ridge"), 1.0, "cpu")
    np.testing.assert_allclose(found.saliency, curve.reshape(CLIPS, 4).mean(axis=1), atol=1e-6)
    summary = summarize(made, device="cpu")
    assert summary.model == "ridge"
    np.testing.assert_allclose(summary.importance, curve, atol=1e-6)
    # nothing of the second half, which stands still, and the most salient clip is in the first segment
    assert all(moment.end_s <= CLIPS + 2 for moment in found.moments)
    best = found.timestamps[found.saliency.argmax()]
    assert any(moment.start_s <= best < moment.end_s for moment in found.moments)
    facts = find_highlights(features(), 2, device="cpu").provenance["highlights"]
    assert facts["candidates"] == ["ridge", "highlights"]
    assert facts["model_sha256"] == checkpoint_digest("ridge")
    assert facts["map_sha256"] == checkpoints.sha256_of("vse")
    settings, extraction = HighlightSettings(top_k=2), Extraction(device="cpu")
    facts = plan_highlights(features("clip"), settings, extraction).provenance["highlights"]
    assert facts["candidates"] == ["highlights"]
    assert "model_sha256" not in facts


def test_auto_goes_on_where_features_have_no_embeddings() -> None:
    """Features that another tool made under the same name."""
    rows = np.random.default_rng(0).random((40, 7))
    summary = summarize(Features.from_array(rows, fps=2, extractor=DEFAULT_EXTRACTOR))
    assert summary.model == "highlights"
    assert summary.model_reason == "auto: the best of the scorers at leaving out dull footage"
    with pytest.raises(UsageError, match="made without the map vse, or with another one"):
        summarize(Features.from_array(rows, fps=2, extractor=DEFAULT_EXTRACTOR), model="ridge")
