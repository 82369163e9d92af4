"""Pictures of a summary show the right key frames, times, scores and places, the same on every run."""

import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.media import video_info
from vidsum.errors import OutputError, UsageError
from vidsum.results.clock import shift_times
from vidsum.results.cuts import Cut
from vidsum.results.figures import round_times
from vidsum.results.summary import ScoredShot, Summary
from vidsum.summary.storyboard import (
    contact_sheet,
    importance_plot,
    key_frame_times,
    save_key_frames,
    save_picture,
    storyboard,
)
from vidsum.times import format_short_time
from vidsum.types import Picture, VideoInfo

BLUE = (37, 99, 235)
COLOURS = [(200, 30, 30), (30, 200, 30), (200, 200, 30), (30, 200, 200), (200, 30, 200), (90, 60, 30)]


def make_summary(
    n_shots: int = 6, selected: tuple[int, ...] = (1, 3, 4), duration_s: float = 60.0
) -> Summary:
    """Equal shots whose score is a tenth of their number; neighbouring selected ones form one segment."""
    edges = np.linspace(0, duration_s, n_shots + 1)
    shots = tuple(
        ScoredShot(float(edges[i]), float(edges[i + 1]), i / 10, i in selected) for i in range(n_shots)
    )
    segments: list[tuple[float, float]] = []
    for shot in shots:
        if shot.selected and segments and segments[-1][1] == shot.start_s:
            segments[-1] = (segments[-1][0], shot.end_s)
        elif shot.selected:
            segments.append((shot.start_s, shot.end_s))
    times = np.arange(0, duration_s, 0.5)
    importance = (0.5 + 0.5 * np.sin(times)).astype(np.float32)
    return Summary(
        segments=tuple(segments),
        shots=shots,
        importance=importance,
        timestamps=times,
        budget_s=duration_s,
        video_duration_s=duration_s,
        video_fps=25.0,
        model="test",
        shot_method="test",
    )


def video_named(name: str) -> VideoInfo:
    return video_info(f"/videos/{name}", duration_s=60.0)


def flat(colour: tuple[int, int, int], width: int = 160, height: int = 90) -> Picture:
    return np.full((height, width, 3), colour, dtype=np.uint8)


def pixels_of(sheet: Picture, colour: tuple[int, int, int]) -> np.ndarray:
    """Which pixels have exactly this colour."""
    return (sheet == np.array(colour, dtype=np.uint8)).all(axis=2)


# --- key frames ---


def test_a_key_frame_is_the_most_important_sample_of_its_segment() -> None:
    summary = make_summary()
    for time_s, (start, end) in zip(key_frame_times(summary), summary.segments, strict=True):
        inside = (summary.timestamps >= start) & (summary.timestamps < end)
        assert start <= time_s < end
        assert summary.importance[summary.timestamps == time_s][0] == summary.importance[inside].max()


def test_of_equally_important_samples_the_middle_one_is_the_key_frame() -> None:
    summary = replace(make_summary(selected=(1,)), importance=np.ones(120, np.float32))
    assert key_frame_times(summary) == [15.0]


def test_a_segment_between_two_samples_has_its_key_frame_in_the_middle() -> None:
    summary = replace(make_summary(), segments=((10.1, 10.3),))
    assert key_frame_times(summary) == pytest.approx([10.2])


def test_key_frames_are_saved_as_jpeg_named_by_number_and_time(tmp_path: Path) -> None:
    folder = tmp_path / "frames"
    paths = save_key_frames([flat(COLOURS[0]), flat(COLOURS[1])], [3.0, 125.5], folder)
    assert [path.name for path in paths] == ["01_3.00s.jpg", "02_125.50s.jpg"]
    for path, colour in zip(paths, COLOURS[:2], strict=True):
        read = cv2.cvtColor(cv2.imread(str(path)), cv2.COLOR_BGR2RGB)
        np.testing.assert_allclose(read.mean(axis=(0, 1)), colour, atol=3)


def test_key_frames_of_an_earlier_run_are_removed_and_other_files_left(tmp_path: Path) -> None:
    save_key_frames([flat(COLOURS[0])] * 3, [1.0, 2.0, 3.0], tmp_path)
    (tmp_path / "notes.jpg").write_bytes(b"mine")
    save_key_frames([flat(COLOURS[0])], [1.0], tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["01_1.00s.jpg", "notes.jpg"]


def test_numbers_of_many_key_frames_sort_in_order(tmp_path: Path) -> None:
    paths = save_key_frames([flat(COLOURS[0], 8, 8)] * 101, list(range(101)), tmp_path)
    assert [path.name for path in sorted(paths)] == [path.name for path in paths]


def test_a_folder_that_cannot_be_made_is_an_output_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file", tmp_path / "file" / "b", f"{tmp_path}/a\0b"):
        with pytest.raises(OutputError, match="cannot be made"):
            save_key_frames([flat(COLOURS[0])], [1.0], folder)


def test_png_keeps_every_pixel(tmp_path: Path) -> None:
    picture = np.random.default_rng(0).integers(0, 256, (40, 50, 3), dtype=np.uint8)
    save_picture(picture, tmp_path / "picture.png")
    read = cv2.cvtColor(cv2.imread(str(tmp_path / "picture.png")), cv2.COLOR_BGR2RGB)
    np.testing.assert_array_equal(read, picture)


def test_a_picture_of_another_kind_of_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"must end in \.png or \.jpg"):
        save_picture(flat(COLOURS[0]), tmp_path / "picture.gif")


# --- storyboard ---


@pytest.mark.parametrize(("size", "n_columns"), [((160, 90), 4), ((90, 160), 5), ((100, 100), 4)])
def test_a_storyboard_shows_each_picture_whole_row_by_row(size: tuple[int, int], n_columns: int) -> None:
    summary = make_summary(n_shots=13, selected=(1, 3, 5, 7, 9, 11))
    sheet = storyboard(summary, [flat(colour, *size) for colour in COLOURS])
    corners = []
    for colour in COLOURS:
        rows, columns = np.nonzero(pixels_of(sheet, colour))
        shape = np.ptp(columns) / np.ptp(rows)
        assert shape == pytest.approx(size[0] / size[1], rel=0.02)
        corners.append((rows.min(), columns.min()))
    assert corners == sorted(corners)
    assert len({row for row, _ in corners[:n_columns]}) == 1
    assert corners[n_columns][0] > corners[0][0]
    assert corners[n_columns][1] == corners[0][1]


def test_the_strip_shows_where_the_segments_are() -> None:
    summary = make_summary()
    sheet = storyboard(summary, [flat(COLOURS[0]), flat(COLOURS[1])])
    strip_row = pixels_of(sheet, BLUE).sum(axis=1).argmax()
    blue = np.flatnonzero(pixels_of(sheet, BLUE)[strip_row])
    grey = pixels_of(sheet, (229, 231, 235))[strip_row] | pixels_of(sheet, (209, 213, 219))[strip_row]
    left, right = np.flatnonzero(grey)[[0, -1]]
    ends = np.flatnonzero(np.diff(blue) > 1)
    shown = np.array([blue[0], *blue[ends], *blue[ends + 1], blue[-1]])
    expected = np.array(summary.segments).ravel()
    np.testing.assert_allclose((shown - left) / (right - left) * 60, expected, atol=0.3)


def test_each_cut_has_its_number_where_there_is_room() -> None:
    """The second lies in the first, and its middle is before the first's."""
    cuts = [Cut(20.0, 60.0, ""), Cut(20.0, 28.0, "")]
    sheet = contact_sheet(("x", ""), cuts, [np.zeros((90, 160, 3), np.uint8)] * 2, (), [(0.0, 60.0)], 60.0)
    strip = (sheet == BLUE).all(axis=2)
    top = np.flatnonzero(strip[:, int(sheet.shape[1] * 0.9)])[-26]
    above = np.flatnonzero(strip[top - 20 : top - 2].any(axis=0)) / sheet.shape[1]
    for middle_s in (24.0, 40.0):
        assert np.abs(above - middle_s / 60).min() < 0.03, middle_s


def test_texts_differ_with_times_and_scores() -> None:
    summary, images = make_summary(), [flat(COLOURS[0]), flat(COLOURS[1])]
    sheet = storyboard(summary, images)
    other_scores = replace(summary, shots=tuple(replace(shot, score=0.99) for shot in summary.shots))
    other_times = replace(summary, segments=((10.0, 19.0), (30.0, 50.0)))
    for other in (other_scores, other_times):
        assert (storyboard(other, images) != sheet).any()


def test_captions_stand_below_the_pictures_cut_to_their_width() -> None:
    summary, images = make_summary(), [flat(COLOURS[0]), flat(COLOURS[1])]
    plain = storyboard(summary, images)
    captioned = storyboard(summary, images, ["A dog runs.", None])
    longer = storyboard(summary, images, ["A dog runs through the grass with a ball and a stick. " * 3, None])
    assert captioned.shape == longer.shape == (plain.shape[0] + 22, *plain.shape[1:])
    left, right = (np.flatnonzero(pixels_of(longer, COLOURS[0]).any(axis=0))[[0, -1]]).tolist()
    changed = np.flatnonzero((longer != captioned).any(axis=(0, 2)))
    assert left <= changed.min() <= changed.max() <= right
    assert (storyboard(summary, images, [None, None]) == plain).all()


@pytest.mark.parametrize(("n_segments", "size"), [(1, (160, 90)), (1, (90, 160)), (40, (160, 90))])
def test_any_number_of_segments_makes_a_storyboard(n_segments: int, size: tuple[int, int]) -> None:
    summary = make_summary(n_shots=81, selected=tuple(range(1, 2 * n_segments, 2)))
    sheet = storyboard(summary, [flat(COLOURS[0], *size)] * n_segments)
    assert sheet.shape[1] > 500
    assert pixels_of(sheet, COLOURS[0]).sum() > n_segments * 200 * 150


def test_the_same_summary_gives_the_same_storyboard() -> None:
    summary, images = make_summary(), [flat(COLOURS[0]), flat(COLOURS[1])]
    np.testing.assert_array_equal(storyboard(summary, images), storyboard(summary, images))


@pytest.mark.parametrize("n_images", [0, 1, 3])
def test_a_senseless_storyboard_is_refused(n_images: int) -> None:
    with pytest.raises(UsageError):
        storyboard(make_summary(), [flat(COLOURS[0])] * n_images)


# --- plot ---


def test_a_plot_has_its_curves_shading_and_legend(tmp_path: Path) -> None:
    importance_plot(make_summary(), tmp_path / "plot.svg")
    root = ET.parse(tmp_path / "plot.svg").getroot()
    comments = (tmp_path / "plot.svg").read_text()
    assert root.tag.endswith("svg")
    for text in ("importance", "shot score", "shot border", "selected", "time (min:s)", "0:30"):
        assert f"<!-- {text} -->" in comments


def test_a_png_plot_is_a_picture_with_shaded_segments(tmp_path: Path) -> None:
    importance_plot(make_summary(), tmp_path / "plot.png")
    picture = cv2.cvtColor(cv2.imread(str(tmp_path / "plot.png")), cv2.COLOR_BGR2RGB)
    assert picture.shape[1] > 1000
    shade = tuple(round(255 - 0.16 * (255 - part)) for part in BLUE)
    near = (np.abs(picture.astype(int) - shade) <= 2).all(axis=2)
    assert 0.3 < near.any(axis=0).mean() < 0.7


@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_the_same_summary_gives_the_same_plot(suffix: str, tmp_path: Path) -> None:
    paths = [tmp_path / f"{name}{suffix}" for name in "ab"]
    for path in paths:
        importance_plot(make_summary(), path)
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_a_plot_of_one_sample_and_one_shot(tmp_path: Path) -> None:
    importance_plot(make_summary(n_shots=1, selected=(0,), duration_s=0.4), tmp_path / "plot.png")
    assert (tmp_path / "plot.png").stat().st_size > 1000


@pytest.mark.parametrize("name", ["$x_1$ and 100%.mp4", "視頻.mp4", "caf\udce9.mp4", "a" * 200 + ".mp4"])
def test_any_file_name_can_be_a_title(name: str, tmp_path: Path) -> None:
    summary = replace(make_summary(), video=video_named(name))
    importance_plot(summary, tmp_path / "plot.svg")
    sheet = storyboard(summary, [flat(COLOURS[0]), flat(COLOURS[1])])
    assert sheet.shape == storyboard(make_summary(), [flat(COLOURS[0]), flat(COLOURS[1])]).shape


def test_a_plot_of_another_kind_of_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"must end in \.png or \.svg"):
        importance_plot(make_summary(), tmp_path / "plot.pdf")
    assert list(tmp_path.iterdir()) == []


# --- times on an axis ---


@given(st.floats(0.5, 40_000))
def test_round_times_cover_the_video_without_crowding(duration_s: float) -> None:
    times = round_times(duration_s, 8)
    assert times[0] == 0
    assert 2 <= len(times) <= 9
    assert times[-1] <= duration_s * (1 + 1e-9)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0:00"),
        (5, "0:05"),
        (65, "1:05"),
        (3600, "1:00:00"),
        (7265, "2:01:05"),
        (1.5, "0:01.5"),
        (59.96, "1:00"),
    ],
)
def test_times_on_an_axis_are_short(seconds: float, text: str) -> None:
    assert format_short_time(seconds) == text


def test_the_length_of_a_late_video_does_not_count_what_comes_before_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    headers: list[tuple[str, str]] = []
    monkeypatch.setattr("vidsum.summary.storyboard.contact_sheet", lambda header, *_: headers.append(header))
    summary = make_summary()
    for result in (summary, shift_times(summary, 5.0)):
        storyboard(result, [np.zeros((40, 60, 3), np.uint8)] * len(summary.segments))
    assert headers[0] == headers[1]
