"""QD-DETR: clips attend to the words, then to each other; anchors become moments, a token gives saliency.

Moon et al., "Query-Dependent Video Representation for Moment Retrieval and Highlight Detection" (2023).
"""

import math
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from vidsum.models.attention.heads import MultiHeadAttention, initialise, join_heads, sines, split_heads
from vidsum.models.attention.learned_mask import Mask, SoftMask, fused_attention, learned_masks
from vidsum.models.configs import DETRConfig
from vidsum.models.detr import DETR, DETREncoderLayer, Encoded, added_layers, dropout_rate, feed_forward, mlp


class QDDETR(DETR):
    """The whole model; see `DETR`."""

    def __init__(self, config: DETRConfig) -> None:
        super().__init__(config)
        across = learned_masks(config.mask, config.d, config.words, config.layers, cross=True)
        self.cross = nn.ModuleList(CrossLayer(config, mask) for mask in across)
        # the global token is one of the sequence
        masks = learned_masks(config.mask, config.d, 1 + config.clips, config.layers)
        self.encoder = nn.ModuleList(DETREncoderLayer(config, mask, nn.PReLU()) for mask in masks)
        for layers in (self.cross, self.encoder):
            layers.apply(initialise)
        self.global_saliency = GlobalSaliency(config.d)
        self.decoder = AnchorDecoder(config)

    def _encode(
        self, clips: Tensor, positions: Tensor, is_clip: Tensor, words: Tensor, is_word: Tensor
    ) -> Encoded:
        mask = None
        for layer in self.cross:
            clips, mask = layer(clips, positions, words, is_word, mask)
        batch, d = len(clips), self.config.d
        first, position = self.global_saliency.token, self.global_saliency.position
        x = torch.cat([first.expand(batch, 1, d), clips], dim=1)
        with_token = torch.cat([position.expand(batch, 1, d), positions], dim=1)
        is_token = torch.cat([is_clip.new_ones(batch, 1), is_clip], dim=1)
        mask = None
        for layer in self.encoder:
            x, mask = layer(x, with_token, is_token, mask)
        clips, token = x[:, 1:], x[:, 0]
        return Encoded(clips, positions, is_clip, lambda: self.global_saliency(clips, token))


class CrossLayer(nn.Module):
    """Clips attend to words; the norm before the feed-forward network is not on its residual."""

    def __init__(self, config: DETRConfig, mask: Mask | None) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(config.d, config.heads)
        self.mask = mask
        self.feed_forward = feed_forward(config, nn.PReLU())
        self.norms = nn.ModuleList(nn.LayerNorm(config.d) for _ in range(2))
        self.dropout, self.linear = nn.Dropout(config.dropout), added_layers(config)

    def forward(
        self, clips: Tensor, positions: Tensor, words: Tensor, is_word: Tensor, previous: SoftMask | None
    ) -> tuple[Tensor, SoftMask | None]:
        """Return [B, T, d] to the same, and the mask for the next layer; see `DETREncoderLayer`."""
        q, (k, v) = self.attention.queries(clips + positions), self.attention.keys_values(words)
        mask = self.mask.of_cross_attention(clips, q, k, is_word) if self.mask else previous
        heads = fused_attention(q, k, v, mask, is_word, dropout_rate(self.dropout))
        x = clips + self.dropout(self.attention.join(heads))
        x = x + self.dropout(self.feed_forward(self.norms[0](x)))
        out = self.norms[1](x)
        return out if self.linear is None else out + self.linear(out), mask


class GlobalSaliency(nn.Module):
    """Saliency: how each clip fits a token that goes through the encoder with the clips."""

    def __init__(self, d: int) -> None:
        super().__init__()
        self.token = nn.Parameter(torch.randn(d))
        self.position = nn.Parameter(torch.randn(d))
        self.of_clips, self.of_token = nn.Linear(d, d), nn.Linear(d, d)

    def forward(self, clips: Tensor, token: Tensor) -> Tensor:
        """Return [B, T] scaled products of clips [B, T, d] and the token [B, d] as the encoder left them."""
        products: Tensor = self.of_clips(clips) @ self.of_token(token)[:, :, None]
        return products[:, :, 0] / math.sqrt(token.shape[1])


class AnchorDecoder(nn.Module):
    """N anchors (DAB-DETR, Liu et al. 2022): spans that attend by their position and move by layer."""

    def __init__(self, config: DETRConfig) -> None:
        super().__init__()
        d = config.d
        self.anchors = nn.Parameter(torch.randn(config.n_moments, 2))
        self.place, self.scale, self.width = mlp(d, d, d, 2), mlp(d, d, d, 2), mlp(d, d, 1, 2)
        self.move = mlp(d, d, 2, 3)
        numbers = range(config.decoder_layers)
        self.layers = nn.ModuleList(AnchorLayer(config, is_first=number == 0) for number in numbers)
        self.norm = nn.LayerNorm(d)
        self.apply(initialise)
        nn.init.zeros_(cast(nn.Linear, self.move[-1]).bias)
        self.classes, self.spans = nn.Linear(d, 2), mlp(d, d, 2, 3)

    def forward(self, memory: Tensor, positions: Tensor, is_token: Tensor) -> tuple[Tensor, Tensor]:
        """Logits and spans of each layer, see `Detections`; for the arguments, see `Encoded`."""
        anchor = self.anchors.sigmoid().expand(len(memory), -1, -1)
        x = memory.new_zeros(*anchor.shape[:2], memory.shape[2])
        outputs, anchors = [], [anchor]
        for number, layer in enumerate(self.layers):
            if number:
                anchors.append((self.move(x) + inverse_sigmoid(anchor)).sigmoid())
                # no gradient: a layer is not to learn from where the next one starts to look
                anchor = anchors[-1].detach()
            sine = sines(anchor, x.shape[2] // 2).flatten(2)
            anchor_positions = self.place(sine)
            sine = sine * self.scale(x) if number else sine
            # a narrow anchor looks at less around its centre
            sine = sine * (self.width(x).sigmoid() / anchor[..., 1:])
            x = layer(x, anchor_positions, sine, memory, positions, is_token)
            outputs.append(self.norm(x))
        by_layer = torch.stack(outputs)
        spans = self.spans(by_layer) + inverse_sigmoid(torch.stack(anchors))
        return self.classes(by_layer), spans.sigmoid()


class AnchorLayer(nn.Module):
    """Attention among the moments, to the clips, and a feed-forward network; norms after the residuals."""

    def __init__(self, config: DETRConfig, *, is_first: bool) -> None:
        super().__init__()
        self.attention = AnchorSelfAttention(config)
        self.cross = AnchorCrossAttention(config, is_first=is_first)
        self.feed_forward = feed_forward(config, nn.PReLU())
        self.norms = nn.ModuleList(nn.LayerNorm(config.d) for _ in range(3))
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self, x: Tensor, places: Tensor, sine: Tensor, memory: Tensor, positions: Tensor, is_token: Tensor
    ) -> Tensor:
        """Return [B, N, d] to the same.

        Args:
            x: contents of the anchors; places and sine: their positions, learned and not, each [B, N, d].
            memory, positions, is_token: see `Encoded`.
        """
        rate = dropout_rate(self.dropout)
        x = self.norms[0](x + self.dropout(self.attention(x, places, rate)))
        attended = self.cross(x, places, sine, memory, positions, is_token, rate)
        x = self.norms[1](x + self.dropout(attended))
        out: Tensor = self.norms[2](x + self.dropout(self.feed_forward(x)))
        return out


class AnchorSelfAttention(nn.Module):
    """Among the moments: a query or key is the sum of a content and a position, each projected."""

    def __init__(self, config: DETRConfig) -> None:
        super().__init__()
        d = config.d
        self.heads = config.heads
        self.q, self.q_place, self.k, self.k_place, self.v, self.out = (nn.Linear(d, d) for _ in range(6))

    def forward(self, x: Tensor, places: Tensor, dropout: float) -> Tensor:
        """Return [B, N, d]; see `AnchorLayer.forward`."""
        parts = self.q(x) + self.q_place(places), self.k(x) + self.k_place(places), self.v(x)
        q, k, v = (split_heads(part, self.heads) for part in parts)
        out: Tensor = self.out(join_heads(scaled_dot_product_attention(q, k, v, dropout_p=dropout)))
        return out


class AnchorCrossAttention(nn.Module):
    """To the clips: each head compares contents, and also an anchor's sines with a clip's position."""

    def __init__(self, config: DETRConfig, *, is_first: bool) -> None:
        super().__init__()
        d = config.d
        self.heads = config.heads
        self.q, self.k, self.v, self.q_sine, self.k_position, self.out = (nn.Linear(d, d) for _ in range(6))
        self.q_place = nn.Linear(d, d) if is_first else None

    def forward(
        self,
        x: Tensor,
        places: Tensor,
        sine: Tensor,
        memory: Tensor,
        positions: Tensor,
        is_token: Tensor,
        dropout: float,
    ) -> Tensor:
        """Return [B, N, d] (see `AnchorLayer`); in the first layer, of zeros, positions are added."""
        q, k, k_position = self.q(x), self.k(memory), self.k_position(positions)
        if self.q_place is not None:
            q, k = q + self.q_place(places), k + k_position
        parts = q, self.q_sine(sine), k, k_position, self.v(memory)
        q, q_sine, k, k_position, v = (split_heads(part, self.heads) for part in parts)
        q, k = torch.cat([q, q_sine], dim=3), torch.cat([k, k_position], dim=3)
        attends = is_token[:, None, None, :]
        heads = scaled_dot_product_attention(q, k, v, attn_mask=attends, dropout_p=dropout)
        out: Tensor = self.out(join_heads(heads))
        return out


def inverse_sigmoid(fraction: Tensor) -> Tensor:
    """Return the logit of fractions in [0, 1], clamped to 0.001 from both ends."""
    return torch.log(fraction.clamp(min=1e-3) / (1 - fraction).clamp(min=1e-3))
