"""Several people's answers to queries: CSV files written here, and their faults."""

from pathlib import Path

import pytest

from vidsum.errors import InputError
from vidsum.lab.evaluation.people import PeopleAnswers, people_files, read_people

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
        (HEAD + "h,a,b,1\n", "line 2: start and end are not numbers"),
        (HEAD + "h,a,b,1,2\nh,a,b,one,2\n", "line 3: start and end are not numbers: .*one"),
        (HEAD + "h,,b,1,2\n", "line 2: has no video_id"),
        (HEAD + "h,a, ,1,2\n", "line 2: has no video_id or no description"),
        (HEAD + "h,a,b,5,5\n", "line 2: 5 to 5 is not"),
        (HEAD + "h,a,b,7,5\n", "line 2: 7 to 5 is not"),
        (HEAD + "h,a,b,-1,5\n", "line 2: -1 to 5 is not"),
        (HEAD + "h,a,b,1,101\n", "line 2: 1 to 101 is not"),
        (HEAD + "h,a,b,nan,5\n", "line 2: nan to 5 is not"),
        (HEAD + "h,a,b,1,inf\n", "line 2: 1 to inf is not"),
        (HEAD + 'h,a,"b,1,2\n', "cannot be read as CSV after line 1"),
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
