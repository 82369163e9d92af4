"""Simulated examples of moments and saliency, and the captions and scores that they come from."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.lab.datasets.moment_layouts import moment_video
from tests.lab.training.test_captions import WORDS, captions, embed_captions, one_hot, videos
from tests.lab.training.test_simulated import making
from vidsum.lab.datasets.examples import HighlightExample
from vidsum.lab.training.scripts import Script, ScriptQuery, ScriptSegment, fill_gaps, script_of
from vidsum.lab.training.sentences import Captions, words_of
from vidsum.lab.training.simulated import saliency_of, simulate_highlights, simulate_video
from vidsum.types import FloatArray

N = len(WORDS)


pytestmark = pytest.mark.usefixtures("own_home")


def each_word(texts: Sequence[str]) -> list[FloatArray]:
    return [one_hot(text.split()) for text in texts]


def simulated(n_videos: int = 40, seed: int = 0, most: int = 9) -> list[HighlightExample]:
    how = making()
    return simulate_highlights(how, words_of(how.captions, each_word, most), n_videos, (seed,))


def test_saliency_and_windows_tell_of_the_same_clips() -> None:
    for example in simulated(100):
        edges = np.linspace(0, 1, len(example.video) + 1)
        covered = np.zeros(len(example.video))
        for start, end in example.windows:
            covered += np.clip(np.minimum(edges[1:], end) - np.maximum(edges[:-1], start), 0, None)
        shares = covered * len(example.video)
        assert example.saliency.min() >= 0
        assert example.saliency.max() <= 12
        # borders of clips fall on whole seconds, those of windows anywhere, and a short rest at the end of
        # an example is no window: clips whose neighbours are like them are sure
        around = np.stack([shares[by : len(shares) - 4 + by] for by in range(5)])
        assert example.saliency[2:-2][(around > 0.99).all(axis=0)] == pytest.approx(12, abs=1e-3)
        assert example.saliency[2:-2][(around == 0).all(axis=0)] == pytest.approx(0, abs=1e-3)


def test_clips_end_with_their_endpoints_and_short_videos_have_fewer() -> None:
    lengths = set()
    for example in simulated(100):
        n_clips, n_numbers = example.video.shape
        lengths.add(n_clips)
        assert n_numbers == N + 1 + 2
        np.testing.assert_allclose(example.video[:, -2], np.arange(n_clips) / n_clips, atol=1e-6)
        np.testing.assert_allclose(example.video[:, -1], np.arange(1, n_clips + 1) / n_clips, atol=1e-6)
    assert max(lengths) == 20 > min(lengths)


def test_a_negative_pair_has_the_same_video_with_a_guide_of_its_own() -> None:
    differ = []
    for example in simulated():
        assert example.negative is not None
        np.testing.assert_array_equal(example.video[:, :N], example.negative.video[:, :N])
        differ.append(not np.array_equal(example.video, example.negative.video))
    assert np.mean(differ) > 0.5  # of three sentences the other one is now and then the same


def test_words_are_those_of_the_query_cut_to_the_most() -> None:
    known = each_word(captions().query_texts)
    for example in simulated(most=2):
        assert len(example.words) <= 2
        assert any(np.array_equal(example.words, rows[:2]) for rows in known)


def test_the_words_of_a_sentence_are_embedded_once() -> None:
    asked: list[str] = []

    def encode(texts: Sequence[str]) -> list[FloatArray]:
        asked.extend(texts)
        return each_word(texts)

    words = words_of(captions(), encode, 5)
    first = words([2, 0, 2])
    assert [np.array_equal(first[0], one) for one in first] == [True, False, True]
    assert words([0, 1])[0] is first[1]
    assert asked == [captions().query_texts[number] for number in (0, 2, 1)]


def test_what_annotators_scored_high_shows_more() -> None:
    scores = np.array([[0], [0], [12], [12], [0], [6]], np.float32)
    one = {"z": moment_video("z", 20.0, ("dog runs", (4.0, 12.0)), saliency=scores), **videos()}
    known = embed_captions(one, one_hot, "words")
    script = script_of(known, 0)
    how = replace(making(), captions=known)
    video = simulate_video(script, how, np.random.default_rng(0))
    saliency = saliency_of(script, ScriptQuery(0, 0, ((4.0, 12.0),)), video.timestamps)
    assert saliency.tolist() == [0] * 4 + [12] * 4 + [0] * 2 + [6] * 2 + [0] * 8
    shown = video.rows @ known.vectors[0]
    assert shown[4:8].mean() > shown[10:12].mean() > shown[8:10].mean()


SEGMENTS = st.lists(st.tuples(st.floats(0, 50), st.floats(0.1, 30)), min_size=1, max_size=5)


@given(SEGMENTS, st.integers(0, 99))
def test_no_gap_is_left_where_nothing_is_said(segments: list[tuple[float, float]], seed: int) -> None:
    own = tuple(ScriptSegment(0, start, min(60.0, start + length)) for start, length in segments)
    rows = np.eye(4, dtype=np.float32)
    known = Captions(
        (), np.zeros(0, np.int64), ("",) * 4, rows, {}, np.concatenate([rows] * 2), ("",) * 8, {}
    )
    full = fill_gaps(Script("x", 60.0, own), known, np.random.default_rng(seed))
    assert full.segments[: len(own)] == own
    tenths = np.arange(600) / 10 + 0.05
    bare = np.ones(600, bool)
    for one in full.segments:
        assert 0 <= one.start_s < one.end_s <= 60
        bare &= (tenths < one.start_s) | (tenths >= one.end_s)
    # what is left are gaps shorter than the shortest segment
    edges = np.flatnonzero(np.diff(np.concatenate([[0], bare.astype(int), [0]])))
    assert (np.diff(edges)[::2] <= 20).all()
    for other in full.segments[len(own) :]:
        assert all(other.end_s <= one.start_s or other.start_s >= one.end_s for one in own)
