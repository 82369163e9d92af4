"""MP4 files whose edit list plays several parts of a track: what is shown, when, and with which sound."""

import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import deep_but, fewer_examples
from tests.edit_lists import Edit, set_edits
from tests.media import make_video, read_number
from tests.video.clips import make_flash_beep, worst_offsets_s
from vidsum.errors import UsageError
from vidsum.video.copy import copy_segments
from vidsum.video.frames import Sampling
from vidsum.video.jumps import Jumps
from vidsum.video.probe import probe
from vidsum.video.read import read_frames, read_frames_at
from vidsum.video.segments import measure_changes
from vidsum.video.timing import read_jumps
from vidsum.video.write import write_segments

FPS = 25
DELAY_S = 2 / FPS  # FFmpeg shows parts with B-frames up to so much too early or too late
PARTS = {
    "two": [Edit(0, 2), Edit(3.32, 2)],
    "three": [Edit(0.2, 1), Edit(2.2, 1), Edit(4.4, 1.6)],
    "out of order": [Edit(4, 2), Edit(1.52, 2)],
    "repeated": [Edit(1.32, 1), Edit(1.32, 1), Edit(1.32, 1)],
    "repeated whole": [Edit(0, 6), Edit(0, 6)],
    "overlapping": [Edit(0, 3), Edit(2, 3)],
    "an empty one first": [Edit(None, 1), Edit(1.12, 2), Edit(4, 1)],
    "begins inside a group of pictures": [Edit(1.72, 2.52)],
    "a frame or two": [Edit(0, 2), Edit(3, 0.08), Edit(4.4, 1)],
    "many": [Edit(0.4 * i + 0.12, 0.2) for i in range(14)],
}
USUAL = ("three", "out of order", "repeated", "an empty one first", "a frame or two")


@pytest.fixture(scope="module", params=[0, 2], ids=["no B-frames", "B-frames"])
def film(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six seconds, a key frame about every second."""
    path = tmp_path_factory.mktemp("film") / "film.mp4"
    return make_video(path, n_frames=150, gop=25, b_frames=request.param, sound=True).path


def edited(film: Path, target: Path, edits: list[Edit], *kinds: str) -> Path:
    shutil.copy(film, target)
    return set_edits(target, dict.fromkeys(kinds or ("vide", "soun"), edits))


def frames_of(edits: list[Edit]) -> list[int]:
    """The frames that begin in the edits, one after the other."""
    played = [edit for edit in edits if edit.from_s is not None]
    spans = [(round((edit.from_s or 0) * FPS), round(edit.length_s * FPS)) for edit in played]
    return [number for first, count in spans for number in range(first, min(first + count, 150))]


def read(path: Path, fps: float | None = None) -> tuple[list[int], list[float], tuple[str, ...]]:
    with read_frames(probe(path), [Sampling(fps)]) as frames:
        shown = [frame for _, frame in frames]
    return [read_number(frame.image) for frame in shown], [frame.pts_s for frame in shown], frames.warnings


Played = tuple[list[int], list[float], tuple[str, ...]]


@pytest.fixture(scope="module")
def played(film: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Played]:
    """Return the frames, times and warnings of the film with some `PARTS`."""
    folder = tmp_path_factory.mktemp("edited")

    @cache
    def play(name: str) -> Played:
        return read(edited(film, folder / "edited.mp4", PARTS[name]))

    return play


@pytest.mark.parametrize("name", deep_but(USUAL, PARTS))
def test_each_part_is_shown_in_its_place(name: str, played: Callable[[str], Played]) -> None:
    numbers, times_s, _ = played(name)
    due = {(number, place) for place, number in enumerate(frames_of(PARTS[name]))}
    for number, time_s in zip(numbers, times_s, strict=True):
        assert any(number == n and abs(place / FPS - time_s) < DELAY_S + 0.001 for n, place in due)


@pytest.mark.parametrize("name", deep_but(USUAL, PARTS))
def test_at_most_two_frames_are_lost_at_an_edit(name: str, played: Callable[[str], Played]) -> None:
    assert len(frames_of(PARTS[name])) - len(played(name)[0]) <= 2 * (len(PARTS[name]) - 1)


@pytest.mark.parametrize("name", deep_but(USUAL, PARTS))
def test_edits_are_no_damage(name: str, played: Callable[[str], Played]) -> None:
    assert played(name)[2] == ()


@pytest.mark.parametrize("name", deep_but(USUAL, PARTS))
def test_length_is_what_is_played(name: str, film: Path, tmp_path: Path) -> None:
    info = probe(edited(film, tmp_path / "edited.mp4", PARTS[name]))
    expected = frames_of(PARTS[name])
    assert info.n_frames == len(expected)
    assert info.duration_s == pytest.approx(len(expected) / FPS, abs=DELAY_S + 0.001)


@pytest.mark.parametrize("name", deep_but(USUAL, PARTS))
def test_film_starts_behind_an_empty_edit(name: str, film: Path, tmp_path: Path) -> None:
    info = probe(edited(film, tmp_path / "edited.mp4", PARTS[name]))
    assert info.start_s == pytest.approx(1.0 if PARTS[name][0].from_s is None else 0.0)


edits_of_frames = st.lists(
    st.tuples(st.integers(0, 140), st.integers(3, 60)).map(
        lambda edit: (edit[0], min(edit[1], 150 - edit[0]))
    ),
    min_size=2,
    max_size=6,
)


@given(parts=edits_of_frames)
@fewer_examples(3)
def test_any_edits_are_one_time_line(parts: list[tuple[int, int]], plain_film: Path, tmp_path: Path) -> None:
    edits = [Edit(first / FPS, count / FPS) for first, count in parts]
    path = edited(plain_film, tmp_path / "edited.mp4", edits)
    numbers, times_s, warnings = read(path)
    assert (numbers, warnings) == (frames_of(edits), ())
    assert times_s == pytest.approx([place / FPS for place in range(len(numbers))], abs=0.001)
    assert read_jumps(probe(path)) == Jumps()


@pytest.fixture(scope="module")
def plain_film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("plain") / "film.mp4"
    return make_video(path, n_frames=150, gop=40, b_frames=0).path


@pytest.mark.parametrize("name", deep_but(USUAL, PARTS))
def test_samples_agree_with_all_frames(
    name: str, film: Path, played: Callable[[str], Played], tmp_path: Path
) -> None:
    path = edited(film, tmp_path / "edited.mp4", PARTS[name])
    numbers, times_s, _ = played(name)
    sampled = read(path, fps=5.0)[0]
    places = np.searchsorted(times_s, np.arange(len(sampled)) / 5 + 6e-4, side="right") - 1
    assert sampled == [numbers[place] for place in np.maximum(places, 0)]


@pytest.mark.parametrize("name", deep_but(USUAL, PARTS))
def test_seeks_land_in_the_right_part(name: str, film: Path, tmp_path: Path) -> None:
    info, due = probe(edited(film, tmp_path / "edited.mp4", PARTS[name])), frames_of(PARTS[name])
    at_s = [info.duration_s * share for share in (0.9, 0.1, 0.6, 0.35)]
    for time_s, still in zip(at_s, read_frames_at(info, at_s), strict=True):
        places = [place for place, number in enumerate(due) if number == read_number(still.image)]
        assert min(abs(place / FPS - time_s) for place in places) <= DELAY_S + 1 / FPS


def test_edits_of_varying_frame_rate(tmp_path: Path) -> None:
    gaps = np.random.default_rng(0).choice([0.02, 0.04, 0.1], 110)
    times_s = [0.0, *np.cumsum(gaps).round(3).tolist()]
    path = make_video(tmp_path / "film.mp4", times_s=times_s, gop=20, b_frames=0, sound=True).path
    edits = [Edit(0.5, 1.5), Edit(4, 1.5), Edit(2, 1)]
    set_edits(path, {"vide": edits, "soun": edits})
    numbers, shown_s, warnings = read(path)
    due = [
        (number, at_s + time_s - from_s)
        for from_s, length_s, at_s in ((0.5, 1.5, 0.0), (4.0, 1.5, 1.5), (2.0, 1.0, 3.0))
        for number, time_s in enumerate(times_s)
        if from_s - 1e-6 <= time_s < from_s + length_s - 1e-6
    ]
    assert (numbers, warnings) == ([number for number, _ in due], ())
    first_s = due[0][1]
    assert shown_s == pytest.approx([time_s - first_s for _, time_s in due], abs=0.11)


def test_edits_behind_the_end_of_the_film_are_no_damage(film: Path, tmp_path: Path) -> None:
    path = edited(film, tmp_path / "edited.mp4", [Edit(0, 2), Edit(4, 8)])
    info = probe(path)
    assert (info.n_frames, info.duration_s) == (100, pytest.approx(4.0, abs=DELAY_S + 0.001))
    assert read(path)[2] == ()


def test_a_part_at_half_speed_is_played_at_full(film: Path, tmp_path: Path) -> None:
    path = edited(film, tmp_path / "edited.mp4", [Edit(0, 2), Edit(2, 1, rate=0), Edit(2, 2)])
    assert probe(path).duration_s == pytest.approx(5.0, abs=DELAY_S + 0.001)
    assert read(path)[2] == ()


def test_edits_of_sound_alone_leave_pictures(film: Path, tmp_path: Path) -> None:
    path = edited(film, tmp_path / "edited.mp4", [Edit(0.5, 2), Edit(3.3, 1), Edit(1, 1)], "soun")
    numbers, _, warnings = read(path)
    assert (numbers, warnings) == (list(range(150)), ())
    assert read_jumps(probe(path)) == Jumps()


FLASHES = {
    "two": [Edit(0.48, 4), Edit(9.28, 6)],
    "three": [Edit(0.32, 3), Edit(7.2, 3), Edit(13.52, 4)],
    "out of order": [Edit(12.2, 4), Edit(1.52, 4)],
    "repeated": [Edit(1.32, 3), Edit(1.32, 3), Edit(1.32, 3)],
}


@pytest.mark.parametrize("name", deep_but(["out of order"], FLASHES))
def test_sound_stays_with_pictures(name: str, tmp_path: Path) -> None:
    source = make_flash_beep(tmp_path / "flashes.mp4", duration_s=20.0)
    set_edits(source.path, {"vide": FLASHES[name], "soun": FLASHES[name]})
    info = probe(source.path)
    write_segments(info, [(0.0, info.duration_s)], tmp_path / "clip.mp4")
    segments = [((edit.from_s or 0), (edit.from_s or 0) + edit.length_s) for edit in FLASHES[name]]
    flashes_s, beeps_s, _ = worst_offsets_s(source, tmp_path / "clip.mp4", segments)
    assert flashes_s <= DELAY_S + 1 / FPS
    assert beeps_s <= 0.025  # FFmpeg plays the last packet of sound of a part to its end


def test_edits_inside_groups_of_pictures_cannot_be_copied(film: Path, tmp_path: Path) -> None:
    info = probe(edited(film, tmp_path / "edited.mp4", PARTS["two"]))
    with pytest.raises(UsageError, match="edit list"):
        copy_segments(info, [(0.0, 3.0)], tmp_path / "clip.mp4")


@pytest.mark.parametrize("edits", [[Edit(0, 3)], [Edit(0, 6), Edit(0, 6)]])
def test_edits_at_key_frames_are_copied(edits: list[Edit], film: Path, tmp_path: Path) -> None:
    path = edited(film, tmp_path / "edited.mp4", edits)
    info = probe(path)
    copy_segments(info, [(0.0, info.duration_s)], tmp_path / "clip.mp4")
    assert read(tmp_path / "clip.mp4")[0] == frames_of(edits)


def test_changes_are_measured_across_edits(film: Path, tmp_path: Path) -> None:
    path = edited(film, tmp_path / "edited.mp4", PARTS["two"])
    info = probe(path)
    times_s = measure_changes(info, [(0.0, info.duration_s)]).timestamps
    assert (np.diff(times_s) > 0).all()
    assert len(times_s) == 100


@pytest.mark.shared
def test_real_edit_list_is_as_long_as_its_two_parts(shared: Path) -> None:
    info = probe(shared / "bad" / "round4" / "two_edits.mp4")
    assert (info.n_frames, info.duration_s) == (180, pytest.approx(6.0, abs=0.07))
