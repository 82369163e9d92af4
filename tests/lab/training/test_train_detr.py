"""Training the DETR models: a handful is learned by heart, words are found in other videos."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.lab.training.toy import Toy, draw_highlights, fixed
from vidsum.checkpoints.trained import read_trained
from vidsum.lab.datasets.moment_examples import HighlightExample, Pair
from vidsum.lab.evaluation.highlight_metrics import WindowMeasures, measure_moments
from vidsum.lab.training.loop import FitResult
from vidsum.lab.training.settings import DETRLossSettings, DETRSettings, MatchWeights
from vidsum.lab.training.train_detr import (
    DETRBatch,
    collate_pairs,
    detection_loss,
    detr_loss,
    measure_model,
    train_detr,
)
from vidsum.models.configs import DETRConfig, MaskConfig
from vidsum.models.detr import DETR, Detections, centre_width
from vidsum.models.detr_models import MODELS, MRNetDETR
from vidsum.models.detr_models import build as build_model
from vidsum.options import build

HOW = Toy(n_videos=8, clips=12, segments=3, queries=1, noise=0.5)
SIZES = {"clips": 12, "words": 4, "d": 32, "heads": 4, "d_ff": 64, "n_moments": 5}
SIZES |= {"layers": 1, "decoder_layers": 1}
CPU = torch.device("cpu")


def _settings(epochs: int, **choices: object) -> DETRSettings:
    small = {**SIZES, "dropout_in": 0.0, "device": "cpu", "batch_size": 4, "lr": 3e-3}
    return build(DETRSettings, {**small, "epochs": epochs, **choices})


def _model(name: str = "qd-detr", **choices: object) -> DETR:
    torch.manual_seed(0)
    sizes = {**SIZES, "dim_video": 66, "dim_query": 32, **choices}
    return build_model(name, DETRConfig(**sizes))


def test_optimizer_adds_or_decouples_the_weight_decay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Adam adds the decay to the gradient; AdamW, QD-DETR's, takes it off the weights."""
    optimizers: dict[str, torch.optim.Optimizer] = {}
    for name in ("adam", "adamw"):
        monkeypatch.setattr(
            "vidsum.lab.training.moment_trainer.fit",
            lambda recipe, *rest, name=name, **more: optimizers.update({name: recipe.optimizer}),
        )
        train_detr(fixed(draw_highlights(HOW, 1)), "qd-detr", _settings(1, optimizer=name), tmp_path)
    assert type(optimizers["adam"]) is torch.optim.Adam
    assert type(optimizers["adamw"]) is torch.optim.AdamW
    (group,) = optimizers["adam"].param_groups
    assert (group["weight_decay"], group["decoupled_weight_decay"]) == (1e-4, False)


@pytest.mark.deep
@pytest.mark.parametrize("name", MODELS)
def test_few_videos_are_learned_by_heart(tmp_path: Path, name: str) -> None:
    examples = draw_highlights(replace(HOW, n_videos=4), 1)
    layers = 2 if name == "mrnet-detr" else 1
    settings = _settings(4, dropout=0.0, decay_at=(3,), layers=layers, decoder_layers=layers)
    before = measure_model(_model(name).eval(), examples)
    fitted = train_detr(fixed(30 * examples, examples), name, settings, tmp_path)
    found = _measured_of(fitted, examples)
    assert before.mean_precision < 0.4
    assert found.recall[0.5] >= 0.75
    assert found.mean_precision > before.mean_precision + 0.3
    assert found.mean_precision == pytest.approx(fitted.best.validation)


def _measured_of(fitted: FitResult, examples: Sequence[HighlightExample]) -> WindowMeasures:
    """Return the moments that the checkpoint of a run finds."""
    trained = read_trained(fitted.checkpoint)
    model = build_model(trained.model, DETRConfig(**trained.config)).eval()
    model.load_state_dict(dict(trained.tensors))
    found = measure_model(model, examples)
    assert found is not None
    return found


NOTHING = DETRLossSettings(match=MatchWeights(span=0, giou=0, label=0), saliency=0, lambda_s=0)
each_model = pytest.mark.parametrize("name", MODELS)


@pytest.fixture(scope="module")
def batch() -> DETRBatch:
    return collate_pairs(draw_highlights(HOW, 1), CPU)


@torch.no_grad()
@each_model
def test_loss_without_any_part_is_zero(name: str, batch: DETRBatch) -> None:
    assert float(detr_loss(_model(name).eval(), batch, NOTHING, with_negatives=True)) == 0


@torch.no_grad()
@each_model
def test_loss_without_saliency_is_that_of_the_detection(name: str, batch: DETRBatch) -> None:
    model = _model(name).eval()
    loss = detr_loss(model, batch, DETRLossSettings(saliency=0, lambda_s=0), with_negatives=True)
    found = model(*batch.inputs)
    detection = detection_loss(found, batch.gt_windows, batch.is_window, DETRLossSettings())
    assert float(loss) == pytest.approx(float(detection), rel=1e-4)


@torch.no_grad()
@each_model
def test_negative_pairs_add_to_the_loss_of_the_saliency(name: str, batch: DETRBatch) -> None:
    model, saliency_alone = _model(name).eval(), replace(NOTHING, saliency=DETRLossSettings().saliency)
    own, both = (
        float(detr_loss(model, batch, saliency_alone, with_negatives=with_negatives))
        for with_negatives in (False, True)
    )
    assert both > own + 1


@torch.no_grad()
@each_model
def test_sparsity_of_masks_adds_to_the_loss_of_mrnet_detr_alone(name: str, batch: DETRBatch) -> None:
    model = _model(name).eval()
    sparse = float(detr_loss(model, batch, replace(NOTHING, lambda_s=7.0), with_negatives=True))
    of_mask = model.sparsity_loss() if isinstance(model, MRNetDETR) else torch.zeros(())
    assert sparse == pytest.approx(7 * float(of_mask), rel=1e-4)
    assert (sparse > 0) == (name == "mrnet-detr")


STATIC_ALONE = DETRLossSettings(match=MatchWeights(span=0, giou=0, label=0), saliency=0)


def static_mask_of(model: DETR) -> str:
    (name,) = (name for name, _ in model.named_parameters() if name.endswith("mask.weights"))
    return name


def test_loss_of_a_static_mask_is_half_its_mean_without_the_diagonal(batch: DETRBatch) -> None:
    model = _model(mask=MaskConfig(kind="static")).eval()
    weights = model.get_parameter(static_mask_of(model))
    off = ~torch.eye(len(weights), dtype=torch.bool)
    expected = 0.5 * (1 / (1 + torch.exp(-weights[off]))).sum() / weights.numel()
    loss = detr_loss(model, batch, STATIC_ALONE, with_negatives=True)
    assert loss.item() == pytest.approx(expected.item(), rel=1e-5)


def test_loss_of_a_static_mask_acts_on_it_alone(batch: DETRBatch) -> None:
    model = _model(mask=MaskConfig(kind="static")).eval()
    detr_loss(model, batch, STATIC_ALONE, with_negatives=True).backward()
    gradients = {key: parameter.grad for key, parameter in model.named_parameters()}
    moved = [key for key, grad in gradients.items() if grad is not None and grad.any()]
    assert moved == [static_mask_of(model)]


def test_loss_of_a_static_mask_closes_it_in_training(tmp_path: Path) -> None:
    name = static_mask_of(_model(mask=MaskConfig(kind="static")))
    means = {}
    for weight in (0.0, 50.0):
        settings = replace(_settings(2, mask="static"), loss=DETRLossSettings(static_sparsity=weight))
        fitted = train_detr(fixed(5 * draw_highlights(HOW, 1)), "qd-detr", settings, tmp_path / f"{weight}")
        means[weight] = float(read_trained(fitted.checkpoint).tensors[name].sigmoid().mean())
    assert means[50.0] < means[0.0] - 0.01


def test_negative_pair_counts_only_where_an_example_has_one() -> None:
    """Padding, or an example without a negative pair, changes nothing."""
    model = _model().eval()
    (example,) = draw_highlights(replace(HOW, n_videos=1), 1)
    false = Pair(example.video, -example.words)
    batches = [collate_pairs([one], CPU) for one in (example, replace(example, negative=false))]
    saliency_alone = DETRLossSettings(match=MatchWeights(span=0, giou=0, label=0), margin=0)
    with torch.no_grad():
        losses = [float(detr_loss(model, one, saliency_alone, with_negatives=True)) for one in batches]
        outside = float(model.saliency(*batches[1].negative).exp().log1p().sum())
    assert losses[1] - losses[0] > 0.9 * outside  # the rest is the rank loss, whose sum has more clips now


@pytest.mark.parametrize("name", MODELS)
def test_examples_of_all_kinds_have_finite_losses_and_gradients(name: str) -> None:
    """Shorter and longer ones, without a window, without saliency, with the same saliency everywhere."""
    plain, *rest = draw_highlights(HOW, 1)[:4]
    nowhere = np.zeros((0, 2), np.float32)
    short = replace(rest[0], video=rest[0].video[:1], saliency=rest[0].saliency[:1])
    silent = replace(rest[1], saliency=np.zeros(12, np.float32))
    equal = replace(rest[2], saliency=np.full(12, 12, np.float32))
    false = replace(plain, windows=nowhere, saliency=np.zeros(12, np.float32))
    for examples in ([plain, short, silent, equal, false], [false, false], [false], [equal], [short]):
        model = _model(name)
        loss = detr_loss(model, collate_pairs(examples, CPU), DETRLossSettings(), with_negatives=True)
        loss.backward()
        assert loss.detach().isfinite()
        assert all(one.grad.isfinite().all() for one in model.parameters() if one.grad is not None)


class _Fixed(torch.nn.Module):
    """Answers with given moments."""

    def __init__(self, moments: Tensor, scores: Tensor) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(1))
        logits = torch.stack([scores.logit(), torch.zeros_like(scores)], dim=-1)
        self.answer = Detections(logits[None], centre_width(moments)[None], scores)
        self.position = 0

    def forward(self, video: Tensor, *rest: Tensor) -> Detections:
        start, self.position = self.position, self.position + len(video)
        logits, spans, saliency = self.answer
        part = slice(start, self.position)
        return Detections(logits[:, part], spans[:, part], saliency[part])


@dataclass(frozen=True)
class Validated:
    """Examples, the last three without a window, moments [8, 5, 2] and scores [8, 5] of an answer."""

    examples: list[HighlightExample]
    moments: Tensor
    scores: Tensor
    right: np.ndarray


@pytest.fixture
def validated() -> Validated:
    draw = torch.Generator().manual_seed(3)
    moments = torch.rand(8, 5, 2, generator=draw, dtype=torch.float64).sort(dim=-1).values
    scores = torch.rand(8, 5, generator=draw, dtype=torch.float64)
    examples = draw_highlights(HOW, 1)
    right = np.stack([example.windows for example in examples]).astype(np.float64)
    moments[:, 2] = torch.from_numpy(right[:, 0]) + 0.02
    moments[0, 3] = torch.tensor([-0.5, 0.4])  # over the edge, where it is cut
    nowhere = np.zeros((0, 2), np.float32)
    examples[5:] = [replace(example, windows=nowhere) for example in examples[5:]]
    return Validated(examples, moments, scores, right)


def test_validation_is_that_of_the_benchmark(validated: Validated) -> None:
    """Examples without a window do not count, whatever is found in them."""
    moments, scores = validated.moments.numpy(), validated.scores.numpy()
    ranked = np.take_along_axis(moments, (-scores).argsort(1)[..., None], 1).clip(0, 1)
    expected = measure_moments(ranked[:5], -np.sort(-scores, 1)[:5], validated.right[:5])["full"]
    found = measure_model(_Fixed(validated.moments, validated.scores), validated.examples, 3)
    assert found.recall == expected.recall
    assert found.mean_precision == pytest.approx(expected.mean_precision)
    assert 0 < found.mean_precision < 1


def test_examples_that_all_lack_a_window_have_no_validation(validated: Validated) -> None:
    assert measure_model(_Fixed(validated.moments, validated.scores), validated.examples[5:], 3) is None
