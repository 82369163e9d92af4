"""Writers of descriptions with made-up vectors: everyday words, sentences of people."""

import gzip
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.evidence.test_named_objects import texts as vectors
from vidsum.description import writers
from vidsum.description.words import read_words, word_probabilities
from vidsum.description.writers import (
    CONFIDENCE,
    SHORT_LIST_CONFIDENCE,
    TEMPERATURE,
    Bank,
    SeenSegments,
    Sentence,
    read_bank,
    retrieve,
    tidy,
    write_words,
)
from vidsum.errors import InputError
from vidsum.features.extractor import read_class_names
from vidsum.features.movinet import action_names
from vidsum.types import FloatArray


def encode(texts: Sequence[str]) -> FloatArray:
    """Texts get vectors by their length."""
    return np.concatenate([vectors(len(text), 1) for text in texts])


@pytest.fixture(autouse=True)
def encoder(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writers, "load_text_encoder", lambda name: SimpleNamespace(encode=encode))
    monkeypatch.setattr(writers.checkpoints, "sha256_of", lambda name: "0" * 64)


def votes_for(picture: FloatArray, bank: Bank) -> tuple[dict[int, float], dict[int, float]]:
    """The weight of each of the five nearest sentences, and its votes by all of them."""
    cosines = [float(picture @ vector) for vector in bank.vectors]
    nearest = sorted(range(len(cosines)), key=lambda number: -cosines[number])[:5]
    weight = {number: float(np.exp(cosines[number] / TEMPERATURE)) for number in nearest}
    votes = {
        number: sum(weight[other] * float(bank.vectors[number] @ bank.vectors[other]) for other in nearest)
        for number in nearest
    }
    return weight, votes


BANK = Bank(tuple(f"sentence {number}" for number in range(40)), vectors(3, 40))
PICTURES = vectors(4, 70)


@pytest.mark.parametrize("is_short", [False, True], ids=["long list", "short list"])
def test_confidence_is_by_the_agreement_of_neighbours_or_the_share_in_a_short_list(
    monkeypatch: pytest.MonkeyPatch, is_short: bool
) -> None:
    monkeypatch.setattr(writers, "NEAREST", 5)
    monkeypatch.setattr(writers, "MAX_SHORT_LIST", 40 if is_short else 39)
    for picture, sentence in zip(PICTURES, retrieve(PICTURES, BANK), strict=True):
        weight, votes = votes_for(picture, BANK)
        best = max(votes, key=lambda number: votes[number])
        others = [other for other in weight if other != best]
        likeness = [BANK.vectors[best] @ BANK.vectors[other] for other in others]
        agreement = np.average(likeness, weights=[weight[other] for other in others])
        share = weight[best] / sum(weight.values())
        curve, backing = (SHORT_LIST_CONFIDENCE, share) if is_short else (CONFIDENCE, agreement)
        z = curve[0] * float(picture @ BANK.vectors[best]) + curve[1] * backing + curve[2]
        assert sentence.confidence == pytest.approx(1 / (1 + np.exp(-z)), abs=1e-4)


def test_sentence_that_its_neighbours_resemble_is_retrieved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writers, "NEAREST", 5)
    for picture, sentence in zip(PICTURES, retrieve(PICTURES, BANK), strict=True):
        _, votes = votes_for(picture, BANK)
        assert sentence.text == f"sentence {max(votes, key=lambda number: votes[number])}"


def test_short_list_gives_the_sentence_that_nothing_else_is_like() -> None:
    picture = vectors(1, 1)
    others = np.repeat(vectors(2, 1), 4, axis=0)
    bank = Bank(("right", "a", "b", "c", "d"), np.concatenate([picture, others]))
    assert [sentence.text for sentence in retrieve(picture, bank)] == ["right"]


def test_list_of_one_sentence_gives_it_to_every_picture() -> None:
    sentences = retrieve(vectors(1, 2), Bank(("A dog.",), vectors(2, 1)))
    assert [sentence.text for sentence in sentences] == ["A dog."] * 2


@pytest.fixture
def dog_scores(monkeypatch: pytest.MonkeyPatch) -> FloatArray:
    """Scores of two pictures: of a dog in the snow, and of nothing."""
    numbers = {word.text: number for number, word in enumerate(read_words())}
    scores = np.full((2, len(numbers)), -20, np.float32)
    scores[0, [numbers["a dog"], numbers["in the snow"]]] = 9, 6
    scores[1, numbers["dancing"]] = 0.1
    monkeypatch.setattr(writers, "standard_scores", lambda space, rows: scores)
    return scores


def test_surest_word_gives_the_confidence(dog_scores: FloatArray) -> None:
    dog = next(number for number, word in enumerate(read_words()) if word.text == "a dog")
    first, _ = write_words(SeenSegments(vectors(1, 2)), "vse", 0.6)
    assert first.text == "A dog, in the snow."
    assert first.confidence == pytest.approx(float(word_probabilities(dog_scores)[0, dog]))


@pytest.mark.parametrize(
    ("sure", "expected"),
    [
        (("snow", "a dog", "in the snow"), "A dog, in the snow."),
        (("snow", "a dog", "playing in the snow", "in the snow"), "A dog, playing in the snow."),
        (("a man", "a car", "in a car"), "A man, in a car."),
        (("a dog", "a man", "dancing"), "A dog, a man, dancing."),
    ],
)
def test_no_word_is_said_again_by_a_longer_one(
    dog_scores: FloatArray, sure: Sequence[str], expected: str
) -> None:
    numbers = {word.text: number for number, word in enumerate(read_words())}
    dog_scores[:] = -20
    dog_scores[0, [numbers[text] for text in sure]] = np.linspace(9, 8, len(sure))
    first, _ = write_words(SeenSegments(vectors(1, 2)), "vse", 0.6)
    assert sorted(first.text.lower().rstrip(".").split(", ")) == sorted(
        expected.lower().rstrip(".").split(", ")
    )


@pytest.mark.usefixtures("dog_scores")
def test_picture_without_a_sure_word_has_no_text() -> None:
    _, second = write_words(SeenSegments(vectors(1, 2)), "vse", 0.6)
    assert (second.text, second.confidence) == ("", 0.0)


@pytest.mark.usefixtures("dog_scores")
def test_animal_that_the_network_of_objects_names_is_said() -> None:
    objects = np.full((2, 1000), 1e-4, np.float32)
    objects[1, read_class_names("imagenet").index("tabby")] = 0.9
    _, second = write_words(SeenSegments(vectors(1, 2), objects=objects), "vse", 0.6)
    assert (second.text, second.confidence) == ("An animal.", pytest.approx(0.8))


@pytest.mark.usefixtures("dog_scores")
def test_action_of_a_segment_is_named() -> None:
    actions = np.full((2, 600), 1e-4, np.float32)
    actions[1, action_names().index("tap dancing")] = 0.9
    first, second = write_words(SeenSegments(vectors(1, 2), actions), "vse", 0.6)
    assert (first.text, second.text) == ("A dog, in the snow.", "Dancing.")


@pytest.mark.parametrize(
    ("sure", "expected"),
    [
        ([{"a_dog": 9}, {"a_dog": 9, "cooking": 9}], ["", "A dog, cooking."]),
        (
            [{"a_dog": 9, "in_a_kitchen": 9}] * 2 + [{"a_dog": 9}, {"a_dog": 9, "in_a_kitchen": 9}],
            ["A dog, in a kitchen.", "", "", ""],
        ),
        (
            [
                {"a_dog": 9, "in_a_kitchen": 9},
                {"a_dog": 9, "in_a_forest": 9},
                {"a_dog": 9, "in_a_kitchen": 9},
            ],
            ["A dog, in a kitchen.", "A dog, in a forest.", "A dog, in a kitchen."],
        ),
        (
            [{"a_dog": 9, place: 9} for place in ("in_a_kitchen", "indoors", "in_a_bedroom")],
            ["A dog, in a kitchen.", "", "A dog, in a bedroom."],
        ),
    ],
    ids=["activity", "same place", "other places", "place in between that holds both"],
)
def test_only_activities_and_changes_of_place_are_new(
    monkeypatch: pytest.MonkeyPatch, sure: list[dict[str, float]], expected: list[str]
) -> None:
    numbers = {word.text: number for number, word in enumerate(read_words())}
    scores = np.full((len(sure), len(numbers)), -20, np.float32)
    for row, named in zip(scores, sure, strict=True):
        for name, value in named.items():
            row[numbers[name.replace("_", " ")]] = value
    monkeypatch.setattr(writers, "standard_scores", lambda space, rows: scores)
    sentences = write_words(SeenSegments(vectors(1, len(sure))), "vse", 0.6, only_changes=True)
    assert [sentence.text for sentence in sentences] == expected


def words_of(text: str, kind: str) -> list[str]:
    """Return the words of a kind that a line names."""
    named = text.removesuffix(".").lower().split(", ")
    return [word.text for word in read_words() if word.kind == kind and word.text in named]


@given(
    st.lists(
        st.dictionaries(
            st.sampled_from([number for number, word in enumerate(read_words()) if word.kind != "thing"]),
            st.floats(4, 9),
            max_size=3,
        ),
        min_size=2,
        max_size=8,
    )
)
def test_line_for_a_pause_has_an_activity_or_another_place(sure: list[dict[int, float]]) -> None:
    scores = np.full((len(sure), len(read_words())), -20, np.float32)
    for row, named in zip(scores, sure, strict=True):
        row[list(named)] = list(named.values())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writers, "standard_scores", lambda space, rows: scores)
        sentences = write_words(SeenSegments(vectors(1, len(sure))), "vse", 0.6, only_changes=True)
    place = None
    for sentence in filter(None, (sentence.text for sentence in sentences)):
        places = words_of(sentence, "place")
        assert words_of(sentence, "activity") or (places and places != [place])
        place = places[0] if places else place


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", 'file,caption\na.jpg,"a dog , running"\na.jpg,\nb.jpg,nan\nb.jpg,  Two cats .\nc.jpg\n'),
        ("a.csv", '\ufeffCaption\n"a dog , running"\n\n...\nTwo cats\n"a dog, running."\n'),
        ("a.txt", "a dog , running\n\n   \nx.jpg#0\tTwo cats .\n---\n"),
    ],
    ids=["table", "one column", "lines"],
)
@pytest.mark.parametrize("is_packed", [False, True], ids=["plain", "packed"])
def test_bank_is_read_tidied_and_without_repeats(
    tmp_path: Path, name: str, content: str, is_packed: bool
) -> None:
    path = tmp_path / (f"{name}.gz" if is_packed else name)
    path.write_bytes(gzip.compress(content.encode()) if is_packed else content.encode())
    bank = read_bank(path)
    assert bank.texts == ("A dog, running.", "Two cats.")
    np.testing.assert_array_equal(bank.vectors[1], vectors(len("Two cats."), 1)[0])


@pytest.mark.parametrize(
    ("name", "content", "word"),
    [
        ("a.csv", b"", "column"),
        ("a.csv", b"file,words\na.jpg,a dog\n", "column"),
        ("a.csv", b"caption\n\nnan\n", "no sentence"),
        ("a.csv", b'caption\n"a dog' + b"x" * 200_000 + b'"\n', "CSV"),
        ("a.txt", b"\n \n", "no sentence"),
        ("a.txt", b"\xfa\xfb", "UTF-8"),
        ("b.txt.gz", b"a dog", "gzip"),
        ("", b"", "b.txt"),
    ],
    ids=["empty", "no column", "no sentence", "huge field", "no line", "not UTF-8", "not packed", "missing"],
)
def test_bad_bank_is_refused_in_one_line(tmp_path: Path, name: str, content: bytes, word: str) -> None:
    path = tmp_path / (name or "b.txt")
    if name:
        path.write_bytes(content)
    with pytest.raises(InputError, match=word) as failed:
        read_bank(path)
    assert "\n" not in str(failed.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a dog  runs .", "A dog runs."),
        ("Where is it ?", "Where is it?"),
        ("A cat, a mouse,", "A cat, a mouse."),
        ("12 ...", ""),
        ("NaN", ""),
        ("étudiant", "Étudiant."),
    ],
)
def test_sentences_are_tidied(text: str, expected: str) -> None:
    assert tidy(text) == expected


def test_a_sentence_without_words_is_never_sure() -> None:
    assert not Sentence("", 0.0).is_sure(0)
    assert Sentence("A dog.", 0.0).is_sure(0)
