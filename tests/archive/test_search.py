"""Searches of an archive."""

import csv
import io
import os
import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image

import vidsum
from tests.archive.made import film, make_with, names, spoken, use_archive
from tests.grounding.colours import COLOURS
from tests.media import make_video
from vidsum.archive import answers
from vidsum.archive.archive import Archive
from vidsum.archive.matches import Match
from vidsum.archive.search import Hit, _is_same, _merge_takes
from vidsum.archive.settings import SearchOptions
from vidsum.errors import InputError, UsageError
from vidsum.grounding.spaces import ClipEmbeddings


def make_films(folder: Path) -> Path:
    """Make `film` of all colours, `grass` without red and blue, and `sea`, blue before green."""
    film(folder / "film.mp4")
    film(folder / "grass.mp4", ("green", "green", "green", "yellow"), seed=1)
    film(folder / "sea.mp4", ("blue", "blue", "green"), seed=2)
    return folder


@pytest.fixture
def videos(archive: Archive, tmp_path: Path) -> Path:
    """The films of the archive, which a test may change."""
    folder = make_films(tmp_path / "videos")
    archive.add(folder)
    return folder


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Archive]:
    """An archive of the same films, which tests only read."""
    folder = tmp_path_factory.mktemp("library")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VIDSUM_HOME", str(folder / "home"))
        use_archive(patch)
        with Archive(folder / "a.vidsum") as archive:
            archive.add(make_films(folder / "videos"))
            yield archive


@pytest.fixture(scope="module")
def talks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Archive]:
    """An archive of the same films, of which two speak; tests only read it."""
    folder = tmp_path_factory.mktemp("talks")
    texts = {"film.mp4": ("the sky is blue today.", "nothing else."), "sea.mp4": ("unrelated talk.",)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VIDSUM_HOME", str(folder / "home"))
        use_archive(patch)
        with Archive(folder / "a.vidsum") as archive:
            videos = make_films(folder / "videos")
            archive.add(videos)
            # these films are silent, which is known
            archive.rows("DELETE FROM evidence WHERE kind = 'speech'")
            with pytest.MonkeyPatch.context() as voices:
                make_with(voices, speech=lambda video, _: spoken(*texts[Path(video).name]))
                archive.add([videos / name for name in texts], transcribe=True)
            yield archive


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


def test_best_moment_comes_first(library: Archive) -> None:
    first = library.search("red", 1)[0]
    assert (Path(first.video).name, first.start_s, first.end_s) == ("film.mp4", 0, 2)


def test_threads_search_one_archive(library: Archive) -> None:
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(library.search, ["red"] * 12))
    assert answers == [library.search("red")] * 12


def test_score_of_a_picture_is_its_probability(library: Archive) -> None:
    result = library.search("green", duplicates=True, per_video=1)
    assert set(names(result)) == {"film.mp4", "grass.mp4", "sea.mp4"}
    assert all(0 < item.present <= 1 and item.score == item.present for item in result if item.present)


def test_near_duplicates_are_one_row(library: Archive) -> None:
    result = library.search("blue")[0]
    assert len(result.also) == 1
    assert {Path(result.video).name, Path(result.also[0]).name} == {"film.mp4", "sea.mp4"}


def test_near_duplicates_are_rows_where_wanted(library: Archive) -> None:
    assert len(library.search("blue", per_video=1, duplicates=True)) == 3


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


@pytest.mark.parametrize(
    ("video", "start_s", "end_s", "same"),
    [
        (2, 100, 104, True),
        (2, 100, 102, True),
        (2, 100, 101.9, False),
        (2, 0, 9, False),
        (1, 100, 104, False),
    ],
)
def test_same_moment_of_two_videos_has_like_pictures_and_half_the_length(
    video: int, start_s: float, end_s: float, same: bool
) -> None:
    red, blue = np.eye(48, dtype=np.float32)[:2]
    hit = Hit(1, 0, 4, 0.9, red)
    assert _is_same(hit, Hit(video, start_s, end_s, 0.5, red)) == same
    assert not _is_same(hit, Hit(video, start_s, end_s, 0.5, blue))


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


def test_path_limits_a_search_to_its_files(library: Archive) -> None:
    assert set(names(library.search("green", path=["*/gra*"]))) == {"grass.mp4"}
    assert library.search("green", path=["nothing*"]) == []


def test_min_present_limits_a_search_to_likely_moments(library: Archive) -> None:
    result = library.search("green", min_present=0.5)
    assert all(float(item.present or 0) >= 0.5 for item in result)
    assert library.search("green", min_present=1.0) == []


def test_top_k_limits_the_rows_of_a_search(library: Archive) -> None:
    assert len(library.search("green", 2)) == 2


def test_per_video_limits_the_rows_of_a_video(library: Archive) -> None:
    assert len(library.search("green", per_video=1, path=["*film*"])) == 1


def test_after_the_last_day_nothing_is_left(library: Archive) -> None:
    assert library.search("green", after="9999-01-01") == []


def test_after_limits_a_search_to_later_files(archive: Archive, videos: Path) -> None:
    os.utime(videos / "grass.mp4", (86400 * 365, 86400 * 365))
    archive.add(videos)
    assert "grass.mp4" not in names(archive.search("green", after="2001-01-01", duplicates=True))
    assert "grass.mp4" in names(archive.search("green", after="1970-02-01", duplicates=True))


def test_after_knows_days_before_1970(archive: Archive, videos: Path) -> None:
    os.utime(videos / "grass.mp4", (-86400, -86400))
    archive.add(videos)
    assert "grass.mp4" in names(archive.search("green", duplicates=True))
    assert "grass.mp4" in names(archive.search("green", duplicates=True, after="1969-12-01"))
    assert "grass.mp4" not in names(archive.search("green", duplicates=True, after="1970-01-01"))


@pytest.mark.parametrize("glob", ["videos/gr*.mp4", "./videos/gr*.mp4", "grass.mp4", "*/grass.mp4"])
def test_path_of_a_search_may_be_the_end_of_a_path(glob: str, library: Archive) -> None:
    assert set(names(library.search("green", path=[glob]))) == {"grass.mp4"}


def test_path_of_a_search_may_be_whole(library: Archive) -> None:
    grass = library.path.parent / "videos" / "grass.mp4"
    assert set(names(library.search("green", path=[str(grass)]))) == {"grass.mp4"}


def test_path_of_a_search_is_no_end_of_a_name(library: Archive) -> None:
    assert library.search("green", path=["rass.mp4", "*/nowhere/*"]) == []


def test_search_identical_files(archive: Archive, videos: Path) -> None:
    shutil.copy(videos / "grass.mp4", videos / "copy.mp4")
    archive.add(videos)
    options = {"path": ["grass.mp4", "copy.mp4"], "per_video": 1}
    (item,) = archive.search("yellow", **options)  # type: ignore[arg-type]
    assert len(item.also) == 1
    result = archive.search("yellow", duplicates=True, **options)  # type: ignore[arg-type]
    assert names(result) == ["copy.mp4", "grass.mp4"]
    assert [match.also for match in result] == [(), ()]


def test_search_like_a_part_finds_what_looks_alike(library: Archive) -> None:
    part = f"{library.path.parent / 'videos' / 'film.mp4'}@4-6"
    result = library.search(like=[part], top_k=2, duplicates=True)
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


def test_picture_of_a_match_is_a_small_jpeg_of_its_moment(library: Archive) -> None:
    (result,) = library.search("blue", 1, path=["*film*"])
    picture = Image.open(io.BytesIO(library.picture(result)))
    assert picture.format == "JPEG"
    assert max(picture.size) <= 160
    assert np.argmax(np.asarray(picture)[20:].mean(axis=(0, 1))) == 2


def test_speech_is_found_with_its_time_and_text(talks: Archive) -> None:
    best = talks.search("blue", evidence="speech")[0]
    assert (Path(best.video).name, best.evidence, best.start_s) == ("film.mp4", "speech", 0)
    assert "sky" in best.text
    assert best.present == best.score


def test_speech_and_pictures_are_in_the_order_of_their_probabilities(talks: Archive) -> None:
    both = talks.search("blue")
    assert {item.evidence for item in both} == {"picture", "speech"}
    assert [item.score for item in both] == sorted((item.score for item in both), reverse=True)


def test_speech_is_the_same_row_beside_pictures(talks: Archive) -> None:
    best = talks.search("blue", evidence="speech")[0]
    assert [item for item in talks.search("blue") if item.text == best.text] == [best]


def test_quotation_comes_first(talks: Archive) -> None:
    quoted = talks.search("the sky was blue")[0]
    assert (quoted.evidence, quoted.text) == ("speech", talks.search("blue", evidence="speech")[0].text)
    assert quoted.score > 1 > float(quoted.present or 0)


def test_negation_in_a_quotation_needs_no_warning(talks: Archive) -> None:
    matches = talks.find("the sky was blue", SearchOptions())
    assert talks.query_warnings("the sky was not blue", SearchOptions(), matches) == ()


def test_negation_of_a_picture_needs_a_warning(talks: Archive) -> None:
    matches = talks.search("blue", evidence="picture")
    (note,) = talks.query_warnings("not blue", SearchOptions(), matches)
    assert "negation" in note


def test_negation_in_speech_alone_needs_no_warning(talks: Archive) -> None:
    assert talks.query_warnings("not blue", SearchOptions(evidence="speech")) == ()


def test_speech_is_found_in_as_many_videos_as_are_wanted(
    talks: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vidsum.archive.stored_evidence._N_CANDIDATES", 1)
    found = {count: talks.search("blue", count, evidence="speech", per_video=1) for count in (1, 2)}
    names = {count: [Path(match.video).name for match in matches] for count, matches in found.items()}
    assert names == {1: ["film.mp4"], 2: ["film.mp4", "sea.mp4"]}


def test_search_of_pictures_finds_no_speech(talks: Archive) -> None:
    assert {item.evidence for item in talks.search("blue", evidence="picture")} == {"picture"}


def test_path_limits_a_search_of_speech(talks: Archive) -> None:
    assert talks.search("blue", evidence="speech", path=["*grass*"]) == []


def test_min_present_limits_a_search_of_speech(talks: Archive) -> None:
    sure = talks.search("blue", evidence="speech", min_present=0.3)
    assert sure == [item for item in talks.search("blue", evidence="speech") if item.score >= 0.3] != []


@pytest.mark.parametrize("count", [1, 2])
def test_per_video_counts_rows_of_all_kinds(talks: Archive, count: int) -> None:
    assert max(Counter(names(talks.search("blue", per_video=count))).values()) == count


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
def test_wrong_search_is_refused_in_a_line(library: Archive, options: dict[str, object], fault: str) -> None:
    with pytest.raises((UsageError, InputError), match=fault) as raised:
        library.search(**options)  # type: ignore[arg-type]
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


@pytest.fixture(scope="module")
def late(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Archive]:
    """An archive of a film whose pictures begin at 3 s: 4 s of red, 4 s of blue; tests only read it."""

    def paint(number: int, width: int, height: int) -> np.ndarray:
        return np.full((height, width, 3), COLOURS["red" if number < 100 else "blue"], np.uint8)

    folder = tmp_path_factory.mktemp("late")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VIDSUM_HOME", str(folder / "home"))
        use_archive(patch)
        made = make_video(folder / "late.mkv", n_frames=200, sound=True, late_s=3.0, paint=paint)
        with Archive(folder / "a.vidsum") as archive:
            archive.add(made.path)
            yield archive


def find_blue(late: Archive) -> tuple[Match, float]:
    """Return the blue part, and the time that a player shows at its start."""
    (match,) = late.search("blue", top_k=1)
    return match, match.start_s + match.start_offset_s


def test_match_has_the_offset_of_the_players_clock(late: Archive) -> None:
    match, _ = find_blue(late)
    assert (match.start_s, match.start_offset_s) == pytest.approx((4.0, 3.0), abs=0.03)


def test_moment_by_the_players_clock_has_no_offset_left(late: Archive) -> None:
    match, shown_s = find_blue(late)
    moved = answers.to_player_time(match)
    assert (moved.start_s, moved.start_offset_s) == (shown_s, 0.0)


def test_search_of_the_page_has_the_players_clock(late: Archive) -> None:
    result = answers.search(late, {"q": ["blue"], "k": ["1"]})["moments"][0]
    assert result["start_s"] == pytest.approx(find_blue(late)[1])


def test_table_has_the_players_clock(late: Archive) -> None:
    match, shown_s = find_blue(late)
    (row,) = csv.DictReader(answers.to_csv([{"rank": 1, **asdict(match)}]).splitlines())
    assert float(row["start_s"]) == pytest.approx(shown_s)


def test_video_of_the_page_has_the_players_clock(late: Archive) -> None:
    result = answers.search(late, {"q": ["blue"], "k": ["1"]})["moments"][0]
    about = answers.video(late, result["id"])
    assert about["duration_s"] == pytest.approx(11.0, abs=0.03)
    assert about["shots"][0]["start_s"] == pytest.approx(3.0, abs=0.03)


def test_passages_of_the_page_end_with_the_video_by_the_players_clock(
    late: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = {"speech": [SimpleNamespace(start_s=5.0, end_s=6.0, text="blue")]}
    monkeypatch.setattr(Archive, "list_passages", lambda archive, kind, number: said.get(kind, []))
    result = answers.search(late, {"q": ["blue"], "k": ["1"]})["moments"][0]
    about = answers.video(late, result["id"])
    assert about["said"][0]["start_s"] == pytest.approx(8.0, abs=0.03)
    assert about["passages"][-1]["shots"][-1][1] == about["duration_s"]


def test_moments_of_the_page_are_read_by_the_players_clock(late: Archive) -> None:
    match, _ = find_blue(late)
    result = answers.search(late, {"q": ["blue"], "k": ["1"]})["moments"][0]
    wanted = {"id": result["id"], "start_s": result["start_s"], "end_s": result["end_s"]}
    (saved,) = answers.parse_moments(late, {"moments": [wanted]})
    assert (saved.start_s, saved.end_s) == pytest.approx((match.start_s, match.end_s))


def test_moments_of_a_file_that_has_changed_are_not_saved(
    late: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    def changed(file: answers.VideoFile) -> None:
        raise answers.MissingError("the file has changed")

    result = answers.search(late, {"q": ["blue"], "k": ["1"]})["moments"][0]
    monkeypatch.setattr(answers.VideoFile, "open", changed)
    wanted = {"id": result["id"], "start_s": result["start_s"], "end_s": result["end_s"]}
    with pytest.raises(answers.MissingError, match="has changed"):
        answers.parse_moments(late, {"moments": [wanted]})


def test_part_of_like_is_read_by_the_players_clock(late: Archive) -> None:
    match, shown_s = find_blue(late)
    (alike,) = late.search(like=(f"{match.video}@{shown_s:.2f}-{shown_s + 2:.2f}",), top_k=1)
    assert alike.start_s == match.start_s


def test_part_of_like_before_the_first_picture_is_refused(late: Archive) -> None:
    with pytest.raises(InputError, match="before the video's first picture"):
        late.search(like=(f"{find_blue(late)[0].video}@0-2",))
