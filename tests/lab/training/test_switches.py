"""The rows of docs.benchmarks.qvhighlights_switches."""

import torch

from docs.benchmarks.qvhighlights_switches import PAPER, SIZES, SWITCHES
from vidsum.lab.training.loop import first_weights
from vidsum.lab.training.settings import MRNetSettings
from vidsum.models.mrnet import MRNet, match_scores
from vidsum.options import build


def test_each_switch_but_that_of_the_loss_changes_the_scores() -> None:
    generator = torch.Generator().manual_seed(0)
    video, query = (torch.randn(2, n, 8, generator=generator) for n in (16, 1))
    scores = {}
    for name, switches in SWITCHES.items():
        sizes = {**SIZES, "clips": 16, **switches, "dim_video": 8, "dim_query": 8}
        with first_weights(0):
            model = MRNet(build(MRNetSettings, sizes).model).eval()
        scores[name] = match_scores(model(video, query))[:, 0, model.valid]
    same = [name for name, own in scores.items() if torch.allclose(own, scores[PAPER], atol=1e-7)]
    assert same == [PAPER, "no sparsity loss (Table 7)"]
