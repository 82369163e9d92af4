"""Inputs that are read in a worker process, and those that are read here."""

from collections.abc import Iterator
from typing import Any

import pytest

from vidsum.batch.inputs import plain_inputs
from vidsum.batch.reply import Reply
from vidsum.batch.runner import run_inputs
from vidsum.batch.settings import CommonOptions


def answer(*arguments: Any) -> Reply:
    return Reply("shots")


@pytest.mark.parametrize(
    ("count", "options", "has_workers"),
    [
        (1, {}, False),
        (1, {"is_isolated": True}, True),
        (2, {}, True),
        (2, {"are_videos": False}, False),
        (1, {"are_videos": False, "is_isolated": True}, False),
    ],
    ids=["one video", "one isolated video", "several videos", "several names", "one isolated name"],
)
def test_videos_that_may_end_their_process_have_a_worker(
    count: int, options: dict[str, bool], has_workers: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches = list[Any]()

    def in_workers(work: Any, inputs: Any, *arguments: Any) -> Iterator[Reply]:
        batches.append(inputs)
        yield from (Reply() for _ in inputs)

    monkeypatch.setattr("vidsum.batch.workers.in_workers", in_workers)
    inputs = plain_inputs([f"{number}.mp4" for number in range(count)])
    answers = run_inputs(
        "shots",
        answer,
        inputs,
        CommonOptions(),
        progress_of=lambda item: None,
        finish=lambda item, reply: None,
        **options,
    )
    assert len(list(answers)) == count
    assert batches == [inputs] * has_workers
