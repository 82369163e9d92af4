"""The benchmark of sentences that need others: its figures by hand."""

from docs.benchmarks.references import labelled, precision_and_recall


def test_precision_and_recall_of_two_right_and_two_wrong() -> None:
    labels = [
        ("They ask how long it takes.", True),
        ("We choose to go to the moon.", False),
        ("Then the engineers came home.", False),
        ("Nobody had said so before.", True),
    ]
    assert precision_and_recall(labels) == (1 / 2, 1 / 2)


def test_sentences_of_both_kinds_are_labelled() -> None:
    assert {needs for _, needs in labelled()} == {True, False}
