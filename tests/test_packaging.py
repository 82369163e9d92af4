"""What an installation holds: the two top-level folders inside the package, and nothing beside it."""

import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

import vidsum

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def wheel_files(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The files in a wheel built from what git tracks; building fetches setuptools from the package index."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if tracked.returncode:
        pytest.skip("not a git checkout")
    for name in tracked.stdout.decode().split("\0")[:-1]:
        if not name.startswith(("tests/", "docs/")) and (ROOT / name).exists():
            place = source / name
            place.parent.mkdir(parents=True, exist_ok=True)
            if (ROOT / name).is_symlink():
                place.symlink_to((ROOT / name).readlink())
            else:
                place.write_bytes((ROOT / name).read_bytes())
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(target), str(source)]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    if "No matching distribution" in built.stderr or "Connection" in built.stderr:
        pytest.skip("no package index to build with")
    assert built.returncode == 0, built.stderr
    (wheel,) = target.glob("*.whl")
    return set(zipfile.ZipFile(wheel).namelist())


@pytest.mark.deep
def test_nothing_but_vidsum_is_installed(wheel_files: set[str]) -> None:
    assert {name.split("/")[0] for name in wheel_files} == {
        "vidsum",
        f"vidsum-{vidsum.__version__}.dist-info",
    }


@pytest.mark.deep
def test_commands_weights_and_data_are_inside(wheel_files: set[str]) -> None:
    assert {"vidsum/commands/app.py", "vidsum/weights/registry.yaml", "vidsum/py.typed"} <= wheel_files
    assert {f"vidsum/features/class_names/{name}.txt" for name in ("imagenet", "kinetics_400")} <= wheel_files


@pytest.mark.deep
def test_every_module_of_the_checkout_is_in_the_wheel(wheel_files: set[str]) -> None:
    modules = {path.relative_to(ROOT).as_posix() for path in (ROOT / "vidsum").rglob("*.py")}
    modules |= {f"vidsum/{path.relative_to(ROOT)}" for path in (ROOT / "commands").glob("*.py")}
    assert {name for name in modules if "__pycache__" not in name} <= wheel_files


def test_the_installed_version_is_that_of_the_package() -> None:
    assert metadata.version("vidsum") == vidsum.__version__


def test_importing_vidsum_loads_nothing_heavy() -> None:
    heavy = ("torch", "numpy", "cv2", "av", "ctranslate2")
    program = f"import sys, vidsum; print([m for m in {heavy} if m in sys.modules])"
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == "[]"


def test_every_public_name_can_be_had() -> None:
    assert all(getattr(vidsum, name) is not None for name in vidsum.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = vidsum.nonsense
