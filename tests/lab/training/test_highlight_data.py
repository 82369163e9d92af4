"""Examples of moments and saliency out of annotations and published features."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from vidsum.errors import InputError, UsageError
from vidsum.lab.datasets.moments import read_highlights
from vidsum.lab.training.annotated import annotated_highlights
from vidsum.lab.training.settings import DataSettings
from vidsum.types import FloatArray

N_VIDEOS, DIM, DIM_WORDS = 10, 6, 5


def _words(texts: Sequence[str]) -> list[FloatArray]:
    """A row for each word: its number."""
    return [np.array([[float(word)] for word in text.split()], np.float32) for text in texts]


@pytest.fixture(autouse=True)
def _encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = SimpleNamespace(encode_words=_words)
    monkeypatch.setattr("vidsum.lab.training.annotated.load_text_encoder", lambda name, device: encoder)


@pytest.fixture
def source(tmp_path: Path) -> DataSettings:
    """Video n lasts 20 + 2 n seconds and has two queries, with features and words as published."""
    rng = np.random.default_rng(0)
    for folder in ("features", "words"):
        (tmp_path / folder).mkdir()
    lines = []
    for n in range(N_VIDEOS):
        np.savez(tmp_path / "features" / f"film_{n}.npz", features=rng.random((10 + n, DIM), np.float32))
        for query in range(2):
            qid = 2 * n + query
            np.savez(tmp_path / "words" / f"qid{qid}.npz", last_hidden_state=rng.random((4 + n, DIM_WORDS)))
            clips = [1, 2, 3, 7]
            scores = [[query, 1, 2], [4, 4, 4], [0, 0, 1], [2, 2, 3]]
            windows = [[2, 8], [14, 16]]
            one = {"qid": qid, "query": f"{n} {query} 7", "vid": f"film_{n}", "duration": 20 + 2 * n}
            one |= {"relevant_windows": windows, "relevant_clip_ids": clips, "saliency_scores": scores}
            lines.append(json.dumps(one))
    (tmp_path / "train.jsonl").write_text("\n".join(lines))
    path = str(tmp_path / "train.jsonl")
    return DataSettings(data=(path,), features=(tmp_path / "features",), validation="0.2")


def test_an_example_is_one_query_with_the_scores_of_its_annotators(source: DataSettings) -> None:
    data = annotated_highlights(source, clips=75, words=32)
    assert len(data.examples(1)) == 16
    assert len(data.validation) == 4
    assert data.features["clip_s"] == 2.0
    known = list(read_highlights(Path(source.data[0])).values())
    for example in (*data.examples(1), *data.validation):
        n, query = (int(number) for number in example.words[:2, 0])
        assert example.name == f"film_{n}"
        assert example.video.shape == (10 + n, DIM + 2)
        np.testing.assert_allclose(np.linalg.norm(example.video[:, :DIM], axis=1), 1, atol=1e-5)
        np.testing.assert_allclose(example.windows * (20 + 2 * n), [[2, 8], [14, 16]], atol=1e-5)
        official = known[2 * n + query].saliency
        assert official is not None
        np.testing.assert_array_equal(example.saliency, official.sum(axis=1))


def test_published_words_are_taken_by_the_number_of_the_query(source: DataSettings, tmp_path: Path) -> None:
    data = annotated_highlights(replace(source, text_features=tmp_path / "words"), clips=75, words=6)
    assert data.about["text_features"] == "words"
    assert "text_features" not in annotated_highlights(source, clips=75, words=6).about
    shapes = {example.words.shape for example in data.examples(1)}
    assert shapes <= {(4, DIM_WORDS), (5, DIM_WORDS), (6, DIM_WORDS)}
    for example in data.examples(1):
        np.testing.assert_allclose(np.linalg.norm(example.words, axis=1), 1, atol=1e-5)
    (tmp_path / "words" / "qid3.npz").unlink()
    with pytest.raises(InputError, match=r"has no words of query 3 \(qid3.npz\)"):
        annotated_highlights(replace(source, text_features=tmp_path / "words"), clips=75, words=6)


@pytest.mark.parametrize(("text", "size"), [(None, 512), ("clip", 512), ("minilm", 384), ("glove", 50)])
def test_words_of_an_encoders_size_are_recorded_as_its(
    source: DataSettings, tmp_path: Path, text: Any, size: int
) -> None:
    for file in (tmp_path / "words").iterdir():
        np.savez(file, last_hidden_state=np.ones((4, size)))
    read = replace(source, text=text, text_features=tmp_path / "words")
    data = annotated_highlights(read, clips=75, words=6)
    assert (data.features["text"], data.warnings) == (text or "clip", ())


def test_no_encoder_is_said_to_have_made_words_of_another_size(source: DataSettings, tmp_path: Path) -> None:
    words = tmp_path / "words"
    data = annotated_highlights(replace(source, text_features=words), clips=75, words=6)
    assert "text" not in data.features
    assert [f"words of {DIM_WORDS} numbers are not those of clip" in one for one in data.warnings] == [True]
    encoders: list[dict[str, Any]] = [{"text": "glove"}, {"space": "clip"}]
    for encoder in encoders:
        with pytest.raises(UsageError, match=f"{words}: words of {DIM_WORDS} numbers are not") as refused:
            annotated_highlights(replace(source, text_features=words, **encoder), clips=75, words=6)
        assert "leave out --text" in str(refused.value.hint)


def test_a_video_of_more_clips_than_the_model_reads_is_averaged(source: DataSettings) -> None:
    data = annotated_highlights(source, clips=5, words=32)
    assert {example.video.shape for example in data.examples(1)} == {(5, DIM + 2)}
    assert {example.saliency.shape for example in data.examples(1)} == {(5,)}


def test_without_scores_a_clip_is_as_salient_as_it_is_covered(tmp_path: Path) -> None:
    (tmp_path / "train.json").write_text(
        json.dumps({"film": {"duration": 8.0, "timestamps": [[1.0, 4.0]], "sentences": ["3 4"]}})
    )
    np.save(tmp_path / "film.npy", np.ones((4, DIM), np.float32))
    source = DataSettings(data=(str(tmp_path / "train.json"),), features=(tmp_path,), validation="0")
    (example,) = annotated_highlights(source, clips=75, words=32).examples(1)
    assert example.saliency.tolist() == [6, 12, 0, 0]
    with pytest.raises(UsageError, match="its queries have no numbers") as refused:
        annotated_highlights(replace(source, text_features=tmp_path), clips=75, words=32)
    assert refused.value.hint == "without --text-features they are embedded"
