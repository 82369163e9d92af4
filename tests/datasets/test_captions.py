"""Made-up videos against what their captions say."""

from collections.abc import Sequence

import numpy as np
import pytest
from scipy.special import softmax

from vidsum.datasets.captions import (
    Captions,
    Channel,
    Haze,
    annotated,
    disorder,
    embed_captions,
    joined,
    make_up,
)
from vidsum.datasets.moment_examples import MomentExample
from vidsum.datasets.moments import MomentQuery, MomentVideo
from vidsum.errors import UsageError
from vidsum.types import FloatArray

WORDS = ["dog", "runs", "snow", "cook", "pan", "egg", "drum", "plays", "book", "reads"]
CLEAR = Haze(temperature=0.05, noise=(0.0, 1e-9), clip_share=0.5)
HAZY = Haze(temperature=0.05, noise=(3.0, 3.0), clip_share=0.5)


def one_hot(texts: Sequence[str]) -> FloatArray:
    """A text tower whose numbers are the words: cosine = share of words in common."""
    rows = np.array([[word in text.split() for word in WORDS] for text in texts], np.float32)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.maximum(lengths, 1e-9)


def probabilities(logits: FloatArray) -> FloatArray:
    return np.asarray(softmax(logits, axis=1), np.float32)


def mean_rows(rows: FloatArray, clips: int) -> FloatArray:
    """The nearest row of each clip."""
    return rows[np.minimum((np.arange(clips) + 0.5) * len(rows) / clips, len(rows) - 1).astype(int)]


def videos() -> dict[str, MomentVideo]:
    return {
        "a": MomentVideo(
            "a",
            40.0,
            (MomentQuery("dog runs snow", ((0.0, 10.0),)), MomentQuery("cook pan egg", ((20.0, 40.0),))),
        ),
        "b": MomentVideo("b", 20.0, (MomentQuery("drum plays", ((5.0, 10.0), (15.0, 20.0))),)),
        "c": MomentVideo("c", 20.0, ()),
    }


def captions() -> Captions:
    return embed_captions(videos(), one_hot)


def channel(haze: Haze) -> Channel:
    return Channel(one_hot(WORDS), probabilities, haze)


def made_up(haze: Haze = CLEAR, n_videos: int = 30, seed: int = 0, clips: int = 40) -> list[MomentExample]:
    return make_up(
        captions(),
        [channel(haze)],
        mean_rows,
        n_videos=n_videos,
        clips=clips,
        clip_s=0.5,
        n_queries=3,
        seed=(seed,),
    )


def test_a_video_without_captions_is_left_out() -> None:
    assert [video.name for video in captions().videos] == ["a", "b"]
    assert captions().first.tolist() == [0, 2]


def test_no_caption_at_all_is_said() -> None:
    with pytest.raises(UsageError, match="no caption"):
        embed_captions({"c": videos()["c"]}, one_hot)


def test_what_is_seen_is_what_is_said_inside_the_windows_and_not_outside() -> None:
    sentences = captions().vectors
    outside_fits = []
    for example in made_up():
        clips = example.video  # chances of the words
        for query, windows in zip(example.queries, example.windows, strict=True):
            closest = int((sentences @ query).argmax())
            if sentences[closest] @ query < 0.7 or not windows.any():
                continue
            middle = (np.arange(len(clips)) + 0.5) / len(clips)
            inside = ((middle[:, None] > windows[:, 0]) & (middle[:, None] < windows[:, 1])).any(1)
            edge = np.abs(middle[:, None, None] - windows).min(axis=(1, 2)) < 1.5 / len(clips)
            fits = clips @ (sentences[closest] > 0)
            assert fits[inside & ~edge].min(initial=1.0) > 0.9
            outside_fits += fits[~inside & ~edge].tolist()
    assert len(outside_fits) > 200
    assert np.mean(outside_fits) < 0.35  # by chance the background says the same


def test_noise_hides_what_is_said() -> None:
    def clearness(examples: list[MomentExample]) -> float:
        return float(np.mean([example.video.max(axis=1).mean() for example in examples]))

    def spread(examples: list[MomentExample]) -> float:
        return float(np.mean([np.abs(np.diff(example.video, axis=0)).mean() for example in examples]))

    assert spread(made_up(HAZY)) > 2 * spread(made_up(CLEAR))
    assert clearness(made_up(HAZY)) > clearness(made_up(CLEAR))  # a noisy classifier is sure of something


def test_the_same_seed_gives_the_same_videos_and_another_seed_others() -> None:
    first, again, other = made_up(HAZY), made_up(HAZY), made_up(HAZY, seed=1)
    assert all(np.array_equal(a.video, b.video) for a, b in zip(first, again, strict=True))
    assert not all(np.array_equal(a.video, b.video) for a, b in zip(first, other, strict=True))


def test_annotated_and_joined_videos_are_both_made_and_some_queries_are_true_nowhere() -> None:
    examples = made_up(n_videos=200)
    joined_share = np.mean([example.name == "joined" for example in examples])
    nowhere = np.mean([not windows.any() for example in examples for windows in example.windows])
    assert 0.35 < joined_share < 0.65
    assert 0.01 < nowhere < 0.2
    assert all(len(example.queries) <= 3 for example in examples)


def test_an_annotated_video_is_that_of_the_file() -> None:
    rng = np.random.default_rng(0)
    scripts = {script.name: script for script in (annotated(captions(), rng) for _ in range(20))}
    assert scripts["b"].duration_s == 20.0
    assert [tuple(one) for one in scripts["b"].stretches] == [(2, 5.0, 10.0), (2, 15.0, 20.0)]
    assert [one.sentence for one in scripts["a"].stretches] == [0, 1]


def test_a_joined_video_has_no_gap() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        script = joined(captions(), 60.0, rng)
        starts = [one.start_s for one in script.stretches]
        ends = [one.end_s for one in script.stretches]
        assert starts[0] == 0
        assert ends[-1] == script.duration_s <= 60
        assert starts[1:] == ends[:-1]


def test_disorder_drops_and_replaces_words_and_leaves_no_text_empty() -> None:
    texts = ["one two three four five six seven eight nine ten"] * 50 + ["alone"] * 20
    changed = disorder(texts, np.random.default_rng(0))
    lengths = [len(text.split()) for text in changed[:50]]
    assert 8 < np.mean(lengths) < 9.5
    assert "alone" in " ".join(changed[:50])
    assert all(text.strip() for text in changed)


def test_a_space_of_two_parts_has_them_side_by_side() -> None:
    (example,) = make_up(
        captions(),
        [channel(CLEAR), channel(CLEAR)],
        mean_rows,
        n_videos=1,
        clips=8,
        clip_s=1.0,
        n_queries=2,
        seed=(3,),
    )
    assert example.video.shape == (8, 2 * len(WORDS))
    assert example.video[:, : len(WORDS)] == pytest.approx(example.video[:, len(WORDS) :], abs=1e-4)
