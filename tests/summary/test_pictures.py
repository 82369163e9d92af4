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
    _spread,
    contact_sheet,
    importance_plot,
    key_frame_times,
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


def test_key_frame_times(monkeypatch: pytest.MonkeyPatch) -> None:
    summary = make_summary()
    for time_s, (start, end) in zip(key_frame_times(summary), summary.segments, strict=True):
        inside = (summary.timestamps >= start) & (summary.timestamps < end)
        assert start <= time_s < end
        assert summary.importance[summary.timestamps == time_s][0] == summary.importance[inside].max()
    level = replace(make_summary(selected=(1,)), importance=np.ones(120, np.float32))
    assert key_frame_times(level) == [15.0]  # the middle one of equals
    assert key_frame_times(replace(summary, segments=((10.1, 10.3),))) == pytest.approx([10.2])
    headers: list[tuple[str, str]] = []
    monkeypatch.setattr("vidsum.summary.storyboard.contact_sheet", lambda header, *_: headers.append(header))
    summary = make_summary()
    for result in (summary, shift_times(summary, 5.0)):
        storyboard(result, [np.zeros((40, 60, 3), np.uint8)] * len(summary.segments))
    assert headers[0] == headers[1]


def test_save_key_frames(tmp_path: Path) -> None:
    folder = tmp_path / "frames"
    paths = save_key_frames([flat(COLOURS[0]), flat(COLOURS[1])], [3.0, 125.5], folder)
    assert [path.name for path in paths] == ["01_3.00s.jpg", "02_125.50s.jpg"]
    for path, colour in zip(paths, COLOURS[:2], strict=True):
        read = cv2.cvtColor(cv2.imread(str(path)), cv2.COLOR_BGR2RGB)
        np.testing.assert_allclose(read.mean(axis=(0, 1)), colour, atol=3)
    (folder / "notes.jpg").write_bytes(b"mine")
    save_key_frames([flat(COLOURS[0])], [1.0], folder)
    assert (folder / "notes.jpg").read_bytes() == b"mine"
    paths = save_key_frames([flat(COLOURS[0], 8, 8)] * 101, list(range(101)), tmp_path)
    assert [path.name for path in sorted(paths)] == [path.name for path in paths]
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file", tmp_path / "file" / "b", f"{tmp_path}/a\0b"):
        with pytest.raises(OutputError, match="cannot be made"):
            save_key_frames([flat(COLOURS[0])], [1.0], folder)
    picture = np.random.default_rng(0).integers(0, 256, (40, 50, 3), dtype=np.uint8)
    save_picture(picture, tmp_path / "picture.png", "vidsum abc")
    with Image.open(tmp_path / "picture.png") as labelled:
        assert labelled.info["Comment"] == "vidsum abc"
    read = cv2.cvtColor(cv2.imread(str(tmp_path / "picture.png")), cv2.COLOR_BGR2RGB)
    np.testing.assert_array_equal(read, picture)
    with pytest.raises(UsageError, match=r"must end in \.png or \.jpg"):
        save_picture(picture, tmp_path / "picture.gif")


@pytest.mark.parametrize("letter", ["\n", "\r", "\x85", "\u2029"])
def test_line_ends_in_texts_of_sheets(letter: str) -> None:
    cut, span = Cut(0.0, 1.0, ""), [(0.0, 1.0)]
    plain, ended = (
        contact_sheet((name, "1 shot"), [cut], [flat(COLOURS[0])], [caption], span, 1.0)
        for name, caption in (("ab.mp4", "a b"), (f"a{letter}b.mp4", f"a{letter}b"))
    )
    assert (ended != plain)[:60].any()
    np.testing.assert_array_equal(ended[60:], plain[60:])


@pytest.mark.parametrize(("size", "n_columns"), [((160, 90), 4), ((90, 160), 5), ((100, 100), 4)])
def test_storyboard_pictures(size: tuple[int, int], n_columns: int) -> None:
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


def test_storyboard_strip() -> None:
    summary = make_summary()
    sheet = storyboard(summary, [flat(COLOURS[0]), flat(COLOURS[1])])
    strip_row = pixels_of(sheet, BLUE).sum(axis=1).argmax()
    blue = np.flatnonzero(pixels_of(sheet, BLUE)[strip_row])
    grey = pixels_of(sheet, (229, 231, 235))[strip_row] | pixels_of(sheet, (209, 213, 219))[strip_row]
    left, right = np.flatnonzero(grey)[[0, -1]]
    ends = np.flatnonzero(np.diff(blue) > 1)
    edges = np.array([blue[0], *blue[ends], *blue[ends + 1], blue[-1]])
    expected = np.array(summary.segments).ravel()
    np.testing.assert_allclose((edges - left) / (right - left) * 60, expected, atol=0.3)
    sheet = storyboard(make_summary(), [flat(COLOURS[0]), flat(COLOURS[1])])
    for colour in COLOURS[:2]:
        rows, columns = np.nonzero(pixels_of(sheet, colour))
        assert len(rows) == (np.ptp(rows) + 1) * (np.ptp(columns) + 1)
    summary, images = make_summary(), [flat(COLOURS[0]), flat(COLOURS[1])]
    sheet = storyboard(summary, images)
    other_scores = replace(summary, shots=tuple(replace(shot, score=0.99) for shot in summary.shots))
    other_times = replace(summary, segments=((10.0, 19.0), (30.0, 50.0)))
    for other in (other_scores, other_times):
        assert (storyboard(other, images) != sheet).any()
    np.testing.assert_array_equal(storyboard(summary, images), sheet)
    for n_images in (0, 1, 3):
        with pytest.raises(UsageError):
            storyboard(summary, images[:1] * n_images)
    plain = storyboard(summary, images)
    captioned = storyboard(summary, images, ["A dog runs.", None])
    longer = storyboard(summary, images, ["A dog runs through the grass with a ball and a stick. " * 3, None])
    assert captioned.shape == longer.shape == (plain.shape[0] + 22, *plain.shape[1:])
    left, right = (np.flatnonzero(pixels_of(longer, COLOURS[0]).any(axis=0))[[0, -1]]).tolist()
    changed = np.flatnonzero((longer != captioned).any(axis=(0, 2)))
    assert left <= changed.min() <= changed.max() <= right
    assert (storyboard(summary, images, [None, None]) == plain).all()


def test_contact_sheet_numbers() -> None:
    """The second lies in the first, and its middle is before the first's."""
    cuts = [Cut(20.0, 60.0, ""), Cut(20.0, 28.0, "")]
    sheet = contact_sheet(("x", ""), cuts, [np.zeros((90, 160, 3), np.uint8)] * 2, (), [(0.0, 60.0)], 60.0)
    strip = (sheet == BLUE).all(axis=2)
    top = np.flatnonzero(strip[:, int(sheet.shape[1] * 0.9)])[-14]  # half of the strip
    above = np.flatnonzero(strip[top - 20 : top - 2].any(axis=0)) / sheet.shape[1]
    for middle_s in (24.0, 40.0):
        assert np.abs(above - middle_s / 60).min() < 0.03, middle_s
    cuts = [Cut(0.0, 4.0, "a"), Cut(1.0, 3.0, "b"), Cut(3.0, 5.0, "c"), Cut(4.0, 6.0, "d")]
    assert _lanes_of(cuts) == [0, 1, 1, 0]
    places = _spread([10.0, 11.0, 12.0, 99.0], [10.0] * 4, (0.0, 100.0))
    assert places == [10.0, 20.0, 30.0, 95.0]
    assert _spread([99.0, 99.0], [10.0] * 2, (0.0, 100.0)) == [85.0, 95.0]


@pytest.mark.parametrize(("n_segments", "size"), [(1, (160, 90)), (1, (90, 160)), (40, (160, 90))])
def test_storyboard_of_many_segments(n_segments: int, size: tuple[int, int]) -> None:
    summary = make_summary(n_shots=81, selected=tuple(range(1, 2 * n_segments, 2)))
    sheet = storyboard(summary, [flat(COLOURS[0], *size)] * n_segments)
    assert sheet.shape[1] > 500
    assert pixels_of(sheet, COLOURS[0]).sum() > n_segments * 200 * 150


def test_importance_plot(tmp_path: Path) -> None:
    importance_plot(make_summary(), tmp_path / "plot.svg")
    root = ET.parse(tmp_path / "plot.svg").getroot()
    comments = (tmp_path / "plot.svg").read_text()
    assert root.tag.endswith("svg")
    for text in ("importance", "shot score", "shot border", "selected", "time (min:s)", "0:30"):
        assert f"<!-- {text} -->" in comments
    importance_plot(make_summary(), tmp_path / "plot.png")
    picture = cv2.cvtColor(cv2.imread(str(tmp_path / "plot.png")), cv2.COLOR_BGR2RGB)
    assert picture.shape[1] > 1000
    shade = tuple(round(255 - 0.16 * (255 - part)) for part in BLUE)
    near = (np.abs(picture.astype(int) - shade) <= 2).all(axis=2)
    assert 0.3 < near.any(axis=0).mean() < 0.7


@pytest.mark.parametrize("name", ["$x_1$ and 100%.mp4", "視頻.mp4", "caf\udce9.mp4", "a" * 200 + ".mp4"])
def test_any_title(name: str, tmp_path: Path) -> None:
    summary = replace(make_summary(), video=video_info(f"/videos/{name}", duration_s=60.0))
    importance_plot(summary, tmp_path / "plot.svg")
    sheet = storyboard(summary, [flat(COLOURS[0]), flat(COLOURS[1])])
    assert sheet.shape == storyboard(make_summary(), [flat(COLOURS[0]), flat(COLOURS[1])]).shape


@given(st.floats(0.5, 40_000))
def test_round_times(duration_s: float) -> None:
    times = round_times(duration_s, 8)
    assert times[0] == 0
    assert 2 <= len(times) <= 9
    assert times[-1] <= duration_s * (1 + 1e-9)
