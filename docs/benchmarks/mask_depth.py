"""Why a deep mask from He's start loses its spans: what M and the attention become while QD-DETR trains.

    python -m docs.benchmarks.mask_depth --annotations highlight_val_release.jsonl \\
        --captions clip_captions_val.jsonl.gz --out RUNS [--only ROW ...]              # a CSV per row
    python -m docs.benchmarks.mask_depth ... --queries 300 --clips 38 --d 64       # in little time

Fold 0 of docs.benchmarks.qvhighlights, with its recipe. Each row has, of self-attention and cross-attention
over the validation queries: M's deviation; the fraction of its variance that tokens make (the rest is one
row for all); the fraction of M below 0; the entropy of the attention, 1 for the mean of all keys; and how its
logits correlate with those before the mask. Then mAP by spans, and the AUC of saliency of clips inside and
outside the windows. Of the steps of an epoch: the norm of the gradient of masks and of all else (medians),
and `change of M`, by how much one step changes M, as a fraction of M (the median over every tenth step).
"""

import csv
import math
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import numpy as np
import torch
from sklearn.metrics import roc_auc_score
from torch import Tensor, nn

from docs.benchmarks import argument_parser
from docs.benchmarks.mask_rows import ROWS
from docs.benchmarks.qvhighlights import Work, fold_data, write_folds
from vidsum.grounding.windows import resample
from vidsum.lab.datasets.examples import HighlightExample, Pair
from vidsum.lab.training.detr import clips_inside, detr_loss, measured
from vidsum.lab.training.loop import first_weights, seed_of
from vidsum.lab.training.moments import Batches, DETRBatch, collate_pairs, shuffled
from vidsum.lab.training.settings import DETRSettings
from vidsum.models.attention.learned_mask import LearnedMask, SoftMask, fused_attention
from vidsum.models.detr_models import build
from vidsum.models.qd_detr import QDDETR
from vidsum.options import build as settings_from

MASKS = [
    name
    for name, row in ROWS.items()
    if row.trains and not row.add and (row.mask is None or row.mask.kind == "stamp")
]
_CPU = torch.device("cpu")


class Recorder:
    """Notes what masks and attention are, by the kind of attention."""

    def __init__(self) -> None:
        self.masks: list[Tensor] = []
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
        keys = torch.ones(len(k), k.shape[2], dtype=torch.bool) if is_key is None else is_key
        keys = keys[:, None, None]
        weights = fused.masked_fill(~keys, -math.inf).softmax(3)
        entropy = -(weights * weights.clamp(min=1e-12).log()).sum(3)
        self._note(kind, "entropy", (entropy / keys.sum(3).log()).mean())
        if mask is not None:
            dense = mask.dense().expand(len(q), -1, -1)
            self.masks.append(dense)
            self._note(kind, "deviation", dense.std())
            self._note(kind, "by tokens", dense.var(1).mean() / dense.var().clamp(min=1e-20))
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
    a, b = ((each - (each * keys).sum(3, keepdim=True) / keys.sum(3, keepdim=True)) * keys for each in (a, b))
    return ((a * b).sum(3) / (a.norm(dim=3) * b.norm(dim=3)).clamp(min=1e-9)).mean()


def train(
    name: str, examples: Sequence[Sequence[HighlightExample]], settings: DETRSettings
) -> Iterator[dict[str, str | float]]:
    """A row per epoch, the first before any training; `examples` for validation, then of each epoch."""
    validation, *epochs = examples
    dims = {"dim_video": validation[0].video.shape[1], "dim_query": validation[0].words.shape[1]}
    with first_weights(settings.loop.seed):
        model = build("qd-detr", replace(settings.model, mask=ROWS[name].mask, **dims))
    assert isinstance(model, QDDETR)
    own = [module for module in model.modules() if isinstance(module, LearnedMask)]
    masks = [weights for module in own for weights in module.parameters()]
    numbers = {id(weights) for weights in masks}
    others = [weights for weights in model.parameters() if id(weights) not in numbers]
    groups = [{"params": others, "share": 1.0}, {"params": masks, "share": ROWS[name].rate}]
    optimizer = torch.optim.AdamW(groups, lr=settings.lr, weight_decay=settings.weight_decay)
    yield {"row": name, "epoch": 0, **_state(model, validation)}
    for epoch, drawn in enumerate(epochs, start=1):
        began, steps, losses = time.process_time(), list[tuple[float, ...]](), list[float]()
        torch.manual_seed(seed_of(settings.loop.seed, epoch))
        batches = [*Batches(shuffled(drawn), settings.batch_size, collate_pairs, _CPU).values()]
        for number, batch in enumerate(batches):
            model.train()
            loss = detr_loss(model, batch, settings.loss, with_negatives=True)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            norms = _norm(masks), _norm(others)
            nn.utils.clip_grad_norm_(model.parameters(), settings.max_norm)
            for group in optimizer.param_groups:
                share = settings.lr_share(epoch - 1 + (number + 1) / len(batches))
                group["lr"] = settings.lr * group["share"] * share
            before = _masks(model, batches[0]) if masks and number % 10 == 5 else None
            optimizer.step()
            change = math.nan if before is None else _change(before, _masks(model, batches[0]))
            steps.append((*norms, change))
            losses.append(loss.item())
        of_masks, of_others, change = np.nanmedian(steps, axis=0) if masks else (0, *np.median(steps, 0)[1:])
        yield {
            **{"row": name, "epoch": epoch, "loss": float(np.mean(losses)), **_state(model, validation)},
            **{"gradient of masks": of_masks, "gradient of others": of_others, "change of M": change},
            "seconds": time.process_time() - began,
        }


def _norm(weights: Sequence[nn.Parameter]) -> float:
    return math.sqrt(sum(float(each.grad.square().sum()) for each in weights if each.grad is not None))


@torch.inference_mode()
def _masks(model: QDDETR, batch: DETRBatch) -> list[Tensor]:
    """M of each layer for a batch."""
    model.eval()
    recorder = Recorder()
    with recorder.listening():
        model.encode(*batch.inputs)
    return recorder.masks


def _change(before: Sequence[Tensor], after: Sequence[Tensor]) -> float:
    return float(np.mean([((b - a).norm() / a.norm()).item() for a, b in zip(before, after, strict=True)]))


@torch.inference_mode()
def _state(model: QDDETR, examples: Sequence[HighlightExample]) -> dict[str, float]:
    """Of a model on the validation queries."""
    model.eval()
    recorder, areas = Recorder(), list[float]()
    found = measured(model, examples)
    with recorder.listening():
        for batch in Batches(examples, 32, collate_pairs, _CPU).values():
            scores = model(*batch.inputs).saliency
            for score, own, clips in zip(scores, clips_inside(batch), batch.inputs.is_clip, strict=True):
                if own[clips].any() and not own[clips].all():
                    areas.append(float(roc_auc_score(own[clips], score[clips])))
    mean_precision = found.mean_precision if found else math.nan
    return {"mAP of spans": mean_precision, "AUC of saliency": float(np.mean(areas)), **recorder.means()}


def _shorter(example: HighlightExample, clips: int) -> HighlightExample:
    """With fewer clips, of the mean of those that they replace."""
    negative = example.negative and Pair(resample(example.negative.video, clips), example.negative.words)
    saliency = resample(example.saliency[:, None], clips)[:, 0]
    return replace(example, video=resample(example.video, clips), saliency=saliency, negative=negative)


def main() -> None:
    """See the module."""
    parser = argument_parser(__doc__)
    parser.add_argument("--annotations", type=Path, required=True)
    parser.add_argument("--captions", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", nargs="+", choices=MASKS, default=MASKS, metavar="ROW")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--queries", type=int, help="of training; all")
    parser.add_argument("--clips", type=int, default=75)
    parser.add_argument("--d", type=int, default=128)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    work = Work(chosen.annotations, chosen.captions, chosen.out, "cpu", chosen.epochs, plain=False)
    if not work.fold(0).exists():
        write_folds(work)
    falls = (round(0.7 * chosen.epochs), round(0.92 * chosen.epochs))
    own = {"clips": chosen.clips, "d": chosen.d, "d_ff": 2 * chosen.d, "decay_at": falls, "seed": chosen.seed}
    settings = settings_from(DETRSettings, own, DETRSettings.published("captions", "light"))
    data = fold_data(work, 0, chosen.seed)
    drawn = [data.validation, *(data.examples(1 + epoch)[: chosen.queries] for epoch in range(chosen.epochs))]
    examples = [[_shorter(each, chosen.clips) for each in part] for part in drawn]
    for name in chosen.only:
        path = work.out / f"{name.replace(', ', ' ').replace('/', '_').replace(' ', '-')}-{chosen.seed}.csv"
        if not path.exists():
            rows = []
            for row in train(name, examples, settings):
                print({k: round(v, 3) if isinstance(v, float) else v for k, v in row.items()}, flush=True)
                rows.append(row)
            with path.open("w", newline="") as file:
                writer = csv.DictWriter(file, [*rows[-1]], restval="")
                writer.writeheader()
                writer.writerows(rows)


if __name__ == "__main__":
    main()
