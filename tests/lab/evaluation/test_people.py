"""Rows of people: small cases by hand, a direct computation, and the published agreement."""

import csv
from collections import defaultdict
from itertools import combinations
from pathlib import Path
from statistics import mean, stdev

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.lab.datasets.moment_layouts import moment_video
from vidsum.errors import InputError
from vidsum.lab.datasets.moments import read_moments
from vidsum.lab.evaluation.moments import evaluate_moments
from vidsum.lab.evaluation.people import PeopleAnswers, people_files, read_people, with_people
from vidsum.types import Interval

VIDEOS = {
    "v_a": moment_video("v_a", 20.0, ("A dog, running.", (0.0, 10.0), (16.0, 20.0)), ("A cat", (4.0, 8.0))),
    "b": moment_video("b", 50.0, ("A cat", (5.0, 25.0))),
}
PEOPLE = (
    PeopleAnswers("a.mp4", " a dog running", ((0, 50), (0, 100), (80, 100))),
    PeopleAnswers("b.mp4", "A CAT", ((10, 50), (20, 40))),
    PeopleAnswers("b.mp4", "A cow", ((0, 10), (0, 9))),
)


def test_small_cases_by_hand() -> None:
    report = with_people(evaluate_moments(VIDEOS, {}, n_seeds=1), PEOPLE, VIDEOS)
    assert [row.name for row in report.rows] == [
        "random",
        "whole video",
        "people (pairwise): 3 queries, 2 to 3 people",
        "people (annotations): 2 queries, 2 to 3 people",
    ]
    pairwise, annotated = (row.measures for row in report.rows[2:])
    dog, cat, cow = (0.5 + 0 + 0.2) / 3, 0.5, 0.9
    assert pairwise.miou == pytest.approx((dog + cat + cow) / 3)
    assert pairwise.recall[1, 0.5] == pairwise.recall[5, 0.5] == pytest.approx((1 / 3 + 1 + 1) / 3)
    assert pairwise.recall[1, 0.7] == pytest.approx(1 / 3)
    assert pairwise.curve[0] == pytest.approx((2 / 3 + 1 + 1) / 3)
    # the windows of the dog are 0 to 50 and 80 to 100 per cent, of which the better counts
    assert annotated.miou == pytest.approx(((1 + 0.5 + 1) / 3 + (1 + 0.5) / 2) / 2)
    facts = report.facts["people"]
    assert [(each["row"], each["n_queries"]) for each in facts] == [
        (report.rows[2].name, 3),
        (report.rows[3].name, 2),
    ]
    error = stdev([dog, cat, cow]) / 3**0.5
    assert facts[0]["standard_errors"]["miou"] == pytest.approx(error)
    assert f"{100 * error:.2f}" in report.note
    (warning,) = report.warnings
    assert "does not have: 1, first 'A cow' of b.mp4" in warning


def test_an_iou_at_the_threshold_counts_as_the_comparison_says() -> None:
    people = PEOPLE[1:2]
    found = [
        with_people(evaluate_moments(VIDEOS, {}, n_seeds=1), people, VIDEOS, comparison).rows[2].measures
        for comparison in ("mmn", "2d-tan")
    ]
    assert [measures.recall[1, 0.5] for measures in found] == [1, 0]


def test_people_who_answered_other_queries_are_refused() -> None:
    report = evaluate_moments(VIDEOS, {}, n_seeds=1)
    with pytest.raises(InputError, match=r"in the data: 'A cow' of b\.mp4"):
        with_people(report, PEOPLE[2:], VIDEOS)
    elsewhere = PeopleAnswers("c", "A cat", ((0, 1), (0, 1)))
    with pytest.raises(InputError, match="in the data: 'A cat' of c"):
        with_people(report, (elsewhere,), VIDEOS)


WINDOWS = st.tuples(st.integers(0, 99), st.integers(1, 100)).map(
    lambda drawn: (drawn[0], min(100, drawn[0] + drawn[1]))
)


@given(st.lists(st.lists(WINDOWS, min_size=2, max_size=5), min_size=1, max_size=6))
def test_pairs_as_a_direct_loop_has_them(queries: list[list[Interval]]) -> None:
    people = tuple(PeopleAnswers("b", "A cat", tuple(windows)) for windows in queries)
    measures = with_people(evaluate_moments(VIDEOS, {}, n_seeds=1), people, VIDEOS).rows[2].measures
    direct = [[direct_iou(*pair) for pair in combinations(windows, 2)] for windows in queries]
    assert measures.miou == pytest.approx(mean(map(mean, direct)))
    for at in (0.5, 0.7):
        shares = [mean(float(iou >= at) for iou in of_query) for of_query in direct]
        assert measures.recall[1, at] == pytest.approx(mean(shares))


def direct_iou(first: Interval, second: Interval) -> float:
    common = min(first[1], second[1]) - max(first[0], second[0])
    return max(0.0, common) / (max(first[1], second[1]) - min(first[0], second[0]))


@pytest.mark.shared
@pytest.mark.parametrize(
    ("data", "folder", "n_queries", "n_known", "expected"),
    [
        ("charades/charades_test.json", "charades", 1000, 999, (0.521, 57.0, 29.8)),
        ("activitynet/test.json", "activitynet", 1288, 1288, (0.442, 44.4, 29.9)),
    ],
)
def test_the_agreement_of_five_people(
    shared: Path, data: str, folder: str, n_queries: int, n_known: int, expected: tuple[float, ...]
) -> None:
    videos = read_moments(shared / "data" / data)
    source = shared / "data" / "human_moments" / folder
    report = with_people(evaluate_moments(videos, {}, n_seeds=1), read_people(source), videos)
    pairwise, annotated = report.rows[2:]
    assert pairwise.name == f"people (pairwise): {n_queries} queries, 5 people"
    assert annotated.name == f"people (annotations): {n_known} queries, 5 people"
    measures = pairwise.measures
    miou, r1_50, r1_70 = measures.miou, measures.recall[1, 0.5], measures.recall[1, 0.7]
    assert (round(miou, 3), round(100 * r1_50, 1), round(100 * r1_70, 1)) == expected
    answers = defaultdict(list)
    for file in source.iterdir():
        for row in csv.DictReader(file.read_text().splitlines(keepends=True)):
            answers[row["video_id"], row["description"]].append((float(row["start"]), float(row["end"])))
    ious = [[direct_iou(*pair) for pair in combinations(each, 2)] for each in answers.values()]
    assert {len(each) for each in ious} == {10}
    assert miou == pytest.approx(np.mean(ious))
    assert annotated.measures.miou < miou


HEAD = "HITId,video_id,description,start,end\n"
GOOD = HEAD + 'h,a.mp4,"A dog, running",0,50\nh,a.mp4,"A dog, running",25.5,100\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tmp_path.joinpath("one.csv").write_text(GOOD)
    return tmp_path


def test_answers_are_collected_over_lines_and_files(folder: Path) -> None:
    folder.joinpath("two.csv").write_text(
        'video_id,end,start,description\nb,20,10, A cat\na.mp4,9,8,"A dog, running"\nb,30,10, A cat\n'
    )
    folder.joinpath("notes.txt").write_text("not a table")
    assert [file.name for file in people_files(folder)] == ["one.csv", "two.csv"]
    assert read_people(folder) == (
        PeopleAnswers("a.mp4", "A dog, running", ((0, 50), (25.5, 100), (8, 9))),
        PeopleAnswers("b", " A cat", ((10, 20), (10, 30))),
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no column video_id"),
        ("video_id,description,start\na,b,1\n", "no column end"),
        (HEAD, "holds no answer"),
        (HEAD + "h,a,b,1\n", "line 2: does not have 5 fields"),
        (HEAD + "h,a,b,1,2\nh,a,b,one,2\n", "line 3: start and end are not numbers: .*one"),
        (HEAD + "h,,b,1,2\n", "line 2: has no video_id"),
        (HEAD + "h,a, ,1,2\n", "line 2: has no video_id or no description"),
        (HEAD + "h,a,b,5,5\n", "line 2: 5 to 5 is not"),
        (HEAD + "h,a,b,7,5\n", "line 2: 7 to 5 is not"),
        (HEAD + "h,a,b,-1,5\n", "line 2: -1 to 5 is not"),
        (HEAD + "h,a,b,1,101\n", "line 2: 1 to 101 is not"),
        (HEAD + "h,a,b,nan,5\n", "line 2: nan to 5 is not"),
        (HEAD + "h,a,b,1,inf\n", "line 2: 1 to inf is not"),
        (HEAD + 'h,a,"b,1,2\n', "line 1: cannot be read as CSV"),
    ],
)
def test_a_fault_names_file_and_line(folder: Path, text: str, reason: str) -> None:
    folder.joinpath("two.csv").write_text(text)
    with pytest.raises(InputError, match=rf"two\.csv: .*{reason}"):
        read_people(folder)


def test_one_answer_is_no_agreement(folder: Path) -> None:
    folder.joinpath("two.csv").write_text(HEAD + "h,b,A cat,1,2\n")
    with pytest.raises(InputError, match="b: 'A cat' has one answer"):
        read_people(folder)


def test_other_folders_are_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"one\.csv: is not a folder"):
        read_people(folder / "one.csv")
    with pytest.raises(InputError, match="none: no such folder"):
        read_people(folder / "none")
    (folder / "empty").mkdir()
    with pytest.raises(InputError, match="empty: has no CSV file"):
        read_people(folder / "empty")
    (folder / "one.csv").write_bytes(b"\xfa\xfb")
    with pytest.raises(InputError, match=r"one\.csv: is not a text file"):
        read_people(folder)
