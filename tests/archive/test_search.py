"""Searches of an archive."""

import csv
import io
import os
import shutil
import sqlite3
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import vidsum
from tests.archive.made import film, make_with, names, spoken
from tests.grounding.colours import COLOURS
from tests.media import make_video
from vidsum.archive import answers
from vidsum.archive.archive import Archive
from vidsum.archive.search import Hit, _merge_takes
from vidsum.archive.settings import SearchOptions
from vidsum.errors import InputError, UsageError
from vidsum.grounding.spaces import ClipEmbeddings


@pytest.fixture
def videos(archive: Archive, tmp_path: Path) -> Path:
    """`film` has all colours, `grass` no red and no blue, `sea` blue before green."""
    folder = tmp_path / "videos"
    film(folder / "film.mp4")
    film(folder / "grass.mp4", ("green", "green", "green", "yellow"), seed=1)
    film(folder / "sea.mp4", ("blue", "blue", "green"), seed=2)
    archive.add(folder)
    return folder


def test_search_agrees_with_ground(archive: Archive, videos: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vidsum.archive.search._MIN_TAKE_COSINE", 0.9)  # green and yellow look alike
    for path in sorted(videos.iterdir()):
        for text in COLOURS:
            requests = vidsum.ground(path, text, 3, space="vse", device="cpu")
            best, result = requests.queries[0].moments[0], archive.search(text, 3, path=[str(path)])
            assert (result[0].start_s, result[0].end_s) == (best.start_s, best.end_s), (path, text)
            probabilities = [item.present or 0.0 for item in result]
            assert probabilities == sorted(probabilities, reverse=True)


@pytest.mark.deep
def test_search_with_real_networks(default_weights: Path, tmp_path: Path) -> None:
    sample = Path(__file__).parents[2] / "docs" / "sample" / "big_buck_bunny.mp4"
    texts = ["a meadow with flowers", "a bird", "a rabbit", "a cave under a tree"]
    with Archive(tmp_path / "real.vidsum") as archive:
        archive.add(sample, device="cpu")
        requests = vidsum.ground(sample, texts, 1, space="vse", device="cpu")
        results = [archive.search(text, 1)[0] for text in texts]
        for result, answer in zip(results, requests.queries, strict=True):
            best = answer.moments[0]
            assert (result.start_s, result.end_s) == pytest.approx((best.start_s, best.end_s))
        # the probability is that of clips, with another curve than that of `ground`
        (absent,) = archive.search("a fire engine", 1)
        assert all(result.present > 2 * absent.present for result in results[:3])


def test_search_order(archive: Archive, videos: Path) -> None:
    first = archive.search("red", 1)[0]
    assert (Path(first.video).name, first.start_s, first.end_s) == ("film.mp4", 0, 2)
    result = archive.search("green", duplicates=True, per_video=1)
    assert set(names(result)) == {"film.mp4", "grass.mp4", "sea.mp4"}
    assert all(0 < item.present <= 1 and item.score == item.present for item in result if item.present)


def test_search_near_duplicates(archive: Archive, videos: Path) -> None:
    result = archive.search("blue")[0]
    assert len(result.also) == 1
    assert {Path(result.video).name, Path(result.also[0]).name} == {"film.mp4", "sea.mp4"}
    assert len(archive.search("blue", per_video=1, duplicates=True)) == 3


def test_moments_of_one_take_are_one_row() -> None:
    red, blue = np.array([1, 0, 0], np.float32), np.array([0, 0, 1], np.float32)
    rows = np.stack([red] * 8 + [blue] * 2 + [red] * 5)
    clips = ClipEmbeddings(rows, np.arange(15.0), 1.0, 15.0)
    hits = [Hit(1, 0, 2, 0.5, red), Hit(1, 2, 3, 0.9, red), Hit(1, 5, 6, 0.8, red), Hit(1, 6, 8, 0.3, red)]
    hits += [Hit(1, 8, 10, 0.8, blue), Hit(1, 10, 11, 0.4, red), Hit(1, 14.5, 15, 0.4, red)]
    hits.sort(key=lambda hit: -hit.present)
    merged = [(hit.start_s, hit.end_s, hit.present) for hit in _merge_takes(hits, clips)]
    assert merged == [(0, 6, 0.9), (8, 10, 0.8), (10, 11, 0.4), (14.5, 15, 0.4), (6, 8, 0.3)]


@pytest.mark.parametrize(
    ("shots_s", "scenes_s", "rows"),
    [
        ((0, 9, 30), (0, 9, 30), [(5, 9), (9, 12)]),
        ((0, 9, 30), (0, 30), [(5, 12)]),
        ((0, 9, 30), (0, 30), [(0, 9), (9, 16)]),  # too long together
        ((0, 30), (0, 30), [(0, 16)]),  # in one shot
    ],
)
def test_moments_of_one_take_are_two_rows_in_two_scenes_or_if_they_are_long(
    shots_s: tuple[float, ...], scenes_s: tuple[float, ...], rows: list[tuple[float, float]]
) -> None:
    red = np.array([1, 0, 0], np.float32)
    edges = np.array(shots_s, float), None, np.array(scenes_s, float)
    clips = ClipEmbeddings(np.stack([red] * 30), np.arange(30.0), 1.0, 30.0, None, *edges)
    first, last = rows[0][0], rows[-1][1]
    hits = [Hit(1, first, 9, 0.9, red), Hit(1, 9, last, 0.8, red)]
    assert [(hit.start_s, hit.end_s) for hit in _merge_takes(hits, clips)] == rows


def test_search_like_indexed_part(archive: Archive, videos: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    like = [f"{videos / 'film.mp4'}@0-2"]
    stored = archive.search(like=like, duplicates=True)
    assert (Path(stored[0].video).name, stored[0].start_s) == ("film.mp4", 0)
    with monkeypatch.context() as patch:
        patch.setattr("vidsum.archive.like.plan_video", None)
        assert archive.search(like=like, duplicates=True) == stored
    os.utime(videos / "film.mp4")  # as if it had changed
    decoded = archive.search(like=like, duplicates=True)
    assert [(item.video, item.start_s) for item in decoded] == [(item.video, item.start_s) for item in stored]
    assert [item.score for item in decoded] == pytest.approx([item.score for item in stored], abs=0.02)


def test_steps_follow_each_other(archive: Archive, videos: Path) -> None:
    result = archive.search("green", then=["blue"], path=["*film*", "*sea*"], duplicates=True)
    best = result[0]
    assert Path(best.video).name == "film.mp4"
    assert best.parts == ((2, 4), (4, 6))
    assert (best.start_s, best.end_s) == (2, 6)
    assert Path(archive.search("blue", then=["green"])[0].video).name == "sea.mp4"
    for item in result:
        for before, after in zip(item.parts, item.parts[1:], strict=False):
            assert before[1] <= after[0]
    assert best.present is not None
    assert best.present < archive.search("green", 1, path=["*film*"])[0].present  # type: ignore[operator]


def test_search_with_and_without(archive: Archive, videos: Path) -> None:
    def best(text: str, **options: Any) -> float:
        return archive.search(text, 1, **options)[0].present or 0.0

    film = {"path": ["*film*"]}
    assert 0 < best("yellow", without=["yellow"], **film) < best("yellow", **film)
    assert 0 < best("red", also=["blue"]) < best("red")
    # what is seen anyway makes nothing less likely
    assert best("red", also=["red"]) == pytest.approx(best("red"))


def test_filters(archive: Archive, videos: Path) -> None:
    assert set(names(archive.search("green", path=["*/gra*"]))) == {"grass.mp4"}
    assert archive.search("green", path=["nothing*"]) == []
    os.utime(videos / "grass.mp4", (86400 * 365, 86400 * 365))
    archive.add(videos)
    assert "grass.mp4" not in names(archive.search("green", after="2001-01-01", duplicates=True))
    assert "grass.mp4" in names(archive.search("green", after="1970-02-01", duplicates=True))
    assert all(float(item.present or 0) >= 0.5 for item in archive.search("green", min_present=0.5))
    assert archive.search("green", min_present=1.0) == []
    assert len(archive.search("green", 2)) == 2
    assert len(archive.search("green", per_video=1, path=["*film*"])) == 1
    assert archive.search("green", after="9999-01-01") == []
    os.utime(videos / "grass.mp4", (-86400, -86400))
    archive.add(videos)
    assert "grass.mp4" in names(archive.search("green", duplicates=True))
    assert "grass.mp4" in names(archive.search("green", duplicates=True, after="1969-12-01"))
    assert "grass.mp4" not in names(archive.search("green", duplicates=True, after="1970-01-01"))


def test_search_path_globs(archive: Archive, videos: Path) -> None:
    for glob in ("videos/gr*.mp4", "./videos/gr*.mp4", "grass.mp4", "*/grass.mp4", f"{videos}/grass.mp4"):
        assert set(names(archive.search("green", path=[glob]))) == {"grass.mp4"}
    assert archive.search("green", path=["rass.mp4", "*/nowhere/*"]) == []


def test_search_identical_files(archive: Archive, videos: Path) -> None:
    shutil.copy(videos / "grass.mp4", videos / "copy.mp4")
    archive.add(videos)
    options = {"path": ["grass.mp4", "copy.mp4"], "per_video": 1}
    (item,) = archive.search("yellow", **options)  # type: ignore[arg-type]
    assert len(item.also) == 1
    result = archive.search("yellow", duplicates=True, **options)  # type: ignore[arg-type]
    assert names(result) == ["copy.mp4", "grass.mp4"]
    assert [match.also for match in result] == [(), ()]


def test_search_like_part(archive: Archive, videos: Path) -> None:
    result = archive.search(like=[f"{videos / 'film.mp4'}@4-6"], top_k=2, duplicates=True)
    assert {(Path(item.video).name, item.start_s) for item in result} == {("film.mp4", 4), ("sea.mp4", 0)}
    assert all(item.present is None for item in result)


def test_a_picture_is_a_query(archive: Archive, videos: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    picture = videos / "red.png"
    Image.new("RGB", (8, 8), COLOURS["red"]).save(picture)
    red = np.array([COLOURS["red"]], np.float32)
    monkeypatch.setattr("vidsum.features.pictures.encode_pictures", lambda *_: red)
    monkeypatch.setattr("vidsum.grounding.vse_map.load_map", lambda: lambda rows: rows / np.linalg.norm(rows))
    (result,) = archive.search(like=[str(picture)], top_k=1)
    assert (Path(result.video).name, result.start_s) == ("film.mp4", 0)


def test_search_pictures(archive: Archive, videos: Path) -> None:
    (result,) = archive.search("blue", 1, path=["*film*"])
    picture = Image.open(io.BytesIO(archive.picture(result)))
    assert picture.format == "JPEG"
    assert max(picture.size) <= 160
    assert np.argmax(np.asarray(picture)[20:].mean(axis=(0, 1))) == 2


def test_search_in_speech(archive: Archive, videos: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {"film.mp4": ("the sky is blue today.", "nothing else."), "sea.mp4": ("unrelated talk.",)}
    make_with(monkeypatch, speech=lambda video, _: spoken(*texts[Path(video).name]))
    archive.rows("DELETE FROM evidence WHERE kind = 'speech'")  # these films are silent, which is known
    archive.add([videos / name for name in texts], transcribe=True)
    result = archive.search("blue", evidence="speech")
    assert (Path(result[0].video).name, result[0].evidence, result[0].start_s) == ("film.mp4", "speech", 0)
    assert "sky" in result[0].text
    assert result[0].present == result[0].score
    both = archive.search("blue")  # each by its own probability
    assert {item.evidence for item in both} == {"picture", "speech"}
    assert [item.score for item in both] == sorted((item.score for item in both), reverse=True)
    (transcript,) = (item for item in both if item.evidence == "speech" and item.text == result[0].text)
    assert transcript == result[0]
    quoted = archive.search("the sky was blue")[0]
    assert (quoted.evidence, quoted.text) == ("speech", result[0].text)
    assert quoted.score > 1 > float(quoted.present or 0)
    options = SearchOptions()
    matches = archive.find("the sky was blue", options)
    assert archive.query_warnings("the sky was not blue", options, matches) == ()
    (note,) = archive.query_warnings("not blue", options, archive.search("blue", evidence="picture"))
    assert "negation" in note
    assert archive.query_warnings("not blue", SearchOptions(evidence="speech")) == ()
    assert {item.evidence for item in archive.search("blue", evidence="picture")} == {"picture"}
    assert archive.search("blue", evidence="speech", path=["*grass*"]) == []
    sure = archive.search("blue", evidence="speech", min_present=0.3)
    assert sure == [item for item in archive.search("blue", evidence="speech") if item.score >= 0.3] != []
    for count in (1, 2):
        assert max(Counter(names(archive.search("blue", per_video=count))).values()) == count


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"text": None}, "nothing to search"),
        ({"text": "  ?! "}, "nothing to search"),
        ({"text": "red", "evidence": "speech"}, "none of its videos has evidence of the kind speech"),
        ({"text": "red", "then": [""]}, "then: holds no text"),
        ({"text": "red", "without": ["?"]}, "without: holds no text"),
        ({"like": ["none.jpg"]}, "none.jpg: no such file"),
        ({"like": ["none@home.jpg"]}, "none@home.jpg: no such file"),
        ({"like": [f"{__file__}@1-x"]}, "not a time"),
    ],
)
def test_search_errors(archive: Archive, videos: Path, options: dict[str, object], fault: str) -> None:
    with pytest.raises((UsageError, InputError), match=fault) as raised:
        archive.search(**options)  # type: ignore[arg-type]
    assert "\n" not in raised.value.message


def test_search_with_many_shots(archive: Archive, videos: Path) -> None:
    if not hasattr(archive._connection, "setlimit"):
        pytest.skip("Python 3.10 sets no limits")
    archive._connection.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, 3)
    assert archive.search("green", then=["blue"], per_video=1)


@pytest.mark.parametrize("column", ["scan", "edges"])
def test_search_damaged_record(archive: Archive, videos: Path, column: str) -> None:
    archive.rows(f"UPDATE videos SET {column} = X'00112233445566'")
    with pytest.raises(InputError, match="the archive is damaged"):
        archive.search("red")


def test_search_by_players_clock(archive: Archive, tmp_path: Path) -> None:
    def paint(number: int, width: int, height: int) -> np.ndarray:
        colour = COLOURS["red" if number < 100 else "blue"]
        return np.full((height, width, 3), colour, np.uint8)

    path = make_video(tmp_path / "late.mkv", n_frames=200, sound=True, late_s=3.0, paint=paint).path
    archive.add(path)
    (match,) = archive.search("blue", top_k=1)
    assert (match.start_s, match.start_offset_s) == pytest.approx((4.0, 3.0), abs=0.03)
    shown_s = match.start_s + match.start_offset_s
    result = answers.search(archive, {"q": ["blue"], "k": ["1"]})["moments"][0]
    assert result["start_s"] == pytest.approx(shown_s)
    (row,) = csv.DictReader(answers.to_csv([{"rank": 1, **asdict(match)}]).splitlines())
    assert float(row["start_s"]) == pytest.approx(shown_s)
    about = answers.video(archive, result["id"])
    assert about["duration_s"] == pytest.approx(11.0, abs=0.03)
    assert about["shots"][0]["start_s"] == pytest.approx(3.0, abs=0.03)
    wanted = {"id": result["id"], "start_s": result["start_s"], "end_s": result["end_s"]}
    (saved,) = answers.parse_moments(archive, {"moments": [wanted]})
    assert (saved.start_s, saved.end_s) == pytest.approx((match.start_s, match.end_s))
    (alike,) = archive.search(like=(f"{path}@{shown_s:.2f}-{shown_s + 2:.2f}",), top_k=1)
    assert alike.start_s == match.start_s
    with pytest.raises(InputError, match="before the video's first picture"):
        archive.search(like=(f"{path}@0-2",))
