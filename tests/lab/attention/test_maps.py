"""Attention of FullTransNet: the weights that it uses, drawn where they lie in time."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args

import cv2
import numpy as np
import numpy.typing as npt
import pytest
import torch
from torch import Tensor, nn

from tests.conftest import deep
from vidsum.errors import UsageError
from vidsum.lab.attention import maps as module
from vidsum.lab.attention.maps import AttentionMaps, attention_maps, plot_importance_attention
from vidsum.models.attention.heads import MultiHeadAttention
from vidsum.models.configs import FullTransNetConfig, MaskConfig, Pattern
from vidsum.models.fulltransnet import FullTransNet
from vidsum.results.features import Features
from vidsum.results.shots import Shots
from vidsum.summary.fulltransnet_scores import decode_samples
from vidsum.summary.importance_model import ImportanceModel

N_SAMPLES = 40
SMALL = FullTransNetConfig(dim_in=12, d=8, layers=2, heads=2, d_ff=16, window=5, t_max=64)
SHOTS = Shots(np.array([0.0, 4.0, 9.5, 15.0, 20.0]), "made up")


def summarizer_of(config: FullTransNetConfig = SMALL) -> ImportanceModel:
    """One that never ends a summary by itself."""
    torch.manual_seed(3)
    model = FullTransNet(config).eval()
    nn.init.constant_(model.end.bias, -100.0)
    return ImportanceModel(model, "custom", config.dim_in, 2.0, "made up")


def features_of(n_samples: int = N_SAMPLES) -> Features:
    array = np.random.default_rng(0).standard_normal((n_samples, SMALL.dim_in)).astype(np.float32)
    return Features.from_array(array)


def run_by_itself(
    summarizer: ImportanceModel, features: Features, key_frames: list[int]
) -> dict[nn.Module, Tensor]:
    """Values and joined heads, [*, d] each, of every attention, as the model itself makes them."""
    seen: dict[nn.Module, Tensor] = {}
    shot_of_sample = np.searchsorted(SHOTS.edges_s[1:-1], features.timestamps, side="right")
    is_global = torch.zeros(len(features), dtype=torch.bool)
    for shot in range(len(SHOTS)):
        (samples,) = np.nonzero(shot_of_sample == shot)
        is_global[[samples[0], samples[(len(samples) - 1) // 2], samples[-1]]] = True
    for attention in summarizer.model.modules():
        if isinstance(attention, MultiHeadAttention):
            attention.v.register_forward_hook(lambda at, _, output: seen.update({at: output[0]}))
            attention.out.register_forward_pre_hook(lambda at, inputs: seen.update({at: inputs[0][0]}))
    with torch.inference_mode():
        network: nn.Module = summarizer.model
        network(torch.from_numpy(features.array)[None], is_global[None], torch.tensor([key_frames]))
    return seen


def heads_by_weights(weights: npt.NDArray[np.float32], values: Tensor) -> npt.NDArray[np.float32]:
    """[Q, d] the heads side by side, of weights [h, Q, K] and values [K, d]."""
    split = np.split(values.numpy(), len(weights), axis=1)
    return np.concatenate([one @ part for one, part in zip(weights, split, strict=True)], axis=1)


def test_only_a_fulltransnet_has_attention_to_draw() -> None:
    summarizer = summarizer_of()
    assert module.require_part(summarizer, "all") is summarizer.model
    ridge: Any = SimpleNamespace(model=nn.Linear(1, 1), name="ridge")
    with pytest.raises(UsageError, match="ridge has no decoder, whose attention is drawn"):
        module.require_part(ridge, "all")


@pytest.mark.parametrize(
    ("head", "mask"),
    [
        ("linear", None),
        ("pointer", None),
        ("linear", MaskConfig(fusion="sum", shared=True)),
        ("linear", MaskConfig(depth=1)),
    ],
)
@pytest.mark.parametrize("pattern", get_args(Pattern))
def test_weights_times_values_are_the_heads_of_the_model(pattern: Pattern, head: Any, mask: Any) -> None:
    summarizer = summarizer_of(replace(SMALL, attention=pattern, head=head, mask=mask))
    features = features_of()
    maps = attention_maps(summarizer, features, SHOTS, fraction=0.3)
    seen = run_by_itself(summarizer, features, maps.key_frames[:-1].tolist())
    for layer in range(SMALL.layers):
        encoder: Any = summarizer.model.encoder[layer]
        decoder: Any = summarizer.model.decoder[layer]
        for weights, attention in [
            (maps.encoder[layer], encoder.attention),
            (maps.decoder[layer], decoder.attention),
            (maps.cross[layer], decoder.cross),
        ]:
            ours = heads_by_weights(weights, seen[attention.v])
            np.testing.assert_allclose(ours, seen[attention.out].numpy(), atol=1e-5)


def test_maps_leave_no_hook_in_the_model() -> None:
    summarizer = summarizer_of()
    attention_maps(summarizer, features_of(), SHOTS)
    assert not any(part._forward_hooks for part in summarizer.model.modules())


def test_maps_are_of_the_summary_that_is_decoded() -> None:
    summarizer, features = summarizer_of(), features_of()
    maps = attention_maps(summarizer, features, SHOTS, fraction=0.3)
    shot_of_sample = np.searchsorted(SHOTS.edges_s[1:-1], features.timestamps, side="right")
    decoded = decode_samples(summarizer.model, features.array, shot_of_sample, 0.3)
    assert maps.key_frames.tolist() == list(decoded.key_frames)


def test_maps_have_a_row_for_each_sample_or_step() -> None:
    maps = attention_maps(summarizer_of(), features_of(), SHOTS, fraction=0.3)
    assert maps.encoder.shape == (2, 2, N_SAMPLES, N_SAMPLES)
    assert maps.decoder.shape == (2, 2, 12, 12)
    assert maps.cross.shape == (2, 2, 12, N_SAMPLES)


def test_map_of_a_layer_and_head_is_that_part_of_all() -> None:
    summarizer, features = summarizer_of(), features_of()
    whole = attention_maps(summarizer, features, SHOTS)
    part = attention_maps(summarizer, features, SHOTS, part=(1, 0))
    assert (part.layers, part.heads) == ((1,), (0,))
    assert (whole.layers, whole.heads) == ((0, 1), (0, 1))
    np.testing.assert_array_equal(part.encoder[0, 0], whole.encoder[1, 0])
    np.testing.assert_array_equal(part.cross[0, 0], whole.cross[1, 0])


@pytest.mark.parametrize("steps", [0, 3])
def test_step_that_writes_the_end_has_a_row(steps: int) -> None:
    summarizer = summarizer_of()
    summarizer.model.end.register_forward_hook(end_after(steps))
    maps = attention_maps(summarizer, features_of(), SHOTS, fraction=0.3)
    assert len(maps.key_frames) == steps
    assert maps.decoder.shape == (2, 2, steps + 1, steps + 1)
    assert maps.cross.shape == (2, 2, steps + 1, N_SAMPLES)


def end_after(steps: int) -> Callable[[nn.Module, tuple[Tensor], Tensor], Tensor]:
    """A hook that makes the end certain after so many steps, and impossible before."""
    done = 0

    def hook(_: nn.Module, given: tuple[Tensor], logits: Tensor) -> Tensor:
        nonlocal done
        done += given[0].shape[1]
        return torch.full_like(logits, 100.0 if done > steps else -100.0)

    return hook


def test_video_longer_than_the_model_is_shown_in_part_with_a_warning() -> None:
    features = features_of()
    maps = attention_maps(summarizer_of(replace(SMALL, t_max=30)), features, SHOTS)
    assert maps.encoder.shape[2:] == (30, 30)  # the shots end at samples 8, 19, 30 and 40
    np.testing.assert_array_equal(maps.timestamps, features.timestamps[:30])
    np.testing.assert_array_equal(maps.edges_s, [0, 4, 9.5, 15])
    assert maps.warnings == ("attention is shown for 0:00-0:15 only, of 0:20",)


def test_video_that_the_model_reads_is_shown_without_a_warning() -> None:
    assert attention_maps(summarizer_of(), features_of(), SHOTS).warnings == ()


def test_video_longer_than_a_picture_is_shown_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LONGEST", 19)
    pointer = attention_maps(summarizer_of(replace(SMALL, head="pointer")), features_of(), SHOTS)
    assert len(pointer.timestamps) == 19


@pytest.mark.parametrize(("which", "part"), [("layer", (2, 0)), ("head", (0, 2))])
def test_layers_and_heads_that_are_not_there_are_refused(which: str, part: tuple[int, int]) -> None:
    with pytest.raises(UsageError, match=f"unknown {which} 2: the model has 0 to 1"):
        attention_maps(summarizer_of(), features_of(), SHOTS, part=part)


# --- the picture ---

CELLS, STEPS = 20, 6
DARKEST_BGR = (64, 20, 11)


def made_up_maps(n_layers: int = 1, n_heads: int = 1) -> AttentionMaps:
    """Attention that prefers nothing."""

    def flat(rows: int, columns: int) -> npt.NDArray[np.float32]:
        return np.full((n_layers, n_heads, rows, columns), 1 / columns, np.float32)

    return AttentionMaps(
        encoder=flat(CELLS, CELLS),
        decoder=flat(STEPS, STEPS),
        cross=flat(STEPS, CELLS),
        layers=tuple(range(n_layers)),
        heads=tuple(range(n_heads)),
        key_frames=np.arange(STEPS, dtype=np.int64) * 3,
        timestamps=np.arange(CELLS) / 2,
        edges_s=np.array([0, CELLS / 8, CELLS / 2]),
    )


def svg_text(maps: AttentionMaps, folder: Path, *, grids: bool = False) -> str:
    """The SVG; each of its texts stands in a comment beside the glyphs."""
    target = folder / "attention.svg"
    plot_importance_attention(maps, target, grids=grids)
    return target.read_text(encoding="utf-8")


def test_pair_with_much_attention_is_dark_where_it_lies(tmp_path: Path) -> None:
    maps = made_up_maps()
    maps.cross[:] = 1e-6
    maps.cross[0, 0, 3, 15] = 1
    plot_importance_attention(maps, tmp_path / "one.png")
    image = np.asarray(cv2.imread(str(tmp_path / "one.png")), np.int64)
    height, width = image.shape[:2]
    dark = np.argwhere((image == DARKEST_BGR).all(axis=2))
    row, column = dark[(dark[:, 0] > 0.6 * height) & (dark[:, 1] < 0.9 * width)].mean(axis=0)
    # of the lower panel step 3 of 6 and cell 15 of 20
    assert 0.75 * height < row < 0.85 * height
    assert 0.7 * width < column < 0.8 * width


@pytest.fixture(scope="module")
def two_minutes(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The SVG of 20 samples of 6 s."""
    maps = replace(made_up_maps(), timestamps=np.arange(CELLS) * 6, edges_s=np.array([0, 30, 120]))
    return svg_text(maps, tmp_path_factory.mktemp("maps"))


@pytest.mark.deep
def test_axis_of_time_is_in_minutes(two_minutes: str) -> None:
    assert "<!-- 2:00 -->" in two_minutes  # the end


@pytest.mark.deep
def test_steps_are_counted_from_the_start(two_minutes: str) -> None:
    assert "<!-- start -->" in two_minutes
    assert "<!-- 6 -->" in two_minutes
    assert "<!-- 0 -->" not in two_minutes


@pytest.mark.deep
def test_title_names_a_layer_and_a_head(tmp_path: Path) -> None:
    text = svg_text(replace(made_up_maps(), layers=(4,), heads=(7,)), tmp_path)
    assert "Attention weights, layer 4, head 7 " in text


@pytest.mark.deep
def test_title_says_that_layers_and_heads_are_averaged(tmp_path: Path) -> None:
    text = svg_text(made_up_maps(2, 3), tmp_path)
    assert "Attention weights, mean of 2 layers, mean of 3 heads " in text


@pytest.mark.parametrize("has_end", [True, deep(False)])
def test_step_that_writes_the_end_is_named(tmp_path: Path, has_end: bool) -> None:
    maps = made_up_maps()
    key_frames = maps.key_frames[:-1] if has_end else maps.key_frames
    assert ("<!-- end -->" in svg_text(replace(maps, key_frames=key_frames), tmp_path)) == has_end


def test_grids_have_a_map_for_each_layer_and_head(tmp_path: Path) -> None:
    text = svg_text(replace(made_up_maps(2, 3), layers=(3, 5), heads=(1, 2, 6)), tmp_path, grids=True)
    assert text.count("<image ") == 3 * 2 * 3
    assert all(f"<!-- {number} -->" in text for number in (3, 5, 1, 2, 6))


@pytest.mark.deep
def test_video_of_one_sample_and_a_summary_of_none_are_drawn(tmp_path: Path) -> None:
    weights = dict.fromkeys(("encoder", "decoder", "cross"), np.ones((1, 1, 1, 1), np.float32))
    times = {"timestamps": np.zeros(1), "edges_s": np.array([0, 0.5])}
    maps = replace(made_up_maps(), **weights, **times, key_frames=np.zeros(0, np.int64))
    assert "<!-- end -->" in svg_text(maps, tmp_path)
