"""The writers of `vidsum describe` on photographs with sentences of people, such as Flickr8k's.

    python -m docs.benchmarks.captions captions.csv.gz IMAGES [--split test]

The bank of `retrieve` are the sentences of the photographs of the training and validation parts. `constant` is
the sentence of these that is nearest to all of them, `others` what `write` says of other photographs, `people`
the first of each photograph's sentences against the others. The last table is the confidence: of sentences
that are so sure, the fraction that is right, as `vidsum.grounding.writers` defines it.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from docs.benchmarks import argument_parser
from vidsum import checkpoints
from vidsum.features import describe, kept_extractor
from vidsum.features.pictures import features_of_views
from vidsum.grounding.captioner import write
from vidsum.grounding.text import embed_once, load_text_encoder
from vidsum.grounding.vse import EXTRACTOR, load_map
from vidsum.grounding.writers import Bank, Seen, Sentence, retrieve, tags
from vidsum.lab.datasets.captioned_pictures import CaptionedPicture, read_captioned_pictures
from vidsum.lab.datasets.described import Described
from vidsum.lab.evaluation.captions import evaluate_captions
from vidsum.lab.evaluation.settings import CaptionsRequest

METRICS = ("cider-d", "bleu", "rouge-l", "r@1/16")
CONFIDENCES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.01)


def seen_of(pictures: Sequence[CaptionedPicture], split: str) -> Seen:
    """What is seen of the pictures of a split, as they are."""
    features = features_of_views([each.still for each in pictures], EXTRACTOR, [0])[0]
    own = features[[each.split == split for each in pictures]]
    return Seen(own, load_map()(own), kept_extractor(describe(EXTRACTOR)).logits(own))


def bank_of(pictures: Sequence[CaptionedPicture]) -> Bank:
    """The sentences of the pictures that are not for testing."""
    texts = tuple(dict.fromkeys(text for each in pictures if each.split != "test" for text in each.sentences))
    vectors = embed_once(texts, load_text_encoder("minilm").encode, checkpoints.sha256_of("minilm"))
    return Bank(texts, vectors)


def nearest_to_all(bank: Bank) -> Sentence:
    """The sentence that says least wrong without a look."""
    return Sentence(bank.texts[int(np.argmax(bank.vectors @ bank.vectors.sum(axis=0)))], 0.0)


def are_right(said: Sequence[str], pictures: Sequence[CaptionedPicture]) -> list[bool]:
    """Whether each sentence is as near to people's of its picture as four in five of these are to the others."""
    encode = load_text_encoder("minilm").encode
    own = [encode(each.sentences) for each in pictures]
    to_others = [
        float(np.mean(np.delete(row, place)))
        for vectors in own
        for place, row in enumerate(vectors @ vectors.T)
    ]
    least = float(np.quantile(to_others, 0.2))
    return [
        float((vectors @ row).mean()) >= least for vectors, row in zip(own, encode(list(said)), strict=True)
    ]


def main() -> None:
    """Print both tables."""
    parser = argument_parser(__doc__)
    parser.add_argument("captions", type=Path)
    parser.add_argument("images", type=Path)
    parser.add_argument("--split", default="test")
    given = parser.parse_args()
    every, _ = read_captioned_pictures(given.captions, given.images)
    seen, bank = seen_of(every, given.split), bank_of(every)
    pictures = [each for each in every if each.split == given.split]
    rows = {"write": write(seen), "retrieve": retrieve(seen, bank), "tags": tags(seen)}
    rows["constant"] = [nearest_to_all(bank)] * len(pictures)
    request = CaptionsRequest(data=given.captions, metric=METRICS)
    items = {each.file: Described(each.sentences) for each in pictures}
    said = {
        name: {file: one.text for file, one in zip(items, own, strict=True)} for name, own in rows.items()
    }
    report = evaluate_captions(request, items, said)
    print(report.title)
    for row in report.rows:
        print(row.name, *(f"{name} {shown}" for name, shown in row.measures.figures().items()), sep=", ")
    for name in ("write", "retrieve", "tags"):
        right = np.array(are_right([one.text for one in rows[name]], pictures))
        sure = np.array([one.confidence for one in rows[name]])
        print(f"{name}: right {100 * right.mean():.0f} %")
        for low, high in zip(CONFIDENCES, CONFIDENCES[1:], strict=False):
            if (chosen := (sure >= low) & (sure < high)).any():
                print(f"  said {low:.1f} to {high:.1f}: {chosen.sum()}, right {100 * right[chosen].mean():.0f} %")


if __name__ == "__main__":
    main()
