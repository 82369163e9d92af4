"""Training mrnet-live: toy data is learned, and clips cannot see later ones."""

from pathlib import Path

import numpy as np
import pytest
import torch

from vidsum.checkpoints.trained import read_trained
from vidsum.errors import UsageError
from vidsum.lab.datasets.examples import Toy, draw_moments
from vidsum.lab.training.annotated import MomentData
from vidsum.lab.training.mrnet import covered_share, train_mrnet
from vidsum.lab.training.settings import MRNetSettings
from vidsum.models.configs import HEADS
from vidsum.models.mrnet_live import NAME
from vidsum.options import build

SIZES = {**HEADS["live"], "d": 16, "d_ff": 32, "dim_joint": 16, "heads": 2}


def _settings(**choices: object) -> MRNetSettings:
    how = {"dropout": 0.0, "dropout_in": 0.0, "device": "cpu", "batch_size": 4, "decay_at": (), "lr": 4e-3}
    return build(MRNetSettings, {**SIZES, **how, "epochs": 40, **choices})


def _toy() -> MomentData:
    examples = draw_moments(Toy(n_videos=6, clips=8, segments=3, queries=2, noise=0.5), 1)
    return MomentData(lambda epoch: examples, examples, {"space": "toy"}, {})


def test_a_handful_of_videos_is_learned_by_heart(tmp_path: Path) -> None:
    fitted = train_mrnet(_toy(), _settings(), tmp_path, live=True)
    losses = [-epoch.validation for epoch in fitted.history if epoch.validation is not None]
    assert losses[0] > 0.4
    assert min(losses) < 0.1
    trained = read_trained(fitted.checkpoint)
    assert (trained.model, trained.training["validated_by"]) == (NAME, "minus the loss")


def test_clips_that_would_depend_on_later_ones_are_refused(tmp_path: Path) -> None:
    for wrong in ({"decay": "bidirectional"}, {"nonlinearity": "softmax"}, {"sparse": True}):
        with pytest.raises(UsageError, match="--" + next(iter(wrong))):
            train_mrnet(_toy(), _settings(**wrong), tmp_path, live=True)
    with pytest.raises(UsageError, match="--region"):
        train_mrnet(_toy(), _settings(regions=("vv", "qv")), tmp_path, live=True)


def test_the_fraction_of_each_clip_in_windows() -> None:
    windows = torch.tensor([[[[0.0, 0.25], [0.5, 0.6]], [[0.9, 1.0], [0.0, 0.0]]]])
    expected = np.array([[1, 0, 0.4, 0], [0, 0, 0, 0.4]])
    assert np.allclose(covered_share(windows, 4)[0], expected, atol=1e-6)
