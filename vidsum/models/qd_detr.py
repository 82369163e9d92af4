"""QD-DETR: clips first take in the words, then each other; anchors find moments, a token measures saliency.

Moon et al., "Query-Dependent Video Representation for Moment Retrieval and Highlight Detection" (2023).
"""

import torch
from torch import Tensor, nn

from vidsum.models.attention.heads import MultiHeadAttention
from vidsum.models.attention.learned_mask import LearnedMask, SoftMask, fused_attention, learned_masks
from vidsum.models.configs import DETRConfig
from vidsum.models.detr import (
    Detections,
    EncoderLayer,
    GlobalSaliency,
    TokenInputs,
    active,
    feed_forward,
    initialise,
)
from vidsum.models.detr_decoder import AnchorDecoder


class QDDETR(nn.Module):
    """The whole model."""

    def __init__(self, config: DETRConfig) -> None:
        super().__init__()
        self.config = config
        self.inputs = TokenInputs(config)
        masks = learned_masks(config.mask, config.d, config.words, config.layers, cross=True)
        self.cross = nn.ModuleList(CrossLayer(config, mask) for mask in masks)
        # the global token is one of the sequence
        masks = learned_masks(config.mask, config.d, 1 + config.clips, config.layers)
        self.encoder = nn.ModuleList(EncoderLayer(config, mask, nn.PReLU()) for mask in masks)
        for layers in (self.cross, self.encoder):
            layers.apply(initialise)
        self.global_saliency = GlobalSaliency(config.d)
        self.decoder = AnchorDecoder(config)

    def forward(self, video: Tensor, is_clip: Tensor, words: Tensor, is_word: Tensor) -> Detections:
        """What is found in each video for its query; arguments are those of `MomentDETR.forward`."""
        clips, token, positions = self._encode(video, is_clip, words, is_word)
        logits, spans = self.decoder(clips, positions, is_clip)
        return Detections(logits, spans, self.global_saliency(clips, token))

    def saliency(self, video: Tensor, is_clip: Tensor, words: Tensor, is_word: Tensor) -> Tensor:
        """[B, T], by the encoders alone; see `forward`."""
        clips, token, _ = self._encode(video, is_clip, words, is_word)
        scores: Tensor = self.global_saliency(clips, token)
        return scores

    def _encode(
        self, video: Tensor, is_clip: Tensor, words: Tensor, is_word: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Clips [B, T, d] and the global token [B, d] as the encoders leave them; the clips' positions."""
        clips, texts, positions = self.inputs(video, is_clip, words)
        mask = None
        for layer in self.cross:
            clips, mask = layer(clips, positions, texts, is_word, mask)
        batch, d = len(clips), self.config.d
        token, place = self.global_saliency.token, self.global_saliency.position
        x = torch.cat([token.expand(batch, 1, d), clips], dim=1)
        places = torch.cat([place.expand(batch, 1, d), positions], dim=1)
        is_token = torch.cat([is_clip.new_ones(batch, 1), is_clip], dim=1)
        mask = None
        for layer in self.encoder:
            x, mask = layer(x, places, is_token, mask)
        return x[:, 1:], x[:, 0], positions


class CrossLayer(nn.Module):
    """Clips attend to words; the norm before the feed-forward network is not on its residual."""

    def __init__(self, config: DETRConfig, mask: LearnedMask | None) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(config.d, config.heads)
        self.mask = mask
        self.feed_forward = feed_forward(config, nn.PReLU())
        self.norms = nn.ModuleList(nn.LayerNorm(config.d) for _ in range(2))
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self, clips: Tensor, positions: Tensor, words: Tensor, is_word: Tensor, mask: SoftMask | None
    ) -> tuple[Tensor, SoftMask | None]:
        """[B, T, d] to the same, and the learned mask for the next layer."""
        q, (k, v) = self.attention.queries(clips + positions), self.attention.keys_values(words)
        mask = self.mask(clips, q, k, is_word) if self.mask else mask
        heads = fused_attention(q, k, v, mask, is_word, active(self.dropout))
        x = clips + self.dropout(self.attention.join(heads))
        x = x + self.dropout(self.feed_forward(self.norms[0](x)))
        return self.norms[1](x), mask
