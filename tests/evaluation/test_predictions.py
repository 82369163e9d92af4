"""Rows from scorers and from files."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.evaluation.annotated import dataset
from vidsum.errors import InputError
from vidsum.evaluation.submissions import read_scores

VIDEOS = dataset()


@pytest.mark.parametrize("name", ["video_2", "made/video_2"])
def test_a_file_may_hold_some_videos_under_either_name(name: str, tmp_path: Path) -> None:
    path = tmp_path / "scores.json"
    path.write_text(json.dumps({name: np.linspace(0, 1, 40).tolist(), "tvsum/video_1": [1, 2]}))
    scores = read_scores(path, VIDEOS)
    assert list(scores) == ["made/video_2"]
    np.testing.assert_allclose(scores["made/video_2"], np.linspace(0, 1, 40), rtol=1e-6)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[1, 2]", "JSON object"),
        ("{", "cannot be read as JSON"),
        ("{}", "no scores for any video"),
        ('{"video_9": [1]}', "video_9 is not in the data"),
        ('{"made/video_9": [1]}', "made/video_9 is not in the data"),
        ('{"video_1": [1, 2, 3]}', "has 3 scores, but the video has 40 features"),
        ('{"video_1": "many"}', "no list: 'many'"),
        ('{"video_1": [[1], [1, 2]]}', r"no finite numbers: \[1\]"),
        (json.dumps({"video_1": [float("nan")] * 40}), "no finite numbers: nan"),
        (json.dumps({"video_1": [1e300] * 40}), "no finite numbers: 1e"),
        ('{"video_1": [1], "video_1": [2]}', "has the key 'video_1' twice"),
        ("[" * 100_000, "nested too deep"),
    ],
)
def test_what_is_wrong_with_a_file(text: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "scores.json"
    path.write_text(text)
    with pytest.raises(InputError, match=reason):
        read_scores(path, VIDEOS)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_scores(tmp_path / "no.json", VIDEOS)
