"""Files that are added, change, move or vanish."""

import errno
import os
import shutil
import time
from multiprocessing import get_context
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import vidsum
from tests.archive.made import count, film, make_with, spoken, written
from tests.media import Track, make_tracks
from vidsum.archive import index
from vidsum.archive.archive import Archive
from vidsum.archive.stored_evidence import NewEvidence
from vidsum.errors import InputError, UsageError
from vidsum.evidence.protocol import Packed
from vidsum.pipelines import decoding
from vidsum.pipelines.evidence_kinds import KINDS
from vidsum.pipelines.plan import Plan
from vidsum.results.descriptions import Description, Descriptions
from vidsum.results.screen_text import ScreenLine
from vidsum.results.transcript import Segment, Transcript
from vidsum.times import to_srt


@pytest.fixture
def videos(tmp_path: Path) -> Path:
    folder = tmp_path / "videos"
    film(folder / "a.mp4")
    film(folder / "b.mp4", ("red", "red", "blue"), seed=1)
    return folder


def states(archive: Archive, folder: Path) -> dict[str, str]:
    return {Path(item.video).name: item.state for item in archive.add(folder)}


def test_unchanged_videos_are_added_once_and_not_read_again(
    archive: Archive, videos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = archive.add(videos)
    assert [item.state for item in first] == ["added", "added"]
    assert [item.shots for item in first] == [count(archive, "shots") - first[1].shots, first[1].shots]
    assert first[0].duration_s == pytest.approx(10, abs=0.2)
    assert archive.videos() == [str(videos / "a.mp4"), str(videos / "b.mp4")]
    monkeypatch.setattr(index, "identify_file", lambda path: pytest.fail("is read"))
    assert set(states(archive, videos).values()) == {"unchanged"}


def test_touched_file_of_the_same_content_is_unchanged(archive: Archive, videos: Path) -> None:
    archive.add(videos)
    os.utime(videos / "a.mp4", (1, 1))
    before = count(archive, "shots")
    assert states(archive, videos) == {"a.mp4": "unchanged", "b.mp4": "unchanged"}
    assert count(archive, "shots") == before


def test_file_of_other_content_takes_the_place_of_its_video(archive: Archive, videos: Path) -> None:
    archive.add(videos)
    film(videos / "a.mp4", ("blue",), seed=2)
    assert states(archive, videos) == {"a.mp4": "changed", "b.mp4": "unchanged"}
    assert count(archive, "videos") == 2
    (matches,) = archive.search("yellow", path=["*a.mp4"])
    assert matches.end_s <= 2.2


def test_moved_and_copied_files_are_not_decoded_again(
    archive: Archive, videos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive.add(videos)
    (videos / "below").mkdir()
    (videos / "a.mp4").rename(videos / "below" / "new.mp4")
    shutil.copy(videos / "b.mp4", videos / "copy.mp4")
    monkeypatch.setattr(index, "_embed_video", lambda *rest: pytest.fail("is decoded"))
    added = {Path(item.video).name: item for item in archive.add(videos, recursive=True)}
    made = {name: item.state for name, item in added.items()}
    assert made == {"new.mp4": "moved", "b.mp4": "unchanged", "copy.mp4": "added"}
    assert added["new.mp4"].moved_from == str(videos / "a.mp4")
    assert count(archive, "videos") == 2
    match = archive.search("red", 1, path=["*b.mp4", "*copy.mp4"])[0]
    assert (match.video, match.also) == (str(videos / "b.mp4"), (str(videos / "copy.mp4"),))


def test_video_that_is_gone_is_not_found_until_it_is_back(
    archive: Archive, videos: Path, tmp_path: Path
) -> None:
    archive.add(videos)
    (tmp_path / "video").mkdir()
    (videos / "a.mp4").rename(tmp_path / "away")
    assert archive.mark_gone(tmp_path / "video") == []  # its name begins like that of the other
    assert archive.mark_gone(videos) == [str(videos / "a.mp4")]
    assert archive.videos() == [str(videos / "b.mp4")]
    assert {match.video for match in archive.search("green")} == {str(videos / "b.mp4")}
    (tmp_path / "away").rename(videos / "a.mp4")
    assert states(archive, videos)["a.mp4"] == "unchanged"
    assert len(archive.videos()) == 2


def test_videos_in_an_unreadable_folder_are_kept(
    archive: Archive, videos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive.add(videos)
    shutil.copy(videos / "a.mp4", tmp_path / "copy.mp4")
    status = os.lstat

    def lstat(path: Any, **options: Any) -> Any:
        if os.fsdecode(path).startswith(str(videos / "a")):
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return status(path, **options)

    monkeypatch.setattr(os, "lstat", lstat)
    assert archive.mark_gone(videos) == []
    assert archive.add(tmp_path / "copy.mp4")[0].moved_from is None
    assert str(videos / "a.mp4") in archive.videos()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_pipes_are_refused(archive: Archive, videos: Path, tmp_path: Path) -> None:
    archive.add(videos)
    os.mkfifo(tmp_path / "pipe.mp4")
    with pytest.raises(InputError, match="is a pipe or device"):
        archive.add(tmp_path / "pipe.mp4")


def test_removed_videos_leave_no_rows(
    archive: Archive, videos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(videos)
    added = archive.add(["../videos/a.mp4", "b.mp4"])
    assert [item.video for item in added] == [str(videos / name) for name in ("a.mp4", "b.mp4")]
    assert archive.remove("../videos/a.mp4", "none.mp4") == 1
    assert archive.videos() == [str(videos / "b.mp4")]
    archive.remove(videos / "b.mp4")
    assert [count(archive, table) for table in ("videos", "files", "shots")] == [0, 0, 0]
    assert archive.search("red") == []


def test_interrupted_index_has_whole_videos_alone(
    archive: Archive, videos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    insert = index.insert_video

    def stop_at_b(*arguments: object) -> object:
        result = insert(*arguments)  # type: ignore[arg-type]
        if count_of.append(1) or len(count_of) == 2:
            raise KeyboardInterrupt
        return result

    count_of = list[int]()
    monkeypatch.setattr(index, "insert_video", stop_at_b)
    with pytest.raises(KeyboardInterrupt):
        archive.add(videos)
    assert archive.videos() == [str(videos / "a.mp4")]
    assert (count(archive, "videos"), count(archive, "shots WHERE video != 1")) == (1, 0)
    monkeypatch.setattr(index, "insert_video", insert)
    assert states(archive, videos) == {"a.mp4": "unchanged", "b.mp4": "added"}


@pytest.mark.parametrize("name", ["ünïcode – 日本.mp4", os.fsdecode(b"not-\xff\xfe-utf8.mp4"), "a'b\"c.mp4"])
def test_any_name_of_a_file_is_kept(archive: Archive, tmp_path: Path, name: str) -> None:
    try:
        path = film(tmp_path / "made.mp4").rename(tmp_path / name)
    except (OSError, UnicodeError):
        pytest.skip("this file system has no such names")
    (added,) = archive.add(path)
    assert added.video == str(path)
    assert archive.search("green", 1)[0].video == str(path)
    assert archive.remove(path) == 1


def test_video_of_key_frames_is_read_again_in_full_once(archive: Archive, videos: Path) -> None:
    copy = shutil.copy(videos / "a.mp4", videos / "copy.mp4")

    def add(*, fast: bool) -> tuple[str, int]:
        (added,) = archive.add(videos / "a.mp4", fast=fast)
        return added.state, count(archive, "videos WHERE fast = 1")

    archive.add(copy, fast=True)
    assert add(fast=True) == ("added", 1)
    assert add(fast=True) == ("unchanged", 1)
    assert add(fast=False) == ("changed", 0)
    assert add(fast=True) == ("unchanged", 0)
    assert add(fast=False) == ("unchanged", 0)
    assert count(archive, "videos") == 1
    assert len(archive.videos()) == 2  # the copy has the same


@pytest.mark.parametrize("name", ["bad", "none.mp4"])
def test_file_that_is_no_video_is_refused_by_its_name(archive: Archive, videos: Path, name: str) -> None:
    (videos / "bad").write_bytes(b"no video")
    with pytest.raises(InputError, match=name):
        archive.add(videos / name)
    assert archive.videos() == []


def test_video_that_was_damaged_is_left_out_until_it_is_whole(archive: Archive, videos: Path) -> None:
    archive.add([videos / "a.mp4", videos / "b.mp4"])
    content = (videos / "a.mp4").read_bytes()
    (videos / "a.mp4").write_bytes(b"no video")
    with pytest.raises(InputError, match=r"a\.mp4"):
        archive.add(videos / "a.mp4")
    assert archive.videos() == [str(videos / "b.mp4")]
    (videos / "a.mp4").write_bytes(content)
    assert archive.add(videos / "a.mp4")[0].state == "unchanged"
    assert len(archive.videos()) == 2


def test_a_video_of_many_days_is_refused(
    archive: Archive, videos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "MAX_VIDEO_S", 3.0)
    with pytest.raises(InputError, match="is longer than"):
        archive.add(videos / "a.mp4")


def test_a_video_that_is_removed_while_it_is_read_again_is_an_error(
    archive: Archive, videos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = index._make_missing

    def make_and_remove(*arguments: Any, **options: Any) -> Any:
        made = make(*arguments, **options)
        archive.remove(videos / "a.mp4")
        return made

    archive.add(videos / "a.mp4")
    os.utime(videos / "a.mp4", (1, 1))
    monkeypatch.setattr(index, "_make_missing", make_and_remove)
    with pytest.raises(InputError, match="was removed from the archive meanwhile"):
        archive.add(videos / "a.mp4")


def test_transcript_that_is_in_the_cache_later_is_added(
    archive: Archive, videos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    transcripts = list[str]()

    def find_transcript(source: dict[str, object], *_: object) -> object:
        return "something" if source["sha256"] in transcripts else None

    make_with(monkeypatch, speech=lambda *_: spoken("we paint it green.") if transcripts else None)
    monkeypatch.setattr(index, "find_transcript", find_transcript)
    archive.add(videos)
    assert set(states(archive, videos).values()) == {"unchanged"}
    transcripts.append(index.identify_file(videos / "a.mp4")["sha256"])
    assert states(archive, videos) == {"a.mp4": "changed", "b.mp4": "unchanged"}
    assert set(states(archive, videos).values()) == {"unchanged"}
    assert count(archive, "passages WHERE kind = 'speech'") == 1


def test_speech_is_indexed_on_demand_and_removed_with_its_video(
    archive: Archive, videos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = spoken("we paint it green.", "then red.")
    make_with(monkeypatch, speech=lambda _, is_wanted: said if is_wanted else None)
    archive.add(videos)
    assert count(archive, "passages WHERE kind = 'speech'") == 0
    archive.add(videos / "a.mp4", transcribe=True)
    archive.add(videos / "a.mp4", transcribe=True)
    assert (count(archive, "passages WHERE kind = 'speech'"), count(archive, "videos")) == (2, 2)
    archive.remove(videos / "a.mp4")
    assert count(archive, "passages WHERE kind = 'speech'") == 0


def test_uncertain_text_is_not_indexed(
    archive: Archive, videos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = ((0.0, 3.0, "we paint it green.", False), (3.0, 15.0, "wa wa wa.", True))
    segments = [Segment(*about, 0.9, 0.0, uncertain=uncertain) for *about, uncertain in said]
    transcript = Transcript(tuple(segments), "en", 0.9, 15.0)
    plan = Plan[Transcript]({}, lambda progress: transcript)
    monkeypatch.setitem(KINDS, "speech", KINDS["speech"]._replace(plan=lambda *_, **__: plan))
    monkeypatch.setattr("vidsum.types.VideoInfo.has_audio", True)
    (added,) = archive.add(videos / "a.mp4", transcribe=True)
    assert archive.rows("SELECT text FROM passages") == [("we paint it green.",)]
    left_out = "uncertain throughout: subtitles, titles and searches leave it out"
    assert [note for note in added.warnings if "uncertain" in note] == [
        f"the text from 0:03.00 to 0:15.00 is {left_out}"
    ]


def test_subtitles_are_indexed_where_they_are_new(archive: Archive, videos: Path) -> None:
    def said() -> list[tuple[str]]:
        return archive.rows("SELECT text FROM passages WHERE kind = 'speech'")

    archive.add(videos)
    (videos / "a.srt").write_text(to_srt([(0.5, 3.0, "We paint it green.")]))
    assert states(archive, videos) == {"a.mp4": "changed", "b.mp4": "unchanged"}
    assert said() == [("We paint it green.",)]
    assert set(states(archive, videos).values()) == {"unchanged"}
    (videos / "a.srt").write_text(to_srt([(0.5, 3.0, "We paint it blue.")]))
    assert states(archive, videos) == {"a.mp4": "changed", "b.mp4": "unchanged"}
    assert said() == [("We paint it blue.",)]
    shutil.copy(videos / "a.mp4", videos / "copy.mp4")  # without subtitles
    assert states(archive, videos) == {"a.mp4": "unchanged", "b.mp4": "unchanged", "copy.mp4": "added"}
    assert said() == [("We paint it blue.",)]


def test_damaged_subtitles_are_an_error(archive: Archive, videos: Path) -> None:
    (videos / "a.srt").write_text("")
    with pytest.raises(InputError, match=r"a\.srt: has no cue of SubRip or WebVTT"):
        archive.add(videos)
    with pytest.raises(UsageError, match="is for one video; there are 2"):
        archive.add(videos, subtitles=str(videos / "a.srt"))


def test_texts_outlive_another_reading(
    archive: Archive, videos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stored() -> list[object]:
        return [
            archive.rows("SELECT text, video FROM passages WHERE kind = ?", kind)
            for kind in ("speech", "text")
        ]

    path, copy = videos / "a.mp4", shutil.copy(videos / "a.mp4", videos / "copy.mp4")
    speech = [spoken("we paint it green.")]
    make_with(
        monkeypatch,
        speech=lambda *_: speech[0] if speech else None,
        text=lambda *_: written("EXIT 7") if speech else None,
        sound=lambda *_: NewEvidence("sound", Packed(b"")) if speech else None,
    )
    archive.add([path, copy], fast=True, transcribe=True)
    texts = [[("we paint it green.", 1)], [("EXIT 7", 1)]]
    assert stored() == texts
    speech.clear()  # as an empty cache
    assert archive.add(path)[0].state == "changed"
    assert archive.rows("SELECT fast FROM videos") == [(0,)]
    assert count(archive, "evidence WHERE kind = 'sound'") == 1
    assert stored() == texts
    assert len(archive.search("painted in green", evidence="speech")) == 1
    assert len(archive.videos()) == 2
    assert archive.rows("SELECT n_shots FROM videos") == [(count(archive, "shots"),)]
    archive.remove(path, copy)
    assert [count(archive, table) for table in ("videos", "shots", "passages", "evidence")] == [0, 0, 0, 0]


def test_two_processes_embed_each_video_once(
    archive: Archive, videos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen, see = get_context("fork").Value("i", 0), index._embed_video

    def counted(*options: Any) -> object:
        with seen.get_lock():
            seen.value += 1
        time.sleep(0.3)
        return see(*options)

    monkeypatch.setattr(index, "_embed_video", counted)
    processes = [get_context("fork").Process(target=_index, args=(archive.path, videos)) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0]
    assert (seen.value, count(archive, "videos"), count(archive, "claims")) == (2, 2, 0)
    spans = archive.rows("SELECT first_shot, n_shots FROM videos ORDER BY 1")
    assert spans[1][0] >= sum(spans[0])


def _index(path: Path, videos: Path) -> None:
    with Archive(path) as archive:
        archive.add(videos)


def test_text_on_the_screen_is_indexed_with_its_times(
    archive: Archive, videos: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A stub reads two lines in each frame that is chosen."""
    lines = [
        ScreenLine(0, 0, text, 1.0, (0.1, top, 0.9, top + 0.1))
        for text, top in (("a green exit", 0.1), ("Gate 12", 0.5))
    ]
    reader = SimpleNamespace(read=lambda picture: lines)
    monkeypatch.setattr("vidsum.features.text_reader.reader_facts", lambda: ("pp_ocr", "0" * 64))
    monkeypatch.setattr("vidsum.pipelines.read_text.has_extra", lambda _: True)
    monkeypatch.setattr("vidsum.features.text_reader.load_reader", lambda _: reader)
    archive.add(videos)
    with pytest.raises(InputError, match="has evidence of the kind text"):
        archive.search("gate", evidence="text")
    decoded, read = list[str](), decoding.read_frames

    def counted(info: Any, *rest: Any, **options: Any) -> Any:
        decoded.append(info.path)
        return read(info, *rest, **options)

    monkeypatch.setattr(decoding, "read_frames", counted)
    (added,) = archive.add(videos / "a.mp4", on_screen_text=True)
    assert (added.state, len(decoded)) == ("changed", 1)
    assert archive.add(videos / "a.mp4", on_screen_text=True)[0].state == "unchanged"
    n_lines = count(archive, "passages WHERE kind = 'text'")
    assert n_lines >= 2
    best, *_ = archive.search("gate 12", evidence="text")
    assert (best.evidence, best.text, best.score > 1) == ("text", "Gate 12", True)
    assert archive.search("gate 12")[0] == best
    written = archive.search("gate 12", evidence="text")
    spans = [(moment.start_s, moment.end_s) for moment in written if moment.video == best.video]
    assert len(spans) == len(set(spans))  # the words and their meaning are one moment
    near, *_ = archive.search("gren exits", evidence="text")
    assert (near.text, 0.5 < (near.present or 0) < (best.present or 0)) == ("a green exit", True)
    with Archive(tmp_path / "new.vidsum") as other:  # one pass makes features and text
        monkeypatch.setenv("VIDSUM_HOME", str(tmp_path / "empty"))
        decoded.clear()
        other.add(videos, on_screen_text=True)
        assert sorted(decoded) == [str(videos / name) for name in ("a.mp4", "b.mp4")]
        assert count(other, "passages WHERE kind = 'text'") >= n_lines
        other.remove(videos / "a.mp4", videos / "b.mp4")
        assert count(other, "passages WHERE kind = 'text'") == 0


def describe(video: Path, *texts: str, of: Path | None = None, by: str = "tags") -> Path:
    """Write descriptions next to a video, as `vidsum describe` does."""
    sure = 0.8 if by == "tags" else None
    parts = [Description(2.0 * place, 2.0 * place + 2, text, sure) for place, text in enumerate(texts)]
    writer = {"writer": by, "every_s": None, "min_sure": 0.5}
    writer |= {"map_sha256": "0" * 64, "text_weights_sha256": "0" * 64}
    source = index.identify_file(of or video)
    made_from = {"vidsum": "0", "extractor": "x", "descriptions": writer, "video": source}
    path = video.with_name(f"{video.stem}_descriptions.json")
    vidsum.write_json(Descriptions(tuple(parts), by, 10.0, provenance=made_from), path)
    return path


def test_descriptions_beside_a_video_are_indexed(archive: Archive, videos: Path) -> None:
    path = describe(videos / "a.mp4", "a red wall", "the sky is blue")
    assert states(archive, videos) == {"a.mp4": "added", "b.mp4": "added"}
    assert set(states(archive, videos).values()) == {"unchanged"}
    (matches,) = archive.search("blue", 1, evidence="described")
    assert (matches.evidence, matches.text, matches.start_s) == ("described", "the sky is blue", 2)
    assert {item.evidence for item in archive.search("blue", 20)} == {"picture", "described"}
    describe(videos / "a.mp4", "a green field")
    assert states(archive, videos) == {"a.mp4": "changed", "b.mp4": "unchanged"}
    assert [item.text for item in archive.search("blue", evidence="described")] == ["a green field"]
    path.unlink()  # they stay
    assert set(states(archive, videos).values()) == {"unchanged"}
    archive.remove(videos / "a.mp4")
    assert count(archive, "passages WHERE kind = 'described'") == 0
    with pytest.raises(InputError, match="none of its videos has evidence of the kind described"):
        archive.search("blue", evidence="described")


def test_descriptions_name_their_model(archive: Archive, videos: Path) -> None:
    describe(videos / "a.mp4", "a red wall", "the sky is blue", by="vlm:tiny:3b")
    archive.add(videos)
    (match,) = archive.search("blue", 1, evidence="described")
    assert match.text == "the sky is blue (vlm:tiny:3b)"
    describe(videos / "a.mp4", "the sky is blue")
    archive.add(videos)
    assert archive.search("blue", 1, evidence="described")[0].text == "the sky is blue"


def test_bad_descriptions_do_not_keep_a_video_out(archive: Archive, videos: Path) -> None:
    other = describe(videos / "a.mp4", "a red wall", of=videos / "b.mp4").read_bytes()
    odd = [b"{", b"\xff", b"[]", b'{"descriptions": [{"text": 1}]}', b'{"descriptions": 1}']
    for content in (other, *odd):
        (videos / "a_descriptions.json").write_bytes(content)
        (added,) = archive.add(videos / "a.mp4")
        assert added.state == ("added" if content == other else "unchanged")
        (warning,) = added.warnings
        assert "of another video" in warning or content != other
        assert "descriptions are not used" in warning
        assert "\n" not in warning
    assert count(archive, "passages WHERE kind = 'described'") == 0


def test_other_tracks_of_a_file_are_another_video(
    archive: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = make_tracks(
        tmp_path / "a.mkv", Track((64, 48)), Track((128, 96)), Track(1, value=0.3), Track(2, value=0.3)
    )
    assert [archive.add(path)[0].state for _ in range(2)] == ["added", "unchanged"]
    other = [archive.add(path, audio_track=1)[0].state for _ in range(2)]
    assert other == ["changed", "unchanged"]
    make_with(monkeypatch, speech=lambda *_: spoken("Blue."))
    (changed,) = archive.add(path, transcribe=True)
    assert changed.state == "changed"
    assert any("used audio track 2 of 2" in warning for warning in changed.warnings)
    assert archive.rows("SELECT tracks FROM videos") == [("2,2",)]
    copy = shutil.copy(path, tmp_path / "copy.mkv")
    archive.add(copy, audio_track=1)
    query = "SELECT path, tracks, video NOT IN (SELECT video FROM evidence WHERE kind = 'speech') "
    query += "FROM files JOIN videos ON videos.id = video ORDER BY path"
    assert archive.rows(query) == [(os.fsencode(path), "2,2", 0), (os.fsencode(copy), "2,1", 0)]
