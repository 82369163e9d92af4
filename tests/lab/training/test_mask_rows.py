"""The rows of docs.benchmarks.qvhighlights_small: models side by side are what each is alone."""

from dataclasses import replace

import pytest
import torch
from torch import nn

from docs.benchmarks.mask_rows import ROWS, Stack, made, n_parameters
from vidsum.models.configs import DETRConfig

SIZES = DETRConfig(
    dim_video=7, dim_query=5, clips=6, words=4, d=16, heads=2, d_ff=16, dropout=0, dropout_in=0
)


@pytest.mark.parametrize("row", ["none", "stamp", "lam", "static", "+ linear", "+ layer"])
def test_models_side_by_side_are_what_each_is_alone(row: str) -> None:
    torch.manual_seed(0)
    models = [made(ROWS[row], SIZES, seed) for seed in (1, 2)]
    stack = Stack(models)
    inputs = torch.randn(4, 6, 7), torch.ones(4, 6).bool(), torch.randn(4, 4, 5), torch.ones(4, 4).bool()
    found = stack(*inputs)
    alone = [model(*(each[2 * n : 2 * n + 2] for each in inputs)) for n, model in enumerate(models)]
    for name in ("logits", "spans"):
        torch.testing.assert_close(
            getattr(found, name), torch.cat([getattr(each, name) for each in alone], 1)
        )
    torch.testing.assert_close(stack.saliency(*inputs), torch.cat([each.saliency for each in alone]))

    (found.spans.sum() + found.saliency.sum()).backward()  # type: ignore[no-untyped-call]
    for each in alone:
        (each.spans.sum() + each.saliency.sum()).backward()
    stack.clip(0.1)
    for model in models:
        nn.utils.clip_grad_norm_(model.parameters(), 0.1)
    grads = [dict(model.named_parameters())["cross.0.norms.1.weight"].grad for model in models]
    stacked = stack.weights["model.cross.0.norms.1.weight"].grad
    torch.testing.assert_close(stacked, torch.stack([each for each in grads if each is not None]))
    again = stack.model(1)(*(each[2:] for each in inputs))
    torch.testing.assert_close(again.spans, alone[1].spans)


def test_rows_of_a_run_start_alike_and_have_as_many_parameters() -> None:
    config = replace(SIZES, d=32, d_ff=64, clips=25, words=32)
    none, stamp, linear, layer = (
        made(ROWS[row], config, 3) for row in ("none", "stamp", "+ linear", "+ layer")
    )
    for model in (stamp, linear, layer):
        own = model.state_dict()
        assert all(torch.equal(own[name], each) for name, each in none.state_dict().items())
    spare = n_parameters(stamp) - n_parameters(none)
    assert all(
        n_parameters(each) - n_parameters(none) == pytest.approx(spare, rel=0.02) for each in (linear, layer)
    )


def test_an_identity_start_answers_as_no_mask() -> None:
    inputs = torch.randn(2, 6, 7), torch.ones(2, 6).bool(), torch.randn(2, 4, 5), torch.ones(2, 4).bool()
    none, identity = (made(ROWS[row], SIZES, 0)(*inputs) for row in ("none", "stamp 32 he, identity"))
    torch.testing.assert_close(identity.spans, none.spans)
