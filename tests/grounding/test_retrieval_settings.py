"""Settings of a search for moments that are refused."""

from typing import Any

import pytest

from vidsum.errors import UsageError
from vidsum.grounding.settings import Retrieval


@pytest.mark.parametrize(
    ("values", "fault"),
    [
        ({"top_k": 0}, "top_k"),
        ({"top_k": "five"}, "top_k"),
        ({"min_present": 1.5}, "min_present"),
        ({"space": "nowhere"}, "space must be one of"),
        ({"evidence": "smell"}, "evidence must be one of"),
    ],
    ids=["no moments", "no number", "above 1", "unknown space", "unknown evidence"],
)
def test_value_out_of_range_or_choices_is_refused(values: dict[str, Any], fault: str) -> None:
    with pytest.raises(UsageError, match=fault):
        Retrieval(**values)


@pytest.mark.parametrize("evidence", ["speech", "text", "sound"])
def test_texts_to_leave_out_are_refused_where_no_picture_is_searched(evidence: Any) -> None:
    with pytest.raises(UsageError, match="without searches the picture only"):
        Retrieval(evidence=evidence, without=("a dog",))


@pytest.mark.parametrize("evidence", ["auto", "picture"])
def test_texts_to_leave_out_go_with_pictures(evidence: Any) -> None:
    assert Retrieval(evidence=evidence, without=("a dog",)).without == ("a dog",)
