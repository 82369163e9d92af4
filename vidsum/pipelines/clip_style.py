"""Clips for phones: upright pictures that follow what matters, and captions.

Segments are decoded twice, as a crop depends on what comes (docs/tasks/make-shorts.md).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from vidsum.crop.burned_captions import EVERY_S, has_captions
from vidsum.crop.faces import held_faces
from vidsum.crop.lettering import SHORT_SIDE, LetterWatch
from vidsum.crop.reframe import plan_path
from vidsum.crop.saliency import SIDE, Look, SaliencyModel, motion_curve
from vidsum.device import cached_model
from vidsum.features.settings import Extraction
from vidsum.pipelines.speech_evidence import cut_subtitles, plan_speech
from vidsum.pipelines.transcribe import describe_doubtful
from vidsum.results.cues import make_cues
from vidsum.results.transcript import Transcript
from vidsum.types import FloatArray, Interval, Picture, Progress, VideoInfo
from vidsum.video.changes import ChangeMeter
from vidsum.video.damage import DecodeLog
from vidsum.video.decode import DecodedFrame
from vidsum.video.frames import PictureMaker, ShortSide
from vidsum.video.framing import CropPath, Framing, Shape
from vidsum.video.open import open_video, video_stream
from vidsum.video.read import read_frames_at
from vidsum.video.segments import in_ticks, segment_frames
from vidsum.video.settings import Styling
from vidsum.video.style import ClipStyle, letters_in_line, missing_letters
from vidsum.video.timing import read_jumps

_MAX_SHARE = 0.97  # a crop of this share of the picture, or more, stays in the middle
_MOTION_S, _LOOK_S = 0.25, 1.0  # between pictures that are compared, and that the network sees
_EARLY_S = 1e-3
_CAPTIONS_S = 60.0  # of a clip in which captions are looked for
_NEAR_S = 0.5  # saliency at a time is the mean over this long on either side
_CUT, _CLEAR, _PREVIOUS = 12.0, 3.0, 8
"""A shot begins where the picture changes by at least `_CUT` levels, and `_CLEAR` times as much as any of the
last `_PREVIOUS` pictures."""
_MIN_SHOT_FRAMES = 3  # frames of a shot
_CROP_POSITIONS = 65  # positions of the crop that are compared
_HELD = 0.5  # weight of main faces that a crop shows whole, relative to the share of what matters
_MAX_MISSED = 0.2  # fraction of the pictures of a shot in which a crop may cut a main face; else all is shown
_CLOSE = (
    1 / 6
)  # height of a face over the picture's: a person from the waist up, who matters more than letters
_STILL = 1e-3  # most motion of a picture that stands still, such as a slide
_MIN_GAIN = 0.16  # least excess of the saliency in a crop over its area; else all is shown


class ClipStyler:
    """Styles of the clips of a video; what they share is computed once."""

    def __init__(
        self, video: VideoInfo, styling: Styling, extraction: Extraction, progress: Progress | None = None
    ) -> None:
        self.warnings: list[str] = []  # messages about what cannot be done
        self._video, self._styling, self._extraction, self._progress = video, styling, extraction, progress
        self._said = self._transcript() if styling.burn else None

    def of(self, segments: Sequence[Interval]) -> ClipStyle:
        """Return the look of a clip of these segments. Raises InputError, WeightsError: see `summarize`."""
        video, styling = self._video, self._styling
        framing = None
        if styling.vertical:
            wide, high = map(int, styling.aspect.split(":"))
            framing = choose_framing(
                video, segments, Fraction(wide, high), self._extraction.device, self._progress
            )
        look = ClipStyle(framing)
        return ClipStyle(framing, self._captions(segments, look)) if self._said else look

    def _transcript(self) -> Transcript | None:
        plan = plan_speech(self._video, self._extraction)
        if plan is None:
            self.warnings.append("has no sound: no captions are drawn")
            return None
        said = plan.run(self._progress)
        if not said.segments:
            self.warnings.append("has no speech: no captions are drawn")
        self.warnings += [*said.warnings, *describe_doubtful(said)]
        return said.as_captions

    def _captions(self, segments: Sequence[Interval], look: ClipStyle) -> list[tuple[float, float, str]]:
        assert self._said is not None
        size = look.size or (self._video.display_width, self._video.display_height)
        pieces = cut_subtitles(self._said, segments)
        cues = [(cue.start_s, cue.end_s, cue.text) for cue in make_cues(pieces, letters_in_line(*size))]
        if unknown := missing_letters(cues):
            self.warnings.append(
                f"captions: the font has no {unknown[:8]}; a file of subtitles has all letters"
            )
        return cues


def is_captioned(video: VideoInfo, span: Interval) -> bool:
    """Return whether the pictures of a span, the first minute of it, have captions. Raises InputError."""
    times_s = np.arange(span[0] + EVERY_S / 2, min(span[1], span[0] + _CAPTIONS_S), EVERY_S).tolist()
    return has_captions([frame.image for frame in read_frames_at(video, times_s, ShortSide(SHORT_SIDE))])


@dataclass(eq=False)
class _ShotEvidence:
    """Motion and saliency of the pictures of a shot."""

    start_s: float
    end_s: float
    moved: list[tuple[float, FloatArray]] = field(default_factory=list)  # (time, curve) of what moves
    looked: list[tuple[float, Look]] = field(default_factory=list)  # (time, look) of the networks
    letters: LetterWatch = field(default_factory=LetterWatch)  # of the pictures that the network saw

    def shot(self, share: float) -> CropPath:
        times_s = np.array([self.start_s, *(time_s for time_s, _ in self.moved)])
        looked = np.stack([look.curve for _, look in self.looked])
        seen_s = np.array([time_s for time_s, _ in self.looked])
        nearest = np.searchsorted((seen_s[1:] + seen_s[:-1]) / 2, times_s)
        still = np.zeros_like(looked[0])
        matters = looked[nearest] + np.stack([still, *(curve for _, curve in self.moved)])
        sums = np.cumsum(matters / matters.sum(axis=1, keepdims=True).clip(1e-9), axis=0)
        low = np.searchsorted(times_s, times_s - _NEAR_S)
        high = np.searchsorted(times_s, times_s + _NEAR_S, side="right")
        matters = np.diff(np.pad(sums, ((1, 0), (0, 0)))[[low, high]], axis=0)[0] / (high - low)[:, None]
        total = np.pad(np.cumsum(matters, axis=1), ((0, 0), (1, 0)))
        edges, starts = np.linspace(0, 1, total.shape[1]), np.linspace(0, 1 - share, _CROP_POSITIONS)
        scores = np.stack(
            [np.interp(starts + share, edges, row) - np.interp(starts, edges, row) for row in total]
        )
        held = np.stack([held_faces(look.faces, starts, share) for _, look in self.looked])
        places = plan_path(times_s, np.asarray(scores + _HELD * held[nearest], np.float32), share)
        gain = np.mean(
            [np.interp(place, starts / (1 - share), row) for place, row in zip(places, scores, strict=True)]
        )
        at = np.rint(np.interp(seen_s, times_s, places) * (_CROP_POSITIONS - 1)).astype(int)
        missed = np.mean(held[np.arange(len(held)), at] < 1)  # the one who speaks may be among them
        is_cropped = gain >= share + _MIN_GAIN and missed <= _MAX_MISSED and not self._must_be_whole()
        return CropPath(self.start_s, times_s, places if is_cropped else None)

    def _must_be_whole(self) -> bool:
        """Return whether a crop would cut captions, or a slide without a person who is close."""
        is_still = bool(self.moved) and max(float(curve.sum()) for _, curve in self.moved) < _STILL
        is_close = np.mean([look.face_height >= _CLOSE for _, look in self.looked]) >= 1 - _MAX_MISSED
        return self.letters.has_captions or (self.letters.has_screen(is_still=is_still) and not is_close)


_load_saliency_model = cached_model(maxsize=1)(SaliencyModel)


def choose_framing(
    video: VideoInfo,
    segments: Sequence[Interval],
    aspect: Fraction,
    device: str = "auto",
    progress: Progress | None = None,
) -> Framing:
    """Return where a crop of width / height `aspect` is in segments. Raises InputError, WeightsError."""
    shape = Shape.of(video, aspect)
    if shape.share >= _MAX_SHARE:
        return Framing(shape)
    looker = _load_saliency_model(device)
    return Framing(
        shape, [seen.shot(shape.share) for seen in _scan_shots(video, segments, shape, looker, progress)]
    )


def _scan_shots(
    video: VideoInfo,
    segments: Sequence[Interval],
    shape: Shape,
    looker: SaliencyModel,
    progress: Progress | None,
) -> Iterator[_ShotEvidence]:
    wide, high = video.display_width, video.display_height
    along, across = (high, wide) if shape.is_upright else (wide, high)
    length = max(SIDE, round(SIDE * along / across))
    small, large = _picture_maker(length // 2, SIDE // 2, shape), _picture_maker(length, SIDE, shape)
    segment, seen, meter, changes = -1, _ShotEvidence(0, 0), ChangeMeter(), list[float]()
    scale = SHORT_SIDE / min(wide, high)
    letters = PictureMaker(round(scale * wide), round(scale * high))
    before = np.zeros((0, 0), np.float32)
    with open_video(video.path) as container:
        stream = video_stream(container, video)
        ticks = in_ticks(segments, stream.time_base or Fraction(1))
        for frame in segment_frames(container, stream, ticks, read_jumps(video), DecodeLog()):
            time_s, change = frame.decoded.time_s, meter.add(frame.decoded.time_s, frame.decoded.frame)
            is_cut = len(changes) >= _MIN_SHOT_FRAMES and change >= max(
                _CUT, _CLEAR * max(changes[-_PREVIOUS:])
            )
            changes.append(change)
            if is_new := frame.segment != segment or is_cut:
                if seen.looked:
                    yield seen
                segment, seen, changes = frame.segment, _ShotEvidence(time_s, time_s), []
            if progress and is_new:
                progress("finding the crop", time_s - segments[0][0], segments[-1][1] - segments[0][0])
            if is_new or time_s >= seen.end_s + _MOTION_S - _EARLY_S:
                grey = small(frame.decoded).mean(axis=2, dtype=np.float32)
                if not is_new:
                    seen.moved.append((time_s, motion_curve(before, grey, len(seen.looked[0][1].curve))))
                before, seen.end_s = grey, time_s
            if is_new or time_s >= seen.looked[-1][0] + _LOOK_S - _EARLY_S:
                seen.looked.append((time_s, looker.look(large(frame.decoded), is_turned=shape.is_upright)))
                seen.letters.add(time_s, letters.from_frame(frame.decoded.frame, frame.decoded.turn_deg))
    if seen.looked:
        yield seen


def _picture_maker(length: int, across: int, shape: Shape) -> Callable[[DecodedFrame], Picture]:
    """Return a function that makes pictures [across, length, 3]; the crop moves along the second axis."""
    maker = PictureMaker(across, length) if shape.is_upright else PictureMaker(length, across)

    def made(decoded: DecodedFrame) -> Picture:
        picture = maker.from_frame(decoded.frame, decoded.turn_deg)
        return np.ascontiguousarray(picture.transpose(1, 0, 2)) if shape.is_upright else picture

    return made
