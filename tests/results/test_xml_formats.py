"""Where clips lie in a timeline."""

from types import SimpleNamespace
from typing import Any

from vidsum.results.xml_formats import _starts


def test_first_clip_begins_at_0_and_others_where_the_one_before_ends() -> None:
    clips: Any = [SimpleNamespace(n_frames=n_frames) for n_frames in (3, 5, 2)]
    assert _starts(clips) == [0, 3, 8, 10]
