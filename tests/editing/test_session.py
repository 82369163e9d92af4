"""Correcting a result: decisions are in their file at once, and what is saved is vidsum's own."""

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import vidsum
from tests.conftest import fewer_examples
from tests.editing.conftest import check_undo
from tests.media import make_video
from tests.results.test_edits import leave, move, take
from vidsum.editing.session import EditSession
from vidsum.errors import InputError, OutputError, UsageError
from vidsum.features.settings import Extraction
from vidsum.outputs.artifacts import Artifacts
from vidsum.outputs.output_records import write_record
from vidsum.pipelines.replan import _selections
from vidsum.results.decisions import decisions_path, read_decisions, write_decisions
from vidsum.results.edits import edit_groups
from vidsum.results.summary import ScoredShot, Summary

PARTS = ("groups", "removed", "budget_s", "count")


def parts_of(state: dict[str, Any]) -> dict[str, Any]:
    return {name: state[name] for name in PARTS}


def spans(state: dict[str, Any]) -> list[tuple[float, float]]:
    return [(part["start_s"], part["end_s"]) for part in state["groups"][0]["parts"]]


def test_decisions_outlive_the_session(record: Path) -> None:
    first = EditSession(record)
    begun = spans(first.describe())
    state = first.decide(leave(*begun[0]))
    assert read_decisions(decisions_path(record))["decisions"] == [leave(*begun[0])]
    assert parts_of(EditSession(record).describe()) == parts_of(state)
    assert spans(state) == begun[1:]
    assert json.loads(record.read_text())["segments"][0]["start_s"] == begun[0][0]  # until it is saved


TENTHS = st.integers(0, 600).map(lambda number: number / 10)
STEPS = st.lists(
    st.one_of(
        st.builds(take, TENTHS, TENTHS),
        st.builds(leave, TENTHS, TENTHS),
        st.builds(move, TENTHS, TENTHS, TENTHS, TENTHS),
        st.sampled_from(["undo", "redo"]),
    ),
    max_size=8,
)


@fewer_examples(3)
@given(STEPS)
def test_undo_returns_to_the_same_state(record: Path, steps: list[Any]) -> None:
    decisions_path(record).unlink(missing_ok=True)
    check_undo(EditSession(record), steps, parts_of)


def test_edges_are_places_or_frames(record: Path) -> None:
    session = EditSession(record)
    cut = session.describe()["units"][2][0]
    state = session.decide(take(cut + 0.0004, cut + 1.234))
    (span,) = [span for span in spans(state) if span[0] == cut]
    assert span[1] * 10 == pytest.approx(round(span[1] * 10))


def test_times_of_the_page_are_those_of_players(tmp_path: Path) -> None:
    film = make_video(tmp_path / "late.mp4", n_frames=250, fps=25, sound=True, late_s=0.52).path
    video = vidsum.probe(film)
    times, curve = np.arange(0, 10, 0.5), np.ones(20, np.float32)
    shots = tuple(ScoredShot(start, start + 2.0, 1.0, start == 2) for start in range(0, 10, 2))
    about: Any = {"video": video, "provenance": {"vidsum": "0", "extractor": "efficientnet_lite0"}}
    summary = Summary(((2.0, 4.0),), shots, curve, times, 4.0, 10.0, 25.0, "ridge", "kts", **about)
    vidsum.write_json(summary, tmp_path / "late_summary.json")
    session = EditSession(tmp_path / "late_summary.json")
    offset_s = video.start_offset_s or 0
    assert offset_s > 0.5
    assert spans(session.describe()) == [pytest.approx((2 + offset_s, 4 + offset_s))]
    session.decide(take(6 + offset_s, 8 + offset_s))
    (decision,) = read_decisions(decisions_path(tmp_path / "late_summary.json"))["decisions"]
    assert decision == take(6, 8)


def test_plan_again_around_decisions(record: Path) -> None:
    session = EditSession(record)
    begun = spans(session.describe())
    session.decide(leave(*begun[0]))
    taken = next(unit for unit in session.describe()["units"] if tuple(unit) not in begun)
    state = session.decide(take(*taken))
    state = session.plan(30)
    assert tuple(taken) in spans(state)
    assert all(end_s <= begun[0][0] or start_s >= begun[0][1] for start_s, end_s in spans(state))
    assert 15 < state["groups"][0]["used_s"] <= 30
    assert session.plan(4)["groups"][0]["used_s"] <= 4


def test_saved_files_are_vidsums_own(record: Path) -> None:
    vidsum.write_video(vidsum.load(record), record.with_suffix(".mp4"))  # type: ignore[arg-type]
    session = EditSession(record, with_video=True)
    first = spans(session.describe())[0]
    session.decide(leave(*first))
    saved, command = session.save()
    assert {path.name for path in saved.files} == {"film_summary.json", "film_summary.mp4"}
    artifacts = Artifacts(record, {"json": record, "video": record.with_suffix(".mp4")})
    assert artifacts.owns(record.with_suffix(".mp4"))
    loaded = vidsum.load(record)
    assert isinstance(loaded, vidsum.Summary)
    assert loaded.segments == tuple(spans(session.describe()))
    assert loaded.provenance["edit"]["decisions"] == [leave(*first)]
    with av.open(str(record.with_suffix(".mp4"))) as container:
        assert (container.duration or 0) / 1e6 == pytest.approx(loaded.duration_s, abs=0.2)
    assert session.describe()["is_saved"]
    assert command.startswith("vidsum ")
    # the result goes on: decisions are still there to undo, and what was made comes back
    assert spans(EditSession(record).undo())[0] == first


def test_what_another_page_saved_is_taken_over(record: Path) -> None:
    first, second = EditSession(record), EditSession(record)
    first.decide(leave(*spans(first.describe())[0]))
    first.save()
    assert second.describe()["is_saved"]
    second.decide(take(30, 31))
    second.save()
    assert first.describe()["is_saved"]
    assert vidsum.load(record).segments == tuple(spans(second.describe()))  # type: ignore[attr-defined]


def test_result_that_was_made_again_is_not_replaced(record: Path, made: Path) -> None:
    session = EditSession(record)
    session.decide(take(30, 31))
    vidsum.write_json(vidsum.summarize(made / "film.mp4", "8s"), record)
    content = record.read_bytes()
    for change in (session.save, session.undo, session.describe):
        with pytest.raises(UsageError, match="was made again"):
            change()
    assert record.read_bytes() == content
    assert read_decisions(decisions_path(record))["decisions"] == [take(30, 31)]


def test_command_without_a_cache_needs_no_plan(record: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = EditSession(record, extraction=Extraction(cache=False), with_video=True)
    monkeypatch.delattr("vidsum.editing.session.flags_of")
    session.decide(leave(*spans(session.describe())[0]))
    assert session.save()[1] == f"vidsum edit {record} --apply"


def test_command_of_a_plan_that_fails_applies_the_decisions(
    record: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: object) -> None:
        raise InputError("the features are gone")

    session = EditSession(record, with_video=True)
    monkeypatch.setattr("vidsum.editing.session.flags_of", fail)
    session.decide(leave(*spans(session.describe())[0]))
    assert session.save()[1] == f"vidsum edit {record} --apply"


def test_a_result_of_features_cannot_be_edited(record: Path, tmp_path: Path) -> None:
    made = vidsum.load(record)
    assert isinstance(made, Summary)
    vidsum.write_json(replace(made, video=None), tmp_path / "film_summary.json")
    with pytest.raises(UsageError, match="computed from features only"):
        EditSession(tmp_path / "film_summary.json")


def test_video_by_a_relative_path_is_looked_for_in_the_folder_of_the_record(
    record: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = vidsum.load(record)
    assert isinstance(made, Summary)
    assert made.video is not None
    folder = tmp_path / "films"
    folder.mkdir()
    shutil.copy(made.video.path, folder / "film.mp4")
    vidsum.write_json(replace(made, video=replace(made.video, path="film.mp4")), folder / "film_summary.json")
    monkeypatch.chdir(tmp_path)
    assert EditSession(Path("films/film_summary.json")).video.path == str(folder.resolve() / "film.mp4")
    monkeypatch.chdir(folder)
    assert EditSession(Path("film_summary.json")).video.path == "film.mp4"


def test_command_that_repeats_by_flags(record: Path) -> None:
    session = EditSession(record, with_video=True)
    session.decide(leave(*spans(session.describe())[0]))
    state = session.plan(15)
    _, command = session.save()
    words = command.split()
    assert words[:2] == ["vidsum", "summarize"]
    flags = dict(zip(words[3::2], words[4::2], strict=True))
    drop = tuple(map(float, flags["--drop"].split("-")))
    again = vidsum.summarize(words[2], flags["--budget"], drop=[drop])
    assert list(again.segments) == spans(state)
    assert again.budget_s == state["budget_s"]


def test_command_has_the_budget_of_the_result(record: Path) -> None:
    made = vidsum.load(record)
    assert isinstance(made, Summary)
    state = edit_groups(made, [leave(*made.segments[0])])[0]
    tried = [*_selections(made, state, made.segments[1:])]
    assert [selection.budget for selection in tried] == ["12s", "12s"]


def test_plan_with_many_parts_that_are_rounded_up(record: Path) -> None:
    session = EditSession(record)
    session.decide(leave(0, 60))
    for number in range(20):  # each is a frame longer where it is cut at frames
        write = {"decisions": [*session._facts()["decisions"], take(3 * number + 0.05, 3 * number + 0.95)]}
        write_decisions(decisions_path(record), {**write, "undone": []}, session._sha256)
    taken_s = session.describe()["groups"][0]["by_hand_s"]
    assert taken_s == pytest.approx(18)
    for more_s in (1.0, 1.5, 3.0, 6.0):
        assert session.plan(taken_s + more_s)["groups"][0]["used_s"] <= taken_s + more_s + 1e-6


def test_command_where_no_flags_repeat(record: Path) -> None:
    session = EditSession(record)
    first = spans(session.describe())[0]
    session.decide(move(*first, first[0] + 0.3, first[1]))
    assert session.save()[1] == f"vidsum edit {record} --apply"


def test_foreign_video_is_not_replaced(record: Path) -> None:
    record.with_suffix(".mp4").write_bytes(b"mine")
    session = EditSession(record, with_video=True)
    session.decide(leave(*spans(session.describe())[0]))
    with pytest.raises(OutputError, match="already exists"):
        session.save()
    assert record.with_suffix(".mp4").read_bytes() == b"mine"
    assert session.describe()["undo"] == 1


def test_nothing_is_left_to_save(record: Path) -> None:
    session = EditSession(record)
    session.decide(leave(0, 60))
    with pytest.raises(UsageError, match="nothing is left"):
        session.save()


def test_highlights_are_planned_and_saved(highlights_record: Path) -> None:
    session = EditSession(highlights_record)
    state = session.plan(2)
    assert len(state["groups"][0]["parts"]) <= 2
    piece = session.describe()["pieces"][4]
    state = session.decide(take(*piece))
    assert tuple(piece) in spans(state)
    session.save()
    loaded = vidsum.load(highlights_record)
    assert isinstance(loaded, vidsum.Highlights)
    assert {moment.interval for moment in loaded.moments} == set(spans(state))


def test_record_of_a_stranger_names_no_other_folder(highlights_record: Path, tmp_path: Path) -> None:
    place = os.path.relpath(tmp_path, highlights_record.parent)
    names = (f"{place}/highlight_film_0m01s.mp4", f"{place}/film_highlights.edl", "../film_highlights.png")
    document, _ = Artifacts(highlights_record).read()
    write_record(highlights_record, document or {}, dict.fromkeys(names, "0" * 64))
    session = EditSession(highlights_record)
    session.decide(take(4, 6))
    saved, _ = session.save()
    assert saved.files == (highlights_record,)
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("name", ["film_shots.json", "edited.json", "none.json", "notes.json"])
def test_files_that_are_refused(made: Path, record: Path, name: str) -> None:
    document = json.loads(record.read_text())
    texts = {"edited.json": json.dumps({**document, "segments": []}), "notes.json": "{}"}
    if name in texts:
        (made / name).write_text(texts[name])
    if name == "film_shots.json":
        vidsum.write_json(vidsum.find_shots(made / "film.mp4"), made / name, overwrite=True)
    with pytest.raises((InputError, UsageError)):
        EditSession(made / name)


def test_decisions_of_another_program_are_refused(record: Path) -> None:
    EditSession(record).decide(take(1, 2))
    text = decisions_path(record).read_text()
    digest = json.loads(text)["sha256"]
    decisions_path(record).write_text(text.replace(digest, "0" * 64))
    with pytest.raises(InputError, match="about another video"):
        EditSession(record)
    decisions_path(record).write_text("my own notes")
    with pytest.raises(InputError, match="not a file of vidsum edit"):
        EditSession(record)
    assert decisions_path(record).read_text() == "my own notes"
