"""Simulated videos and the captions that they come from."""

from dataclasses import replace

import numpy as np
import pytest

from tests.lab.datasets.moment_layouts import moment_video
from tests.lab.training.test_captions import WORDS, captions, embed_captions, one_hot
from vidsum.errors import UsageError
from vidsum.lab.datasets.examples import MomentExample
from vidsum.lab.training.scripts import NOTHING, Script, ScriptSegment
from vidsum.lab.training.simulated import Show, SimulationSettings, simulate_moments, simulate_video
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
        lengths = example.windows[..., 1] - example.windows[..., 0]
        assert lengths.min() >= 0
        assert lengths.sum(axis=1).max() <= 0.7  # no query is what the whole is about


def test_captions_that_are_true_all_the_time_are_said_to_make_no_moments() -> None:
    one = {"a": moment_video("a", 40.0, ("dog runs", (0.0, 40.0)))}
    how = replace(making(), captions=embed_captions(one, one_hot, "words"))
    with pytest.raises(UsageError, match="1 captions are too few") as refused:
        simulate_moments(how, 1, (0,))
    assert refused.value.hint == "more --data"


def test_an_outlier_looks_unlike_everything() -> None:
    shown = (ScriptSegment(0, 0.0, 10.0), ScriptSegment(NOTHING, 10.0, 20.0))
    fits = []
    for seed in range(20):
        video = simulate_video(Script("x", 20.0, shown), making(noisy), np.random.default_rng(seed))
        fits.append(video.rows @ captions().vectors[0])
    cosines = np.array(fits)
    assert np.mean(cosines[:, :10]) > 0.5
    assert np.mean(cosines[:, 10:]) == pytest.approx(0, abs=0.1)


def test_shots_and_texts_share_their_noise_and_some_of_it_passes() -> None:
    shown = [
        ScriptSegment(0, 0.0, 2.0, 0),
        ScriptSegment(0, 2.0, 3.0, 1),
        ScriptSegment(1, 3.0, 4.0, 1),
        ScriptSegment(2, 4.0, 5.0, 2),
    ]
    how = making(lambda captions, noise: noise)
    rows = [
        simulate_video(Script("x", 5.0, tuple(shown)), how, np.random.default_rng(seed)).rows
        for seed in range(400)
    ]
    correlation = np.corrcoef(np.stack(rows).transpose(1, 0, 2).reshape(5, -1))
    assert np.std(rows) == pytest.approx(1, abs=0.05)
    assert correlation[0, 1] == pytest.approx(0.8, abs=0.08)  # one shot
    assert correlation[0, 2] == pytest.approx(0.4, abs=0.08)  # one text, two shots
    assert correlation[2, 3] == pytest.approx(0.4, abs=0.08)  # one shot, two texts
    assert correlation[0, 3] == pytest.approx(0.0, abs=0.08)
    assert correlation[3, 4] == pytest.approx(0.0, abs=0.08)


def test_without_a_guide_several_queries_are_asked_of_one_video() -> None:
    plain = replace(making(), guided=False, n_queries=3)
    examples = simulate_moments(plain, 40, (0,))
    assert {example.video.shape for example in examples} == {(20, N)}
    assert max(len(example.queries) for example in examples) == 3


def test_a_clip_that_two_segments_share_shows_both() -> None:
    script = Script("x", 4.0, (ScriptSegment(0, 0.0, 1.5), ScriptSegment(1, 1.5, 4.0)))
    rows = simulate_video(script, making(), np.random.default_rng(0)).rows
    np.testing.assert_allclose(rows @ captions().vectors[0], [1, 0.5**0.5, 0, 0], atol=1e-3)
    np.testing.assert_allclose(rows @ captions().vectors[1], [0, 0.5**0.5, 1, 1], atol=1e-3)
