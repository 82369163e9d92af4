"""What is said or described in the videos of an archive: where it comes from, and the moments that it finds.

A transcript comes from the cache, or is made; descriptions from the file that `vidsum describe` wrote.
"""

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final, Literal

from vidsum.archive.packed import pack_rows, read_records, row_type, rows_of
from vidsum.archive.search import Found
from vidsum.archive.store import Database
from vidsum.errors import InputError
from vidsum.features.settings import Extraction
from vidsum.grounding.speech import (
    ENCODER,
    Passage,
    iter_passages,
    score_passages,
    speech_moments,
    split_sentences,
)
from vidsum.grounding.text import load_text_encoder
from vidsum.io.text import parse_json, read_bytes
from vidsum.outputs import stems_of
from vidsum.pipelines.sources import probe_video
from vidsum.pipelines.speech import cached_transcript, plan_transcript, to_english
from vidsum.results.descriptions import Descriptions
from vidsum.results.load import find_fault, kind_of
from vidsum.results.transcript import Transcript
from vidsum.speech.settings import Transcription
from vidsum.types import FloatArray, Progress

Why = Literal["said", "described"]

TABLES: Final[dict[Why, tuple[str, str]]] = {
    "said": ("sentences", "spoken"),
    "described": ("descriptions", "described"),
}
"""The table of texts, and the column of `videos` with the records of their meanings."""
_VIDEOS = 100
"""Videos that are looked at closely: the likeliest by meaning, and as many by exact words."""


@dataclass(frozen=True)
class Texts:
    """What is said or described in a video."""

    sentences: Sequence[Passage]
    rows: bytes
    """Records of the passages of a transcript, or of the sentences of descriptions."""
    made_from: str = ""
    """SHA-256 of the file of descriptions."""


def hear(video: str, extraction: Extraction, progress: Progress | None, *, transcribe: bool) -> Texts | None:
    """What is said, in English; None where that is not known, and is not to be found out."""
    try:
        plan = plan_transcript(video, Transcription(), extraction, probe_video(video, extraction))
    except InputError:  # no sound
        return Texts((), b"") if transcribe else None
    if transcribe:
        english: Transcript | None = to_english(plan.run(progress), video, extraction, progress)
    else:
        english = cached_transcript(video, extraction, plan.provenance["video"], english=True)
    if english is None:
        return None
    return _texts(split_sentences(english), "said", extraction)


def _texts(sentences: Sequence[Passage], why: Why, extraction: Extraction, made_from: str = "") -> Texts:
    texts = [passage.text for passage in passages_in(sentences, why)]
    rows = pack_rows(load_text_encoder(ENCODER, extraction.device).encode(texts)) if texts else None
    return Texts(sentences, b"" if rows is None else rows.tobytes(), made_from)


def descriptions_beside(video: str) -> bytes:
    """What `vidsum describe` wrote, beside a video or into the current folder; empty where it did not."""
    for stem in reversed(stems_of(video)):
        for folder in (Path(video).parent, Path()):
            with suppress(OSError, InputError):
                return read_bytes(folder / f"{stem}_descriptions.json")
    return b""


def describe(
    source: tuple[str, str], content: bytes, known: str | None, extraction: Extraction
) -> tuple[Texts | None, tuple[str, ...]]:
    """Return the sentences of a file of descriptions, and warnings.

    None where there are none, they are of another video than the `source` (its path and SHA-256), or those
    of the digest `known`.
    """
    digest = sha256(content).hexdigest()
    if not content or digest == known:
        return None, ()
    try:
        document = parse_json(content.decode(), "they")
        fault = "not made by vidsum" if not isinstance(document, dict) else find_fault(document)
        if fault is None and kind_of(document) != Descriptions.kind:
            fault = "not descriptions"
        if fault is None and document["provenance"]["video"]["sha256"] != source[1]:
            fault = "of another video"
    except (InputError, UnicodeDecodeError, KeyError, TypeError) as error:
        fault = " ".join(str(error).split())
    if fault is not None:
        return None, (f"{source[0]}: its descriptions are not used ({fault})",)
    found = Descriptions.from_dict(document).descriptions
    sentences = [Passage(one.start_s, one.end_s, one.text, certain=one.confidence) for one in found]
    return _texts(sentences, "described", extraction, digest), ()


def set_texts(connection: Database, video: int, texts: Texts) -> None:
    """Write what is said or described, in place of what was."""
    table, column = TABLES["described" if texts.made_from else "said"]
    facts = {column: texts.rows, **({"described_by": texts.made_from} if texts.made_from else {})}
    connection.execute(f"DELETE FROM {table} WHERE video = ?", (video,))
    columns = "text, video, start_s, end_s, certain"
    for one in texts.sentences:
        row = (one.text, video, one.start_s, one.end_s, one.certain)
        connection.execute(f"INSERT INTO {table} ({columns}) VALUES (?, ?, ?, ?, ?)", row)
    values = ", ".join(f"{name} = ?" for name in facts)
    connection.execute(f"UPDATE videos SET {values} WHERE id = ?", (*facts.values(), video))


def kinds_in(connection: Database, space: int) -> list[Why]:
    """Return which kinds of texts the videos of an archive have."""
    query = "SELECT 1 FROM videos WHERE space = ? AND length({}) > 0 LIMIT 1"
    return [why for why in TABLES if connection.execute(query.format(TABLES[why][1]), (space,)).fetchone()]


def found_in(
    connection: Database,
    space: int,
    why: Why,
    query: tuple[str, FloatArray],
    videos: set[int],
    per_video: int,
) -> list[Found]:
    """Return the moments of some videos in which a text with its vector [D] is said or described, surest
    first.
    """
    (text, vector), (table, column) = query, TABLES[why]
    cosines = dict[int, FloatArray]()
    rows = f"SELECT id, {column} FROM videos WHERE space = ? AND length({column}) > 0"
    for video, content in connection.stream(rows, (space,)):
        if video in videos:
            cosines[video] = rows_of(read_records(content, row_type(len(vector)))) @ vector
    by_meaning = sorted(cosines, key=lambda video: -float(cosines[video].max()))[:_VIDEOS]
    with_words = dict.fromkeys(video for (video,) in connection.with_words(table, re.findall(r"\w+", text)))
    by_words = [video for video in with_words if video in cosines][:_VIDEOS]
    found = list[Found]()
    of_video = f"SELECT start_s, end_s, text, certain FROM {table} WHERE video = ? ORDER BY start_s, end_s"
    for video in dict.fromkeys([*by_meaning, *by_words]):
        lines = connection.execute(of_video, (video,))
        sentences = [Passage(start_s, end_s, line, certain=sure) for start_s, end_s, line, sure in lines]
        passages = passages_in(sentences, why)
        (evidence,) = score_passages(passages, [text], meanings=cosines[video][None])
        for moment in speech_moments(passages, evidence, per_video):
            words = (each for each in sentences if Passage(moment.start_s, moment.end_s, "").holds(each))
            content = " ".join(each.text for each in words)
            found.append(Found(video, moment.start_s, moment.end_s, moment.score, None, why, content))
    return sorted(found, key=lambda one: -one.present)


def passages_in(sentences: Sequence[Passage], why: Why) -> list[Passage]:
    """What is compared with a query: a run of spoken sentences, a description alone."""
    return [*iter_passages(sentences)] if why == "said" else [*sentences]
