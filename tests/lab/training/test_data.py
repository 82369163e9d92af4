"""Examples of moments and saliency out of annotations and features on disk."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from vidsum.errors import InputError, UsageError
from vidsum.grounding.windows import resample
from vidsum.lab.datasets.moment_examples import HighlightExample, MomentExample
from vidsum.lab.datasets.published_features import open_features
from vidsum.lab.datasets.timed_sentences import read_highlights
from vidsum.lab.training.annotated import MomentData, annotated_highlights, annotated_moments
from vidsum.lab.training.settings import DataSettings
from vidsum.types import FloatArray

N_VIDEOS, CLIPS, DIM = 20, 4, 6


def _encode(texts: Sequence[str]) -> FloatArray:
    """A text as the numbers in it."""
    return np.array([[float(word) for word in text.split()] for text in texts], np.float32)


@pytest.fixture(autouse=True)
def encoders(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the encoders that are asked for."""
    encoder_names: list[str] = []

    def load(name: str) -> SimpleNamespace:
        encoder_names.append(name)
        return SimpleNamespace(encode=_encode, encode_words=_words)

    monkeypatch.setattr("vidsum.lab.training.annotated.load_text_encoder", load)
    return encoder_names


def _write(path: Path, numbers: Sequence[int]) -> Path:
    """Video n lasts 10 + n seconds and has n % 3 + 1 sentences, each true from its number on to the end."""
    videos = {
        f"film_{n}": {
            "duration": 10.0 + n,
            "sentences": [f"{n} {query}" for query in range(n % 3 + 1)],
            "timestamps": [[float(query), 10.0 + n] for query in range(n % 3 + 1)],
        }
        for n in numbers
    }
    path.write_text(json.dumps(videos))
    folder = path.parent / "features"
    folder.mkdir(exist_ok=True)
    for n in numbers:
        np.save(folder / f"film_{n}.npy", np.random.default_rng(n).random((9 + n, DIM), np.float32))
    return path


@pytest.fixture
def source(tmp_path: Path) -> DataSettings:
    """Annotations of all videos with their features."""
    path = _write(tmp_path / "train.json", range(N_VIDEOS))
    return DataSettings(data=(str(path),), features=(tmp_path / "features",))


def _names(data: MomentData[MomentExample]) -> tuple[set[str], set[str]]:
    return {one.name for one in data.examples(1)}, {one.name for one in data.validation}


def _all_examples(data: MomentData[MomentExample]) -> list[tuple[int, MomentExample]]:
    """Examples of training and validation with the number of their video."""
    return [
        (int(example.name.removeprefix("film_")), example)
        for example in (*data.examples(1), *data.validation)
    ]


def test_examples_have_the_clips_of_their_video(source: DataSettings) -> None:
    for _, example in _all_examples(annotated_moments(source, CLIPS)):
        (rows,) = open_features(source.features, [example.name])(example.name)
        np.testing.assert_array_equal(example.video, resample(rows, CLIPS))


def test_examples_have_embeddings_of_their_queries(source: DataSettings) -> None:
    for n, example in _all_examples(annotated_moments(source, CLIPS)):
        np.testing.assert_array_equal(example.queries, [[n, query] for query in range(n % 3 + 1)])


def test_examples_have_windows_as_shares_of_their_video(source: DataSettings) -> None:
    for n, example in _all_examples(annotated_moments(source, CLIPS)):
        expected = [[[query / (10 + n), 1]] for query in range(n % 3 + 1)]
        np.testing.assert_allclose(example.windows, expected, rtol=1e-6)


def test_examples_are_read_once_for_all_epochs(source: DataSettings) -> None:
    data = annotated_moments(source, CLIPS)
    assert data.examples(1) is data.examples(2)


@pytest.fixture
def spoken(source: DataSettings, tmp_path: Path) -> DataSettings:
    """Annotations whose queries are vectors of files: the numbers of video and query, and 7."""
    videos = json.loads(Path(source.data[0]).read_text())
    folder = tmp_path / "spoken"
    folder.mkdir()
    for name, video in videos.items():
        video["audios"] = [f"{name}_{query}.wav" for query in range(len(video["sentences"]))]
        for query in range(len(video["sentences"])):
            np.save(folder / f"{name}_{query}.npy", np.array([int(name[5:]), query, 7.0]))
    Path(source.data[0]).write_text(json.dumps(videos))
    return replace(source, query_features=folder)


def test_queries_can_be_vectors_of_files(spoken: DataSettings, encoders: list[str]) -> None:
    data = annotated_moments(spoken, CLIPS)
    assert encoders == []
    for n, example in _all_examples(data):
        np.testing.assert_array_equal(example.queries, [[n, query, 7] for query in range(n % 3 + 1)])


def test_checkpoint_knows_that_it_reads_queries_from_files(
    source: DataSettings, spoken: DataSettings
) -> None:
    plain = annotated_moments(source, CLIPS).features
    assert annotated_moments(spoken, CLIPS).features == {
        **{key: value for key, value in plain.items() if key != "text"},
        "queries": {"dim": 3, "from": "spoken"},
    }


def test_share_of_the_videos_is_held_out(source: DataSettings) -> None:
    trained, judged = _names(annotated_moments(source, CLIPS))
    assert len(judged) == 2
    assert not trained & judged
    assert len(trained | judged) == N_VIDEOS


def test_videos_are_held_out_by_the_seed(source: DataSettings) -> None:
    first, again = (_names(annotated_moments(source, CLIPS)) for _ in range(2))
    assert first == again
    assert first != _names(annotated_moments(source, CLIPS, seed=1))


def test_no_video_need_be_held_out(source: DataSettings) -> None:
    assert annotated_moments(replace(source, validation="0"), CLIPS).validation == []


def test_file_for_validation_is_all_held_out(source: DataSettings, tmp_path: Path) -> None:
    other = _write(tmp_path / "val.json", [30, 31])
    data = annotated_moments(replace(source, validation=str(other)), CLIPS)
    trained, judged = _names(data)
    assert judged == {"film_30", "film_31"}
    assert len(trained) == N_VIDEOS
    assert data.about["validation"] == "val.json"
    assert [file["name"] for file in data.about["annotations"]] == ["train.json", "val.json"]


def test_validation_on_a_training_video_is_refused(source: DataSettings) -> None:
    with pytest.raises(UsageError, match="film_0 is among the training videos too"):
        annotated_moments(replace(source, validation=source.data[0]), CLIPS)


def test_repairs_of_training_and_of_validation_files_are_warned_of(
    source: DataSettings, tmp_path: Path
) -> None:
    for path in (Path(source.data[0]), _write(tmp_path / "val.json", [30])):
        videos = json.loads(path.read_text())
        first = next(iter(videos.values()))
        first["sentences"][0] = " "
        first["sentences"].append("9 9")
        first["timestamps"].append([1.0, 2.0])
        path.write_text(json.dumps(videos))
    warnings = annotated_moments(replace(source, validation=str(tmp_path / "val.json")), CLIPS).warnings
    assert [warning.rpartition(" ")[2] for warning in warnings] == ["film_0", "film_30"]


# of videos of 10 to 29 s, 95 of 100 last 28.05 s or less
READS = {"space": "features", "text": "minilm", "dim": DIM, "clip_s": round(28.05 / CLIPS, 3)}


def test_checkpoint_knows_the_size_and_length_of_its_clips(source: DataSettings) -> None:
    assert annotated_moments(replace(source, validation="0"), CLIPS).features == READS


def test_checkpoint_knows_the_sizes_of_several_sources(source: DataSettings, tmp_path: Path) -> None:
    (first,) = source.features
    (tmp_path / "second").mkdir()
    for path in first.iterdir():
        np.save(tmp_path / "second" / path.name, np.load(path)[:, :2] + 1)
    several = replace(source, features=(first, tmp_path / "second"), validation="0")
    assert annotated_moments(several, CLIPS).features == {**READS, "dim": DIM + 2, "dims": [DIM, 2]}


@pytest.mark.parametrize(
    ("space", "text", "encoder"),
    [
        ("features", None, "minilm"),
        ("features", "glove", "glove"),
        ("clip", None, "clip"),
        ("clip", "clip", "clip"),
        ("vse", None, "minilm"),
    ],
)
def test_space_has_its_encoder(
    source: DataSettings, encoders: list[str], space: Any, text: Any, encoder: str
) -> None:
    data = annotated_moments(replace(source, space=space, text=text), CLIPS)
    assert encoders == [encoder]
    assert (data.features["space"], data.features["text"]) == (space, encoder)


def test_another_encoder_than_the_spaces_is_refused(source: DataSettings) -> None:
    with pytest.raises(UsageError, match="in the space clip are embedded by clip, not by glove"):
        annotated_moments(replace(source, space="clip", text="glove"), CLIPS)


def test_several_windows_of_a_query_are_kept(tmp_path: Path) -> None:
    lines = [
        {"qid": 1, "query": "1 1", "vid": "film", "duration": 10, "relevant_windows": [[0, 2], [6, 8]]},
        {"qid": 2, "query": "2 2", "vid": "film", "duration": 10, "relevant_windows": [[4, 10]]},
    ]
    path = tmp_path / "train.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    np.savez(tmp_path / "film.npz", features=np.ones((5, DIM), np.float32))
    source = DataSettings(data=(str(path),), features=(tmp_path,), validation="0")
    example = annotated_moments(source, CLIPS).examples(1)[0]
    expected = [[[0, 0.2], [0.6, 0.8]], [[0.4, 1], [0, 0]]]
    np.testing.assert_allclose(example.windows, expected, rtol=1e-6)


def test_missing_features_of_a_video_are_named(source: DataSettings, tmp_path: Path) -> None:
    (tmp_path / "features" / "film_3.npy").unlink()
    with pytest.raises(InputError, match="no features of 1 of 20 videos, such as film_3"):
        annotated_moments(source, CLIPS)


def test_holding_out_all_videos_is_refused(source: DataSettings) -> None:
    with pytest.raises(UsageError, match="from 0 to less than 1, not 1"):
        annotated_moments(replace(source, validation="1"), CLIPS)


def test_holding_out_a_share_of_one_video_is_refused(source: DataSettings, tmp_path: Path) -> None:
    single = _write(tmp_path / "single.json", [5])
    with pytest.raises(UsageError, match="one video cannot be split") as refused:
        annotated_moments(replace(source, data=(str(single),)), CLIPS)
    assert refused.value.hint == "validation=0"


def test_videos_without_a_query_are_refused(source: DataSettings, tmp_path: Path) -> None:
    empty = {"film_5": {"duration": 10.0, "sentences": [" "], "timestamps": [[0.0, 1.0]]}}
    (tmp_path / "empty.json").write_text(json.dumps(empty))
    with pytest.raises(UsageError, match="no video has a query"):
        annotated_moments(replace(source, data=(str(tmp_path / "empty.json"),), validation="0"), CLIPS)


def test_repaired_annotations_are_reported(source: DataSettings) -> None:
    videos = json.loads(Path(source.data[0]).read_text())
    videos["film_4"]["timestamps"][1] = [5.0, 4.0]
    Path(source.data[0]).write_text(json.dumps(videos))
    data = annotated_moments(replace(source, validation="0"), CLIPS)
    assert any("film_4" in warning for warning in data.warnings)


# --- moments and saliency ---

N_QUERIED, DIM_CLIP, DIM_WORDS = 10, 6, 5


def _words(texts: Sequence[str]) -> list[FloatArray]:
    """A row for each word: its number."""
    return [np.array([[float(word)] for word in text.split()], np.float32) for text in texts]


@pytest.fixture
def queried(tmp_path: Path) -> DataSettings:
    """Video n lasts 20 + 2 n seconds and has two queries, with features and words as published."""
    rng = np.random.default_rng(0)
    for folder in ("features", "words"):
        (tmp_path / folder).mkdir()
    lines = []
    for n in range(N_QUERIED):
        np.savez(tmp_path / "features" / f"film_{n}.npz", features=rng.random((10 + n, DIM_CLIP), np.float32))
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


@pytest.fixture
def numbered(queried: DataSettings) -> list[tuple[int, int, HighlightExample]]:
    """Examples of training and validation with the numbers of their video and query."""
    data = annotated_highlights(queried, clips=75, words=32)
    examples = (*data.examples(1), *data.validation)
    return [
        (int(words[0]), int(words[1]), example) for example in examples for words in [example.words[:, 0]]
    ]


def test_each_query_is_an_example(queried: DataSettings) -> None:
    data = annotated_highlights(queried, clips=75, words=32)
    assert (len(data.examples(1)), len(data.validation)) == (16, 4)
    assert data.features["clip_s"] == 2.0


def test_example_of_a_query_has_the_clips_of_its_video(
    numbered: list[tuple[int, int, HighlightExample]],
) -> None:
    for n, _, example in numbered:
        assert example.name == f"film_{n}"
        assert example.video.shape == (10 + n, DIM_CLIP + 2)
        np.testing.assert_allclose(np.linalg.norm(example.video[:, :DIM_CLIP], axis=1), 1, atol=1e-5)


def test_example_of_a_query_has_its_windows(numbered: list[tuple[int, int, HighlightExample]]) -> None:
    for n, _, example in numbered:
        np.testing.assert_allclose(example.windows * (20 + 2 * n), [[2, 8], [14, 16]], atol=1e-5)


def test_saliency_of_an_example_is_the_sum_of_its_annotators(
    queried: DataSettings, numbered: list[tuple[int, int, HighlightExample]]
) -> None:
    known = list(read_highlights(Path(queried.data[0])).values())
    for n, query, example in numbered:
        official = known[2 * n + query].saliency
        assert official is not None
        np.testing.assert_array_equal(example.saliency, official.sum(axis=1))


def test_words_of_files_have_length_one_and_are_cut_to_the_most(
    queried: DataSettings, tmp_path: Path
) -> None:
    data = annotated_highlights(replace(queried, text_features=tmp_path / "words"), clips=75, words=6)
    shapes = {example.words.shape for example in data.examples(1)}
    assert shapes <= {(4, DIM_WORDS), (5, DIM_WORDS), (6, DIM_WORDS)}
    for example in data.examples(1):
        np.testing.assert_allclose(np.linalg.norm(example.words, axis=1), 1, atol=1e-5)


def test_checkpoint_knows_the_files_of_its_words(queried: DataSettings, tmp_path: Path) -> None:
    data = annotated_highlights(replace(queried, text_features=tmp_path / "words"), clips=75, words=6)
    assert data.about["text_features"] == "words"
    assert "text_features" not in annotated_highlights(queried, clips=75, words=6).about


def test_missing_words_of_a_query_are_named(queried: DataSettings, tmp_path: Path) -> None:
    (tmp_path / "words" / "qid3.npz").unlink()
    with pytest.raises(InputError, match=r"has no words of query 3 \(qid3.npz\)"):
        annotated_highlights(replace(queried, text_features=tmp_path / "words"), clips=75, words=6)


@pytest.mark.parametrize(("text", "size"), [(None, 512), ("clip", 512), ("minilm", 384), ("glove", 50)])
def test_words_of_an_encoders_size_are_recorded_as_its(
    queried: DataSettings, tmp_path: Path, text: Any, size: int
) -> None:
    for file in (tmp_path / "words").iterdir():
        np.savez(file, last_hidden_state=np.ones((4, size)))
    read = replace(queried, text=text, text_features=tmp_path / "words")
    data = annotated_highlights(read, clips=75, words=6)
    assert (data.features["text"], data.warnings) == (text or "clip", ())


def test_words_of_an_unknown_size_are_of_no_encoder_with_a_warning(
    queried: DataSettings, tmp_path: Path
) -> None:
    data = annotated_highlights(replace(queried, text_features=tmp_path / "words"), clips=75, words=6)
    assert "text" not in data.features
    (warning,) = data.warnings
    assert f"words of {DIM_WORDS} numbers are not those of clip" in warning


@pytest.mark.parametrize("encoder", [{"text": "glove"}, {"space": "clip"}], ids=str)
def test_words_of_another_size_than_the_encoders_are_refused(
    queried: DataSettings, tmp_path: Path, encoder: dict[str, Any]
) -> None:
    words = tmp_path / "words"
    with pytest.raises(UsageError, match=f"{words}: words of {DIM_WORDS} numbers are not") as refused:
        annotated_highlights(replace(queried, text_features=words, **encoder), clips=75, words=6)
    assert "leave out text" in str(refused.value.hint)


def test_video_of_more_clips_than_the_model_reads_is_averaged(queried: DataSettings) -> None:
    data = annotated_highlights(queried, clips=5, words=32)
    assert {example.video.shape for example in data.examples(1)} == {(5, DIM_CLIP + 2)}
    assert {example.saliency.shape for example in data.examples(1)} == {(5,)}


@pytest.fixture
def unscored(tmp_path: Path) -> DataSettings:
    """A video of four clips and one query, without scores of annotators and without numbers."""
    video = {"duration": 8.0, "timestamps": [[1.0, 4.0]], "sentences": ["3 4"]}
    (tmp_path / "train.json").write_text(json.dumps({"film": video}))
    np.save(tmp_path / "film.npy", np.ones((4, DIM_CLIP), np.float32))
    return DataSettings(data=(str(tmp_path / "train.json"),), features=(tmp_path,), validation="0")


def test_without_scores_a_clip_is_as_salient_as_it_is_covered(unscored: DataSettings) -> None:
    (example,) = annotated_highlights(unscored, clips=75, words=32).examples(1)
    assert example.saliency.tolist() == [6, 12, 0, 0]


def test_words_of_files_are_refused_for_queries_without_numbers(unscored: DataSettings) -> None:
    with pytest.raises(UsageError, match="its queries have no numbers") as refused:
        annotated_highlights(replace(unscored, text_features=unscored.features[0]), clips=75, words=32)
    assert refused.value.hint == "without text_features they are embedded"
