"""How often summaries without a transcript begin or end inside a word, or inside a sentence.

    python -m docs.benchmarks.cut_speech FOLDER

FOLDER has films of any length; NAME_words.json next to a film has its words, and is written if it is missing:
of Whisper base on the whole sound, without the voice detector that the summaries use. A word lasts half a
second at most, as Whisper counts a pause before a word as part of it. Sentences end at full stops, question
and exclamation marks, or before 2 s without a word. Edges at the beginning and end of a film do not count.

A time is loud if the sound within .04 s of it is less than 15.9 dB below the film's 95th percentile (the
margin of ITU-T P.56): of speech, or of anything else. "any time" is the share of the films' time. Brackets
hold 95 % of a bootstrap over films.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from docs.benchmarks import argument_parser
from docs.benchmarks.tables import bootstrap, print_table, with_interval
from vidsum import summarize
from vidsum.pipelines.sources import is_video
from vidsum.speech.recognize import load_recognizer
from vidsum.speech.silence import HOP_S, LevelMeter, Levels, loud_spans
from vidsum.speech.voice import RATE
from vidsum.types import Interval, TimeArray
from vidsum.video.damage import DecodeLog
from vidsum.video.listen import probe_sound, read_sound
from vidsum.video.probe import probe

_LONGEST_WORD_S, _PAUSE_S = 0.5, 2.0
_WORD_S, _SENTENCE_S = 0.03, 0.1  # an edge so near to the end of a word, or of a sentence, is there
_STOPS = tuple(".?!。？！")
_CLOSING = "\"'”’)"
_WAYS = {"before: speech is ignored (`--snap none`)": "none", "in pauses (the default)": "auto"}

_BLOCK_S, _NEAR_S, _LOUD, _MARGIN_DB = 30.0, 0.04, 95, 15.9

Word = tuple[float, float, str]  # (start_s, end_s, text)


def words_of(film: Path) -> list[Word]:
    """The words of a film, from the file next to it."""
    path = film.with_name(f"{film.stem}_words.json")
    if not path.exists():
        found = list[Word]()
        if probe(film).has_audio:
            segments, _ = load_recognizer().transcribe(
                str(film),
                beam_size=1,
                condition_on_previous_text=False,
                word_timestamps=True,
                vad_filter=False,
            )
            found = [(word.start, word.end, word.word) for part in segments for word in part.words or ()]
        path.write_text(json.dumps(found, ensure_ascii=False))
    return [
        (max(low, high - _LONGEST_WORD_S), high, text) for low, high, text in json.loads(path.read_text())
    ]


def sentences_of(words: Sequence[Word]) -> list[Interval]:
    """Where sentences begin and end."""
    sentences, first = list[Interval](), 0
    for number, (_, end_s, text) in enumerate(words, 1):
        is_last = number == len(words) or words[number][0] - end_s > _PAUSE_S
        if is_last or text.strip().rstrip(_CLOSING).endswith(_STOPS):
            sentences.append((words[first][0], end_s))
            first = number
    return sentences


def loud_spans_of(film: Path) -> list[Interval]:
    """Where a film is loud, in hundredths of a second; nowhere if it has no sound."""
    if not probe(film).has_audio:
        return []
    meter, near = LevelMeter(), round(2 * _NEAR_S / HOP_S) + 1
    for _ in meter.measure(read_sound(probe_sound(film), RATE, _BLOCK_S, DecodeLog())):
        pass
    power = np.convolve(10 ** (meter.levels.db / 10), np.ones(near) / near, "same")
    levels = Levels((10 * np.log10(power)).astype(np.float32))
    return loud_spans(levels, float(np.percentile(levels.db, _LOUD)) - _MARGIN_DB)


def inside(edges_s: Sequence[float], spans: Sequence[Interval], margin_s: float) -> int:
    """How many edges lie in spans less a margin."""
    return sum(any(low + margin_s < edge < high - margin_s for low, high in spans) for edge in edges_s)


def share(counts: TimeArray) -> TimeArray:
    """[D] per cent, of [D, N, 2] how many are inside and how many there are."""
    totals = counts.sum(axis=1)
    return np.asarray(100 * totals[:, 0] / np.maximum(totals[:, 1], 1e-9))


def rows(films: Sequence[Path]) -> Iterator[list[str]]:
    """The rows of the table."""
    said = [words_of(film) for film in films]
    spans = [
        ([(low, high) for low, high, _ in words], sentences_of(words), loud_spans_of(film))
        for film, words in zip(films, said, strict=True)
    ]
    times_s = [probe(film).duration_s for film in films]
    chance = [
        [(sum(high - low for low, high in part), time_s) for part in parts]
        for parts, time_s in zip(spans, times_s, strict=True)
    ]
    yield ["any time", "", *cells(chance), ""]
    for name, snap in _WAYS.items():
        counts, n_edges, lengths = list[list[tuple[float, float]]](), 0, list[float]()
        for film, (words, sentences, loud), time_s in zip(films, spans, times_s, strict=True):
            summary = summarize(film, snap=snap)
            if snap == "auto" and probe(film).has_audio and "voice" not in summary.provenance["summary"]:
                raise SystemExit(f"{film}: has a transcript or subtitles, or the extra `speech` is missing")
            segments = summary.segments
            edges_s = [edge for part in segments for edge in part if 0.04 < edge < time_s - 0.04]
            n_edges += len(edges_s)
            lengths += [end_s - start_s for start_s, end_s in segments]
            found = (
                inside(edges_s, words, _WORD_S),
                inside(edges_s, sentences, _SENTENCE_S),
                inside(edges_s, loud, 0.0),
            )
            counts.append([(count, len(edges_s)) for count in found])
        yield [name, str(n_edges), *cells(counts), f"{np.mean(lengths):.1f}"]


def cells(counts: Sequence[Sequence[tuple[float, float]]]) -> Iterator[str]:
    """Per cent with their intervals, of counts [N films, K kinds, 2]."""
    for kind in np.moveaxis(np.array(counts, np.float64), 1, 0):
        yield with_interval(float(share(kind[None])[0]), bootstrap(kind, share), 0)


def main() -> None:
    """Print the table."""
    parser = argument_parser(__doc__, "folder", small="shared/videos")
    folder = parser.parse_args().folder
    films = [path for path in sorted(folder.iterdir()) if is_video(path)]
    print_table(
        ["cuts", "edges", "in a word, %", "in a sentence, %", "loud, %", "mean length, s"], rows(films)
    )


if __name__ == "__main__":
    main()
