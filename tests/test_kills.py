"""One command is killed a few times; `python -m tests.kills` kills them all, as often as you like."""

from pathlib import Path

import pytest

from tests.kills import kill_often


@pytest.mark.deep
def test_a_killed_command_leaves_no_half_file_and_the_next_run_completes(default_weights: Path) -> None:
    assert kill_often("summarize", 2, seed=0)["killed"] <= 2
