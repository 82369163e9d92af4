"""Running an extractor's network in PyTorch: folded, channels last, normalised on the device it runs on."""

import torch
from torch import Tensor, nn

from vidsum.device import Precision, choose_device, dtype_of
from vidsum.errors import UsageError
from vidsum.features.extractor import Extractor, Network, Preprocessing, Spec
from vidsum.features.fold import fold_batch_norm
from vidsum.types import FloatArray, Picture


class Encoder(nn.Module):
    """RGB pixels [N, T, H, W, 3] to float32 features [N, D]: normalised, then the network in its own type."""

    scale: Tensor
    shift: Tensor

    def __init__(self, backbone: nn.Module, preprocessing: Preprocessing, *, of_clips: bool) -> None:
        super().__init__()
        self.backbone, self.of_clips = backbone, of_clips
        self.dtype = next(backbone.parameters()).dtype
        mean, std = torch.tensor(preprocessing.mean), torch.tensor(preprocessing.std)
        self.register_buffer("scale", 1 / std)
        self.register_buffer("shift", -mean / std)

    def forward(self, clips: Tensor) -> Tensor:
        x = torch.addcmul(self.shift, clips.float(), self.scale).to(self.dtype)
        # pixels lie channels-last in memory already: only the axes are named anew
        x = x.permute(0, 4, 1, 2, 3) if self.of_clips else x.flatten(0, 1).permute(0, 3, 1, 2)
        features: Tensor = self.backbone(x)
        return features.float()


def build_encoder(spec: Spec, network: Network, dtype: torch.dtype = torch.float32) -> Encoder:
    """The folded encoder of a network, on the CPU, for inference only."""
    backbone = fold_batch_norm(network.backbone).to(dtype)
    layout = torch.channels_last_3d if spec.takes_clips else torch.channels_last
    encoder = Encoder(backbone.to(memory_format=layout), spec.preprocessing, of_clips=spec.takes_clips)
    return encoder.eval().requires_grad_(False)


def choose_torch_device(device: str, precision: Precision) -> tuple[torch.device, torch.dtype]:
    """The device and type that a network runs with.

    Raises UsageError where the device or precision is unknown or missing, or fp16 is chosen on a CPU.
    """
    chosen, dtype = choose_device(device), dtype_of(precision)
    if chosen.type == "cpu" and dtype == torch.float16:
        raise UsageError(
            "fp16 is for GPUs: a CPU runs it ten times slower than fp32", hint="use --precision bf16"
        )
    return chosen, dtype


def torch_extractor(
    spec: Spec, network: Network, *, device: str = "auto", precision: Precision = "fp32"
) -> Extractor:
    """An extractor that runs in PyTorch.

    The network is used up: its weights are converted in place, so that they are in memory once.

    Raises:
        UsageError: see `choose_torch_device`.
    """
    chosen, dtype = choose_torch_device(device, precision)
    encoder = build_encoder(spec, network, dtype).to(chosen)

    def run(clips: Picture) -> FloatArray:
        with torch.inference_mode():
            features: FloatArray = encoder(torch.from_numpy(clips).to(chosen)).cpu().numpy()
        return features

    return Extractor(
        spec=spec,
        run=run,
        device=str(chosen),
        precision=precision,
        backend="torch",
        head=network.head,
        text_encoder=network.text_encoder,
    )
