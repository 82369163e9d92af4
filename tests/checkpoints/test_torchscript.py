"""The TorchScript reader gives what torch's own gives, without running the archive."""

import os
import pickle
import warnings
import zipfile
from pathlib import Path

import pytest
import torch
from torch import nn

from tests.checkpoints.test_unpickle import Calls
from vidsum.checkpoints.torch_files import read_torch
from vidsum.errors import WeightsError


class Block(nn.Module):
    """A module with parameters, buffers, numbers and lists, of several dtypes."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)
        self.norm = nn.BatchNorm2d(4)
        self.scale = nn.Parameter(torch.randn(2, 3).half())
        self.turned = nn.Parameter(torch.randn(4, 6).t())
        self.register_buffer("steps", torch.arange(3))
        self.register_buffer("nothing", torch.empty(0))
        self.register_buffer("brain", torch.randn(5).bfloat16())
        self.sizes = [1, 2]
        self.factor = 0.5

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.norm(self.conv(x)).mean() * self.factor * self.sizes[0]
        x = x + self.scale.sum() + self.turned.sum() + self.steps.sum()
        return x + self.brain.sum() + self.nothing.sum()


@pytest.fixture(params=["script", "trace"])
def archive(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    torch.manual_seed(0)
    net = nn.Sequential(Block(), nn.Sequential(nn.Identity())).eval()
    path = tmp_path / "net.pt"
    with warnings.catch_warnings():  # TorchScript is deprecated, but CLIP is published in it
        warnings.simplefilter("ignore")
        is_script, example = request.param == "script", torch.ones(1, 3, 8, 8)
        compiled = torch.jit.script(net) if is_script else torch.jit.trace(net, example)
        compiled.save(str(path))
    return path


def test_tensors_of_a_torchscript_archive_are_those_that_torch_loads(archive: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = torch.jit.load(str(archive)).state_dict()
    arrays = read_torch(archive)
    assert arrays.keys() == expected.keys()
    for name, tensor in expected.items():
        exact = tensor.float() if tensor.dtype == torch.bfloat16 else tensor
        torch.testing.assert_close(torch.from_numpy(arrays[name]), exact, rtol=0, atol=0)


def _with_pickle(path: Path, tree: object) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("net/data.pkl", pickle.dumps(tree))
    return path


def test_call_in_a_torchscript_archive_is_refused(tmp_path: Path) -> None:
    trace = tmp_path / "was-here"
    path = _with_pickle(tmp_path / "net.pt", {"weight": Calls(os.system, f"touch {trace}")})
    with pytest.raises(WeightsError, match="may not call"):
        read_torch(path)
    assert not trace.exists()
    facts = {"key": "0", "dtype": "<f4", "length": 10**12, "item_bytes": 0, "n_bytes": 4}
    storage = _Pickled("__torch__.Storage", state=facts)
    far = _Pickled("torch._utils._rebuild_tensor_v2", (storage, 10**9, (1,), (1,)))
    path = tmp_path / "net.pt"
    with zipfile.ZipFile(path, "w") as archive, archive.open("net/data.pkl", "w") as stream:
        _Pickler(stream, 2).dump(_Pickled("__torch__.Net", state={"weight": far}))
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("net/data/0", bytes(4))
    with pytest.raises(WeightsError, match="a tensor has no storage"):
        read_torch(path)


@pytest.mark.parametrize("content", [b"", b"not a zip"])
def test_zip_that_is_no_torchscript_archive_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "net.pt"
    path.write_bytes(content)
    with pytest.raises(WeightsError, match=r"net\.pt: not a torch file of weights"):
        read_torch(path)
    zipfile.ZipFile(tmp_path / "empty.pt", "w").close()
    with pytest.raises(WeightsError, match="not a torch file of weights"):
        read_torch(tmp_path / "empty.pt")


class _Pickled:
    """Pickled as a call of a function, by its name in PyTorch, or as an object of a class that has it."""

    def __init__(self, name: str, arguments: tuple[object, ...] = (), state: object = None) -> None:
        self.name, self.arguments, self.state = name, arguments, state

    def reduce(self, pickler: pickle._Pickler) -> None:
        module, _, name = self.name.rpartition(".")
        pickler.write(f"c{module}\n{name}\n".encode())
        pickler.save(self.arguments)
        pickler.write(pickle.REDUCE)
        if self.state is not None:
            pickler.save(self.state)
            pickler.write(pickle.BUILD)


class _Pickler(pickle._Pickler):
    def save(self, obj: object, save_persistent_id: bool = True) -> None:
        obj.reduce(self) if isinstance(obj, _Pickled) else super().save(obj, save_persistent_id)


def test_storage_that_is_cut_short_is_refused(archive: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.pt"
    with zipfile.ZipFile(archive) as whole, zipfile.ZipFile(cut, "w") as target:
        for name in whole.namelist():
            data = whole.read(name)
            target.writestr(name, data[:-4] if name.endswith("data/0") else data)
    with pytest.raises(WeightsError, match="not a torch file of weights"):
        read_torch(cut)
