"""The authors' state dicts, filled at random, against their forward pass written out."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn.functional import batch_norm, conv2d, gelu, layer_norm, linear, normalize

from vidsum.checkpoints.mrnet_official import mrnet_checkpoint
from vidsum.checkpoints.official import OFFICIAL, add_official
from vidsum.checkpoints.published import Published, read_published
from vidsum.errors import UsageError, WeightsError
from vidsum.grounding.mrnet import ground_video, grounder_of, load_grounder
from vidsum.grounding.spaces import ClipEmbeddings
from vidsum.models.mrnet import MRNet, MRNetConfig, match_scores
from vidsum.models.proposal_map import pooling_counts, proposals

D, T, HEADS = 16, 20, 8


def published(
    layers: int = 2, *, is_shared: bool, d: int = D, clips: int = T, hidden: int = 12, kernel: int = 3
) -> dict[str, Tensor]:
    """A state dict with the published names; the sizes are the published ones where they are not given."""
    generator = torch.Generator().manual_seed(5)
    tensors: dict[str, Tensor] = {}

    def fill(name: str, *shape: int) -> None:
        tensors[name] = torch.randn(*shape, generator=generator) * 0.2

    def layer(name: str, *shape: int) -> None:
        fill(f"{name}.weight", *shape)
        fill(f"{name}.bias", shape[0])

    def retention(name: str) -> None:
        fill(f"{name}.learn_vid_ret.weight", clips * clips, 1)
        fill(f"{name}.xpos.scale", d // 2)
        letters = [] if is_shared else [f"{side}_{letter}" for side in ("vid", "txt") for letter in "QKV"]
        for one in letters:
            fill(f"{name}.W_{one}", d, d)
        for place in range(4 if is_shared else 1):
            layer(f"{name}.self_attn.linears.{place}", d, d)

    layer("featpool.conv", 24, 500 if d == 256 else 10, 1)
    for number, width in enumerate((24, d)):
        layer(f"input_vid_proj.{number}.LayerNorm", width)
        layer(f"input_vid_proj.{number}.net.1", d, width)
    for name in ("fc_out1", "fc_out2"):
        layer(f"text_encoder.{name}", d, 768 if d == 256 else 9)
        layer(f"text_out.{name}", d, d)
    layer("text_out.layernorm", d)
    for number in range(layers):
        retention(f"trans_ret.rets.{number}")
        layer(f"trans_ret.ffns.{number}.0", 4 * d, d)
        layer(f"trans_ret.ffns.{number}.2", d, 4 * d)
        layer(f"trans_ret.layer_norms_1.{number}", d)
        layer(f"trans_ret.layer_norms_2.{number}", d)
    layer("trans_ret.norm", d)
    for number in range(2):
        layer(f"proposal_conv.convs.{number}", hidden, hidden if number else d, kernel, kernel)
        layer(f"proposal_conv.bn.{number}", hidden)
        fill(f"proposal_conv.bn.{number}.running_mean", hidden)
        tensors[f"proposal_conv.bn.{number}.running_var"] = torch.rand(hidden, generator=generator) + 0.5
        tensors[f"proposal_conv.bn.{number}.num_batches_tracked"] = torch.tensor(7)
    layer("proposal_conv.conv1x1_iou", d, hidden, 1, 1)
    layer("proposal_conv.conv1x1_contrastive", d, hidden, 1, 1)
    return tensors


def score_directly(w: dict[str, Tensor], video: Tensor, queries: Tensor, layers: int) -> Tensor:
    """[M, T, T] what the public code computes for a video [4 T, Dv] with all its queries [M, Dq] at once."""

    def apply(name: str, x: Tensor) -> Tensor:
        return linear(x, w[f"{name}.weight"].flatten(1), w[f"{name}.bias"])

    def norm(name: str, x: Tensor) -> Tensor:
        return layer_norm(x, x.shape[-1:], w[f"{name}.weight"], w[f"{name}.bias"])

    clips = apply("featpool.conv", video).relu().view(T, 4, -1).mean(1)
    clips = apply("input_vid_proj.0.net.1", norm("input_vid_proj.0.LayerNorm", clips)).relu()
    clips = apply("input_vid_proj.1.net.1", norm("input_vid_proj.1.LayerNorm", clips))
    x = torch.cat([apply("text_encoder.fc_out2", queries), clips])
    m = len(queries)
    for number in range(layers):
        x = x + attend(w, f"trans_ret.rets.{number}", norm(f"trans_ret.layer_norms_1.{number}", x), m)
        wide = gelu(apply(f"trans_ret.ffns.{number}.0", norm(f"trans_ret.layer_norms_2.{number}", x)))
        x = x + apply(f"trans_ret.ffns.{number}.2", wide)
    x = norm("trans_ret.norm", x)
    texts, clips = x[:m], x[m:]
    cells = torch.zeros(1, D, T, T)
    exists = torch.zeros(1, 1, T, T)
    for i, j in proposals(T, pooling_counts(T)).tolist():
        cells[0, :, i, j] = clips[i : j + 1].amax(dim=0)
        exists[0, 0, i, j] = 1
    for number, padding in enumerate((2, 0)):
        name = f"proposal_conv.convs.{number}"
        kernel = w[f"{name}.weight"]
        cells = conv2d(cells, kernel, w[f"{name}.bias"], padding=padding)
        bn = f"proposal_conv.bn.{number}"
        cells = batch_norm(
            cells, w[f"{bn}.running_mean"], w[f"{bn}.running_var"], w[f"{bn}.weight"], w[f"{bn}.bias"]
        ).relu()
        count = conv2d(exists, torch.ones(1, 1, *kernel.shape[2:]), padding=padding).round()
        exists = (count > 0).float()
        cells = cells * exists / count.clamp(min=1)
    heads = [
        normalize(conv2d(cells, w[f"{name}.weight"], w[f"{name}.bias"])[0], dim=0)
        for name in ("proposal_conv.conv1x1_iou", "proposal_conv.conv1x1_contrastive")
    ]
    of_iou = torch.einsum("md,dij->mij", normalize(apply("text_out.fc_out1", texts), dim=1), heads[0])
    cosine = torch.einsum("md,dij->mij", normalize(texts, dim=1), heads[1])
    return (10 * of_iou).sigmoid() * (cosine / 2 + 0.5) ** 0.5


def attend(w: dict[str, Tensor], name: str, x: Tensor, m: int) -> Tensor:
    """Their retention layer in the mode `all`: positions first, then projections, the diagonal 2."""
    place = torch.arange(1, m + 1)[:, None] / m * 2 * torch.pi
    angle = place / 10000 ** (torch.arange(0, D, 2) / D)
    text_qk = x[:m] + torch.stack([angle.sin(), angle.cos()], dim=2).flatten(1)
    pair = torch.arange(D // 2)
    turn = torch.polar(torch.ones(T, D // 2), torch.arange(T)[:, None] * 10000 ** (-pair / (D // 2)))
    scale = ((2 * pair + 0.4 * D) / (1.4 * D)) ** (torch.arange(T)[:, None] / 512)
    numbers = torch.view_as_complex(x[m:].reshape(T, D // 2, 2)) * turn
    video_q, video_k = (torch.view_as_real(numbers * one).flatten(1) for one in (scale, 1 / scale))
    sides = ((text_qk, video_q), (text_qk, video_k), (x[:m], x[m:]))
    if f"{name}.W_vid_Q" in w:
        q, k, v = (
            torch.cat([text @ w[f"{name}.W_txt_{letter}"], video @ w[f"{name}.W_vid_{letter}"]])
            for letter, (text, video) in zip("QKV", sides, strict=True)
        )
        last = 0
    else:
        linears = [f"{name}.self_attn.linears.{number}" for number in range(3)]
        q, k, v = (
            linear(torch.cat(side), w[f"{one}.weight"], w[f"{one}.bias"])
            for one, side in zip(linears, sides, strict=True)
        )
        last = 3
    distance = (torch.arange(T)[:, None] - torch.arange(T)).abs()
    learned = w[f"{name}.learn_vid_ret.weight"].reshape(T, T).sigmoid()
    mask = torch.ones(m + T, m + T)
    mask[m:, m:] = torch.where(distance == 0, 2.0, 0.98**distance * learned)
    q, k, v = (one.view(m + T, HEADS, -1).transpose(0, 1) for one in (q, k, v))
    share = (q @ k.transpose(1, 2) / (D // HEADS) ** 0.5 * mask).softmax(dim=2)
    out = (share @ v).transpose(0, 1).flatten(1)
    return linear(
        out, w[f"{name}.self_attn.linears.{last}.weight"], w[f"{name}.self_attn.linears.{last}.bias"]
    )


@pytest.mark.parametrize("is_shared", [True, False])
@pytest.mark.parametrize("layers", [2, 6])
def test_scores_are_those_of_the_public_code(*, is_shared: bool, layers: int) -> None:
    given = published(layers, is_shared=is_shared)
    trained = mrnet_checkpoint(Published(given, {}))
    model = grounder_of(trained, "official", "cpu").model
    assert model.config.layers == layers
    generator = torch.Generator().manual_seed(6)
    video, queries = torch.randn(4 * T, 10, generator=generator), torch.randn(3, 9, generator=generator)
    with torch.no_grad():
        found = match_scores(model(video[None], queries[None]))[0]
        expected = score_directly(given, video, queries, layers)
    assert (found - expected)[:, model.valid].abs().max() < 1e-4
    assert found[:, model.valid].std() > 1e-3


def test_the_published_sizes_fit() -> None:
    given = published(2, is_shared=False, d=256, clips=64, hidden=512, kernel=9)
    trained = mrnet_checkpoint(Published(given, {}))
    config = MRNetConfig(**trained.config)
    assert (config.dim_video, config.dim_query, config.clips, config.kernel) == (500, 768, 64, 9)
    with torch.device("meta"):
        MRNet(config).load_state_dict(dict(trained.tensors), assign=True)


def test_a_file_becomes_a_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIDSUM_HOME", str(tmp_path / "home"))
    file = tmp_path / "pool_model_7e.pth"
    tensors = {f"module.{name}": value for name, value in published(is_shared=True).items()}
    torch.save({"model": tensors, "epoch": 7, "optimizer": {"lr": 1.0}}, file)
    path = add_official(file, "mrnet-activitynet")
    assert path == tmp_path / "home" / "weights" / "mrnet-activitynet" / "mrnet-activitynet.safetensors"
    grounder = load_grounder(str(path), "cpu")
    rows = np.random.default_rng(0).normal(size=(500, 10)).astype(np.float32)
    video = ClipEmbeddings((rows,), np.arange(500) * 0.5, 0.5, 250.0)
    (moments,) = ground_video(grounder, video, rows[:1, :9])
    assert len(moments) == 5
    assert max(moment.end_s for moment in moments) <= 250


def test_what_is_no_such_file_is_refused(tmp_path: Path) -> None:
    file, hint = tmp_path / "other.pth", OFFICIAL["mrnet-activitynet"].hint
    with pytest.raises(WeightsError, match=r"other\.pth: cannot be read \(No such file"):
        read_published(file, hint)
    file.write_bytes(b"no")
    with pytest.raises(WeightsError, match=r"other\.pth: not a torch file of weights only$") as refused:
        read_published(file, hint)
    assert "xian-sh/MRNet" in str(refused.value.hint)
    torch.save([1, 2], file)
    with pytest.raises(WeightsError, match="is not a state dict"):
        read_published(file, hint)
    with pytest.raises(UsageError, match="mrnet-tacos cannot be read"):
        add_official(file, "mrnet-tacos")


@pytest.mark.parametrize("is_shared", [True, False])
def test_missing_and_unknown_tensors_are_named(*, is_shared: bool) -> None:
    given = published(is_shared=is_shared)
    lacking = {name: value for name, value in given.items() if name != "trans_ret.norm.weight"}
    with pytest.raises(WeightsError, match=r"has no trans_ret\.norm\.weight"):
        mrnet_checkpoint(Published(lacking, {}))
    with pytest.raises(WeightsError, match=r"nothing is known of its text_encoder\.bert\.x"):
        mrnet_checkpoint(Published({**given, "text_encoder.bert.x": torch.ones(1)}, {}))
