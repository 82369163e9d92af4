"""Captions of clips and of sampled frames: layouts, faults, embeddings."""

import gzip
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.lab.datasets.moment_layouts import write_json
from vidsum.errors import InputError
from vidsum.lab.datasets import clip_captions
from vidsum.lab.datasets.clip_captions import (
    embed_captions,
    is_captions,
    read_clip_captions,
    read_frame_captions,
)
from vidsum.lab.datasets.labels import read_labels
from vidsum.lab.datasets.published_features import open_features

VIDEOS = {"v_a": ["a dog runs", 'it\'s a "dog"'], "v_b": ["a dog runs", "", "snow\\d"]}


def lines_of(videos: dict[str, Any], write: Callable[[Any], Any] = list) -> str:
    return "".join(json.dumps({"vid": name, "captions": write(each)}) + "\n" for name, each in videos.items())


def stored(path: Path, text: str) -> Path:
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


@pytest.mark.parametrize("name", ["captions.jsonl", "captions.jsonl.gz"])
@pytest.mark.parametrize("write", [list, str])
def test_captions_as_a_list_or_a_list_in_a_text_are_read(
    tmp_path: Path, name: str, write: Callable[[Any], Any]
) -> None:
    path = stored(tmp_path / name, lines_of(VIDEOS, write))
    assert read_clip_captions(path) == {video: tuple(each) for video, each in VIDEOS.items()}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("[]", "line 1: is not a JSON object"),
        ('{"captions": ["a"]}', "line 1: has no text vid"),
        ('{"vid": "v"}', "line 1: has no list of captions: None"),
        ('{"vid": "v", "captions": "a dog"}', "has captions that are not a list"),
        ('{"vid": "v", "captions": "' + "[" * 5000 + '"}', "has captions that are not a list"),
        ('{"vid": "v", "captions": "{1: 2}"}', "has no list of captions"),
        ('{"vid": "v", "captions": ["a", 2]}', "has no text as caption 1: 2"),
        ('{"vid": "v", "captions": ["\\ud800"]}', "has no text as caption 0"),
        ('{"vid": "v", "captions": ["a"]}\n{"vid": "v", "captions": ["a"]}', "line 2: has the video v again"),
        ("", "holds no captions"),
        ("{", "line 1: cannot be read as JSON"),
    ],
)
@pytest.mark.parametrize("name", ["bad.jsonl", "bad.jsonl.gz"])
def test_fault_of_clip_captions_is_named(tmp_path: Path, name: str, line: str, reason: str) -> None:
    with pytest.raises(InputError) as raised:
        read_clip_captions(stored(tmp_path / name, line))
    assert name in str(raised.value)
    assert reason in str(raised.value)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"text", "not a gzip file"),
        (gzip.compress(lines_of(VIDEOS).encode())[:-9], "damaged"),
        (gzip.compress(b"\xfa\xfb"), "not a text file in UTF-8"),
    ],
    ids=["text", "cut", "bytes"],
)
def test_damaged_file_of_captions_is_refused(tmp_path: Path, content: bytes, reason: str) -> None:
    (tmp_path / "bad.jsonl.gz").write_bytes(content)
    with pytest.raises(InputError, match=reason):
        read_clip_captions(tmp_path / "bad.jsonl.gz")


@pytest.mark.parametrize("name", ["none.jsonl.gz", "none.jsonl"])
def test_missing_file_of_captions_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=f"{name}: no such file"):
        read_clip_captions(tmp_path / name)


@pytest.fixture
def encoded_texts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """A text encoder of a few numbers in MiniLM's place; the texts that it was given."""
    texts: list[str] = []

    def encode(batch: Sequence[str]) -> np.ndarray:
        texts.extend(batch)
        return np.array([vector_of(text) for text in batch], np.float32)

    monkeypatch.setenv("VIDSUM_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(clip_captions.checkpoints, "sha256_of", lambda name: f"sha of {name}")
    monkeypatch.setattr(clip_captions, "load_text_encoder", lambda *_: SimpleNamespace(encode=encode))
    return texts


def vector_of(text: str) -> list[float]:
    numbers = np.array([1.0 + len(text), text.count("d"), text.count("o")])
    return list(numbers / np.linalg.norm(numbers))


CAPTIONS = {name: tuple(captions) for name, captions in VIDEOS.items()}


def test_captions_of_a_video_have_their_embeddings(encoded_texts: list[str]) -> None:
    embedded = embed_captions(CAPTIONS)
    for video, captions in VIDEOS.items():
        assert np.allclose(embedded[video], [vector_of(caption) for caption in captions])


def test_each_distinct_caption_is_embedded_once(encoded_texts: list[str]) -> None:
    embed_captions(CAPTIONS)
    assert sorted(encoded_texts) == sorted({text for captions in VIDEOS.values() for text in captions})


def test_progress_counts_distinct_captions(encoded_texts: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vidsum.grounding.text_encoders._TEXTS_PER_REPORT", 2)
    done: list[tuple[str, float, float]] = []
    embed_captions(CAPTIONS, lambda *given: done.append(given))
    assert done == [("sentences embedded", 2, 4), ("sentences embedded", 4, 4)]


def test_embeddings_of_captions_are_cached(encoded_texts: list[str]) -> None:
    first = embed_captions(CAPTIONS)
    encoded_texts.clear()
    again = embed_captions(CAPTIONS)
    assert all(np.array_equal(again[video], first[video]) for video in VIDEOS)
    assert encoded_texts == []


def test_file_of_captions_is_known_by_its_name(tmp_path: Path) -> None:
    assert is_captions(tmp_path / "captions.jsonl.gz")
    assert not is_captions(tmp_path / "features.hdf5")


def test_videos_without_captions_are_named_before_any_is_embedded(
    tmp_path: Path, encoded_texts: list[str]
) -> None:
    path = stored(tmp_path / "captions.jsonl.gz", lines_of(VIDEOS))
    with pytest.raises(InputError, match="has no features of 1 of 2 videos, such as v_c"):
        open_features([path], ["v_a", "v_c"])
    assert encoded_texts == []


def test_captions_are_features_beside_others(tmp_path: Path, encoded_texts: list[str]) -> None:
    path = stored(tmp_path / "captions.jsonl.gz", lines_of(VIDEOS))
    folder = tmp_path / "features"
    folder.mkdir()
    np.save(folder / "v_b.npy", np.eye(3, 4, dtype=np.float32))
    first, second = open_features([path, folder], ["v_b"])("v_b")
    assert np.allclose(first, [vector_of(caption) for caption in VIDEOS["v_b"]])
    assert np.array_equal(second, np.eye(3, 4))


# --- captions of sampled frames ---

GOOD = {"picks": [0, 15, 30], "captions": ["a dog", "a dog runs", "Käse 🧀"]}


CAPTIONED = st.dictionaries(
    st.integers(0, 10**9), st.text(st.characters(exclude_categories=["Cs"])).filter(str.strip), min_size=1
)


@settings(max_examples=25)
@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), CAPTIONED, min_size=1))
def test_frame_captions_are_read_as_they_were_written(
    tmp_path_factory: pytest.TempPathFactory, videos: dict[str, dict[int, str]]
) -> None:
    stored = {
        name: {"picks": sorted(each), "captions": [each[pick] for pick in sorted(each)]}
        for name, each in videos.items()
    }
    path = write_json(tmp_path_factory.getbasetemp() / "captions.json", stored)
    read = read_frame_captions(path)
    assert list(read) == list(videos)
    for name, each in read.items():
        assert each.name == name
        assert each.picks.dtype == np.int64
        assert each.picks.tolist() == stored[name]["picks"]
        assert list(each.captions) == stored[name]["captions"]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"picks": None}, "no list picks"),
        ({"captions": {}}, "no list captions"),
        ({"picks": [0, 15]}, "3 captions for 2 picks"),
        ({"picks": [], "captions": []}, "no captions"),
        ({"picks": [0, 15, 15]}, "15 after 15"),
        ({"picks": [-15, 0, 15]}, "not the number of a frame: -15"),
        ({"picks": [0, 15.0, 30]}, r"not the number of a frame: 15\.0"),
        ({"picks": [0, 15, 10**30]}, "not the number of a frame: 1000"),
        ({"captions": ["a dog", 7, "a cat"]}, "caption of frame 15: 7"),
        ({"captions": ["a dog", "a cat", " "]}, "caption of frame 30: ' '"),
        ({"captions": ["\ud83e", "a cat", "a cow"]}, "caption of frame 0: "),
    ],
)
def test_fault_of_frame_captions_names_file_and_video(
    tmp_path: Path, change: dict[str, Any], reason: str
) -> None:
    path = write_json(tmp_path / "c.json", {"good": GOOD, "Bike Polo": {**GOOD, **change}})
    with pytest.raises(InputError, match=rf"c\.json: Bike Polo: .*{reason}"):
        read_frame_captions(path)


@pytest.mark.parametrize(
    ("videos", "reason"),
    [
        ([GOOD], r"c\.json: is not a JSON object"),
        ({}, r"c\.json: holds no video"),
        ({"x": ["a dog"]}, r"c\.json: x: is not a JSON object"),
    ],
)
def test_other_layouts_of_frame_captions_are_refused(tmp_path: Path, videos: Any, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        read_frame_captions(write_json(tmp_path / "c.json", videos))


@pytest.mark.shared
@pytest.mark.parametrize(
    ("annotations", "counts"),
    [("tvsum/ydata-tvsum50.mat", (23510, 8257)), ("summe/summe_protocol.npz", (7336, 1897))],
)
def test_published_captions_fit_their_annotations(
    shared: Path, annotations: str, counts: tuple[int, int]
) -> None:
    path = shared / "data" / annotations
    captions, videos = read_frame_captions(path.parent / "frame_captions.json"), read_labels(path)
    assert {video.file_name for video in videos.values()} == captions.keys()
    for video in videos.values():
        np.testing.assert_array_equal(captions[video.file_name].picks, video.picks)
    texts = [caption for each in captions.values() for caption in each.captions]
    assert (len(texts), len(set(texts))) == counts
