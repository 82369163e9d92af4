"""Predictions that go by the names of videos: moments by the text of queries, importance scores."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.datasets.moment_layouts import moment_video, write_lines
from tests.evaluation.annotated import dataset
from vidsum.datasets.moments import MomentVideo, Query
from vidsum.documents import grounding_document
from vidsum.errors import InputError
from vidsum.evaluation.submissions import read_predictions, read_scores
from vidsum.types import Grounding, Moment, QueryMoments, VideoInfo

VIDEOS = {
    "s1.avi": moment_video(
        "s1.avi", 30.0, ("She  cuts.", (0.0, 5.0)), ("She washes.", (6.0, 8.0)), ("She cuts.", (20.0, 25.0))
    ),
    "v_b": moment_video("v_b", 20.0, ("a bird", (0.0, 20.0))),
}
NUMBERED = {
    "x": MomentVideo(
        "x",
        150.0,
        (Query("1", "A dog", "x", 150.0, ((0.0, 4.0),)), Query("2", "A dog", "x", 150.0, ((6.0, 8.0),))),
    )
}


def submitted(vid: str, query: str, *moments: tuple[float, ...], **more: Any) -> dict[str, Any]:
    """A line of a submission."""
    return {"vid": vid, "query": query, "pred_relevant_windows": [list(one) for one in moments], **more}


def grounded(path: str, queries: Mapping[str, list[tuple[float, float, float]]]) -> dict[str, Any]:
    """A document of `vidsum ground`."""
    curve = np.ones(2, np.float32)
    found = [
        QueryMoments(query, tuple(Moment(*one) for one in given), curve) for query, given in queries.items()
    ]
    grounding = Grounding(tuple(found), np.arange(2.0), 1.0, 2.0, "similarity", "conse", film(path))
    return grounding_document(grounding, with_saliency=False)


def film(path: str) -> VideoInfo:
    """What is known of a video file."""
    sizes = {"width": 4, "height": 4, "display_width": 4, "display_height": 4}
    return VideoInfo(
        path,
        1,
        "mp4",
        "h264",
        2.0,
        25.0,
        False,
        50,
        **sizes,
        rotation_deg=0,
        sample_aspect_ratio=1,
        start_s=0,
    )


CUT, WASH, BIRD = (1.0, 2.0, 0.5), (3.0, 4.0, 0.5), (5.0, 6.0, 0.5)
ALL = (
    submitted("s1.avi", "She cuts.", CUT),
    submitted("s1.avi", "She washes.", WASH),
    submitted("v_b", "a bird", BIRD),
)


def test_a_submission_is_laid_beside_the_queries(tmp_path: Path) -> None:
    found = read_predictions(write_lines(tmp_path / "mine.jsonl", *reversed(ALL)), VIDEOS)
    cut, wash, bird = (Moment(*one) for one in (CUT, WASH, BIRD))
    assert found == {"s1.avi": [(cut,), (wash,), (cut,)], "v_b": [(bird,)]}  # one answer for both "She cuts."


def test_as_many_answers_as_queries_of_one_text_stand_for_them_in_order(tmp_path: Path) -> None:
    found = read_predictions(
        write_lines(tmp_path / "mine.jsonl", *ALL, submitted("s1.avi", " She cuts.", (9, 10, 1))), VIDEOS
    )
    assert [moments[0].start_s for moments in found["s1.avi"]] == [1, 3, 9]


def test_moments_are_put_in_order_of_their_scores(tmp_path: Path) -> None:
    line = submitted("v_b", "a bird", (1, 2, 0.1), (3, 4, 0.9), (5, 6, 0.9))
    found = read_predictions(write_lines(tmp_path / "mine.jsonl", *ALL[:2], line), VIDEOS)
    assert [moment.start_s for moment in found["v_b"][0]] == [3, 5, 1]


def test_queries_with_numbers_go_by_them(tmp_path: Path) -> None:
    lines = submitted("x", "A dog", (1, 2, 1), qid=2), submitted("x", "A dog", (3, 4, 1), qid="1")
    found = read_predictions(write_lines(tmp_path / "mine.jsonl", *lines), NUMBERED)
    assert [moments[0].start_s for moments in found["x"]] == [3, 1]


def test_numbers_that_the_data_has_not_are_passed_over(tmp_path: Path) -> None:
    lines = [{**line, "qid": number} for number, line in enumerate(ALL)]
    assert set(read_predictions(write_lines(tmp_path / "mine.jsonl", *lines), VIDEOS)) == set(VIDEOS)


@pytest.mark.parametrize("as_results", [True, False])
def test_results_and_documents_of_vidsum_ground_are_read(tmp_path: Path, as_results: bool) -> None:
    documents = [
        grounded("films/s1.avi", {"She cuts.": [CUT], "She washes.": [WASH]}),
        grounded("films/v_b.mp4", {"a bird": [BIRD]}),
    ]
    results = [{"schema": "vidsum.result/1", "ok": True, "data": document} for document in documents]
    found = read_predictions(
        write_lines(tmp_path / "mine.jsonl", *(results if as_results else documents)), VIDEOS
    )
    assert [moments[0].start_s for moments in found["s1.avi"]] == [1, 3, 1]
    assert found["v_b"] == [(Moment(*BIRD),)]


def test_one_document_over_several_lines_is_read(tmp_path: Path) -> None:
    path = tmp_path / "v_b_moments.json"
    path.write_text(json.dumps(grounded("v_b.mp4", {"a bird": [BIRD]}), indent=1))
    assert read_predictions(path, {"v_b": VIDEOS["v_b"]}) == {"v_b": [(Moment(*BIRD),)]}


BIRDS = "v_b", "a bird"
NO_MOMENT = {"video": {"path": "v_b"}, "queries": [{"query": "a bird", "moments": [{}]}]}


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ([], "lacks 4 of 4 queries, such as 'She  cuts.' of s1.avi"),
        (ALL[:2], "lacks 1 of 4 queries, such as 'a bird' of v_b"),
        ([*ALL, ALL[1]], "line 4: answers 'She washes.' of s1.avi again"),
        ([*ALL, ALL[0], ALL[0]], "line 5: answers 'She cuts.' of s1.avi again"),
        ([*ALL, submitted("v_b", "a fish")], "line 4: 'a fish' of v_b is not in the data"),
        ([*ALL, submitted("v_x", "a bird")], "line 4: 'a bird' of v_x is not in the data"),
        ([ALL[0], {"vid": "v_b"}], "line 2: has neither pred_relevant_windows nor the queries"),
        ([ALL[0], {"ok": False, "data": {}}], "line 2: is the result of a command that failed"),
        ([{"queries": []}], "has no object video"),
        ([{"video": {"path": "v_b"}, "queries": [{"query": "a bird"}]}], "has no list moments"),
        ([NO_MOMENT], "has a moment that is not a"),
    ],
)
def test_what_is_wrong_with_answers_by_text(tmp_path: Path, lines: list[Any], reason: str) -> None:
    with pytest.raises(InputError) as caught:
        read_predictions(write_lines(tmp_path / "mine.jsonl", *lines), VIDEOS)
    assert str(caught.value).startswith(str(tmp_path / "mine.jsonl"))
    assert reason in str(caught.value)


def test_a_document_over_several_lines_that_is_damaged_is_named_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "v_b_moments.json"
    path.write_text(json.dumps(grounded("v_b.mp4", {"a bird": [BIRD]}), indent=1)[:-20])
    with pytest.raises(InputError, match=r"v_b_moments\.json: cannot be read as JSON .*line \d\d"):
        read_predictions(path, {"v_b": VIDEOS["v_b"]})


def test_an_unknown_number_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="line 1: qid 7 of x is not in the data"):
        read_predictions(write_lines(tmp_path / "mine.jsonl", submitted("x", "A dog", qid=7)), NUMBERED)
    with pytest.raises(InputError, match="line 1: qid 1 of y is not in the data"):
        read_predictions(write_lines(tmp_path / "mine.jsonl", submitted("y", "A dog", qid=1)), NUMBERED)


# --- importance scores ---

ANNOTATED = dataset()


@pytest.mark.parametrize("name", ["video_2", "made/video_2"])
def test_a_file_may_hold_some_videos_under_either_name(name: str, tmp_path: Path) -> None:
    path = tmp_path / "scores.json"
    path.write_text(json.dumps({name: np.linspace(0, 1, 40).tolist(), "tvsum/video_1": [1, 2]}))
    scores = read_scores(path, ANNOTATED)
    assert list(scores) == ["made/video_2"]
    np.testing.assert_allclose(scores["made/video_2"], np.linspace(0, 1, 40), rtol=1e-6)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[1, 2]", "JSON object"),
        ("{", "cannot be read as JSON"),
        ("{}", "no scores for any video"),
        ('{"video_9": [1]}', "video_9 is not in the data"),
        ('{"made/video_9": [1]}', "made/video_9 is not in the data"),
        ('{"video_1": [1, 2, 3]}', "has 3 scores, but the video has 40 features"),
        ('{"video_1": "many"}', "not a list: 'many'"),
        ('{"video_1": [[1], [1, 2]]}', r"not finite numbers: \[1\]"),
        (json.dumps({"video_1": [float("nan")] * 40}), "not finite numbers: nan"),
        (json.dumps({"video_1": [1e300] * 40}), "not finite numbers: 1e"),
        ('{"video_1": [1], "video_1": [2]}', "has the key 'video_1' twice"),
        ("[" * 100_000, "nested too deep"),
    ],
)
def test_what_is_wrong_with_a_file_of_scores(text: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "scores.json"
    path.write_text(text)
    with pytest.raises(InputError, match=reason):
        read_scores(path, ANNOTATED)


def test_a_missing_file_of_scores(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_scores(tmp_path / "no.json", ANNOTATED)
