"""Files of shots next to their JSON, with the names and columns that PySceneDetect gives them."""

import csv
import os
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from vidsum.features.settings import Extraction
from vidsum.io.outputs import atomic_write, make_folder
from vidsum.pipelines.summary import open_for_shots
from vidsum.pipelines.timelines import result_video
from vidsum.results.shots import Shots
from vidsum.shots.settings import ShotSettings
from vidsum.times import format_timestamp
from vidsum.types import FloatArray, Interval, Progress
from vidsum.video.clock import start_offset_s
from vidsum.video.read import read_frames_at
from vidsum.video.segments import measure_changes

_PICTURES_PER_BATCH = 24  # pictures that are in memory together, in full size


def write_images(shots: Shots, folder: str | os.PathLike[str], n_images: int, stem: str) -> None:
    """Write `n_images` of each shot as `{stem}-Scene-001-01.jpg` into a folder, made if needed.

    One is from the middle. Of more, the first and the last are a frame from the edges, and each of the others
    from the middle of its part. Images of an earlier run with another name are removed.

    Raises UsageError: the shots are of features. InputError: the video is not there any more. OutputError: a
    file cannot be written.
    """
    from vidsum.summary.storyboard import save_picture

    video, place = result_video(shots), Path(folder)
    make_folder(place)
    digits = max(3, len(str(len(shots)))), max(2, len(str(n_images)))
    wanted = [
        (f"{stem}-Scene-{number:0{digits[0]}}-{image:0{digits[1]}}.jpg", time_s)
        for number, span in enumerate(shots.intervals, 1)
        for image, time_s in enumerate(_times(span, n_images, 1 / video.fps), 1)
    ]
    for first in range(0, len(wanted), _PICTURES_PER_BATCH):
        part = wanted[first : first + _PICTURES_PER_BATCH]
        frames = read_frames_at(video, [time_s for _, time_s in part])
        for (name, _), frame in zip(part, frames, strict=True):
            save_picture(frame.image, place / name)
    names, ours = {name for name, _ in wanted}, re.compile(rf"{re.escape(stem)}-Scene-\d+-\d+\.jpg")
    for old in place.iterdir():
        if ours.fullmatch(old.name) and old.name not in names:
            old.unlink(missing_ok=True)  # another process may be at the same folder


def _times(span: Interval, n_images: int, frame_s: float) -> list[float]:
    start_s, end_s = span
    edges = np.linspace(start_s, end_s, n_images + 1)
    times = (edges[:-1] + edges[1:]) / 2
    if n_images > 1:
        times[0], times[-1] = start_s + frame_s, end_s - frame_s
    latest = max(start_s, end_s - frame_s)
    return [float(min(max(time_s, start_s), latest)) for time_s in times]


def write_stats(
    shots: Shots,
    path: str | os.PathLike[str],
    settings: ShotSettings = ShotSettings(),
    extraction: Extraction = Extraction(),
    progress: Progress | None = None,
) -> None:
    """Write a row for each frame: its number from 1, its time, how much it differs from the one before (mean
    absolute difference of tiny pictures, 0 to 255), and the number of its shot.

    With `transnetv2`, also the probability that it is part of a transition.

    Raises UsageError: the shots are of features. InputError: the video is not there any more. OutputError:
    the file cannot be written.
    """
    video = result_video(shots)
    changes = measure_changes(video, [(0.0, video.duration_s)])
    times = changes.timestamps
    columns: dict[str, Sequence[float] | FloatArray] = {"change": changes.array[:, 0]}
    if settings.shots == "transnetv2":
        (seen, *_), _ = open_for_shots(video.path, settings, extraction, with_features=False).read(progress)
        nearest = np.searchsorted(seen.timestamps, times - 1 / (2 * video.fps)).clip(max=len(seen) - 1)
        columns["transition"] = seen.array[nearest, 0]
    numbers, offset_s = shots.numbers_at(times) + 1, start_offset_s(video)
    with atomic_write(path) as part, part.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(("Frame Number", "Timecode", *columns, "shot"))
        for row, (time_s, shot) in enumerate(zip(times.tolist(), numbers.tolist(), strict=True)):
            values = (f"{column[row]:.4f}" for column in columns.values())
            rows.writerow((row + 1, format_timestamp(time_s + offset_s), *values, shot))
