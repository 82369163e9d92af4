"""How to install a package, and what is said of a PyTorch that cannot be imported."""

import shlex
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from tests.conftest import needs_torch
from vidsum.errors import PackageError
from vidsum.io import packages
from vidsum.io.packages import (
    EXTRAS,
    check_opencv,
    explain_import_error,
    installed_version,
    pip_install_command,
    pytorch_repair_command,
)


def add_package(folder: Path, name: str, version: str, code: str = "") -> None:
    """A package that can be imported, with the metadata of an installed one."""
    info = folder / f"{name}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (folder / name).mkdir()
    (folder / name / "__init__.py").write_text(code)


def test_install_command_quotes_the_interpreter_and_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/opt/my python/bin/python")
    command = pip_install_command("ray>=2", "a[b]")
    assert shlex.split(command) == ["/opt/my python/bin/python", "-m", "pip", "install", "ray>=2", "a[b]"]
    assert command.startswith("'/opt/my python/bin/python' -m pip install ")


@pytest.mark.parametrize(
    ("extra", "module"), [(extra, module) for extra, modules in EXTRAS.items() for module in modules]
)
def test_missing_module_of_an_extra_is_named_with_its_command(
    monkeypatch: pytest.MonkeyPatch, extra: str, module: str
) -> None:
    monkeypatch.setattr(packages, "find_spec", lambda _: None)
    fault = explain_import_error(ModuleNotFoundError(f"No module named '{module}.x'", name=f"{module}.x"))
    assert isinstance(fault, PackageError)
    assert fault.message == f"{module} is not installed"
    assert fault.hint == pip_install_command(f"vidsum[{extra}]")


def test_extras_have_the_names_of_the_project_file() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert project["optional-dependencies"].keys() == {*EXTRAS, "all", "test", "dev"}


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("raise RuntimeError('operator torchvision::nms does not exist')", "torchvision::nms"),
        ("raise OSError('libtorch_cuda.so: cannot open shared object file')", "libtorch_cuda.so"),
        ("import torch\ntorch.no_such_name", "no_such_name"),
        ("from torch import no_such_name", "no_such_name"),
        ("import none_of_its_own", "none_of_its_own"),
        ("def fail():\n    raise ImportError\nfail()", "ImportError"),
    ],
)
@needs_torch
def test_an_error_of_importing_torchvision_becomes_a_line_and_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, reason: str
) -> None:
    add_package(tmp_path, "torchvision", "0.1", code=code)
    monkeypatch.syspath_prepend(tmp_path)
    for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises((RuntimeError, OSError, AttributeError, ImportError)) as caught:
        import_module("torchvision")
    fault = explain_import_error(caught.value)
    assert fault is not None
    assert fault.message.startswith(("torchvision cannot be imported: ", "torch cannot be imported: "))
    assert fault.message.endswith(f"(torch {installed_version('torch')}, torchvision 0.1)")
    assert reason in fault.message
    assert (fault.exit_code, fault.hint) == (1, pytorch_repair_command())


@needs_torch
def test_pytorch_that_lacks_a_part_is_named() -> None:
    fault = explain_import_error(ModuleNotFoundError("No module named 'torch.fx'", name="torch.fx"))
    assert fault is not None
    assert fault.message.startswith("torch cannot be imported: No module named 'torch.fx' (torch ")


@needs_torch
def test_error_of_a_computation_is_no_import_error() -> None:
    with pytest.raises(RuntimeError) as caught:
        import_module("torch").zeros(2) @ import_module("torch").zeros(3)
    assert explain_import_error(caught.value) is None


@pytest.mark.parametrize(
    "error", [ModuleNotFoundError("No module named 'ray'", name="ray"), MemoryError()], ids=repr
)
def test_installed_module_and_other_errors_are_not_explained(error: Exception) -> None:
    assert explain_import_error(error) is None


def use_opencv(folder: Path, monkeypatch: pytest.MonkeyPatch, versions: dict[str, str], code: str) -> None:
    """Replace OpenCV by one with this code."""
    import_module("cv2")  # which comes back when the test ends
    add_package(folder, "cv2", "0", code)
    monkeypatch.syspath_prepend(folder)
    for name in [name for name in sys.modules if name.partition(".")[0] == "cv2"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(packages, "installed_version", lambda name: versions.get(name, "not installed"))
    monkeypatch.setattr(packages.sys, "executable", "python")  # type: ignore[attr-defined]


INSTALL = "python -m pip install --force-reinstall --no-deps opencv-python"
REMOVE = "python -m pip uninstall -y opencv-python opencv-python-headless"
ALONE = {"opencv-python": "5.0"}
BOTH = {**ALONE, "opencv-python-headless": "4.9"}


@pytest.mark.parametrize(
    ("versions", "code", "hint", "reason"),
    [
        (ALONE, "", INSTALL, "resize"),
        (BOTH, "", f"{REMOVE} && {INSTALL}", "resize"),
        (
            BOTH,
            "raise ImportError('recursion is detected')",
            f"{REMOVE} && {INSTALL}",
            "recursion is detected",
        ),
        ({}, "resize = 1", INSTALL, "cvtColor"),
    ],
)
def test_an_opencv_that_does_not_work_is_named_with_its_repair(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    versions: dict[str, str],
    code: str,
    hint: str,
    reason: str,
) -> None:
    use_opencv(tmp_path, monkeypatch, versions, code)
    fault = check_opencv()
    assert fault is not None
    assert fault.message.startswith("OpenCV does not work: ")
    assert reason in fault.message
    assert all(f"{name} {version}" in fault.message for name, version in versions.items())
    assert fault.hint == hint
    with pytest.raises((AttributeError, ImportError)) as caught:
        _ = import_module("cv2").resize, import_module("cv2").cvtColor
    same = explain_import_error(caught.value)
    assert same is not None
    assert (same.message, same.hint, same.exit_code) == (fault.message, hint, 1)


def test_two_opencvs_are_named_before_one_breaks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_opencv(tmp_path, monkeypatch, BOTH, "resize = cvtColor = 1")
    fault = check_opencv()
    assert fault is not None
    assert fault.message.startswith("opencv-python and opencv-python-headless are installed over each other")
    assert fault.hint == f"{REMOVE} && {INSTALL}"


@pytest.mark.parametrize("versions", [ALONE, {"opencv-python-headless": "4.9"}])
def test_a_whole_opencv_is_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, versions: dict[str, str]
) -> None:
    use_opencv(tmp_path, monkeypatch, versions, "resize = cvtColor = 1")
    assert check_opencv() is None


def test_a_missing_opencv_is_named() -> None:
    fault = explain_import_error(ModuleNotFoundError("No module named 'cv2'", name="cv2"))
    assert fault is not None
    assert fault.message.startswith("OpenCV does not work: No module named 'cv2'")
