"""The plots of attention: what stands where, and the same bytes on every run."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.grounding.test_plot import grounding
from vidsum.lab.attention import moments as plots
from vidsum.lab.attention.moments import LayerAttention, QueryAttention, plot_moment_attention

CLIPS = (None,) * 30


def attention(n_queries: int, n_layers: int = 2, seed: int = 0) -> list[QueryAttention]:
    rng = np.random.default_rng(seed)
    words = ("[CLS]", "dog", "[SEP]")

    def layer(kind: str, number: int, rows: Any, columns: Any) -> LayerAttention:
        weights = rng.dirichlet(np.ones(len(columns)), (2, len(rows))).astype(np.float32)
        masks = (("learned mask M", weights[0] - 0.5),)
        return LayerAttention(f"{kind}, layer {number}", weights, weights[::-1], rows, columns, masks)

    numbers = range(1, n_layers + 1)
    layers = (
        *(layer("clips to words", n, CLIPS, words) for n in numbers),
        *(layer("token and clips", n, ("token", *CLIPS), ("token", *CLIPS)) for n in numbers),
    )
    return [QueryAttention(f"query {n}", layers) for n in range(n_queries)]


@pytest.mark.parametrize(("kind", "suffix"), [("attention", ".png"), ("mask", ".svg"), ("weights", ".svg")])
def test_the_same_attention_gives_the_same_bytes(tmp_path: Path, kind: Any, suffix: str) -> None:
    for name in ("a", "b"):
        assert plot_moment_attention(grounding(1), attention(1), kind, tmp_path / f"{name}{suffix}") == ()
    assert (tmp_path / f"a{suffix}").read_bytes() == (tmp_path / f"b{suffix}").read_bytes()


def test_words_times_layers_and_queries_can_be_read(tmp_path: Path) -> None:
    target = tmp_path / "plot.svg"
    plot_moment_attention(grounding(1), attention(1), "mask", target)
    text = target.read_text(encoding="utf-8")
    for shown in ("query 0", "dog", "0:30", "clips to words, layer 2: learned mask M"):
        assert f"<!-- {shown} -->" in text


def test_the_best_moment_is_marked_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    marked: list[tuple[float, float, str]] = []
    monkeypatch.setattr(
        plots.figures, "mark_cells", lambda _axes, a, b, _colour, side: marked.append((a, b, side))
    )
    plot_moment_attention(grounding(1), attention(1, n_layers=1), "attention", tmp_path / "plot.png")
    # from 10 to 20 of 60 s, two to a clip; cells begin at -0.5, the token is the first
    assert marked == [(4.5, 9.5, "right"), (5.5, 10.5, "top"), (5.5, 10.5, "right")]


def test_a_few_queries_are_drawn_and_all_are_counted(tmp_path: Path) -> None:
    target = tmp_path / "plot.svg"
    (warning,) = plot_moment_attention(grounding(5), attention(5), "attention", target)
    assert warning == f"{target}: shows the first 3 of 5 queries"
    assert plot_moment_attention(grounding(5), attention(5), "weights", target) == ()
    assert "5 queries" in target.read_text(encoding="utf-8")


def test_of_many_layers_the_papers_three_are_counted(tmp_path: Path) -> None:
    target = tmp_path / "plot.svg"
    plot_moment_attention(grounding(1), attention(1, n_layers=16), "weights", target)
    text = target.read_text(encoding="utf-8")
    shown = [n for n in range(1, 17) if f"<!-- layer {n} -->" in text]
    assert shown == [1, 8, 16]
