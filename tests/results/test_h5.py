"""HDF5 files of others: what is outside the file is never read, nor more than the file can hold."""

from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest

from vidsum.errors import InputError
from vidsum.lab.datasets.labels import read_tvsum_mat
from vidsum.lab.datasets.published_features import check_features, read_parts
from vidsum.lab.datasets.summaries import read_annotated
from vidsum.results.feature_files import read_features

ROWS = np.arange(40, dtype=np.float32).reshape(10, 4)
Spoil = Callable[[h5py.Group, str, Path], None]


def external_storage(group: h5py.Group, name: str, secret: Path) -> None:
    """A dataset whose bytes are those of another file."""
    group.create_dataset(name, shape=(10, 4), dtype="u1", external=[(str(secret), 0, 40)])


def external_link(group: h5py.Group, name: str, secret: Path) -> None:
    """A link to a dataset of another HDF5 file."""
    group[name] = h5py.ExternalLink(str(secret.with_suffix(".h5")), "/features")


def soft_link_out(group: h5py.Group, name: str, secret: Path) -> None:
    """A link within the file that goes on through one that leaves it."""
    group.file["way_out"] = h5py.ExternalLink(str(secret.with_suffix(".h5")), "/")
    group[name] = h5py.SoftLink("/way_out/features")


def virtual(group: h5py.Group, name: str, secret: Path) -> None:
    """A dataset that is put together of another file's."""
    layout = h5py.VirtualLayout((10, 4), "f4")
    layout[:] = h5py.VirtualSource(str(secret.with_suffix(".h5")), "features", (10, 4))
    group.create_virtual_dataset(name, layout)


def huge(group: h5py.Group, name: str, secret: Path) -> None:
    """A shape of TiB, nothing of which was ever written."""
    group.create_dataset(name, shape=(1_000_000, 1_000_000), dtype="f4")


def huge_chunked(group: h5py.Group, name: str, secret: Path) -> None:
    """The same in pieces, one of which is there."""
    made = group.create_dataset(name, (1_000_000, 1_000_000), "f4", chunks=(100, 100), compression="gzip")
    made[:100, :100] = 1


SPOILT = [external_storage, external_link, soft_link_out, virtual, huge, huge_chunked]
spoilt = pytest.mark.parametrize("spoil", SPOILT, ids=lambda spoil: spoil.__name__)


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """A file that nobody asked for, and the like as HDF5 beside it."""
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


@spoilt
@pytest.mark.parametrize("key", ["features", "n_steps"])
@pytest.mark.parametrize("read", [read_features, read_annotated])
def test_datasets_that_are_not_in_the_file_are_refused(
    tmp_path: Path, secret: Path, spoil: Spoil, key: str, read: Callable[[Path], object]
) -> None:
    with h5py.File(tmp_path / "f.h5", "w") as file:
        group = annotated(file)
        spoil(group, key, secret)
        if key != "features":
            group["features"] = ROWS
    with pytest.raises(InputError, match=r"f\.h5: /.*(other file|another file|claims)"):
        read(tmp_path / "f.h5")


@spoilt
@pytest.mark.parametrize("key", ["v_a", "v_a/c3d_features"])
def test_published_features_that_are_not_in_the_file_are_refused(
    tmp_path: Path, secret: Path, spoil: Spoil, key: str
) -> None:
    with h5py.File(tmp_path / "f.h5", "w") as file:
        group = file.require_group("v_a") if "/" in key else file
        spoil(group, key.rpartition("/")[2], secret)
    if "link" not in spoil.__name__:
        check_features([tmp_path / "f.h5"], ["v_a"])  # looks at names and links alone
    with pytest.raises(InputError, match=r"f\.h5: /.*(other file|another file|claims)"):
        read_parts([tmp_path / "f.h5"], "v_a")


@spoilt
def test_annotations_that_are_not_in_the_file_are_refused(tmp_path: Path, secret: Path, spoil: Spoil) -> None:
    with h5py.File(tmp_path / "y.mat", "w") as file:
        spoil(file.create_group("tvsum50"), "title", secret)
    with pytest.raises(InputError, match=r"y\.mat: /.*(other file|another file|claims)"):
        read_tvsum_mat(tmp_path / "y.mat")


def test_a_cell_that_is_not_in_the_file_is_refused(tmp_path: Path, secret: Path) -> None:
    with h5py.File(tmp_path / "y.mat", "w") as file:
        external_storage(file.create_group("#refs#"), "a", secret)
        reference = [[file["#refs#/a"].ref]]
        for field in ("video", "title", "category", "length", "nframes", "user_anno", "gt_score"):
            file.create_dataset(f"tvsum50/{field}", data=reference, dtype=h5py.ref_dtype)
    with pytest.raises(InputError, match="other file"):
        read_tvsum_mat(tmp_path / "y.mat")


def test_a_video_that_is_a_link_to_another_file_is_refused(tmp_path: Path, secret: Path) -> None:
    with h5py.File(tmp_path / "f.h5", "w") as file:
        file["video_1"] = h5py.ExternalLink(str(secret.with_suffix(".h5")), "/")
    with pytest.raises(InputError, match="another file"):
        read_features(tmp_path / "f.h5")


def test_links_within_the_file_are_followed(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "f.h5", "w") as file:
        file["all/of_video_1"] = ROWS
        group = annotated(file.create_group("data"))
        group["features"] = h5py.SoftLink("/all/of_video_1")
        group["gone"] = h5py.SoftLink("nowhere")
        file["video_1"] = h5py.SoftLink("data/video_1")
    np.testing.assert_array_equal(read_features(tmp_path / "f.h5", "video_1").array, ROWS)


def test_links_in_a_circle_lead_nowhere(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "f.h5", "w") as file:
        group = annotated(file)
        group["features"], group["there"] = h5py.SoftLink("there"), h5py.SoftLink("features")
    with pytest.raises(InputError, match="not a feature file"):
        read_features(tmp_path / "f.h5")


def test_what_compresses_well_is_read(tmp_path: Path) -> None:
    zeros = np.zeros((500, 1000), np.float32)
    with h5py.File(tmp_path / "f.h5", "w") as file:
        file.create_dataset("video_1/features", data=zeros, compression="gzip", compression_opts=9)
    assert (tmp_path / "f.h5").stat().st_size < zeros.nbytes / 50
    assert read_features(tmp_path / "f.h5").array.shape == zeros.shape


def test_texts_beside_the_numbers_do_no_harm(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "f.h5", "w") as file:
        group = annotated(file)
        group["features"] = ROWS
        group["captions"] = ["a", "b"]
        group["nothing"] = h5py.Empty("f4")
    assert len(read_features(tmp_path / "f.h5")) == len(ROWS)


def test_an_attribute_that_is_no_text_is_refused(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "f.h5", "w") as file:
        annotated(file).attrs["vidsum"] = [1, 2]
    with pytest.raises(InputError, match="attribute vidsum"):
        read_features(tmp_path / "f.h5")


@pytest.mark.shared
@pytest.mark.parametrize(("name", "video"), [("h5ev_tvsum131", "video_1"), ("h5tr_tvsum552", "video_2")])
def test_files_that_once_asked_for_more_than_the_machine_has(shared: Path, name: str, video: str) -> None:
    with pytest.raises(InputError, match="claims"):
        read_features(shared / "bad" / f"{name}.h5", video)
