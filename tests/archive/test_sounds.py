"""Sounds of an archive: tones in its films; queries are compared with the names of sounds alone."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import media
from tests.archive.made import film, use_archive
from tests.archive.serving import new_database
from tests.conftest import deep
from tests.grounding.colours import use_names_of_sounds
from vidsum.archive.archive import Archive
from vidsum.archive.settings import SearchOptions, describe_missing
from vidsum.errors import DamagedArchiveError, InputError
from vidsum.evidence import audible as sounds
from vidsum.evidence.audible import RUN, Audible, SoundScores
from vidsum.evidence.protocol import encode_queries
from vidsum.features.yamnet import STEP_S
from vidsum.pipelines.ground import ground


@pytest.fixture(autouse=True)
def encoder(colours: None, monkeypatch: pytest.MonkeyPatch) -> None:
    use_names_of_sounds(monkeypatch)


def make_tone(path: Path) -> Path:
    """Make a film of 4 s of silence, a tone for 5 s, and silence again."""
    path.write_bytes(tone_bytes())
    return path


@cache  # a dozen tests have it
def tone_bytes() -> bytes:
    times = np.arange(12 * media.SAMPLE_RATE) / media.SAMPLE_RATE
    samples = 0.5 * np.sin(2 * np.pi * 440 * times) * ((times >= 4) & (times < 9))
    with TemporaryDirectory() as folder:
        path = Path(folder, "tone.mp4")
        return media.make_video(path, n_frames=120, fps=10, samples=samples.astype("f4")).path.read_bytes()


@pytest.fixture
def tone(tmp_path: Path) -> Path:
    return make_tone(tmp_path / "tone.mp4")


def moments(archive: Archive, query: str, **options: str) -> list[tuple[float, ...]]:
    hits = archive.search(query, **options)  # type: ignore[arg-type]
    return [(m.start_s, m.end_s, round(m.present or 0, 5)) for m in hits if m.evidence == "sound"]


def test_windows_of_a_sound_side_by_side_are_a_run() -> None:
    scores = np.zeros((6, 521), np.float32)
    scores[1:3, 7], scores[5, 7], scores[:, 520], scores[2, 3] = (0.4, 0.75), 0.5, 0.375, 0.2
    runs = Audible.of(SoundScores(scores, 6.0)).runs
    assert runs.tolist() == [(7, 1, 3, 0.75), (7, 5, 6, 0.5), (520, 0, 6, 0.375)]


def test_no_scores_have_no_runs() -> None:
    assert len(Audible.of(SoundScores(np.zeros((0, 521), np.float32), 0.0)).runs) == 0


@pytest.fixture(scope="module", params=["file", deep("server")])
def sounding(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Archive]:
    """An archive of `tone` and its sounds, in a file and on a server; tests only read it."""
    folder = tmp_path_factory.mktemp("sounding")
    place = str(folder / "a.vidsum")
    if request.param == "server":
        place = new_database(request.getfixturevalue("postgres"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VIDSUM_HOME", str(folder / "home"))
        use_archive(patch)
        use_names_of_sounds(patch)
        with Archive(place) as archive:
            archive.add(make_tone(folder / "tone.mp4"), sounds=True)
            yield archive


def test_sounds_that_are_not_indexed_name_the_option(place: str, tone: Path) -> None:
    with Archive(place) as archive:
        assert archive.add(tone)[0].state == "added"
        with pytest.raises(InputError, match="none of its videos has evidence of the kind sound") as raised:
            archive.search("busy signal", evidence="sound")
    assert "--sounds" in str(raised.value.hint)


def test_sounds_are_added_once(place: str, tone: Path) -> None:
    with Archive(place) as archive:
        archive.add(tone)
        assert [archive.add(tone, sounds=True)[0].state for _ in range(2)] == ["changed", "unchanged"]


def test_search_finds_what_ground_finds(sounding: Archive) -> None:
    (video,) = sounding.videos()
    (answer,) = ground(video, "busy signal", evidence="sound", device="cpu").queries
    expected = [(m.start_s, m.end_s, round(m.present or 0, 5)) for m in answer.moments]
    assert moments(sounding, "busy signal", evidence="sound") == expected
    assert len(expected) == 1


def test_search_finds_the_tone_where_it_is(sounding: Archive) -> None:
    ((start_s, _, _),) = moments(sounding, "busy signal", evidence="sound")
    assert 2.8 < start_s < 5.8


def test_match_has_the_name_of_its_sound(sounding: Archive) -> None:
    (match,) = sounding.search("busy signal", evidence="sound")
    assert match.text == "busy signal"


def test_search_of_all_kinds_finds_sounds(sounding: Archive) -> None:
    assert moments(sounding, "busy signal") == moments(sounding, "busy signal", evidence="sound") != []


def test_search_of_pictures_finds_no_sounds(sounding: Archive) -> None:
    assert moments(sounding, "busy signal", evidence="picture") == []


def test_search_finds_no_sound_that_is_absent(sounding: Archive) -> None:
    assert sounding.search("applause", evidence="sound") == []


def test_sounds_are_stored_as_a_few_runs(sounding: Archive) -> None:
    ((size,),) = sounding.rows("SELECT length(records) FROM evidence WHERE kind = 'sound'")
    assert 0 < size < 100 * RUN.itemsize


def test_sounds_from_the_cache(archive: Archive, tone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ground(tone, "busy signal", evidence="sound", device="cpu")
    monkeypatch.setattr("vidsum.pipelines.listening.read_sound", None)
    archive.add(tone)
    assert len(moments(archive, "busy signal")) == 1


def test_run_beyond_the_end(archive: Archive, tone: Path) -> None:
    archive.add(tone, sounds=True)
    ((content,),) = archive.rows("SELECT records FROM evidence WHERE kind = 'sound'")
    runs = np.frombuffer(content, RUN).copy()
    runs["after"][runs["after"] == runs["after"].max()] = 2**31 - 2  # 8 GiB, if it were believed
    archive.rows("UPDATE evidence SET records = ? WHERE kind = 'sound'", runs.tobytes())
    with pytest.raises(DamagedArchiveError, match=r"evidence\.video 1: sound"):
        moments(archive, "busy signal")


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 9), st.integers(5, 15)), max_size=9))
def test_runs_give_the_moments_of_their_curve(runs: list[tuple[int, int, int]]) -> None:
    runs = sorted(runs)
    curve = np.zeros(40, np.float32)
    for first, length, sixteenths in runs:
        curve[first : first + length] = np.maximum(curve[first : first + length], sixteenths / 16)
    groups = list[list[int]]()  # a slow way: windows one by one
    for window in np.flatnonzero(curve).tolist():
        if groups and window - groups[-1][-1] <= 2:
            groups[-1].append(window)
        else:
            groups.append([window])
    best = sorted((-float(curve[group].max()), group[0], group[-1] + 1) for group in groups)
    expected = [
        (first * STEP_S, min(after * STEP_S, 25.0), -score)
        for score, first, after in best
        if score <= -0.5 and first * STEP_S < 25
    ]
    columns = np.array(runs, np.int64).reshape(-1, 3)
    scores = (columns[:, 2] / 16).astype(np.float32)
    joined = sounds.join_sounds(columns[:, 0], columns[:, 0] + columns[:, 1], scores, 25.0)
    assert [(moment.start_s, moment.end_s, moment.score) for moment in joined] == expected


def test_film_without_sound_has_no_runs(archive: Archive, tmp_path: Path) -> None:
    archive.add(film(tmp_path / "mute.mp4"), sounds=True)
    assert archive.rows("SELECT length(records) FROM evidence WHERE kind = 'sound'") == [(0,)]


def test_silent_film_has_a_warning_and_no_sounds(archive: Archive, tmp_path: Path) -> None:
    quiet = np.zeros(8 * media.SAMPLE_RATE, np.float32)
    path = media.make_video(tmp_path / "quiet.mp4", n_frames=80, fps=10, samples=quiet).path
    (added,) = archive.add(path, sounds=True)
    assert any("silent, or nearly so" in warning for warning in added.warnings)
    assert archive.search("busy signal", evidence="sound") == []


def test_query_without_a_sound_names_the_nearest() -> None:
    (message,) = sounds.describe_unknown(encode_queries(["a green field"]))
    assert "'a green field': no sound that can be recognised; the nearest are " in message
    assert "vidsum help sounds" in message


@pytest.fixture(scope="module")
def two_films(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Archive]:
    """An archive of a film with a tone, whose sounds are known, and of one without sound; only read."""
    folder = tmp_path_factory.mktemp("two")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VIDSUM_HOME", str(folder / "home"))
        use_archive(patch)
        use_names_of_sounds(patch)
        with Archive(folder / "a.vidsum") as archive:
            archive.add(make_tone(folder / "tone.mp4"), sounds=True)
            archive.add(film(folder / "mute.mp4"))
            yield archive


@pytest.mark.parametrize(
    ("options", "lacking"),
    [
        (
            SearchOptions(),
            "speech of 1 of 2 videos (sound, but no transcript: --transcribe), text (--on-screen-text)",
        ),
        (
            SearchOptions(evidence="speech"),
            "speech of 1 of 2 videos (sound, but no transcript: --transcribe)",
        ),
    ],
    ids=["all kinds", "speech"],
)
def test_search_says_what_an_archive_lacks(two_films: Archive, options: SearchOptions, lacking: str) -> None:
    assert describe_missing(two_films, options) == f"not searched: {lacking}; see vidsum index"


@pytest.mark.parametrize(
    "options",
    [SearchOptions(evidence="sound"), SearchOptions(without=("a dog",))],
    ids=["sound", "without"],
)
def test_search_that_lacks_nothing_says_nothing(two_films: Archive, options: SearchOptions) -> None:
    assert describe_missing(two_films, options) == ""


def test_evidence_that_is_empty_is_not_lacking(archive: Archive, tmp_path: Path) -> None:
    for video, seed in ((1, 0), (2, 1)):
        archive.add(film(tmp_path / f"{video}.mp4", seed=seed))
        for kind in ("speech", "text", "sound"):
            archive.rows("DELETE FROM evidence WHERE video = ? AND kind = ?", video, kind)
            archive.rows("INSERT INTO evidence VALUES (?, ?, ?, NULL, NULL)", video, kind, b"")
    assert describe_missing(archive, SearchOptions()) == ""
