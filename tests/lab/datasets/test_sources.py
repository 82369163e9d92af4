"""Captions as the map might show their frames: the variance of the noise, and what a seed decides."""

import numpy as np
import pytest

from tests.lab.datasets.made import DIM, encode, use_stand_ins, video, visual_map
from vidsum.lab.datasets.captioned import FeatureSimulator, draw_of, in_space, noise_of
from vidsum.models.scaling import unit_rows


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
    one, other = (video(name, encode(texts)) for name in ("x/1", "x/2"))
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


def test_videos_in_a_space_are_captions_or_one_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    use_stand_ins(monkeypatch)
    videos = {name: video(name, encode(["a dog", "the sea"])) for name in ("x/1", "x/2")}
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
