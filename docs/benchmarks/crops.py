"""Whether upright crops show the subject of clips (crops.json).

    python -m docs.benchmarks.crops [--aspect 9:16] [--pictures FOLDER]

crops.json has, for each clip, where the subject that its caption names begins and ends, as fractions of the
width, at four times of the first 5 s. It was written before any crop of this table was made. A clip is right
if at least half of the subject's width is shown in three quarters of its pictures. The clips were divided at
random: `choice` chose weights, `reported` chose nothing. "Whole" is the number of clips whose pictures are
shown between bars, which always shows the subject. The baseline is the crop in the middle.
"""

import json
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np

from docs.benchmarks import argument_parser
from docs.benchmarks.joined import FIRST
from vidsum.pipelines.shorts import choose_framing
from vidsum.types import VideoInfo
from vidsum.video.probe import probe
from vidsum.video.read import read_frames_at
from vidsum.video.reframe import Framing

SUBJECTS = Path(__file__).with_name("crops.json")
_LENGTH_S, _PICTURES = 5.0, 4
_LEAST_COVER, _LEAST_RIGHT = 0.5, 0.75
Subject = tuple[float, float] | None


def find_clip(name: str) -> Path:
    """The path of a clip by its file's name."""
    return next(path for path in (FIRST / name, FIRST / "wide" / name) if path.exists())


def times_of(video: VideoInfo) -> list[float]:
    """The times of the pictures in crops.json."""
    return [min(_LENGTH_S, video.duration_s) * (n + 0.5) / _PICTURES for n in range(_PICTURES)]


def parts_at(framing: Framing, times_s: Sequence[float]) -> list[tuple[float, float]]:
    """The part of the width that a crop has at some times, as fractions."""
    share, parts = framing.shape.share, []
    for position in map(framing.position_at, times_s):
        first = 0.0 if position is None else position * (1 - share)
        parts.append((first, 1.0 if position is None else first + share))
    return parts


def is_right(parts: Sequence[tuple[float, float]], subjects: Sequence[Subject]) -> bool:
    """Whether parts of the width show most of the subject in most pictures that have one."""
    covers = [
        (min(part[1], subject[1]) - max(part[0], subject[0])) / (subject[1] - subject[0])
        for part, subject in zip(parts, subjects, strict=True)
        if subject
    ]
    return sum(cover >= _LEAST_COVER for cover in covers) >= _LEAST_RIGHT * len(covers)


def save_pictures(video: VideoInfo, parts: Sequence[tuple[float, float]], path: Path) -> None:
    """Write the pictures side by side, dark where the crop does not show them."""
    from PIL import Image

    pictures = []
    for frame, part in zip(read_frames_at(video, times_of(video)), parts, strict=True):
        inside = np.zeros(frame.image.shape[1], bool)
        inside[slice(*(round(edge * len(inside)) for edge in part))] = True
        pictures.append(np.where(inside[None, :, None], frame.image, frame.image // 4))
    sheet = Image.fromarray(np.concatenate(pictures, axis=1).astype(np.uint8))
    sheet.resize((1200, round(1200 * sheet.height / sheet.width))).save(path)


def main() -> None:
    """Print a table for each part."""
    parser = argument_parser(__doc__)
    parser.add_argument("--aspect", type=lambda text: Fraction(*map(int, text.split(":"))), default="9:16")
    parser.add_argument("--pictures", type=Path, help="folder for pictures of the crops")
    options = parser.parse_args()
    print("| clips | in frame | whole | in the middle | wrong |\n|---|---|---|---|---|")
    for part, clips in json.loads(SUBJECTS.read_text()).items():
        right, whole, middle, wrong = 0, 0, 0, []
        for name, subjects in clips.items():
            video = probe(find_clip(name))
            framing = choose_framing(video, [(0.0, min(_LENGTH_S, video.duration_s))], options.aspect)
            parts = parts_at(framing, times_of(video))
            right += (is_in := is_right(parts, subjects))
            whole += sum(part == (0.0, 1.0) for part in parts) >= _PICTURES / 2
            middle += is_right(parts_at(Framing(framing.shape), times_of(video)), subjects)
            wrong += [] if is_in else [name]
            if options.pictures:
                options.pictures.mkdir(parents=True, exist_ok=True)
                save_pictures(video, parts, options.pictures / f"{part}_{Path(name).stem}.jpg")
        counts = f"{right} of {len(clips)} | {whole} | {middle} of {len(clips)}"
        print(f"| {part} | {counts} | {', '.join(wrong) or '-'} |")


if __name__ == "__main__":
    main()
