"""The shared recordings, joined with pauses: every edge of what is cut lies where a phrase ends."""

from collections.abc import Sequence
from itertools import chain, pairwise
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import real_weights
from tests.voices import RATE, read_whole, write_wav
from vidsum.evidence.spoken import iter_passages, speech_moments, split_sentences
from vidsum.pipelines.transcribe import transcribe
from vidsum.results.sentences import cuts_inside_phrases
from vidsum.results.transcript import Transcript, Word

pytestmark = [pytest.mark.shared, pytest.mark.weights, pytest.mark.deep]
NEAR_S = 0.1


def is_good_edge(words: Sequence[Word], time_s: float) -> bool:
    """Whether a time is at a full stop, a pause or a comma; written anew."""
    if time_s <= words[0].start_s + NEAR_S or time_s >= words[-1].end_s - NEAR_S:
        return True
    return any(
        before.end_s - NEAR_S <= time_s <= after.start_s + NEAR_S
        and (after.start_s - before.end_s >= 0.25 or before.text[-1] in ".?!,;:")
        for before, after in pairwise(words)
    )


@pytest.fixture(scope="module", params=[0, 1])
def talk(
    request: pytest.FixtureRequest, shared: Path, tmp_path_factory: pytest.TempPathFactory
) -> Transcript:
    real_weights("whisper_base")
    rng = np.random.default_rng(request.param)
    recordings = sorted((shared / "speech").glob("*.flac"))
    pauses = [np.zeros(round(rng.uniform(0.2, 2) * RATE), np.float32) for _ in recordings]
    parts = chain(*zip(map(read_whole, recordings), pauses, strict=True))
    path = tmp_path_factory.mktemp("talk") / "talk.wav"
    write_wav(np.concatenate(list(parts)), path)
    return transcribe(path, cache=False)


@pytest.mark.parametrize("longest_s", [5.0, 10.0, 15.0, 30.0])
def test_sentences_of_recordings_end_where_phrases_do(talk: Transcript, longest_s: float) -> None:
    sentences = talk.sentences(longest_s)
    edges_s = [edge_s for sentence in sentences for edge_s in (sentence.start_s, sentence.end_s)]
    bad_s = {edge_s for edge_s in edges_s if not is_good_edge(talk.words, edge_s)}
    assert bad_s == set(cuts_inside_phrases(talk.spoken, edges_s))
    assert not bad_s or longest_s == 5
    assert min(sentence.length_s for sentence in sentences) >= 2 or len(sentences) == 1


@pytest.mark.parametrize("query", ["invention of movable metal letters", "has never been surpassed"])
def test_a_quotation_of_recordings_is_a_sentence_or_clause(talk: Transcript, query: str) -> None:
    passages = list(iter_passages(split_sentences(talk)))
    quoted, *_ = speech_moments(query, passages, np.zeros(len(passages), np.float32), 5)
    assert quoted.score > 1
    assert 1 <= quoted.end_s - quoted.start_s <= 12
    assert is_good_edge(talk.words, quoted.start_s)
    assert is_good_edge(talk.words, quoted.end_s)
