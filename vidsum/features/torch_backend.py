"""Running an extractor's network in PyTorch: folded, channels last, normalised on the device it runs on."""

from collections import Counter
from collections.abc import Callable

import torch
from torch import Tensor, fx, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from vidsum.device import Precision, choose_device, dtype_of, require_precision
from vidsum.features.extractor import Extractor, Network, Preprocessing, Spec
from vidsum.types import FloatArray, Picture

_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)
_CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)


class PixelEncoder(nn.Module):
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


def build_encoder(spec: Spec, network: Network, dtype: torch.dtype = torch.float32) -> PixelEncoder:
    """Return the folded encoder of a network, on the CPU, for inference only."""
    backbone = fold_batch_norm(network.backbone).to(dtype)
    layout = torch.channels_last_3d if spec.takes_clips else torch.channels_last
    encoder = PixelEncoder(backbone.to(memory_format=layout), spec.preprocessing, of_clips=spec.takes_clips)
    return encoder.eval().requires_grad_(False)


def build_torch_extractor(
    spec: Spec, network: Network, *, device: str = "auto", precision: Precision = "fp32"
) -> Extractor:
    """Return an extractor in PyTorch, its weights converted in place. Raises UsageError: see `device`."""
    require_precision(device, precision)
    chosen = choose_device(device)
    encoder = build_encoder(spec, network, dtype_of(precision)).to(chosen)

    def run(clips: Picture) -> FloatArray:
        with torch.inference_mode():
            features: FloatArray = encoder(torch.from_numpy(clips).to(chosen)).cpu().numpy()
        return features

    return Extractor(spec, run, str(chosen), precision, "torch", build_classifier(network))


def build_classifier(network: Network) -> Callable[[FloatArray], FloatArray] | None:
    """Class scores [T, K] of features [T, D], where the network has classes."""
    head = network.head
    if head is None:
        return None

    def classify(features: FloatArray) -> FloatArray:
        with torch.inference_mode():
            scores: FloatArray = head(torch.from_numpy(features)).numpy()
        return scores

    return classify


class _Tracer(fx.Tracer):
    """Looks only into modules that hold a batch normalisation; others may do what fx cannot trace."""

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        return isinstance(m, _NORMS) or not any(isinstance(part, _NORMS) for part in m.modules())


def fold_batch_norm(model: nn.Module) -> fx.GraphModule:
    """Return a model in eval mode without batch normalisations whose input is a convolution used once."""
    model.eval()
    graph = _Tracer().trace(model)
    parts = dict(model.named_modules())
    runs = Counter(node.target for node in graph.nodes if node.op == "call_module")
    folded: dict[str, nn.Module] = {}
    for norm in list(graph.nodes):
        if norm.op != "call_module" or not isinstance(parts[norm.target], _NORMS):
            continue
        conv = norm.args[0]
        if conv.op != "call_module" or not isinstance(parts[conv.target], _CONVOLUTIONS):
            continue
        if runs[conv.target] == 1 and len(conv.users) == 1:
            folded[conv.target] = fuse_conv_bn_eval(parts[conv.target], parts[norm.target])
            norm.replace_all_uses_with(conv)
            graph.erase_node(norm)
    result = fx.GraphModule(model, graph)
    for target, conv in folded.items():
        parent, _, name = target.rpartition(".")
        setattr(result.get_submodule(parent), name, conv)
    return result.eval()
