"""Attention is drawn where it lies in time, as dark as it is, the same on every run."""

from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt

from vidsum.lab.attention.importance import AttentionMaps, plot_importance_attention

CELLS, STEPS = 20, 6
DARKEST_BGR = (64, 20, 11)


def made_up_maps(n_layers: int = 1, n_heads: int = 1, samples_per_cell: int = 1) -> AttentionMaps:
    """Attention that prefers nothing."""

    def flat(rows: int, columns: int) -> npt.NDArray[np.float32]:
        return np.full((n_layers, n_heads, rows, columns), 1 / columns, np.float32)

    n_samples = CELLS * samples_per_cell
    return AttentionMaps(
        encoder=flat(CELLS, CELLS),
        decoder=flat(STEPS, STEPS),
        cross=flat(STEPS, CELLS),
        layers=tuple(range(n_layers)),
        heads=tuple(range(n_heads)),
        key_frames=np.arange(STEPS, dtype=np.int64) * samples_per_cell * 3,
        samples_per_cell=samples_per_cell,
        timestamps=np.arange(n_samples) / 2,
        edges_s=np.array([0, n_samples / 8, n_samples / 2]),
    )


def svg_text(maps: AttentionMaps, folder: Path, *, grids: bool = False) -> str:
    """The SVG; each of its texts stands in a comment beside the glyphs."""
    target = folder / "attention.svg"
    plot_importance_attention(maps, target, grids=grids)
    return target.read_text(encoding="utf-8")


def test_the_same_maps_give_the_same_bytes(tmp_path: Path) -> None:
    for suffix in (".png", ".svg"):
        for name in ("a", "b"):
            plot_importance_attention(made_up_maps(2, 2), tmp_path / f"{name}{suffix}")
        assert (tmp_path / f"a{suffix}").read_bytes() == (tmp_path / f"b{suffix}").read_bytes()


def test_a_pair_with_much_attention_is_dark_where_it_lies(tmp_path: Path) -> None:
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


def test_axes_are_in_minutes_and_steps_are_counted(tmp_path: Path) -> None:
    text = svg_text(made_up_maps(samples_per_cell=12), tmp_path)
    assert "<!-- 2:00 -->" in text  # the end, 240 samples at 2 per second
    assert "<!-- start -->" in text
    assert "<!-- 6 -->" in text
    assert "<!-- 0 -->" not in text
    assert "12 samples to a cell" in text


def test_title_names_layers_and_heads_and_a_step_the_end(tmp_path: Path) -> None:
    text = svg_text(replace(made_up_maps(), layers=(4,), heads=(7,)), tmp_path)
    assert "Attention weights, layer 4, head 7 " in text
    assert "<!-- end -->" not in text
    maps = made_up_maps(2, 3)
    text = svg_text(replace(maps, key_frames=maps.key_frames[:-1]), tmp_path)
    assert "Attention weights, mean of 2 layers, mean of 3 heads " in text
    assert "<!-- end -->" in text


def test_grids_have_a_map_for_each_layer_and_head(tmp_path: Path) -> None:
    maps = made_up_maps(2, 3)
    assert svg_text(maps, tmp_path, grids=True).count("<image ") == 3 * 2 * 3
    text = svg_text(replace(maps, layers=(3, 5), heads=(1, 2, 6)), tmp_path, grids=True)
    assert all(f"<!-- {number} -->" in text for number in (3, 5, 1, 2, 6))


def test_a_video_of_one_sample_and_a_summary_of_none_are_drawn(tmp_path: Path) -> None:
    one = np.ones((1, 1, 1, 1), np.float32)
    maps = replace(
        made_up_maps(),
        encoder=one,
        decoder=one,
        cross=one,
        key_frames=np.zeros(0, np.int64),
        timestamps=np.zeros(1),
        edges_s=np.array([0, 0.5]),
    )
    assert "<!-- end -->" in svg_text(maps, tmp_path)
