"""Moment-DETR: clips and words in one sequence, an encoder over both, and learned queries that find moments.

Lei, Berg and Bansal, "Detecting Moments and Highlights in Videos via Natural Language Queries" (2021).
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from vidsum.models.attention.learned_mask import learned_masks
from vidsum.models.configs import DETRConfig
from vidsum.models.detr import Detections, EncoderLayer, TokenInputs, initialise
from vidsum.models.detr_decoder import QueryDecoder


class MomentDETR(nn.Module):
    """The whole model."""

    def __init__(self, config: DETRConfig) -> None:
        super().__init__()
        self.config = config
        self.inputs = TokenInputs(config)
        masks = learned_masks(config.mask, config.d, config.clips + config.words, config.layers)
        self.encoder = nn.ModuleList(EncoderLayer(config, mask, nn.ReLU()) for mask in masks)
        self.encoder.apply(initialise)
        self.decoder = QueryDecoder(config)
        self.saliency_head = nn.Linear(config.d, 1)

    def forward(self, video: Tensor, is_clip: Tensor, words: Tensor, is_word: Tensor) -> Detections:
        """What is found in each video for its query.

        Args:
            video: [B, T, dim_video], the last two numbers of a clip its endpoints; T at most `clips`.
            is_clip: [B, T] bool, False for padding, which comes last.
            words: [B, W, dim_query]; W at most `words`.
            is_word: [B, W] bool, False for padding.

        Raises:
            ValueError: there are more clips or words than the config has.
        """
        memory, positions, is_token = self._encode(video, is_clip, words, is_word)
        logits, spans = self.decoder(memory, positions, is_token)
        return Detections(logits, spans, self._saliency(memory, video.shape[1]))

    def saliency(self, video: Tensor, is_clip: Tensor, words: Tensor, is_word: Tensor) -> Tensor:
        """[B, T], by the encoder alone; see `forward`."""
        memory, _, _ = self._encode(video, is_clip, words, is_word)
        return self._saliency(memory, video.shape[1])

    def _encode(
        self, video: Tensor, is_clip: Tensor, words: Tensor, is_word: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The encoder's output for clips and words, their positions, and which are no padding."""
        clips, texts, places = self.inputs(video, is_clip, words)
        # a learned mask has a column for each place: the words' must not depend on how long the video is
        lacking = self.config.clips - clips.shape[1] if self.config.mask else 0
        x = torch.cat([pad(clips, (0, 0, 0, lacking)), texts], dim=1)
        positions = pad(places, (0, 0, 0, x.shape[1] - places.shape[1]))
        is_token = torch.cat([pad(is_clip, (0, lacking)), is_word], dim=1)
        mask = None
        for layer in self.encoder:
            x, mask = layer(x, positions, is_token, mask)
        return x, positions, is_token

    def _saliency(self, memory: Tensor, n_clips: int) -> Tensor:
        scores: Tensor = self.saliency_head(memory[:, :n_clips])
        return scores[:, :, 0]
