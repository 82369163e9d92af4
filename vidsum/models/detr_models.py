"""The DETR models by their names; those that are small here: Moment-DETR and mrnet-detr.

Moment-DETR has an encoder over clips and words in one sequence, and learned queries that become moments:
Lei, Berg and Bansal, "Detecting Moments and Highlights in Videos via Natural Language Queries" (2021).

In mrnet-detr MRNet's retention blocks read words and clips; QD-DETR's decoder and token give the answer:
Hu et al., "Maskable Retentive Network for Video Moment Retrieval", Sec. 4.2.2, which describes no more
than the decoder and the losses. docs/algorithms/detr.md lists what was chosen.
"""

from collections.abc import Mapping
from types import MappingProxyType

import torch
from torch import Tensor, nn
from torch.nn.functional import pad, scaled_dot_product_attention

from vidsum.errors import Mention, UsageError
from vidsum.models.attention.heads import MultiHeadAttention, initialise
from vidsum.models.attention.learned_mask import learned_masks
from vidsum.models.configs import DETRConfig, MRNetConfig
from vidsum.models.detr import DETR, DETREncoderLayer, Encoded, dropout_rate, feed_forward, mlp
from vidsum.models.mrnet import make_blocks, run_blocks, sparsity_loss
from vidsum.models.qd_detr import QDDETR, AnchorDecoder, GlobalSaliency


class MomentDETR(DETR):
    """The whole model; see `DETR`."""

    def __init__(self, config: DETRConfig) -> None:
        super().__init__(config)
        masks = learned_masks(config.mask, config.d, config.clips + config.words, config.layers)
        self.encoder = nn.ModuleList(DETREncoderLayer(config, mask, nn.ReLU()) for mask in masks)
        self.encoder.apply(initialise)
        self.decoder = QueryDecoder(config)
        self.saliency_head = nn.Linear(config.d, 1)

    def _encode(
        self, clips: Tensor, positions: Tensor, is_clip: Tensor, words: Tensor, is_word: Tensor
    ) -> Encoded:
        n_clips = clips.shape[1]
        # a learned mask has a column for each position: the words' must not depend on the video's length
        lacking = self.config.clips - n_clips if self.config.mask else 0
        x = torch.cat([pad(clips, (0, 0, 0, lacking)), words], dim=1)
        positions = pad(positions, (0, 0, 0, x.shape[1] - n_clips))
        is_token = torch.cat([pad(is_clip, (0, lacking)), is_word], dim=1)
        mask = None
        for layer in self.encoder:
            x, mask = layer(x, positions, is_token, mask)
        return Encoded(x, positions, is_token, lambda: self.saliency_head(x[:, :n_clips])[:, :, 0])


class QueryDecoder(nn.Module):
    """N learned queries (Carion et al. 2020) that attend to each other and to the encoder's output."""

    def __init__(self, config: DETRConfig) -> None:
        super().__init__()
        self.places = nn.Parameter(torch.randn(config.n_moments, config.d))
        self.layers = nn.ModuleList(QueryLayer(config) for _ in range(config.decoder_layers))
        self.norm = nn.LayerNorm(config.d)
        self.layers.apply(initialise)
        self.classes, self.spans = nn.Linear(config.d, 2), mlp(config.d, config.d, 2, 3)

    def forward(self, memory: Tensor, positions: Tensor, is_token: Tensor) -> tuple[Tensor, Tensor]:
        """Logits and spans of each layer, see `Detections`; for the arguments, see `Encoded`."""
        query_positions = self.places.expand(len(memory), -1, -1)
        x = torch.zeros_like(query_positions)  # queries have nothing but a position at first
        outputs = []
        for layer in self.layers:
            x = layer(x, query_positions, memory, memory + positions, is_token)
            outputs.append(self.norm(x))
        by_layer = torch.stack(outputs)
        return self.classes(by_layer), self.spans(by_layer).sigmoid()


class QueryLayer(nn.Module):
    """Attention among the moments, to the memory, and a feed-forward network; norms after the residuals."""

    def __init__(self, config: DETRConfig) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(config.d, config.heads)
        self.cross = MultiHeadAttention(config.d, config.heads)
        self.feed_forward = feed_forward(config, nn.ReLU())
        self.norms = nn.ModuleList(nn.LayerNorm(config.d) for _ in range(3))
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x: Tensor, positions: Tensor, memory: Tensor, keys: Tensor, is_token: Tensor) -> Tensor:
        """Return [B, N, d] to the same, with their positions; `keys` are the memory with its positions."""
        attention, cross, rate = self.attention, self.cross, dropout_rate(self.dropout)
        q, k, v = attention.queries(x + positions), attention.keys(x + positions), attention.values(x)
        heads = scaled_dot_product_attention(q, k, v, dropout_p=rate)
        x = self.norms[0](x + self.dropout(attention.join(heads)))
        q, k, v = cross.queries(x + positions), cross.keys(keys), cross.values(memory)
        attends = is_token[:, None, None, :]
        heads = scaled_dot_product_attention(q, k, v, attn_mask=attends, dropout_p=rate)
        x = self.norms[1](x + self.dropout(cross.join(heads)))
        out: Tensor = self.norms[2](x + self.dropout(self.feed_forward(x)))
        return out


_BLOCK_FIELDS = ("clips", "d", "layers", "heads", "d_ff", "gamma", "decay", "sparse", "dropout", "mask")


class MRNetDETR(DETR):
    """The whole model; see `DETR`."""

    def __init__(self, config: DETRConfig) -> None:
        super().__init__(config)
        if config.linear_layers:
            raise UsageError("mrnet-detr has no added linear layers", hint=Mention("model", "qd-detr"))
        self.blocks = make_blocks(MRNetConfig(**{name: getattr(config, name) for name in _BLOCK_FIELDS}))
        self.norm = nn.LayerNorm(config.d)
        self.global_saliency = GlobalSaliency(config.d)
        self.decoder = AnchorDecoder(config)

    def sparsity_loss(self) -> Tensor:
        """Eq. 6, see `vidsum.models.mrnet.sparsity_loss`."""
        return sparsity_loss(self.blocks, self.config.sparsity)

    def _encode(
        self, clips: Tensor, positions: Tensor, is_clip: Tensor, words: Tensor, is_word: Tensor
    ) -> Encoded:
        # in place of MRNet's queries: the global token, which is one more word, and the words
        first = self.global_saliency.token + self.global_saliency.position
        x = torch.cat([first.expand(len(clips), 1, -1), words, clips], dim=1)
        is_key = torch.cat([is_word.new_ones(len(clips), 1), is_word, is_clip], dim=1)
        n_words = 1 + words.shape[1]
        x = self.norm(run_blocks(self.blocks, x, n_words, is_key))
        clips, token = x[:, n_words:], x[:, 0]
        return Encoded(clips, positions, is_clip, lambda: self.global_saliency(clips, token))


MODELS: Mapping[str, type[DETR]] = MappingProxyType(
    {"moment-detr": MomentDETR, "qd-detr": QDDETR, "mrnet-detr": MRNetDETR}
)

WITHOUT_NEGATIVES = ("moment-detr",)  # models whose loss has no negative pairs: their saliency has no zero


def build(name: str, config: DETRConfig) -> DETR:
    """Return a new model, one of MODELS, its weights drawn by PyTorch's generator."""
    return MODELS[name](config)
