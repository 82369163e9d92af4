"""The seconds of one thread that each network of the CLIP family takes for a frame, with random weights.

    python -m docs.benchmarks.space_costs

PyTorch computes the image encoder of open_clip, in fp32. `cpu_s` of weights/registry.yaml is 60 frames of it,
a minute of video.
"""

import time
from typing import Any

import open_clip
import torch
from timm.utils.model import reparameterize_model

from docs.benchmarks import argument_parser
from vidsum.features.clip_family import CLIP_MODELS

_FRAMES = 4


def image_encoder(name: str) -> tuple[Any, int]:
    """Return an image encoder with random weights, and the side of its pictures in pixels."""
    config: dict[str, Any] = dict(open_clip.get_model_config(name))
    is_custom = config.pop("custom_text", False)
    config["text_cfg"].pop("hf_tokenizer_name", None)  # which would be downloaded
    network = (open_clip.CustomTextCLIP if is_custom else open_clip.CLIP)(**config).eval()
    encoder = network.visual
    if hasattr(encoder, "trunk"):  # one convolution for each sum of several, as after training
        encoder.trunk = reparameterize_model(encoder.trunk)
    return encoder, config["vision_cfg"]["image_size"]


def seconds_per_frame(name: str) -> float:
    """Return the processor seconds of a frame, the least of some."""
    encoder, side = image_encoder(name)
    frame, seconds = torch.rand(1, 3, side, side), list[float]()
    with torch.inference_mode():
        for _ in range(_FRAMES + 1):  # the first one makes buffers
            start = time.process_time()
            encoder(frame)
            seconds.append(time.process_time() - start)
    return min(seconds[1:])


def main() -> None:
    """Print the table."""
    parser = argument_parser(__doc__, small="--space mobileclip2-s0")
    parser.add_argument("--space", nargs="+", choices=CLIP_MODELS, default=CLIP_MODELS)
    options = parser.parse_args()
    torch.set_num_threads(1)
    print("| space | s per frame | s per minute of video |\n|---|---|---|")
    for space in options.space:
        seconds = seconds_per_frame(CLIP_MODELS[space].architecture)
        print(f"| {space} | {seconds:.3f} | {60 * seconds:.0f} |")


if __name__ == "__main__":
    main()
