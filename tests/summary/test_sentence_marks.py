"""Marks of sentences: where passages can begin and end, and what states the subject."""

import json
from math import exp, isnan
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from docs.benchmarks.references import LABELLED
from tests.summary.standing_texts import CAST, LATE, OLD, QUESTION
from vidsum import checkpoints
from vidsum.grounding.text_encoders import load_text_encoder
from vidsum.summary.sentence_marks import STANDING, is_question, mark_inputs, marks_of, sentence_marks

TALK = [QUESTION, LATE, "So they came.", CAST, OLD]


def test_sentences_that_need_others_begin_worse() -> None:
    """Labels by another reader, of two speeches and a hearing that did not fit the models."""
    begins, needs = list[float](), list[bool]()
    for speech in json.loads(LABELLED.read_text(encoding="utf-8"))["speeches"]:
        texts = [part["text"] for part in speech["sentences"]]
        begins += sentence_marks(texts, is_english=True)[:, 0].tolist()
        needs += [part["needs"] for part in speech["sentences"]]
    assert roc_auc_score(needs, [-begin for begin in begins]) > 0.77  # .5 is chance, .79 loose references


def test_inputs_are_meanings_and_facts() -> None:
    rows = mark_inputs(TALK, is_english=True)
    meanings = load_text_encoder("minilm").encode(TALK)
    np.testing.assert_allclose(rows[2, :384], meanings[2], atol=1e-5)
    np.testing.assert_allclose(rows[2, 384:768], meanings[1], atol=1e-5)
    np.testing.assert_allclose(rows[2, 768:1152], meanings[3], atol=1e-5)
    np.testing.assert_allclose(rows[2, 1159:1161], [meanings[2] @ meanings[n] for n in (1, 3)], atol=1e-5)
    assert rows[1, 1152:1155].tolist() == [0, 1, 0]  # the sentence before asks
    np.testing.assert_allclose(rows[2, 1155:1157], np.log1p([3, 8]))
    assert not rows[0, 384:768].any()  # nothing is said there
    assert not rows[-1, 768:1152].any()


def test_words_are_new_or_come_again() -> None:
    bees = "Bees make honey."
    (_, new, again), (_, later, never) = mark_inputs([bees, bees], is_english=False)[:, 1156:1159]
    assert (new, again, later, never) == (1, 1, 0, 0)


def test_places_are_likeness_to_the_talk_and_distance_from_its_middle() -> None:
    rows, meanings = mark_inputs(TALK, is_english=True), load_text_encoder("minilm").encode(TALK)
    mean = meanings.mean(axis=0)
    np.testing.assert_allclose(rows[:, 1162], meanings @ mean / np.linalg.norm(mean), atol=1e-5)
    np.testing.assert_allclose(
        rows[:, 1163:], [[0, 0.5], [0.2, 0.3], [0.4, 0.1], [0.6, 0.1], [0.8, 0.3]], atol=1e-6
    )


def test_meanings_and_references_are_unknown_in_other_languages() -> None:
    rows = mark_inputs(TALK, is_english=False)
    assert np.isnan(rows[:, :1152]).all()
    assert np.isnan(rows[:, 1159:1163]).all()
    known = [*range(1152, 1159), 1163, 1164]
    np.testing.assert_array_equal(rows[:, known], mark_inputs(TALK, is_english=True)[:, known])


@given(st.integers(1, 4), st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_marks_are_logistic_functions_of_what_is_known(n: int, d: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    mean, weight, bias = rng.normal(size=d), rng.normal(size=(3, d)), rng.normal(size=3)
    inputs = np.where(rng.random((n, d)) < 0.3, np.nan, rng.normal(size=(n, d)))
    marks = marks_of({"mean": mean, "weight": weight, "bias": bias}, inputs)
    for row, answers in zip(inputs, marks, strict=True):
        for mark in range(3):
            known = [(x - m) * w for x, m, w in zip(row, mean, weight[mark], strict=True) if not isnan(x)]
            assert answers[mark] == pytest.approx(1 / (1 + exp(-sum(known) - bias[mark])), rel=1e-5)


def test_models_have_the_inputs() -> None:
    tensors = checkpoints.load_arrays(STANDING)
    width = mark_inputs(TALK, is_english=False).shape[1]
    assert {name: tensor.shape for name, tensor in tensors.items()} == {
        "mean": (width,),
        "weight": (3, width),
        "bias": (3,),
    }


def test_long_talks_report_how_many_sentences_are_embedded(own_home: Path) -> None:
    steps = list[tuple[str, float, float]]()
    texts = [f"Printer number {n} casts letters." for n in range(3)]
    mark_inputs(texts, is_english=True, progress=lambda *step: steps.append(step))
    assert steps == [("sentences embedded", 3, 3)]


@pytest.mark.parametrize("is_english", [True, False])
def test_a_talk_without_sentences_has_no_marks(is_english: bool) -> None:
    assert sentence_marks([], is_english=is_english).shape == (0, 3)


@pytest.mark.parametrize(("text", "asks"), [('"Why?"', True), ("Why not.", False), ("为什么？", True)])
def test_question_ends_with_its_mark(text: str, asks: bool) -> None:
    assert is_question(text) == asks
