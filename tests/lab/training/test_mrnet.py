"""Training MRNet and mrnet-live: the loss is Eq. 12, and a handful of videos is learned by heart."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from vidsum.checkpoints.trained import read_trained
from vidsum.errors import UsageError
from vidsum.lab.datasets.examples import MomentExample, Toy, draw_moments
from vidsum.lab.training.annotated import MomentData
from vidsum.lab.training.mrnet import best_ious, collate_groups, covered_share, mrnet_loss, train_mrnet
from vidsum.lab.training.settings import LossSettings, MRNetSettings
from vidsum.models.configs import HEADS, MRNetConfig
from vidsum.models.mrnet import MRNet
from vidsum.models.mrnet_live import NAME
from vidsum.options import build

HOW = Toy(n_videos=6, clips=8, segments=3, queries=2, noise=0.5)
SIZES = {**HEADS["light"], "dim_map": 16, "hidden": 16, "dim_joint": 16, "kernel": 3, "d": 16, "heads": 2}


def _settings(epochs: int, **choices: object) -> MRNetSettings:
    small = {**SIZES, "d_ff": 32, "dropout": 0.1, "dropout_in": 0.0, "device": "cpu", "batch_size": 4}
    return build(MRNetSettings, {**small, "epochs": epochs, "decay_at": (), **choices})


def _fixed(examples: Sequence[MomentExample]) -> MomentData[MomentExample]:
    return MomentData(lambda epoch: examples, examples, {"space": "toy"}, {})


def test_a_handful_of_videos_is_learned_by_heart(tmp_path: Path) -> None:
    examples = draw_moments(HOW, 1)
    fitted = train_mrnet(_fixed(examples), _settings(50, lr=4e-3, dropout=0.0, patience=8), tmp_path)
    assert fitted.best.validation == 1.0
    assert fitted.history[0].validation is not None
    assert fitted.history[0].validation < 0.8
    trained = read_trained(fitted.checkpoint)
    model = MRNet(MRNetConfig(**trained.config)).eval()
    model.load_state_dict(dict(trained.tensors))
    with torch.inference_mode():
        ious = best_ious(model, examples)
    assert ious.shape == (12, 1)
    assert (ious >= 0.5).all()


def test_the_loss_is_eq_12() -> None:
    torch.manual_seed(0)
    config = MRNetConfig(**SIZES, clips=8, dim_video=64, dim_query=32)  # type: ignore[arg-type]
    model = MRNet(config).eval()
    batch = collate_groups([(example, [0, 1]) for example in draw_moments(HOW, 1)], torch.device("cpu"))
    how = LossSettings(lambda_c=0.3, lambda_s=7.0)
    without = [replace(how, **none) for none in ({"lambda_c": 0.0}, {"lambda_s": 0.0})]
    with torch.no_grad():
        total, no_contrast, no_sparsity = (float(mrnet_loss(model, batch, one)) for one in (how, *without))
        alone = float(mrnet_loss(model, batch, LossSettings(lambda_c=1.0, lambda_s=0.0)))
        iou = float(mrnet_loss(model, batch, LossSettings(lambda_c=0.0, lambda_s=0.0)))
        assert total - no_sparsity == pytest.approx(7 * float(model.sparsity_loss()), rel=1e-4)
    assert total - no_contrast == pytest.approx(0.3 * (alone - iou), rel=1e-4)
    assert min(iou, alone - iou, total - no_sparsity) > 0


def test_a_query_is_judged_by_itself() -> None:
    """Whoever else asks of the video; the order of the examples is kept."""
    torch.manual_seed(0)
    model = MRNet(MRNetConfig(**SIZES, clips=8, dim_video=64, dim_query=32)).eval()  # type: ignore[arg-type]
    examples = draw_moments(HOW, 1)
    single = [
        replace(example, queries=example.queries[[query]], windows=example.windows[[query]])
        for example in examples
        for query in range(2)
    ]
    with torch.inference_mode():
        np.testing.assert_allclose(best_ious(model, examples, 5), best_ious(model, single, 3), atol=1e-6)


LIVE = {**HEADS["live"], "d": 16, "d_ff": 32, "dim_joint": 16, "heads": 2, "dropout": 0.0, "lr": 4e-3}


def test_mrnet_live_learns_a_handful_of_videos_by_heart(tmp_path: Path) -> None:
    fitted = train_mrnet(_fixed(draw_moments(HOW, 1)), _settings(40, **LIVE), tmp_path, live=True)
    losses = [-epoch.validation for epoch in fitted.history if epoch.validation is not None]
    assert losses[0] > 0.4
    assert min(losses) < 0.1
    trained = read_trained(fitted.checkpoint)
    assert (trained.model, trained.training["validated_by"]) == (NAME, "minus the loss")


def test_clips_that_would_depend_on_later_ones_are_refused(tmp_path: Path) -> None:
    for wrong in ({"decay": "bidirectional"}, {"nonlinearity": "softmax"}, {"sparse": True}):
        with pytest.raises(UsageError, match="--" + next(iter(wrong))):
            train_mrnet(_fixed(draw_moments(HOW, 1)), _settings(1, **{**LIVE, **wrong}), tmp_path, live=True)
    with pytest.raises(UsageError, match="--region"):
        train_mrnet(
            _fixed(draw_moments(HOW, 1)), _settings(1, **LIVE, regions=("vv", "qv")), tmp_path, live=True
        )


def test_the_fraction_of_each_clip_in_windows() -> None:
    windows = torch.tensor([[[[0.0, 0.25], [0.5, 0.6]], [[0.9, 1.0], [0.0, 0.0]]]])
    expected = np.array([[1, 0, 0.4, 0], [0, 0, 0, 0.4]])
    assert np.allclose(covered_share(windows, 4)[0], expected, atol=1e-6)
