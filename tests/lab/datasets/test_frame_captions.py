"""Captions of sampled frames: files written here, their faults, and the captions of TVSum and SumMe."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vidsum.errors import InputError
from vidsum.lab.datasets.clip_captions import read_frame_captions
from vidsum.lab.datasets.labels import read_summe_protocol, read_tvsum_mat

GOOD = {"picks": [0, 15, 30], "captions": ["a dog", "a dog runs", "Käse 🧀"]}


def write(path: Path, videos: Any) -> Path:
    path.write_text(json.dumps(videos))
    return path


CAPTIONED = st.dictionaries(
    st.integers(0, 10**9), st.text(st.characters(exclude_categories=["Cs"])).filter(str.strip), min_size=1
)


@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), CAPTIONED, min_size=1))
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, videos: dict[str, dict[int, str]]
) -> None:
    stored = {
        name: {"picks": sorted(each), "captions": [each[pick] for pick in sorted(each)]}
        for name, each in videos.items()
    }
    path = write(tmp_path_factory.getbasetemp() / "captions.json", stored)
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
def test_a_fault_names_file_and_video(tmp_path: Path, change: dict[str, Any], reason: str) -> None:
    path = write(tmp_path / "c.json", {"good": GOOD, "Bike Polo": {**GOOD, **change}})
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
def test_other_layouts_are_refused(tmp_path: Path, videos: Any, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        read_frame_captions(write(tmp_path / "c.json", videos))


@pytest.mark.shared
def test_the_captions_of_tvsum_fit_its_annotations(shared: Path) -> None:
    captions = read_frame_captions(shared / "data" / "tvsum" / "frame_captions.json")
    videos = read_tvsum_mat(shared / "data" / "tvsum" / "ydata-tvsum50.mat")
    assert {video.file_name for video in videos.values()} == captions.keys()
    for video in videos.values():
        np.testing.assert_array_equal(captions[video.file_name].picks, np.arange(0, video.n_frames, 15))
    texts = [caption for each in captions.values() for caption in each.captions]
    assert (len(texts), len(set(texts))) == (23510, 8257)


@pytest.mark.shared
def test_the_captions_of_summe_fit_its_protocol(shared: Path) -> None:
    captions = read_frame_captions(shared / "data" / "summe" / "frame_captions.json")
    videos = read_summe_protocol(shared / "data" / "summe" / "summe_protocol.npz")
    assert {video.file_name for video in videos.values()} == captions.keys()
    for video in videos.values():
        np.testing.assert_array_equal(captions[video.file_name].picks, video.picks)
    assert sum(len(each.captions) for each in captions.values()) == 7336
