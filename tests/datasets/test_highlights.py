"""QVHighlights' annotations, good and bad."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.datasets.moment_layouts import highlight, in_seconds, with_saliency, write_json, write_lines
from vidsum.datasets.highlights import read_highlights
from vidsum.errors import InputError


def test_annotators_score_the_clips_of_the_windows(tmp_path: Path) -> None:
    lines = (
        with_saliency(highlight(7, "x", "A girl", (2, 6)) | {"duration": 9}, {2: (1, 4), 1: (0, 3)}),
        with_saliency(highlight(8, "x", "A dog", (0, 2), (4, 6)) | {"duration": 9}, {0: (2, 2), 2: (3, 4)}),
    )
    queries = read_highlights(write_lines(tmp_path / "val.jsonl", *lines))
    assert list(queries) == ["7", "8"]
    first = queries["7"]
    assert (first.text, first.video, first.duration_s, first.n_clips) == ("A girl", "x", 9.0, 4)
    assert queries["8"].windows == ((0.0, 2.0), (4.0, 6.0))
    assert first.saliency is not None
    assert first.saliency.tolist() == [[0, 0], [0, 3], [1, 4], [0, 0]]


def test_annotations_without_saliency_are_read_too(tmp_path: Path) -> None:
    queries = read_highlights(write_lines(tmp_path / "val.jsonl", highlight(7, "x", "A girl", (2, 6))))
    assert queries["7"].saliency is None


GOOD = highlight(1, "x", "A dog", (0, 4))


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ([], "holds no annotation"),
        ([GOOD, GOOD], "line 2: has qid 1 again"),
        ([{key: value for key, value in GOOD.items() if key != "qid"}], "line 1: has no qid"),
        ([GOOD | {"relevant_windows": []}], "line 1: has no window"),
        ([GOOD | {"relevant_windows": [[4, 2]]}], "line 1: has a window that is inverted"),
        ([GOOD | {"relevant_windows": [[4, 4]]}], r"line 1: .* video of 150 s: \[4.0, 4.0\]"),
        ([GOOD | {"relevant_windows": [[0, 152]]}], "line 1: has a window that"),
        ([GOOD | {"relevant_windows": [[-2, 2]]}], "line 1: has a window that"),
        ([with_saliency(GOOD, {0: (1,)}) | {"relevant_clip_ids": [0, 1]}], "2 relevant_clip_ids, but 1"),
        ([with_saliency(GOOD, {-1: (1,)})], "line 1: has relevant_clip_ids that .*: -1"),
        ([with_saliency(GOOD, {0: (1,)}) | {"relevant_clip_ids": ["a"]}], "relevant_clip_ids that .*: 'a'"),
        ([with_saliency(GOOD, {0: (1,), 75: (2,)})], "line 1: has clip 75 in .*; the last is 74"),
        ([with_saliency(GOOD, {0: (1,), 1: (2, 3)})], "not one of each annotator for each clip"),
        ([with_saliency(GOOD, {})], "not one of each annotator for each clip"),
        ([with_saliency(GOOD, {0: ()})], "not one of each annotator for each clip"),
        ([with_saliency(GOOD, {0: (float("nan"),)})], "saliency_scores that are no finite numbers: nan"),
        ([with_saliency(GOOD, {0: ("a",)})], "saliency_scores that are no finite numbers: 'a'"),
        ([GOOD | {"relevant_clip_ids": [0], "saliency_scores": [3]}], "saliency_scores that are no list: 3"),
        ([GOOD | {"saliency_scores": [[3]]}], "has no list relevant_clip_ids"),
        (
            [with_saliency(GOOD, {0: (1, 2)}), with_saliency(GOOD | {"qid": 2}, {0: (1,)})],
            "line 2: has 1 annotators, those before it 2",
        ),
        ([with_saliency(GOOD, {0: (1, 2)}), GOOD | {"qid": 2}], "line 2: has 0 annotators"),
        ([{key: value for key, value in GOOD.items() if key != "relevant_windows"}], "of a test split"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(tmp_path: Path, lines: list[Any], reason: str) -> None:
    with pytest.raises(InputError, match=reason) as caught:
        read_highlights(write_lines(tmp_path / "val.jsonl", *lines))
    assert str(caught.value).startswith(str(tmp_path / "val.jsonl"))


def test_other_layouts_have_no_numbers(tmp_path: Path) -> None:
    path = write_json(tmp_path / "test.json", {"v_a": in_seconds(9, (1, 2, "A dog"))})
    with pytest.raises(InputError, match="v_a: has no qid"):
        read_highlights(path)


@pytest.mark.shared
def test_all_published_annotations_are_read(shared: Path) -> None:
    path = shared / "data" / "qvhighlights" / "highlight_val_release.jsonl"
    queries = read_highlights(path)
    assert len(queries) == 1550
    for line in path.read_text().splitlines():
        entry = json.loads(line)
        saliency = queries[str(entry["qid"])].saliency
        assert saliency is not None
        assert saliency.shape == (entry["duration"] // 2, 3)
        assert saliency[entry["relevant_clip_ids"]].tolist() == entry["saliency_scores"]
        assert saliency.sum() == np.sum(entry["saliency_scores"])
