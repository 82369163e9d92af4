"""The pickle reader gives arrays back and refuses to call anything else."""

import os
import pickle
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vidsum.checkpoints.torch_files import read_numpy_pickle
from vidsum.errors import WeightsError

TREE = {
    "params": {"conv": {"kernel": np.arange(6, dtype=np.float32).reshape(2, 3), "bias": np.zeros(3)}},
    "step": np.array(7),
}


def read(folder: Path, data: bytes) -> dict[str, np.ndarray]:
    path = folder / "weights.ckpt"
    path.write_bytes(data)
    return dict(read_numpy_pickle(path))


@pytest.mark.parametrize("protocol", [3, 4])
@pytest.mark.parametrize("module", [b"numpy.core.multiarray", b"numpy._core.multiarray"])
def test_pickled_arrays_of_both_versions_of_numpy_are_read(
    tmp_path: Path, protocol: int, module: bytes
) -> None:
    data = pickle.dumps(TREE, protocol)
    if protocol == 3:
        data = data.replace(b"numpy._core.multiarray", b"numpy.core.multiarray")
        data = data.replace(b"numpy.core.multiarray", module)
    arrays = read(tmp_path, data)
    assert list(arrays) == ["params/conv/kernel", "params/conv/bias", "step"]
    np.testing.assert_array_equal(arrays["params/conv/kernel"], [[0, 1, 2], [3, 4, 5]])
    assert arrays["params/conv/kernel"].dtype == np.float32


class Calls:
    """Pickles as a call: what a malicious file holds."""

    def __init__(self, function: Callable[..., Any], *arguments: object) -> None:
        self.call = (function, arguments)

    def __reduce__(self) -> Any:
        return self.call


@pytest.mark.parametrize("function", [os.system, eval, exec, getattr, subprocess.call, np.load])
@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_call_in_a_pickle_is_refused(tmp_path: Path, function: Callable[..., Any], protocol: int) -> None:
    trace = tmp_path / "was-here"
    evil = Calls(function, f"touch {trace}")
    for content in (evil, np.array([evil], dtype=object)):
        with pytest.raises(WeightsError, match="may not call"):
            read(tmp_path, pickle.dumps({"params": {"x": content}}, protocol))
        assert not trace.exists()


@pytest.mark.parametrize(("tree", "message"), [
    (np.zeros(3), "the pickle is not an array"),
    ([np.zeros(3)], "the pickle is not an array"),
    ({"a": {"b": 3}}, "a/b is not an array"),
    ({"a": np.array(["text"])}, "a is not an array of numbers"),
    ({"a": np.array([{}], dtype=object)}, "a is not an array of numbers"),
    ({"a": {1: np.zeros(3)}}, "1 in a is not the name"),
])  # fmt: skip
def test_pickle_of_other_things_than_named_arrays_is_refused(tmp_path: Path, tree: Any, message: str) -> None:
    with pytest.raises(WeightsError, match=message):
        read(tmp_path, pickle.dumps(tree))


@pytest.mark.parametrize("data", [b"", b"not a pickle", pickle.dumps(TREE)[:-20], b"\x80\x04)\x81."])
def test_damaged_pickle_is_refused(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(WeightsError, match=r"weights\.ckpt: not a pickle of arrays"):
        read(tmp_path, data)
