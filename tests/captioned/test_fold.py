"""A model of evidence as one of features: it gives features the scores that their evidence had."""

from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest
import torch

from tests.captioned.made import classifier
from vidsum.captioned.classes import EVIDENCE, EXTRACTOR
from vidsum.captioned.fold import for_video
from vidsum.checkpoints.trained import Trained
from vidsum.errors import UsageError
from vidsum.models.configs import FullTransNetConfig, MaskConfig, RidgeConfig
from vidsum.models.frame_scorer import model_of
from vidsum.summary.summarizer import importance, summarizer_of
from vidsum.types import Features, Shots

CLASSIFIER = classifier(n_classes=40, dim=64)
SMALL = {"d": 8, "layers": 1, "heads": 2, "d_ff": 8, "window": 3, "t_max": 64}
MODELS: dict[str, dict[str, Any]] = {
    "ridge": {"window": 5},
    "kernel": {"window": 3, "components": 50},
    "frame": {"head": "frame", **SMALL},
    "masked": {"head": "frame", **SMALL, "mask": MaskConfig(depth=1)},
    "pointer": {"head": "pointer", **SMALL},
}


def trained(kind: str, ends: bool, centred: bool = True) -> Trained:
    """A model of evidence with random weights."""
    torch.manual_seed(0)
    dim_in = 384 + 2 * ends
    config: RidgeConfig | FullTransNetConfig
    tensors: dict[str, Any]
    if kind in ("ridge", "kernel"):
        config = RidgeConfig(dim_in=dim_in, **MODELS[kind])
        rng, n = np.random.default_rng(0), config.components
        tensors = {"weights": rng.normal(0, 0.3, n or dim_in).astype(np.float32), "spread": np.float32(1)}
        if n:
            tensors |= {"projection": rng.normal(0, 0.3, (n, dim_in)), "offset": rng.normal(0, 0.3, n)}
    else:
        config = FullTransNetConfig(dim_in=dim_in, **MODELS[kind])
        tensors = model_of(config).state_dict()
    features = {"extractor": EVIDENCE, "dim": 384, "fps": 1.998, "ends": ends, "centred": centred}
    name = "ridge" if isinstance(config, RidgeConfig) else "fulltransnet"
    return Trained(name, asdict(config), features, {"seed": 7}, tensors)


@pytest.mark.parametrize("ends", [False, True])
@pytest.mark.parametrize("kind", MODELS)
def test_features_get_the_scores_of_their_evidence(kind: str, ends: bool) -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(2, 3, (30, 64)).astype(np.float32)
    scores = rows @ CLASSIFIER.weights.T + rng.normal(size=40)  # what the network's last layer gives
    evidence = CLASSIFIER.evidence(scores)
    shots, before = Shots(np.array([0, 5, 9, 15]), "made up"), trained(kind, ends)
    of_evidence, of_video = (summarizer_of(each, kind) for each in (before, for_video(before, CLASSIFIER)))
    wanted = importance(
        of_evidence, Features.from_array(evidence - evidence.mean(axis=0), extractor=EVIDENCE), shots
    )
    found = importance(of_video, Features.from_array(rows, extractor=EXTRACTOR), shots)
    np.testing.assert_allclose(found, wanted, atol=2e-4)
    assert np.ptp(wanted) > 0.01
    # and not those of another classifier
    other = summarizer_of(for_video(before, classifier(40, 64, seed=1)), kind)
    assert (
        np.abs(importance(other, Features.from_array(rows, extractor=EXTRACTOR), shots) - wanted).max() > 0.01
    )


@pytest.mark.parametrize("centred", [False, True])
def test_the_model_says_that_it_reads_features_less_their_mean(centred: bool) -> None:
    """Evidence is less its mean when it is drawn, whether or not the model made it so again."""
    before = trained("ridge", ends=True, centred=centred)
    after = for_video(before, CLASSIFIER)
    assert after.features == {
        "extractor": EXTRACTOR, "dim": 64, "fps": 2.0, "ends": True, "centred": True,
    }  # fmt: skip
    assert (after.model, after.training) == (before.model, before.training)
    assert after.config == {**before.config, "dim_in": 66}
    assert before.tensors["weights"].shape == (386,)


@pytest.mark.parametrize("extractor", [EXTRACTOR, "minilm", "custom", None])
def test_models_that_read_no_evidence_are_refused(extractor: str | None) -> None:
    before = trained("ridge", ends=False)
    features = {**before.features, "extractor": extractor}
    with pytest.raises(UsageError, match=f"reads features of {extractor}, not evidence"):
        for_video(replace(before, features=features), CLASSIFIER)
    with pytest.raises(UsageError, match="not evidence"):
        for_video(replace(before, features={}), CLASSIFIER)


def test_a_model_without_a_linear_first_layer_is_refused() -> None:
    before = replace(trained("ridge", ends=False), model="other", tensors={"x": torch.zeros(3)})
    with pytest.raises(UsageError, match="other"):
        for_video(before, CLASSIFIER)
