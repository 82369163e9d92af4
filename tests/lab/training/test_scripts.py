"""Scripts of simulated videos: what is shown, when sentences are true, and the queries drawn from them."""

from collections import Counter
from itertools import islice, pairwise

import numpy as np
import pytest

from tests.lab.datasets.moment_layouts import moment_video
from tests.lab.training.test_captions import captions, one_hot
from vidsum.lab.datasets.timed_sentences import MomentVideo
from vidsum.lab.training.embedded_sentences import Captions, ClipCaptions, embed_sentences
from vidsum.lab.training.scripts import (
    NOTHING,
    Script,
    ScriptQuery,
    ScriptSegment,
    _cut,
    annotated_script,
    draw_query,
    joined_script,
    script_of,
)

CLIPS = ("dog runs", "dog runs", "snow", "cook pan", "cook egg", "drum", "drum plays", "book", "book", "egg")


pytestmark = pytest.mark.usefixtures("own_home")


def described() -> Captions:
    """A video with a caption for each 2 s, and one without."""
    videos = {
        "a": moment_video("a", 20.0, ("cook egg", (6.0, 10.0))),
        "b": moment_video("b", 20.0, ("drum plays", (5.0, 10.0), (15.0, 20.0))),
    }
    clips = {"a": ClipCaptions(CLIPS, one_hot(CLIPS))}
    return embed_sentences(videos, one_hot, "words", clips=clips)


def many(n_sentences: int = 300) -> Captions:
    """Videos of 60 s with a sentence each; their texts are numbers."""
    videos: dict[str, MomentVideo] = {
        str(number): moment_video(str(number), 60.0, (f"number{number}", (0.0, 20.0)))
        for number in range(n_sentences)
    }
    return embed_sentences(videos, one_hot, "words")


def queries(script: Script, known: Captions, sentence: int, draws: int = 200) -> dict[int, ScriptQuery]:
    """Draw the queries for a sentence."""
    rng = np.random.default_rng(0)
    drawn_queries = [draw_query(script, known, sentence, rng) for _ in range(draws)]
    return {each.query: each for each in drawn_queries}


@pytest.fixture
def annotated() -> list[Script]:
    """Draws of the video `b`, of 20 s."""
    rng = np.random.default_rng(0)
    drawn = [annotated_script(captions(), rng) for _ in range(100)]
    return [script for script in drawn if script.name == "b"]


def test_last_shot_of_a_segment_ends_with_it() -> None:
    rng = np.random.default_rng(0)
    shots = list(islice(_cut([ScriptSegment(0, 0.0, 20.0)], rng), 100))
    assert shots[-1].end_s == 20.0
    assert all(shot.end_s > shot.start_s for shot in shots)


def test_annotated_video_is_true_when_its_file_says(annotated: list[Script]) -> None:
    assert {script.true for script in annotated} == {((2, 5.0, 10.0, None), (2, 15.0, 20.0, None))}


def test_some_annotated_videos_have_an_end_card_after_their_end(annotated: list[Script]) -> None:
    with_card = [script for script in annotated if script.segments[-1].sentence == NOTHING]
    assert 0 < len(with_card) < 0.4 * len(annotated)
    for script in with_card:
        assert script.segments[-1][1:3] == (20.0, script.duration_s)


def test_annotated_video_without_an_end_card_has_its_length(annotated: list[Script]) -> None:
    plain = [script for script in annotated if script.segments[-1].sentence != NOTHING]
    assert {script.duration_s for script in plain} == {20.0}


def test_shots_cut_segments_at_their_times() -> None:
    known, rng = many(1), np.random.default_rng(0)
    drawn = [[one for one in annotated_script(known, rng).segments if one.sentence == 0] for _ in range(50)]
    assert max(map(len, drawn)) > 2
    for shots in drawn:
        assert (shots[0].start_s, shots[-1].end_s) == (0.0, 20.0)
        assert all(one.end_s == other.start_s for one, other in pairwise(shots))
        assert len({one.shot for one in shots}) == len(shots)


def test_described_video_has_its_captions_and_queries() -> None:
    known = described()
    script = script_of(known, 0)
    assert [known.texts[one.sentence] for one in script.segments] == list(CLIPS)
    assert [one[1:3] for one in script.segments] == [(2.0 * t, 2.0 * t + 2) for t in range(10)]
    assert script.true == (ScriptSegment(0, 6.0, 10.0),)
    np.testing.assert_array_equal(known.vectors[[one.sentence for one in script.segments]], one_hot(CLIPS))


def test_neighbouring_clips_with_like_captions_are_of_one_shot() -> None:
    shots = [one.shot for one in script_of(described(), 0).segments]
    # cosines of neighbours: 1, 0, 0, .5, 0, .7, 0, 1, 0
    assert shots == [0, 0, 1, 2, 3, 4, 4, 5, 5, 6]


def test_joined_video_has_captions_of_the_clips_in_a_window() -> None:
    known, rng = described(), np.random.default_rng(0)
    seen: Counter[str] = Counter()
    for _ in range(50):
        script = joined_script(known, 120.0, rng)
        for moment in script.true:
            inside = [one for one in script.segments if moment.start_s <= one.start_s < moment.end_s]
            texts = [known.texts[one.sentence] for one in inside]
            assert (inside[0].start_s, inside[-1].end_s) == moment[1:3]
            assert set(texts) <= ({"cook pan", "cook egg"} if moment.sentence == 0 else {"drum plays"})
            seen.update(texts if moment.sentence == 0 else [])
    assert seen["cook egg"] > 20
    assert seen["cook pan"] > 20


@pytest.fixture(params=[captions, described], ids=["captions", "described"])
def joined(request: pytest.FixtureRequest) -> list[Script]:
    """Joined videos of a minute at most."""
    known, rng = request.param(), np.random.default_rng(0)
    return [joined_script(known, 60.0, rng) for _ in range(20)]


def test_joined_video_has_no_gap(joined: list[Script]) -> None:
    for script in joined:
        assert script.segments[0].start_s == 0
        assert script.segments[-1].end_s == script.duration_s <= 60
        assert all(before.end_s == after.start_s for before, after in pairwise(script.segments))


def test_shots_of_a_joined_video_are_numbered_in_order(joined: list[Script]) -> None:
    for script in joined:
        numbers = [segment.shot for segment in script.segments]
        assert numbers == sorted(numbers)


def test_moments_of_a_joined_video_share_no_shot(joined: list[Script]) -> None:
    for script in joined:
        for moment, other in pairwise(script.true):
            own = {
                segment.shot
                for segment in script.segments
                if moment.start_s <= segment.start_s < moment.end_s
            }
            later = [segment.shot for segment in script.segments if segment.start_s >= other.start_s]
            assert own.isdisjoint(later)


@pytest.fixture(scope="module")
def long_videos(tmp_path_factory: pytest.TempPathFactory) -> list[Script]:
    """Joined videos of up to 192 s."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VIDSUM_HOME", str(tmp_path_factory.mktemp("home")))
        known, rng = many(), np.random.default_rng(0)
        return [joined_script(known, 192.0, rng) for _ in range(100)]


def test_half_of_the_joined_videos_have_about_twenty_sentences_or_more(long_videos: list[Script]) -> None:
    distinct = np.array([len({moment.sentence for moment in script.true}) for script in long_videos])
    assert 0.4 < (distinct >= 18).mean() < 0.7
    assert np.median(distinct[distinct >= 18]) > 22


def test_some_sentences_of_a_joined_video_come_again(long_videos: list[Script]) -> None:
    distinct = sum(len({moment.sentence for moment in script.true}) for script in long_videos)
    assert 1.05 < sum(len(script.true) for script in long_videos) / distinct < 1.25


def test_some_joined_videos_have_segments_without_a_sentence(long_videos: list[Script]) -> None:
    assert any(segment.sentence == NOTHING for script in long_videos for segment in script.segments)


def test_query_is_the_sentence_a_short_form_or_another_sentence_of_the_event() -> None:
    own = ("dog runs", (0.0, 10.0)), ("snow", (0.0, 9.5)), ("egg", (20.0, 30.0))
    known = embed_sentences({"a": moment_video("a", 40.0, *own)}, one_hot, "words")
    script = Script("x", 40.0, (ScriptSegment(0, 4.0, 8.0), ScriptSegment(2, 8.0, 40.0)))
    drawn_queries = queries(script, known, 0)
    assert set(drawn_queries) == {0, 1, 3}  # itself, the other one, and after three sentences its short form
    assert {each.moments for each in drawn_queries.values()} == {((4.0, 8.0),)}
    assert set(queries(script, known, 2)) == {2, 5}


@pytest.fixture
def drawn_queries() -> dict[int, ScriptQuery]:
    """Queries for a sentence of one word, which another sentence has too: by their numbers, its own is 0."""
    own = ("dog", (0.0, 10.0)), ("dog runs", (10.0, 20.0)), ("egg", (20.0, 30.0))
    known = embed_sentences({"a": moment_video("a", 40.0, *own)}, one_hot, "words")
    assert known.query_texts[3] == "dog"  # the short form of the first
    spans = (0, 0.0, 5.0), (1, 5.0, 9.0), (2, 9.0, 20.0), (1, 20.0, 30.0)
    segments = tuple(ScriptSegment(*span) for span in spans)
    return queries(Script("x", 40.0, segments), known, 0)


def test_short_query_is_true_wherever_its_words_are(drawn_queries: dict[int, ScriptQuery]) -> None:
    assert drawn_queries[3].moments == ((0.0, 9.0), (20.0, 30.0))


def test_sentence_as_a_query_is_true_where_it_stands(drawn_queries: dict[int, ScriptQuery]) -> None:
    assert drawn_queries[0].moments == ((0.0, 5.0),)
