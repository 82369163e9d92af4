"""Transcripts of public repositories as sentences."""

from pathlib import Path

import pytest

from vidsum.weights.recipes.talks import LAYOUTS, read_talk

TEXTS = {
    "saranyan/TED-Talks": "Printing is an\nold art. (Laughter)\n\nIt isn&#39;t\nnew at all.",
    "ebuntario/lennys-podcast-transcripts": "---\ntitle: A talk. No more.\n---\n# A talk\n## Transcript\n"
    "Ann (00:00:00):\nPrinting is an old art.\n\n(00:00:09):\nIt isn't new at all.",
    "thechangelog/transcripts": "**Ann:** Printing is an _old_ art.\n\n"
    "**Bob:** \\[laughs\\] It isn't new at all.",
    "matthiasn/talk-transcripts": "# A talk\n\n* a list\n\n[Time 0:00:00]\n```\nslide title: code\n```\n"
    "Ann: Printing is an [old](http://example.com/a) art.\n\nIt isn't new at all.",
    "bitcointranscripts/bitcointranscripts": "---\ntitle: A talk\n---\n00:00:15\n\n"
    "Ann: Printing is an old art.\n\nIt isn't new at all. https://example.com/a",
}


@pytest.mark.parametrize("repository", LAYOUTS)
def test_nothing_but_speech_is_read(repository: str, tmp_path: Path) -> None:
    path = tmp_path / repository / "talks" / "a.md"
    path.parent.mkdir(parents=True)
    path.write_text(TEXTS[repository], encoding="utf-8")
    sentences = read_talk(tmp_path, repository, "talks/a.md")
    assert [sentence.text for sentence in sentences] == ["Printing is an old art.", "It isn't new at all."]
    assert [sentence.start_s for sentence in sentences] == sorted(sentence.start_s for sentence in sentences)
