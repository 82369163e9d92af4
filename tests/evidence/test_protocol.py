"""Every kind of evidence finds the same moments after it was packed and unpacked."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.archive.made import use_archive
from tests.evidence.test_match_probability import BACKGROUND, prepare, video_of
from tests.evidence.test_named_objects import texts
from tests.grounding.colours import use_names_of_sounds
from vidsum.evidence.audible import Audible, SoundScores
from vidsum.evidence.described import DescribedParts
from vidsum.evidence.match_probability import Condition
from vidsum.evidence.passages import encode_passages
from vidsum.evidence.picture import Picture, PictureQuery
from vidsum.evidence.protocol import Found, Passage, TextEvidence, encode_queries
from vidsum.evidence.spoken import Spoken, iter_passages
from vidsum.evidence.written import Written

TEXTS = ("a red wall", "a blue sea", "green")
PASSAGES = [Passage(5.0 * at, 5.0 * at + 4, text) for at, text in enumerate(TEXTS)]
DURATION_S = 20.0


def spoken() -> Spoken:
    return Spoken(PASSAGES, encode_passages([*iter_passages(PASSAGES)]))


def audible() -> Audible:
    scores = np.zeros((20, 521), np.float32)
    scores[3:6], scores[12, 7] = 0.9, 0.75
    return Audible.of(SoundScores(scores, DURATION_S))


KINDS: dict[str, Callable[[], TextEvidence]] = {
    "spoken": spoken,
    "written": lambda: Written.of_lines(PASSAGES, DURATION_S),
    "described": lambda: DescribedParts(encode_passages(PASSAGES), "a model"),
    "audible": audible,
}


def texts_of(found: list[Found]) -> list[tuple[float, float, str]]:
    return [(*moment.interval, text) for moment, text in found]


def presents(found: list[Found]) -> list[float]:
    return [moment.present or 0.0 for moment, _ in found]


@pytest.fixture(autouse=True)
def encoders(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_archive(monkeypatch)
    use_names_of_sounds(monkeypatch)


@pytest.mark.parametrize("kind", KINDS)
def test_packed_evidence_has_the_same_moments(kind: str) -> None:
    evidence = KINDS[kind]()
    packed = evidence.pack()
    unpacked = type(evidence).unpack(packed, DURATION_S)
    for query in encode_queries(["blue", "a red wall", "busy signal"]):
        again, before = unpacked.search(query, 3), evidence.search(query, 3)
        assert sorted(texts_of(again)) == sorted(texts_of(before))  # some are equally near
        assert presents(again) == pytest.approx(presents(before), abs=0.01)


@pytest.mark.parametrize("kind", KINDS)
def test_the_rank_of_records_is_highest_for_what_is_there(kind: str) -> None:
    evidence = KINDS[kind]()
    there, other = encode_queries(
        ["busy signal" if kind == "audible" else "a red wall", "applause and yellow"]
    )
    ranks = [type(evidence).rank(evidence.pack().records, query) for query in (there, other)]
    assert ranks[0] is not None
    assert ranks[1] is None or ranks[1] < ranks[0]


@pytest.mark.parametrize("kind", KINDS)
def test_records_of_another_size_are_refused(kind: str) -> None:
    evidence = KINDS[kind]()
    packed = evidence.pack()
    with pytest.raises(ValueError, match="record"):
        type(evidence).unpack(packed._replace(records=packed.records[:-1]), DURATION_S)


def test_packed_pictures_have_the_same_moments() -> None:
    video, queries = video_of(19, 0.0, 3.0, 10.0), texts(5, 3)
    picture = Picture.of(video, "clip", BACKGROUND)
    unpacked = Picture.unpack(picture.pack(), video.duration_s)
    for number in range(3):
        query = PictureQuery(prepare(video, queries), Condition((number,)))
        pairs = zip(unpacked.search(query, 3), picture.search(query, 3), strict=True)
        for (moment, _), (expected, _) in pairs:
            assert moment.interval == expected.interval
            assert moment.present == pytest.approx(expected.present, abs=0.01)
