"""Scripts of simulated videos: what is shown when, and what is true when; as annotated, or joined events."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from vidsum.lab.datasets.captioned import shots_of_captions
from vidsum.lab.datasets.timed_sentences import CLIP_S
from vidsum.lab.training.embedded_sentences import Captions, content_words
from vidsum.types import FloatArray, Interval, join_near

NOTHING = -1
"""Number of the text of an outlier: a segment that looks unlike everything, as a title card or black does."""

_SEGMENT_S, _SHORTEST_S = (2.0, 20.0), 12.0
"""Shortest and longest segment of a joined video, and the shortest joined video."""
_EDITED, _EDITED_S, _EDITED_LENGTH = 0.5, (2.0, 9.0), 2 / 3
"""Fraction of the joined videos that are long with short segments: theirs, and their least length."""
_AGAIN, _OUTLIERS = 0.1, 0.02
"""Fractions of a joined video's segments that come again, in other shots, and that are outliers."""
_SHOT_S = (2.0, 20.0)  # shortest and longest shot; a shorter segment has one shot
_DESCRIBED = 0.5
"""Fraction of the annotated videos, and of the events, that have captions of clips, if any have."""
_END_CARD, _END_CARD_S = 0.15, (2.0, 8.0)
"""Fraction of the annotated videos that end with an outlier, and its length."""
_SHORT, _REPHRASED = 0.25, 0.25
"""Fractions of the queries that are shortened, and that are another sentence of the same event, if any."""


class ScriptSegment(NamedTuple):
    """A text that is shown from start_s to end_s."""

    sentence: int  # its number in `Captions.texts`, or `NOTHING`
    start_s: float
    end_s: float
    shot: int | None = None  # a network errs alike in the segments of one shot; None: a shot of its own

    @property
    def window(self) -> Interval:
        return self.start_s, self.end_s


class Script(NamedTuple):
    """Segments of a video, and the times when sentences are true."""

    name: str
    duration_s: float
    segments: tuple[ScriptSegment, ...]
    saliency: Mapping[int, FloatArray] = MappingProxyType({})
    """Sentence -> the annotators' scores [C, U] of it where there are any, see `Query.saliency`."""
    moments: tuple[ScriptSegment, ...] | None = None  # when each sentence is true; None: when it is shown

    @property
    def true(self) -> tuple[ScriptSegment, ...]:
        return self.segments if self.moments is None else self.moments


@dataclass(frozen=True)
class ScriptQuery:
    sentence: int  # number of the sentence that it asks for
    query: int  # its number in `Captions.queries`
    moments: tuple[Interval, ...]  # when it is true, in order and apart from each other


def annotated_script(captions: Captions, rng: np.random.Generator) -> Script:
    """Any video as it is annotated, cut into shots; now and then with an outlier at its end."""
    is_described = len(captions.described) and rng.random() < _DESCRIBED
    if is_described:
        number = int(captions.video_of[rng.choice(captions.described)])
    else:
        number = int(rng.integers(len(captions.videos)))
    script = script_of(captions, number)
    script = script._replace(segments=tuple(_cut(script.segments, rng)), moments=script.true)
    if rng.random() >= _END_CARD:
        return script
    end_s = script.duration_s + _draw_length(rng, *_END_CARD_S)
    card = ScriptSegment(NOTHING, script.duration_s, end_s)
    return script._replace(duration_s=end_s, segments=(*script.segments, card))


def script_of(captions: Captions, number: int) -> Script:
    video, first = captions.videos[number], int(captions.first[number])
    moments = tuple(
        ScriptSegment(first + number, *window)
        for number, query in enumerate(video.queries)
        for window in query.windows
    )
    scores = {first + number: query.saliency for number, query in enumerate(video.queries)}
    scored = {sentence: saliency for sentence, saliency in scores.items() if saliency is not None}
    segments, duration_s = moments, video.duration_s
    if clips := captions.clips.get(video.name):
        segments = tuple(_clips(captions, clips, 0.0, duration_s, 0))
    return Script(video.name, duration_s, segments, MappingProxyType(scored), moments)


def joined_script(captions: Captions, longest_s: float, rng: np.random.Generator) -> Script:
    """Events of any videos, one after the other: few that last, or many short ones."""
    low_s, high_s = min(_SHORTEST_S, longest_s / 2), longest_s
    lengths = _SEGMENT_S
    if rng.random() < _EDITED:
        low_s, lengths = _EDITED_LENGTH * longest_s, _EDITED_S
    duration_s = _draw_length(rng, low_s, high_s)
    segments: list[ScriptSegment] = []
    moments: list[ScriptSegment] = []
    start_s, shot = 0.0, 0
    while start_s < duration_s:
        end_s = min(duration_s, start_s + _draw_length(rng, *lengths))
        if rng.random() < _OUTLIERS:
            event = [ScriptSegment(NOTHING, start_s, end_s, shot)]
        else:
            again = bool(moments) and rng.random() < _AGAIN
            if again:
                sentence = moments[int(rng.integers(len(moments)))].sentence
            elif len(captions.described) and rng.random() < _DESCRIBED:
                sentence = int(rng.choice(captions.described))
            else:
                sentence = int(rng.integers(captions.n_sentences))
            event = _event(captions, sentence, start_s, end_s, shot, rng)
            moments.append(ScriptSegment(sentence, start_s, event[-1].end_s))
        segments += event
        start_s, shot = event[-1].end_s, 1 + max(segment.shot or 0 for segment in event)
    return Script("joined", duration_s, tuple(segments), moments=tuple(moments))


def fill_gaps(script: Script, captions: Captions, rng: np.random.Generator) -> Script:
    others: list[ScriptSegment] = []
    end_s = 0.0
    for start, end in sorted([*(s.window for s in script.segments), (script.duration_s, script.duration_s)]):
        if start - end_s >= _SEGMENT_S[0]:
            others += _fill(captions, end_s, start, rng)
        end_s = max(end_s, end)
    return script._replace(segments=(*script.segments, *others), moments=script.true)


def draw_query(script: Script, captions: Captions, sentence: int, rng: np.random.Generator) -> ScriptQuery:
    """Return a query for a sentence: changed, shortened (true where its words are shown), or a synonym."""
    n_sentences, form = captions.n_sentences, rng.random()
    moments = [segment.window for segment in script.true if segment.sentence == sentence]
    query = sentence
    if form < _SHORT:
        query = n_sentences + sentence
        words = set(content_words(captions.query_texts[query]))
        texts = {segment.sentence for segment in script.segments if segment.sentence != NOTHING}
        fit = {text for text in texts if words and words.issubset(content_words(captions.texts[text]))}
        moments += [segment.window for segment in script.segments if segment.sentence in fit]
    elif form < _SHORT + _REPHRASED and sentence in captions.same_event:
        query = int(rng.choice(captions.same_event[sentence]))
    return ScriptQuery(sentence, query, tuple(join_near(sorted(moments))))


def _event(
    captions: Captions, sentence: int, start_s: float, stop_s: float, shot: int, rng: np.random.Generator
) -> list[ScriptSegment]:
    """Return segments that show a sentence or a part of its video until `stop_s`; shots from `shot`."""
    number = int(captions.video_of[sentence])
    video = captions.videos[number]
    clips = captions.clips.get(video.name)
    if not clips:
        return list(_cut([ScriptSegment(sentence, start_s, stop_s)], rng, shot))
    windows = video.queries[sentence - int(captions.first[number])].windows
    first_s, last_s = windows[int(rng.integers(len(windows)))]
    first = int(first_s / CLIP_S)
    window_clips = clips[first : max(int(last_s / CLIP_S), first + 1)] or clips[-1:]
    n_clips = min(len(window_clips), max(1, round((stop_s - start_s) / CLIP_S)))
    place = int(rng.integers(len(window_clips) - n_clips + 1))
    stop_s = min(stop_s, start_s + n_clips * CLIP_S)
    return _clips(captions, window_clips[place : place + n_clips], start_s, stop_s, shot)


def _clips(captions: Captions, clips: range, start_s: float, stop_s: float, shot: int) -> list[ScriptSegment]:
    """Captions of clips, one after the other; the last one lasts to the end."""
    shots = shot + shots_of_captions(captions.vectors[clips.start : clips.stop])
    edges = [min(stop_s, start_s + CLIP_S * place) for place in range(len(clips))] + [stop_s]
    return [
        ScriptSegment(text, *edge, int(number))
        for text, edge, number in zip(clips, pairwise(edges), shots, strict=True)
        if edge[1] > edge[0]
    ]


def _cut(
    segments: Iterable[ScriptSegment], rng: np.random.Generator, shot: int = 0
) -> Iterator[ScriptSegment]:
    """Yield segments cut into shots, numbered from `shot`; segments that have a shot number keep it."""
    for segment in segments:
        if segment.shot is not None:
            yield segment
            continue
        start_s = segment.start_s
        while start_s < segment.end_s:
            end_s = min(segment.end_s, start_s + _draw_length(rng, *_SHOT_S))
            yield ScriptSegment(segment.sentence, start_s, end_s, shot)
            start_s, shot = end_s, shot + 1


def _fill(captions: Captions, start_s: float, stop_s: float, rng: np.random.Generator) -> list[ScriptSegment]:
    """Return segments of any sentences, one after the other, from one time to another."""
    segments: list[ScriptSegment] = []
    while start_s < stop_s:
        end_s = min(stop_s, start_s + _draw_length(rng, *_SEGMENT_S))
        segments.append(ScriptSegment(int(rng.integers(captions.n_sentences)), start_s, end_s))
        start_s = end_s
    return segments


def _draw_length(rng: np.random.Generator, low: float, high: float) -> float:
    """Return a draw whose logarithm is uniform."""
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))
