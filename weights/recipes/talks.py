"""Read public transcripts of talks and interviews as sentences with times, for `standing_model`.

Nothing but the words is read: notes of sounds, names of speakers, headings, code and times are left out. 150
words a minute are assumed.
"""

import html
import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from pathlib import Path

from vidsum.results.sentences import SpokenSentence, SpokenWord, split_sentences

WORD_S, STOP_S, PARAGRAPH_S = 0.4, 0.3, 0.5  # a word; the silence after a full stop, and a paragraph
_ALOUD = 0.38  # seconds of a word that are spoken


@dataclass(frozen=True)
class Layout:
    """How the transcripts of a repository on GitHub are written."""

    commit: str
    speaker: str = r"(?!)"  # what names who speaks, at the beginning of a line
    begins_after: str = ""  # the heading of the transcript
    is_one_paragraph: bool = False  # lines end anywhere


_NAMED = r"\s*[A-Z][\w .]{1,30}:\s|\s*\d\d?:\d\d(?::\d\d)?.*$"
LAYOUTS: Mapping[str, Layout] = {
    "saranyan/TED-Talks": Layout("4d7e8c21", is_one_paragraph=True),
    "ebuntario/lennys-podcast-transcripts": Layout(
        "333ff9e6", r"[^\n]{0,40}\(\d\d:\d\d:\d\d\):\s*$", begins_after="## Transcript"
    ),
    "thechangelog/transcripts": Layout("44a0e16c", r"\*\*[^*]{1,40}:\*\*"),
    "matthiasn/talk-transcripts": Layout("773d2992", _NAMED),
    "bitcointranscripts/bitcointranscripts": Layout("52ccbbe2", _NAMED),
}
_RULES = (
    (re.compile(r"\A---\n.*?\n---\n", re.DOTALL), ""),
    (re.compile(r"```.*?```", re.DOTALL), ""),
    (re.compile(r"^\s*[#>|*].*$", re.MULTILINE), ""),  # a heading, a quotation, a row of a table, an item
    (re.compile(r"!\[[^\]]*\]\([^)]*\)"), ""),
    (re.compile(r"\[([^\]]*)\]\((?:http|#)[^)]*\)"), r"\1"),
    (re.compile(r"\\?\[[^\]]*\]|\((?:laughter|applause|music|video|audio|cheers)[^)]*\)", re.IGNORECASE), ""),
    (re.compile(r"https?://\S+|[_*`]{1,2}"), ""),
)
"""Patterns of text that is not spoken, and their replacements, in the order of use."""


def read_talk(folder: Path, repository: str, path: str) -> list[SpokenSentence]:
    """Return the sentences of a transcript in a folder of repositories."""
    layout = LAYOUTS[repository]
    text = html.unescape((folder / repository / path).read_text(encoding="utf-8"))
    text = text.split(layout.begins_after, 1)[-1] if layout.begins_after else text
    text = re.sub(rf"^(?:{layout.speaker})", "", text, flags=re.MULTILINE)
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    paragraphs = [text] if layout.is_one_paragraph else re.split(r"\n\s*\n", text)
    return split_sentences(_with_times(paragraphs), inf, 0.0)


def _with_times(paragraphs: list[str]) -> list[SpokenWord]:
    words, now_s = list[SpokenWord](), 0.0
    for paragraph in filter(str.strip, paragraphs):
        for word in paragraph.split():
            words.append(SpokenWord(now_s, now_s + _ALOUD, f" {word}" if words else word))
            now_s += WORD_S + STOP_S * word.endswith((".", "?", "!"))
        now_s += PARAGRAPH_S
    return words
