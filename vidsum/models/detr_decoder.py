"""The decoders of the DETR models: N moments that attend to each other and to the video, as it was encoded.

Moment-DETR's moments are learned queries (Carion et al. 2020); QD-DETR's are anchors, spans that each layer
moves (DAB-DETR, Liu et al. 2022). Both give the logits and spans of each layer.
"""

from typing import cast

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from vidsum.models.attention.heads import MultiHeadAttention, join_heads, split_heads
from vidsum.models.attention.positions import sines
from vidsum.models.configs import DETRConfig
from vidsum.models.detr import active, feed_forward, initialise, mlp


class QueryDecoder(nn.Module):
    """Moment-DETR's: learned queries that hold nothing at first, and know their places alone."""

    def __init__(self, config: DETRConfig) -> None:
        super().__init__()
        self.places = nn.Parameter(torch.randn(config.n_moments, config.d))
        self.layers = nn.ModuleList(QueryLayer(config) for _ in range(config.decoder_layers))
        self.norm = nn.LayerNorm(config.d)
        self.layers.apply(initialise)
        self.classes, self.spans = nn.Linear(config.d, 2), mlp(config.d, config.d, 2, 3)

    def forward(self, memory: Tensor, positions: Tensor, is_token: Tensor) -> tuple[Tensor, Tensor]:
        """Logits and spans [L, B, N, 2] of each layer, as `Detections` has them.

        Args:
            memory: [B, T, d] of the encoder.
            positions: [B, T, d] of its tokens.
            is_token: [B, T] bool, False for padding.
        """
        places = self.places.expand(len(memory), -1, -1)
        x = torch.zeros_like(places)
        found = []
        for layer in self.layers:
            x = layer(x, places, memory, memory + positions, is_token)
            found.append(self.norm(x))
        each = torch.stack(found)
        return self.classes(each), self.spans(each).sigmoid()


class QueryLayer(nn.Module):
    """Attention among the moments, to the memory, and a feed-forward network; norms after the residuals."""

    def __init__(self, config: DETRConfig) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(config.d, config.heads)
        self.cross = MultiHeadAttention(config.d, config.heads)
        self.feed_forward = feed_forward(config, nn.ReLU())
        self.norms = nn.ModuleList(nn.LayerNorm(config.d) for _ in range(3))
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x: Tensor, places: Tensor, memory: Tensor, placed: Tensor, is_token: Tensor) -> Tensor:
        """[B, N, d] to the same; `placed` is the memory with its positions."""
        own, share = self.attention, active(self.dropout)
        q, k, v = own.queries(x + places), own.keys(x + places), own.values(x)
        heads = scaled_dot_product_attention(q, k, v, dropout_p=share)
        x = self.norms[0](x + self.dropout(own.join(heads)))
        q, k, v = self.cross.queries(x + places), self.cross.keys(placed), self.cross.values(memory)
        seen = is_token[:, None, None, :]
        heads = scaled_dot_product_attention(q, k, v, attn_mask=seen, dropout_p=share)
        x = self.norms[1](x + self.dropout(self.cross.join(heads)))
        out: Tensor = self.norms[2](x + self.dropout(self.feed_forward(x)))
        return out


class AnchorDecoder(nn.Module):
    """QD-DETR's: each layer attends by where the anchors are, and moves them for the next one."""

    def __init__(self, config: DETRConfig) -> None:
        super().__init__()
        d = config.d
        self.anchors = nn.Parameter(torch.randn(config.n_moments, 2))
        self.place, self.scale, self.width = mlp(d, d, d, 2), mlp(d, d, d, 2), mlp(d, d, 1, 2)
        self.move = mlp(d, d, 2, 3)
        self.layers = nn.ModuleList(
            AnchorLayer(config, is_first=number == 0) for number in range(config.decoder_layers)
        )
        self.norm = nn.LayerNorm(d)
        self.apply(initialise)
        nn.init.zeros_(cast(nn.Linear, self.move[-1]).bias)
        self.classes, self.spans = nn.Linear(d, 2), mlp(d, d, 2, 3)

    def forward(self, memory: Tensor, positions: Tensor, is_token: Tensor) -> tuple[Tensor, Tensor]:
        """Logits and spans [L, B, N, 2] of each layer, as `Detections` has them.

        Args:
            memory: [B, T, d] of the encoder, of the clips.
            positions: [B, T, d] of the clips.
            is_token: [B, T] bool, False for padding.
        """
        anchor = self.anchors.sigmoid().expand(len(memory), -1, -1)
        x = memory.new_zeros(*anchor.shape[:2], memory.shape[2])
        found, anchors = [], [anchor]
        for number, layer in enumerate(self.layers):
            if number:
                anchors.append((self.move(x) + inverse_sigmoid(anchor)).sigmoid())
                # a layer is not to learn through where the next one starts to look
                anchor = anchors[-1].detach()
            sine = sines(anchor, x.shape[2] // 2).flatten(2)
            places = self.place(sine)
            sine = sine * self.scale(x) if number else sine
            # an anchor that is taken to be narrow looks at less around its centre
            sine = sine * (self.width(x).sigmoid() / anchor[..., 1:])
            x = layer(x, places, sine, memory, positions, is_token)
            found.append(self.norm(x))
        each = torch.stack(found)
        spans = self.spans(each) + inverse_sigmoid(torch.stack(anchors))
        return self.classes(each), spans.sigmoid()


class AnchorLayer(nn.Module):
    """As `QueryLayer`, but contents and places have projections of their own, and the places side by side."""

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
        """[B, N, d] to the same; places and sine are [B, N, d] of the anchors."""
        share = active(self.dropout)
        x = self.norms[0](x + self.dropout(self.attention(x, places, share)))
        attended = self.cross(x, places, sine, memory, positions, is_token, share)
        x = self.norms[1](x + self.dropout(attended))
        out: Tensor = self.norms[2](x + self.dropout(self.feed_forward(x)))
        return out


class AnchorSelfAttention(nn.Module):
    """Among the moments: a query or key is the sum of a content and a place."""

    def __init__(self, config: DETRConfig) -> None:
        super().__init__()
        d = config.d
        self.heads = config.heads
        self.q, self.q_place, self.k, self.k_place, self.v, self.out = (nn.Linear(d, d) for _ in range(6))

    def forward(self, x: Tensor, places: Tensor, dropout: float) -> Tensor:
        """[B, N, d] of contents and places [B, N, d]."""
        q, k = self.q(x) + self.q_place(places), self.k(x) + self.k_place(places)
        q, k, v = (split_heads(one, self.heads) for one in (q, k, self.v(x)))
        out: Tensor = self.out(join_heads(scaled_dot_product_attention(q, k, v, dropout_p=dropout)))
        return out


class AnchorCrossAttention(nn.Module):
    """To the clips: each head compares contents, and beside them an anchor's sines with a clip's position."""

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
        """[B, N, d]; in the first layer, where contents are empty, places are added to them."""
        q, k, where = self.q(x), self.k(memory), self.k_position(positions)
        if self.q_place is not None:
            q, k = q + self.q_place(places), k + where
        q, q_sine, k, where, v = (
            split_heads(one, self.heads) for one in (q, self.q_sine(sine), k, where, self.v(memory))
        )
        heads = scaled_dot_product_attention(
            torch.cat([q, q_sine], dim=3),
            torch.cat([k, where], dim=3),
            v,
            attn_mask=is_token[:, None, None, :],
            dropout_p=dropout,
        )
        out: Tensor = self.out(join_heads(heads))
        return out


def inverse_sigmoid(share: Tensor) -> Tensor:
    """Of shares in [0, 1]; those nearer than 0.001 to an end count as that far from it."""
    return torch.log(share.clamp(min=1e-3) / (1 - share).clamp(min=1e-3))
