"""Audio description as LAM and STAMP describe it: AV encoder, LLaMA-Adapter V2, and a frozen LLaMA.

    AV(V, A) -> E_va                            STAMP Eq. 6: 25 visual and 25 audio tokens of 5 s
    p(w_i | w_1 ... w_{i-1}),  F(H(x), P(x'))   Eq. 7-8: a language model H with an adapter P

The learned mask is in the layers of the AV encoder (LAM Sec. 4.3). The defaults are the paper's sizes: 6.92 B
parameters without masks, 7.07 B with one in each layer (Table 3: 6.93 B, 7.07 B). RMSNorm, rotary positions
and SwiGLU are LLaMA's (Touvron et al. 2023), queries with a gate that starts at 0 are LLaMA-Adapter V2's (Gao
et al. 2023). docs/algorithms/learned-masks.md says what the papers leave open.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding, linear, rms_norm, scaled_dot_product_attention, silu

from vidsum.models.attention.heads import MultiHeadAttention, join_heads, sines, split_heads
from vidsum.models.attention.learned_mask import learned_masks
from vidsum.models.configs import DETRConfig, MaskConfig
from vidsum.models.detr import DETREncoderLayer


@dataclass(frozen=True)
class AudioDescriptionConfig:
    """Sizes; the defaults are the paper's, and LLaMA 7B's."""

    dim_visual: int = 512  # CLIP's
    dim_audio: int = 512  # OpenL3's
    n_tokens: int = 25  # S of either kind
    d: int = 768
    heads: int = 12
    d_ff: int = 3072
    layers: int = 16
    mask: MaskConfig | None = None  # Table 2: none is full attention
    linear_layers: int = 0  # extra layers of width d after each layer ("+ Linear Layers" of Table 3)
    dropout: float = 0.1

    d_adapter: int = 512
    adapter_heads: int = 16
    adapter_layers: int = 8
    n_queries: int = 16

    d_lm: int = 4096
    lm_heads: int = 32
    lm_ff: int = 11008
    lm_layers: int = 32
    adapted: int = 31  # the last so many layers attend to the queries
    vocabulary: int = 32000
    lora_rank: int = 16


class AudiovisualEncoder(nn.Module):
    """AV of Eq. 6: a transformer (Vaswani et al. 2017) over the tokens of both kinds, side by side."""

    def __init__(self, config: AudioDescriptionConfig) -> None:
        super().__init__()
        self.visual = nn.Linear(config.dim_visual, config.d)
        self.audio = nn.Linear(config.dim_audio, config.d)
        self.kinds = nn.Parameter(torch.zeros(2, 1, config.d))
        names = "d", "heads", "d_ff", "dropout", "linear_layers"
        sizes = DETRConfig(**{name: getattr(config, name) for name in names})
        masks = learned_masks(config.mask, config.d, 2 * config.n_tokens, config.layers)
        self.layers = nn.ModuleList(DETREncoderLayer(sizes, mask, nn.ReLU()) for mask in masks)
        self.out = nn.Linear(config.d, config.d_adapter)

    def forward(self, visual: Tensor, audio: Tensor) -> Tensor:
        """Return [B, 2 S, d_adapter] E_va of tokens [B, S, dim_visual] and [B, S, dim_audio]."""
        tokens = [self.visual(visual) + self.kinds[0], self.audio(audio) + self.kinds[1]]
        x = torch.cat(tokens, dim=1)
        steps = torch.arange(visual.shape[1], device=x.device).repeat(2) / visual.shape[1]
        positions = sines(steps, x.shape[2]).to(x.dtype).expand_as(x)
        is_token = x.new_ones(x.shape[:2], dtype=torch.bool)
        mask = None
        for layer in self.layers:
            x, mask = layer(x, positions, is_token, mask)
        out: Tensor = self.out(x)
        return out


class ViTBlock(nn.Module):
    """A block of a vision transformer: norms before, GELU, an MLP of four times d."""

    def __init__(self, d: int, heads: int) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(d) for _ in range(2))
        self.attention = MultiHeadAttention(d, heads)
        self.mlp = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))

    def forward(self, x: Tensor) -> Tensor:
        """Return [B, N, d] to the same."""
        normed = self.norms[0](x)
        q, (k, v) = self.attention.queries(normed), self.attention.keys_values(normed)
        x = x + self.attention.join(scaled_dot_product_attention(q, k, v))
        out: Tensor = x + self.mlp(self.norms[1](x))
        return out


class Adapter(nn.Module):
    """P of Eq. 8: queries read E_va in the blocks of a ViT; each adapted layer adds queries of its own."""

    def __init__(self, config: AudioDescriptionConfig) -> None:
        super().__init__()
        d = config.d_adapter
        self.norm = nn.LayerNorm(d)
        self.queries = nn.Parameter(0.02 * torch.randn(config.n_queries, d))
        self.blocks = nn.ModuleList(ViTBlock(d, config.adapter_heads) for _ in range(config.adapter_layers))
        self.out = nn.Sequential(nn.Linear(d, config.d_lm), nn.LayerNorm(config.d_lm))
        per_layer = torch.empty(config.adapted, config.n_queries, config.d_lm)
        self.per_layer = nn.Parameter(per_layer.normal_(std=0.02))

    def forward(self, features: Tensor) -> Tensor:
        """Return [adapted, B, n_queries, d_lm] of E_va [B, N, d_adapter]."""
        x = torch.cat([self.queries.expand(len(features), -1, -1), self.norm(features)], dim=1)
        for block in self.blocks:
            x = block(x)
        out: Tensor = self.out(x[:, : len(self.queries)]) + self.per_layer[:, None]
        return out


class TunedLinear(nn.Module):
    """A frozen linear layer of LLaMA, which has no bias, with LoRA (Hu et al. 2022) and a bias that train."""

    def __init__(self, before: int, after: int, rank: int, *, bias: bool = True) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(after, before))
        self.lora_down = nn.Parameter(torch.empty(rank, before))
        self.lora_up = nn.Parameter(torch.zeros(after, rank))
        self.bias = nn.Parameter(torch.zeros(after)) if bias else None
        for weight in (self.weight, self.lora_down):
            nn.init.kaiming_uniform_(weight, a=math.sqrt(5))

    def forward(self, x: Tensor) -> Tensor:
        """Return [..., before] to [..., after]."""
        return linear(x, self.weight, self.bias) + linear(linear(x, self.lora_down), self.lora_up)


class LanguageLayer(nn.Module):
    """A layer of LLaMA, whose words also attend to the adapter's queries, by a softmax of their own."""

    def __init__(self, config: AudioDescriptionConfig) -> None:
        super().__init__()
        d, d_ff, rank, self.heads = config.d_lm, config.lm_ff, config.lora_rank, config.lm_heads
        self.norms = nn.ParameterList(torch.ones(d) for _ in range(2))
        self.q, self.out = (TunedLinear(d, d, rank) for _ in range(2))
        self.k, self.v = (TunedLinear(d, d, rank, bias=False) for _ in range(2))
        self.gate = nn.Parameter(torch.zeros(self.heads))
        self.w1, self.w3 = (TunedLinear(d, d_ff, rank) for _ in range(2))
        self.w2 = TunedLinear(d_ff, d, rank)

    def forward(self, x: Tensor, queries: Tensor | None) -> Tensor:
        """Return [B, L, d_lm]; an adapted layer also reads queries [B, n_queries, d_lm] of the adapter."""
        normed = _rms(x, self.norms[0])
        q, k, v = (split_heads(layer(normed), self.heads) for layer in (self.q, self.k, self.v))
        q, k = rotated(q), rotated(k)
        heads = scaled_dot_product_attention(q, k, v, is_causal=True)
        if queries is not None:
            keys, values = (split_heads(layer(queries), self.heads) for layer in (self.k, self.v))
            gate = self.gate.tanh()[:, None, None]
            heads = heads + gate * scaled_dot_product_attention(q, keys, values)
        x = x + self.out(join_heads(heads))
        normed = _rms(x, self.norms[1])
        out: Tensor = x + self.w2(silu(self.w1(normed)) * self.w3(normed))
        return out


def _rms(x: Tensor, weight: Tensor) -> Tensor:
    return rms_norm(x, weight.shape, weight, 1e-6)


def rotated(x: Tensor) -> Tensor:
    """Return [B, h, L, d_k] with rotary positions (Su et al. 2021) of neighbouring pairs, as LLaMA."""
    rates = 10000.0 ** -(torch.arange(0, x.shape[3], 2, device=x.device) / x.shape[3])
    angles = torch.arange(x.shape[2], device=x.device)[:, None] * rates
    even, odd = x[..., ::2], x[..., 1::2]
    cos, sin = (turned.to(x.dtype) for turned in (angles.cos(), angles.sin()))
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1).flatten(3)


class AudioDescription(nn.Module):
    """The whole model: sounds and pictures of a clip, and the words so far, to the next word."""

    def __init__(self, config: AudioDescriptionConfig) -> None:
        super().__init__()
        self.encoder = AudiovisualEncoder(config)
        self.adapter = Adapter(config)
        self.words = nn.Parameter(0.02 * torch.randn(config.vocabulary, config.d_lm))
        self.language = nn.ModuleList(LanguageLayer(config) for _ in range(config.lm_layers))
        self.norm = nn.Parameter(torch.ones(config.d_lm))
        self.output = nn.Linear(config.d_lm, config.vocabulary, bias=False)

    def evidence(self, visual: Tensor, audio: Tensor) -> Tensor:
        """Return [adapted, B, n_queries, d_lm] of a clip for the language model; see the encoder."""
        queries: Tensor = self.adapter(self.encoder(visual, audio))
        return queries

    def forward(self, tokens: Tensor, evidence: Tensor | None = None) -> Tensor:
        """Return [B, L, vocabulary] logits of the next token, without evidence by words alone."""
        x = embedding(tokens, self.words)
        plain = len(self.language) - (0 if evidence is None else len(evidence))
        for number, layer in enumerate(self.language):
            x = layer(x, None if evidence is None or number < plain else evidence[number - plain])
        logits: Tensor = self.output(_rms(x, self.norm))
        return logits
