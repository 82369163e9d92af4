"""Simulated examples of moments and of saliency, and the captions that they come from."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.lab.datasets.moment_layouts import moment_video
from tests.lab.training.test_captions import WORDS, captions, one_hot, videos
from vidsum.errors import UsageError
from vidsum.lab.datasets.moment_examples import HighlightExample, MomentExample
from vidsum.lab.training.embedded_sentences import Captions, embed_sentences, words_of
from vidsum.lab.training.scripts import NOTHING, Script, ScriptQuery, ScriptSegment, fill_gaps, script_of
from vidsum.lab.training.simulated import (
    Show,
    SimulationSettings,
    saliency_of,
    simulate_highlights,
    simulate_moments,
    simulate_video,
)
from vidsum.models.scaling import unit_rows
from vidsum.types import FloatArray

N = len(WORDS)


pytestmark = pytest.mark.usefixtures("own_home")


def clear(captions: FloatArray, noise: FloatArray) -> FloatArray:
    return unit_rows(captions + 1e-9 * noise)


def noisy(captions: FloatArray, noise: FloatArray) -> FloatArray:
    return unit_rows(captions + 0.3 * noise)


def making(show: Show = clear) -> SimulationSettings:
    return SimulationSettings(captions(), show, clips=20, clip_s=1.0)


def simulated(show: Show = clear, n_videos: int = 30, seed: int = 0) -> list[MomentExample]:
    return simulate_moments(making(show), n_videos, (seed,))


def inside(example: MomentExample) -> tuple[np.ndarray, np.ndarray]:
    """[T] which clips lie in a window of the query, and which are not at an edge of one."""
    n_clips = len(example.video)
    middle = (np.arange(n_clips) + 0.5) / n_clips
    windows = example.windows[0]
    within = ((middle[:, None] > windows[:, 0]) & (middle[:, None] < windows[:, 1])).any(axis=1)
    far = np.abs(middle[:, None, None] - windows).min(axis=(1, 2)) > 2 / n_clips
    return within, far


def test_clips_fit_the_query_inside_its_windows_and_not_outside() -> None:
    sentences = captions().vectors
    fits_inside, fits_outside = [], []
    for example in simulated():
        seen = sentences[(sentences @ example.queries[0]).argmax()]
        within, far = inside(example)
        cosines = example.video[:, :N] @ seen
        fits_inside += cosines[within & far].tolist()
        fits_outside += cosines[~within & far].tolist()
    assert min(len(fits_inside), len(fits_outside)) > 50
    assert np.mean(fits_inside) > 0.95
    assert np.mean(fits_outside) < 0.5  # by chance the background says the same


def test_windows_lie_inside_the_example() -> None:
    for example in simulated(n_videos=100):
        assert example.video.shape == (20, N + 1)
        assert example.windows.min() >= 0
        assert example.windows.max() <= 1
        assert (example.windows[..., 1] - example.windows[..., 0]).min() >= 0


def test_no_query_is_true_all_the_time() -> None:
    for example in simulated(n_videos=100):
        assert (example.windows[..., 1] - example.windows[..., 0]).sum(axis=1).max() <= 0.7


def test_captions_that_are_true_all_the_time_are_refused() -> None:
    one = {"a": moment_video("a", 40.0, ("dog runs", (0.0, 40.0)))}
    how = replace(making(), captions=embed_sentences(one, one_hot, "words"))
    with pytest.raises(UsageError, match="1 captions are too few") as refused:
        simulate_moments(how, 1, (0,))
    assert refused.value.hint == "more data"


def test_outlier_looks_unlike_everything() -> None:
    shown = (ScriptSegment(0, 0.0, 10.0), ScriptSegment(NOTHING, 10.0, 20.0))
    fits = []
    for seed in range(20):
        video = simulate_video(Script("x", 20.0, shown), making(noisy), np.random.default_rng(seed))
        fits.append(video.rows @ captions().vectors[0])
    cosines = np.array(fits)
    assert np.mean(cosines[:, :10]) > 0.5
    assert np.mean(cosines[:, 10:]) == pytest.approx(0, abs=0.1)


@pytest.fixture(scope="module")
def noises() -> np.ndarray:
    """[400, 5, N] the noise of five clips, in three shots and with three texts, in 400 draws."""
    spans = (0, 0.0, 2.0, 0), (0, 2.0, 3.0, 1), (1, 3.0, 4.0, 1), (2, 4.0, 5.0, 2)
    script = Script("x", 5.0, tuple(ScriptSegment(*span) for span in spans))
    settings = making(lambda captions, noise: noise)
    rows = [simulate_video(script, settings, np.random.default_rng(seed)).rows for seed in range(400)]
    return np.stack(rows)


def test_noise_has_deviation_1(noises: np.ndarray) -> None:
    assert np.std(noises) == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize(
    ("first", "second", "shared"),
    [(0, 1, 0.8), (0, 2, 0.4), (2, 3, 0.4), (0, 3, 0.0), (3, 4, 0.0)],
    ids=[
        "one shot and text",
        "one text in two shots",
        "one shot with two texts",
        "other shots and texts",
        "following shots",
    ],
)
def test_shots_and_texts_share_their_noise(
    noises: np.ndarray, first: int, second: int, shared: float
) -> None:
    correlation = np.corrcoef(noises.transpose(1, 0, 2).reshape(5, -1))
    assert correlation[first, second] == pytest.approx(shared, abs=0.08)


def test_clip_that_two_segments_share_has_both() -> None:
    script = Script("x", 4.0, (ScriptSegment(0, 0.0, 1.5), ScriptSegment(1, 1.5, 4.0)))
    rows = simulate_video(script, making(), np.random.default_rng(0)).rows
    np.testing.assert_allclose(rows @ captions().vectors[0], [1, 0.5**0.5, 0, 0], atol=1e-3)
    np.testing.assert_allclose(rows @ captions().vectors[1], [0, 0.5**0.5, 1, 1], atol=1e-3)


# --- moments and saliency ---


def each_word(texts: Sequence[str]) -> list[FloatArray]:
    return [one_hot(text.split()) for text in texts]


def highlights_of(n_videos: int = 40, seed: int = 0, most: int = 9) -> list[HighlightExample]:
    how = making()
    return simulate_highlights(how, words_of(how.captions, each_word, most), n_videos, (seed,))


def shares_in_windows(example: HighlightExample) -> np.ndarray:
    """[T] how much of each clip lies in windows."""
    edges = np.linspace(0, 1, len(example.video) + 1)
    covered = np.zeros(len(example.video))
    for start, end in example.windows:
        covered += np.clip(np.minimum(edges[1:], end) - np.maximum(edges[:-1], start), 0, None)
    return covered * len(example.video)


def test_saliency_is_that_of_three_annotators() -> None:
    for example in highlights_of(100):
        assert 0 <= example.saliency.min() <= example.saliency.max() <= 12


def test_saliency_and_windows_are_of_the_same_clips() -> None:
    for example in highlights_of(100):
        shares = shares_in_windows(example)
        # borders of clips fall on whole seconds, those of windows anywhere, and a short rest at the end of
        # an example is no window: clips whose neighbours are like them are sure
        around = np.stack([shares[by : len(shares) - 4 + by] for by in range(5)])
        assert example.saliency[2:-2][(around > 0.99).all(axis=0)] == pytest.approx(12, abs=1e-3)
        assert example.saliency[2:-2][(around == 0).all(axis=0)] == pytest.approx(0, abs=1e-3)


def test_clips_end_with_their_endpoints() -> None:
    for example in highlights_of(100):
        n_clips, n_numbers = example.video.shape
        assert n_numbers == N + 1 + 2
        np.testing.assert_allclose(example.video[:, -2], np.arange(n_clips) / n_clips, atol=1e-6)
        np.testing.assert_allclose(example.video[:, -1], np.arange(1, n_clips + 1) / n_clips, atol=1e-6)


def test_short_videos_have_fewer_clips() -> None:
    lengths = {len(example.video) for example in highlights_of(100)}
    assert max(lengths) == 20 > min(lengths)


def test_negative_pair_has_the_same_video_with_a_guide_of_its_own() -> None:
    differ = []
    for example in highlights_of():
        np.testing.assert_array_equal(example.video[:, :N], example.negative.video[:, :N])
        differ.append(not np.array_equal(example.video, example.negative.video))
    assert np.mean(differ) > 0.5  # of three sentences the other one is now and then the same


def test_words_are_those_of_the_query_cut_to_the_most() -> None:
    known = each_word(captions().query_texts)
    for example in highlights_of(most=2):
        assert len(example.words) <= 2
        assert any(np.array_equal(example.words, rows[:2]) for rows in known)


def test_words_of_a_sentence_are_embedded_once() -> None:
    encoded_texts: list[str] = []

    def encode(texts: Sequence[str]) -> list[FloatArray]:
        encoded_texts.extend(texts)
        return each_word(texts)

    words = words_of(captions(), encode, 5)
    first = words([2, 0, 2])
    assert [np.array_equal(first[0], rows) for rows in first] == [True, False, True]
    assert words([0, 1])[0] is first[1]
    assert encoded_texts == [captions().query_texts[number] for number in (0, 2, 1)]


@pytest.fixture
def annotated() -> tuple[Captions, Script]:
    """Sentences of which the first has scores of annotators for six clips of 2 s, and its script."""
    scores = np.array([[0], [0], [12], [12], [0], [6]], np.float32)
    scored = {"z": moment_video("z", 20.0, ("dog runs", (4.0, 12.0)), saliency=scores)}
    known = embed_sentences({**scored, **videos()}, one_hot, "words")
    return known, script_of(known, 0)


def test_saliency_of_an_annotated_query_is_the_annotators_scores(annotated: tuple[Captions, Script]) -> None:
    _, script = annotated
    query = ScriptQuery(0, 0, ((4.0, 12.0),))
    saliency = saliency_of(script, query, np.arange(20.0))
    assert saliency.tolist() == [0] * 4 + [12] * 4 + [0] * 2 + [6] * 2 + [0] * 8


def test_clips_that_annotators_scored_higher_look_more_like_their_text(
    annotated: tuple[Captions, Script],
) -> None:
    known, script = annotated
    settings = replace(making(), captions=known)
    rows = simulate_video(script, settings, np.random.default_rng(0)).rows
    cosines = rows @ known.vectors[0]
    assert cosines[4:8].mean() > cosines[10:12].mean() > cosines[8:10].mean()


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
