"""Fixed cameras: which films are taken for one, and what comes first there; on made-up features."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vidsum.models.scaling import logit
from vidsum.results.features import Features
from vidsum.summary.fixed_camera import has_cut, is_fixed, prefer_events, usual_picture
from vidsum.summary.score import ScoredVideo

ROOM, PERSON, DOG = np.eye(3)
STILL, MOVING, CUT = (1.0, 1.0, 2.0), (4.0, 1.0, 20.0), (90.0, 1.0, 90.0)  # rows of changes


def film(*parts: tuple[np.ndarray, float], extractor: str = "efficientnet_lite0") -> Features:
    """Looks, each for some seconds, at two samples a second, with a little noise."""
    rows = np.concatenate([np.tile(look, (round(2 * seconds), 1)) for look, seconds in parts])
    noise = np.random.default_rng(0).uniform(0, 0.02, rows.shape)
    return Features.from_array((rows + noise).astype(np.float32), 2.0, extractor=extractor)


def changes_of(*rows: tuple[float, float, float], fps: float = 25.0) -> Features:
    array = np.pad(np.array(rows, np.float32), ((0, 0), (0, 8)))
    return Features.from_array(array, fps, extractor="picture_changes")


VISIT = film((ROOM, 20), (PERSON, 6), (ROOM, 12), (DOG, 4), (ROOM, 20))
FIXED = changes_of(*[STILL] * 60, *[MOVING] * 40)


def scored(features: Features, model: str = "ridge") -> ScoredVideo:
    """The room is liked best, as the shipped regression does."""
    liked = 0.3 + 0.5 * (features.array[:, 0] > 0.5)
    return ScoredVideo(liked.astype(np.float32), model, "asked for", slope=0.4)


def test_what_differs_comes_before_the_usual_picture() -> None:
    curve = prefer_events(scored(VISIT), VISIT, FIXED).importance
    is_room = VISIT.array[:, 0] > 0.5
    assert curve[~is_room].min() > curve[is_room].max() + 0.3


def test_order_among_events_and_within_the_usual_picture_stays() -> None:
    before = scored(VISIT)
    before.importance[40:46] += 0.2  # a part of the visit
    after = prefer_events(before, VISIT, FIXED).importance
    assert after[40:46].min() > after[46:52].max()


def test_events_gain_as_much_as_the_usual_picture_loses() -> None:
    before = scored(VISIT)
    after = prefer_events(before, VISIT, FIXED)
    gains = logit(after.importance) - logit(before.importance)
    is_room = VISIT.array[:, 0] > 0.5
    assert gains[~is_room] == pytest.approx(-gains[is_room].mean(), rel=0.01)
    assert gains[is_room] == pytest.approx(gains[is_room].mean(), rel=0.01)


def test_reason_says_that_the_camera_is_fixed() -> None:
    assert "camera is fixed" in prefer_events(scored(VISIT), VISIT, FIXED).reason


@pytest.mark.parametrize(("features", "changes", "model"), [
    (VISIT, changes_of(*[STILL] * 40, *[MOVING] * 60), "ridge"),
    (VISIT, changes_of(*[STILL] * 99, CUT), "ridge"),
    (VISIT, None, "ridge"),
    (VISIT, FIXED, "uniform"),
    (replace(VISIT, extractor="clip"), FIXED, "ridge"),
    (film((ROOM, 20), (PERSON, 6)), FIXED, "ridge"),
    (film((ROOM, 20), (PERSON, 12), (DOG, 12)), FIXED, "ridge"),
], ids=["moving", "cut", "no pictures", "baseline", "extractor", "no return", "never again"])  # fmt: skip
def test_other_films_are_left_as_they_are(features: Features, changes: Features | None, model: str) -> None:
    before = scored(features, model)
    assert prefer_events(before, features, changes) is before


@given(st.integers(2, 30), st.floats(6, 100))
def test_next_slide_of_a_talk_is_a_cut(number: int, levels: float) -> None:
    steps = np.full(40, 0.2)
    steps[number] = levels
    assert has_cut(steps)


@given(st.integers(3, 30), st.floats(0, 60))
def test_what_enters_in_several_steps_is_no_cut(number: int, levels: float) -> None:
    steps = np.full(40, 0.2)
    steps[number - 2 : number + 3] = np.array([0.3, 0.8, 1, 0.9, 0.4]) * levels
    assert not has_cut(steps)


def test_key_frames_do_not_tell_whether_the_camera_is_fixed() -> None:
    assert not is_fixed(changes_of(*[(3.0, 0.0, 0.0)] * 20, fps=0.5))


def test_single_picture_is_of_no_fixed_camera() -> None:
    assert not is_fixed(changes_of(STILL))


def test_film_of_few_pictures_a_second_is_compared_with_the_picture_before() -> None:
    assert not is_fixed(changes_of(*[(20.0, 1.0, 0.0)] * 20, fps=1))
    assert is_fixed(changes_of(*[(3.0, 1.0, 0.0)] * 20, fps=1))


@given(st.integers(1, 40))
def test_usual_picture_of_a_short_film_does_not_fail(count: int) -> None:
    array = np.random.default_rng(count).random((count, 5), np.float32)
    assert usual_picture(Features.from_array(array, 2.0)) is None or count > 6


def test_usual_picture_is_what_is_shown_most_and_again() -> None:
    usual = usual_picture(VISIT)
    assert usual is not None
    np.testing.assert_allclose(usual, ROOM, atol=0.05)


def test_long_film_is_searched_by_a_part_of_its_samples() -> None:
    long = film(*[(ROOM, 100), (PERSON, 60)] * 10)
    usual = usual_picture(long)
    assert usual is not None
    np.testing.assert_allclose(usual, ROOM, atol=0.05)


def with_corner(noise: float) -> Features:
    """A room, in a corner of which something passes by (cosine .93), in pictures that vary."""
    corner = np.array([1.0, 0.4, 0.0])
    rows = np.concatenate(
        [np.tile(look, (count, 1)) for look, count in ((ROOM, 60), (corner, 8), (ROOM, 60))]
    )
    rows[:, 2] += np.random.default_rng(0).normal(0, noise, len(rows))
    return Features.from_array(rows.astype(np.float32), 2.0, extractor="efficientnet_lite0")


def test_small_things_are_events_where_the_picture_is_steady() -> None:
    before, features = scored(with_corner(0.02)), with_corner(0.02)
    gains = logit(prefer_events(before, features, FIXED).importance) - logit(before.importance)
    assert gains[60:68].min() > 4
    assert gains[:60].max() < 0


def test_small_changes_are_no_events_where_the_picture_varies() -> None:
    before, features = scored(with_corner(0.2)), with_corner(0.2)
    gains = logit(prefer_events(before, features, FIXED).importance) - logit(before.importance)
    assert np.median(gains[60:68]) < 0
