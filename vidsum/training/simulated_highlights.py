"""Training examples of moments and saliency made up from captions: the videos are those of `made_up`."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from vidsum.datasets.highlight_examples import HighlightExample, Pair
from vidsum.features.resample import resample
from vidsum.grounding.spaces import STEP_S, ClipEmbeddings, guided_rows, rows_of
from vidsum.grounding.windows import clips_of
from vidsum.training.captions import Words, filled
from vidsum.training.simulated import Draft, Making, drafted, saliency_of, see
from vidsum.types import FloatArray


class _Seen(NamedTuple):
    """An example whose words are not embedded yet."""

    draft: Draft
    video: FloatArray
    saliency: FloatArray
    other: int
    """Any sentence: that it is true of this video too is very unlikely."""
    against: FloatArray
    """The video beside the other sentence."""


def make_up_highlights(
    how: Making, words: Words, n_videos: int, seed: Sequence[int]
) -> list[HighlightExample]:
    """Training examples, drawn anew for each seed; each has one query.

    A video of fewer clips than `how.clips` is taken as it is, not stretched to so many.

    Args:
        how: to make them.
        words: called once for all sentences that are asked.
        n_videos: how many.
        seed: numbers that the draws depend on, such as a seed and an epoch.

    Raises:
        UsageError: hardly a draw has a query that is true in a part of the video only.
    """
    rng = np.random.default_rng(list(seed))
    seen = [_seen(how, rng) for _ in range(n_videos)]
    embedded = words([sentence for one in seen for sentence in (one.draft.asked[0], one.other)])
    return [
        _example(one, *of_one)
        for one, of_one in zip(seen, zip(embedded[::2], embedded[1::2], strict=True), strict=True)
    ]


def _seen(how: Making, rng: np.random.Generator) -> _Seen:
    draft = drafted(how, rng)
    script = filled(draft.script, how.captions, rng)
    video = see(script, how, rng)
    other = int(rng.integers(len(how.captions.asked)))
    beside = [_clips(video, sentence, draft.window, how) for sentence in (draft.asked[0], other)]
    saliency = saliency_of(draft.script, draft.asked[0], video.timestamps)[draft.window]
    return _Seen(draft, beside[0], resample(saliency[:, None], len(beside[0]))[:, 0], other, beside[1])


def _clips(video: ClipEmbeddings, sentence: int, window: slice, how: Making) -> FloatArray:
    rows = guided_rows(video, how.captions.asked[sentence]) if how.guided else rows_of(video)
    return clips_of(rows[window], STEP_S, how.clip_s, how.clips)


def _example(seen: _Seen, words: FloatArray, other_words: FloatArray) -> HighlightExample:
    windows = seen.draft.windows[0]
    return HighlightExample(
        name=seen.draft.script.name,
        video=seen.video,
        words=words,
        windows=windows[windows[:, 1] > windows[:, 0]],
        saliency=seen.saliency,
        against=Pair(seen.against, other_words),
    )
