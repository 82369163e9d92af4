"""Whether a head on a DETR model's global token tells that a query is true better than `present` does.

    python -m docs.benchmarks.presence_head FOLDER --annotations TRAIN.json [...] [--model qd-detr]

A logistic regression on the token as the encoder leaves it, in the window of the video whose saliency is
highest, and on that saliency (largest mean of three clips). It is fitted to simulated videos, those of
`docs.benchmarks.background`; every third chooses the penalty. "With evidence" adds the evidence of `present`
and the logarithm of the number of clips. Judged on the joined films of `docs.benchmarks.grounding` (in
FOLDER), by which nothing was chosen. AUC of queries that are shown against those that are absent; 95 per cent
of a bootstrap over clips, the difference from the evidence within each draw.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from docs.benchmarks import argument_parser
from docs.benchmarks.background import asked, known_classifiers, some_captions
from docs.benchmarks.joined import composite, embed
from docs.benchmarks.no_target import NEAR, SHOWN, SPACE, Scored, auc, judged, queries_of
from vidsum import checkpoints
from vidsum.grounding.grounder import Grounder, ground_video, load_grounder
from vidsum.grounding.presence import NAME, evidence, largest_means, load_background
from vidsum.grounding.spaces import ClipEmbeddings, embed_words
from vidsum.models.qd_detr import QDDETR
from vidsum.training.simulated import Simulation
from vidsum.types import FloatArray

_PENALTIES = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
_DRAWS = 2000
_KINDS = ("query", "paraphrase", "short")


class Seen(NamedTuple):
    """What is known of the queries of a video."""

    saliency: FloatArray
    """[M, 1]"""
    token: FloatArray
    """[M, d + 1], the saliency last."""
    evidence: FloatArray
    """[M, 2], the logarithm of the number of clips last."""

    def columns(self, row: str) -> FloatArray:
        """The inputs of a row of the table."""
        parts = {
            "largest saliency": (self.saliency,),
            "head": (self.token,),
            "evidence": (self.evidence[:, :1],),
            "head with evidence": (self.token, self.evidence),
        }
        return np.concatenate(parts[row], axis=1)


ROWS = ("largest saliency", "head", "evidence", "head with evidence")


def see(grounder: Grounder, video: ClipEmbeddings, texts: Sequence[str], vectors: FloatArray) -> Seen:
    """Run the model on all windows of a video, for each query."""
    model = grounder.model
    assert isinstance(model, QDDETR)
    tokens, saliency = list[FloatArray](), list[FloatArray]()

    def note(_: torch.nn.Module, inputs: tuple[torch.Tensor, ...], output: torch.Tensor) -> None:
        tokens.append(inputs[1].numpy())
        saliency.append(largest_means(output.numpy()))

    hook = model.global_saliency.register_forward_hook(note)
    ground_video(grounder, video, embed_words(SPACE, texts), vectors, 1)
    hook.remove()
    highest = np.concatenate(saliency).reshape(len(texts), -1)
    best = highest.argmax(axis=1)
    rows = np.arange(len(texts)), best
    token = np.concatenate(tokens).reshape(*highest.shape, -1)[rows]
    most = highest[rows][:, None]
    known = evidence(video, vectors, load_background(checkpoints.sha256_of(NAME)))
    length = np.full(len(texts), np.log(len(video)), np.float32)
    return Seen(most, np.concatenate([token, most], axis=1), np.stack([known, length], axis=1))


def fitted(inputs: FloatArray, is_true: npt.NDArray[np.bool_], groups: npt.NDArray[np.int64]) -> Pipeline:
    """A head, its penalty chosen on every third video, then fitted to all."""
    held_out = groups % 3 == 0

    def fit(penalty: float, kept: npt.NDArray[np.bool_]) -> Pipeline:
        regression = LogisticRegression(C=penalty, max_iter=2000)
        return make_pipeline(StandardScaler(), regression).fit(inputs[kept], is_true[kept])

    def area(penalty: float) -> float:
        found = fit(penalty, ~held_out).decision_function(inputs[held_out])
        return float(roc_auc_score(is_true[held_out], found))

    areas = {penalty: area(penalty) for penalty in _PENALTIES}
    best = max(areas, key=lambda penalty: areas[penalty])
    print(f"  {inputs.shape[1]} inputs: AUC {areas[best]:.3f} on held-out simulated videos, C = {best:g}")
    return fit(best, np.ones_like(held_out))


def areas(rows: Sequence[Scored]) -> FloatArray:
    """[1 + N] AUC of all queries, then of N draws of the clips."""
    is_true, scores = np.array([row.kind == SHOWN for row in rows]), np.array([row.score for row in rows])
    rng, (clips, of) = np.random.default_rng(0), np.unique([row.name for row in rows], return_inverse=True)
    drawn = (
        np.bincount(rng.integers(len(clips), size=len(clips)), minlength=len(clips)) for _ in range(_DRAWS)
    )
    weights = [np.ones(len(rows)), *(counts[of].astype(float) for counts in drawn)]
    return np.array([auc(is_true, scores, each) for each in weights])


def main() -> None:
    """Print the table."""
    parser = argument_parser(__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--annotations", type=Path, nargs="+", required=True)
    parser.add_argument("--videos", type=int, default=1500)
    parser.add_argument("--model", default="qd-detr")
    options = parser.parse_args()
    grounder = load_grounder(options.model, "cpu")
    captions = some_captions(options.annotations)
    simulated = [
        see(grounder, video, [captions.query_texts[each] for each in queries], captions.queries[queries])
        for video, queries in asked(Simulation(captions, known_classifiers(), 64, 1.0), options.videos)
    ]
    is_true = np.tile([True, False], len(simulated))
    groups = np.repeat(np.arange(len(simulated)), 2)
    heads = {
        row: fitted(np.concatenate([each.columns(row) for each in simulated]), is_true, groups)
        for row in ROWS
    }
    print("\n| queries | row | AUC | less evidence |\n|---|---|---|---|")
    for kind in _KINDS:
        request, found = queries_of("all", kind), dict[str, list[Scored]]()
        for seed in range(10):
            path, truth = composite(options.folder, "all", 120, seed)
            video = embed(path, SPACE, "bf16")
            known = see(grounder, video, request.request.texts, request.request.vectors)
            present = {query.qid for query in truth.queries}
            for row, head in heads.items():
                scores = head.decision_function(known.columns(row)).tolist()
                kept = (one for one in judged(request, scores, present) if one.kind != NEAR)
                found.setdefault(row, []).extend(kept)
        by_row = {row: areas(scored) for row, scored in found.items()}
        for row, area in by_row.items():
            more = area - by_row["evidence"]
            cells = [
                f"{each[0]:.2f} [{low:.2f}, {high:.2f}]"
                for each, (low, high) in ((one, np.percentile(one[1:], [2.5, 97.5])) for one in (area, more))
            ]
            print(f"| {kind}, {len(found[row])} | {row} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
