"""Importance by a trained FullTransNet: decoding, the curve, long videos, checkpoints that do not fit."""

from collections.abc import Iterator
from dataclasses import asdict, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from vidsum.checkpoints.trained import Trained, save_trained
from vidsum.errors import InputError, UsageError
from vidsum.models.configs import FullTransNetConfig
from vidsum.models.fulltransnet import FullTransNet, global_tokens
from vidsum.results.features import Features
from vidsum.results.shots import Shots
from vidsum.summary.fulltransnet_scores import Decoded, decode, shot_curve, windows
from vidsum.summary.importance_model import ImportanceModel, importance, load_importance_model, require_kind

CONFIG = FullTransNetConfig(dim_in=6, d=16, layers=1, heads=2, d_ff=8, window=3, t_max=24)


def trained(sizes: FullTransNetConfig = CONFIG, **changes: object) -> Trained:
    torch.manual_seed(0)
    model = FullTransNet(sizes)
    torch.nn.init.constant_(model.end.bias, -50)  # it never wants to end
    facts = {"extractor": "toy", "dim": 6, "fps": 2.0}
    return replace(Trained("fulltransnet", asdict(sizes), facts, {}, model.state_dict()), **changes)


def saved(path: Path, sizes: FullTransNetConfig = CONFIG, **changes: object) -> ImportanceModel:
    """The model of a checkpoint that is written first."""
    save_trained(path, trained(sizes, **changes))
    return load_importance_model(str(path), "cpu")


@pytest.fixture
def summarizer(tmp_path: Path) -> ImportanceModel:
    return saved(tmp_path / "best.safetensors")


def video(n_samples: int) -> tuple[Features, Shots]:
    rows = np.random.default_rng(0).normal(size=(n_samples, 6))
    edges = np.append(np.arange(0, n_samples / 2, 2.5), n_samples / 2)
    return Features.from_array(rows, 2.0, extractor="toy"), Shots(edges, "test")


@pytest.mark.parametrize(
    ("steps", "shot_of_sample", "curve"),
    [
        ([[0.5, 0.2, 0.0], [0.5, 0.1, 0.0]], [0, 1, 2], [0.75, 0.28, 0]),  # chosen in one step or another
        ([[0.5, 0.1, 0.3, 0.0]], [0, 0, 1, 1], [0.3, 0.3, 0.15, 0.15]),  # level within a shot
        ([[1.0, 0.0]], [0, 1], [1, 0]),
    ],
    ids=["in any step", "level within a shot", "certain"],
)
def test_curve_is_the_probability_to_be_chosen(steps, shot_of_sample, curve):
    decoded = Decoded((0,), np.array(steps, np.float32))
    assert np.allclose(shot_curve(decoded, np.array(shot_of_sample)), curve)


def test_importance_of_a_short_video_is_the_curve_of_its_decoding(summarizer):
    features, shots = video(20)
    shot_of_sample = np.arange(20) // 5
    is_global = global_tokens(torch.from_numpy(shot_of_sample), 3)
    decoded = decode(summarizer.model, torch.from_numpy(features.array), is_global, 4)
    features.array.flags.writeable = False
    curve = importance(summarizer, features, shots, fraction=0.2)
    assert np.array_equal(curve, shot_curve(decoded, shot_of_sample))
    assert curve.dtype == np.float32


@pytest.mark.parametrize("share", [0.001, 1.0])
def test_importance_of_any_share_has_a_key_frame(summarizer, share):
    assert importance(summarizer, *video(20), fraction=share).max() > 0


def test_features_of_another_size_are_refused(summarizer):
    with pytest.raises(UsageError, match="reads features of 6 numbers, not of 5"):
        importance(summarizer, Features.from_array(np.ones((9, 5))), video(20)[1])


def test_importance_of_a_long_video_is_the_mean_of_its_windows(tmp_path: Path):
    summarizer = saved(tmp_path / "pointer.safetensors", replace(CONFIG, head="pointer"))
    features, shots = video(60)
    shot_of_sample = np.arange(60) // 5
    total, count = np.zeros(60), np.zeros(60)
    for window in windows(shot_of_sample, 24):
        is_global = global_tokens(torch.from_numpy(shot_of_sample[window]), 3)
        rows = torch.from_numpy(features.array[window])
        decoded = decode(summarizer.model, rows, is_global, int(0.15 * len(rows)))
        total[window] += shot_curve(decoded, shot_of_sample[window])
        count[window] += 1
    assert np.allclose(importance(summarizer, features, shots), total / count)


@given(st.lists(st.integers(1, 30), min_size=1, max_size=30), st.integers(8, 40))
def test_windows_overlap_and_cover_the_video(lengths, longest):
    shot_of_sample = np.repeat(np.arange(len(lengths)), lengths)
    spans = windows(shot_of_sample, longest)
    assert (spans[0].start, spans[-1].stop) == (0, len(shot_of_sample))
    assert all(0 < window.stop - window.start <= longest for window in spans)
    for before, after in pairwise(spans):
        assert before.start < after.start < before.stop < after.stop


@given(st.lists(st.integers(1, 5), min_size=8, max_size=40))
def test_windows_begin_and_end_with_short_shots(lengths):
    shot_of_sample = np.repeat(np.arange(len(lengths)), lengths)
    edges = {0, len(shot_of_sample), *(np.flatnonzero(np.diff(shot_of_sample)) + 1).tolist()}
    assert {place for window in windows(shot_of_sample, 24) for place in (window.start, window.stop)} <= edges


@pytest.mark.parametrize(("extractor", "rate", "message", "hint"), [
    ("i3d", 2.0, "reads features of toy, not of i3d", "extractor='toy'"),
    ("toy", 1.0, "reads 2 features a second, not 1", "fps=2.0"),
])  # fmt: skip
def test_features_of_another_kind_are_refused(summarizer, extractor, rate, message, hint):
    with pytest.raises(UsageError, match=message) as raised:
        require_kind(summarizer, extractor, rate)
    assert raised.value.hint == hint


def test_features_of_an_extractor_are_refused_where_custom_ones_were_learned(tmp_path: Path) -> None:
    custom = saved(tmp_path / "x.safetensors", features={"extractor": "custom", "dim": 6, "fps": 2.0})
    with pytest.raises(UsageError, match="reads features of custom, not of toy") as raised:
        importance(custom, *video(9))
    assert "file of features" in str(raised.value.hint)


def test_model_in_half_precision_gives_the_same_importance(tmp_path: Path, summarizer) -> None:
    halves = {name: tensor.half() for name, tensor in trained().tensors.items()}
    half = saved(tmp_path / "half.safetensors", tensors=halves)
    assert np.allclose(importance(half, *video(20)), importance(summarizer, *video(20)), atol=0.02)


@pytest.mark.parametrize("n_samples", [1, 9])
def test_importance_of_one_shot_is_constant(summarizer, n_samples):
    features = video(n_samples)[0]
    curve = importance(summarizer, features, Shots(np.array([0, n_samples / 2]), "test"))
    assert curve.shape == (n_samples,)
    assert (curve == curve[0]).all()
    assert 0 < curve[0] <= 1


@pytest.mark.parametrize(("changes", "message"), [
    ({"model": "mrnet"}, "a checkpoint of mrnet, not of fulltransnet"),
    ({"config": {**asdict(CONFIG), "d": 32}}, "its tensors and its configuration do not fit together"),
    ({"config": {**asdict(CONFIG), "depth": 3}}, "its tensors and its configuration do not fit together"),
    ({"config": {**asdict(CONFIG), "heads": 0}}, "its tensors and its configuration do not fit together"),
    ({"config": {**asdict(CONFIG), "attention": "x"}}, "its tensors and its configuration do not fit"),
    ({"features": {"extractor": "toy"}}, "does not say what features it reads"),
], ids=["model", "size", "unknown option", "no heads", "unknown mask", "features"])  # fmt: skip
def test_checkpoint_that_does_not_fit_is_refused(tmp_path: Path, changes, message):
    with pytest.raises(InputError, match=message):
        saved(tmp_path / "x.safetensors", **changes)


SMALL = FullTransNetConfig(dim_in=6, d=16, layers=2, heads=4, d_ff=24, head="pointer")


class Scripted:
    """Stands for a model: its distribution depends on the frames chosen so far, by a table."""

    config = SMALL

    def __init__(self, table: dict[tuple[int, ...], list[float]]) -> None:
        self.table = table

    def encode(self, features: Tensor, is_global: Tensor) -> tuple[int, ...]:
        return ()

    def step(self, path: tuple[int, ...], frame: Tensor | None) -> tuple[Tensor, tuple[int, ...]]:
        path += () if frame is None else (int(frame),)
        return torch.tensor([self.table[path]]).log(), path


def run(table: dict[tuple[int, ...], list[float]], n_key_frames: int):
    return decode(Scripted(table), torch.zeros(3, 1), torch.zeros(3, dtype=torch.bool), n_key_frames)


@pytest.fixture
def model() -> FullTransNet:
    """It never wants to end."""
    torch.manual_seed(0)
    model = FullTransNet(SMALL).eval()
    nn.init.constant_(model.end.bias, -50)
    return model


@pytest.fixture
def features() -> Tensor:
    torch.manual_seed(1)
    return torch.randn(12, 6) * 3


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("two_threads")
def test_decoding_uses_one_thread_and_restores_the_number(model, features):
    seen = []
    model.end.register_forward_hook(lambda *_: seen.append(torch.get_num_threads()))
    decode(model, features, torch.zeros(12, dtype=torch.bool), 3)
    assert (seen, torch.get_num_threads()) == ([1, 1, 1], 2)


@pytest.mark.usefixtures("two_threads")
def test_interrupted_decoding_restores_the_number_of_threads(model, features):
    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    model.end.register_forward_hook(fail)
    with pytest.raises(KeyboardInterrupt):
        decode(model, features, torch.zeros(12, dtype=torch.bool), 3)
    assert torch.get_num_threads() == 2


def test_decoding_can_choose_all_frames(model, features):
    is_global = torch.zeros(12, dtype=torch.bool)
    assert sorted(decode(model, features, is_global, 12).key_frames) == list(range(12))


def test_only_frame_is_chosen_for_certain(model, features):
    only = decode(model, features[:1], torch.zeros(1, dtype=torch.bool), 1)
    assert only.key_frames == (0,)
    assert np.allclose(only.steps, [[1]])


def test_decoding_step_by_step_is_the_forced_decoding(model, features):
    is_global = torch.arange(12) % 4 == 0
    decoded = decode(model, features, is_global, 5)
    forced = model(features[None], is_global[None], torch.tensor([decoded.key_frames]))[0, :, :-1].exp()
    assert np.allclose(decoded.steps, forced[: len(decoded.steps)].detach().numpy(), atol=1e-5)


def test_decoding_chooses_a_frame_once():
    table = {(): [0.6, 0.3, 0.05, 0.05], (0,): [0.7, 0.1, 0.15, 0.05]}
    decoded = run(table, 2)
    assert decoded.key_frames == (0, 2)
    assert np.allclose(decoded.steps, [[0.6, 0.3, 0.05], [0.7, 0.1, 0.15]])  # as the model gave them


def test_step_in_which_decoding_ends_counts():
    decoded = run({(): [0.3, 0.1, 0.15, 0.45], (0,): [0.1, 0.2, 0.15, 0.55]}, 3)
    assert decoded.key_frames == (0,)
    assert decoded.steps.shape == (2, 3)  # the last step counts for the curve


def test_decoding_may_end_at_once():
    at_once = run({(): [0.1, 0.2, 0.1, 0.6]}, 3)
    assert at_once.key_frames == ()
    assert np.allclose(at_once.steps, [[0.1, 0.2, 0.1]])
