"""Pictures of a summary: its key frames, a sheet of them, and a plot of its importance. Sheets of clips."""

import math
import os
from collections.abc import Sequence
from pathlib import Path

import cv2
import numpy as np
from PIL import Image, ImageDraw
from PIL.PngImagePlugin import PngInfo

from vidsum.errors import UsageError, printable
from vidsum.io.atomic import atomic_write, make_folder
from vidsum.io.provenance import label_of
from vidsum.results.cut_list import Cut
from vidsum.results.figures import (
    ACCENT,
    BLUE,
    OTHERS,
    draw_time_axis,
    new_figure,
    round_times,
    save_figure,
    video_title,
)
from vidsum.results.summary import Summary
from vidsum.times import format_short_time, format_time
from vidsum.types import Interval, Picture
from vidsum.video.style import load_font

_JPEG_QUALITY = 92
_MOST_CANDIDATES = 8  # pictures that may be the key frame of a segment


def key_frame_candidates(summary: Summary) -> list[list[float]]:
    """Return times of each segment of which one may be its key frame: of the more important half of its
    samples, at most eight, evenly spread; else its middle.
    """
    candidates = []
    for start_s, end_s in summary.segments:
        inside = (summary.timestamps >= start_s) & (summary.timestamps < end_s)
        times, importance = summary.timestamps[inside], summary.importance[inside]
        if len(times):
            times = times[importance >= np.median(importance)]
            places = np.linspace(0, len(times) - 1, min(len(times), _MOST_CANDIDATES))
            candidates.append(times[places.round().astype(np.int64)].tolist())
        else:
            candidates.append([(start_s + end_s) / 2])
    return candidates


def save_key_frames(
    images: Sequence[Picture], times_s: Sequence[float], folder: str | os.PathLike[str]
) -> list[Path]:
    """Write `NN_SECONDSs.jpg` into a folder; return paths. Raises OutputError."""
    folder = Path(folder)
    make_folder(folder)
    digits = max(2, len(str(len(images))))
    paths = [folder / f"{number:0{digits}d}_{time_s:.2f}s.jpg" for number, time_s in enumerate(times_s, 1)]
    for path, image in zip(paths, images, strict=True):
        save_picture(image, path)
    return paths


def save_picture(image: Picture, target: str | os.PathLike[str], label: str | None = None) -> None:
    """Write a labelled picture as PNG or JPEG. Raises UsageError: another suffix; OutputError."""
    suffix = Path(target).suffix.lower()
    if suffix not in (".png", ".jpg", ".jpeg"):
        raise UsageError("picture must end in .png or .jpg", subject=target)
    about = PngInfo()
    if label:
        about.add_text("Comment", label)
    with atomic_write(target) as part:
        Image.fromarray(image).save(part, quality=_JPEG_QUALITY, pnginfo=about, compress_level=1)


_WIDE_CELL, _UPRIGHT_CELL = 384, 288  # pixels from left to right
_GAP, _MARGIN = 16, 28
_HEADER_HEIGHT, _CAPTION_HEIGHT, _LINE_HEIGHT = 46, 34, 22
_STRIP_HEIGHT, _LABEL_HEIGHT = 26, 26
_MAX_LARGE_NUMBERS = 50  # above a strip: more are small
_INK, _SOFT_INK, _PAPER = (31, 41, 55), (107, 114, 128), (255, 255, 255)
_SHOT_SHADES = ((229, 231, 235), (209, 213, 219))


def storyboard(summary: Summary, images: Sequence[Picture], captions: Sequence[str | None] = ()) -> Picture:
    """Return a sheet of a summary's key frames, with the time and score of each segment, and captions if
    given.

    A strip below shows where in the video they are: its shots in shades of grey, the segments in colour.
    `images` are a picture per segment, all of one shape. Raises UsageError for another number of pictures.
    """
    if not images or len(images) != len(summary.segments):
        raise UsageError(f"{len(images)} pictures for the {len(summary.segments)} segments of a summary")
    cuts = [Cut(*segment, "", score=_score(summary, segment)) for segment in summary.segments]
    n_segments = len(cuts)
    whole_s = summary.video_duration_s - summary.shots[0].start_s  # times may count from the file's start
    length = f"{format_time(summary.duration_s)} of {format_time(whole_s)}"
    facts = f"{n_segments} segment{'s' if n_segments > 1 else ''}, {length}"
    header = video_title(summary.video, "Summary"), facts
    spans = [(shot.start_s, shot.end_s) for shot in summary.shots]
    return contact_sheet(header, cuts, images, captions, spans, summary.video_duration_s)


def contact_sheet(
    header: tuple[str, str],
    cuts: Sequence[Cut],
    images: Sequence[Picture],
    captions: Sequence[str | None],
    shots: Sequence[Interval],
    duration_s: float,
) -> Picture:
    """Return a sheet of pictures with the times, score and caption of the cuts that they stand for.

    A strip below shows where in the video they are: its shots in shades of grey, the cuts in colour. `header`
    stands at the top, on the left and on the right; the images of the cuts are all of one shape.
    """
    height, width = images[0].shape[:2] if images else (9, 16)
    cell_width, usual = (_WIDE_CELL, 4) if width >= height else (_UPRIGHT_CELL, 5)
    columns = max(min(usual, len(images)), 2)  # a single one leaves no room for the header
    cell_height = round(cell_width * height / width)
    row_height = cell_height + _CAPTION_HEIGHT + _GAP + (_LINE_HEIGHT if any(captions) else 0)
    sheet_width = 2 * _MARGIN + columns * (cell_width + _GAP) - _GAP
    strip_top = _MARGIN + _HEADER_HEIGHT + math.ceil(len(images) / columns) * row_height + _LABEL_HEIGHT
    sheet_height = strip_top + _STRIP_HEIGHT + _LABEL_HEIGHT + _MARGIN // 2
    sheet = Image.new("RGB", (sheet_width, sheet_height), _PAPER)
    draw = ImageDraw.Draw(sheet)
    _draw_header(draw, *header, sheet_width)
    for number, (image, cut) in enumerate(zip(images, cuts, strict=True)):
        row, column = divmod(number, columns)
        left, top = _MARGIN + column * (cell_width + _GAP), _MARGIN + _HEADER_HEIGHT + row * row_height
        small = cv2.resize(image, (cell_width, cell_height), interpolation=cv2.INTER_AREA)
        sheet.paste(Image.fromarray(small), (left, top))
        below = top + cell_height + 8
        right_of_badge = _draw_badge(draw, number + 1, left, below)
        _draw_caption(draw, cut, (right_of_badge, below, left + cell_width - right_of_badge))
        if text := captions[number] if captions else None:
            fitted = _fit_text(draw, text, cell_width)
            draw.text((left, below + _LINE_HEIGHT), fitted, _SOFT_INK, load_font(15))
    _draw_strip(draw, cuts, shots, duration_s, (_MARGIN, sheet_width - _MARGIN), strip_top)
    return np.asarray(sheet)


def _score(summary: Summary, segment: Interval) -> float:
    """Mean score of the shots of a segment, weighted by how much of each lies in it."""
    start, end = segment
    overlaps = [max(0.0, min(end, shot.end_s) - max(start, shot.start_s)) for shot in summary.shots]
    return float(np.average([shot.score for shot in summary.shots], weights=overlaps))


def _draw_header(draw: ImageDraw.ImageDraw, name: str, facts: str, sheet_width: int) -> None:
    draw.text((sheet_width - _MARGIN, _MARGIN + 4), facts, _SOFT_INK, load_font(17), anchor="ra")
    room = sheet_width - 2 * _MARGIN - _GAP - draw.textlength(facts, load_font(17))
    font, name = load_font(22, bold=True), printable(name)
    while draw.textlength(name, font) > room:
        name = name.rstrip("…")[:-1] + "…"
    draw.text((_MARGIN, _MARGIN), name, _INK, font)


def _draw_badge(draw: ImageDraw.ImageDraw, number: int, left: int, top: int) -> int:
    """Draw the number of a picture below it, where it hides nothing; return where a caption may begin."""
    font = load_font(14, bold=True)
    right = left + max(22, round(draw.textlength(str(number), font)) + 10)
    draw.rounded_rectangle((left, top - 2, right, top + 18), 5, ACCENT)
    draw.text(((left + right) / 2, top + 8), str(number), _PAPER, font, anchor="mm")
    return right + 8


def _draw_caption(draw: ImageDraw.ImageDraw, cut: Cut, box: tuple[int, int, int]) -> None:
    left, top, width = box
    times = " – ".join(map(format_time, (cut.start_s, cut.end_s)))
    draw.text((left, top), times, _INK, load_font(15))
    if cut.score is not None:
        score = f"score {cut.score:.2f}"
        if draw.textlength(f"{times} {score}", load_font(15)) > width:
            score = f"{cut.score:.2f}"
        draw.text((left + width, top), score, _SOFT_INK, load_font(15), anchor="ra")


def _fit_text(draw: ImageDraw.ImageDraw, text: str, width: int) -> str:
    words = text.split()
    fitted = " ".join(words)
    while draw.textlength(fitted, load_font(15)) > width and len(words) > 1:
        words.pop()
        fitted = " ".join(words).rstrip(",.;") + " …"
    return fitted


def _draw_strip(
    draw: ImageDraw.ImageDraw,
    cuts: Sequence[Cut],
    shots: Sequence[Interval],
    duration_s: float,
    sides: tuple[int, int],
    top: int,
) -> None:
    """The video from left to right: shots, cuts with their numbers above, times below."""
    left, right = sides

    def x(time_s: float) -> float:
        return left + (right - left) * min(time_s / duration_s, 1.0)

    bottom = top + _STRIP_HEIGHT
    for number, (start, end) in enumerate(shots):
        draw.rectangle((x(start), top, x(end), bottom), _SHOT_SHADES[number % 2])
    lanes = _lanes_of(cuts)
    height = _STRIP_HEIGHT / (max(lanes, default=0) + 1)
    for cut, lane in zip(cuts, lanes, strict=True):
        start, above = x(cut.start_s), top + round(lane * height)
        draw.rectangle((start, above, max(x(cut.end_s), start + 2), top + round((lane + 1) * height)), ACCENT)
        draw.line((start, above, start, top + round((lane + 1) * height)), _PAPER)
    numbered = sorted((x((cut.start_s + cut.end_s) / 2), number) for number, cut in enumerate(cuts, 1))
    size, gap = (15, 6) if len(cuts) <= _MAX_LARGE_NUMBERS else (8, 2)
    font = load_font(size, bold=True)
    widths = [draw.textlength(str(number), font) + gap for _, number in numbered]
    for (middle, number), place in zip(
        numbered, _spread([at for at, _ in numbered], widths, sides), strict=True
    ):
        draw.line((place, top - 4, middle, top), ACCENT)
        draw.text((place, top - 6), str(number), ACCENT, font, anchor="ms")
    for time_s in round_times(duration_s, 8):
        at, anchor = x(time_s), "ls" if time_s == 0 else "ms"
        draw.line((at, bottom, at, bottom + 5), _SOFT_INK)
        draw.text((at, bottom + 21), format_short_time(time_s), _SOFT_INK, load_font(14), anchor=anchor)


def _lanes_of(cuts: Sequence[Cut]) -> list[int]:
    """Return the lane of each cut, from 0: cuts of one lane do not overlap."""
    lanes, ends_s = [0] * len(cuts), list[float]()
    for number in sorted(range(len(cuts)), key=lambda number: cuts[number].start_s):
        cut = cuts[number]
        lane = next((lane for lane, end_s in enumerate(ends_s) if end_s <= cut.start_s), len(ends_s))
        ends_s[lane : lane + 1] = [cut.end_s]
        lanes[number] = lane
    return lanes


def _spread(middles: Sequence[float], widths: Sequence[float], sides: tuple[float, float]) -> list[float]:
    """Return places near ascending middles, between two sides, that leave each its width."""
    places, free_from = list[float](), sides[0]
    for middle, width in zip(middles, widths, strict=True):
        places.append(max(middle, free_from + width / 2))
        free_from = places[-1] + width / 2
    free_to = sides[1]
    for number in range(len(places) - 1, -1, -1):
        places[number] = min(places[number], free_to - widths[number] / 2)
        free_to = places[number] - widths[number] / 2
    return places


def importance_plot(summary: Summary, target: str | os.PathLike[str]) -> None:
    """Plot the importance curve with shots, scores and segments; raises the errors of `save_figure`."""
    figure = new_figure(11, 3.6)
    axes = figure.add_subplot()
    for number, (start, end) in enumerate(summary.segments):
        label = "selected" if number == 0 else None
        axes.axvspan(start, end, color=BLUE, alpha=0.16, linewidth=0, label=label)
    edges = [shot.start_s for shot in summary.shots[1:]]
    axes.vlines(
        edges, 0, 1, transform=axes.get_xaxis_transform(), color="#9ca3af", linewidth=0.6, label="shot border"
    )
    scores, borders = [shot.score for shot in summary.shots], [summary.shots[0].start_s, *edges]
    borders.append(summary.shots[-1].end_s)
    axes.stairs(scores, borders, baseline=None, color=OTHERS[0], linewidth=1.6, label="shot score")
    axes.plot(
        summary.timestamps,
        summary.importance,
        drawstyle="steps-post",  # a sample covers the time up to the next
        color=BLUE,
        linewidth=1.3,
        label="importance",
    )
    draw_time_axis(axes, summary.video_duration_s)
    axes.set_ylim(bottom=0)  # so that a nearly level curve looks level
    axes.set_xlabel("time (min:s)")
    axes.set_ylabel("importance")
    axes.set_title(
        video_title(summary.video, "Summary"), loc="left", fontsize=11, fontweight="bold", parse_math=False
    )
    axes.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=4, frameon=False, fontsize=9)
    save_figure(figure, target, label_of(summary.provenance))
