import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from vidsum.models.detr import centre_width, generalized_iou, generalized_iou_of_pairs, start_end

SPAN = st.tuples(st.floats(-1, 2), st.floats(1e-3, 3)).map(lambda one: (one[0], one[0] + one[1]))
SPANS = st.lists(SPAN, min_size=1, max_size=6).map(lambda given: torch.tensor(given, dtype=torch.float64))


def boxes(spans: Tensor) -> Tensor:
    """[N, 4] boxes of height 1."""
    start, end = spans.unbind(1)
    return torch.stack([start, torch.zeros_like(start), end, torch.ones_like(end)], dim=1)


@given(SPANS, SPANS)
def test_all_to_all_is_that_of_boxes_of_height_1(a: Tensor, b: Tensor) -> None:
    from torchvision.ops import generalized_box_iou

    assert torch.allclose(generalized_iou(a, b), generalized_box_iou(boxes(a), boxes(b)), atol=1e-9)


@given(SPANS)
def test_pairs_are_the_diagonal_and_a_span_fits_itself(spans: Tensor) -> None:
    others = spans.flip(0)
    pairs = generalized_iou_of_pairs(spans, others)
    assert torch.allclose(pairs, generalized_iou(spans, others).diagonal())
    assert torch.allclose(generalized_iou_of_pairs(spans, spans), torch.ones(len(spans), dtype=torch.float64))
    assert torch.allclose(pairs, generalized_iou_of_pairs(others, spans))
    assert ((pairs > -1) & (pairs <= 1 + 1e-12)).all()


def test_batches_and_known_values() -> None:
    a = torch.tensor([[[0.0, 0.5], [0.25, 0.75]], [[0.0, 0.1], [0.9, 1.0]]])
    b = torch.tensor([[[0.5, 1.0]], [[0.0, 0.2]]])
    # touching: 0 of 1, nothing between; half of 3/4 less nothing; inside; 0.7 of 1 is neither's
    expected = torch.tensor([[[0.0], [1 / 3]], [[0.5], [-0.7]]])
    assert torch.allclose(generalized_iou(a, b), expected)


def test_empty_spans_give_numbers() -> None:
    empty, whole = torch.tensor([0.3, 0.3]), torch.tensor([0.0, 1.0])
    assert generalized_iou_of_pairs(empty, empty).item() == 0
    assert generalized_iou_of_pairs(empty, whole).item() == 0
    far = torch.tensor([0.9, 0.9])
    assert generalized_iou_of_pairs(empty, far).item() == pytest.approx(-1)


@given(SPANS)
def test_there_and_back(spans: Tensor) -> None:
    assert torch.allclose(start_end(centre_width(spans)), spans)
    centre, width = centre_width(spans).unbind(1)
    assert ((spans[:, 0] <= centre) & (centre <= spans[:, 1])).all()
    assert torch.allclose(width, spans.diff(dim=1)[:, 0])
    assert torch.equal(centre_width(torch.tensor([0.25, 0.75])), torch.tensor([0.5, 0.5]))


def test_nearer_spans_have_a_gradient_towards_each_other() -> None:
    spans = torch.tensor([[0.1, 0.2]], requires_grad=True)
    generalized_iou_of_pairs(start_end(spans), torch.tensor([[0.8, 0.9]])).sum().backward()
    assert spans.grad is not None
    assert (spans.grad > 0).all()  # further to the right and wider
