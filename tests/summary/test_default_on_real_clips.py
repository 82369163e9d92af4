"""What `summarize` gives with no option at all, on real clips with the real network."""

from pathlib import Path

import pytest

import vidsum

pytestmark = [pytest.mark.deep, pytest.mark.shared, pytest.mark.weights]


def test_the_default_is_neither_flat_nor_always_the_opening(
    shared_videos: Path, default_weights: Path
) -> None:
    clips = sorted(path for path in shared_videos.iterdir() if path.suffix in (".mp4", ".mkv"))[::2]
    openings = 0
    for clip in clips:
        summary = vidsum.summarize(clip, device="cpu", cache=False)
        spread = summary.importance.max() - summary.importance.min()
        assert spread > 0.05 * summary.importance.mean(), clip.name
        opens = summary.segments[0][0] == 0
        best = max(summary.shots, key=lambda shot: shot.score)
        assert not opens or best.start_s == 0, clip.name
        openings += opens
    assert openings <= len(clips) / 4  # at random one in seven
