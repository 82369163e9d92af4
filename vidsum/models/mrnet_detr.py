"""mrnet-detr: MRNet's retention blocks read words and clips; QD-DETR's decoder and token give the answer.

Hu et al., "Maskable Retentive Network for Video Moment Retrieval", Sec. 4.2.2, which describes no more than
the decoder and the losses; docs/algorithms/detr.md lists what was chosen.
"""

import torch
from torch import Tensor, nn

from vidsum.models.configs import DETRConfig, MRNetConfig
from vidsum.models.detr import DETR, Encoded
from vidsum.models.mrnet import make_blocks, run_blocks, sparsity_loss
from vidsum.models.qd_detr import AnchorDecoder, GlobalSaliency

_BLOCK_FIELDS = ("clips", "d", "layers", "heads", "d_ff", "gamma", "decay", "sparse", "dropout", "mask")


class MRNetDETR(DETR):
    """The whole model; see `DETR`."""

    def __init__(self, config: DETRConfig) -> None:
        super().__init__(config)
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
