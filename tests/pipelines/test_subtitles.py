"""Subtitles as transcripts: which file or track is one, in which language, and what is refused."""

import os
import shutil
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

import vidsum
from tests.media import SubtitleText, Track, add_subtitles, make_tracks
from vidsum.errors import InputError, UsageError
from vidsum.features.settings import Extraction
from vidsum.outputs.output_records import hash_of, write_record
from vidsum.pipelines.sources import probe_video
from vidsum.pipelines.subtitles import find_subtitles, plan_subtitles
from vidsum.results.summary import ScoredShot, Summary
from vidsum.results.transcript import Transcript
from vidsum.times import to_srt, to_vtt

CUES = [(0.25, 0.75, "Two halves of"), (0.75, 1.25, "a sentence."), (1.5, 1.9, "Another one.")]


@pytest.fixture
def talk(tmp_path: Path) -> Path:
    """Two seconds with sound in English."""
    return make_tracks(tmp_path / "talk.mp4", Track((64, 48)), Track(1, language="eng", value=0.1))


def write(talk: Path, *names: str) -> None:
    for name in names:
        (talk.parent / name).write_text(to_srt(CUES))


def read(talk: Path, **options: str) -> Transcript:
    extraction = Extraction(**options)  # type: ignore[arg-type]
    plan = plan_subtitles(probe_video(talk, extraction), extraction)
    assert plan is not None
    return plan.run()


@pytest.mark.parametrize(("names", "expected"), [
    (["talk.srt"], ("talk.srt", "en")),
    (["talk.vtt", "talk.srt"], ("talk.srt", "en")),
    (["talk.srt", "talk.en.srt"], ("talk.en.srt", "en")),
    (["talk.eng.sdh.srt", "talk.en-US.vtt"], ("talk.en-US.vtt", "en")),
    (["talk.de.srt", "talk.VTT"], ("talk.VTT", "en")),
    (["talk.de.srt"], None),
    (["talk.en.forced.srt", "talk.forced.srt"], None),
    (["talk2.srt", "talk.part2.srt", "talk.en.de.srt", "talk.txt", "talkshow.en.srt"], None),
])  # fmt: skip
def test_file_of_the_name_of_a_video(names: list[str], expected: object, talk: Path) -> None:
    write(talk, *names)
    source = find_subtitles(talk, Extraction())
    assert (source and (source.facts["subtitles"], source.language)) == expected


@pytest.mark.parametrize(("names", "expected"), [
    (["talk.de.srt"], ("talk.de.srt", "de")),
    (["talk.de.srt", "talk.fr.srt"], None),
    (["talk.de.srt", "talk.srt"], ("talk.srt", None)),
])  # fmt: skip
def test_sound_without_a_language_takes_no_guess(names: list[str], expected: object, tmp_path: Path) -> None:
    talk = make_tracks(tmp_path / "talk.mp4", Track((64, 48)), Track(1, value=0.1))
    write(talk, *names)
    source = find_subtitles(talk, Extraction())
    assert (source and (source.facts["subtitles"], source.language)) == expected


@pytest.mark.parametrize("record", ["talk.json", "talk.srt.vidsum.json"])
def test_exports_of_vidsum_are_no_speech(record: str, talk: Path) -> None:
    write(talk, "talk.srt", "talk.en.vtt")
    made = talk.with_name("talk.srt")
    document = {"schema": "vidsum.shots/1", "provenance": {}} if record == "talk.json" else {}
    write_record(talk.with_name(record), document, {made.name: hash_of(made)})
    source = find_subtitles(talk, Extraction())
    assert source is not None
    assert source.path == talk.with_name("talk.en.vtt")
    talk.with_name("talk.en.vtt").unlink()
    assert find_subtitles(talk, Extraction()) is None
    assert find_subtitles(talk, Extraction(subtitles=str(made))) is not None
    made.write_text(to_srt(CUES[:1]))  # as if somebody had corrected it
    assert find_subtitles(talk, Extraction()) is not None


def summary_of(film: Path) -> Summary:
    shots = (ScoredShot(0.0, 1.0, 1.0, True), ScoredShot(1.0, 2.0, 0.5, True))
    times, curve = np.arange(0, 2, 0.5), np.ones(4, np.float32)
    about: Any = {"video": vidsum.probe(film), "provenance": {"vidsum": "0", "extractor": "e"}}
    return Summary(((0.2, 0.8), (1.2, 1.6)), shots, curve, times, 1.0, 2.0, 25.0, "ridge", "kts", **about)


def test_subtitles_of_a_summary_are_speech_of_its_mp4(talk: Path) -> None:
    made = summary_of(talk)
    film = shutil.copy(talk, talk.with_name("short.mp4"))
    write(film, "short.srt")
    listed = {name: hash_of(talk.with_name(name)) for name in ("short.mp4", "short.srt")}
    write_record(talk.with_name("short.json"), made.to_dict(), listed)
    source = find_subtitles(film, Extraction())
    assert source is not None
    assert source.path == talk.with_name("short.srt")
    write(talk, "talk.srt")  # of a summary with the name of the film itself
    write_record(talk.with_name("talk.json"), made.to_dict(), {"talk.srt": listed["short.srt"]})
    assert find_subtitles(talk, Extraction()) is None


@pytest.mark.parametrize("is_edited", [False, True])
def test_export_with_edited_texts_is_no_speech(is_edited: bool, talk: Path) -> None:
    made = summary_of(talk)
    cues = [(start_s, end_s, f"segment {n}") for n, (start_s, end_s) in enumerate(made.segments, 1)]
    talk.with_name("talk.srt").write_text(to_srt(cues))
    listed = {name: hash_of(talk.with_name(name)) for name in ("talk.mp4", "talk.srt")}
    write_record(talk.with_name("talk.json"), made.to_dict(), listed)
    if is_edited:
        talk.with_name("talk.srt").write_text(to_srt([(*cues[0][:2], "The start"), *cues[1:]]))
    assert find_subtitles(talk, Extraction()) is None


def test_folder_is_listed_once_for_many_videos(talk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(talk, "talk.en.srt")
    os.utime(talk.parent, (1, 1))
    listed, listdir = list[object](), os.listdir
    monkeypatch.setattr("os.listdir", lambda folder: listed.append(folder) or listdir(folder))
    for _ in range(3):
        assert find_subtitles(talk, Extraction()) is not None
    assert len(listed) == 1
    write(talk, "talk.srt")  # changes the folder
    talk.with_name("talk.en.srt").unlink()
    source = find_subtitles(talk, Extraction())
    assert source is not None
    assert source.path == talk.with_name("talk.srt")


def test_cue_without_times_is_named(talk: Path) -> None:
    write(talk, "talk.srt")
    text = talk.with_suffix(".srt").read_text().replace("00:00:01,500 -->", "00:00:01.5OO -->")
    talk.with_suffix(".srt").write_text(text)
    made = read(talk)
    assert made.warnings == ("talk.srt, line 10: no valid times; its cue is left out",)
    assert made.text == "Two halves of a sentence."


def test_file_that_was_chosen(talk: Path, tmp_path: Path) -> None:
    write(talk, "talk.srt")
    other = tmp_path / "below" / "any name.de.vtt"
    other.parent.mkdir()
    other.write_text(to_vtt([(0.5, 1, "Anders.")]))
    transcript = read(talk, subtitles=str(other))
    assert (transcript.text, transcript.language) == ("Anders.", "de")
    assert transcript.provenance["speech"]["subtitles"] == other.name
    assert find_subtitles(talk, Extraction(subtitles="none")) is None


def test_cues_make_sentences_that_end_with_them(talk: Path) -> None:
    write(talk, "talk.srt")
    transcript = read(talk)
    assert transcript.words == []
    sentences = transcript.sentences(shortest_s=0.1)
    assert [(part.start_s, part.end_s, part.text) for part in sentences] == [
        (0.25, 1.25, "Two halves of a sentence."),
        (1.5, 1.9, "Another one."),
    ]


def test_times_count_from_the_first_picture(talk: Path) -> None:
    film = add_subtitles(talk, talk.with_name("film.mkv"), SubtitleText(CUES, "eng"))
    info = probe_video(film, Extraction())
    assert info.start_offset_s
    write(film, "film.srt")
    of_file = [part.start_s for part in read(film).segments]
    assert of_file == pytest.approx([max(0.0, cue[0] - info.start_offset_s) for cue in CUES])
    of_track = read(film, subtitles="track")
    assert of_track.provenance["speech"] == {"subtitles": "track 1", "language": "en"}
    with av.open(film) as container:
        (pictures,), (cues,) = container.streams.video, container.streams.subtitles
        stamps_s: dict[str, list[float]] = {"video": [], "subtitle": []}
        for packet in container.demux(pictures, cues):
            if packet.pts is not None:
                stamps_s[packet.stream.type].append(float(packet.pts * packet.time_base))
    expected = [max(0.0, stamp_s - min(stamps_s["video"])) for stamp_s in stamps_s["subtitle"]]
    assert [part.start_s for part in of_track.segments] == pytest.approx(expected)


def test_a_track_is_read_once(talk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    film = add_subtitles(talk, talk.with_name("film.mkv"), SubtitleText(CUES, "eng"))
    first = read(film, subtitles="track")
    monkeypatch.setattr("vidsum.pipelines.subtitles.read_subtitle_track", None)
    again = read(film, subtitles="track")
    assert (again.segments, again.provenance) == (first.segments, first.provenance)


def test_notes_and_cues_after_the_end_are_left_out(talk: Path) -> None:
    cues = [(0.1, 0.4, "[applause]"), (0.5, 0.9, "♪ ♪"), (1.0, 9.0, "So [he] said"), (3.0, 4.0, "Late")]
    talk.with_suffix(".srt").write_text(to_srt(cues))
    (segment,) = read(talk).segments
    assert (segment.text, segment.end_s) == ("So [he] said", pytest.approx(2.0, abs=0.1))


@pytest.mark.parametrize("text", ["[laughs] We stay.", "♪ We stay ♪", "(softly) We stay."])
def test_cue_with_a_note_and_words_is_speech(text: str, talk: Path) -> None:
    talk.with_suffix(".srt").write_text(to_srt([(0.5, 1.5, text)]))
    assert [segment.text for segment in read(talk).segments] == [text]


@pytest.mark.parametrize(("content", "fault"), [
    (b"", "has no cue of SubRip or WebVTT"),
    (b"WEBVTT\n\n", "has no cue of SubRip or WebVTT"),
    (b"00:00:09,000 --> 00:00:10,000\nLate\n", "has no speech within the 0:02.00 of the video"),
    (b"00:00:01,000 --> 00:00:01,000\nGone\n", "has no speech within the 0:02.00 of the video"),
    (b"00:00:01,000 --> 00:00:02,000\n[music]\n", "has no speech within the 0:02.00 of the video"),
    (b"00:00:01,000 --> 00:00:02,000\nSch\xf6n\n", "is not a text file in UTF-8 (probably WINDOWS-1252)"),
    (b"\xff" * 20, "is not a text file in UTF-8"),
])  # fmt: skip
def test_damaged_files(content: bytes, fault: str, talk: Path) -> None:
    talk.with_suffix(".srt").write_bytes(content)
    with pytest.raises(InputError) as caught:
        read(talk)
    assert str(caught.value).startswith(f"{talk.with_suffix('.srt')}: {fault}")


def test_missing_file(talk: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read(talk, subtitles=str(talk.with_name("gone.srt")))


def test_edited_subtitles_make_another_result(talk: Path) -> None:
    write(talk, "talk.srt")
    before = read(talk).provenance
    talk.with_suffix(".srt").write_text(to_srt(CUES[:1]))
    os.utime(talk.with_suffix(".srt"), (1, 1))
    assert read(talk).provenance != before


def test_trim_refuses_subtitles(talk: Path) -> None:
    write(talk, "other.srt")
    for choice in ("track", str(talk.with_name("other.srt"))):
        with pytest.raises(UsageError, match="subtitles have no times of words"):
            vidsum.trim(talk, fillers=True, subtitles=choice)


def test_one_file_is_not_of_several_videos() -> None:
    Extraction(subtitles="talk.srt").require_subtitles_of(1)
    Extraction(subtitles="track").require_subtitles_of(2)
    with pytest.raises(UsageError, match="is for one video; there are 2"):
        Extraction(subtitles="talk.srt").require_subtitles_of(2)
