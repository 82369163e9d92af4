"""The published Moment-DETR and QD-DETR (jayleicn/moment_detr, wjun0830/QD-DETR) as checkpoints of vidsum."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from vidsum.checkpoints.trained import Trained
from vidsum.errors import WeightsError
from vidsum.lab.importers.published import TensorReader

if TYPE_CHECKING:
    from torch import Tensor

    Tensors = dict[str, Tensor]

_UNUSED = r"txt_position_embed\.|contrastive_align_projection_"
"""Names of unused tensors: positions of words, and the heads of a training loss."""
_OPTIONS = {"nheads": 8, "max_v_l": 75, "max_q_l": 32, "clip_length": 2}
"""The published options for QVHighlights, for files that have none."""
_REFUSED = ("use_txt_pos", "no_norm_vfeat", "no_norm_tfeat", "a_feat_dir")
"""Options that no tensor shows: positions of words, unnormalised features, and QD-DETR's audio features."""
_CLIP_DIM = 512 + 2  # CLIP's features with the two endpoints: the only published kind that vidsum can compute

_INPUTS = {
    f"input_{published_key}_proj.{number}.{part}": f"inputs.{key}.{4 * number + offset}"
    for published_key, key in (("vid", "video"), ("txt", "words"))
    for number in range(2)
    for part, offset in (("LayerNorm", 0), ("net.1", 2))
}
_ANSWERS = {"class_embed": "decoder.classes", "transformer.decoder.norm": "decoder.norm"}
_ANCHOR_PERCEPTRONS = {"ref_point_head": "place", "query_scale": "scale", "ref_anchor_head": "width"}
_ANCHOR_LAYER = {
    "sa_qcontent_proj": "attention.q",
    "sa_qpos_proj": "attention.q_place",
    "sa_kcontent_proj": "attention.k",
    "sa_kpos_proj": "attention.k_place",
    "sa_v_proj": "attention.v",
    "self_attn.out_proj": "attention.out",
    "ca_qcontent_proj": "cross.q",
    "ca_qpos_sine_proj": "cross.q_sine",
    "ca_kcontent_proj": "cross.k",
    "ca_kpos_proj": "cross.k_position",
    "ca_v_proj": "cross.v",
    "cross_attn.out_proj": "cross.out",
}


def moment_detr_checkpoint(published: "Mapping[str, Tensor]", options: Mapping[str, Any]) -> Trained:
    """Convert Moment-DETR to a checkpoint of vidsum. Raises WeightsError for unknown variants."""
    reader = TensorReader(published, "Moment-DETR", _UNUSED)
    tensors = reader.take_layers({"saliency_proj": "saliency_head"})
    tensors["decoder.places"] = reader.take("query_embed.weight")
    for number in range(reader.count(r"transformer\.decoder\.layers\.(\d+)\.")):
        published_key, key = f"transformer.decoder.layers.{number}", f"decoder.layers.{number}"
        tensors |= _attention(reader, f"{published_key}.self_attn", f"{key}.attention")
        tensors |= _attention(reader, f"{published_key}.multihead_attn", f"{key}.cross")
        tensors |= _rest_of_layer(reader, published_key, key, 3)
    return _checkpoint("moment-detr", reader, tensors, options)


def qd_detr_checkpoint(published: "Mapping[str, Tensor]", options: Mapping[str, Any]) -> Trained:
    """Convert QD-DETR to a checkpoint of vidsum; errors as `moment_detr_checkpoint`."""
    reader = TensorReader(published, "QD-DETR", _UNUSED)
    tensors = _encoder(reader, "t2v_encoder", "cross")
    heads = {"saliency_proj1": "global_saliency.of_clips", "saliency_proj2": "global_saliency.of_token"}
    tensors |= reader.take_layers(heads)
    tensors["global_saliency.token"] = reader.take("global_rep_token")
    tensors["global_saliency.position"] = reader.take("global_rep_pos")
    tensors["decoder.anchors"] = reader.take("query_embed.weight")
    for published_key, key in _ANCHOR_PERCEPTRONS.items():
        tensors |= _perceptron(reader, f"transformer.decoder.{published_key}", f"decoder.{key}", 2)
    tensors |= _perceptron(reader, "transformer.decoder.bbox_embed", "decoder.move", 3)
    for number in range(reader.count(r"transformer\.decoder\.layers\.(\d+)\.")):
        published_key, key = f"transformer.decoder.layers.{number}", f"decoder.layers.{number}"
        places = {"ca_qpos_proj": "cross.q_place"} if number == 0 else {}
        names = (_ANCHOR_LAYER | places).items()
        tensors |= reader.take_layers({f"{published_key}.{part}": f"{key}.{mine}" for part, mine in names})
        tensors |= _rest_of_layer(reader, published_key, key, 3)
    return _checkpoint("qd-detr", reader, tensors, options)


def _checkpoint(model: str, reader: TensorReader, tensors: "Tensors", options: Mapping[str, Any]) -> Trained:
    """Return the checkpoint, with the tensors that both models have."""
    options = {**_OPTIONS, **options}
    for option in _REFUSED:
        if options.get(option):
            raise WeightsError(f"{reader.model} with --{option} is not supported")
    if len(reader.take("span_embed.layers.2.bias")) != 2:
        raise WeightsError(f"{reader.model} with --span_loss_type ce is not supported, only l1")
    tensors |= reader.take_layers(_INPUTS | _ANSWERS)
    tensors |= _perceptron(reader, "span_embed", "decoder.spans", 3)
    tensors |= _encoder(reader, "encoder", "encoder")
    reader.require_all_taken()
    config = {
        "dim_video": len(tensors["inputs.video.0.weight"]),
        "dim_query": len(tensors["inputs.words.0.weight"]),
        "clips": int(options["max_v_l"]),
        "words": int(options["max_q_l"]),
        "d": len(reader.take("transformer.encoder.layers.0.linear2.bias")),
        "heads": int(options["nheads"]),
        "d_ff": len(reader.take("transformer.encoder.layers.0.linear1.bias")),
        "layers": reader.count(r"transformer\.encoder\.layers\.(\d+)\."),
        "decoder_layers": reader.count(r"transformer\.decoder\.layers\.(\d+)\."),
        "n_moments": len(reader.take("query_embed.weight")),
    }
    clip_s = float(options["clip_length"])
    space, dim = "clip" if config["dim_video"] == _CLIP_DIM else "features", config["dim_video"]
    # one frame a clip, not the mean of several
    features = {"space": space, "dim": dim, "clip_s": clip_s, "fps": 1 / clip_s, "text": "clip"}
    return Trained(model, config, features, {"origin": "the authors' published state dict"}, tensors)


def _encoder(reader: TensorReader, published_key: str, key: str) -> "Tensors":
    tensors: Tensors = {}
    for number in range(reader.count(rf"transformer\.{published_key}\.layers\.(\d+)\.")):
        layer, to = f"transformer.{published_key}.layers.{number}", f"{key}.{number}"
        tensors |= _attention(reader, f"{layer}.self_attn", f"{to}.attention")
        tensors |= _rest_of_layer(reader, layer, to, 2)
    return tensors


def _attention(reader: TensorReader, published_key: str, key: str) -> "Tensors":
    """Return an attention layer; the published projections of queries, keys and values are one tensor."""
    tensors = reader.take_layers({f"{published_key}.out_proj": f"{key}.out"})
    for part in ("weight", "bias"):
        thirds = reader.take(f"{published_key}.in_proj_{part}").chunk(3)
        tensors |= {f"{key}.{name}.{part}": third for name, third in zip("qkv", thirds, strict=True)}
    return tensors


def _rest_of_layer(reader: TensorReader, published_key: str, key: str, norms: int) -> "Tensors":
    """Return the feed-forward network and the norms; only QD-DETR has a PReLU."""
    names = {f"{published_key}.norm{number + 1}": f"{key}.norms.{number}" for number in range(norms)}
    names |= {
        f"{published_key}.linear1": f"{key}.feed_forward.0",
        f"{published_key}.linear2": f"{key}.feed_forward.3",
    }
    tensors = reader.take_layers(names)
    if reader.model == "QD-DETR":
        tensors[f"{key}.feed_forward.1.weight"] = reader.take(f"{published_key}.activation.weight")
    return tensors


def _perceptron(reader: TensorReader, published_key: str, key: str, layers: int) -> "Tensors":
    """Return an MLP; published names count linear layers, those here count the ReLUs too."""
    names = {f"{published_key}.layers.{layer}": f"{key}.{2 * layer}" for layer in range(layers)}
    return reader.take_layers(names)
