"""Training MRNet: the loss is Eq. 12, a handful of videos is learned by heart, and a killed run goes on."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from vidsum.checkpoints.trained import read_trained
from vidsum.datasets.examples import MomentExample
from vidsum.errors import OutputError, UsageError
from vidsum.models.configs import HEADS, MRNetConfig
from vidsum.models.mrnet import MRNet
from vidsum.training.data import MomentData, planted_data
from vidsum.training.moment_batches import MomentBatch, collate
from vidsum.training.mrnet import best_ious, mrnet_loss, train_mrnet
from vidsum.training.settings import LossSettings, MRNetSettings
from vidsum.training.toy import Planting, planted

HOW = Planting(n_videos=6, clips=8, stretches=3, asked=2, noise=0.5)
SIZES = {**HEADS["light"], "dim_map": 16, "hidden": 16, "dim_joint": 16, "kernel": 3, "d": 16, "heads": 2}


def _settings(epochs: int, **choices: object) -> MRNetSettings:
    small = {**SIZES, "d_ff": 32, "dropout": 0.1, "dropout_in": 0.0, "device": "cpu", "batch_size": 4}
    return MRNetSettings.of(**{**small, "epochs": epochs, "decay_at": (), **choices})


def _fixed(
    examples: Sequence[MomentExample], validation: Sequence[MomentExample] = ()
) -> MomentData[MomentExample]:
    return MomentData(lambda epoch: examples, validation, {"space": "planted"}, {})


def test_a_handful_of_videos_is_learned_by_heart(tmp_path: Path) -> None:
    examples = planted(HOW, 1)
    fitted = train_mrnet(
        _fixed(examples, examples), _settings(50, lr=4e-3, dropout=0.0, patience=20), tmp_path
    )
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


def test_the_checkpoint_tells_what_it_is(tmp_path: Path) -> None:
    data = replace(_fixed(planted(HOW, 1)), features={"space": "clip", "clip_s": 2.0}, about={"from": "here"})
    fitted = train_mrnet(data, _settings(1, lambda_c=0.05, gamma=0.9, patience=3), tmp_path)
    trained = read_trained(fitted.checkpoint)
    assert trained.model == "mrnet"
    assert trained.features == {"space": "clip", "clip_s": 2.0}
    assert trained.config.items() >= {"clips": 8, "dim_video": 64, "dim_query": 32, "gamma": 0.9}.items()
    assert trained.training.items() >= {"lambda_c": 0.05, "data": {"from": "here"}, "patience": None}.items()


@pytest.mark.parametrize("steps", [1, 5, 8])
def test_a_broken_off_run_ends_as_one_never_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, steps: int
) -> None:
    """Three epochs of three steps, drawn anew, with a rate that rises and falls."""
    settings = _settings(3, warmup=1.5, decay_at=(2,), queries_per_video=1)
    data = planted_data(HOW, 5)
    train_mrnet(data, settings, tmp_path / "whole")
    left = iter(range(steps))

    def breaking(model: MRNet, batch: MomentBatch, how: LossSettings) -> Tensor:
        if next(left, None) is None:
            raise KeyboardInterrupt
        return mrnet_loss(model, batch, how)

    with monkeypatch.context() as patch:
        patch.setattr("vidsum.training.mrnet.mrnet_loss", breaking)
        with pytest.raises(KeyboardInterrupt):
            train_mrnet(data, settings, tmp_path / "broken")
    resumed = train_mrnet(data, settings, tmp_path / "broken")
    assert not resumed.up_to_date
    for name in ("best.safetensors", "last.safetensors"):
        assert (tmp_path / "broken" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_other_data_or_settings_are_another_run(tmp_path: Path) -> None:
    examples = planted(HOW, 1)
    train_mrnet(_fixed(examples), _settings(1), tmp_path)
    with pytest.raises(OutputError, match=r"training\.margin was 0\.3, is 0\.1"):
        train_mrnet(_fixed(examples), _settings(1, margin=0.1), tmp_path)
    with pytest.raises(OutputError, match=r"training\.data\.from"):
        train_mrnet(replace(_fixed(examples), about={"from": "there"}), _settings(1), tmp_path)


def test_bf16_learns_and_keeps_float32_weights(tmp_path: Path) -> None:
    fitted = train_mrnet(_fixed(planted(HOW, 1)), _settings(12, lr=3e-3, precision="bf16"), tmp_path)
    assert fitted.history[-1].loss < fitted.history[0].loss - 0.5
    assert {one.dtype for one in read_trained(fitted.checkpoint).tensors.values()} <= {
        torch.float32,
        torch.int64,  # how many batches the norms have seen
    }


def test_the_loss_is_eq_12() -> None:
    torch.manual_seed(0)
    config = MRNetConfig(**SIZES, clips=8, dim_video=64, dim_query=32)  # type: ignore[arg-type]
    model = MRNet(config).eval()
    batch = collate([(example, [0, 1]) for example in planted(HOW, 1)], torch.device("cpu"))
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
    examples = planted(HOW, 1)
    single = [
        replace(example, queries=example.queries[[query]], windows=example.windows[[query]])
        for example in examples
        for query in range(2)
    ]
    with torch.inference_mode():
        np.testing.assert_allclose(best_ious(model, examples, 5), best_ious(model, single, 3), atol=1e-6)


def test_examples_that_do_not_go_together_are_refused(tmp_path: Path) -> None:
    examples = planted(HOW, 1)
    longer = replace(examples[1], name="longer", video=np.zeros((9, 64), np.float32))
    with pytest.raises(UsageError, match=r"planted_0 has 8 clips .* longer 9 clips"):
        train_mrnet(_fixed([examples[0], longer]), _settings(1), tmp_path)
    with pytest.raises(UsageError, match="longer"):
        train_mrnet(_fixed(examples, [longer]), _settings(1), tmp_path)
    with pytest.raises(UsageError, match="no video to train on"):
        train_mrnet(_fixed([]), _settings(1), tmp_path)
