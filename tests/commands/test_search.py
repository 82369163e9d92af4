"""A search: its title, its outputs, and the lines below its moments."""

from contextlib import nullcontext
from pathlib import Path

import pytest

from vidsum.archive.matches import Match
from vidsum.archive.settings import SearchOptions
from vidsum.commands.search import SearchOutputs, _closing_lines, _read_videos, _rows, _target, _title
from vidsum.errors import OutputError, UsageError
from vidsum.outputs.names import Written, check_outputs

REMARK = "matches below 25 % are unlikely to show it"


def matches(*present: float | None) -> list[Match]:
    return [Match(f"{number}.mp4", 0.0, 1.0, value, value or 0.5) for number, value in enumerate(present)]


@pytest.mark.parametrize(
    ("present", "lines"),
    [
        ([], ["no moments found"]),
        ([0.9, 0.8], []),
        ([0.9, 0.2], [REMARK]),
        ([0.2, None], [REMARK]),
        ([None], []),
    ],
    ids=["none", "all likely", "one unlikely", "unlikely beside a picture", "picture"],
)
def test_unlikely_moments_among_others_have_a_remark(present: list[float | None], lines: list[str]) -> None:
    assert _closing_lines(matches(*present), [], None) == lines


def test_clips_that_were_written_are_counted() -> None:
    rows = [{"clip": "a.mp4"}, {}, {"clip": "b.mp4"}]
    assert _closing_lines(matches(0.9), rows, Path("cuts")) == ["2 clips in cuts"]
    assert _closing_lines(matches(0.9), rows[:1], Path("cuts")) == ["1 clip in cuts"]


def test_output_over_a_video_that_was_found_is_refused() -> None:
    written = Written()
    check_outputs("the archive", [Path("0.mp4")], {}, written)
    with pytest.raises(UsageError, match="is read, and would be written for the archive"):
        _read_videos(matches(0.9), written)


def test_title_of_a_search_has_all_its_conditions_in_words() -> None:
    filters = SearchOptions(like=("x/a.jpg",), also=("snow",), without=("people", "cars"), then=("night",))
    assert _title("a dog", filters) == "a dog, like a.jpg, and snow, not people, not cars, then night"


@pytest.mark.parametrize("overwrite", [False, True])
def test_foreign_output_of_a_search_is_refused_before_any_work(tmp_path: Path, overwrite: bool) -> None:
    page = tmp_path / "page.html"
    page.write_text("mine")
    extra = SearchOutputs(page=page, overwrite=overwrite)
    with nullcontext() if overwrite else pytest.raises(OutputError, match="already exists"):
        _target(extra, {}, Written())


def test_search_document_on_stdout_excludes_other_outputs(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        _target(SearchOutputs(output="-", page=tmp_path / "page.html"), {}, Written())


@pytest.mark.parametrize("output", ["a.txt", "a"])
def test_list_of_a_search_is_json_or_csv(output: str) -> None:
    with pytest.raises(UsageError, match=r"\.json"):
        _target(SearchOutputs(output=output), {}, Written())


def test_rows_name_the_clips_that_are_to_be_written() -> None:
    rows = _rows(matches(0.9, 0.8), Path("cuts"))
    assert [row["clip"] for row in rows] == ["cuts/01_0.mp4", "cuts/02_1.mp4"]
    assert "clip" not in _rows(matches(0.9), None)[0]
