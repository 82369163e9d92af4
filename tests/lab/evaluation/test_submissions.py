"""Submissions and other files of predictions: what is written is read again, faults name file and line."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.lab.datasets.moment_layouts import moment_video, write_lines
from tests.lab.evaluation.annotated import dataset
from tests.media import video_info
from vidsum.errors import InputError, OutputError
from vidsum.lab.datasets.timed_sentences import MomentVideo, Query
from vidsum.lab.evaluation.submissions import (
    QueryPrediction,
    read_highlight_predictions,
    read_predictions,
    read_scores,
    write_predictions,
)
from vidsum.results.moments import Grounding, Moment, QueryMoments

QUERIES = {
    "7": Query("7", "A girl", "x", 9.0, ((2.0, 6.0),)),
    "8": Query("8", "A dog", "y", 6.0, ((0.0, 2.0),)),
}


def line(qid: int, **changes: Any) -> dict[str, Any]:
    """A good answer to one of the queries, but for the changes; those that are None are left out."""
    query = QUERIES[str(qid)]
    values = {
        "qid": qid,
        "query": query.text,
        "vid": query.video,
        "pred_relevant_windows": [[0, 2, 0.5], [2, 6, 0.9]],
        "pred_saliency_scores": [0.25] * query.n_clips,
        **changes,
    }
    return {key: value for key, value in values.items() if value is not None}


@pytest.fixture
def answers(tmp_path: Path) -> dict[str, QueryPrediction]:
    """Two answers that were read, the second of which stands first in the file and lacks a score."""
    path = write_lines(tmp_path / "mine.jsonl", line(8, pred_saliency_scores=[1, 0]), line(7))
    return dict(read_highlight_predictions(path, QUERIES))


def test_answers_come_in_the_order_of_the_data(answers: dict[str, QueryPrediction]) -> None:
    assert list(answers) == ["7", "8"]


def test_moments_come_in_the_order_of_the_file(answers: dict[str, QueryPrediction]) -> None:
    moments = Moment(0, 2, 0.5), Moment(2, 6, 0.9)
    assert answers["7"] == QueryPrediction("7", "A girl", "x", moments, (0.25, 0.25, 0.25, 0.25))


def test_last_clip_may_lack_a_score(answers: dict[str, QueryPrediction]) -> None:
    assert answers["8"].saliency == (1.0, 0.0)


@pytest.mark.parametrize(
    ("left_out", "has"), [("pred_saliency_scores", (True, False)), ("pred_relevant_windows", (False, True))]
)
def test_moments_or_saliency_may_be_left_out(tmp_path: Path, left_out: str, has: tuple[bool, bool]) -> None:
    path = write_lines(tmp_path / "mine.jsonl", *(line(qid, **{left_out: None}) for qid in (7, 8)))
    for one in read_highlight_predictions(path, QUERIES).values():
        assert (one.moments is not None, one.saliency is not None) == has


finite = st.floats(allow_nan=False, allow_infinity=False, width=32)
moments = st.lists(st.tuples(st.floats(0, 4), st.floats(5, 9), finite).map(lambda one: Moment(*one)))


any_moments = st.lists(st.builds(Moment, st.floats(0, 4), st.floats(5, 9), finite), max_size=5).map(tuple)
any_saliency = st.lists(finite, min_size=3, max_size=4).map(tuple)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    parts=st.tuples(any_moments, st.none() | any_saliency) | st.tuples(st.none(), any_saliency),
    text=st.text(st.characters(categories=["L", "N", "P", "S"])),
)
def test_answers_are_read_as_they_were_written(
    tmp_path: Path, parts: tuple[tuple[Moment, ...] | None, tuple[float, ...] | None], text: str
) -> None:
    answer = QueryPrediction("7", text, "x", *parts)
    write_predictions(tmp_path / "mine.jsonl", [answer])
    assert read_highlight_predictions(tmp_path / "mine.jsonl", {"7": QUERIES["7"]}) == {"7": answer}


def test_answer_without_moments_and_saliency_is_refused(tmp_path: Path) -> None:
    write_predictions(tmp_path / "mine.jsonl", [QueryPrediction("7", "A girl", "x", None, None)])
    with pytest.raises(InputError, match="has neither"):
        read_highlight_predictions(tmp_path / "mine.jsonl", {"7": QUERIES["7"]})


def test_layout_of_a_submission_is_the_published_one(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    prediction = QueryPrediction("7", "Ein Mädchen", "x", (Moment(2.0, 6.0, 0.9),), (0.5, 0.25))
    named = QueryPrediction("own-1", "A cat", "y", ())
    write_predictions(path, [prediction, named])
    assert [json.loads(text) for text in path.read_text(encoding="utf-8").splitlines()] == [
        {
            "qid": 7,
            "query": "Ein Mädchen",
            "vid": "x",
            "pred_relevant_windows": [[2.0, 6.0, 0.9]],
            "pred_saliency_scores": [0.5, 0.25],
        },
        {"qid": "own-1", "query": "A cat", "vid": "y", "pred_relevant_windows": []},
    ]


def test_answers_in_a_missing_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="no folder"):
        write_predictions(tmp_path / "none" / "mine.jsonl", [])


def test_answer_that_is_no_json_leaves_no_file(tmp_path: Path) -> None:
    nan = QueryPrediction("7", "A girl", "x", saliency=(float("nan"),))
    with pytest.raises(ValueError, match="JSON"):
        write_predictions(tmp_path / "mine.jsonl", [nan])
    assert list(tmp_path.iterdir()) == []


AS_MOMENTS = {query.video: MomentVideo(query.video, query.duration_s, (query,)) for query in QUERIES.values()}
readers = pytest.mark.parametrize(
    "read",
    [lambda path: read_highlight_predictions(path, QUERIES), lambda path: read_predictions(path, AS_MOMENTS)],
    ids=["highlights", "moments"],
)
Read = Callable[[Path], Any]


def fault(tmp_path: Path, read: Read, lines: Iterable[Any]) -> str:
    """The message about a file of these lines, which begins with its path."""
    path = write_lines(tmp_path / "mine.jsonl", *lines)
    with pytest.raises(InputError) as caught:
        read(path)
    assert caught.value.message.startswith(str(path))
    return caught.value.message


def moment(*values: Any) -> list[dict[str, Any]]:
    """A line with one moment."""
    return [line(7, pred_relevant_windows=[list(values)])]


@readers
@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ([line(7), line(8), line(7)], "line 3: answers "),
        ([line(7)], "lacks 1 of 2 queries, such as 'A dog' of y"),
        ([], "lacks 2 of 2 queries"),
        ([{**line(7), "qid": 9}], "line 1: qid 9 "),
        ([{**line(7), "qid": True}], "line 1: has no number or text qid"),
        ([line(7, vid="z")], "in the data"),
        ([line(7, query=None)], "line 1: has no text query"),
        (moment(2, 1.9, 1), "ends before its start: [2, 1.9, 1]"),
        ([line(8), *moment(6, 2, 1)], "line 2: has a moment that ends before"),
        (moment(2, 6, float("nan")), "line 1: has a moment that is not a start, end and score: [2, 6, nan]"),
        (moment(2, 6), "score: [2, 6]"),
        (moment(2, 10**400, 1), "score: [2, 1000"),
        ([line(7, pred_relevant_windows=[{"5": 1, "6": 1, "1": 1}])], "score: {"),
        ([line(7, pred_relevant_windows=3)], "line 1: has no list pred_relevant_windows"),
        ([line(7, pred_saliency_scores=None, pred_relevant_windows=None)], "line 1: has neither pred_rel"),
        ([line(7), [1]], "line 2: is not a JSON object"),
    ],
)
def test_fault_of_a_submission_names_file_and_line(
    tmp_path: Path, read: Read, lines: list[Any], reason: str
) -> None:
    assert reason in fault(tmp_path, read, lines)


@readers
@pytest.mark.parametrize("content", [None, b"\xff\xfe\x00", b"text", b'{"qid": 7', b'{"vid": "v_b"}\n{'])
def test_file_that_is_no_submission_is_named(tmp_path: Path, read: Read, content: bytes | None) -> None:
    path = tmp_path / "mine.jsonl"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=r"mine\.jsonl"):
        read(path)


@readers
def test_empty_moment_is_kept_in_its_place(tmp_path: Path, read: Read) -> None:
    windows = [[9, 9, 0.9], [2, 6, 0.5]]
    found = read(write_lines(tmp_path / "mine.jsonl", line(7, pred_relevant_windows=windows), line(8)))
    moments = found["7"].moments if "7" in found else found["x"][0]
    assert moments == (Moment(9, 9, 0.9), Moment(2, 6, 0.5))


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ([line(7, vid="z")], "line 1: vid z is not the video of qid 7 in the data, x"),
        ([{key: value for key, value in line(7).items() if key != "qid"}], "has no number or text qid"),
        ([line(7, pred_saliency_scores=[1, 2])], "line 1: has 2 pred_saliency_scores for the 4 clips of 2 s"),
        ([line(7, pred_saliency_scores=[1] * 5)], "line 1: has 5 pred_saliency_scores for the 4 clips"),
        ([line(7, pred_saliency_scores=[1, 2, 3, float("nan")])], "finite numbers: nan"),
        ([line(7, pred_saliency_scores=[1, 2, 3, None])], "finite numbers: None"),
        ([line(7, pred_saliency_scores="high")], "list: 'high'"),
        ([line(7), line(8, pred_saliency_scores=None)], "line 2: has pred_relevant_windows; the first line"),
    ],
)
def test_faults_of_submissions_with_saliency(tmp_path: Path, lines: list[Any], reason: str) -> None:
    assert reason in fault(tmp_path, lambda path: read_highlight_predictions(path, QUERIES), lines)


# --- moments by the names of videos and the texts of queries ---

VIDEOS = {
    "s1.avi": moment_video(
        "s1.avi", 30.0, ("She  cuts.", (0.0, 5.0)), ("She washes.", (6.0, 8.0)), ("She cuts.", (20.0, 25.0))
    ),
    "v_b": moment_video("v_b", 20.0, ("a bird", (0.0, 20.0))),
}
SAME_TEXT = (Query("1", "A dog", "x", 150.0, ((0.0, 4.0),)), Query("2", "A dog", "x", 150.0, ((6.0, 8.0),)))
NUMBERED = {"x": MomentVideo("x", 150.0, SAME_TEXT)}


def submitted(vid: str, query: str, *moments: tuple[float, ...], **more: Any) -> dict[str, Any]:
    """A line of a submission."""
    return {"vid": vid, "query": query, "pred_relevant_windows": [list(one) for one in moments], **more}


def grounded(path: str, queries: Mapping[str, list[tuple[float, float, float]]]) -> dict[str, Any]:
    """A document of `vidsum ground`."""
    curve = np.ones(2, np.float32)
    moments = {query: tuple(Moment(*one) for one in given) for query, given in queries.items()}
    found = tuple(QueryMoments(query, own, curve) for query, own in moments.items())
    video = video_info(path, duration_s=2.0)
    grounding = Grounding(found, np.arange(2.0), 1.0, 2.0, "similarity", "vse", video=video)
    return grounding.to_dict(with_saliency=False)


CUT, WASH, BIRD = (1.0, 2.0, 0.5), (3.0, 4.0, 0.5), (5.0, 6.0, 0.5)
ALL = (
    submitted("s1.avi", "She cuts.", CUT),
    submitted("s1.avi", "She washes.", WASH),
    submitted("v_b", "a bird", BIRD),
)


DOCUMENTS = (
    grounded("films/s1.avi", {"She cuts.": [CUT], "She washes.": [WASH]}),
    grounded("films/v_b.mp4", {"a bird": [BIRD]}),
)
RANKED = submitted("v_b", "a bird", (1, 2, 0.1), (3, 4, 0.9), (5, 6, 0.9))


def starts_of(
    folder: Path, lines: Sequence[Any], videos: dict[str, MomentVideo]
) -> dict[str, list[list[float]]]:
    """When the moments of each query of each video begin."""
    answers = read_predictions(write_lines(folder / "mine.jsonl", *lines), videos)
    return {
        name: [[moment.start_s for moment in moments] for moments in by_query]
        for name, by_query in answers.items()
    }


def test_same_text_has_one_answer_for_all_its_queries(tmp_path: Path) -> None:
    assert starts_of(tmp_path, ALL[::-1], VIDEOS) == {"s1.avi": [[1], [3], [1]], "v_b": [[5]]}


def test_same_text_may_have_an_answer_for_each_of_its_queries(tmp_path: Path) -> None:
    lines = [*ALL, submitted("s1.avi", " She cuts.", (9, 10, 1))]
    assert starts_of(tmp_path, lines, VIDEOS) == {"s1.avi": [[1], [3], [9]], "v_b": [[5]]}


def test_moments_of_an_answer_are_ranked_by_their_scores(tmp_path: Path) -> None:
    starts = starts_of(tmp_path, [*ALL[:2], RANKED], VIDEOS)
    assert starts == {"s1.avi": [[1], [3], [1]], "v_b": [[3, 5, 1]]}


def test_answers_are_found_by_the_numbers_of_their_queries(tmp_path: Path) -> None:
    lines = [submitted("x", "A dog", (1, 2, 1), qid=2), submitted("x", "A dog", (3, 4, 1), qid="1")]
    assert starts_of(tmp_path, lines, NUMBERED) == {"x": [[3], [1]]}


@pytest.mark.parametrize("is_printed", [False, True], ids=["document", "result of a command"])
def test_documents_of_moments_are_answers(tmp_path: Path, is_printed: bool) -> None:
    printed = [{"schema": "vidsum.result/1", "ok": True, "data": document} for document in DOCUMENTS]
    starts = starts_of(tmp_path, printed if is_printed else DOCUMENTS, VIDEOS)
    assert starts == {"s1.avi": [[1], [3], [1]], "v_b": [[5]]}


def test_document_over_several_lines_is_an_answer(tmp_path: Path) -> None:
    path = tmp_path / "v_b_moments.json"
    path.write_text(json.dumps(DOCUMENTS[1], indent=1))
    assert read_predictions(path, {"v_b": VIDEOS["v_b"]}) == {"v_b": [(Moment(*BIRD),)]}


def test_document_cut_short_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "v_b_moments.json"
    path.write_text(json.dumps(DOCUMENTS[1], indent=1)[:-20])
    with pytest.raises(InputError, match=r"v_b_moments\.json: cannot be read as JSON .*line \d\d"):
        read_predictions(path, {"v_b": VIDEOS["v_b"]})


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
def test_fault_of_answers_by_text_names_its_line(tmp_path: Path, lines: Sequence[Any], reason: str) -> None:
    assert reason in fault(tmp_path, lambda path: read_predictions(path, VIDEOS), lines)


@pytest.mark.parametrize(("video", "qid"), [("x", 7), ("y", 1)])
def test_unknown_number_of_a_query_is_named(tmp_path: Path, video: str, qid: int) -> None:
    lines = [submitted(video, "A dog", qid=qid)]
    reason = fault(tmp_path, lambda path: read_predictions(path, NUMBERED), lines)
    assert f"line 1: qid {qid} of {video} is not in the data" in reason


# --- importance scores ---

ANNOTATED = dataset()


@pytest.mark.parametrize("name", ["video_2", "made/video_2"])
def test_scores_of_some_videos_are_read_under_either_name(name: str, tmp_path: Path) -> None:
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
        ('{"video_1": [1, 2, 3]}', "has 3 scores, but the video has 40 features"),
        ('{"video_1": "many"}', "not a list: 'many'"),
        ('{"video_1": [[1], [1, 2]]}', "not finite numbers"),
        (json.dumps({"video_1": [float("nan")] * 40}), "not finite numbers: nan"),
        (json.dumps({"video_1": [1e300] * 40}), "not finite numbers: 1e"),
        (None, "no such file"),
    ],
)
def test_bad_file_of_scores_is_refused(text: str | None, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "scores.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(InputError, match=reason):
        read_scores(path, ANNOTATED)
