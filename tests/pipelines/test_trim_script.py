"""Trimming by a script: the parts of the film that its lines are."""

from pathlib import Path

import numpy as np
import pytest

from tests.media import SAMPLE_RATE, make_video
from tests.speech import stub
from vidsum.features.settings import Extraction
from vidsum.pipelines.trim import plan_trim
from vidsum.pipelines.trim_script import without_overlap
from vidsum.speech.settings import Trimming


@pytest.fixture
def said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Five seconds of speech without a pause, in which word0 to word3 begin with a second each."""
    stub.install(monkeypatch, language=("en", 0.9))
    hum = 0.3 * np.sin(2 * np.pi * 300 * np.arange(5 * SAMPLE_RATE) / SAMPLE_RATE)
    return make_video(tmp_path / "talk.mp4", n_frames=125, samples=hum.astype(np.float32)).path


@pytest.mark.parametrize(("lines", "expected"), [
    (["word0 word1", "word0 word1"], [(0, 1.5), (0, 1.5)]),
    (["word1 word2", "word3", "word1 word2"], [(1, 3.5), (1, 2.5)]),
    (["word0 word1", "word1 word2"], [(0, 1.5), (1, 2.5)]),
])  # fmt: skip
def test_lines_that_stand_twice_are_said_twice(
    lines: list[str], expected: list[tuple[int, int]], said: Path, tmp_path: Path
) -> None:
    script = tmp_path / "edited.txt"
    script.write_text("\n".join(lines))
    made = plan_trim(said, Trimming(script=str(script)), Extraction()).run()
    assert [*made.segments] == [pytest.approx(part, abs=0.3) for part in expected]


def test_parts_share_the_frames_at_a_cut_only_where_they_share_words() -> None:
    parts = [(0.0, 1.04), (1.0, 2.0), (1.0, 2.0)]
    assert without_overlap(parts, [(0, 1), (1, 2), (1, 2)]) == [(0.0, 1.04), (1.04, 2.0), (1.0, 2.0)]
