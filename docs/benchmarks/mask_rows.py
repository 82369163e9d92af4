"""Rows of `docs.benchmarks.qvhighlights_small`: QD-DETR with a mask, or with as many parameters elsewhere."""

from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap
from torch.nn.attention import SDPBackend, sdpa_kernel

from vidsum.lab.training.loop import first_weights
from vidsum.models.attention.learned_mask import static_sparsity
from vidsum.models.configs import DETRConfig, MaskConfig
from vidsum.models.detr import Detections, EncoderLayer, initialise, mlp
from vidsum.models.qd_detr import QDDETR

_STAMP, _HE = MaskConfig(), MaskConfig(depth=32, init="he")


class Row(NamedTuple):
    """A mask and how it trains, or the parameters that it has elsewhere."""

    mask: MaskConfig | None = None
    rate: float = 1.0
    """Of the mask's learning, as a multiple of the model's; 0 keeps its first weights."""
    add: str = ""
    """linear: two layers behind each layer of the encoders; layer: one more layer of self-attention."""
    trains: bool = True
    """False: no model, the similarity alone."""


ROWS = {
    "similarity": Row(trains=False),
    "none": Row(),
    "stamp": Row(_STAMP),
    "stamp 32 he": Row(_HE),
    "stamp 32 he, rate 1/32": Row(_HE, 1 / 32),
    "stamp 32 he, rate 0": Row(_HE, 0),
    "stamp 32 he, identity": Row(replace(_HE, identity=True)),
    "stamp 32": Row(replace(_STAMP, depth=32)),
    "lam": Row(replace(_STAMP, kind="lam")),
    "static": Row(MaskConfig(kind="static")),
    "static product": Row(MaskConfig(kind="static", fusion="product")),
    "+ linear": Row(add="linear"),
    "+ layer": Row(add="layer"),
    "stamp identity": Row(replace(_STAMP, identity=True)),
    "stamp he": Row(replace(_STAMP, init="he")),
    "stamp xavier": Row(replace(_STAMP, init="xavier")),
    "stamp sum": Row(replace(_STAMP, fusion="sum")),
    "stamp shared": Row(replace(_STAMP, shared=True)),
    "stamp 8 he": Row(replace(_HE, depth=8)),
    "stamp 64 he": Row(replace(_HE, depth=64)),
    "lam 32 he": Row(replace(_HE, kind="lam")),
    "stamp 32 he sum": Row(replace(_HE, fusion="sum")),
}
"""A mask is a product of depth 2 from PyTorch's start, per layer, unless its name says otherwise;
a static one hides, as SwinBERT's."""


def made(row: Row, config: DETRConfig, seed: int) -> QDDETR:
    """A row's model with its first weights."""
    with first_weights(seed):
        plain = QDDETR(config)
        model = QDDETR(replace(config, mask=row.mask))
        spare = n_parameters(QDDETR(replace(config, mask=_STAMP))) - n_parameters(plain)
        if row.add == "linear":
            _add_linear(model, spare)
        elif row.add == "layer":
            _add_layer(model, spare)
    model.load_state_dict(plain.state_dict(), strict=False)
    return model


def n_parameters(model: nn.Module) -> int:
    """All that train."""
    return sum(each.numel() for each in model.parameters())


def _add_linear(model: QDDETR, spare: int) -> None:
    """Two linear layers behind each layer of the encoders, with about as many parameters."""
    layers, d = [*model.cross, *model.encoder], model.config.d
    width = round((spare / len(layers) - d) / (2 * d + 1))
    for layer in layers:
        layer.register_module("linear", mlp(d, width, d, 2))
        layer.register_forward_hook(lambda own, _, x: x + own.linear(x))


def _add_layer(model: QDDETR, spare: int) -> None:
    """One more layer of self-attention, with about as many parameters by the width of its network."""
    config, d = model.config, model.config.d
    attention = n_parameters(EncoderLayer(replace(config, d_ff=1), None, nn.PReLU())) - 2 * d - 1
    width = round((spare - attention) / (2 * d + 1))
    layer = EncoderLayer(replace(config, d_ff=width), None, nn.PReLU())
    model.encoder.append(layer.apply(initialise))


class Stack:
    """K models of one architecture as one, whose batches hold an equal part for each: cheaper than K."""

    def __init__(self, models: Sequence[QDDETR]) -> None:
        self.k, self._one = len(models), _Call(models[0])
        self.weights, self._buffers = stack_module_state([_Call(model) for model in models])  # type: ignore[arg-type]

    def _every(self, what: str, inputs: Sequence[Tensor]) -> Any:
        """What `_Call` returns of each model, the models first."""

        def one(weights: dict[str, Tensor], buffers: dict[str, Tensor], *own: Tensor) -> Any:
            return functional_call(self._one, (weights, buffers), (what, *own))

        parts = [each.unflatten(0, (self.k, -1)) for each in inputs]
        with sdpa_kernel(SDPBackend.MATH):
            return vmap(one, randomness="different")(self.weights, self._buffers, *parts)

    def __call__(self, *inputs: Tensor) -> Detections:
        """As of one model."""
        logits, spans, saliency = self._every("all", inputs)
        logits, spans = (each.transpose(0, 1).flatten(1, 2) for each in (logits, spans))
        return Detections(logits, spans, saliency.flatten(0, 1))

    def saliency(self, *inputs: Tensor) -> Tensor:
        """As of one model."""
        found: Tensor = self._every("saliency", inputs)
        return found.flatten(0, 1)

    def modules(self) -> Iterator[nn.Module]:
        """None: the loss of static masks is `sparsity`."""
        return iter(())

    def sparsity(self) -> Tensor:
        """The mean over the models of `static_sparsity`."""
        found: Tensor = self._every("sparsity", [])
        return found.mean()

    def clip(self, max_norm: float) -> None:
        """Each model's gradient to the norm."""
        grads = [each.grad for each in self.weights.values() if each.grad is not None]
        norm = torch.stack([grad.flatten(1).square().sum(1) for grad in grads]).sum(0).sqrt()
        share = (max_norm / (norm + 1e-6)).clamp(max=1)
        for grad in grads:
            grad.mul_(share.reshape(-1, *[1] * (grad.ndim - 1)))

    def model(self, number: int) -> QDDETR:
        """One of the models as it is now, in evaluation mode, until the next is asked for."""
        weights = {name: each[number].detach() for name, each in self.weights.items()}
        self._loaded = getattr(self, "_loaded", None) or deepcopy(self._one)
        self._loaded.load_state_dict(weights, strict=False)
        return self._loaded.model.eval()


class _Call(nn.Module):
    """A model all of whose methods are calls."""

    def __init__(self, model: QDDETR) -> None:
        super().__init__()
        self.model = model

    def forward(self, what: str, *inputs: Tensor) -> Any:
        if what == "all":
            return tuple(self.model(*inputs))
        return self.model.saliency(*inputs) if what == "saliency" else static_sparsity(self.model)
