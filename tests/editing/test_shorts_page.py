"""Shorts: corrected on the page, and seen and saved; what has not changed is not made again."""

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

import vidsum
from tests.browsing import faults_of_looks, needs_chromium, until
from tests.commands.conftest import use_mean_colours
from tests.commands.test_shorts import SAID, make_film
from tests.editing.conftest import editing
from tests.editing.test_edit_page import ask_edit, cell, opened, said
from tests.editing.test_film_view import spoken
from tests.results.test_edited_shorts import rename
from tests.results.test_edits import leave, move, take
from tests.server.serving import ask
from vidsum.editing.session import EditSession
from vidsum.editing.short_clips import complete_short, sentence_pieces
from vidsum.errors import InputError, UsageError
from vidsum.features.settings import Extraction
from vidsum.io.provenance import identify_file
from vidsum.outputs.artifacts import Artifacts
from vidsum.outputs.clips import moment_writers
from vidsum.outputs.edited_files import SavedClips
from vidsum.outputs.output_records import record_of, write_record
from vidsum.pipelines.replan import with_same_words
from vidsum.results.edited_parts import Part
from vidsum.results.shorts import Short, Shorts
from vidsum.times import parse_subtitles, to_srt
from vidsum.video.settings import Clips, SoundLevel

BEST, SECOND = (6.2, 12.0), (0.2, 3.1)
LOUD = Clips(sound=SoundLevel(loudness=-20.0))


def make_shorts(folder: Path) -> Shorts:
    """Two shorts of a film of 20 s in a folder, with a cut every 4 s and a sentence every 3 s."""
    film, text = make_film(folder / "talk.mp4"), folder / "talk.srt"
    text.write_text(to_srt([(3.0 * n + 0.5, 3.0 * n + 2.8, words) for n, words in enumerate(SAID)]))
    about = {"subtitles": text.name, "sha256": identify_file(text)["sha256"]}
    provenance = {
        "vidsum": "0",
        "extractor": "efficientnet_lite0",
        "speech": about,
        "shorts": {"candidates": ["ridge"], "map_sha256": "0" * 64},
    }
    return Shorts(
        (
            Short(*BEST, 9.0, "A title by hand", " ".join(SAID[2:4])),
            Short(*SECOND, 5.0, "Movable metal letters are an old art of the East", SAID[0]),
        ),
        *("speech", 20.0),
        video=vidsum.probe(film),
        provenance=provenance,
    )


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the clips of the shorts."""
    folder = tmp_path_factory.mktemp("clips")
    [*moment_writers("talk", LOUD)["clips"](make_shorts(tmp_path_factory.mktemp("talks")), folder)]
    return folder


@pytest.fixture
def record(clips: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The record of the shorts, with their film and copies of their clips."""

    def copy_clips(_: Shorts, folder: Path) -> list[str]:
        shutil.copytree(clips, folder, dirs_exist_ok=True)
        return []

    monkeypatch.setenv("VIDSUM_HOME", str(tmp_path / "home"))
    use_mean_colours(monkeypatch)
    folder = tmp_path / "talks"
    folder.mkdir()
    made, path = make_shorts(folder), folder / "talk_shorts.json"
    Artifacts(path, {"json": path, "clips": folder}).write(
        made, {"clips": copy_clips}, compose=lambda _: (made.to_dict(), lambda name: False)
    )
    return path


def shorts_in(record: Path) -> tuple[Short, ...]:
    result = vidsum.load(record)
    assert isinstance(result, Shorts)
    return result.shorts


def contents(record: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in record.parent.glob("talk_short_*")}


def test_only_the_moved_short_is_made_again(record: Path) -> None:
    before, session = contents(record), EditSession(record)
    session.decide(move(*SECOND, 0.2, 6.1))
    saved, command = session.save()
    assert {path.name for path in saved.files} == {"talk_shorts.json", "talk_short_2.mp4", "talk_short_2.srt"}
    assert command == f"vidsum edit {record} --apply"
    best, second = shorts_in(record)
    assert (best.interval, second.interval, second.text) == (BEST, (0.2, 6.1), " ".join(SAID[:2]))
    after = contents(record)
    assert {name for name in after if after[name] == before[name]} == {"talk_short_1.mp4", "talk_short_1.srt"}
    with av.open(str(record.with_name("talk_short_2.mp4"))) as clip:
        assert (clip.duration or 0) / 1e6 == pytest.approx(5.9, abs=0.21)
    cues = parse_subtitles(record.with_name("talk_short_2.srt").read_text())
    assert " ".join(" ".join(text for *_, text in cues).split()) == " ".join(SAID[:2])


def test_the_next_best_takes_the_name_of_one_that_is_left_out(record: Path) -> None:
    before, session = contents(record), EditSession(record)
    session.decide(leave(*BEST))
    session.save()
    assert contents(record) == {
        name.replace("2", "1"): content for name, content in before.items() if "_2" in name
    }
    session.undo()
    session.save()
    assert shorts_in(record)[0].interval == BEST
    assert contents(record).keys() == before.keys()


def test_another_title_leaves_the_clips_as_they_are(record: Path) -> None:
    before, session = contents(record), EditSession(record)
    session.decide(rename(8, "Another title"))
    saved, _ = session.save()
    assert [path.name for path in saved.files] == ["talk_shorts.json"]
    assert shorts_in(record)[0].title == "Another title"
    assert contents(record) == before


def test_clips_stay_as_loud_as_they_were_chosen_to_be(record: Path) -> None:
    for end_s in (6.1, 3.1):
        session = EditSession(record)
        session.decide(move(0.2, 9.2 - end_s, 0.2, end_s))
        session.save()
        result = vidsum.load(record)
        assert isinstance(result, Shorts)
        clips = SavedClips.of(result, record)
        assert (clips.settings, len(clips.paths)) == (LOUD, 2)


def test_clips_of_a_save_that_was_killed_are_made_again(record: Path) -> None:
    shorts = vidsum.load(record)
    assert isinstance(shorts, Shorts)
    assert set(SavedClips.of(shorts, record).paths) == {BEST, SECOND}
    write_record(record_of(record), {}, {"talk_short_1.mp4": "0" * 64})
    assert SavedClips.of(shorts, record).paths == {}


def test_all_shorts_cannot_be_left_out(record: Path) -> None:
    before, session = contents(record), EditSession(record)
    session.decide(leave(*BEST))
    session.decide(leave(*SECOND))
    with pytest.raises(UsageError, match="nothing is left"):
        session.save()
    assert contents(record) == before


def test_what_is_said_stays_where_the_words_are_gone() -> None:
    decision = dict(move(*SECOND, 0.2, 4.0))
    assert "text" not in complete_short(decision, [Part(*SECOND, title="As it was", text="Hello.")], [])


def test_a_clip_that_is_gone_is_made_again(record: Path) -> None:
    session = EditSession(record)
    session.decide(move(*SECOND, 0.2, 6.1))
    file, _ = session.open_clip(0.2, 6.1)
    file.close()
    next(iter(session._made_clips().values())).unlink()
    session.open_clip(0.2, 6.1)[0].close()
    next(iter(session._made_clips().values())).unlink()
    session.save()
    assert record.with_name("talk_short_2.mp4").is_file()


def test_a_short_stops_where_another_begins(record: Path) -> None:
    session = EditSession(record)
    session.decide(move(*SECOND, 0.2, 15.0))
    session.save()
    assert shorts_in(record)[1].interval == (0.2, 6.2)
    assert shorts_in(record)[1].text == " ".join(SAID[:2])


def test_a_title_of_its_words_follows_them_and_another_stays(record: Path) -> None:
    session = EditSession(record)
    session.decide(move(*SECOND, 3.2, 6.1))
    session.decide(move(*BEST, 9.2, 12.0))
    session.decide(take(12.2, 18.1))
    session.save()
    titles = [short.title for short in shorts_in(record)]
    assert titles == [
        "A title by hand",
        "Printers in Mainz cast their letters from lead",
        "How do most plants drink in the summer?",
    ]


def test_ends_snap_to_sentences_whose_silence_stops_at_a_cut(record: Path) -> None:
    places = EditSession(record).describe()["places"]
    assert places[1:10] == pytest.approx([0.2, 3.1, 3.2, 6.1, 6.2, 9.1, 9.2, 12.0, 12.2])


def test_the_page_gets_the_clip_that_is_saved(record: Path) -> None:
    before = contents(record)
    with editing(record) as server:
        assert ask(server, "/clip?start=6.2&end=12").body == before["talk_short_1.mp4"]
        assert ask(server, "/clip?start=6.2&end=11").status == 404


def test_the_clip_that_was_seen_is_the_one_that_is_saved(record: Path) -> None:
    before, session = contents(record), EditSession(record)
    session.decide(move(*SECOND, 0.2, 6.1))
    file, _ = session.open_clip(0.2, 6.1)
    with file:
        made = file.read()
    session.save()
    assert contents(record)["talk_short_2.mp4"] == made != before["talk_short_2.mp4"]


def test_a_clip_that_was_seen_is_made_again_for_another_look(record: Path) -> None:
    session = EditSession(record)
    session.decide(move(*SECOND, 0.2, 6.1))
    with session.open_clip(0.2, 6.1)[0] as file:
        loud = file.read()
    made, folder = vidsum.load(record), record.parent
    assert isinstance(made, Shorts)
    quiet = Clips(sound=SoundLevel(loudness=-30.0))
    Artifacts(record, {"json": record, "clips": folder}).write(
        made,
        {"clips": moment_writers("talk", quiet)["clips"]},
        compose=lambda _: (made.to_dict(), lambda name: False),
    )
    with session.open_clip(0.2, 6.1)[0] as file:
        assert file.read() != loud


def test_a_click_adds_whole_sentences(record: Path) -> None:
    pieces = EditSession(record).describe()["pieces"]
    assert pieces[:3] == pytest.approx(np.array([(0.2, 3.1), (3.2, 9.1), (9.2, 12.0)]))


def test_a_click_on_a_picture_in_a_long_sentence_adds_all_of_it() -> None:
    sentences = spoken((1.0, 19.0), (21.0, 22.0))
    units = [(0.0, 4.0), (4.0, 12.0), (12.0, 20.0), (20.0, 24.0), (24.0, 30.0)]
    edges_s = [(0.7, 19.3), (20.7, 22.3)]
    pieces = sentence_pieces(units, sentences, edges_s)
    assert pieces == [edges_s[0], edges_s[0], edges_s[0], edges_s[1], (24.0, 30.0)]


def test_other_subtitles_are_refused(record: Path) -> None:
    record.with_name("talk.srt").write_text(to_srt([(1.0, 2.0, "Other words.")]))
    with pytest.raises(InputError, match="is another file"):
        EditSession(record)


@pytest.fixture
def tab(browser: Any, record: Path) -> Iterator[Any]:
    """The page in a window, with its server."""
    with editing(record) as server:
        tab = opened(browser, server)
        tab.server = server
        yield tab
        assert tab.faults == []


def parts(tab: Any) -> list[tuple[float, float]]:
    return [(part["start_s"], part["end_s"]) for part in ask_edit(tab.server)["groups"][0]["parts"]]


@pytest.mark.deep
@needs_chromium
def test_ends_are_moved_by_words_and_by_keys(tab: Any) -> None:
    tab.locator("#word1").click()
    tab.get_by_role("button", name="End with this sentence").click()
    said(tab, "Now 0:00.2 – 0:06.1")
    tab.locator("#word3").click()
    tab.get_by_role("button", name="Begin with this sentence").click()
    said(tab, "Now 0:09.2 – 0:12.0")
    tab.locator("#words").press("Escape")
    tab.keyboard.press("Home")
    tab.keyboard.press("]")
    tab.keyboard.press("ArrowLeft")
    said(tab, "Now 0:00.2 – 0:03.2")
    tab.keyboard.press("ArrowLeft")
    said(tab, "Now 0:00.2 – 0:03.1")
    assert parts(tab) == [(0.2, 3.1), (9.2, 12.0)]


@pytest.mark.deep
@needs_chromium
def test_keys_that_are_quicker_than_answers_move_an_end_on(tab: Any) -> None:
    tab.keyboard.press("Home")
    tab.keyboard.press("]")
    key = "new KeyboardEvent('keydown', {key: 'ArrowRight', bubbles: true})"
    tab.evaluate(f"for (const _ of [1, 2]) document.activeElement.dispatchEvent({key})")
    said(tab, "Now 0:00.2 – 0:06.1")
    assert parts(tab) == [(0.2, 6.1), BEST]


@pytest.mark.deep
@needs_chromium
def test_leave_out_put_back_add_and_rename(tab: Any) -> None:
    tab.get_by_role("button", name="Leave out: short 1").click()
    said(tab, "Left out: 0:06.2")
    assert tab.get_by_label("Title of short 1").input_value().startswith("Movable metal")
    tab.get_by_role("button", name="Put back: A title by hand").click()
    said(tab, "Taken")
    assert parts(tab) == [SECOND, BEST]
    title = tab.get_by_label("Title of short 1")
    title.fill("A new name")
    title.press("Enter")
    said(tab, "Renamed: A new name")
    cell(tab, 4).click()
    said(tab, "Taken")
    assert len(parts(tab)) == 3
    cell(tab, 4).click(position={"x": 8, "y": 8})  # its end is in the middle
    said(tab, "Left out")
    assert parts(tab) == [SECOND, BEST]


@pytest.mark.deep
@needs_chromium
def test_a_short_plays_as_it_is_saved(tab: Any, record: Path) -> None:
    tab.locator("#word1").click()
    tab.keyboard.press("x")
    said(tab, "Now 0:00.2 – 0:06.1")
    tab.get_by_role("button", name="As saved: short 2").click()
    until(tab, "document.getElementById('clip').currentTime > 1")
    assert tab.evaluate("document.getElementById('clip').duration") == pytest.approx(5.9, abs=0.25)
    assert tab.evaluate("document.querySelector('video').paused")
    tab.get_by_role("button", name="Save", exact=True).click()
    until(tab, "document.getElementById('saving_title').textContent === 'Saved'")
    assert shorts_in(record)[1].interval == (0.2, 6.1)


@pytest.mark.deep
@needs_chromium
@pytest.mark.parametrize("width", [400, 1400])
def test_layout_and_accessibility(browser: Any, record: Path, width: int) -> None:
    with editing(record) as server:
        tab = opened(browser, server, width)
        tab.get_by_role("button", name="As saved: short 1").click()
        until(tab, "document.getElementById('clip').readyState > 1")
        assert faults_of_looks(tab, width) == []


@pytest.mark.parametrize(
    ("speech", "expected"),
    [({}, None), ({"model": "small"}, "none"), ({"subtitles": "track 2", "language": "en"}, "track")],
)
def test_words_are_from_where_they_were(speech: dict[str, str], expected: str | None, record: Path) -> None:
    made = vidsum.load(record)
    assert isinstance(made, Shorts)
    assert made.video is not None
    other = replace(made, provenance={**made.provenance, "speech": speech})
    assert with_same_words(other, made.video, record.parent, Extraction()).subtitles == expected
