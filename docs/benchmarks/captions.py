"""The writers of `vidsum describe` on held-out photographs: CIDEr, BLEU and ROUGE-L with people's sentences.

    python -m docs.benchmarks.captions captions.csv.gz images [--split val]

The list of `retrieve` is the sentences of the training part, and to test those of the validation part too.
`constant` is the one of these that is nearest to all, `others` what `write` says of other photographs,
`people` the first of a photograph's sentences against the others. The last lines: how many of the words that
tell something (`vidsum.lab.training.captions`) four people did not use of the photograph, but for endings.
"""

import re
from collections.abc import Sequence

import numpy as np

from docs.benchmarks import argument_parser
from docs.benchmarks.describe import embed, interval, seen_of
from vidsum.grounding.captioner import write
from vidsum.grounding.writers import Bank, retrieve, tags, tidied
from vidsum.lab.datasets.captioned_pictures import CaptionedPicture, read_captioned_pictures
from vidsum.lab.datasets.described import Described
from vidsum.lab.evaluation.captions import evaluate_captions
from vidsum.lab.evaluation.settings import CaptionsRequest
from vidsum.lab.training.captions import content_words

METRICS = ("cider-d", "bleu", "rouge-l")
_ENDINGS = re.compile(r"(?<=..)(?:ing|ed|es|s|e)$")


def bank_of(pictures: Sequence[CaptionedPicture], split: str) -> Bank:
    """The sentences that may be retrieved of a split's photographs."""
    parts = ("train",) if split == "val" else ("train", "val")
    own = (text for one in pictures if one.split in parts for text in one.sentences)
    texts = tuple(dict.fromkeys(map(tidied, own)))
    return Bank(texts, embed(texts))


def stems(text: str) -> set[str]:
    """The words of a sentence that tell something, without their endings."""
    return {_ENDINGS.sub("", word) for word in content_words(text)}


def main() -> None:
    """Print the table, and how much is made up."""
    parser = argument_parser(__doc__, "captions", "pictures")
    parser.add_argument("--split", default="test")
    given = parser.parse_args()
    every, _ = read_captioned_pictures(given.captions, given.pictures)
    own, bank = [one for one in every if one.split == given.split], bank_of(every, given.split)
    seen = seen_of(own)
    rows = {
        "write": [one.text for one in write(seen)],
        "retrieve": [one.text for one in retrieve(seen, bank)],
        "tags": [one.text for one in tags(seen)],
        "constant": [bank.texts[int(np.argmax(bank.vectors @ bank.vectors.sum(axis=0)))]] * len(own),
    }
    items = {one.file: Described(one.sentences) for one in own}
    said = {name: dict(zip(items, texts, strict=True)) for name, texts in rows.items()}
    report = evaluate_captions(CaptionsRequest(data=given.captions, metric=METRICS), items, said)
    print(report.title)
    for row in report.rows:
        print("|", " | ".join([row.name, *row.measures.figures().values()]), "|")
    rows["people"] = [one.sentences[0] for one in own]
    for name in ("write", "retrieve", "people"):
        pairs = zip(rows[name], own, strict=True)
        parts = [(stems(text), stems(" ".join(_others(text, one)))) for text, one in pairs]
        new = [len(said - known) / max(1, len(said)) for said, known in parts]
        print(f"words that no one else used, {name}: {interval(np.array(new))}")


def _others(text: str, picture: CaptionedPicture) -> list[str]:
    """Four sentences of people, without the one that is compared with them."""
    return [each for each in picture.sentences if each != text][:4]


if __name__ == "__main__":
    main()
