"""Cut a video into titled chapters: plan, then run."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from vidsum import checkpoints
from vidsum.description.passage_titles import title_passages
from vidsum.description.writers import write_words
from vidsum.errors import InputError, UsageError
from vidsum.evidence.protocol import ENCODER
from vidsum.features.settings import Extraction
from vidsum.grounding.languages import encode_in
from vidsum.grounding.spaces import extraction_for
from vidsum.grounding.text_encoders import load_text_encoder
from vidsum.grounding.vse_map import NAME as MAP
from vidsum.io.provenance import digest_of
from vidsum.models.scaling import unit_rows
from vidsum.options import all_from_keywords, without_defaults
from vidsum.pipelines.describe import MIN_SURE
from vidsum.pipelines.keywords import ChapterOptions
from vidsum.pipelines.plan import Input, Plan, open_video_input, report_step
from vidsum.pipelines.read_text import find_screen_text
from vidsum.pipelines.segment_features import see_segments, segment_means
from vidsum.pipelines.sources import Video, VideoPath, has_pictures
from vidsum.pipelines.speech_evidence import plan_speech
from vidsum.pipelines.transcribe import describe_doubtful
from vidsum.results.descriptions import Descriptions
from vidsum.results.features import Features
from vidsum.results.load import load_text_for
from vidsum.results.moments import shorten
from vidsum.results.screen_text import ScreenText
from vidsum.results.sentences import SpokenSentence, cuts_inside_phrases, describe_cuts
from vidsum.results.shots import MIN_CHAPTER_S, MIN_CHAPTERS, Chapter, Chapters
from vidsum.results.transcript import Transcript
from vidsum.shots.segmentation import find
from vidsum.shots.settings import ChapterSettings
from vidsum.shots.slide_times import find_slides
from vidsum.shots.topics import cut_topics
from vidsum.summary.slide_importance import find_first_starts, slides_of_talk
from vidsum.types import FloatArray, Interval, Progress, TimeArray
from vidsum.video.probe import start_offset_s

PRICES = {"speech": 0.24, "picture": 0.2}
"""Price of a chapter over the root of the number of rows: docs/benchmarks.md says what it was chosen on."""
_MIN_SPOKEN = 0.2  # fraction of a video with speech from which its chapters are made of it
_MIN_READ, _MIN_LETTERS, _MIN_STEADY_S = 0.9, 4, 5.0
"""Confidence, letters and time on the screen of a line that may become a title: subtitles stay for less."""
_AS_TALL = 0.8  # of the tallest line: a line as tall may be the heading
_BULLETS = "•‣▪◦· "  # ahead of a line that becomes a title
_MAX_TITLE = 60  # letters of a sentence that becomes a title
_MOST_SLIDES = 20  # of the same length, of which each is a chapter; topics join those of a longer talk
_NEAR_S = 5.0  # from a new slide to the sentence or shot with which its chapter begins
_ROW_S = 10.0  # seconds of a shot that count as one row


def find_chapters(
    path: VideoPath | Video, *, progress: Progress | None = None, **options: Unpack[ChapterOptions]
) -> Chapters:
    """Cut a video into titled chapters, by what is said or seen.

    Args:
        path: a video file, of any length.
        progress: called as progress(what, done, total) while it runs; a total of 0 is unknown.
        **options: fields of `vidsum.shots.settings.ChapterSettings`, such as `count=8`, and of
            `vidsum.features.settings.Extraction`.

    Returns chapters as YouTube accepts them: from 0, three at least, of 10 s at least. Raises InputError: the
    video cannot be read, is too short, or nothing in it changes. WeightsError: weights are missing and cannot
    be fetched. UsageError: a setting is out of range.
    """
    settings, extraction = all_from_keywords(find_chapters, (ChapterSettings, Extraction), options)
    return plan_chapters(path, settings, extraction).run(progress)


def plan_chapters(
    source: VideoPath | Video, settings: ChapterSettings, extraction: Extraction, record: Path | None = None
) -> Plan[Chapters]:
    """Plan `find_chapters`: the video is probed and hashed, not decoded. Errors are the same.

    Sentences by a vision-language model in the folder of `record` become titles of what is seen.
    """
    if isinstance(source, Features) or not has_pictures(source):
        raise UsageError("chapters are of a video, not of features", hint="give the video")
    video_input = open_video_input(source, extraction_for(MAP, extraction))
    video = video_input.video
    assert video is not None
    least_s = (settings.count or MIN_CHAPTERS) * MIN_CHAPTER_S
    if video.duration_s < least_s:
        fault = f"is {video.duration_s:.0f} s long, too short for chapters"
        needs = f"{settings.count or MIN_CHAPTERS} of {MIN_CHAPTER_S:g} s need {least_s:g} s"
        raise InputError(f"{fault}: {needs}", subject=video.path)
    facts = {**without_defaults(settings), "prices": PRICES, "map_sha256": checkpoints.sha256_of(MAP)}
    provenance = {**video_input.provenance, "chapters": facts}
    on_screen = find_screen_text(video_input)
    if on_screen is not None:
        facts["screen_text"] = bool(on_screen.lines)
    described = load_text_for(record, video, Descriptions) if record else None
    if described is not None and described.is_by_vlm:
        facts["descriptions"] = {"writer": described.writer, "digest": digest_of(described.to_dict())}
    else:
        described = None
    speech = plan_speech(video, extraction, settings.evidence)
    if speech is not None:
        facts["text_weights_sha256"] = checkpoints.sha256_of(ENCODER)
        provenance["speech"] = speech.provenance["speech"]
    return Plan(provenance, _Work(settings, video_input, speech, on_screen, provenance, described).make)


@dataclass(frozen=True, eq=False)
class _Work:
    settings: ChapterSettings
    video_input: Input
    speech: Plan[Transcript] | None
    on_screen: ScreenText | None
    provenance: dict[str, Any]
    described: Descriptions | None = None  # by a vision-language model

    def make(self, progress: Progress | None) -> Chapters:
        transcript = self.speech.run(progress) if self.speech else None
        (features,), pictures = self.video_input.read(progress)
        edges_s = find(features, pictures=pictures).edges_s
        slides = slides_of_talk(find_slides(pictures.changes if pictures else None), features.duration_s)
        report_step(progress, "finding chapters")
        evidence, titled = "speech", None
        if transcript:
            titled = self.by_speech(transcript, features, edges_s, slides)
        if titled is None and self.settings.evidence != "speech":
            evidence, titled = "picture", self.by_picture(features, edges_s, slides)
        if titled is None:
            assert features.video is not None
            raise InputError(self.fault(evidence), subject=features.video.path)
        starts_s, titles = titled
        spans = pairwise([*starts_s, features.duration_s])
        chapters = [Chapter(*span, text) for span, text in zip(spans, _number_alike(titles), strict=True)]
        spoken = tuple[str, ...]()
        if transcript and evidence == "speech":
            cuts_s = cuts_inside_phrases(transcript.spoken, starts_s[1:])
            spoken = (*transcript.warnings, *describe_cuts(cuts_s, start_offset_s(features.video)))
        elif transcript:
            spoken = describe_doubtful(transcript)  # which may be why little is said
        return Chapters(
            tuple(chapters),
            evidence,
            features.duration_s,
            len(slides),
            video=features.video,
            provenance=self.provenance,
            warnings=tuple(dict.fromkeys([*features.warnings, *spoken])),
        )

    def fault(self, evidence: str) -> str:
        """Return why there are no chapters."""
        wanted = f"{self.settings.count or MIN_CHAPTERS} chapters of {MIN_CHAPTER_S:g} s"
        if evidence == "speech":
            return f"too little is said for {wanted}"
        return f"has too few shots for {wanted}" + (", and little is said" if self.speech else "")

    def cut(
        self,
        rows: FloatArray,
        starts_s: TimeArray,
        end_s: float,
        evidence: str,
        weights: TimeArray,
        slides_s: Sequence[float],
    ) -> list[int] | None:
        """Return the first row of each chapter; a longer video has more chapters, and longer ones.

        A chapter that begins with a slide, of those that begin at `slides_s`, costs no price.
        """
        count = self.settings.count
        prices = np.full(len(rows), PRICES[evidence] * math.sqrt(weights.sum()))
        prices[rows_of_slides(starts_s, slides_s)] = 0
        least, or_more = count or MIN_CHAPTERS, count is None
        return cut_topics(
            rows, starts_s, end_s, prices, weights=weights, min_s=MIN_CHAPTER_S, count=least, or_more=or_more
        )

    def by_speech(
        self, transcript: Transcript, features: Features, edges_s: TimeArray, slides: Sequence[Interval]
    ) -> tuple[list[float], list[str]] | None:
        """Return the starts of chapters by what is said, and the titles of their slides, where they can be
        read, else of what is said; None where too little is.
        """
        end_s = features.duration_s
        sentences = [part for part in transcript.trusted.sentences() if 0 <= part.start_s < end_s]
        spoken_s = sum(min(part.end_s, end_s) - part.start_s for part in sentences)
        if not sentences or (self.settings.evidence == "auto" and spoken_s < _MIN_SPOKEN * end_s):
            return None
        encode = load_text_encoder(ENCODER).encode
        embed = partial(encode_in, language=transcript.language or "auto", encode_english=encode)
        starts_s = snap_to_cuts(sentences, edges_s)
        rows = embed([part.text for part in sentences])
        slides_s = chapter_slides(features, slides)
        first = self.cut(rows, starts_s, end_s, "speech", np.ones(len(rows)), slides_s)
        if first is None:
            return None
        chapters_s = [0.0, *starts_s[first[1:]].tolist()]
        passages = [
            [part.certain_text for part in sentences[low:high] if part.certain_text]
            for low, high in pairwise([*first, len(sentences)])
        ]
        is_english = transcript.language in (None, "en")
        titles = iter(title_passages([texts for texts in passages if texts], embed, is_english=is_english))
        spans = pairwise([*chapters_s, end_s])
        spoken = [next(titles) if texts else "" for texts in passages]
        return chapters_s, [
            self.slide_title(*span, slides) or title or self.heading(*span) or f"Part {number}"
            for number, (title, span) in enumerate(zip(spoken, spans, strict=True), 1)
        ]

    def slide_title(self, start_s: float, end_s: float, slides: Sequence[Interval]) -> str:
        """Return the heading of the first slide in [start_s, end_s) that has one; empty without one."""
        inside = [(max(low, start_s), min(high, end_s)) for low, high in slides]
        return next(filter(None, (self.heading(*span) for span in inside)), "")

    def heading(self, start_s: float, end_s: float) -> str:
        """Return the uppermost of the tall lines that stay in [start_s, end_s); empty without one.

        Boxes of equal letters differ in height: a `g` or a bullet point makes them taller.
        """
        lines = self.on_screen.lines if self.on_screen else ()
        steady = [
            line
            for line in lines
            if line.confidence >= _MIN_READ
            and sum(map(str.isalpha, line.text)) >= _MIN_LETTERS
            and min(line.end_s, end_s) - max(line.start_s, start_s) >= _MIN_STEADY_S
        ]
        heights = [line.box[3] - line.box[1] for line in steady]
        tall = [(line.box[1], -height, line.text) for line, height in zip(steady, heights, strict=True)]
        tall = [part for part in tall if -part[1] >= _AS_TALL * max(heights)]
        return min(tall)[2].lstrip(_BULLETS) if tall else ""

    def describe(self, start_s: float, end_s: float) -> str:
        """Return the sentence of a vision-language model about the middle of a chapter; empty without one."""
        sentence = self.described.at((start_s + end_s) / 2) if self.described else None
        return shorten((sentence or "").rstrip("."), _MAX_TITLE)

    def by_picture(
        self, features: Features, edges_s: TimeArray, slides: Sequence[Interval]
    ) -> tuple[list[float], list[str]] | None:
        """Return the starts and titles of chapters by what is seen; None where there are too few shots."""
        shots = list(pairwise(edges_s.tolist()))
        rows, lengths = unit_rows(segment_means(features.array, features, shots)), np.diff(edges_s) / _ROW_S
        slides_s = chapter_slides(features, slides)
        first = self.cut(rows, edges_s[:-1], features.duration_s, "picture", lengths, slides_s)
        if first is None:
            return None
        spans = [(shots[low][0], shots[high - 1][1]) for low, high in pairwise([*first, len(shots)])]
        sentences = write_words(see_segments(features, spans, MAP, None), MAP, MIN_SURE["words"])
        titles = [
            self.slide_title(*span, slides)
            or self.heading(*span)
            or self.describe(*span)
            or sentence.text.rstrip(".")
            or f"Part {n}"
            for n, (span, sentence) in enumerate(zip(spans, sentences, strict=True), 1)
        ]
        return [0.0, *(start_s for start_s, _ in spans[1:])], titles


def snap_to_cuts(sentences: Sequence[SpokenSentence], edges_s: TimeArray) -> TimeArray:
    """Return [n] where a chapter that begins with a sentence does: at the last cut in the pause before it."""
    starts_s = np.array([sentence.start_s for sentence in sentences])
    pauses_s = np.append(0.0, [sentence.end_s for sentence in sentences[:-1]])
    at = np.searchsorted(edges_s, starts_s, side="right") - 1
    cuts_s = edges_s[np.maximum(at, 0)]
    return np.where((at >= 0) & (cuts_s >= pauses_s), cuts_s, starts_s)


def chapter_slides(features: Features, slides: Sequence[Interval]) -> list[float]:
    """Return when those slides of a talk are first on the screen that are long enough for a chapter."""
    starts_s = find_first_starts(features, slides)
    least_s = max(MIN_CHAPTER_S, features.duration_s / _MOST_SLIDES)
    return [low for low, high in pairwise([*starts_s, features.duration_s]) if high - low >= least_s]


def rows_of_slides(starts_s: TimeArray, slides_s: Sequence[float]) -> list[int]:
    """Return the row of `starts_s` [n] with which each slide begins, the nearest; none where none is near."""
    nearest = [int(np.abs(starts_s - slide_s).argmin()) for slide_s in slides_s]
    near = zip(nearest, slides_s, strict=True)
    return [row for row, slide_s in near if abs(starts_s[row] - slide_s) <= _NEAR_S]


def _number_alike(titles: Sequence[str]) -> list[str]:
    """Return titles of which no two are the same."""
    total, seen, numbered = Counter(titles), Counter[str](), []
    for title in titles:
        seen[title] += 1
        numbered.append(title if total[title] == 1 else f"{title} ({seen[title]})")
    return numbered
