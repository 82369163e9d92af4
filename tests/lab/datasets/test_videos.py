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


def test_captions_of_tvsum_are_features_with_the_annotators_scores(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    scores = {name: rng.integers(1, 6, (4, n)) for name, n in (("one", 100), ("two", 61))}
    captions = {"two": captions_of(5, 1), "unused": ["a cow"], "one": captions_of(7, 0)}
    files = write_captions(tmp_path / "c.json", captions), write_mat(tmp_path / "y.mat", scores, fps=25)
    videos = captioned_videos(*files)
    assert list(videos) == ["tvsum/video_1", "tvsum/video_2"]
    for video, (name, rated) in zip(videos.values(), scores.items(), strict=True):
        n_frames = rated.shape[1]
        assert video.n_frames == n_frames
        assert video.picks.tolist() == list(range(0, n_frames, STRIDE))
        np.testing.assert_allclose(video.features.array, encode(captions[name]), atol=1e-6)
        assert (video.features.extractor, video.features.video_fps) == ("minilm", pytest.approx(25))
        assert video.features.step_s == pytest.approx(15 / 25)
        assert video.features.duration_s == pytest.approx(n_frames / 25)
        np.testing.assert_allclose(video.features.timestamps, video.picks / 25)
        assert video.user_scores is not None
        at_picks = [[rated[user][pick] for pick in video.picks] for user in range(4)]
        np.testing.assert_array_equal(video.user_scores, at_picks)
        wanted = [np.mean([(rated[user][pick] - 1) / 4 for user in range(4)]) for pick in video.picks]
        np.testing.assert_allclose(video.gtscore, wanted, atol=1e-6)
        np.testing.assert_array_equal(video.change_points, find(video.features).change_points)
        assert video.user_summary is None


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


def test_each_text_is_embedded_once_and_kept(tmp_path: Path, embedded: list[str]) -> None:
    files = write_tvsum(tmp_path)
    told: list[tuple[str, int, int]] = []
    first = captioned_videos(*files, progress=lambda *step: told.append(step))
    assert embedded == ["8 texts"]
    assert told == [("captions embedded", 8, 8)]
    again = captioned_videos(*files)
    assert embedded == ["8 texts"]
    for name, video in first.items():
        np.testing.assert_array_equal(again[name].features.array, video.features.array)


def test_files_that_do_not_go_together_are_refused(tmp_path: Path) -> None:
    captions, mat = write_tvsum(tmp_path)
    for name in ("tvsum.h5", "ydata", "frame_captions.json"):
        with pytest.raises(UsageError, match=rf"{name}: annotations are TVSum's"):
            captioned_videos(captions, tmp_path / name)
    absent = ((tmp_path / "none.json", mat), "none.json"), ((captions, tmp_path / "x.mat"), "x.mat")
    for files, name in absent:
        with pytest.raises(InputError, match=rf"{name}: no such file"):
            captioned_videos(*files)
    protocol = write_protocol(tmp_path / "p.npz", ["Base jumping", "Bike Polo"])
    path = write_captions(tmp_path / "c.json", {"Base_jumping": ["a man"]})
    with pytest.raises(InputError, match=r"c\.json: has no captions of .?Bike_Polo.? \(summe/video_2\)"):
        captioned_videos(path, protocol)
    path.write_text('{"x": {"picks": [90], "captions": ["a dog"]}}')  # all after the last frame
    with pytest.raises(InputError, match=r"c\.json: x has 90 frames, and captions of none"):
        captioned_videos(path, write_protocol(tmp_path / "p.npz", ["x"], n_frames=90))
    endless = write_mat(tmp_path / "y.mat", {"x": np.ones((2, 30))}, fps=np.inf)
    with pytest.raises(InputError, match="length"):
        captioned_videos(write_captions(tmp_path / "c.json", {"x": ["a dog"] * 2}), endless)


def test_several_data_sets_come_together(tmp_path: Path) -> None:
    captions, mat = write_tvsum(tmp_path, n_videos=2)
    protocol = write_protocol(tmp_path / "p.npz", ["x"])
    of_summe = write_captions(tmp_path / "s.json", {"x": captions_of(6, 0)})
    videos = read_captioned([captions, of_summe], [mat, protocol])
    assert list(videos) == ["tvsum/video_1", "tvsum/video_2", "summe/video_1"]
    with pytest.raises(UsageError, match="2 files of captions, but 1 of annotations"):
        read_captioned([captions, of_summe], [mat])
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


def test_a_draw_is_what_the_map_might_show_and_depends_on_seed_and_name() -> None:
    texts = ["a dog", "a dog", "the sea", "a cat"]
    one, other = (sampled_video(name, encode(texts), np.linspace(0, 1, 4)) for name in ("x/1", "x/2"))
    visual = visual_map()
    draw = FeatureSimulator(visual)
    drawn = draw(one, 0, 1)
    rng = np.random.default_rng([0, 1, *b"x/1"])
    answer, noise = encode(texts) + 0.01, noise_of(encode(texts), rng) / 40
    np.testing.assert_allclose(drawn.features.array, unit_rows(answer + noise), atol=1e-5)
    assert (drawn.features.extractor, drawn.features.array.dtype) == ("vse", np.float32)
    np.testing.assert_array_equal(drawn.features.array, draw(one, 0, 1).features.array)
    for different in (draw(one, 0, 2), draw(one, 1, 1), draw(other, 0, 1)):
        assert np.abs(different.features.array - drawn.features.array).max() > 0.02
    assert drawn.features.timestamps is one.features.timestamps
    assert (drawn.name, drawn.gtscore is one.gtscore) == (one.name, True)


def test_videos_in_a_space_are_captions_or_one_draw() -> None:
    videos = {name: sampled_video(name, encode(["a dog", "the sea"]), [0, 1]) for name in ("x/1", "x/2")}
    assert draw_of("text") is None
    assert in_space(videos, "text") == videos
    one, again = in_space(videos, "vse"), in_space(videos, "vse")
    draw = draw_of("vse")
    assert draw
    for name, drawn in one.items():
        np.testing.assert_array_equal(drawn.features.array, again[name].features.array)
        # no draw of a training is one of a test
        for seed in ((0,), (0, 2), (1, 0, 2), (2, 0), (2, 2)):
            assert np.abs(draw(videos[name], *seed).features.array - drawn.features.array).max() > 0.02
