"""MiniLM sentence embeddings: a BERT encoder of six layers, its tokens averaged (Wang et al. 2020).

The post-norm transformer of Devlin et al. 2019, with the pooling of all-MiniLM-L6-v2 (Reimers and Gurevych
2019): the mean over the tokens without padding, to length 1.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding, gelu, normalize, scaled_dot_product_attention

from vidsum.models.attention.heads import join_heads, split_heads


@dataclass(frozen=True)
class MiniLMConfig:
    """Sizes, with those of all-MiniLM-L6-v2."""

    vocabulary: int = 30522
    positions: int = 512
    """Maximum number of tokens of a text."""
    d: int = 384
    layers: int = 6
    heads: int = 12
    d_ff: int = 1536


class MiniLM(nn.Module):
    """Tokens [B, L] to embeddings [B, d] of length 1."""

    def __init__(self, config: MiniLMConfig | None = None) -> None:
        super().__init__()
        config = config or MiniLMConfig()
        # even random numbers: normal ones load torch's compiler on the device `meta`, which takes 1.5 s
        self.words = nn.Parameter(torch.rand(config.vocabulary, config.d))
        self.places = nn.Parameter(torch.rand(config.positions, config.d))
        self.norm = _norm(config.d)
        self.layers = nn.ModuleList(Layer(config) for _ in range(config.layers))

    def forward(self, tokens: Tensor, is_token: Tensor) -> Tensor:
        """[B, d] embeddings of length 1.

        Args:
            tokens: [B, L] int64, L at most `positions`; padding comes last.
            is_token: [B, L] bool, False for padding.
        """
        summed = (self.read(tokens, is_token) * is_token[:, :, None]).sum(dim=1)
        return normalize(summed, dim=1)  # the mean has the same direction

    def read(self, tokens: Tensor, is_token: Tensor) -> Tensor:
        """[B, L, d] output of the last layer; rows of padding mean nothing."""
        x: Tensor = self.norm(embedding(tokens, self.words) + self.places[: tokens.shape[1]])
        for layer in self.layers:
            x = layer(x, is_token[:, None, None, :])
        return x


class Layer(nn.Module):
    """Self-attention and a feed-forward network; a norm after each residual."""

    def __init__(self, config: MiniLMConfig) -> None:
        super().__init__()
        self.heads = config.heads
        self.query, self.key, self.value, self.mix = (nn.Linear(config.d, config.d) for _ in range(4))
        self.attention_norm = _norm(config.d)
        self.widen = nn.Linear(config.d, config.d_ff)
        self.narrow = nn.Linear(config.d_ff, config.d)
        self.output_norm = _norm(config.d)

    def forward(self, x: Tensor, is_key: Tensor) -> Tensor:
        """[B, L, d] to the same; `is_key` [B, 1, 1, L] bool, False for padding."""
        q, k, v = (split_heads(part(x), self.heads) for part in (self.query, self.key, self.value))
        attended = scaled_dot_product_attention(q, k, v, attn_mask=is_key)
        x = self.attention_norm(x + self.mix(join_heads(attended)))
        out: Tensor = self.output_norm(x + self.narrow(gelu(self.widen(x))))
        return out


def _norm(d: int) -> nn.LayerNorm:
    return nn.LayerNorm(d, eps=1e-12)


_RENAMED = (
    (r"^embeddings\.word_embeddings\.weight", "words"),
    (r"^embeddings\.position_embeddings\.weight", "places"),
    (r"^embeddings\.LayerNorm\.", "norm."),
    (r"^encoder\.layer\.", "layers."),
    (r"\.attention\.self\.", "."),
    (r"\.attention\.output\.dense\.", ".mix."),
    (r"\.attention\.output\.LayerNorm\.", ".attention_norm."),
    (r"\.intermediate\.dense\.", ".widen."),
    (r"\.output\.dense\.", ".narrow."),
    (r"\.output\.LayerNorm\.", ".output_norm."),
)
"""Published names, as patterns, and ours; all that match a name are applied, in this order."""


def from_published(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The state dict of `MiniLM` from the published tensors.

    All tokens of a single text have token type 0: its embedding is added to those of the positions. The
    pooler, which sentence embeddings do not use, is left out.
    """
    state = {}
    for name, tensor in weights.items():
        if name.startswith(("pooler.", "embeddings.token_type", "embeddings.position_ids")):
            continue
        for pattern, ours in _RENAMED:
            name = re.sub(pattern, ours, name)
        state[name] = tensor
    state["places"] = state["places"] + weights["embeddings.token_type_embeddings.weight"][0]
    return state


def load_minilm(weights: Mapping[str, Tensor]) -> MiniLM:
    """The network with its published weights, for inference; they are used in place, not copied."""
    with torch.device("meta"):  # random weights that are overwritten at once would cost 0.3 s
        model = MiniLM()
    model.load_state_dict(from_published(weights), assign=True)
    return model.eval().requires_grad_(False)
