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
from vidsum.summary.motion import motion
from vidsum.summary.score import best_score, candidate_models, is_flat, score
from vidsum.summary.settings import SHIPPED_MODELS, Selection
from vidsum.types import FloatArray

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
def test_auto_takes_the_model_for_features_that_it_reads(extractor: str, rate: float, first: str) -> None:
    models = candidate_models("auto", extractor, rate, True)
    assert models == ("ridge", "highlights", "contrastive")[first != "ridge" :]
    made = features(extractor, rate)
    scored = best_score(models, made, None, Selection(), 0.15, "cpu")
    assert (scored.model, scored.warnings) == (first, ())
    assert scored.reason.startswith("auto: ")
    assert not is_flat(scored.importance)


@pytest.mark.parametrize(("name", "kind"), [("ridge", RidgeScorer), ("fulltransnet", FullTransNet)])
def test_shipped_model_reads_default_features(name: str, kind: type) -> None:
    shipped = load_importance_model(name, "cpu")
    assert isinstance(shipped.model, kind)
    assert (shipped.extractor, shipped.fps, shipped.dim) == (DEFAULT_EXTRACTOR, 2.0, 384)
    assert shipped.inputs == FeatureTransform("vse", ends=True)


@pytest.mark.parametrize("name", SHIPPED_MODELS)
def test_shipped_model_was_trained_for_the_shipped_map(name: str) -> None:
    trained = read_trained(checkpoint_file(name))
    assert trained.training["weights"]["vse"] == checkpoints.sha256_of("vse")


@pytest.mark.parametrize("name", SHIPPED_MODELS)
def test_digest_of_a_model_is_of_its_file(name: str) -> None:
    assert checkpoint_digest(name) == checkpoint_digest(str(checkpoint_file(name)))


def test_scores_of_ridge_are_its_equations() -> None:
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


def test_shipped_fulltransnet_has_the_sizes_of_its_card_and_a_head_for_any_length() -> None:
    model = load_importance_model("fulltransnet", "cpu").model
    assert isinstance(model, FullTransNet)
    sizes = {"layers": 2, "heads": 4, "d_ff": 256}
    assert model.config == FullTransNetConfig(dim_in=386, head="pointer", norm="before", **sizes)
    assert isinstance(model.head, PointerHead)


def test_slope_of_fulltransnet_is_in_its_file() -> None:
    assert 0.1 < load_importance_model("fulltransnet", "cpu").slope < 1


def test_decoder_of_fulltransnet_adds_nothing_as_its_card_says() -> None:
    summarizer, made = load_importance_model("fulltransnet", "cpu"), features()
    shots = Shots(np.arange(0.0, 25, 2), "made up")
    curve = importance(summarizer, made, shots)
    assert isinstance(summarizer.model, FullTransNet)
    step = summarizer.model.step
    summarizer.model.step = lambda state, frame: (step(state, None)[0], state)  # type: ignore[method-assign]
    first_step = importance(summarizer, made, shots)
    assert np.corrcoef(curve, first_step)[0, 1] > 0.99


def test_pointer_of_fulltransnet_decides_the_curve() -> None:
    summarizer, made = load_importance_model("fulltransnet", "cpu"), features()
    shots = Shots(np.array([0, 3, 8, 14, 20, 24.0]), "made up")
    curve = importance(summarizer, made, shots)
    assert not is_flat(curve)
    assert isinstance(summarizer.model, FullTransNet)
    assert isinstance(summarizer.model.head, PointerHead)
    with torch.no_grad():
        summarizer.model.head.q.weight.neg_()  # the decoder's steps now point to what they avoided
    assert np.corrcoef(curve, importance(summarizer, made, shots))[0, 1] < 0


@pytest.mark.parametrize("name", SHIPPED_MODELS)
def test_model_that_was_trained_for_another_map_is_refused(name: str, tmp_path: Path) -> None:
    trained = read_trained(checkpoint_file(name))
    other = {**trained.training, "weights": {**trained.training["weights"], "vse": "0" * 64}}
    copy = tmp_path / "other.safetensors"
    save_trained(copy, replace(trained, training=other))
    with pytest.raises(InputError, match=r"other\.safetensors: was trained for another map"):
        load_importance_model(str(copy), "cpu")


SHOTS = Shots(np.array([0, 8, 24.0]), "made up")


@pytest.mark.parametrize("name", SHIPPED_MODELS)
def test_curve_of_a_shipped_model_is_multiplied_by_motion(name: str) -> None:
    made = features()
    own, live = importance(load_importance_model(name, "cpu"), made, SHOTS), motion(made)
    assert live[26:].max() < 0.01 < 0.9 < live[:23].max()
    named = score(made, SHOTS, Selection(model=name), 0.15, "cpu")
    np.testing.assert_allclose(named, own * live, atol=1e-6)
    assert not is_flat(named)


def test_curve_of_a_users_checkpoint_is_left_as_it_is(tmp_path: Path) -> None:
    made, copy = features(), tmp_path / "own.safetensors"
    shutil.copy(checkpoint_file("ridge"), copy)
    by_path = score(made, None, Selection(model=str(copy)), 0.15, "cpu")
    own = importance(load_importance_model(device="cpu"), made, None)
    np.testing.assert_allclose(by_path, own, atol=1e-6)


@pytest.mark.parametrize("model", ["highlights", "contrastive"])
def test_curve_of_a_scorer_is_left_as_it_is(model: str) -> None:
    made = features()
    others = score(made, None, Selection(model=model), 0.15)
    np.testing.assert_array_equal(others, SCORERS[model](made, 0))


@pytest.mark.parametrize(
    ("extractor", "rate", "message"),
    [
        ("clip", 2.0, "reads features of efficientnet_lite0, not of clip"),
        (DEFAULT_EXTRACTOR, 4.0, "reads 2 features a second, not 4"),
    ],
)
def test_features_that_a_named_model_does_not_read_are_refused(
    extractor: str, rate: float, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        candidate_models("ridge", extractor, rate, True, device="cpu")


@pytest.fixture
def ridge_curve() -> FloatArray:
    return score(features(), None, Selection(model="ridge"), 1.0, "cpu")


def test_saliency_of_highlights_is_the_curve_of_summaries(ridge_curve: FloatArray) -> None:
    saliency = find_highlights(features(), 2, device="cpu").saliency
    np.testing.assert_allclose(saliency, ridge_curve.reshape(CLIPS, 4).mean(axis=1), atol=1e-6)


def test_summary_of_default_features_is_by_ridge(ridge_curve: FloatArray) -> None:
    summary = summarize(features(), device="cpu")
    assert summary.model == "ridge"
    np.testing.assert_allclose(summary.importance, ridge_curve, atol=1e-6)


def test_highlights_leave_out_what_stands_still() -> None:
    moments = find_highlights(features(), 2, device="cpu").moments
    assert all(moment.end_s <= CLIPS + 2 for moment in moments)


def test_most_salient_clip_is_in_a_highlight() -> None:
    found = find_highlights(features(), 2, device="cpu")
    best = found.timestamps[found.saliency.argmax()]
    assert any(moment.start_s <= best < moment.end_s for moment in found.moments)


def test_highlights_record_the_model_and_the_map() -> None:
    facts = find_highlights(features(), 2, device="cpu").provenance["highlights"]
    assert facts["candidates"] == ["ridge", "highlights"]
    assert facts["model_sha256"] == checkpoint_digest("ridge")
    assert facts["map_sha256"] == checkpoints.sha256_of("vse")


def test_highlights_of_other_features_record_no_model() -> None:
    settings, extraction = HighlightSettings(top_k=2), Extraction(device="cpu")
    facts = plan_highlights(features("clip"), settings, extraction).provenance["highlights"]
    assert facts["candidates"] == ["highlights"]
    assert "model_sha256" not in facts


FOREIGN = Features.from_array(np.random.default_rng(0).random((40, 7)), fps=2, extractor=DEFAULT_EXTRACTOR)
"""Features that another tool made under the same name, without embeddings."""


def test_auto_goes_on_where_features_have_no_embeddings() -> None:
    summary = summarize(FOREIGN)
    assert summary.model == "highlights"
    assert summary.model_reason == "auto: the best of the scorers at leaving out dull footage"


def test_ridge_refuses_features_without_embeddings() -> None:
    with pytest.raises(UsageError, match="made without the map vse, or with another one"):
        summarize(FOREIGN, model="ridge")
