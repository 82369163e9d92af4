"""A result that is planned again reads its video as before."""

from pathlib import Path
from typing import Any

import pytest

from tests.results.test_edits import summary
from vidsum.features.settings import Extraction
from vidsum.pipelines.plan import open_input
from vidsum.pipelines.replan import open_again
from vidsum.video.probe import probe


@pytest.mark.parametrize(
    "sampling", [{}, {"fps": 4.0}, {"fast": True}, {"fps": 4.0, "strict": True}], ids=str
)
def test_video_is_sampled_as_it_was(film: Path, sampling: dict[str, Any]) -> None:
    made = summary(provenance=open_input(film, Extraction(**sampling)).provenance)
    again = open_again(made, probe(film), Extraction(device="cpu"))
    assert again.provenance == made.provenance
    assert again.extraction.device == "cpu"
