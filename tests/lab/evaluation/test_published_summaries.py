"""Summaries that others published with their F-measures: CSNet (Jung et al., AAAI 2019) on SumMe, as run by
Kanafani et al., "Unsupervised Video Summarization via Multi-source Features", ICMR 2021."""

from pathlib import Path

import numpy as np
import pytest

from vidsum.lab.datasets.labels import read_summe_protocol
from vidsum.lab.evaluation.reference import f_measures


@pytest.mark.shared
def test_csnet_scores_on_summe_as_published(shared: Path) -> None:
    """The F-measure of each video with its nearest annotator, to five digits, and their mean."""
    folder = shared / "data" / "summe"
    videos = read_summe_protocol(folder / "summe_protocol.npz")
    with np.load(folder / "csnet_summaries.npz") as published:
        assert len(videos) == 25 == len(published.files) / 2
        scores = []
        for name, video in videos.items():
            key = name.partition("/")[2]
            summary = published[f"{key}/machine_summary"]
            f = f_measures(summary, video.user_summary, np.ones(video.n_frames)).max()
            assert f"{100 * f:.5g}" == f"{published[f'{key}/f_max_percent'].item():.5g}", name
            scores.append(f)
    assert f"{100 * np.mean(scores):.3f}" == "43.744"
