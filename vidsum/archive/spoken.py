"""The moments of an archive in which a text is said, or something that means the same."""

import re
from dataclasses import dataclass

from vidsum.archive.packed import read_records, row_type, rows_of
from vidsum.archive.store import Database
from vidsum.grounding.said import Passage, evidence_of, moments_said, passages_of
from vidsum.types import FloatArray

_VIDEOS = 100
"""Videos that are looked at closely: the likeliest by meaning, and as many by exact words."""


@dataclass(frozen=True)
class Said:
    """A moment of a video in which something is said."""

    video: int
    start_s: float
    end_s: float
    score: float
    """The probability that it is what the query means; see docs/algorithms/speech.md."""
    text: str


def has_speech(connection: Database, space: int) -> bool:
    """Whether a video of the archive has a transcript in which something is said."""
    query = "SELECT 1 FROM videos WHERE space = ? AND length(spoken) > 0 LIMIT 1"
    return connection.execute(query, (space,)).fetchone() is not None


def said_in(
    connection: Database, space: int, query: tuple[str, FloatArray], videos: set[int], per_video: int
) -> list[Said]:
    """The moments of some videos in which a text with its vector [D] is said, surest first."""
    text, vector = query
    cosines = dict[int, FloatArray]()
    rows = connection.stream("SELECT id, spoken FROM videos WHERE space = ? AND length(spoken) > 0", (space,))
    for video, content in rows:
        if video in videos:
            cosines[video] = rows_of(read_records(content, row_type(len(vector)))) @ vector
    by_meaning = sorted(cosines, key=lambda video: -float(cosines[video].max()))[:_VIDEOS]
    by_words = [video for video in _with_words(connection, text) if video in cosines][:_VIDEOS]
    found = list[Said]()
    for video in dict.fromkeys([*by_meaning, *by_words]):
        sentences = _sentences(connection, video)
        passages = list(passages_of(sentences))
        (evidence,) = evidence_of(passages, [text], meanings=cosines[video][None])
        for moment in moments_said(passages, evidence, per_video):
            words = " ".join(
                one.text for one in sentences if moment.start_s <= one.start_s and one.end_s <= moment.end_s
            )
            found.append(Said(video, moment.start_s, moment.end_s, moment.score, words))
    return sorted(found, key=lambda one: -one.score)


def _with_words(connection: Database, text: str) -> list[int]:
    """The videos in which words of a text are said, best first."""
    return list(dict.fromkeys(video for (video,) in connection.with_words(re.findall(r"\w+", text))))


def _sentences(connection: Database, video: int) -> list[Passage]:
    query = "SELECT start_s, end_s, text, certain FROM sentences WHERE video = ? ORDER BY start_s, end_s"
    rows = connection.execute(query, (video,))
    return [Passage(start_s, end_s, text, certain=certain) for start_s, end_s, text, certain in rows]
