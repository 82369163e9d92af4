"""Watch a live source: match probabilities each second, and alerts where a match lasts."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import numpy as np

from vidsum.errors import InputError, Mention, UsageError, fill
from vidsum.evidence.match_probability import (
    PICTURE_KIND,
    QueryKind,
    embed_background,
    kind_of,
    prepare_queries,
)
from vidsum.evidence.running_match import RunningMatch
from vidsum.features import movinet
from vidsum.features.settings import Extraction
from vidsum.grounding.actions import LiveActions
from vidsum.grounding.scenes import look_cosine
from vidsum.grounding.settings import Watching
from vidsum.grounding.spaces import (
    ClassMixture,
    class_probabilities,
    describe_space,
    embed_queries,
    extraction_for,
    name_embeddings,
    resolve_space,
)
from vidsum.grounding.vse_map import load_map
from vidsum.io.atomic import make_folder, slug
from vidsum.io.provenance import label_of
from vidsum.io.urls import is_offline
from vidsum.models.scaling import unit_rows
from vidsum.options import from_keywords
from vidsum.pipelines.decoding import load_extractor
from vidsum.pipelines.keywords import WatchOptions
from vidsum.pipelines.queries import is_negated, query_warnings, read_queries
from vidsum.results.moments import negation_messages
from vidsum.types import FloatArray, Picture, TrackChoice
from vidsum.version import __version__
from vidsum.video.frames import Sampling
from vidsum.video.live import LiveFrame, LiveSource, parse_source, read_live
from vidsum.video.preroll import LiveClip, PreRoll

if TYPE_CHECKING:
    from vidsum.features.extractor import Extractor


@dataclass(frozen=True)
class Second:
    """Match probabilities of one second of a source."""

    time_s: float  # when it begins, from the source's first picture
    present: tuple[float, ...]  # how likely each query is true of it; pictures of `like` come last
    lag_s: float  # from the arrival of its last picture to this answer


@dataclass(frozen=True)
class Alert:
    """A match that has lasted long enough; reported when it begins and when it ends."""

    query: str
    start_s: float
    end_s: float | None  # none while it lasts
    present: float  # the highest probability so far
    clip: Path | None = None  # the MP4 of it, with pre-roll; complete once it is over


def watch(
    source: str,
    queries: Sequence[str] = (),
    *,
    clips: Path | None = None,
    device: str = "auto",
    video_track: TrackChoice = None,
    audio_track: TrackChoice = None,
    warn: Callable[[str], None] | None = None,
    **options: Unpack[WatchOptions],
) -> Generator[Second | Alert, None, None]:
    """Watch a source until it ends.

    Args:
        source: a file, a folder of segments, the URL of a stream, `camera`, or `-` for stdin.
        queries: what to look for.
        clips: a folder for an MP4 of each alert; made if needed.
        device: where the network runs.
        video_track, audio_track: number or language of the tracks; FFmpeg's choice by default.
        warn: called with messages about broken connections and unreadable segments.
        **options: fields of `vidsum.grounding.settings.Watching`.

    Yields:
        A `Second` for each second of pictures, and an `Alert` when one begins and when it ends.

    Raises InputError: there is no such source, or it cannot be read. UsageError: there is no query,
    or a setting is out of range. WeightsError: weights are missing and cannot be fetched.
    """
    settings = from_keywords(watch, Watching, options)
    name = resolve_space(settings.space)
    warn, texts = warn or (lambda message: None), tuple[str, ...]()
    if queries:
        texts = read_queries(queries).texts
        negated = [text for text in texts if is_negated(text, settings.language, name)]
        notes = query_warnings(texts, (), settings.language, name, is_probable=True)
        for message in (*notes, *negation_messages(negated)):
            warn(message)
    if not texts and not settings.like:
        raise UsageError(
            "nothing to watch for",
            hint=fill("{}, or {}", Mention("query", "a person falls"), Mention("like", "PICTURE")),
        )
    stream = parse_source(source, follow=settings.follow, idle_s=settings.idle_s)
    if is_offline() and not stream.works_offline:
        hint = "unset VIDSUM_OFFLINE, or watch a file, a camera, or http, tcp or udp at 127.0.0.1"
        raise InputError("VIDSUM_OFFLINE forbids connections", hint=hint, subject=stream.name)
    stream = replace(stream, video_track=video_track, audio_track=audio_track)
    extraction = Extraction(device=device)
    rows = [embed_queries(name, texts, settings.language)] if texts else []
    rows += [describe_space(name).encode_images(settings.like, device)] if settings.like else []
    kinds = [*map(kind_of, texts), *(PICTURE_KIND for _ in settings.like)]
    actions = LiveActions() if settings.actions and describe_space(name).is_mapped else None
    evidence = LiveEvidence(name, kinds, np.concatenate(rows), actions)
    extractor = load_extractor(extraction_for(name, extraction))
    if clips:
        make_folder(clips)
    label = label_of({"vidsum": __version__, "watch": stream.name})
    recorder = PreRoll(stream.name, settings.pre_roll_s, label) if clips else None
    alarms = [_Alarm(text, settings, recorder, clips) for text in (*texts, *settings.like)]
    return _iter_alerts(_seconds(stream, extractor, evidence, warn, recorder), alarms, recorder)


def _iter_alerts(
    seconds: Iterator[Second], alarms: Sequence[_Alarm], recorder: PreRoll | None
) -> Generator[Second | Alert, None, None]:
    try:
        for second in seconds:
            yield second
            for alarm, present in zip(alarms, second.present, strict=True):
                if alert := alarm.update(second.time_s, present):
                    yield alert
        for alarm in alarms:
            if alert := alarm.end(second.time_s + 1.0):
                yield alert
    finally:
        if recorder:
            recorder.close()


def _seconds(
    source: LiveSource,
    extractor: Extractor,
    evidence: LiveEvidence,
    warn: Callable[[str], None],
    recorder: PreRoll | None,
) -> Iterator[Second]:
    """Yield each second once its last picture has come; at the end, what there is."""
    samplings = [extractor.spec.sampling, *([movinet.SAMPLING] if evidence.actions else [])]
    for frames in _group_by_second(read_live(source, samplings, warn, recorder), samplings):
        if any(frame.sampling == 0 for frame in frames):  # after an interruption, a second may have none
            yield _second(frames, extractor, evidence)


def _group_by_second(frames: Iterator[LiveFrame], samplings: Sequence[Sampling]) -> Iterator[list[LiveFrame]]:
    """Yield the frames of each second as soon as there are all."""
    held, most = list[LiveFrame](), sum(round(sampling.fps or 0) for sampling in samplings)
    for frame in frames:
        if held and int(frame.time_s) > int(held[-1].time_s):
            yield held
            held = []
        held.append(frame)
        if len(held) == most:
            yield held
            held = []
    if held:
        yield held


def _second(frames: Sequence[LiveFrame], extractor: Extractor, evidence: LiveEvidence) -> Second:
    seen, moving = ([frame.image for frame in frames if frame.sampling == number] for number in (0, 1))
    features = extractor.encode(np.stack([extractor.spec.crop(image)[None] for image in seen]))
    has_classes = extractor.spec.class_names is not None
    present = evidence.present(features, extractor.logits(features) if has_classes else None, moving)
    lag_s = time.monotonic() - frames[-1].arrived_s
    return Second(float(int(frames[0].time_s)), tuple(map(float, present)), lag_s)


class LiveEvidence:
    """Match probabilities of queries, one second after another, in an image-text space."""

    def __init__(
        self,
        space: str,
        kinds: Sequence[QueryKind],
        queries: FloatArray,
        actions: LiveActions | None = None,
    ) -> None:
        """Queries [M, D] of length 1 with their kinds. Raises WeightsError."""
        self._map, self._names, self.actions = None, None, actions
        if describe_space(space).is_mapped:
            self._map, self._names = load_map(), name_embeddings()
        background = embed_background(space)
        of_actions = actions.names if actions else None
        prepared = prepare_queries(kinds, queries, background, self._names, of_actions)
        self._match = RunningMatch(prepared, background)
        self._min_cosine = look_cosine(space)
        self._last: FloatArray | None = None

    def present(
        self, features: FloatArray, logits: FloatArray | None, moving: Sequence[Picture] = ()
    ) -> FloatArray:
        """Return [M] how likely each query is of a second, by features [n, D] and class scores [n, K].

        A second that looks unlike the one before begins a shot. `moving` are its frames of
        `vidsum.features.movinet.SAMPLING`.
        """
        rows = self._map(features) if self._map else unit_rows(features)
        (row,) = unit_rows(rows.mean(axis=0, keepdims=True))
        objects = None
        if self._names is not None and logits is not None:
            objects = ClassMixture(class_probabilities(logits).mean(axis=0, keepdims=True), self._names)
        begins_shot = self._last is None or float(self._last @ row) < self._min_cosine
        self._last = row
        actions = self.actions.mix(moving, begins_shot=begins_shot) if self.actions else None
        return self._match.add(row, objects, actions, begins_shot=begins_shot)


class _Alarm:
    """State of one query: whether it has been likely for long enough, and its clip."""

    def __init__(self, query: str, settings: Watching, recorder: PreRoll | None, clips: Path | None) -> None:
        self._query, self._settings, self._recorder, self._clips = query, settings, recorder, clips
        self._since_s: float | None = None  # since when it has been likely or, during an alert, unlikely
        self._alert: Alert | None = None
        self._clip: LiveClip | None = None

    def update(self, time_s: float, present: float) -> Alert | None:
        """Return the alert that begins or ends with a second, if one does."""
        if self._alert and present > self._alert.present:
            self._alert = replace(self._alert, present=present)
        if (present >= self._settings.min_present) == (self._alert is not None):
            self._since_s = None
            return None
        if self._since_s is None:
            self._since_s = time_s
        if time_s + 1.0 - self._since_s < self._settings.for_s:
            return None
        changed_s, self._since_s = self._since_s, None
        return self._begin(changed_s, present) if self._alert is None else self.end(changed_s)

    def end(self, end_s: float) -> Alert | None:
        """Return the alert, over at a time, if there is one; its clip goes on for as long as the pre-roll."""
        if self._alert is None:
            return None
        alert, self._alert = replace(self._alert, end_s=end_s), None
        if self._clip:
            self._clip.until_s = end_s + self._settings.pre_roll_s
        return alert

    def _begin(self, start_s: float, present: float) -> Alert:
        path = None
        if self._recorder and self._clips:
            names = clip_names(self._query, start_s)
            path = next(path for path in map(self._clips.joinpath, names) if self._recorder.is_free(path))
            self._clip = self._recorder.start(path, start_s - self._settings.pre_roll_s)
        self._alert = Alert(self._query, start_s, None, present, path)
        return self._alert


def clip_names(query: str, start_s: float) -> Iterator[str]:
    """`a-dog_0h01m05s.mp4`, then the same with a number, for where that is taken."""
    minutes, seconds = divmod(int(start_s), 60)
    name = f"{slug(Path(query).stem)}_{minutes // 60}h{minutes % 60:02}m{seconds:02}s"
    return chain([f"{name}.mp4"], (f"{name}-{number}.mp4" for number in count(2)))
