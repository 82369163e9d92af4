"""Submissions to QVHighlights: what is written is read again, and what is wrong is named with its line."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.datasets.moment_layouts import write_lines
from vidsum.datasets.moments import MomentVideo, Query
from vidsum.errors import InputError, OutputError
from vidsum.evaluation.submissions import (
    QueryPrediction,
    read_highlight_predictions,
    read_predictions,
    write_predictions,
)
from vidsum.types import Moment

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


def test_answers_come_in_the_order_of_the_data_and_moments_in_that_of_the_file(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "mine.jsonl", line(8, pred_saliency_scores=[1, 0]), line(7))
    found = read_highlight_predictions(path, QUERIES)
    assert list(found) == ["7", "8"]
    assert found["7"] == QueryPrediction(
        "7", "A girl", "x", (Moment(0, 2, 0.5), Moment(2, 6, 0.9)), (0.25, 0.25, 0.25, 0.25)
    )
    assert found["8"].saliency == (1.0, 0.0)  # the last clip may lack a score


@pytest.mark.parametrize(
    ("left_out", "has"), [("pred_saliency_scores", (True, False)), ("pred_relevant_windows", (False, True))]
)
def test_either_part_may_be_left_out(tmp_path: Path, left_out: str, has: tuple[bool, bool]) -> None:
    path = write_lines(tmp_path / "mine.jsonl", *(line(qid, **{left_out: None}) for qid in (7, 8)))
    for one in read_highlight_predictions(path, QUERIES).values():
        assert (one.moments is not None, one.saliency is not None) == has


finite = st.floats(allow_nan=False, allow_infinity=False, width=32)
moments = st.lists(st.tuples(st.floats(0, 4), st.floats(5, 9), finite).map(lambda one: Moment(*one)))


@settings(deadline=None)  # files are written on machines that are busy
@given(
    found=st.none() | moments,
    saliency=st.none() | st.lists(finite, min_size=3, max_size=4),
    text=st.text().filter(lambda text: text.isprintable()),
)
def test_what_is_written_is_read_again(
    tmp_path_factory: pytest.TempPathFactory,
    found: list[Moment] | None,
    saliency: list[float] | None,
    text: str,
) -> None:
    path = tmp_path_factory.mktemp("written") / "mine.jsonl"
    given_ = QueryPrediction(
        "7", text, "x", None if found is None else tuple(found), None if saliency is None else tuple(saliency)
    )
    write_predictions(path, [given_])
    if found is None and saliency is None:
        with pytest.raises(InputError, match="has neither"):
            read_highlight_predictions(path, {"7": QUERIES["7"]})
    else:
        assert read_highlight_predictions(path, {"7": QUERIES["7"]}) == {"7": given_}


def test_the_layout_is_the_published_one(tmp_path: Path) -> None:
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


def test_what_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="no folder"):
        write_predictions(tmp_path / "none" / "mine.jsonl", [])
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


def moment(*values: Any) -> list[dict[str, Any]]:
    """A line with one moment."""
    return [line(7, pred_relevant_windows=[list(values)])]


NOT_A_MOMENT = "line 1: has a moment that is not a start, end and score: "


@readers
@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ([line(7), line(8), line(7)], "line 3: answers .* again"),
        ([line(7)], "lacks 1 of 2 queries, such as 'A dog' of y"),
        ([], "lacks 2 of 2 queries"),
        ([{**line(7), "qid": 9}], "line 1: qid 9 .*is not in the data"),
        ([{**line(7), "qid": True}], "line 1: has no number or text qid"),
        ([line(7, vid=None)], "line 1: has no text vid"),
        ([line(7, vid="z")], "line 1: .*z.* in the data"),
        ([line(7, query=None)], "line 1: has no text query"),
        (moment(2, 1.9, 1), "line 1: has a moment that ends before its start: .2, 1.9, 1.$"),
        ([line(8), *moment(6, 2, 1)], "line 2: has a moment that ends before"),
        (moment(2, 6, float("nan")), f"{NOT_A_MOMENT}.2, 6, nan"),
        (moment(2, float("inf"), 1), f"{NOT_A_MOMENT}.2, inf, 1"),
        (moment(2, 6), f"{NOT_A_MOMENT}.2, 6.$"),
        (moment("2", 6, 1), f"{NOT_A_MOMENT}.'2', 6, 1"),
        (moment(2, 10**400, 1), NOT_A_MOMENT),
        ([line(7, pred_relevant_windows=[{"5": 1, "6": 1, "1": 1}])], NOT_A_MOMENT),
        ([line(7, pred_relevant_windows=3)], "line 1: has no list pred_relevant_windows"),
        ([line(7, pred_saliency_scores=None, pred_relevant_windows=None)], "line 1: has neither pred_rel"),
        ([line(7), [1]], "line 2: .*JSON object"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(
    tmp_path: Path, read: Read, lines: list[Any], reason: str
) -> None:
    path = write_lines(tmp_path / "mine.jsonl", *lines)
    with pytest.raises(InputError, match=reason) as caught:
        read(path)
    assert str(caught.value).startswith(str(path))


@readers
@pytest.mark.parametrize("content", [None, b"\xff\xfe\x00", b"text", b'{"qid": 7', b'{"vid": "v_b"}\n{'])
def test_files_of_another_kind_are_named(tmp_path: Path, read: Read, content: bytes | None) -> None:
    path = tmp_path / "mine.jsonl"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=r"mine\.jsonl"):
        read(path)


@readers
def test_an_empty_moment_is_kept_in_its_place(tmp_path: Path, read: Read) -> None:
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
        ([line(7, pred_saliency_scores=[1, 2, 3, float("nan")])], "line 1: .* finite numbers: nan"),
        ([line(7, pred_saliency_scores=[1, 2, 3, None])], "line 1: .* finite numbers: None"),
        ([line(7, pred_saliency_scores="high")], "line 1: has pred_saliency_scores .* list"),
        (
            [line(7), line(8, pred_saliency_scores=None)],
            "line 2: has pred_relevant_windows; the first line has pred_relevant_windows and pred_sal",
        ),
    ],
)
def test_what_is_wrong_with_an_answer_to_qvhighlights(tmp_path: Path, lines: list[Any], reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        read_highlight_predictions(write_lines(tmp_path / "mine.jsonl", *lines), QUERIES)


def test_a_video_of_less_than_two_clips_needs_a_score(tmp_path: Path) -> None:
    short = {"7": Query("7", "A girl", "x", 3.0, ((0.0, 2.0),), np.ones((1, 3), np.float32))}
    path = write_lines(tmp_path / "mine.jsonl", line(7, pred_saliency_scores=[]))
    with pytest.raises(InputError, match="has 0 pred_saliency_scores"):
        read_highlight_predictions(path, short)
