"""Whether the trained moment models tell clips apart: the spread of their states, and of their saliency.

    python -m docs.benchmarks.states --tvsum FOLDER [--videos 12]

FOLDER holds `frame_captions.json` and `ydata-tvsum50.mat`. Each shipped model reads videos of TVSum in `vse`,
and the caption of a clip of each as the query. States are of the last layer of the encoder, normalised: a
deviation over time of 0 means that all clips look alike. Perplexity is of the softmax of the saliency, over
the number of clips.
"""

import argparse
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import layer_norm

from docs.benchmarks import argument_parser
from docs.benchmarks.human_summaries import MAT
from docs.benchmarks.tables import print_table
from vidsum.grounding.chosen_model import load_model
from vidsum.grounding.moment_model import Model
from vidsum.grounding.spaces import ClipEmbeddings, guided_rows
from vidsum.grounding.windows import with_endpoints
from vidsum.lab.datasets.captioned import in_space, read_captioned
from vidsum.models.detr import pad_inputs
from vidsum.models.mrnet import MRNet
from vidsum.models.scaling import unit_rows
from vidsum.types import FloatArray

MODELS = ("mrnet", "qd-detr", "qd-detr-lam", "qd-detr-stamp")


def spread_of(model: str, rows: FloatArray, captions: FloatArray) -> tuple[float, float]:
    """Deviation and perplexity for a video [T, D] in the space, and embeddings [T, D] of its captions."""
    loaded = load_model(model, "cpu")
    assert loaded
    count = loaded.model.config.clips
    places = np.linspace(0, len(rows) - 1, count).round().astype(int)
    query = unit_rows(captions[places[count // 3], None])
    video = ClipEmbeddings(unit_rows(rows[places]), np.arange(count, dtype=np.float64), 1.0, float(count))
    return spread(loaded.model, guided_rows(video, query[0]), query)


@torch.inference_mode()
def spread(network: Model, rows: FloatArray, words: FloatArray) -> tuple[float, float]:
    """Deviation and perplexity, NaN for MRNet, for clips [T, D] with their guide and a query [L, D]."""
    states = list[Tensor]()
    last = network.norm if isinstance(network, MRNet) else network.encoder[-1]
    hook = last.register_forward_hook(
        lambda _, __, out: states.append(out[0] if isinstance(out, tuple) else out)
    )
    perplexity = float("nan")
    if isinstance(network, MRNet):
        network(torch.from_numpy(rows)[None], torch.from_numpy(words)[None])
    else:
        inputs = pad_inputs([with_endpoints(rows)], [words], torch.device("cpu"))
        shares = network(*inputs).saliency[0].softmax(dim=0)
        perplexity = float((-(shares * shares.log()).sum()).exp()) / len(rows)
    hook.remove()
    of_clips = states[0][0, 1:]  # without the query or the token that goes with the clips
    return float(layer_norm(of_clips, of_clips.shape[-1:]).std(dim=0, correction=0).mean()), perplexity


def main() -> None:
    """Print a row for each model."""
    parser = argument_parser(__doc__, small="--tvsum data/tvsum --videos 2")
    parser.add_argument("--tvsum", type=Path, required=True)
    parser.add_argument("--videos", type=int, default=12)
    options: argparse.Namespace = parser.parse_args()
    videos = read_captioned([options.tvsum / "frame_captions.json"], [options.tvsum / MAT])
    videos = dict(list(videos.items())[: options.videos])
    seen = in_space(videos, "vse")

    def cells_of(model: str) -> list[str]:
        of_videos = [
            spread_of(model, seen[name].features.array, videos[name].features.array) for name in videos
        ]
        deviation, perplexity = np.mean(of_videos, axis=0)
        of_saliency = "-" if np.isnan(perplexity) else f"{perplexity:.2f}"  # MRNet scores segments alone
        return [model, f"{deviation:.2f}", of_saliency]

    heads = ("model", "deviation over time", "perplexity of the saliency over clips")
    print_table(heads, map(cells_of, MODELS))


if __name__ == "__main__":
    main()
