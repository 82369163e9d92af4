"""mrnet-live clip by clip against all clips at once."""

import pytest
import torch

from vidsum.models.configs import HEADS, MRNetConfig
from vidsum.models.mrnet_live import LiveMRNet


def _model(clips: int) -> LiveMRNet:
    torch.manual_seed(0)
    sizes = {**HEADS["live"], "clips": clips, "d": 32, "d_ff": 16, "heads": 4}
    return LiveMRNet(MRNetConfig(dim_video=12, dim_query=10, **sizes)).eval()


@pytest.mark.parametrize("n_clips", [300, 600, 1024])
@pytest.mark.parametrize("clips", [150, 600])
@torch.inference_mode()
def test_clip_by_clip_is_all_at_once(n_clips: int, clips: int) -> None:
    model, video, queries = _model(clips), torch.randn(2, n_clips, 12), torch.randn(2, 3, 10)
    together = model(video, queries)
    read, state, found = model.read(queries), [None] * 2, []
    for clip in video.unbind(1):
        logits, state = model.step(clip, read, state)
        found.append(logits)
    assert torch.allclose(torch.stack(found, dim=2), together, atol=1e-5)
    assert together.std() > 0.1
