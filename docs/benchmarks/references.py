"""Measure how well it is known which sentences cannot stand by themselves.

    python -m docs.benchmarks.references [FILE]

`spoken_references.json` has sentences of public speeches and hearings, and whether each needs those before
it. The rule is `loose_references`, of single sentences. Fragments and answers need others in any case.
"""

import json
from collections.abc import Sequence
from pathlib import Path

from docs.benchmarks import argument_parser
from vidsum.summary.references import loose_references

LABELLED = Path(__file__).with_name("spoken_references.json")

LEAST = 0.7  # weight of the references of a sentence that needs others

Labels = Sequence[tuple[str, bool]]
"""Sentences, and whether they need those before them."""


def labelled(path: Path = LABELLED) -> list[tuple[str, bool]]:
    """The sentences of a file with their labels."""
    speeches = json.loads(path.read_text())["speeches"]
    return [(part["text"], part["needs"]) for speech in speeches for part in speech["sentences"]]


def precision_and_recall(labels: Labels) -> tuple[float, float]:
    """The share of the sentences that the rule names which need others, and of those that the rule names."""
    named = [(_is_named(text), needs) for text, needs in labels]
    right = sum(is_named and needs for is_named, needs in named)
    n_named, n_needing = (sum(column) for column in zip(*named, strict=True))
    return right / max(n_named, 1), right / max(n_needing, 1)


def _is_named(text: str) -> bool:
    return loose_references([text])[0] >= LEAST


def main() -> None:
    """Print the figures."""
    parser = argument_parser(__doc__, small="")
    parser.add_argument("file", nargs="?", type=Path, default=LABELLED)
    labels = labelled(parser.parse_args().file)
    for name, part in ("all", labels), ("first, third, ...", labels[::2]), ("second, ...", labels[1::2]):
        precision, recall = precision_and_recall(part)
        count = sum(needs for _, needs in part)
        print(f"{name}: {len(part)} sentences, {count} need others", end="; ")
        print(f"precision {precision:.2f}, recall {recall:.2f}")
    for text, needs in labels:
        if _is_named(text) != needs:
            print(f"  {'missed' if needs else 'wrongly named'}: {text}")


if __name__ == "__main__":
    main()
