"""MRNet as a whole, and its map of proposals against maxima and counts taken directly."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from vidsum.models.configs import MaskConfig, MRNetConfig
from vidsum.models.mrnet import MRNet, Scores, match_scores, pool_proposals, pooling_counts, proposals

SMALL = {"dim_video": 6, "dim_query": 5, "clips": 20, "d": 16, "heads": 2, "d_ff": 32}
SMALL_HEAD = {"dim_map": 8, "hidden": 8, "kernel": 3, "convolutions": 2, "dim_joint": 8}


def small(**options: object) -> MRNet:
    torch.manual_seed(0)
    return MRNet(MRNetConfig(**{**SMALL, **SMALL_HEAD, **options})).eval()


def inputs(n_videos: int = 2, n_queries: int = 3) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    return (
        torch.randn(n_videos, 20, 6, generator=generator),
        torch.randn(n_videos, n_queries, 5, generator=generator),
    )


@pytest.mark.parametrize("has_mask", [False, True])
def test_block_hands_on_its_mask_or_the_one_before(has_mask: bool) -> None:
    block = small(mask=MaskConfig(kind="lam") if has_mask else None).blocks[0]
    assert (block(torch.zeros(1, 7, 16), 3, None, None)[1] is not None) == has_mask


def millions(*parts: nn.Module) -> str:
    return f"{sum(parameter.numel() for part in parts for parameter in part.parameters()) / 1e6:.2f}"


def test_numbers_of_parameters_are_the_papers() -> None:
    with torch.device("meta"):
        model = MRNet(MRNetConfig())
    assert millions(model) == "77.16"
    assert millions(model.blocks, model.norm) == "1.98"
    # "the total parameters of whole back-end of MMN are 74.59 M"
    assert millions(model.map, model.proposal_iou, model.proposal_contrastive) == "74.59"


IOU, COSINE = torch.tensor([0.0, 2.0, -3.0]), torch.tensor([1.0, -1.0, 0.28])


def test_score_of_a_match_is_the_iou_times_the_root_of_the_cosine() -> None:
    scores = match_scores(Scores(IOU, COSINE, IOU, IOU))
    assert scores.tolist() == pytest.approx([0.5, 0.0, IOU[2].sigmoid().item() * 0.8], abs=1e-6)
    assert torch.equal(scores, IOU.sigmoid() * ((COSINE + 1) / 2).sqrt())


def test_power_of_the_cosine_can_be_chosen() -> None:
    cubed = match_scores(Scores(IOU, COSINE, IOU, IOU, contrastive_power=3.0))
    assert cubed.tolist() == pytest.approx([0.5, 0.0, IOU[2].sigmoid().item() * 0.64**3], abs=1e-6)


@pytest.fixture(scope="module")
def model() -> MRNet:
    return small()


@pytest.fixture(scope="module")
def scores(model: MRNet) -> Scores:
    with torch.no_grad():
        return model(*inputs())


def test_scores_have_their_shapes(model: MRNet, scores: Scores) -> None:
    assert scores.iou.shape == scores.contrastive.shape == (2, 3, 20, 20)
    assert scores.proposals.shape == (2, int(model.valid.sum()), 8)
    assert scores.queries.shape == (2, 3, 8)


def test_queries_and_proposals_have_unit_length(scores: Scores) -> None:
    assert torch.allclose(scores.queries.norm(dim=2), torch.ones(2, 3))
    assert torch.allclose(scores.proposals.norm(dim=2), torch.ones(1))


def test_logits_of_the_iou_are_bounded(scores: Scores) -> None:
    assert scores.iou.abs().max() <= 10 + 1e-5


def test_contrastive_scores_are_cosines_of_queries_and_proposals(model: MRNet, scores: Scores) -> None:
    cosines = torch.einsum("bmd,bnd->bmn", scores.queries, scores.proposals)
    assert torch.allclose(cosines, scores.contrastive[..., model.valid], atol=1e-6)


def test_no_proposal_ends_before_it_begins(model: MRNet) -> None:
    assert model.valid[0, 0]
    assert not model.valid[1, 0]


@torch.no_grad()
def test_pooled_input_is_the_mean_of_its_samples() -> None:
    model = small(inputs="pooled", pool=4, dim_pool=7)
    video = torch.randn(1, 80, 6)
    assert model(video, inputs()[1][:1]).iou.shape == (1, 3, 20, 20)
    pooled = model.video_input[0]
    expected = pooled.projection(video[0, 4:8]).relu().mean(dim=0)
    assert torch.allclose(pooled(video)[0, 1], expected, atol=1e-6)


@pytest.fixture
def sparse() -> MRNet:
    """A model whose masks should have a mean of a quarter."""
    return small(sparsity=0.25)


def sparse_masks(model: MRNet) -> list[torch.Tensor]:
    return [block.retention.sparse_weights for block in model.blocks]


def test_gradient_of_the_sparsity_loss_is_of_equation_6(sparse: MRNet) -> None:
    sparse.sparsity_loss().backward()
    for mask in sparse_masks(sparse):  # a mean over two blocks
        values = mask.detach().sigmoid()
        assert torch.allclose(mask.grad, values * (1 - values) / mask.numel() / 2)


def test_masks_that_are_sparse_enough_have_no_loss(sparse: MRNet) -> None:
    for mask in sparse_masks(sparse):
        torch.nn.init.constant_(mask, torch.tensor(0.124).logit().item())
    loss = sparse.sparsity_loss()
    assert loss.item() == 0
    loss.backward()
    assert all((mask.grad == 0).all() for mask in sparse_masks(sparse))


def test_model_without_sparse_masks_has_no_sparsity_loss() -> None:
    assert small(sparse=False).sparsity_loss().item() == 0


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"decay": "none", "sparse": False},
        {"decay": "forward"},
        {"nonlinearity": "gate"},
        {"nonlinearity": "none"},
        {"regions": ("vv", "qq", "vq", "qv")},
        {"regions": ("qq",)},
        {"cross_modal": False},
        {"positions": "before", "bias": True, "diagonal": 2.0},
        {"layers": 1, "gamma": 0.5},
        {"dim_map": 16},
    ],
)
def test_every_parameter_of_every_variant_learns(options: dict[str, object]) -> None:
    model = small(**options).train()
    video, queries = inputs()
    scores = model(video, queries, torch.tensor([[True, True, False], [True, True, True]]))
    loss = match_scores(scores)[..., model.valid].mean() + model.sparsity_loss()
    loss.backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad.isfinite().all(), name
        assert parameter.grad.abs().sum() > 0, name


@pytest.mark.parametrize("mask", [None, MaskConfig(), MaskConfig(kind="lam", fusion="sum", shared=True)])
def test_padded_queries_change_nothing(mask: MaskConfig | None) -> None:
    model = small(mask=mask)
    video, queries = inputs()
    with torch.no_grad():
        scores = model(video, queries, torch.tensor([[True, True, False], [True, True, True]]))
        alone = model(video[:1], queries[:1, :2])
    for found, expected in zip(scores[:2], alone[:2], strict=True):
        assert torch.allclose(found[:1, :2][..., model.valid], expected[..., model.valid], atol=1e-5)


@pytest.mark.parametrize(
    ("clips", "counts"), [(16, (15,)), (64, (15, 8, 8)), (128, (15, 8, 8, 8)), (2, (1,)), (17, (15,))]
)
def test_counts_of_pooled_proposals_are_published(clips: int, counts: tuple[int, ...]) -> None:
    assert pooling_counts(clips) == counts


@given(st.integers(2, 100), st.integers(0, 99))
@settings(max_examples=25, deadline=None)
def test_a_proposal_is_the_most_of_its_clips(clips: int, seed: int) -> None:
    x = torch.randn(1, 2, clips, generator=torch.Generator().manual_seed(seed))
    counts = pooling_counts(clips)
    pooled = pool_proposals(x, counts)
    pairs = proposals(clips, counts)
    assert pooled.shape[2] == len(pairs)
    for number, (first, last) in enumerate(pairs.tolist()):
        assert torch.equal(pooled[0, :, number], x[0, :, first : last + 1].amax(dim=1))
