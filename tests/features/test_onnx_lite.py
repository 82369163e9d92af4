"""EfficientNet-Lite0 in onnxruntime: the numbers of PyTorch, without PyTorch."""

import platform
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import real_weights
from tests.features import networks
from tests.features.conftest import RandomClips
from tests.media import make_video
from vidsum.device import device_type, may_have_gpu, n_cores, n_threads, prefers_int8
from vidsum.errors import UsageError
from vidsum.features import choose_backend, describe
from vidsum.features.onnx_backend import build_graph_extractor
from vidsum.features.onnx_lite import mean_of_relu
from vidsum.features.settings import Extraction
from vidsum.features.torch_backend import build_torch_extractor
from vidsum.models.scaling import unit_rows
from vidsum.pipelines.decoding import extraction_job
from vidsum.pipelines.plan import extract
from vidsum.video.probe import probe

SPEC = describe("efficientnet_lite0")


def test_features_and_scores_are_those_of_torch(
    random_clips: RandomClips,
    random_weights: Callable[[str], networks.Weights],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("VIDSUM_HOME", str(tmp_path))
    weights = random_weights("efficientnet_lite0")
    theirs = build_torch_extractor(SPEC, SPEC.build(weights), device="cpu")
    arrays = {name: tensor.numpy() for name, tensor in weights.items()}
    ours, again = (build_graph_extractor(SPEC, arrays, "0" * 64, device="cpu") for _ in range(2))
    assert len(list((tmp_path / "onnx").iterdir())) == 1
    for count in (3, 1):
        clips = random_clips(SPEC, count)
        wanted = theirs.encode(clips)
        np.testing.assert_allclose(ours.encode(clips), wanted, atol=1e-4 * np.abs(wanted).max())
        np.testing.assert_array_equal(ours.encode(clips), again.encode(clips))
    np.testing.assert_allclose(ours.logits(wanted), theirs.logits(wanted), rtol=1e-4, atol=1e-4)
    assert (ours.backend, ours.device, theirs.backend) == ("onnx", "cpu", "torch")


def test_auto_takes_what_needs_no_torch_on_a_cpu_in_fp32() -> None:
    assert choose_backend(SPEC, device="cpu") == "onnx"
    assert choose_backend(SPEC, device="cpu", precision="bf16") == "torch"
    assert choose_backend(describe("mobilenet_v2"), device="cpu") == "torch"
    assert choose_backend(SPEC, "torch", device="cpu") == "torch"
    means, deviations = np.array([-3.0, -0.5, 0.0, 2.0, 6.5, 9.0]), np.array([1.0, 2.0, 0.1, 4.0, 3.0, 1e-9])
    draws = np.random.default_rng(0).normal(size=(400_000, 1)) * deviations + means
    found = mean_of_relu(means, deviations) - mean_of_relu(means - 6, deviations)
    np.testing.assert_allclose(found, np.clip(draws, 0, 6).mean(axis=0), atol=0.01)


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


@pytest.fixture
def processor(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Call it with the instructions that the processor is to have."""
    prefers_int8.cache_clear()
    yield lambda flags: monkeypatch.setattr("vidsum.device._cpu_flags", lambda: set(flags.split()))
    prefers_int8.cache_clear()


@pytest.mark.deep
@pytest.mark.weights
def test_int8_is_close_to_fp32() -> None:
    if platform.machine() in ("x86_64", "AMD64") and not prefers_int8("cpu"):
        pytest.skip("the processor has neither VNNI nor AMX")
    real_weights("efficientnet_lite0")
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
