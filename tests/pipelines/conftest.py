"""What the tests of pipelines share."""

from typing import Any

import pytest

from vidsum.pipelines import decoding


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Lists, for each decode pass, how many samplings it served."""
    counts: list[int] = []
    read_frames = decoding.read_frames

    def counted(path: str, samplings: list[Any], **options: Any) -> Any:
        counts.append(len(samplings))
        return read_frames(path, samplings, **options)

    monkeypatch.setattr(decoding, "read_frames", counted)
    return counts
