"""NumPy files of others: no array larger than what the file holds of it, and no objects."""

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vidsum.errors import InputError
from vidsum.lab.datasets.published_features import open_features, read_words
from vidsum.results.feature_files import read_features
from vidsum.results.features import Features

ROWS = np.arange(12, dtype=np.float32).reshape(6, 2)


def npy(array: np.ndarray[Any, Any]) -> bytes:
    """The bytes of an `.npy`."""
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=True)
    return stream.getvalue()


def with_header(header: str, body: bytes = b"", version: int = 1) -> bytes:
    """An `.npy` that claims what the header says."""
    text = header.encode().ljust(117) + b"\n"
    length = len(text).to_bytes(2 if version == 1 else 4, "little")
    return b"\x93NUMPY" + bytes([version, 0]) + length + text + body


def claiming(shape: str, descr: str = "<f4") -> bytes:
    """An `.npy` of such a shape and type."""
    return with_header(f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}", bytes(8))


def bent(text: str) -> bytes:
    """A text, one of whose characters is none."""
    array = np.array(text).reshape(1)
    array.view(np.uint32)[0] = 0x7FFFFFFF
    return npy(array.reshape(()))


BAD = {
    "claims TiB": claiming("(1000000, 1000000)"),
    "claims too little": claiming("(1,)"),
    "claims a negative size": claiming("(-2, -1)"),
    "claims more than numbers can say": claiming(f"({10**30}, 2)"),
    "objects": npy(np.array([{"a": 1}], object)),
    "records": npy(np.zeros(3, [("a", "f4"), ("b", "f4")])),
    "complex": npy(np.ones((3, 2), complex)),
    "dates": npy(np.zeros((3, 2), "M8[s]")),
    "text": npy(np.array([["a", "b"]])),
    "a header cut short": with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1), \x07"),
    "a header that is no mapping": with_header("[1, 2]"),
    "a header deep in brackets": with_header("(" * 110),
    "a header of unknown type": claiming("(2, 1)", descr="<q9"),
    "a format of the future": with_header("{}", version=9),
    "no header": b"text",
    "nothing": b"",
}


@pytest.mark.parametrize("content", BAD.values(), ids=BAD)
def test_bad_arrays(tmp_path: Path, content: bytes) -> None:
    for name in ("f.npz", "qid1.npz", "v_a.npz"):
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.writestr("features.npy", content)
            archive.writestr("last_hidden_state.npy", content)
    with pytest.raises(InputError, match=r"f\.npz: not a feature file"):
        read_features(tmp_path / "f.npz")
    with pytest.raises(InputError, match=r"qid1\.npz"):
        read_words(tmp_path, "1")
    with pytest.raises(InputError, match=r"v_a\.npz"):
        open_features([tmp_path], ["v_a"])("v_a")
    (tmp_path / "v_b.npy").write_bytes(content)
    with pytest.raises(InputError, match=r"v_b\.npy"):
        open_features([tmp_path], ["v_b"])("v_b")


def test_other_members(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "f.npz", "w") as archive:
        archive.writestr("features.npy", npy(ROWS))
        archive.writestr("read_me.txt", "features of a film")
        archive.writestr("captions.npy", npy(np.array([{"a": 1}], object)))
    np.testing.assert_array_equal(read_features(tmp_path / "f.npz").array, ROWS)
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (6L, 2L), }"  # by Python 2
    with zipfile.ZipFile(tmp_path / "h.npz", "w") as archive:
        archive.writestr("features.npy", with_header(header, ROWS.tobytes()))
    np.testing.assert_array_equal(read_features(tmp_path / "h.npz").array, ROWS)
    np.savez(tmp_path / "i.npz", features=np.full((3, 2), 1e300))
    with pytest.raises(InputError, match="infinite"):
        read_features(tmp_path / "i.npz")


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["<f4", ">f4", "<f8", "<f2", "<i8", "|u1", "|b1"])
def test_types_of_numbers(tmp_path: Path, order: Any, dtype: str) -> None:
    array = np.asarray(ROWS.astype(dtype), order=order)
    np.savez(tmp_path / "f.npz", features=array)
    np.testing.assert_array_equal(read_features(tmp_path / "f.npz").array, array.astype(np.float32))
    np.savez_compressed(tmp_path / "f.npz", features=array)
    np.testing.assert_array_equal(read_features(tmp_path / "f.npz").array, array.astype(np.float32))


def file_of(folder: Path, **arrays: Any) -> Path:
    """A feature file with our metadata, and other arrays."""
    metadata = np.array(json.dumps(Features.from_array(ROWS).metadata))
    known = {"features": ROWS, "timestamps": np.arange(6) / 2, "metadata": metadata}
    np.savez(folder / "f.npz", **{**known, **arrays})
    return folder / "f.npz"


@pytest.mark.parametrize(
    "metadata",
    [bent("{}"), npy(np.array("[1]")), npy(np.array("{" * 9)), npy(np.array("[" * 100_000)), npy(ROWS)],
    ids=["no characters", "a list", "no JSON", "deep JSON", "numbers"],
)
def test_no_metadata(tmp_path: Path, metadata: bytes) -> None:
    with zipfile.ZipFile(tmp_path / "f.npz", "w") as archive:
        archive.writestr("features.npy", npy(ROWS))
        archive.writestr("timestamps.npy", npy(np.arange(6.0)))
        archive.writestr("metadata.npy", metadata)
    with pytest.raises(InputError, match="not a feature file"):
        read_features(tmp_path / "f.npz")


@pytest.mark.parametrize(
    "change",
    [
        *({"duration_s": value} for value in (float("inf"), float("nan"), 1e300, 10**400, True)),
        {"step_s": "0.5"},
        {"covers_s": None},
        {"video_fps": 1e300},
        {"extractor": 3},
        {"video": "film.mp4"},
        {"video": {"path": float("nan")}},
        {"provenance": [1]},
        {"provenance": {"seconds": float("nan")}},
        {"warnings": {"a": 1}},
        {"warnings": [1]},
    ],
    ids=str,
)
def test_bad_metadata(tmp_path: Path, change: dict[str, Any]) -> None:
    facts = {**Features.from_array(ROWS).metadata, **change}
    with pytest.raises(InputError, match="not a feature file"):
        read_features(file_of(tmp_path, metadata=np.array(json.dumps(facts))))


@pytest.mark.parametrize("name", ["logits", "embeddings"])
@pytest.mark.parametrize("rows", [np.ones(6), np.ones((5, 3)), np.full((6, 2), "a")], ids=str)
def test_rows_of_another_shape(tmp_path: Path, name: str, rows: np.ndarray[Any, Any]) -> None:
    with pytest.raises(InputError, match="not a feature file"):
        read_features(file_of(tmp_path, **{name: rows}))


@pytest.mark.shared
@pytest.mark.parametrize("name", ["npz_m42", "npz3_m2"])
def test_bad_files(shared: Path, name: str) -> None:
    with pytest.raises(InputError, match="not a feature file"):
        read_features(shared / "bad" / f"{name}.npz")


def test_compression_ratio(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "f.npz", "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("features.npy", npy(np.zeros((4000, 1000), np.float32)))
    assert (tmp_path / "f.npz").stat().st_size < 5000
    with pytest.raises(InputError, match="compression ratio"):
        read_features(tmp_path / "f.npz")
