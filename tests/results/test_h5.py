"""HDF5 files of others: no data outside the file are read, nor more than the file can hold."""

from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest

from vidsum.errors import InputError
from vidsum.lab.datasets.annotated_videos import read_annotated
from vidsum.lab.datasets.labels import read_tvsum_mat
from vidsum.lab.datasets.published_features import open_features
from vidsum.results.feature_files import read_features

ROWS = np.arange(40, dtype=np.float32).reshape(10, 4)
Spoil = Callable[[h5py.Group, str, Path], None]


def external_storage(group: h5py.Group, name: str, secret: Path) -> None:
    group.create_dataset(name, shape=(10, 4), dtype="u1", external=[(str(secret), 0, 40)])


def external_link(group: h5py.Group, name: str, secret: Path) -> None:
    group[name] = h5py.ExternalLink(str(secret.with_suffix(".h5")), "/features")


def soft_link_out(group: h5py.Group, name: str, secret: Path) -> None:
    group.file["way_out"] = h5py.ExternalLink(str(secret.with_suffix(".h5")), "/")
    group[name] = h5py.SoftLink("/way_out/features")


def virtual(group: h5py.Group, name: str, secret: Path) -> None:
    layout = h5py.VirtualLayout((10, 4), "f4")
    layout[:] = h5py.VirtualSource(str(secret.with_suffix(".h5")), "features", (10, 4))
    group.create_virtual_dataset(name, layout)


def huge(group: h5py.Group, name: str, secret: Path) -> None:  # TiB without data
    group.create_dataset(name, shape=(1_000_000, 1_000_000), dtype="f4")


def huge_chunked(group: h5py.Group, name: str, secret: Path) -> None:  # one piece of TiB is in the file
    made = group.create_dataset(name, (1_000_000, 1_000_000), "f4", chunks=(100, 100), compression="gzip")
    made[:100, :100] = 1


SPOILT = [external_storage, external_link, soft_link_out, virtual, huge, huge_chunked]


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """A file that must not be read, and another as HDF5 next to it."""
    path = tmp_path / "secret.txt"
    path.write_bytes(bytes(range(40)))
    with h5py.File(path.with_suffix(".h5"), "w") as file:
        file["features"] = ROWS
    return path


def annotated(file: h5py.File) -> h5py.Group:
    """A group in the field's layout, without features."""
    group = file.create_group("video_1")
    group["gtscore"] = np.linspace(0, 1, 10)
    group["picks"] = np.arange(10) * 15
    group["n_frames"] = 150
    group["change_points"] = [[0, 149]]
    return group


def read_published(path: Path) -> object:
    return open_features([path], ["v_a"])("v_a")


@pytest.mark.parametrize("spoil", SPOILT, ids=lambda spoil: spoil.__name__)
@pytest.mark.parametrize(
    ("place", "read"),
    [
        ("video_1/features", read_features),
        ("video_1/features", read_annotated),
        ("video_1/n_steps", read_features),
        ("video_1/n_steps", read_annotated),
        ("v_a", read_published),
        ("v_a/c3d_features", read_published),
        ("tvsum50/title", read_tvsum_mat),
    ],
)
def test_data_outside_the_file_or_larger_than_it_are_refused(
    tmp_path: Path, secret: Path, spoil: Spoil, place: str, read: Callable[[Path], object]
) -> None:
    folder, _, name = place.rpartition("/")
    with h5py.File(tmp_path / "f.h5", "w") as file:
        group = annotated(file) if folder == "video_1" else file.require_group(folder or "/")
        spoil(group, name, secret)
        if name == "n_steps":
            group["features"] = ROWS
    if read == read_published and "link" not in spoil.__name__:
        open_features([tmp_path / "f.h5"], ["v_a"])  # reads names and links alone
    with pytest.raises(InputError, match=r"f\.h5: /.*(other file|another file|claims)"):
        read(tmp_path / "f.h5")


def test_cell_of_a_mat_outside_the_file_is_refused(tmp_path: Path, secret: Path) -> None:
    with h5py.File(tmp_path / "y.mat", "w") as file:
        external_storage(file.create_group("#refs#"), "a", secret)
        reference = [[file["#refs#/a"].ref]]
        for field in ("video", "title", "category", "length", "nframes", "user_anno", "gt_score"):
            file.create_dataset(f"tvsum50/{field}", data=reference, dtype=h5py.ref_dtype)
    with pytest.raises(InputError, match="other file"):
        read_tvsum_mat(tmp_path / "y.mat")


def test_links_within_the_file_are_followed(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "f.h5", "w") as file:
        file["all/of_video_1"] = ROWS
        group = annotated(file.create_group("data"))
        group["features"] = h5py.SoftLink("/all/of_video_1")
        group["gone"] = h5py.SoftLink("nowhere")
        group["captions"] = ["a", "b"]
        group["nothing"] = h5py.Empty("f4")
        file["video_1"] = h5py.SoftLink("data/video_1")
    np.testing.assert_array_equal(read_features(tmp_path / "f.h5", "video_1").array, ROWS)


def test_links_in_a_circle_are_refused(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "f.h5", "w") as file:
        group = annotated(file)
        group["features"], group["there"] = h5py.SoftLink("there"), h5py.SoftLink("features")
    with pytest.raises(InputError, match="not a feature file"):
        read_features(tmp_path / "f.h5")


def test_video_in_another_file_is_refused(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "f.h5", "w") as file:
        file["video_1"] = h5py.ExternalLink(str(tmp_path / "none.h5"), "/")
    with pytest.raises(InputError, match="another file"):
        read_features(tmp_path / "f.h5")


def test_metadata_of_a_wrong_type_are_refused(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "f.h5", "w") as file:
        annotated(file).attrs["vidsum"] = [1, 2]
    with pytest.raises(InputError, match="attribute vidsum"):
        read_features(tmp_path / "f.h5")


def test_features_that_compress_well_are_read(tmp_path: Path) -> None:
    zeros = np.zeros((500, 1000), np.float32)
    with h5py.File(tmp_path / "f.h5", "w") as file:
        file.create_dataset("video_1/features", data=zeros, compression="gzip", compression_opts=9)
    assert (tmp_path / "f.h5").stat().st_size < zeros.nbytes / 50
    assert read_features(tmp_path / "f.h5").array.shape == zeros.shape


@pytest.mark.shared
@pytest.mark.parametrize(("name", "video"), [("h5ev_tvsum131", "video_1"), ("h5tr_tvsum552", "video_2")])
def test_shared_files_that_claim_too_much_memory_are_refused(shared: Path, name: str, video: str) -> None:
    with pytest.raises(InputError, match="claims"):
        read_features(shared / "bad" / f"{name}.h5", video)
