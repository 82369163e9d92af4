"""Key frames, storyboards and plots of a summary."""

import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from tests.media import video_info
from vidsum.errors import OutputError, UsageError
from vidsum.results.clock import shift_times
from vidsum.results.cut_list import Cut
from vidsum.results.figures import round_times
from vidsum.results.summary import ScoredShot, Summary
from vidsum.summary.storyboard import (
    _lanes_of,
    _score,
    _spread,
    contact_sheet,
    importance_plot,
    key_frame_candidates,
    save_key_frames,
    save_picture,
    storyboard,
)
from vidsum.types import Picture

BLUE = (37, 99, 235)
COLOURS = [(200, 30, 30), (30, 200, 30), (200, 200, 30), (30, 200, 200), (200, 30, 200), (90, 60, 30)]


def make_summary(n_shots: int = 6, selected: tuple[int, ...] = (1, 3, 4)) -> Summary:
    """Equal shots of a minute, scored by their number; selected neighbours form one segment."""
    edges, duration_s = np.linspace(0, 60, n_shots + 1).tolist(), 60.0
    shots = tuple(ScoredShot(edges[i], edges[i + 1], i / 10, i in selected) for i in range(n_shots))
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


def flat(colour: tuple[int, int, int], width: int = 160, height: int = 90) -> Picture:
    return np.full((height, width, 3), colour, dtype=np.uint8)


def pixels_of(sheet: Picture, colour: tuple[int, int, int]) -> np.ndarray:
    return (sheet == np.array(colour, dtype=np.uint8)).all(axis=2)


def width_of_sheet(n_images: int) -> int:
    cuts = [Cut(float(n), n + 1.0, "") for n in range(n_images)]
    images = [flat(COLOURS[0])] * n_images
    return contact_sheet(("a", "b"), cuts, images, [], [(0.0, 9.0)], 9.0).shape[1]


def test_sheet_has_two_to_four_columns_of_pictures() -> None:
    widths = [width_of_sheet(n_images) for n_images in range(1, 7)]
    assert widths[0] == widths[1] < widths[2] < widths[3] == widths[4] == widths[5]


def test_key_frame_is_one_of_the_more_important_moments_of_its_segment() -> None:
    summary = make_summary()
    for times, (start, end) in zip(key_frame_candidates(summary), summary.segments, strict=True):
        inside = (summary.timestamps >= start) & (summary.timestamps < end)
        least = np.median(summary.importance[inside])
        assert all(start <= time_s < end for time_s in times)
        assert summary.importance[np.isin(summary.timestamps, times)].min() >= least


def test_candidates_of_a_long_segment_are_few_and_spread() -> None:
    level = replace(make_summary(selected=(1,)), importance=np.ones(120, np.float32))
    ((first, *others, last),), ((start, end),) = key_frame_candidates(level), level.segments
    assert len(others) == 6
    assert (first - start, end - last) == (0, pytest.approx(0.5))


def test_key_frame_of_a_segment_between_samples_is_its_middle() -> None:
    short = replace(make_summary(), segments=((10.1, 10.3),))
    assert key_frame_candidates(short) == [[pytest.approx(10.2)]]


def test_header_of_a_storyboard_does_not_depend_on_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    headers: list[tuple[str, str]] = []
    monkeypatch.setattr("vidsum.summary.storyboard.contact_sheet", lambda header, *_: headers.append(header))
    summary = make_summary()
    for result in (summary, shift_times(summary, 5.0)):
        storyboard(result, [np.zeros((40, 60, 3), np.uint8)] * len(summary.segments))
    assert headers[0] == headers[1]


def read_rgb(path: Path) -> Picture:
    return np.asarray(cv2.cvtColor(cv2.imread(str(path)), cv2.COLOR_BGR2RGB), np.uint8)


def test_key_frames_are_the_files_of_their_folder(tmp_path: Path) -> None:
    paths = save_key_frames([flat(COLOURS[0]), flat(COLOURS[1])], [3.0, 125.5], tmp_path / "frames")
    assert sorted((tmp_path / "frames").iterdir()) == paths


def test_key_frames_are_named_by_number_and_time(tmp_path: Path) -> None:
    paths = save_key_frames([flat(COLOURS[0]), flat(COLOURS[1])], [3.0, 125.5], tmp_path / "frames")
    assert [path.name for path in paths] == ["01_3.00s.jpg", "02_125.50s.jpg"]


def test_key_frames_keep_their_colours(tmp_path: Path) -> None:
    paths = save_key_frames([flat(COLOURS[0]), flat(COLOURS[1])], [3.0, 125.5], tmp_path)
    for path, colour in zip(paths, COLOURS, strict=False):
        np.testing.assert_allclose(read_rgb(path).mean(axis=(0, 1)), colour, atol=3)


def test_other_pictures_of_the_folder_are_kept(tmp_path: Path) -> None:
    (tmp_path / "notes.jpg").write_bytes(b"mine")
    save_key_frames([flat(COLOURS[0])], [1.0], tmp_path)
    assert (tmp_path / "notes.jpg").read_bytes() == b"mine"


def test_names_of_a_hundred_key_frames_sort_by_time(tmp_path: Path) -> None:
    paths = save_key_frames([flat(COLOURS[0], 8, 8)] * 101, list(range(101)), tmp_path)
    assert [path.name for path in sorted(paths)] == [path.name for path in paths]


@pytest.mark.parametrize("name", ["file", "file/b", "a\0b"], ids=["file", "in a file", "null"])
def test_folder_that_cannot_be_made_is_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="cannot be made"):
        save_key_frames([flat(COLOURS[0])], [1.0], f"{tmp_path}/{name}")


NOISE = np.random.default_rng(0).integers(0, 256, (40, 50, 3), dtype=np.uint8)


def test_saved_png_has_every_pixel(tmp_path: Path) -> None:
    save_picture(NOISE, tmp_path / "picture.png", "vidsum abc")
    np.testing.assert_array_equal(read_rgb(tmp_path / "picture.png"), NOISE)


def test_saved_picture_has_its_label(tmp_path: Path) -> None:
    save_picture(NOISE, tmp_path / "picture.png", "vidsum abc")
    with Image.open(tmp_path / "picture.png") as labelled:
        assert labelled.info["Comment"] == "vidsum abc"


def test_picture_of_another_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"must end in \.png or \.jpg"):
        save_picture(NOISE, tmp_path / "picture.gif")


@pytest.mark.parametrize("letter", ["\n", "\r", "\x85", "\u2029"])
def test_line_ends_in_texts_do_not_move_pictures(letter: str) -> None:
    cut, span = Cut(0.0, 1.0, ""), [(0.0, 1.0)]
    plain, ended = (
        contact_sheet((name, "1 shot"), [cut], [flat(COLOURS[0])], [caption], span, 1.0)
        for name, caption in (("ab.mp4", "a b"), (f"a{letter}b.mp4", f"a{letter}b"))
    )
    assert (ended != plain)[:60].any()
    np.testing.assert_array_equal(ended[60:], plain[60:])


@pytest.mark.parametrize(("size", "n_columns"), [((160, 90), 4), ((90, 160), 5), ((100, 100), 4)])
def test_pictures_of_a_storyboard_keep_their_shape_and_order(size: tuple[int, int], n_columns: int) -> None:
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


def test_cuts_that_overlap_have_lanes_of_their_own() -> None:
    cuts = [Cut(0.0, 4.0, "a"), Cut(1.0, 3.0, "b"), Cut(3.0, 5.0, "c"), Cut(4.0, 6.0, "d")]
    assert _lanes_of(cuts) == [0, 1, 1, 0]


@pytest.mark.parametrize(
    ("wanted", "places"), [([10.0, 11.0, 12.0, 99.0], [10.0, 20.0, 30.0, 95.0]), ([99.0, 99.0], [85.0, 95.0])]
)
def test_numbers_are_spread_where_they_would_touch(wanted: list[float], places: list[float]) -> None:
    assert _spread(wanted, [10.0] * len(wanted), (0.0, 100.0)) == places


IMAGES = [flat(COLOURS[0]), flat(COLOURS[1])]
"""One for each segment of `make_summary()`."""


def test_strip_of_a_storyboard_shows_where_segments_lie() -> None:
    summary = make_summary()
    sheet = storyboard(summary, IMAGES)
    strip_row = pixels_of(sheet, BLUE).sum(axis=1).argmax()
    blue = np.flatnonzero(pixels_of(sheet, BLUE)[strip_row])
    grey = pixels_of(sheet, (229, 231, 235))[strip_row] | pixels_of(sheet, (209, 213, 219))[strip_row]
    left, right = np.flatnonzero(grey)[[0, -1]]
    ends = np.flatnonzero(np.diff(blue) > 1)
    edges = np.array([blue[0], *blue[ends], *blue[ends + 1], blue[-1]])
    expected = np.array(summary.segments).ravel()
    np.testing.assert_allclose((edges - left) / (right - left) * 60, expected, atol=0.3)


@pytest.mark.parametrize("colour", COLOURS[:2])
def test_nothing_is_drawn_over_pictures_of_a_storyboard(colour: tuple[int, int, int]) -> None:
    rows, columns = np.nonzero(pixels_of(storyboard(make_summary(), IMAGES), colour))
    assert len(rows) == (np.ptp(rows) + 1) * (np.ptp(columns) + 1)


@pytest.mark.parametrize("fact", ["score", "time"])
def test_storyboard_shows_scores_and_times(fact: str) -> None:
    summary = make_summary()
    others = {
        "score": replace(summary, shots=tuple(replace(shot, score=0.99) for shot in summary.shots)),
        "time": replace(summary, segments=((10.0, 19.0), (30.0, 50.0))),
    }
    assert (storyboard(others[fact], IMAGES) != storyboard(summary, IMAGES)).any()


def test_score_of_a_segment_weighs_its_shots_by_their_parts_in_it() -> None:
    assert _score(make_summary(), (5.0, 20.0)) == pytest.approx((5 * 0.0 + 10 * 0.1) / 15)


def test_storyboard_has_the_same_pixels_again() -> None:
    np.testing.assert_array_equal(storyboard(make_summary(), IMAGES), storyboard(make_summary(), IMAGES))


@pytest.mark.parametrize("n_images", [0, 1, 3])
def test_storyboard_refuses_another_number_of_pictures(n_images: int) -> None:
    with pytest.raises(UsageError):
        storyboard(make_summary(), IMAGES[:1] * n_images)


LONG_CAPTION = "A dog runs through the grass with a ball and a stick. " * 3


@pytest.mark.parametrize("caption", ["A dog runs.", LONG_CAPTION], ids=["short", "long"])
def test_captions_make_a_storyboard_a_line_higher(caption: str) -> None:
    plain = storyboard(make_summary(), IMAGES)
    assert storyboard(make_summary(), IMAGES, [caption, None]).shape == (
        plain.shape[0] + 22,
        *plain.shape[1:],
    )


def test_long_caption_stays_below_its_picture() -> None:
    captioned = storyboard(make_summary(), IMAGES, ["A dog runs.", None])
    longer = storyboard(make_summary(), IMAGES, [LONG_CAPTION, None])
    left, right = (np.flatnonzero(pixels_of(longer, COLOURS[0]).any(axis=0))[[0, -1]]).tolist()
    changed = np.flatnonzero((longer != captioned).any(axis=(0, 2)))
    assert left <= changed.min() <= changed.max() <= right


def test_storyboard_without_captions_has_no_line_for_them() -> None:
    assert (storyboard(make_summary(), IMAGES, [None, None]) == storyboard(make_summary(), IMAGES)).all()


@pytest.mark.parametrize("middle_s", [24.0, 40.0])
def test_numbers_of_cuts_stand_above_their_middles(middle_s: float) -> None:
    """The second cut lies in the first, and its middle is before the first's."""
    cuts = [Cut(20.0, 60.0, ""), Cut(20.0, 28.0, "")]
    sheet = contact_sheet(("x", ""), cuts, [np.zeros((90, 160, 3), np.uint8)] * 2, (), [(0.0, 60.0)], 60.0)
    strip = (sheet == BLUE).all(axis=2)
    top = np.flatnonzero(strip[:, int(sheet.shape[1] * 0.9)])[-14]  # half of the strip
    above = np.flatnonzero(strip[top - 20 : top - 2].any(axis=0)) / sheet.shape[1]
    assert np.abs(above - middle_s / 60).min() < 0.03


@pytest.mark.parametrize(("n_segments", "size"), [(1, (160, 90)), (1, (90, 160)), (40, (160, 90))])
def test_pictures_of_a_storyboard_stay_large(n_segments: int, size: tuple[int, int]) -> None:
    summary = make_summary(n_shots=81, selected=tuple(range(1, 2 * n_segments, 2)))
    sheet = storyboard(summary, [flat(COLOURS[0], *size)] * n_segments)
    assert sheet.shape[1] > 500
    assert pixels_of(sheet, COLOURS[0]).sum() > n_segments * 200 * 150


@pytest.fixture(scope="module")
def plots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with plot.svg and plot.png."""
    folder = tmp_path_factory.mktemp("plots")
    for name in ("plot.svg", "plot.png"):
        importance_plot(make_summary(), folder / name)
    return folder


def test_plot_is_an_svg(plots: Path) -> None:
    assert ET.parse(plots / "plot.svg").getroot().tag.endswith("svg")


@pytest.mark.parametrize(
    "text", ["importance", "shot score", "shot border", "selected", "time (min:s)", "0:30"]
)
def test_plot_names_what_it_shows(text: str, plots: Path) -> None:
    assert f"<!-- {text} -->" in (plots / "plot.svg").read_text()


def test_plot_shades_what_is_selected(plots: Path) -> None:
    picture = read_rgb(plots / "plot.png")
    assert picture.shape[1] > 1000
    shade = tuple(round(255 - 0.16 * (255 - part)) for part in BLUE)
    near = (np.abs(picture.astype(int) - shade) <= 2).all(axis=2)
    assert 0.3 < near.any(axis=0).mean() < 0.7


TITLES = pytest.mark.parametrize(
    "name", ["$x_1$ and 100%.mp4", "視頻.mp4", "caf\udce9.mp4", "a" * 200 + ".mp4"]
)


@TITLES
def test_plot_of_a_video_of_any_name(name: str, tmp_path: Path) -> None:
    summary = replace(make_summary(), video=video_info(f"/videos/{name}", duration_s=60.0))
    importance_plot(summary, tmp_path / "plot.svg")


@TITLES
def test_storyboard_of_a_video_of_any_name_has_the_same_size(name: str) -> None:
    summary = replace(make_summary(), video=video_info(f"/videos/{name}", duration_s=60.0))
    assert storyboard(summary, IMAGES).shape == storyboard(make_summary(), IMAGES).shape


@given(st.floats(0.5, 40_000))
def test_times_of_an_axis_are_few_and_within_the_video(duration_s: float) -> None:
    times = round_times(duration_s, 8)
    assert times[0] == 0
    assert 2 <= len(times) <= 9
    assert times[-1] <= duration_s * (1 + 1e-9)
