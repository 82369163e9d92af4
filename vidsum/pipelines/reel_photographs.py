"""Photographs as inputs of a reel: their features, importance and quality, as if they were a film."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import chain
from typing import Final

from vidsum.errors import InputError
from vidsum.features.extract import extract_features
from vidsum.features.settings import Extraction
from vidsum.grounding import vse_map
from vidsum.pipelines.decoding import load_extractor, resolve_spec
from vidsum.pipelines.file_steps import StepRunner
from vidsum.results.reel import LeftOut
from vidsum.shots.cuts import changes_to_features
from vidsum.summary.picture_quality import quality_at
from vidsum.summary.reel_parts import ReelInput, photograph_input
from vidsum.types import FloatArray, Interval, Picture, Progress, VideoInfo
from vidsum.video.changes import ChangeMeter
from vidsum.video.frames import Frame, PictureMaker, pixel_size
from vidsum.video.photographs import frame_of, read_photograph

_SIDE: Final = 640  # of photographs that are analysed, in pixels


@dataclass(frozen=True, eq=False)
class AnalysedInput:
    """A clip or photograph, with what the choice among inputs needs."""

    input: ReelInput
    look: FloatArray  # [D] mean feature
    mean: FloatArray | None  # [E] mean embedding
    said: Sequence[Interval] | None  # sentences, where there is a transcript
    quality: float = 1.0  # by which its importance as a whole counts less; of clips their parts know it


def analyse_photographs(
    photographs: Mapping[int, str],
    length_s: float,
    extraction: Extraction,
    run: StepRunner,
    progress: Progress | None,
) -> tuple[dict[int, AnalysedInput], list[LeftOut]]:
    """Return what is known of photographs, by their numbers, and those that cannot be decoded."""
    if not photographs:
        return {}, []
    spec, readable, faults, meter = resolve_spec(extraction), list[int](), list[LeftOut](), ChangeMeter()

    def count(number: int) -> None:
        if progress:
            progress("reading photographs", number, len(photographs))

    def pictures() -> Iterator[Frame]:
        with closing(run(_read_small, [*photographs.values()], count)) as made:
            for (number, path), picture in zip(photographs.items(), made, strict=True):
                if isinstance(picture, InputError):
                    faults.append(LeftOut(path, picture.words, picture.hint or ""))
                    continue
                time_s = len(readable) * spec.step_s
                meter.add(time_s, frame_of(picture), is_next=False)
                meter.reset()
                readable.append(number)
                high, wide = picture.shape[:2]
                maker = PictureMaker(*pixel_size(spec.sampling.size, wide, high))
                yield Frame(len(readable) - 1, time_s, time_s, maker.from_rgb(picture))

    frames, film = pictures(), _film_of(photographs.values(), spec.step_s)
    first = next(frames, None)
    if first is None:
        return {}, faults
    embed = vse_map.load_map() if spec.inner else None
    features = extract_features(chain([first], frames), load_extractor(extraction), film, embed=embed)
    quality = quality_at(changes_to_features(meter.result(film.path), film), features.timestamps)
    made = dict[int, AnalysedInput]()
    for place, number in enumerate(readable):
        row = features.array[place]
        mean = None if features.embeddings is None else features.embeddings[place]
        made[number] = AnalysedInput(photograph_input(row, length_s), row, mean, (), float(quality[place]))
    return made, faults


def _read_small(path: str, progress: Progress | None) -> Picture:
    return read_photograph(path, _SIDE)


def _film_of(paths: Collection[str], step_s: float) -> VideoInfo:
    """Return photographs as a film of one each step, for what reads films."""
    return VideoInfo(
        next(iter(paths)),
        bytes=0,
        container="",
        codec="",
        duration_s=len(paths) * step_s,
        fps=1 / step_s,
        is_vfr=False,
        rotation_deg=0,
        sample_aspect_ratio=1.0,
        start_s=0.0,
        n_frames=len(paths),
        width=1,
        height=1,
        display_width=1,
        display_height=1,
    )
