"""mrnet-detr: MRNet's retention blocks read words and clips, QD-DETR's decoder and token answer.

Hu et al., "Maskable Retentive Network for Video Moment Retrieval", Sec. 4.2.2, which tells no more of it than
the decoder and the losses; docs/algorithms/detr.md has what was chosen.
"""

import torch
from torch import Tensor, nn

from vidsum.models.attention.learned_mask import learned_masks
from vidsum.models.configs import DETRConfig, MRNetConfig
from vidsum.models.detr import Detections, GlobalSaliency, TokenInputs
from vidsum.models.detr_decoder import AnchorDecoder
from vidsum.models.mrnet import Block, sparsity_loss


class MRNetDETR(nn.Module):
    """The whole model."""

    def __init__(self, config: DETRConfig) -> None:
        super().__init__()
        self.config = config
        self.inputs = TokenInputs(config)
        masks = learned_masks(config.mask, config.d, config.clips, config.layers)
        self.blocks = nn.ModuleList(Block(_block_config(config), mask) for mask in masks)
        self.norm = nn.LayerNorm(config.d)
        self.global_saliency = GlobalSaliency(config.d)
        self.decoder = AnchorDecoder(config)

    def forward(self, video: Tensor, is_clip: Tensor, words: Tensor, is_word: Tensor) -> Detections:
        """What is found in each video for its query; arguments are those of `MomentDETR.forward`."""
        clips, token, positions = self._encode(video, is_clip, words, is_word)
        logits, spans = self.decoder(clips, positions, is_clip)
        return Detections(logits, spans, self.global_saliency(clips, token))

    def saliency(self, video: Tensor, is_clip: Tensor, words: Tensor, is_word: Tensor) -> Tensor:
        """[B, T], by the encoder alone; see `forward`."""
        clips, token, _ = self._encode(video, is_clip, words, is_word)
        scores: Tensor = self.global_saliency(clips, token)
        return scores

    def sparsity_loss(self) -> Tensor:
        """Eq. 6, see `vidsum.models.mrnet.sparsity_loss`."""
        return sparsity_loss(self.blocks, self.config.sparsity)

    def _encode(
        self, video: Tensor, is_clip: Tensor, words: Tensor, is_word: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Clips [B, T, d] and the global token [B, d] as the blocks leave them, and the clips' positions."""
        clips, texts, positions = self.inputs(video, is_clip, words)
        batch, d = len(clips), self.config.d
        # in the place of MRNet's queries: the global token, which is one more word, and the words
        token = (self.global_saliency.token + self.global_saliency.position).expand(batch, 1, d)
        x = torch.cat([token, texts, clips], dim=1)
        is_key = torch.cat([is_word.new_ones(batch, 1), is_word, is_clip], dim=1)
        n_words = 1 + texts.shape[1]
        mask = None
        for block in self.blocks:
            x, mask = block(x, n_words, is_key, mask)
        x = self.norm(x)
        return x[:, n_words:], x[:, 0], positions


def _block_config(config: DETRConfig) -> MRNetConfig:
    """What MRNet's blocks need to know."""
    shared = ("clips", "d", "heads", "d_ff", "gamma", "decay", "sparse", "dropout")
    return MRNetConfig(**{name: getattr(config, name) for name in shared})
