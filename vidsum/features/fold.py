"""Folding batch normalisation into the convolution before it, which saves work on each frame."""

from collections import Counter

from torch import fx, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)
_CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)


class _Tracer(fx.Tracer):
    """Looks only into modules that hold a batch normalisation; others may do what fx cannot trace."""

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        return isinstance(m, _NORMS) or not any(isinstance(part, _NORMS) for part in m.modules())


def fold_batch_norm(model: nn.Module) -> fx.GraphModule:
    """A model in eval mode that computes the same, without batch normalisations that follow a convolution.

    One is folded where the traced data flow shows that its input is a convolution which feeds nothing else
    and runs once. The given model is put in eval mode and shares the weights that did not change.
    """
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
