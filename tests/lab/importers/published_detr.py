"""State dicts of the names and shapes that the public code of Moment-DETR and QD-DETR has, at random."""

import torch
from torch import Tensor

Shapes = dict[str, tuple[int, ...]]


def moment_detr(d: int, d_ff: int, dim_video: int, dim_query: int, n_moments: int = 10) -> Shapes:
    """With 2 + 2 layers, and n_input_proj 2."""
    shapes = _shared(d, dim_video, dim_query)
    shapes |= {"query_embed.weight": (n_moments, d), **linear("saliency_proj", d, 1)}
    for layer in range(2):
        shapes |= _layer(f"transformer.encoder.layers.{layer}", d, d_ff, ("self_attn",), 2)
        attentions = ("self_attn", "multihead_attn")
        shapes |= _layer(f"transformer.decoder.layers.{layer}", d, d_ff, attentions, 3)
    return shapes


def qd_detr(d: int, d_ff: int, dim_video: int, dim_query: int, n_moments: int = 10) -> Shapes:
    """With 2 + 2 + 2 layers, and n_input_proj 2; its activations are PReLUs of one number."""
    shapes = _shared(d, dim_video, dim_query)
    shapes |= {"query_embed.weight": (n_moments, 2), "global_rep_token": (d,), "global_rep_pos": (d,)}
    shapes |= {**linear("saliency_proj1", d, d), **linear("saliency_proj2", d, d)}
    for name, outputs in (("query_scale", (d, d)), ("ref_point_head", (d, d)), ("ref_anchor_head", (d, 1))):
        for number, output in enumerate(outputs):
            shapes |= linear(f"transformer.decoder.{name}.layers.{number}", d, output)
    for number, output in enumerate((d, d, 2)):
        shapes |= linear(f"transformer.decoder.bbox_embed.layers.{number}", d, output)
    for layer in range(2):
        for name in ("t2v_encoder", "encoder"):
            shapes |= _layer(f"transformer.{name}.layers.{layer}", d, d_ff, ("self_attn",), 2)
            shapes[f"transformer.{name}.layers.{layer}.activation.weight"] = (1,)
        decoder = f"transformer.decoder.layers.{layer}"
        shapes |= _layer(decoder, d, d_ff, (), 3)
        shapes[f"{decoder}.activation.weight"] = (1,)
        for name in ("sa_qcontent", "sa_qpos", "sa_kcontent", "sa_kpos", "sa_v"):
            shapes |= linear(f"{decoder}.{name}_proj", d, d)
        for name in ("ca_qcontent", "ca_kcontent", "ca_kpos", "ca_v", "ca_qpos_sine"):
            shapes |= linear(f"{decoder}.{name}_proj", d, d)
        for name in ("self_attn", "cross_attn"):
            shapes |= linear(f"{decoder}.{name}.out_proj", d, d)
    shapes |= linear("transformer.decoder.layers.0.ca_qpos_proj", d, d)
    return shapes


def unused(d: int, words: int = 32) -> Shapes:
    """Of both: positions of words, which are off."""
    return {
        "txt_position_embed.position_embeddings.weight": (words, d),
        **norm("txt_position_embed.LayerNorm", d),
    }


def at_random(shapes: Shapes, seed: int = 0) -> dict[str, Tensor]:
    """Numbers that keep activations of order 1; the norms' weights around 1."""
    generator = torch.Generator().manual_seed(seed)
    tensors = {}
    for name, shape in shapes.items():
        spread = 2 * shape[-1] ** -0.5 if len(shape) == 2 else 0.3
        tensors[name] = torch.randn(shape, generator=generator) * spread
        if "norm" in name.lower() and name.endswith("weight"):
            tensors[name] += 1
    return tensors


def linear(name: str, d_in: int, d_out: int) -> Shapes:
    return {f"{name}.weight": (d_out, d_in), f"{name}.bias": (d_out,)}


def norm(name: str, d: int) -> Shapes:
    return {f"{name}.weight": (d,), f"{name}.bias": (d,)}


def _shared(d: int, dim_video: int, dim_query: int) -> Shapes:
    shapes = {**linear("class_embed", d, 2), **norm("transformer.decoder.norm", d)}
    for number, output in enumerate((d, d, 2)):
        shapes |= linear(f"span_embed.layers.{number}", d, output)
    for name, dim in (("input_vid_proj", dim_video), ("input_txt_proj", dim_query)):
        for number, width in enumerate((dim, d)):
            shapes |= {
                **norm(f"{name}.{number}.LayerNorm", width),
                **linear(f"{name}.{number}.net.1", width, d),
            }
    return shapes


def _layer(name: str, d: int, d_ff: int, attentions: tuple[str, ...], norms: int) -> Shapes:
    shapes: Shapes = {}
    for attention in attentions:
        shapes |= {
            f"{name}.{attention}.in_proj_weight": (3 * d, d),
            f"{name}.{attention}.in_proj_bias": (3 * d,),
        }
        shapes |= linear(f"{name}.{attention}.out_proj", d, d)
    shapes |= {**linear(f"{name}.linear1", d, d_ff), **linear(f"{name}.linear2", d_ff, d)}
    for number in range(norms):
        shapes |= norm(f"{name}.norm{number + 1}", d)
    return shapes
