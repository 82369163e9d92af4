"""Parts of attention: sinusoidal positions, heads, and first weights."""

import math

import pytest
import torch
from torch import nn

from vidsum.models.attention.heads import (
    MultiHeadAttention,
    initialise,
    input_projection,
    join_heads,
    pair_rates,
    sines,
    split_heads,
)


def test_fastest_position_turns_once_over_a_video() -> None:
    fractions = torch.tensor([0.0, 0.25, 0.5, 1.0])
    first = sines(fractions, 8)[:, :2]
    expected = [[math.sin(2 * math.pi * f), math.cos(2 * math.pi * f)] for f in fractions.tolist()]
    torch.testing.assert_close(first, torch.tensor(expected), atol=1e-5, rtol=0)


def test_rates_of_positions_fall_from_1_by_powers_of_10000() -> None:
    torch.testing.assert_close(pair_rates(4), torch.tensor([1.0, 0.01]))


def test_heads_are_parts_of_each_token() -> None:
    x = torch.arange(12.0).view(1, 2, 6)
    heads = split_heads(x, 3)
    assert heads.shape == (1, 3, 2, 2)
    assert heads[0, 1].tolist() == [[2, 3], [8, 9]]


def test_heads_are_joined_to_the_tokens_that_were_split() -> None:
    x = torch.randn(2, 5, 12)
    assert torch.equal(join_heads(split_heads(x, 4)), x)


def test_heads_have_the_sizes_of_keys_and_values() -> None:
    attention = MultiHeadAttention(6, 3, d_k=4, d_v=5)
    x = torch.zeros(1, 2, 6)
    assert (attention.queries(x).shape, attention.values(x).shape) == ((1, 3, 2, 4), (1, 3, 2, 5))
    assert attention.join(attention.values(x)).shape == x.shape


def test_projection_of_features_has_the_size_of_tokens() -> None:
    assert input_projection(7, 4, 0.0)(torch.zeros(1, 3, 7)).shape == (1, 3, 4)


@pytest.mark.parametrize("zero_biases", [False, True])
def test_biases_of_attention_begin_at_0_and_others_on_demand(zero_biases: bool) -> None:
    network = nn.ModuleList([MultiHeadAttention(6, 3), nn.Linear(6, 6)])
    network.apply(lambda module: initialise(module, zero_biases=zero_biases))
    attention, linear = network
    assert not attention.q.bias.any()
    assert linear.bias.any() != zero_biases
