"""Movement is seen in the pass that makes other features, and changes nothing of them."""

from pathlib import Path
from uuid import uuid4

import av
import numpy as np
import pytest

import vidsum
from tests.kills import SAMPLE
from vidsum.description.settings import Describing
from vidsum.features.movinet import NAME
from vidsum.features.settings import Extraction
from vidsum.pipelines.describe import plan_descriptions
from vidsum.pipelines.embedding import open_in_space, plan_embedding, see_movement
from vidsum.pipelines.ground import ground
from vidsum.pipelines.plan import Input, open_input
from vidsum.pipelines.summarize import plan_summary, summarize
from vidsum.results.features import Features
from vidsum.results.load import find_fault
from vidsum.shots.settings import ShotSettings
from vidsum.summary.settings import Selection


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first twelve seconds of the sample, in a file that no cache knows."""
    path = tmp_path_factory.mktemp("movement") / "film.mp4"
    with av.open(SAMPLE) as source, av.open(path, "w") as target:
        target.metadata["comment"] = uuid4().hex
        stream = target.add_stream_from_template(source.streams.video[0])
        for packet in source.demux(video=0):
            if packet.pts is not None and packet.pts * packet.time_base < 12:
                packet.stream = stream
                target.mux(packet)
    return path


def open_film(film: Path, *, actions: bool, **settings: bool) -> Input:
    return open_in_space("vse", film, Extraction(device="cpu", **settings), actions=actions)


def read(video_input: Input) -> tuple[list[Features], Features]:
    made, pictures = video_input.read()
    assert pictures is not None
    assert pictures.changes is not None
    return made, pictures.changes


@pytest.fixture(scope="module")
def together(film: Path) -> tuple[list[Features], Features]:
    return read(open_film(film, actions=True, cache=False))


@pytest.mark.deep
def test_other_features_are_the_same_bytes_with_movement(
    film: Path, together: tuple[list[Features], Features]
) -> None:
    (features, _), changes = together
    (alone,), changes_alone = read(open_film(film, actions=False, cache=False))
    for made, expected in ((features, alone), (changes, changes_alone)):
        assert made.array.tobytes() == expected.array.tobytes()
        assert made.timestamps.tobytes() == expected.timestamps.tobytes()
        assert made.provenance == expected.provenance


@pytest.mark.deep
@pytest.mark.usefixtures("own_home")
def test_movement_is_the_same_where_other_features_are_cached(
    film: Path, together: tuple[list[Features], Features]
) -> None:
    read(open_film(film, actions=False))
    movement = see_movement(film, Extraction(device="cpu", fast=True))
    np.testing.assert_allclose(movement.array, together[0][1].array, atol=1e-4)
    assert movement.extractor == NAME


@pytest.mark.deep
def test_the_edges_of_shots_are_cached_for_both(film: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = plan_embedding(open_film(film, actions=False), "vse").run().clips
    monkeypatch.setattr("vidsum.pipelines.embedding.find", None)  # would find them again
    clips = plan_embedding(open_film(film, actions=True), "vse").run().clips
    np.testing.assert_array_equal(clips.shots_s, plain.shots_s)
    assert plain.actions is None
    assert clips.actions is not None


def test_key_frames_alone_show_no_movement(film: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vidsum.pipelines.decoding.describe_sparse", lambda _: None)
    assert len(open_film(film, actions=True, fast=True).jobs) == 1


def test_without_actions_nothing_is_made_of_them(film: Path) -> None:
    answers = [ground(film, "someone is jumping", space="vse", actions=actions) for actions in (True, False)]
    networks = [[made["extractor"] for made in answer.provenance["extractions"]] for answer in answers]
    assert networks == [["efficientnet_lite0", NAME], ["efficientnet_lite0"]]
    known, unknown = (answer.queries[0].present for answer in answers)
    assert known != unknown  # the match probability reads actions


@pytest.mark.parametrize("is_asked", [True, False])
def test_descriptions_record_movement_where_it_is_seen(is_asked: bool) -> None:
    settings = Describing(space="vse", actions=is_asked)
    facts = plan_descriptions(SAMPLE, settings, Extraction(device="cpu")).provenance["descriptions"]
    assert ("movement_weights_sha256" in facts) == is_asked


@pytest.mark.parametrize(
    ("about", "is_asked", "sees"),
    [(("dancing",), True, True), (("dancing",), False, False), ((), True, False)],
)
def test_summary_sees_movement_only_for_texts(
    monkeypatch: pytest.MonkeyPatch, about: tuple[str, ...], is_asked: bool, sees: bool
) -> None:
    monkeypatch.setattr("vidsum.pipelines.summarize.resolve_space", lambda name: "vse")
    video_input, selection = open_input(SAMPLE, Extraction()), Selection(about=about, actions=is_asked)
    facts = plan_summary(video_input, selection, ShotSettings()).provenance["summary"]
    assert ("movement_weights_sha256" in facts) == sees


def test_actions_change_a_summary_about_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vidsum.pipelines.summarize.resolve_space", lambda name: "vse")
    curves = [
        summarize(SAMPLE, about="someone is jumping", actions=actions).importance for actions in (True, False)
    ]
    assert not np.allclose(*curves)


def test_documents_of_what_movement_shows_are_whole(film: Path) -> None:
    results = vidsum.describe(film), vidsum.summarize(film, about=["dancing"]), vidsum.ground(film, "dancing")
    for result in results:
        document = result.to_dict()
        assert "movement_weights_sha256" in str(document) or NAME in str(document)
        assert find_fault(document) is None
