"""Archives of videos whose actions are known, of others, and of both."""

import gzip
from dataclasses import replace
from pathlib import Path

import pytest

from tests.archive.made import GREYS, NAMES, embed_queries, embed_video, film
from tests.archive.serving import new_database
from tests.kills import SAMPLE
from vidsum.archive.archive import Archive
from vidsum.archive.index import plan_video
from vidsum.archive.matches import Match
from vidsum.archive.schema import VERSION
from vidsum.errors import DamagedArchiveError
from vidsum.evidence.match_probability import Condition, match_windows, prepare_queries, usual_of
from vidsum.features.settings import Extraction
from vidsum.grounding.actions import WEIGHT_LINE
from vidsum.grounding.spaces import ClassMixture, ClipEmbeddings
from vidsum.models.scaling import softmax
from vidsum.pipelines.ground import ground
from vidsum.results.features import Features

STORED = Path(__file__).with_name("schema_11.vidsum.gz")
"""An archive of `film` and of `sea`, which is blue and green, as schema 11 had it."""
ANSWERS = {
    "blue": [
        *(("sea.mp4", 0.0, 4.0, 0.4936), ("film.mp4", 4.0, 6.0, 0.2081)),
        *(("film.mp4", 6.0, 10.0, 0.0), ("film.mp4", 0.0, 2.0, 0.0)),
    ],
    "red": [
        *(("film.mp4", 0.0, 2.0, 0.1091), ("film.mp4", 6.0, 10.0, 0.0076)),
        *(("film.mp4", 2.0, 4.0, 0.0), ("sea.mp4", 0.0, 4.0, 0.0)),
    ],
}
"""Its answers by pictures, with the probabilities of today."""
WITH_ACTIONS = Path(__file__).with_name("schema_12.vidsum.gz")
"""A stored archive of schema 12 with the same films and actions: later versions must read or convert it."""
ANSWERS_WITH_ACTIONS = {
    "blue": [
        *(("sea.mp4", 0.0, 4.0, 0.0543), ("film.mp4", 4.0, 6.0, 0.0443)),
        *(("film.mp4", 6.0, 10.0, 0.0), ("film.mp4", 0.0, 2.0, 0.0)),
    ],
    "red": [
        *(("film.mp4", 0.0, 2.0, 0.0045), ("film.mp4", 6.0, 10.0, 0.0002)),
        *(("film.mp4", 2.0, 4.0, 0.0), ("sea.mp4", 0.0, 4.0, 0.0)),
    ],
}
PRESENT = "SELECT count(*) FROM shots WHERE actions IS NOT NULL"


def act(space: str, features: Features) -> ClipEmbeddings:
    """Colours, with the colour of the other end of the video as an action."""
    clips = embed_video(space, features)
    return replace(clips, actions=ClassMixture(softmax(8 * clips.rows[::-1] @ NAMES.T), NAMES, WEIGHT_LINE))


@pytest.fixture
def acting(colours: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Actions are known of all videos."""
    monkeypatch.setattr("vidsum.pipelines.embedding.embed_video", act)


def find(archive: Archive, text: str) -> list[Match]:
    return archive.search(text, evidence="picture", duplicates=True)


def expected(video: Path, text: str, match: Match) -> float:
    """The probability of a moment by the clips of a video, as they are before they are stored."""
    clips, query = plan_video("vse", str(video), Extraction()).run().clips, embed_queries("vse", [text])
    actions = clips.actions.names if clips.actions else None
    matches = match_windows(
        clips, prepare_queries(["noun"], query, GREYS, NAMES, actions), usual_of(clips, GREYS)
    )
    return matches.within(Condition((0,)), match.start_s, match.end_s)


@pytest.mark.usefixtures("acting")
@pytest.mark.parametrize("text", ["red", "yellow"])
def test_a_search_gives_the_probability_by_actions(text: str, archive: Archive, tmp_path: Path) -> None:
    video = film(tmp_path / "film.mp4")
    archive.add(video)
    for match in find(archive, text):
        assert match.present == pytest.approx(expected(video, text, match), abs=0.01)


def test_videos_with_and_without_actions_are_searched_together(
    archive: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    videos = [film(tmp_path / name, seed=seed) for seed, name in enumerate(("still.mp4", "acting.mp4"))]
    archive.add(videos[0])
    alone = [match.present for match in find(archive, "red")]
    monkeypatch.setattr("vidsum.pipelines.embedding.embed_video", act)
    archive.add(videos[1])
    found = find(archive, "red")
    assert [match.present for match in found if match.video == str(videos[0])] == pytest.approx(alone)
    others = [match for match in found if match.video == str(videos[1])]
    assert others
    for match in others:
        assert match.present == pytest.approx(expected(videos[1], "red", match), abs=0.01)
        assert match.present not in alone


@pytest.mark.usefixtures("acting")
@pytest.mark.parametrize("value", [None, b"\1", bytes(12)])
def test_a_shot_with_other_actions_than_clips_is_damage(
    value: bytes | None, archive: Archive, tmp_path: Path
) -> None:
    archive.add(film(tmp_path / "film.mp4"))
    archive._connection.execute("UPDATE shots SET actions = ? WHERE id = 2", (value,))
    with pytest.raises(DamagedArchiveError, match=r"shots\.id 2: actions"):
        find(archive, "red")


def assert_answers(archive: Archive, expected: dict[str, list[tuple[str, float, float, float]]]) -> None:
    """Fail unless an archive has these moments, in order, with these probabilities."""
    for text, answers in expected.items():
        found = find(archive, text)
        places = [(Path(match.video).name, match.start_s, match.end_s) for match in found]
        assert places == [answer[:3] for answer in answers]
        assert [match.present for match in found] == pytest.approx([row[3] for row in answers], abs=1e-3)


def test_a_stored_archive_of_schema_11_answers_as_before(colours: None, tmp_path: Path) -> None:
    path = tmp_path / "a.vidsum"
    path.write_bytes(gzip.decompress(STORED.read_bytes()))
    with Archive(path, create=False) as archive:
        assert archive.notes == (f"{path}: was of schema 11, and is now of {VERSION}",)
        assert archive.rows(PRESENT) == [(0,)]
        assert_answers(archive, ANSWERS)


def test_a_stored_archive_of_schema_12_answers_as_before(colours: None, tmp_path: Path) -> None:
    path = tmp_path / "a.vidsum"
    path.write_bytes(gzip.decompress(WITH_ACTIONS.read_bytes()))
    with Archive(path, create=False) as archive:
        assert archive.rows(PRESENT) == [(7,)]
        assert_answers(archive, ANSWERS_WITH_ACTIONS)


def test_an_archive_of_schema_11_takes_videos_with_actions(acting: None, tmp_path: Path) -> None:
    path = tmp_path / "a.vidsum"
    path.write_bytes(gzip.decompress(STORED.read_bytes()))
    with Archive(path) as archive:
        archive.add(film(tmp_path / "new.mp4", ("yellow", "red"), 3))
        assert archive.rows(PRESENT) == [(2,)]
        assert {Path(match.video).name for match in find(archive, "red")} == {
            "film.mp4",
            "new.mp4",
            "sea.mp4",
        }


@pytest.mark.weights
@pytest.mark.parametrize("actions", [True, False])
def test_index_stores_the_actions_that_ground_reads(actions: bool, tmp_path: Path) -> None:
    query, path = "someone is jumping", tmp_path / "a.vidsum"
    with Archive(path) as archive:
        archive.add(SAMPLE, device="cpu", space="vse", actions=actions)
        assert bool(archive.rows(PRESENT)[0][0]) == actions
        found = archive.search(query, 1, evidence="picture")
    (answer,) = ground(SAMPLE, query, space="vse", evidence="picture", device="cpu", actions=actions).queries
    best = max(moment.present or 0.0 for moment in answer.moments)
    assert found[0].present == pytest.approx(best, abs=0.01)


@pytest.mark.deep
def test_an_archive_on_a_server_gets_a_place_for_actions(
    postgres: str, colours: None, tmp_path: Path
) -> None:
    url = new_database(postgres)
    with Archive(url) as archive:
        archive.add(film(tmp_path / "film.mp4"))
        before = find(archive, "red")
        archive._connection.execute("ALTER TABLE vidsum.shots DROP COLUMN actions")
        archive._connection.set_version(11)
    with Archive(url, create=False) as archive:
        assert archive._connection.version() == VERSION
        assert find(archive, "red") == before
