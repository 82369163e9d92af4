"""Captions joined with annotations: files made here, every fault, and the real ones."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.lab.datasets.made import (
    DIM,
    STRIDE,
    WORDS,
    captions_of,
    encode,
    use_stand_ins,
    visual_map,
    write_captions,
    write_mat,
    write_protocol,
    write_tvsum,
)
from tests.lab.training.videos import sampled_video
from vidsum.errors import InputError, UsageError
from vidsum.lab.datasets.annotated_videos import AnnotatedVideo
from vidsum.lab.datasets.captioned import (
    FeatureSimulator,
    captioned_videos,
    draw_of,
    in_space,
    noise_of,
    read_captioned,
    shots_of_captions,
)
from vidsum.models.scaling import unit_rows
from vidsum.shots.segmentation import find


@pytest.fixture(autouse=True)
def embedded(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Captions are embedded by their words; lists how many were."""
    return use_stand_ins(monkeypatch)


TVSUM_SCORES = {
    name: np.random.default_rng(0).integers(1, 6, (4, n_frames))
    for name, n_frames in (("one", 100), ("two", 61))
}
TVSUM_CAPTIONS = {"two": captions_of(5, 1), "unused": ["a cow"], "one": captions_of(7, 0)}


@pytest.fixture
def of_tvsum(tmp_path: Path) -> list[AnnotatedVideo]:
    """Two videos of TVSum at 25 frames a second, with captions."""
    captions = write_captions(tmp_path / "c.json", TVSUM_CAPTIONS)
    videos = captioned_videos(captions, write_mat(tmp_path / "y.mat", TVSUM_SCORES, fps=25))
    assert list(videos) == ["tvsum/video_1", "tvsum/video_2"]
    return list(videos.values())


def test_captions_of_tvsum_are_features(of_tvsum: list[AnnotatedVideo]) -> None:
    for video, name in zip(of_tvsum, TVSUM_SCORES, strict=True):
        np.testing.assert_allclose(video.features.array, encode(TVSUM_CAPTIONS[name]), atol=1e-6)
        assert video.features.extractor == "minilm"


def test_captions_of_tvsum_have_the_times_of_their_frames(of_tvsum: list[AnnotatedVideo]) -> None:
    for video, scores in zip(of_tvsum, TVSUM_SCORES.values(), strict=True):
        n_frames = scores.shape[1]
        assert video.n_frames == n_frames
        assert video.picks.tolist() == list(range(0, n_frames, STRIDE))
        assert video.features.video_fps == pytest.approx(25)
        assert video.features.step_s == pytest.approx(15 / 25)
        assert video.features.duration_s == pytest.approx(n_frames / 25)
        np.testing.assert_allclose(video.features.timestamps, video.picks / 25)


def test_captions_of_tvsum_have_the_annotators_scores(of_tvsum: list[AnnotatedVideo]) -> None:
    for video, rated in zip(of_tvsum, TVSUM_SCORES.values(), strict=True):
        at_picks = [[rated[user][pick] for pick in video.picks] for user in range(4)]
        assert video.user_scores is not None
        np.testing.assert_array_equal(video.user_scores, at_picks)
        wanted = [np.mean([(rated[user][pick] - 1) / 4 for user in range(4)]) for pick in video.picks]
        np.testing.assert_allclose(video.gtscore, wanted, atol=1e-6)
        assert video.user_summary is None


def test_captions_of_tvsum_are_cut_by_kts(of_tvsum: list[AnnotatedVideo]) -> None:
    for video in of_tvsum:
        np.testing.assert_array_equal(video.change_points, find(video.features).change_points)


def test_captions_of_summe_are_features_with_the_protocols_summaries(tmp_path: Path) -> None:
    protocol = write_protocol(tmp_path / "p.npz", ["Base jumping"], n_frames=90)
    path = write_captions(tmp_path / "c.json", {"Base_jumping": captions_of(6, 0)})
    (video,) = captioned_videos(path, protocol).values()
    stored = np.load(protocol)
    np.testing.assert_array_equal(video.gtscore, stored["video_1/gtscore"])
    np.testing.assert_array_equal(video.user_summary, stored["video_1/user_summary"])
    np.testing.assert_array_equal(video.change_points, stored["video_1/change_points"])
    assert (video.features.video_fps, video.features.duration_s, video.user_scores) == (30, 3, None)


def test_scores_are_those_of_the_picks_that_have_captions(tmp_path: Path) -> None:
    """Every second caption is missing; those after the last frame are left out."""
    protocol = write_protocol(tmp_path / "p.npz", ["x"], n_frames=90)
    path = tmp_path / "c.json"
    path.write_text('{"x": {"picks": [0, 30, 60, 90, 120], "captions": ["a", "b", "c", "d", "e"]}}')
    (video,) = captioned_videos(path, protocol).values()
    assert video.picks.tolist() == [0, 30, 60]
    np.testing.assert_array_equal(video.gtscore, np.load(protocol)["video_1/gtscore"][[0, 2, 4]])
    np.testing.assert_allclose(video.features.array, encode(["a", "b", "c"]), atol=1e-6)
    assert video.features.step_s == 1


def test_each_text_is_embedded_once(tmp_path: Path, embedded: list[str]) -> None:
    steps: list[tuple[str, int, int]] = []
    captioned_videos(*write_tvsum(tmp_path), progress=lambda *step: steps.append(step))
    assert embedded == ["8 texts"]
    assert steps == [("sentences embedded", 8, 8)]


def test_embeddings_of_texts_are_cached(tmp_path: Path, embedded: list[str]) -> None:
    files = write_tvsum(tmp_path)
    first, again = captioned_videos(*files), captioned_videos(*files)
    assert embedded == ["8 texts"]
    for name, video in first.items():
        np.testing.assert_array_equal(again[name].features.array, video.features.array)


@pytest.mark.parametrize("name", ["tvsum.h5", "ydata", "frame_captions.json"])
def test_annotations_of_another_kind_are_refused(tmp_path: Path, name: str) -> None:
    captions, _ = write_tvsum(tmp_path)
    with pytest.raises(UsageError, match=rf"{name}: annotations are TVSum's"):
        captioned_videos(captions, tmp_path / name)


def test_missing_captions_and_annotations_are_named(tmp_path: Path) -> None:
    captions, mat = write_tvsum(tmp_path)
    with pytest.raises(InputError, match=r"none\.json: no such file"):
        captioned_videos(tmp_path / "none.json", mat)
    with pytest.raises(InputError, match=r"x\.mat: no such file"):
        captioned_videos(captions, tmp_path / "x.mat")


def test_video_without_captions_is_named(tmp_path: Path) -> None:
    protocol = write_protocol(tmp_path / "p.npz", ["Base jumping", "Bike Polo"])
    path = write_captions(tmp_path / "c.json", {"Base_jumping": ["a man"]})
    with pytest.raises(InputError, match=r"c\.json: has no captions of .?Bike_Polo.? \(summe/video_2\)"):
        captioned_videos(path, protocol)


def test_captions_after_the_last_frame_alone_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    path.write_text('{"x": {"picks": [90], "captions": ["a dog"]}}')
    with pytest.raises(InputError, match=r"c\.json: x has 90 frames, and captions of none"):
        captioned_videos(path, write_protocol(tmp_path / "p.npz", ["x"], n_frames=90))


def test_annotations_of_a_video_without_a_length_are_refused(tmp_path: Path) -> None:
    endless = write_mat(tmp_path / "y.mat", {"x": np.ones((2, 30))}, fps=np.inf)
    with pytest.raises(InputError, match="length"):
        captioned_videos(write_captions(tmp_path / "c.json", {"x": ["a dog"] * 2}), endless)


def test_several_data_sets_come_together(tmp_path: Path) -> None:
    captions, mat = write_tvsum(tmp_path, n_videos=2)
    protocol = write_protocol(tmp_path / "p.npz", ["x"])
    of_summe = write_captions(tmp_path / "s.json", {"x": captions_of(6, 0)})
    videos = read_captioned([captions, of_summe], [mat, protocol])
    assert list(videos) == ["tvsum/video_1", "tvsum/video_2", "summe/video_1"]


def test_another_number_of_captions_than_of_annotations_is_refused(tmp_path: Path) -> None:
    captions, mat = write_tvsum(tmp_path, n_videos=2)
    with pytest.raises(UsageError, match="2 files of captions, but 1 of annotations"):
        read_captioned([captions, captions], [mat])


def test_data_set_that_was_given_before_is_refused(tmp_path: Path) -> None:
    captions, mat = write_tvsum(tmp_path, n_videos=2)
    with pytest.raises(UsageError, match=r"ydata\.mat: its data set was given before"):
        read_captioned([captions, captions], [mat, mat])


@given(st.lists(st.tuples(st.sampled_from(WORDS), st.integers(1, 4)), min_size=1, max_size=6))
def test_another_shot_begins_where_the_caption_is_another(runs: list[tuple[str, int]]) -> None:
    texts = [word for word, count in runs for _ in range(count)]
    wanted, number = [0], 0
    for before, now in pairwise(texts):
        number += before != now
        wanted.append(number)
    assert shots_of_captions(3 * encode(texts)).tolist() == wanted


@pytest.mark.parametrize(("cosine", "n_shots"), [(0.59, 2), (0.61, 1)])
def test_captions_that_are_much_alike_are_of_one_shot(cosine: float, n_shots: int) -> None:
    rows = np.array([[1, 0], [cosine, np.sqrt(1 - cosine**2)]], np.float32)
    assert shots_of_captions(rows)[-1] + 1 == n_shots


def test_noise_has_deviation_1_and_lasts_in_part_as_long_as_a_shot() -> None:
    """.65 of the variance lasts, .6 of the rest goes on to the next frame, nothing to another shot."""
    captions = encode(["a dog", "a dog", "a dog", "the sea"])
    rng = np.random.default_rng(0)
    draws = np.stack([noise_of(captions, rng) for _ in range(300)]).astype(np.float64)
    found = np.einsum("nid,njd->ij", draws, draws) / (len(draws) * DIM)
    near, far = 0.65 + 0.35 * 0.6, 0.65 + 0.35 * 0.6**2
    wanted = [[1, near, far, 0], [near, 1, near, 0], [far, near, 1, 0], [0, 0, 0, 1]]
    np.testing.assert_allclose(found, wanted, atol=0.02)


def text_video(name: str = "x/1") -> AnnotatedVideo:
    return sampled_video(name, encode(["a dog", "a dog", "the sea", "a cat"]), np.linspace(0, 1, 4))


@pytest.fixture
def draw() -> FeatureSimulator:
    return FeatureSimulator(visual_map())


def test_draw_is_the_maps_answer_with_noise(draw: FeatureSimulator) -> None:
    drawn = draw(text_video(), 0, 1).features
    texts = encode(["a dog", "a dog", "the sea", "a cat"])
    noise = noise_of(texts, np.random.default_rng([0, 1, *b"x/1"])) / 40
    np.testing.assert_allclose(drawn.array, unit_rows(texts + 0.01 + noise), atol=1e-5)
    assert (drawn.extractor, drawn.array.dtype) == ("vse", np.float32)


def test_draw_of_a_seed_and_name_is_always_the_same(draw: FeatureSimulator) -> None:
    first, again = draw(text_video(), 0, 1), draw(text_video(), 0, 1)
    np.testing.assert_array_equal(first.features.array, again.features.array)


@pytest.mark.parametrize(("name", "seed"), [("x/1", (0, 2)), ("x/1", (1, 1)), ("x/2", (0, 1))])
def test_draws_of_another_seed_or_name_differ(
    draw: FeatureSimulator, name: str, seed: tuple[int, int]
) -> None:
    drawn, other = draw(text_video(), 0, 1), draw(text_video(name), *seed)
    assert np.abs(other.features.array - drawn.features.array).max() > 0.02


def test_draw_keeps_the_times_and_scores_of_its_video(draw: FeatureSimulator) -> None:
    video = text_video()
    drawn = draw(video, 0, 1)
    assert drawn.features.timestamps is video.features.timestamps
    assert (drawn.name, drawn.gtscore is video.gtscore) == (video.name, True)


TWO_VIDEOS = {name: sampled_video(name, encode(["a dog", "the sea"]), [0, 1]) for name in ("x/1", "x/2")}


def test_videos_in_the_space_of_text_are_their_captions() -> None:
    assert draw_of("text") is None
    assert in_space(TWO_VIDEOS, "text") == TWO_VIDEOS


def test_videos_in_the_space_of_pictures_are_always_the_same_draw() -> None:
    first, again = in_space(TWO_VIDEOS, "vse"), in_space(TWO_VIDEOS, "vse")
    for name, drawn in first.items():
        np.testing.assert_array_equal(drawn.features.array, again[name].features.array)


@pytest.mark.parametrize("seed", [(0,), (0, 2), (1, 0, 2), (2, 0), (2, 2)], ids=str)
def test_no_draw_of_a_training_is_the_draw_of_a_test(seed: tuple[int, ...]) -> None:
    draw = draw_of("vse")
    assert draw
    for name, drawn in in_space(TWO_VIDEOS, "vse").items():
        trained = draw(TWO_VIDEOS[name], *seed)
        assert np.abs(trained.features.array - drawn.features.array).max() > 0.02
