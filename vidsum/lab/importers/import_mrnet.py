"""The authors' MRNet state dicts (xian-sh/MRNet) as checkpoints of vidsum."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from vidsum.checkpoints.trained import Trained
from vidsum.errors import WeightsError
from vidsum.lab.importers.published import TensorReader, Tensors

if TYPE_CHECKING:
    from torch import Tensor


class Configuration(NamedTuple):
    """A published configuration, checkpoints/best/*/config.yml."""

    sizes: Mapping[str, int]  # that identify it, by the names of the configuration
    space: str
    switches: Mapping[str, Any]  # settings of the model that no tensor shows
    max_iou: float  # IoU threshold of non-maximum suppression


_ALIKE: Mapping[str, Any] = {"heads": 8, "diagonal": 2.0, "positions": "before", "inputs": "pooled"}
_CLIPS_ALONE = {"cross_modal": False, "queries_attend": False, "nonlinearity": "none"}

_ACTIVITYNET = {"gamma": 0.98, "pool": 4, "contrastive_power": 0.5}
_CHARADES = {"gamma": 0.98, "pool": 2, "contrastive_power": 0.5, **_CLIPS_ALONE}
_TACOS = {"gamma": 0.999, "pool": 4, "contrastive_power": 0.3}
_C3D, _I3D = "c3d with distilbert", "i3d with distilbert"
CONFIGURATIONS: Mapping[str, Configuration] = {
    "mrnet-activitynet": Configuration(
        {"dim_video": 500, "clips": 64, "convolutions": 4, "kernel": 9}, _C3D, _ACTIVITYNET, 0.5
    ),
    "mrnet-charades": Configuration(
        {"dim_video": 1024, "clips": 64, "convolutions": 2, "kernel": 17}, _I3D, _CHARADES, 0.5
    ),
    "mrnet-tacos": Configuration(
        {"dim_video": 500, "clips": 128, "convolutions": 3, "kernel": 5}, _C3D, _TACOS, 0.4
    ),
}

_CLIP_S = 1e6  # every video is one window: the published model reads T clips of a whole video of any length

_UNUSED = r"text_encoder\.fc_out1\.|text_out\.(fc_out2|layernorm)\.|trans_ret\.rets\.\d+\.xpos\."
"""Tensors that the scores do not depend on."""


def mrnet_checkpoint(published: Tensors, name: str) -> Trained:
    """Convert a published state dict of a configuration. Raises WeightsError: another one, or damaged."""
    configuration = CONFIGURATIONS[name]
    reader = TensorReader(published, "MRNet", _UNUSED)
    layers = max(1, reader.count(r"trans_ret\.rets\.(\d+)\."))
    convolutions = max(1, reader.count(r"proposal_conv\.convs\.(\d+)\."))
    is_shared = "trans_ret.rets.0.self_attn.linears.3.weight" in published
    tensors = _tensors(reader, layers, convolutions, is_shared)
    shapes = {**_shapes(tensors), "convolutions": convolutions}
    if {size: shapes[size] for size in configuration.sizes} != configuration.sizes:
        other, expected = (
            ", ".join(f"{size} {sizes[size]}" for size in configuration.sizes)
            for sizes in (shapes, configuration.sizes)
        )
        raise WeightsError(f"MRNet with {other}; {name} has {expected}")
    reader.require_all_taken()
    if not configuration.switches.get("queries_attend", True):
        for number in range(layers):
            _let_queries_pass(tensors, f"blocks.{number}.retention", is_shared)
    config = {**_ALIKE, **configuration.switches, **shapes, "layers": layers, "bias": is_shared}
    features = {"space": configuration.space, "clip_s": _CLIP_S, "max_iou": configuration.max_iou}
    return Trained("mrnet", config, features, {"origin": "the authors' published state dict"}, tensors)


def _tensors(reader: TensorReader, layers: int, convolutions: int, is_shared: bool) -> "dict[str, Tensor]":
    import torch

    tensors = reader.take_layers(_names(layers, convolutions, is_shared))
    for number in range(convolutions):
        for part in ("running_mean", "running_var", "num_batches_tracked"):
            tensors[f"map.norms.{number}.{part}"] = reader.take(f"proposal_conv.bn.{number}.{part}")
    for number in range(layers):
        tensors.update(_retention(reader, number, is_shared))
    for head in ("proposal_iou", "proposal_contrastive"):
        tensors[f"{head}.weight"] = tensors[f"{head}.weight"].flatten(1)
    tensors["video_input.0.projection.weight"] = tensors["video_input.0.projection.weight"].flatten(1)
    # the published contrastive score compares the proposal with the query as the blocks give it
    query = tensors["query_iou.weight"]
    tensors["query_contrastive.weight"] = torch.eye(*query.shape)
    tensors["query_contrastive.bias"] = torch.zeros(len(query))
    return tensors


def _names(layers: int, convolutions: int, is_shared: bool) -> dict[str, str]:
    """Map published names to names here, of layers whose weight and bias mean the same in both."""
    names = {
        "featpool.conv": "video_input.0.projection",
        "input_vid_proj.0.LayerNorm": "video_input.1.0",
        "input_vid_proj.0.net.1": "video_input.1.2",
        "input_vid_proj.1.LayerNorm": "video_input.1.4",
        "input_vid_proj.1.net.1": "video_input.1.6",
        "text_encoder.fc_out2": "query_input",
        "trans_ret.norm": "norm",
        "proposal_conv.conv1x1_iou": "proposal_iou",
        "proposal_conv.conv1x1_contrastive": "proposal_contrastive",
        "text_out.fc_out1": "query_iou",
    }
    for number in range(layers):
        out = f"trans_ret.rets.{number}.self_attn.linears.{3 if is_shared else 0}"
        names[out] = f"blocks.{number}.retention.out"
        names[f"trans_ret.layer_norms_1.{number}"] = f"blocks.{number}.norms.0"
        names[f"trans_ret.layer_norms_2.{number}"] = f"blocks.{number}.norms.1"
        for place in (0, 2):
            names[f"trans_ret.ffns.{number}.{place}"] = f"blocks.{number}.feed_forward.{place}"
    for number in range(convolutions):
        names[f"proposal_conv.convs.{number}"] = f"map.convolutions.{number}"
        names[f"proposal_conv.bn.{number}"] = f"map.norms.{number}"
    return names


def _retention(reader: TensorReader, number: int, is_shared: bool) -> "dict[str, Tensor]":
    """Return the projections of Eq. 1, one for both modalities or one for each, and the learned mask."""
    import torch

    published_key, key = f"trans_ret.rets.{number}", f"blocks.{number}.retention"
    learned = reader.take(f"{published_key}.learn_vid_ret.weight")
    clips = round(learned.numel() ** 0.5)
    tensors = {f"{key}.sparse_weights": learned.reshape(clips, clips)}
    for modality, letters in (("query", "txt"), ("video", "vid")):
        if is_shared:
            linears = [f"{published_key}.self_attn.linears.{place}" for place in range(3)]
            biases = [reader.take(f"{name}.bias") for name in linears]
            tensors[f"{key}.{modality}_projections.bias"] = torch.cat(biases)
            weights = [reader.take(f"{name}.weight") for name in linears]
        else:
            # published weights multiply from the right
            weights = [reader.take(f"{published_key}.W_{letters}_{letter}").T for letter in "QKV"]
        tensors[f"{key}.{modality}_projections.weight"] = torch.cat(weights)
    return tensors


def _let_queries_pass(tensors: "dict[str, Tensor]", retention: str, is_shared: bool) -> None:
    """Set the weights so that queries pass unchanged, as in the public code where only clips attend.

    Shared projections: queries stay, and clips have masked logits. Separate ones: queries are their values,
    and the weights of clips are zero, which leaves the next layer's bias.
    """
    import torch

    names = ["query_projections.weight", "query_projections.bias"] if is_shared else ["out.weight"]
    for name in names:
        tensors[f"{retention}.{name}"] = torch.zeros_like(tensors[f"{retention}.{name}"])
    if is_shared:
        weight = tensors[f"{retention}.query_projections.weight"]
        weight[-weight.shape[1] :] = torch.eye(weight.shape[1])


def _shapes(tensors: "Mapping[str, Tensor]") -> dict[str, int]:
    """Return the sizes of the model's configuration, from the shapes of its tensors."""
    sizes = {
        ("dim_pool", "dim_video"): tensors["video_input.0.projection.weight"],
        ("d", "dim_query"): tensors["query_input.weight"],
        ("d_ff",): tensors["blocks.0.feed_forward.0.weight"],
        ("clips",): tensors["blocks.0.retention.sparse_weights"],
        ("hidden", "dim_map", "kernel"): tensors["map.convolutions.0.weight"],
        ("dim_joint",): tensors["proposal_iou.weight"],
    }
    return {name: tensor.shape[axis] for names, tensor in sizes.items() for axis, name in enumerate(names)}
