"""EfficientNet-Lite0 in onnxruntime: the graphs that ship, and which of them a processor runs."""

import platform
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.features.conftest import RandomClips
from tests.media import make_video
from vidsum import checkpoints
from vidsum.device import Backend, device_type, may_have_gpu, n_cores, n_threads, prefers_int8
from vidsum.errors import UsageError
from vidsum.features import choose_backend, describe, get_extractor
from vidsum.features.onnx_backend import build_cell_runner
from vidsum.features.settings import Extraction
from vidsum.models.scaling import unit_rows
from vidsum.pipelines.decoding import extraction_job
from vidsum.pipelines.plan import extract
from vidsum.video.probe import probe

SPEC = describe("efficientnet_lite0")
BOTH: tuple[Backend, ...] = ("onnx", "torch")


@pytest.mark.deep
def test_shipped_graph_gives_the_features_and_scores_of_torch(random_clips: RandomClips) -> None:
    ours, theirs = (get_extractor(SPEC, device="cpu", backend=backend) for backend in BOTH)
    clips = random_clips(SPEC, 3)
    wanted = theirs.encode(clips)
    np.testing.assert_allclose(ours.encode(clips), wanted, atol=1e-4 * np.abs(wanted).max())
    np.testing.assert_allclose(ours.logits(wanted), theirs.logits(wanted), rtol=1e-4, atol=1e-4)
    assert (ours.backend, ours.device, theirs.backend) == ("onnx", "cpu", "torch")


def test_mean_of_cells_over_space_is_the_feature(random_clips: RandomClips) -> None:
    folder = checkpoints.path_of(SPEC.checkpoint)
    clips = random_clips(SPEC, 2)
    cells = build_cell_runner(SPEC, folder, "cpu")(clips)
    assert cells.shape == (2, SPEC.dim + SPEC.inner, 7, 7)
    features = get_extractor(SPEC, device="cpu", backend="onnx").encode(clips)
    np.testing.assert_allclose(cells.mean(axis=(2, 3)), features, rtol=1e-4, atol=1e-5)


def test_auto_takes_what_needs_no_torch_on_a_cpu_in_fp32() -> None:
    assert choose_backend(SPEC, device="cpu") == "onnx"
    assert choose_backend(SPEC, device="cpu", precision="bf16") == "torch"
    assert choose_backend(describe("mobilenet_v2"), device="cpu") == "torch"
    assert choose_backend(SPEC, "torch", device="cpu") == "torch"


def test_a_machine_without_a_driver_has_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    may_have_gpu.cache_clear()
    monkeypatch.setattr("vidsum.device.platform.system", lambda: "Linux")

    def missing(name: str) -> None:
        raise OSError(name)

    monkeypatch.setattr("vidsum.device.ctypes.CDLL", missing)
    assert device_type("auto") == "cpu"
    may_have_gpu.cache_clear()
    monkeypatch.setattr("vidsum.device.may_have_gpu", lambda: True)
    monkeypatch.setattr("vidsum.device.has_extra", lambda extra: False)
    with pytest.warns(UserWarning, match=r"vidsum\[torch\]"):
        assert device_type("auto") == "cpu"


@pytest.mark.parametrize(("value", "n"), [("3", 3), ("2,1", 2), ("", None), ("abc", None), ("0", None)])
def test_threads_are_those_of_omp_or_of_the_cores(
    monkeypatch: pytest.MonkeyPatch, value: str, n: int | None
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", value)
    assert n_threads() == (n or n_cores())


@pytest.mark.parametrize(("cores", "n"), [(1, 1), (2, 1), (8, 4)])
def test_networks_leave_half_of_the_cores_to_the_decoder(
    monkeypatch: pytest.MonkeyPatch, cores: int, n: int
) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr("vidsum.device.n_cores", lambda: cores)
    assert n_threads(while_decoding=True) == n
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert n_threads(while_decoding=True) == 3


@pytest.fixture
def processor(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Call it with the instructions that the processor is to have."""
    prefers_int8.cache_clear()
    yield lambda flags: monkeypatch.setattr("vidsum.device._cpu_flags", lambda: set(flags.split()))
    prefers_int8.cache_clear()


@pytest.mark.deep
def test_int8_is_close_to_fp32() -> None:
    if platform.machine() in ("x86_64", "AMD64") and not prefers_int8("cpu"):
        pytest.skip("the processor has neither VNNI nor AMX")
    film = Path(__file__).parents[2] / "docs" / "sample" / "big_buck_bunny.mp4"
    whole, rough = (
        extract(film, cache=False, device="cpu", logits=True, precision=precision)
        for precision in ("fp32", "int8")
    )
    cosines = (unit_rows(whole.array) * unit_rows(rough.array)).sum(axis=1)
    assert cosines.mean() > 0.997
    assert cosines.min() > 0.99
    assert cosines.max() < 0.9999
    assert whole.logits is not None
    assert rough.logits is not None
    assert (whole.logits.argmax(1) == rough.logits.argmax(1)).mean() > 0.85


def test_int8_is_for_one_network_on_a_cpu_in_onnxruntime(processor: Callable[[str], None]) -> None:
    processor("avx512_vnni")
    assert choose_backend(SPEC, device="cpu", precision="int8") == "onnx"
    for spec, backend in ((SPEC, "torch"), (describe("mobilenet_v2"), "auto")):
        with pytest.raises(UsageError, match="int8 is for efficientnet_lite0, in onnxruntime"):
            choose_backend(spec, backend, device="cpu", precision="int8")


@pytest.mark.parametrize(
    ("flags", "precision"), [("flags : sse avx512_vnni", "int8"), ("flags : sse", "fp32")]
)
def test_int8_is_for_processors_that_have_it(
    flags: str, precision: str, tmp_path: Path, processor: Callable[[str], None]
) -> None:
    processor(flags)
    how = Extraction(device="cpu")
    film = make_video(tmp_path / "film.mp4")
    ways = (how, replace(how, backend="torch"), replace(how, extractor="mobilenet_v2"))
    jobs = [extraction_job(probe(film.path), way) for way in ways]
    assert [job.provenance["parameters"]["precision"] for job in jobs] == [precision, "fp32", "fp32"]
