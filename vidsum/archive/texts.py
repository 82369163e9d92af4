"""Transcripts, text on the screen, descriptions and sounds of an archive's videos, and their search."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np

from vidsum.archive.packed import Records, pack_rows, read_edges, read_records, row_type, unpack_rows
from vidsum.archive.rows import MAX_VIDEO_S, damaged, list_texts, read_rows, stream_rows
from vidsum.archive.search import Hit
from vidsum.archive.settings import EVIDENCE, ArchiveEvidence, SearchOptions
from vidsum.archive.store import Database
from vidsum.errors import InputError
from vidsum.evidence.audible import MIN_SCORE, join_sounds, match_classes, read_names
from vidsum.evidence.spoken import (
    ENCODER,
    Passage,
    iter_passages,
    score_passages,
    speech_moments,
    split_sentences,
)
from vidsum.evidence.written import find_written
from vidsum.features.settings import Extraction
from vidsum.features.yamnet import STEP_S
from vidsum.grounding.text_encoders import load_text_encoder
from vidsum.io.outputs import stems_of
from vidsum.io.provenance import hash_file
from vidsum.pipelines.embedding import open_in_space
from vidsum.pipelines.read_text import find_screen_text, plan_input_text
from vidsum.pipelines.sounds import plan_sounds
from vidsum.pipelines.sources import probe_video
from vidsum.pipelines.transcribe import describe_doubtful, find_transcript, plan_transcript, to_english
from vidsum.results.descriptions import Descriptions
from vidsum.results.load import load
from vidsum.results.screen_text import ScreenLine, ScreenText
from vidsum.results.transcript import Transcript
from vidsum.speech.settings import Transcription
from vidsum.types import BoolArray, FloatArray, Progress
from vidsum.video.probe import start_offset_s

_N_CANDIDATES = 100  # videos searched exactly: the likeliest by meaning, and as many by exact words

RUN: Final = np.dtype([("class", "<u2"), ("first", "<u4"), ("after", "<u4"), ("score", "<f2")])
"""A run of windows [first, after), `STEP_S` apart, in which a class scores `MIN_SCORE` or more; its best. The
runs hold all of the scores that `ground` uses, so a search finds the same moments."""


@dataclass(frozen=True)
class Evidence:
    """The transcript, the text on the screen, the descriptions or the sounds of a video, to store."""

    kind: ArchiveEvidence
    rows: bytes = b""  # records of spoken passages, single lines or descriptions, or runs of a sound
    sentences: Sequence[Passage] = ()
    described_by: str | None = None  # SHA-256 of the file of descriptions
    model: str | None = None  # the vision-language model that wrote them
    warnings: tuple[str, ...] = ()


def read_speech(
    video: str, extraction: Extraction, progress: Progress | None, *, transcribe: bool
) -> Evidence | None:
    """Return the transcript in English, empty without sound; None: there is none and `transcribe` is off."""
    info = probe_video(video, extraction)
    try:
        plan = plan_transcript(video, Transcription(), extraction, info)
    except InputError:  # no sound
        return Evidence("speech") if transcribe or not info.has_audio else None
    if transcribe:
        english: Transcript | None = to_english(plan.run(progress), video, extraction, progress)
    else:
        english = find_transcript(plan.provenance["video"], extraction, start_offset_s(info), english=True)
    if english is None:
        return None
    made = _embed_texts(split_sentences(english), "speech")
    return replace(made, warnings=tuple(f"{video}: {note}" for note in describe_doubtful(english)))


def read_screen(
    space: str, video: str, extraction: Extraction, progress: Progress | None, *, read: bool
) -> Evidence | None:
    """Return the text on the screen; None if it is not in the cache and `read` is off.

    It is read in the pass that makes the features of the space. Raises PackageError: no extra `ocr`.
    """
    video_input = open_in_space(space, video, extraction)
    text = plan_input_text(video_input).run(progress) if read else find_screen_text(video_input)
    if text is None:
        return None
    lines = [Passage(line.start_s, line.end_s, line.text, certain=line.confidence) for line in text.lines]
    return _embed_texts(lines, "text")


def read_sounds(
    space: str, video: str, extraction: Extraction, progress: Progress | None, *, listen: bool
) -> Evidence | None:
    """Return the sounds of a video, none without sound; None: not in the cache, and `listen` is off."""
    video_input = open_in_space(space, video, extraction)
    if video_input.video and not video_input.video.has_audio:
        return Evidence("sound")
    try:
        plan = plan_sounds(video_input, only_cached=not listen)
    except InputError:  # sound that cannot be decoded
        return Evidence("sound") if listen else None
    if plan is None:
        return None
    sounds = plan.run(progress)
    return Evidence("sound", pack_sounds(sounds.scores).tobytes(), warnings=sounds.warnings)


def _embed_texts(sentences: Sequence[Passage], kind: ArchiveEvidence) -> Evidence:
    texts = [passage.text for passage in split_passages(sentences, kind)]
    rows = pack_rows(load_text_encoder(ENCODER).encode(texts)) if texts else None
    return Evidence(kind, b"" if rows is None else rows.tobytes(), sentences)


def find_descriptions(video: str) -> Path | None:
    """Return the output of `vidsum describe`, next to a video or in the current folder, if there is any."""
    names = [f"{stem}_descriptions.json" for stem in reversed(stems_of(video))]
    paths = (folder / name for name in names for folder in (Path(video).parent, Path()))
    return next((path for path in paths if path.is_file() and os.access(path, os.R_OK)), None)


def read_descriptions(path: Path, video: str, sha256: str) -> tuple[Evidence | None, tuple[str, ...]]:
    """Return the sentences of a file and warnings; None of another video than that of a SHA-256."""
    try:
        described = load(path)
        if not isinstance(described, Descriptions):
            raise InputError("not descriptions")
        if described.provenance["video"].get("sha256") != sha256:
            raise InputError("of another video")
    except InputError as error:
        return None, (f"{video}: its descriptions are not used ({error.message})",)
    sentences = []
    for part in described.descriptions:
        certain = 1.0 if part.confidence is None else part.confidence
        sentences.append(Passage(part.start_s, part.end_s, part.text, certain=certain))
    model = described.writer if described.is_by_vlm else None
    made = _embed_texts(sentences, "described")
    return replace(made, described_by=hash_file(path), model=model), ()


def store_evidence(connection: Database, video: int, made: Evidence) -> None:
    """Store evidence of a video, replacing what was there."""
    column, _, table = EVIDENCE[made.kind]
    facts: dict[str, object] = {column: made.rows}
    if made.kind == "described":
        facts |= {"described_by": made.described_by, "described_with": made.model}
    if table:
        connection.execute(f"DELETE FROM {table} WHERE video = ?", (video,))
    for sentence in made.sentences:
        row = (sentence.text, video, sentence.start_s, sentence.end_s, sentence.certain)
        columns = "text, video, start_s, end_s, certain"
        connection.execute(f"INSERT INTO {table} ({columns}) VALUES (?, ?, ?, ?, ?)", row)
    values = ", ".join(f"{name} = ?" for name in facts)
    connection.execute(f"UPDATE videos SET {values} WHERE id = ?", (*facts.values(), video))


def search_evidence(
    connection: Database, archive: str, text: str | None, options: SearchOptions, videos: set[int]
) -> list[Hit]:
    """Return the moments in texts and sounds. Raises InputError: those of the options are in no video."""
    kinds = [kind for kind in EVIDENCE if kind != "picture" and options.includes(kind)]
    if not text or options.is_of_pictures or not kinds:
        return []
    query, hits = "SELECT 1 FROM videos WHERE length({}) > 0 LIMIT 1", list[Hit]()
    stored = [kind for kind in kinds if connection.execute(query.format(EVIDENCE[kind].column)).fetchone()]
    if options.evidence != "auto" and not stored:
        fault = f"{archive}: none of its videos has evidence of the kind {options.evidence}"
        raise InputError(fault, hint=f"vidsum index FOLDER {EVIDENCE[options.evidence].flag}".rstrip())
    for kind in stored:
        if kind == "sound":
            hits += search_sounds(connection, text, options, videos)
        else:
            hits += search_texts(connection, kind, text, videos, options.per_video)
    return hits


def search_texts(
    connection: Database, kind: ArchiveEvidence, text: str, videos: set[int], per_video: int
) -> list[Hit]:
    """Return the moments in which a text is said, described or written, surest first."""
    (vector,), (column, _, table) = load_text_encoder(ENCODER).encode([text]), EVIDENCE[kind]
    cosines = dict[int, FloatArray]()
    stored = ("videos.id", f"videos.{column}")
    source = f"FROM videos WHERE length({column}) > 0 ORDER BY id"
    for video, content in stream_rows(connection, stored, source):
        if video in videos:
            records = read_records(row_type(len(vector)), (f"videos.id {video}: {column}", content))
            cosines[video] = unpack_rows(records) @ vector
    by_meaning = sorted(cosines, key=lambda video: -float(cosines[video].max()))[:_N_CANDIDATES]
    find_words = dict.fromkeys(video for (video,) in connection.find_words(table, re.findall(r"\w+", text)))
    by_words = [video for video in find_words if video in cosines][:_N_CANDIDATES]
    hits, models = list[Hit](), dict[int, str]()
    if kind == "described":
        writers = ("videos.id", "videos.described_with")
        models = dict(read_rows(connection, writers, "FROM videos WHERE described_with != ''"))
    for video in dict.fromkeys([*by_meaning, *by_words]):
        lines = list_texts(connection, table, video)
        sentences = [Passage(start_s, end_s, line, certain=sure) for start_s, end_s, line, sure in lines]
        passages = split_passages(sentences, kind)
        if len(passages) != len(cosines[video]):
            fault = f"videos.id {video}: {column} has {len(cosines[video])} records for {len(passages)} texts"
            raise damaged(fault)
        (evidence,) = score_passages(passages, [text], meanings=cosines[video][None])
        written = _find_written(text, sentences, per_video) if kind == "text" else []
        hits += (replace(hit, video=video) for hit in written)
        quoted = text if kind == "speech" else ""  # descriptions are not quoted
        for moment in speech_moments(quoted, passages, evidence, per_video):
            if any(hit.start_s < moment.end_s and moment.start_s < hit.end_s for hit in written):
                continue  # its words are there: it need not be listed for its meaning again
            whole = Passage(moment.start_s, moment.end_s, "")
            content = " ".join(sentence.text for sentence in sentences if whole.holds(sentence))
            content += f" ({models[video]})" if video in models else ""
            span, is_quoted = moment.interval, moment.score >= 1
            hits.append(Hit(video, *span, moment.present or 0.0, None, kind, content, is_quoted=is_quoted))
    return sorted(hits, key=lambda hit: -hit.present)


def _find_written(text: str, lines: Sequence[Passage], per_video: int) -> list[Hit]:
    """Return the moments in which a text is written, exactly or nearly so."""
    box = (0.0, 0.0, 1.0, 1.0)
    parts = [ScreenLine(line.start_s, line.end_s, line.text, line.certain, box) for line in lines]
    end_s = max((line.end_s for line in lines), default=0.0)
    return [
        Hit(0, part.start_s, part.end_s, part.present, None, "text", part.text, is_quoted=True)
        for part in find_written(text, ScreenText(tuple(parts), end_s, 0))[:per_video]
    ]


def split_passages(sentences: Sequence[Passage], kind: ArchiveEvidence) -> list[Passage]:
    """Return the passages to compare with a query: runs of spoken sentences, or single texts."""
    return [*iter_passages(sentences)] if kind == "speech" else [*sentences]


def pack_sounds(scores: FloatArray) -> Records:
    """Return the runs of scores [T, N_CLASSES]."""
    is_loud = np.pad(MIN_SCORE <= scores.T, ((0, 0), (1, 1)))
    edges = np.diff(is_loud.astype(np.int8))
    classes, starts = np.nonzero(edges == 1)
    runs = np.zeros(len(classes), RUN)
    runs["class"], runs["first"], runs["after"] = classes, starts, np.nonzero(edges == -1)[1]
    runs["score"] = [scores[run["first"] : run["after"], run["class"]].max() for run in runs]
    return runs


def search_sounds(connection: Database, text: str, options: SearchOptions, videos: set[int]) -> list[Hit]:
    """Return the moments in which the sounds that a text names are there."""
    columns = ("videos.id", "videos.duration_s", "videos.edges", "videos.sounds")
    source = "FROM videos WHERE length(sounds) > 0 ORDER BY id"
    hits, (classes,) = list[Hit](), match_classes([text], options.language)
    for video, duration_s, edges, content in stream_rows(connection, columns, source) if len(classes) else ():
        runs = read_records(RUN, (f"videos.id {video}: sounds", content), is_valid=_are_runs)
        if video in videos and len(runs := runs[np.isin(runs["class"], classes)]):
            read_edges(video, edges, duration_s)  # else moments could last for days
            hits += _find_hits(video, duration_s, runs)[: options.per_video]
    return hits


def _are_runs(runs: Records) -> BoolArray:
    """Return [N] whether runs are those of `pack_sounds`: in order by class and time, and apart."""
    first, after, classes = (runs[name].astype(np.int64) for name in ("first", "after", "class"))
    is_next = (np.diff(classes) > 0) | ((np.diff(classes) == 0) & (first[1:] > after[:-1]))
    is_loud = (runs["score"] >= np.float16(MIN_SCORE)) & (runs["score"] <= 1)
    is_inside = (first < after) & (after <= MAX_VIDEO_S) & (classes < len(read_names()))
    return np.asarray(is_loud & is_inside & np.append(True, is_next)[: len(runs)])


def _find_hits(video: int, duration_s: float, runs: Records) -> list[Hit]:
    """Return the moments of the runs of some classes in a video, best first, with the name of the loudest."""
    order = np.argsort(runs["first"], kind="stable")
    first, after = (runs[name][order].astype(np.int64) for name in ("first", "after"))
    hits = []
    for moment in join_sounds(first, after, runs["score"][order].astype(np.float32), duration_s):
        is_in = (runs["first"] * STEP_S < moment.end_s) & (runs["after"] * STEP_S > moment.start_s)
        loudest = runs[is_in][runs[is_in]["score"].argmax()]
        name = read_names()[loudest["class"]][0]
        hits.append(Hit(video, *moment.interval, moment.present or 0.0, None, "sound", name))
    return hits
