"""Why a deep mask from He's start loses its spans: what M and the attention become while QD-DETR trains.

    python -m docs.benchmarks.mask_depth --toy                               # the mechanism, without data
    python -m docs.benchmarks.mask_depth --annotations highlight_val_release.jsonl \\
        --captions clip_captions_val.jsonl.gz --out RUNS [--only VARIANT ...]   # a CSV, a row per epoch

Fold 0 of docs.benchmarks.qvhighlights, with its recipe. Of the validation queries a row tells about the masks
of self-attention and of cross-attention: M's deviation, the fraction of its variance that tokens make (the
rest is one row for all), how many of its numbers are negative; the entropy of the attention, as a fraction of
that of the mean of all keys, and how its logits correlate with those before the mask. Then mAP by spans, the
AUC of the saliency of clips inside and outside the windows, and of the training steps the norm of the
gradient of masks and of all else.
"""

import csv
import math
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from unittest.mock import patch

import numpy as np
import torch
from sklearn.metrics import roc_auc_score
from torch import Tensor, nn

from docs.benchmarks import argument_parser
from docs.benchmarks.qvhighlights import CLIPS, Work, fold_data, write_folds
from vidsum.lab.datasets.examples import HighlightExample
from vidsum.lab.training.data import MomentData
from vidsum.lab.training.detr import clips_inside, detr_loss, measured
from vidsum.lab.training.loop import first_weights, seed_of
from vidsum.lab.training.moments import Batches, collate_pairs, shuffled
from vidsum.lab.training.settings import DETRSettings
from vidsum.models.attention.learned_mask import LearnedMask, SoftMask, fused_attention
from vidsum.models.configs import MaskConfig
from vidsum.models.detr_models import build
from vidsum.models.qd_detr import QDDETR
from vidsum.options import build as settings_from

VARIANTS: dict[str, MaskConfig | None] = {
    "none": None,
    "2": MaskConfig(),
    "32 he": MaskConfig(depth=32, init="he"),
    "32": MaskConfig(depth=32),
    "32 he, frozen": MaskConfig(depth=32, init="he"),
    "32 he, identity": MaskConfig(depth=32, init="he", identity=True),
    "32 he, self only": MaskConfig(depth=32, init="he"),
    "32 he, cross only": MaskConfig(depth=32, init="he"),
}
"""Masks, STAMP's unless the name says otherwise. Frozen: the masks keep their first weights."""
DEPTHS = (1, 2, 4, 8, 16, 32)


class Recorder:
    """Notes what masks and attention are, by the kind of attention."""

    def __init__(self) -> None:
        self._notes = defaultdict[str, list[float]](list)

    def attend(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        mask: SoftMask | None,
        is_key: Tensor | None = None,
        dropout: float = 0,
    ) -> Tensor:
        """`fused_attention`, noted."""
        kind = "self" if q.shape[2] == k.shape[2] else "cross"
        logits = q @ k.mT / math.sqrt(k.shape[3])
        fused = logits if mask is None else mask.fuse(logits)
        keys = (
            torch.ones(len(k), 1, 1, k.shape[2], dtype=torch.bool)
            if is_key is None
            else is_key[:, None, None]
        )
        weights = fused.masked_fill(~keys, -math.inf).softmax(3)
        entropy = -(weights * weights.clamp(min=1e-12).log()).sum(3)
        self._note(kind, "entropy", (entropy / keys.sum(3).log()).mean())
        if mask is not None:
            dense = mask.dense().expand(len(q), -1, -1)
            of_keys = dense.var(1, unbiased=False).mean()
            self._note(kind, "deviation", dense.std())
            self._note(kind, "by tokens", of_keys / dense.var().clamp(min=1e-20))
            self._note(kind, "negative", (dense < 0).float().mean())
            self._note(kind, "agreement", _correlation(logits, fused, keys))
        return fused_attention(q, k, v, mask, is_key, dropout)

    def _note(self, kind: str, name: str, value: Tensor) -> None:
        self._notes[f"{kind}: {name}"].append(value.item())

    @contextmanager
    def listening(self) -> Iterator[None]:
        """All attention of encoders in here is noted."""
        with ExitStack() as stack:
            for module in ("detr", "qd_detr"):
                stack.enter_context(patch(f"vidsum.models.{module}.fused_attention", self.attend))
            yield

    def means(self) -> dict[str, float]:
        """Of all that was noted, over layers and batches."""
        return {name: float(np.mean(values)) for name, values in self._notes.items()}


def _correlation(a: Tensor, b: Tensor, keys: Tensor) -> Tensor:
    """The mean over queries of that of their logits over the keys."""
    a, b = (each - (each * keys).sum(3, keepdim=True) / keys.sum(3, keepdim=True) for each in (a, b))
    a, b = a * keys, b * keys
    return ((a * b).sum(3) / (a.norm(dim=3) * b.norm(dim=3)).clamp(min=1e-9)).mean()


def train(
    name: str, data: MomentData[HighlightExample], epochs: int, seed: int
) -> Iterator[dict[str, str | float]]:
    """A row per epoch, the first before any training."""
    falls = (round(0.7 * epochs), round(0.92 * epochs))
    own = {"clips": CLIPS, "epochs": epochs, "decay_at": falls, "seed": seed}
    settings = settings_from(DETRSettings, own, DETRSettings.published("captions", "light"))
    dims = {"dim_video": data.validation[0].video.shape[1], "dim_query": data.validation[0].words.shape[1]}
    config = settings_from(type(settings.model), {**vars(settings.model), **dims, "mask": VARIANTS[name]})
    with first_weights(seed):
        model = build("qd-detr", config)
    assert isinstance(model, QDDETR)
    masks = [
        weights
        for module in model.modules()
        if isinstance(module, LearnedMask)
        for weights in module.parameters()
    ]
    if "only" in name:
        for layer in model.cross if "self" in name else model.encoder:
            layer.mask = None
    trained = [
        weights
        for weights in model.parameters()
        if "frozen" not in name or all(weights is not each for each in masks)
    ]
    optimizer = torch.optim.AdamW(trained, lr=settings.lr, weight_decay=settings.weight_decay)
    others = [weights for weights in trained if all(weights is not each for each in masks)]
    yield {"variant": name, "seed": seed, "epoch": 0, **_state(model, data.validation)}
    for epoch in range(1, epochs + 1):
        began, gradients, losses = time.process_time(), list[tuple[float, float]](), list[float]()
        torch.manual_seed(seed_of(seed, epoch))
        batches = [
            *Batches(
                shuffled(data.examples(epoch)), settings.batch_size, collate_pairs, torch.device("cpu")
            ).values()
        ]
        model.train()
        for number, batch in enumerate(batches):
            loss = detr_loss(model, batch, settings.loss, with_negatives=True)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            gradients.append((_norm(masks), _norm(others)))
            nn.utils.clip_grad_norm_(trained, settings.max_norm)
            for group in optimizer.param_groups:
                group["lr"] = settings.lr * settings.lr_share(epoch - 1 + (number + 1) / len(batches))
            optimizer.step()
            losses.append(loss.item())
        of_masks, of_others = np.median(gradients, axis=0)
        yield {
            **{"variant": name, "seed": seed, "epoch": epoch, "loss": float(np.mean(losses))},
            **_state(model, data.validation),
            **{"gradient of masks": of_masks, "gradient of others": of_others},
            "seconds": time.process_time() - began,
        }


def _norm(weights: Sequence[nn.Parameter]) -> float:
    squares = [float(each.grad.square().sum()) for each in weights if each.grad is not None]
    return math.sqrt(sum(squares))


@torch.inference_mode()
def _state(model: QDDETR, examples: Sequence[HighlightExample]) -> dict[str, float]:
    """Of a model on the validation queries."""
    model.eval()
    recorder, areas = Recorder(), list[float]()
    found = measured(model, examples)
    with recorder.listening():
        for batch in Batches(examples, 32, collate_pairs, torch.device("cpu")).values():
            inside = clips_inside(batch)
            scores = model(*batch.inputs).saliency
            for score, own, clips in zip(scores, inside, batch.inputs.is_clip, strict=True):
                if own[clips].any() and not own[clips].all():
                    areas.append(float(roc_auc_score(own[clips], score[clips])))
    mean_precision = found.mean_precision if found else math.nan
    return {"mAP of spans": mean_precision, "AUC of saliency": float(np.mean(areas)), **recorder.means()}


def main() -> None:
    """See the module."""
    parser = argument_parser(__doc__)
    parser.add_argument("--toy", action="store_true")
    parser.add_argument("--annotations", type=Path)
    parser.add_argument("--captions", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--only", nargs="+", choices=[*VARIANTS], default=[*VARIANTS], metavar="VARIANT")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    chosen = parser.parse_args()
    work = Work(chosen.annotations, chosen.captions, chosen.out, "cpu", chosen.epochs, plain=False)
    write_folds(work)
    for seed in chosen.seeds:
        for name in chosen.only:
            path = work.out / "depth" / f"{name.replace(', ', ' ').replace(' ', '-')}-{seed}.csv"
            if path.exists():
                continue
            rows = []
            for row in train(name, fold_data(work, 0, 0), chosen.epochs, seed):
                rows.append(row)
                print(
                    {
                        key: round(value, 3) if isinstance(value, float) else value
                        for key, value in row.items()
                    },
                    flush=True,
                )
            path.parent.mkdir(exist_ok=True)
            with path.open("w", newline="") as file:
                writer = csv.DictWriter(file, [*rows[-1]], restval="")
                writer.writeheader()
                writer.writerows(rows)


if __name__ == "__main__":
    main()
