"""The content of a film: scenes, looks, words."""

import numpy as np
import pytest

from vidsum.results.features import Features
from vidsum.summary.content import Content, TimedText, content_of, likeness, scenes_in

LOOKS = np.eye(8, dtype=np.float32)
NO_SLIDES = np.full(40, -1)
SHOTS = [slice(start, start + 10) for start in range(0, 40, 10)]


def film(
    looks: tuple[int, ...] = (0, 1, 0, 2), slides: np.ndarray = NO_SLIDES, texts: tuple[TimedText, ...] = ()
) -> Content:
    """Four shots of ten samples, two a second, of these looks."""
    features = Features.from_array(np.repeat(LOOKS[[*looks]], 10, axis=0), video_fps=10)
    return content_of(features, SHOTS, slides, texts)


def test_shots_that_look_alike_are_one_scene_wherever_they_are() -> None:
    assert film().scenes[::10].tolist() == [0, 1, 0, 2]


def test_scene_that_is_not_the_first_has_all_its_shots() -> None:
    assert film((0, 0, 1, 1)).scenes[::10].tolist() == [0, 0, 1, 1]


def test_shots_with_one_picture_in_common_are_one_scene() -> None:
    """A camera turns from one look to another; a later shot shows where it stopped."""
    features = Features.from_array(np.repeat(LOOKS[[0, 1, 2, 1]], 5, axis=0), video_fps=10)
    shots = [slice(0, 10), slice(10, 15), slice(15, 20)]
    assert content_of(features, shots, NO_SLIDES[:20]).scenes[::5].tolist() == [0, 0, 1, 0]


def test_slides_are_scenes_though_they_look_alike() -> None:
    slides = np.repeat([0, 1, 2, 0], 10)
    assert film((0, 0, 0, 0), slides).scenes[::10].tolist() == [0, 1, 2, 0]


def test_slide_is_no_scene_of_other_pictures() -> None:
    slides = np.repeat([-1, 0, -1, -1], 10)
    scenes = film((0, 1, 1, 2), slides).scenes[::10].tolist()
    assert len(set(scenes)) == 4


def test_part_shows_the_scenes_that_it_has_enough_of() -> None:
    shown = scenes_in(film(), [slice(0, 4), slice(8, 14), slice(9, 14)], 4)
    assert shown.tolist() == [[1, 0, 0], [0.5, 1, 0], [0.25, 1, 0]]


def test_short_part_of_one_scene_shows_it() -> None:
    assert scenes_in(film(), [slice(0, 1)], 4)[0, 0] == 1


def test_part_is_like_the_samples_of_its_look() -> None:
    alike = likeness(film(), [slice(2, 6)], np.array([0, 15, 25, 35]))[0]
    assert alike == pytest.approx([1, 0, 1, 0], abs=1e-6)


def test_slides_differ_though_they_look_alike() -> None:
    content = film((0, 0, 0, 0), np.repeat([0, 1, 2, 0], 10))
    assert likeness(content, [slice(0, 10)], np.array([5, 15, 35]))[0] == pytest.approx([1, 0, 1], abs=1e-6)


def test_slides_with_the_same_picture_are_more_alike_than_others() -> None:
    content = film((0, 0, 1, 2), np.repeat([0, 1, 2, 3], 10))
    same, other = likeness(content, [slice(0, 10)], np.array([15, 25]))[0]
    assert 1 > same > other == pytest.approx(0, abs=1e-6)


def test_film_without_a_change_is_like_nothing() -> None:
    assert not likeness(film((0, 0, 0, 0)), [slice(0, 10)], np.array([5, 35])).any()


SAID = (TimedText(0, 5, "printing of books"), TimedText(10, 15, "books"), TimedText(15, 20, "weather"))


def test_words_in_common_make_parts_alike() -> None:
    alike = likeness(film((0, 1, 2, 3), texts=SAID), [slice(0, 10)], np.array([5, 15, 25, 35]))[0]
    assert alike[0] == pytest.approx(1)
    assert alike[2] > alike[1] == alike[3] == pytest.approx(0, abs=1e-6)


def test_text_is_in_the_samples_whose_middle_it_covers() -> None:
    words = film(texts=(TimedText(0.2, 0.8, "books"), TimedText(9.8, 10.2, "weather"))).words
    assert words is not None
    assert np.flatnonzero(words.toarray().any(axis=1)).tolist() == [0, 1]


@pytest.mark.parametrize("word", ["I", "7", "书"])
def test_words_of_one_letter_count(word: str) -> None:
    assert film(texts=(TimedText(0, 5, word),)).words is not None


@pytest.mark.parametrize("texts", [(), (TimedText(0, 5, "..."),)], ids=["no text", "no word"])
def test_film_without_words_has_none(texts: tuple[TimedText, ...]) -> None:
    assert film(texts=texts).words is None
