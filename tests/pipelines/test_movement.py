"""Movement is seen in the pass that makes other features, and changes nothing of them."""

from pathlib import Path

import numpy as np
import pytest

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
from vidsum.shots.settings import ShotSettings
from vidsum.summary.settings import Selection


def open_sample(*, actions: bool, **settings: bool) -> Input:
    return open_in_space("vse", SAMPLE, Extraction(device="cpu", **settings), actions=actions)


def read(video_input: Input) -> tuple[list[Features], Features]:
    made, pictures = video_input.read()
    assert pictures is not None
    assert pictures.changes is not None
    return made, pictures.changes


@pytest.fixture(scope="module")
def together() -> tuple[list[Features], Features]:
    return read(open_sample(actions=True, cache=False))


def test_other_features_are_the_same_bytes_with_movement(together: tuple[list[Features], Features]) -> None:
    (features, _), changes = together
    (alone,), changes_alone = read(open_sample(actions=False, cache=False))
    for made, expected in ((features, alone), (changes, changes_alone)):
        assert made.array.tobytes() == expected.array.tobytes()
        assert made.timestamps.tobytes() == expected.timestamps.tobytes()
        assert made.provenance == expected.provenance


@pytest.mark.usefixtures("own_home")
def test_movement_is_the_same_where_other_features_are_cached(
    together: tuple[list[Features], Features],
) -> None:
    read(open_sample(actions=False))
    movement = see_movement(SAMPLE, Extraction(device="cpu", fast=True))
    np.testing.assert_allclose(movement.array, together[0][1].array, atol=1e-4)
    assert movement.extractor == NAME


def test_the_edges_of_shots_are_cached_for_both(monkeypatch: pytest.MonkeyPatch, own_home: Path) -> None:
    plain = plan_embedding(open_sample(actions=False), "vse").run().clips
    monkeypatch.setattr("vidsum.pipelines.embedding.find", None)  # would find them again
    clips = plan_embedding(open_sample(actions=True), "vse").run().clips
    np.testing.assert_array_equal(clips.shots_s, plain.shots_s)
    assert plain.actions is None
    assert clips.actions is not None


def test_key_frames_alone_show_no_movement(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vidsum.pipelines.decoding.describe_sparse", lambda _: None)
    assert len(open_sample(actions=True, fast=True).jobs) == 1


def test_without_actions_nothing_is_made_of_them() -> None:
    answers = [
        ground(SAMPLE, "someone is jumping", space="vse", actions=actions) for actions in (True, False)
    ]
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
