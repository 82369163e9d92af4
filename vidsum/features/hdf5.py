"""Reading HDF5 files of others: nothing outside the file, and nothing larger than the file can hold.

HDF5 lets a file name other files to read from: by external links, by external storage of a dataset, and by
virtual datasets. A feature file that does so is refused, as it could show any file of the machine. A dataset
may also claim any shape without storing it, so its size is compared with what is stored.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import numpy.typing as npt

from vidsum.errors import InputError
from vidsum.features.arrays import existing, refusing

_DEFLATED = 1032
"""Deflate, the strongest of HDF5's usual filters, makes a file at most so many times smaller."""
_ALWAYS_BYTES = 1 << 16
"""What any dataset may claim: a small one that was never written reads as zeros."""
_MOST_LINKS = 16
"""Soft links that lead to one another; more are taken for a circle."""
_NUMBERS = "biuf"


@contextmanager
def opened(path: Path, kind: str = "feature file") -> Iterator[h5py.File]:
    """An HDF5 file open for reading; what goes wrong inside is told as `refusing` does.

    Raises:
        InputError: the file is missing, or is not HDF5; it is called not a `kind`.
    """
    with refusing(existing(path), kind), h5py.File(path, "r") as file:
        yield file


def member(group: h5py.Group, name: str) -> h5py.Group | h5py.Dataset | None:
    """A group or dataset by its name or path, followed link by link; None where there is none.

    Raises:
        InputError: the way to it leaves the file, or the dataset is none that `checked` takes.
    """
    found = _follow(group, name, _MOST_LINKS)
    return checked(found) if isinstance(found, h5py.Dataset) else found


def members(group: h5py.Group) -> dict[str, h5py.Group | h5py.Dataset]:
    """All groups and datasets of a group by their names; errors are those of `member`."""
    found = {name: member(group, name) for name in group}
    return {name: one for name, one in found.items() if one is not None}


def checked(dataset: h5py.Dataset) -> h5py.Dataset:
    """The same dataset, once it is known to be whole in its file.

    Raises:
        InputError: it is stored in another file, or claims more than is stored.
    """
    if dataset.external is not None or dataset.is_virtual:
        raise _elsewhere(dataset, "is stored in other files")
    claimed = (dataset.size or 0) * dataset.dtype.itemsize
    stored = min(dataset.id.get_storage_size(), dataset.file.id.get_filesize())
    if claimed > max(_ALWAYS_BYTES, stored * (1 if dataset.chunks is None else _DEFLATED)):
        raise InputError(
            f"{dataset.file.filename}: {dataset.name} claims {claimed:,} bytes, but stores {stored:,}"
        )
    return dataset


def array_of(dataset: h5py.Dataset) -> npt.NDArray[Any]:
    """The numbers of a dataset; an empty array for texts, records and references, which are not read."""
    if dataset.shape is None or dataset.dtype.kind not in _NUMBERS:
        return np.empty(0, object)
    return np.asarray(dataset[()])


def text_attribute(group: h5py.Group, name: str) -> str | None:
    """An attribute that is one text; None where there is none.

    Raises:
        InputError: it is something else.
    """
    if name not in group.attrs:
        return None
    if group.attrs.get_id(name).shape != ():
        raise InputError(f"{group.file.filename}: {group.name}: its attribute {name} is not a text")
    return str(group.attrs[name])


def _follow(group: h5py.Group, path: str, links_left: int) -> h5py.Group | h5py.Dataset | None:
    found: Any = group.file["/"] if path.startswith("/") else group
    for name in path.split("/"):
        if name in ("", "."):
            continue
        if not isinstance(found, h5py.Group):
            return None
        link = found.get(name, getlink=True)
        if isinstance(link, h5py.ExternalLink):
            raise _elsewhere(found, f"links {name} to another file")
        if isinstance(link, h5py.SoftLink):
            found = _follow(found, link.path, links_left - 1) if links_left else None
        else:
            found = None if link is None else found[name]
    return found if isinstance(found, h5py.Group | h5py.Dataset) else None


def _elsewhere(entry: h5py.Group | h5py.Dataset, reason: str) -> InputError:
    return InputError(
        f"{entry.file.filename}: {entry.name} {reason}: not read",
        hint="give one file that holds all its data",
    )
