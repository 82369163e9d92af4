"""mrnet-live clip by clip against all clips at once."""

import torch

from vidsum.models.configs import HEADS, MRNetConfig
from vidsum.models.mrnet_live import LiveMRNet


def _model() -> LiveMRNet:
    torch.manual_seed(0)
    sizes = {**HEADS["live"], "d": 32, "d_ff": 16, "heads": 4}
    return LiveMRNet(MRNetConfig(dim_video=12, dim_query=10, **sizes)).eval()


@torch.inference_mode()
def test_clip_by_clip_is_all_at_once() -> None:
    model, video, queries = _model(), torch.randn(2, 300, 12), torch.randn(2, 3, 10)
    together = model(video, queries)
    read, state, found = model.read(queries), [None] * 2, []
    for clip in video.unbind(1):
        logits, state = model.step(clip, read, state)
        found.append(logits)
    assert torch.allclose(torch.stack(found, dim=2), together, atol=1e-5)
    assert together.std() > 0.1
