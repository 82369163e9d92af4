"""The model mrnet-live: match probabilities of queries, second by second, with the state between seconds."""

import numpy as np
import torch

from vidsum.checkpoints.named import checkpoint_file
from vidsum.checkpoints.trained import build_trained, read_trained
from vidsum.device import choose_device
from vidsum.errors import InputError, safe_name
from vidsum.grounding.presence import cohort_cosines
from vidsum.grounding.spaces import GUIDE_SCALE, ClipEmbeddings
from vidsum.models.configs import MRNetConfig
from vidsum.models.mrnet_live import NAME, LiveMRNet
from vidsum.types import FloatArray

_DECAY, _PRIOR_SECONDS = 0.98, 8.0
"""Factor by which a second's weight in the running mean and deviation falls each second, and the number of
seconds of mean 0 and deviation 1, as photographs have, that precede the first one."""


class RunningGuide:
    """The evidence of M queries for mrnet-live: as it is, and standardised over the seconds so far."""

    def __init__(self, n_queries: int) -> None:
        self._sums = np.full((n_queries, 3), (_PRIOR_SECONDS, 0.0, _PRIOR_SECONDS))
        """Seconds, evidence and its squares, which fade."""

    def add(self, z: FloatArray) -> FloatArray:
        """Return [M, 2] of the next second, whose evidence is z [M]."""
        self._sums = _DECAY * self._sums + np.stack([np.ones_like(z), z, np.square(z)], axis=1)
        count, total, squares = self._sums.T
        mean = total / count
        spread = np.sqrt(np.maximum(squares / count - np.square(mean), 1e-6))
        return np.asarray(GUIDE_SCALE * np.stack([z, (z - mean) / spread], axis=1), np.float32)


def live_rows(video: ClipEmbeddings, query: FloatArray) -> FloatArray:
    """Return [T, D + 2] the rows of a video and the running guide of one query [D], by the map alone."""
    mean, spread = cohort_cosines(query[None])
    guide, z = RunningGuide(1), (query[None] @ video.rows.T - mean) / spread
    return np.concatenate([video.rows, np.concatenate([guide.add(column) for column in z.T])], axis=1)


class LiveModel:
    """A trained model with what it has read of M queries: memory does not grow with the seconds."""

    def __init__(self, checkpoint: str, queries: FloatArray, device: str = "auto") -> None:
        """Load the model for queries [M, D] in `vse`. Raises InputError: it is another model."""
        trained = read_trained(checkpoint_file(checkpoint))
        if trained.model != NAME or trained.features.get("space") != "vse":
            fault = (
                f"{checkpoint}: a checkpoint of {safe_name(trained.model)}, not of {NAME} in the space vse"
            )
            raise InputError(fault, hint="vidsum train mrnet --recipe captions --head live")
        model = build_trained(trained, NAME, lambda config: LiveMRNet(MRNetConfig(**config)), checkpoint)
        self._device = choose_device(device)
        self._model = model.to(self._device)
        self._guide = RunningGuide(len(queries)) if trained.features.get("guided") else None
        with torch.inference_mode():
            self._queries = self._model.read(torch.from_numpy(queries).to(self._device)[:, None])
        self._state: list[torch.Tensor | None] = [None] * len(self._model.blocks)

    @torch.inference_mode()
    def present(self, row: FloatArray, z: FloatArray) -> FloatArray:
        """Return [M] how likely each query is true of the next second, by its row [1, D] and evidence [M]."""
        clips = np.repeat(row, len(z), axis=0)
        if self._guide:
            clips = np.concatenate([clips, self._guide.add(z)], axis=1)
        logits, self._state = self._model.step(
            torch.from_numpy(clips).to(self._device), self._queries, self._state
        )
        present: FloatArray = logits[:, 0].sigmoid().cpu().numpy()
        return present
