"""The description of a run of training."""

from vidsum.lab.datasets.splits import Split
from vidsum.lab.training.run import split_facts


def test_run_has_the_videos_of_every_part_of_a_split() -> None:
    assert split_facts(Split("fold-1", ("a", "b"), ("c",), ("d",))) == {
        "name": "fold-1",
        "train": ["a", "b"],
        "validation": ["d"],
        "test": ["c"],
    }
