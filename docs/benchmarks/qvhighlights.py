"""Models and masks on real labels: captions of the clips of QVHighlights' validation videos, in five folds.

    python -m docs.benchmarks.qvhighlights --annotations highlight_val_release.jsonl \\
        --captions clip_captions_val.jsonl.gz --out RUNS                  # all that is missing, in order
    python -m docs.benchmarks.qvhighlights ... --only qd-detr "qd-detr stamp" --seeds 0 1 2
    python -m docs.benchmarks.qvhighlights ... --table                    # of what is there, as Markdown

The videos are dealt to five folds, all that come from one YouTube video to the same. A model trains on four
folds less a tenth of their videos, which choose the epoch, and answers the queries of the fifth. A run is a
folder `RUNS/guided/SETTING/foldF-seedS`; a finished one is not done again, a killed one goes on. Models read
MiniLM's embeddings of the captions and, without --plain, each caption's cosine with the query.

Captions are not pixels, and this is no split that others report: rows compare with each other alone.
"""

import json
import random
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch

from docs.benchmarks import argument_parser
from docs.benchmarks.qvhighlights_guide import guided_answers, guided_highlights
from docs.benchmarks.qvhighlights_measures import (
    UNTRAINED,
    Runs,
    file_of,
    measures_of,
    minus,
    print_differences,
    print_table,
    write_untrained,
)
from vidsum.grounding.grounder import MomentSource
from vidsum.lab.datasets.examples import HighlightExample
from vidsum.lab.datasets.moments import Query, read_highlights
from vidsum.lab.evaluation.models import ModelRun, highlights_by
from vidsum.lab.evaluation.submissions import QueryPrediction, write_predictions
from vidsum.lab.training.data import MomentData
from vidsum.lab.training.detr import train_detr
from vidsum.lab.training.settings import DataSettings, DETRSettings
from vidsum.lab.training.sources import highlight_data
from vidsum.options import build
from vidsum.outputs import atomic_write

N_FOLDS = 5
VALIDATION = 0.1
"""Fraction of the training videos that choose the epoch."""
EPOCHS = 10
"""Of all models alike; the rate falls as in `--preset captions`, which is the rest of the recipe."""
CLIPS = 75
"""T: a clip of 2 s each."""
FILE = "measures.json"
REFERENCE = "qd-detr"
SOURCES: tuple[MomentSource, ...] = ("spans", "saliency")
"""Where moments come from: the decoder's spans, as published, or segments of the saliency, as `vidsum ground`
answers with a model that has a guide (docs/algorithms/detr.md)."""


def _masked(kind: str, depth: int = 2, **choices: Any) -> tuple[str, dict[str, Any]]:
    chosen = {"mask": kind, "mask_depth": depth}
    return "qd-detr", {**chosen, **{f"mask_{key}": value for key, value in choices.items()}}


SETTINGS: dict[str, tuple[str, dict[str, Any]]] = {
    "qd-detr": ("qd-detr", {}),
    "qd-detr stamp": _masked("stamp"),
    "qd-detr stamp 32": _masked("stamp", 32),
    "qd-detr stamp 32 he": _masked("stamp", 32, init="he"),
    "qd-detr lam": _masked("lam"),
    "qd-detr static": _masked("static"),
    "qd-detr static product": _masked("static", fusion="product"),
    "moment-detr": ("moment-detr", {}),
    "mrnet-detr": ("mrnet-detr", {}),
    "qd-detr stamp sum": _masked("stamp", fusion="sum"),
    "qd-detr stamp he": _masked("stamp", init="he"),
    "qd-detr stamp xavier": _masked("stamp", init="xavier"),
    "qd-detr stamp 32 xavier": _masked("stamp", 32, init="xavier"),
    "qd-detr stamp 32 he sum": _masked("stamp", 32, init="he", fusion="sum"),
    "qd-detr lam 32 he": _masked("lam", 32, init="he"),
    "qd-detr lam sum": _masked("lam", fusion="sum"),
    "qd-detr stamp bounded": _masked("stamp", bound="sigmoid"),
    "qd-detr stamp 32 he bounded": _masked("stamp", 32, init="he", bound="sigmoid"),
    "qd-detr stamp identity": _masked("stamp", identity=True),
    "qd-detr stamp 32 he identity": _masked("stamp", 32, init="he", identity=True),
    "qd-detr stamp shared": _masked("stamp", shared=True),
    "qd-detr + layers": ("qd-detr", {"layers": 3}),
}
"""Model and options of each trained row, the most important first. A mask is a product of depth 2 from
PyTorch's start, per layer, unless its name says otherwise; a static one hides, as SwinBERT's."""


@dataclass(frozen=True)
class Work:
    """Where data and runs are."""

    annotations: Path
    captions: Path
    out: Path
    device: str
    epochs: int
    plain: bool
    """Whether the models read features alone, without a guide."""

    def fold(self, number: int) -> Path:
        """The folder of a fold's annotations: train.jsonl, val.jsonl, test.jsonl."""
        return self.out / "folds" / str(number)

    def run(self, setting: str, fold: int, seed: int) -> Path:
        """The folder of a run."""
        return (
            self.out
            / ("plain" if self.plain else "guided")
            / setting.replace(" ", "-")
            / f"fold{fold}-seed{seed}"
        )


# --- folds ---


def write_folds(work: Work) -> None:
    """The annotations of each fold as files, which `vidsum train` and `vidsum evaluate` take too."""
    lines = [line for line in work.annotations.read_text(encoding="utf-8").splitlines() if line.strip()]
    group_of = {line: youtube_id(json.loads(line)["vid"]) for line in lines}
    for fold in range(N_FOLDS):
        parts = dealt(group_of.values(), fold)
        for name, part in parts.items():
            folder = work.fold(fold)
            folder.mkdir(parents=True, exist_ok=True)
            with atomic_write(folder / f"{name}.jsonl") as file:
                file.write_text("".join(f"{line}\n" for line in lines if group_of[line] in part))


def dealt(groups: Iterable[str], fold: int) -> dict[str, set[str]]:
    """The groups, of a YouTube video each, of a fold's test, val and train."""
    names = sorted(set(groups))
    random.Random(0).shuffle(names)
    test = set(names[fold::N_FOLDS])
    others = [name for name in names if name not in test]
    val = set(random.Random(fold).sample(others, round(VALIDATION * len(others))))
    return {"test": test, "val": val, "train": set(others) - val}


def youtube_id(video: str) -> str:
    """Of the name of a segment: `-4Mlqc7PbZY_210.0_360.0` is 150 s of the video `-4Mlqc7PbZY`."""
    return video.rsplit("_", 2)[0]


# --- runs ---


def run_all(work: Work, settings: Sequence[str], folds: Sequence[int], seeds: Sequence[int]) -> None:
    """All runs that are missing: all settings on the first fold, then on the next; then the next seed."""
    for seed in seeds:
        for fold in folds:
            for setting in settings:
                if not (work.run(setting, fold, seed) / FILE).exists():
                    started = time.perf_counter()
                    run(work, setting, fold, seed)
                    seconds = time.perf_counter() - started
                    print(f"{setting}, fold {fold}, seed {seed}: {seconds:.0f} s", flush=True)


def run(work: Work, setting: str, fold: int, seed: int) -> None:
    """Train on the other folds, answer the queries of one, and write the measures of each answer."""
    model, chosen = SETTINGS[setting]
    folder = work.run(setting, fold, seed)
    falls = (round(0.7 * work.epochs), round(0.92 * work.epochs))
    own = {"clips": CLIPS, **chosen, "epochs": work.epochs, "decay_at": falls, "seed": seed}
    own["device"] = work.device
    settings = build(DETRSettings, own, DETRSettings.published("captions", "light"))
    fitted = train_detr(fold_data(work, fold, seed), model, settings, folder)
    queries = read_highlights(work.fold(fold) / "test.jsonl")
    rows = {}
    for source in SOURCES[: 1 if work.plain else 2]:
        answers = _answers(work, fitted.checkpoint, queries, source)
        write_predictions(folder / f"{source}.jsonl", answers.values())
        rows[source] = measures_of(queries, answers)
    facts = {"setting": setting, "fold": fold, "seed": seed, "best_epoch": fitted.best.epoch}
    facts |= {"epochs": len(fitted.history), "validation": fitted.best.validation, "options": own}
    facts |= {"seconds": sum(epoch.seconds for epoch in fitted.history), "torch": torch.__version__}
    with atomic_write(folder / FILE) as file:
        file.write_text(json.dumps({**facts, "rows": rows}, indent=1))


def _answers(
    work: Work, checkpoint: Path, queries: Mapping[str, Query], source: MomentSource
) -> dict[str, QueryPrediction]:
    if not work.plain:
        return guided_answers(checkpoint, work.captions, queries, source, work.device)
    return highlights_by(ModelRun(checkpoint, (work.captions,), device=work.device), queries)


@lru_cache(maxsize=1)
def fold_data(work: Work, fold: int, seed: int) -> MomentData[HighlightExample]:
    """Examples of a fold for the DETR models; the seed is that of the false pairs."""
    data = highlight_data(_source(work, fold), DETRSettings(device=work.device))
    return data if work.plain else guided_highlights(data, work.fold(fold), work.captions, seed, work.device)


def _source(work: Work, fold: int) -> DataSettings:
    folder = work.fold(fold)
    files = {"data": (str(folder / "train.jsonl"),), "validation": str(folder / "val.jsonl")}
    return DataSettings(**files, features=(work.captions,))  # type: ignore[arg-type]


# --- tables ---


def read_runs(work: Work, setting: str, source: MomentSource) -> Runs:
    """The finished runs of a setting; none where it has no such answers."""
    paths = sorted(work.run(setting, 0, 0).parent.glob(f"*/{FILE}"))
    runs = [json.loads(path.read_text()) for path in paths]
    return {(each["fold"], each["seed"]): each["rows"][source] for each in runs if source in each["rows"]}


def print_tables(work: Work) -> None:
    """What is there: each row's measures, then its paired differences from the model without a mask."""
    untrained = {name: json.loads(file_of(work.out, name).read_text()) for name in UNTRAINED}
    print("Without training, all queries:\n")
    print_table({name: {(0, 0): measures} for name, measures in untrained.items()})
    for source in SOURCES:
        trained = {name: runs for name in SETTINGS if (runs := read_runs(work, name, source))}
        reference = trained.get(REFERENCE, {})
        rows = {
            name: {key: {qid: every[qid] for qid in each} for key, each in reference.items()}
            for name, every in untrained.items()
        } | trained
        print(f"\nMoments by {source}, and rows without training on the queries of {REFERENCE}:\n")
        print_table(rows)
        print(f"\nThe same minus {REFERENCE}, by query, on the folds and seeds that both have:\n")
        others = {name: minus(runs, reference) for name, runs in rows.items() if name != REFERENCE}
        print_differences(others)


def main() -> None:
    """See the module."""
    parser = argument_parser(__doc__)
    parser.add_argument("--annotations", type=Path, required=True)
    parser.add_argument("--captions", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", nargs="+", choices=[*SETTINGS], default=[*SETTINGS], metavar="SETTING")
    parser.add_argument("--folds", nargs="+", type=int, choices=range(N_FOLDS), default=[*range(N_FOLDS)])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--plain", action="store_true", help="features alone, without a guide")
    parser.add_argument("--table", action="store_true")
    chosen = parser.parse_args()
    work = Work(chosen.annotations, chosen.captions, chosen.out, chosen.device, chosen.epochs, chosen.plain)
    if not all(file_of(work.out, name).exists() for name in UNTRAINED):
        write_folds(work)
        write_untrained(work.annotations, work.captions, work.out, work.device)
    if chosen.table:
        print_tables(work)
    else:
        run_all(work, chosen.only, chosen.folds, chosen.seeds)


if __name__ == "__main__":
    main()
