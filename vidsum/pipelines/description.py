"""What is seen in a video, in words: plan (what the descriptions would be made from), then run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vidsum import checkpoints
from vidsum.disk_cache import kept_rows
from vidsum.errors import UsageError
from vidsum.grounding.spaces import extractions_of
from vidsum.grounding.text import load_text_encoder
from vidsum.grounding.vse import NAME as MAP
from vidsum.grounding.vse import load_map
from vidsum.grounding.writers import Bank, Seen, Sentence, Writer, read_bank, retrieving, tags
from vidsum.memory import kept
from vidsum.options import all_from_keywords
from vidsum.outputs import atomic_write
from vidsum.pipelines.extraction import plan_features
from vidsum.pipelines.sources import Video, VideoPath, has_pictures
from vidsum.pipelines.summary import ShotsPlan
from vidsum.provenance import of_file
from vidsum.results.descriptions import Description, Descriptions
from vidsum.results.features import Features
from vidsum.results.result import write_json
from vidsum.scaling import unit_rows
from vidsum.settings import Describing, Extraction, Selection, ShotSettings
from vidsum.speech.gaps import LEAST_S, MARGIN_S, WORDS_A_MINUTE, Wish, fit, gaps_of
from vidsum.speech.voice import RATE, speech_in
from vidsum.summary.score import best_score, candidates, weights_sha256
from vidsum.types import FloatArray, Interval, Progress
from vidsum.version import __version__
from vidsum.video.damage import DecodeLog
from vidsum.video.listen import probe_sound, read_sound

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from vidsum.keywords import DescribeOptions

LONGEST_SHOT_S = 10.0
"""Longer shots are split: more happens in them than one sentence says."""
_BLOCK_S = 30.0
"""Sound that is in memory at once."""


def describe(
    path: VideoPath | Video, *, progress: Progress | None = None, **options: Unpack[DescribeOptions]
) -> Descriptions:
    """Describe a video in words, a sentence for each shot.

    Args:
        path: a video file, of any length.
        progress: called while it runs.
        **options: fields of `vidsum.settings.Describing`, such as `every_s=5`, `writer="retrieve"` with
            `sentences="captions.csv"`, or `in_gaps=True`, and of `vidsum.settings.Extraction`.

    Returns:
        Sentences with their times and confidence; none where nothing is sure enough.

    Raises:
        InputError: the video or the file of sentences cannot be read.
        WeightsError: weights are missing and cannot be fetched.
        UsageError: a setting is out of range, or the writer lacks what it needs.
    """
    settings, extraction = all_from_keywords(describe, (Describing, Extraction), options)
    return plan_descriptions(path, settings, extraction).run(progress)


@dataclass(frozen=True)
class DescriptionsPlan:
    """The descriptions of a video."""

    shots: ShotsPlan
    settings: Describing
    writer: str
    """The one that `auto` stands for."""
    models: tuple[str, ...] = ()
    """Those that may tell which segments are important, in order; of a video that is described in pauses."""
    speaker: str | None = None
    """What is to speak them."""

    @cached_property
    def provenance(self) -> dict[str, Any]:
        """What the descriptions would be made from."""
        facts: dict[str, Any] = {
            "writer": self.writer,
            "every_s": self.settings.every_s,
            "min_sure": self.settings.min_sure,
            "map_sha256": checkpoints.sha256_of(MAP),
            "text_weights_sha256": checkpoints.sha256_of("minilm"),
        }
        if self.settings.sentences is not None and self.writer == "retrieve":
            facts["sentences_sha256"] = of_file(Path(self.settings.sentences))["sha256"]
        if self.settings.in_gaps:
            facts["in_gaps"] = [LEAST_S, MARGIN_S, WORDS_A_MINUTE]
            facts |= {"candidates": list(self.models), **weights_sha256(self.models)}
        if self.speaker is not None:
            facts["speak"] = self.speaker
        return {**self.shots.provenance, "descriptions": facts}

    def run(self, progress: Progress | None = None) -> Descriptions:
        """Describe the video; see `describe`."""
        write = self._writer(progress)  # first: what is missing shows before decoding
        features, changes = self.shots.input.read_with_changes(progress)
        segments = self._segments(features[0], changes)
        seen = seen_in(features[0], segments)
        said = write(seen)
        sure = [one.confidence >= self.settings.min_sure for one in said]
        found, warnings = joined(segments, said, sure), list(features[0].warnings)
        gaps = None
        if self.settings.in_gaps:
            gaps = gaps_of(self._speech(progress), features[0].duration_s)
            found, about = self._in_gaps(found, gaps, features[0])
            warnings += about
        return Descriptions(
            descriptions=tuple(found),
            writer=self.writer,
            video_duration_s=features[0].duration_s,
            n_unsure=sure.count(False),
            gaps=None if gaps is None else tuple(gaps),
            video=features[0].video,
            provenance=self.provenance,
            warnings=tuple(dict.fromkeys(warnings)),
        )

    def _writer(self, progress: Progress | None) -> Writer:
        load_text_encoder("minilm")
        if self.writer == "tags":
            return tags
        assert self.settings.sentences is not None
        sha256 = self.provenance["descriptions"]["sentences_sha256"]
        return retrieving(_bank(_Asked(Path(self.settings.sentences), sha256, progress)))

    def _segments(self, features: Features, changes: Features | None) -> list[Interval]:
        if (every_s := self.settings.every_s) is None:
            return self.shots.cut(features, changes).intervals
        whole_s = features.duration_s
        edges = [every_s * number for number in range(max(1, round(whole_s / every_s)))]
        return list(pairwise([*edges, whole_s]))

    def _speech(self, progress: Progress | None) -> list[Interval]:
        """[start_s, end_s) of each piece of speech; none of a video without sound."""
        given = self.shots.input
        assert given.video is not None
        if given.video.audio_codec is None:
            return []
        sound, video = probe_sound(given.video.path, given.video), given.provenance["video"]

        def listen() -> FloatArray:
            log, spans = DecodeLog(), list[Interval]()

            def blocks() -> Iterator[FloatArray]:
                for number, block in enumerate(read_sound(sound, RATE, _BLOCK_S, log)):
                    if progress:
                        progress("listening", number * _BLOCK_S, sound.duration_s)
                    yield block

            for piece in speech_in(blocks()):
                spans.append((piece.start_s, piece.start_s + piece.length_s))
            return np.array(spans, np.float32).reshape(-1, 2)

        made_from = {"vidsum": __version__, "video": video, "rate": RATE}
        spans = kept_rows("voices", made_from, listen) if given.extraction.cache else listen()
        return [(start_s, end_s) for start_s, end_s in spans.tolist()]

    def _in_gaps(
        self, found: Sequence[Description], gaps: Sequence[Interval], features: Features
    ) -> tuple[list[Description], list[str]]:
        """The descriptions that fit into pauses, with the times at which they are spoken, and warnings."""
        if not gaps:
            return [], [f"the speech has no pause of {LEAST_S:g} s: nothing can be said in between"]
        if not found:
            return [], []
        device = self.shots.input.extraction.device
        importance = best_score(self.models, features, None, Selection(), 1.0, device).importance
        means = _means(importance[:, None], features, [(one.start_s, one.end_s) for one in found])[:, 0]
        wishes = [
            Wish(one.start_s, one.end_s, one.text, mean)
            for one, mean in zip(found, means.tolist(), strict=True)
        ]
        of_wish = dict(zip(map(id, wishes), found, strict=True))
        spoken = fit(wishes, gaps)
        lost = len(found) - len(spoken)
        return [
            Description(one.start_s, one.end_s, one.text, of_wish[id(one.wish)].confidence) for one in spoken
        ], [f"{lost} of {len(found)} descriptions have no pause that is long enough"] if lost else []


def plan_descriptions(
    source: VideoPath | Video, settings: Describing, extraction: Extraction, speaker: str | None = None
) -> DescriptionsPlan:
    """Plan `describe`: the video is probed and hashed, not decoded. `speaker` is for the record.

    Raises InputError, WeightsError, UsageError: see `describe`.
    """
    writer = _chosen(settings)
    if isinstance(source, Features) or not has_pictures(source):
        raise UsageError("descriptions are of a video, not of features", hint="give the video")
    given = plan_features(source, extractions_of("vse", extraction)[-1])
    shots = ShotsPlan(given, ShotSettings(max_shot_s=LONGEST_SHOT_S))
    models = candidates(Selection().model, *given.kind, extraction.device) if settings.in_gaps else ()
    return DescriptionsPlan(shots, settings, writer, models, speaker)


def _chosen(settings: Describing) -> str:
    """The writer that the settings ask for. Raises UsageError, InputError: it lacks its sentences."""
    if settings.writer == "auto":
        return "tags" if settings.sentences is None else "retrieve"
    if settings.writer == "retrieve" and settings.sentences is None:
        fault = "the writer retrieve chooses from sentences of yours"
        raise UsageError(fault, hint="--sentences captions.csv, or --writer tags")
    return settings.writer


@dataclass(frozen=True)
class _Asked:
    """A file of sentences, as it is now."""

    path: Path
    sha256: str
    progress: Progress | None = field(compare=False)


@kept(maxsize=1)
def _bank(asked: _Asked) -> Bank:
    """The sentences of a file, kept for the next video of a batch."""
    return read_bank(asked.path, asked.progress)


def seen_in(features: Features, segments: Sequence[Interval]) -> Seen:
    """What is seen in segments, from features of `vidsum.grounding.vse.EXTRACTOR` with class scores."""
    logits = None if features.logits is None else _means(features.logits, features, segments)
    embeddings = unit_rows(_means(load_map()(features.array), features, segments))
    return Seen(_means(features.array, features, segments), embeddings, logits)


def _means(rows: FloatArray, features: Features, segments: Sequence[Interval]) -> FloatArray:
    """[N, D] the mean of the rows [T, D] whose middle lies in each segment, or of the nearest one."""
    middles = features.timestamps + features.covers_s / 2
    means = []
    for start_s, end_s in segments:
        low, high = np.searchsorted(middles, (start_s, end_s))
        nearest = int(np.abs(middles - (start_s + end_s) / 2).argmin())
        means.append(rows[low:high].mean(axis=0) if low < high else rows[nearest])
    return np.array(means, np.float32)


def joined(segments: Sequence[Interval], said: Sequence[Sentence], sure: Sequence[bool]) -> list[Description]:
    """The sure sentences of segments in a row; those that follow each other with the same text are one.

    Its confidence is the mean of theirs.
    """
    rows = zip(segments, said, sure, strict=True)
    found = []
    for (text, is_sure), group in groupby(rows, lambda row: (row[1].text, row[2])):
        if is_sure:
            times, sentences, _ = zip(*group, strict=True)
            confidence = float(np.mean([each.confidence for each in sentences]))
            found.append(Description(times[0][0], times[-1][1], text, confidence))
    return found


def write_descriptions(found: Descriptions, paths: Mapping[str, Path]) -> None:
    """Write the files of descriptions: `vtt`, `srt`, and last `json`, which tells that the others are there.

    Raises OutputError: a file cannot be written.
    """
    for form in ("vtt", "srt"):
        with atomic_write(paths[form]) as part:
            part.write_text(found.as_text(form), encoding="utf-8")
    write_json(found, paths["json"])
