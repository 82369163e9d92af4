"""The evaluation of captions: how near they are to sentences of people."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final, Literal, NamedTuple, TypedDict

import numpy as np

from vidsum.errors import UsageError, safe_name
from vidsum.io.packages import require_extra
from vidsum.lab.datasets.described_items import Described
from vidsum.lab.evaluation.caption_metrics import Measure, bleu, cider_d, mean_of, rouge_l, tokenize
from vidsum.lab.evaluation.evaluation_report import File, Report, per_cent
from vidsum.lab.evaluation.settings import CaptionsRequest
from vidsum.results.result import count_text
from vidsum.types import Count, Number, rules

Items = Mapping[str, Described]
OTHERS, PEOPLE = BASELINES = "others", "people"
_DRAWS: Final = 1000


Score = Annotated[float, rules(minimum=0, maximum=10)]


class Measured(NamedTuple):
    """A measure and 95 % of a bootstrap over videos, or over items that are no moments."""

    value: Score
    low: Score
    high: Score


class CaptionProvenance(TypedDict):
    """Sources and settings of an evaluation of captions."""

    vidsum: str
    files: Annotated[Sequence[File], rules(minItems=2)]  # sentences of people, and the captions
    metric: Annotated[Sequence[Literal["cider-d", "bleu", "rouge-l"]], rules(minItems=1)]


class CaptionRow(TypedDict):
    """A row of captions."""

    name: str
    measures: Annotated[Mapping[str, Measured], rules(minProperties=1)]
    """By name: CIDEr-D, BLEU-1 to BLEU-4, ROUGE-L."""


class CaptionFacts(TypedDict):
    """Evaluation of captions.

    Written by `vidsum evaluate captions`: how near captions are to sentences of people; tables print 100
    times the measures.
    """

    n_items: Number  # pictures, videos or moments that are measured
    n_videos: Count  # videos of the moments; 0 for other items
    n_sentences: Number  # sentences of people on these items


@dataclass(frozen=True)
class CaptionMeasures:
    """A row: its measures by name."""

    measures: Mapping[str, Measured]

    def as_json(self) -> dict[str, Any]:
        return {"measures": {name: measured._asdict() for name, measured in self.measures.items()}}

    def figures(self) -> dict[str, str]:
        """Return each in per cent, with its interval."""
        cells = {name: list(map(per_cent, measured)) for name, measured in self.measures.items()}
        return {name: f"{value} [{low}, {high}]" for name, (value, low, high) in cells.items()}


def evaluate_captions(
    request: CaptionsRequest, items: Items, rows: Mapping[str, Mapping[str, str]]
) -> Report:
    """Compare captions, by name of the item, with the sentences of the same items, those that all rows have.

    Adds `others`, captions of the first row half of the data away, and `people`, the first sentence of each
    item against its others, if all have others. Raises UsageError: no common item. PackageError: the extra
    `captions` is missing.
    """
    require_extra("captions", "evaluate captions")
    described = {name: item for name, item in items.items() if all(name in row for row in rows.values())}
    if not described:
        raise UsageError("the predictions have captions of different items", subject=request.data)
    captions = {row: [texts[name] for name in described] for row, texts in rows.items()}
    warnings = _warnings(request, items, described, captions)
    first, half = next(iter(captions.values())), len(described) // 2
    captions[OTHERS] = [*first[half:], *first[:half]]
    measured = {row: measure(request, texts, described) for row, texts in captions.items()}
    if all(len(item.sentences) > 1 for item in described.values()):
        left = {name: replace(item, sentences=item.sentences[1:]) for name, item in described.items()}
        first_sentences = [item.sentences[0] for item in described.values()]
        measured[PEOPLE] = measure(request, first_sentences, left)
    n_videos = len({item.video for item in described.values() if item.window})
    n_sentences = sum(len(item.sentences) for item in described.values())
    facts: CaptionFacts = {"n_items": len(described), "n_videos": n_videos, "n_sentences": n_sentences}
    of, measured_of = "videos" if n_videos > 1 else "items", count_text(len(described), "caption")
    return Report(
        "captions",
        {row: CaptionMeasures(measures) for row, measures in measured.items()},
        facts,
        warnings=warnings,
        title=f"{measured_of} against {count_text(n_sentences, 'sentence')} of people, times 100",
        note=f"in brackets 95 % of a bootstrap over {of}; {OTHERS}: captions of other items",
    )


def _warnings(
    request: CaptionsRequest, items: Items, described: Items, captions: Mapping[str, Sequence[str]]
) -> tuple[str, ...]:
    warnings = []
    if missing := [name for name in items if name not in described]:
        lost = f"{len(missing)} of {len(items)} items have no caption and are left out"
        warnings.append(f"{lost}, such as {safe_name(missing[0])}")
    for row, texts in captions.items():
        if empty := [name for name, text in zip(described, texts, strict=True) if not tokenize(text)]:
            example = f"such as that of {safe_name(empty[0])}"
            warnings.append(f"{row}: {len(empty)} captions have no word, {example}")
    return tuple(warnings)


def measure(request: CaptionsRequest, captions: Sequence[str], items: Items) -> dict[str, Measured]:
    tokens = [tokenize(caption) for caption in captions]
    references = [[tokenize(sentence) for sentence in item.sentences] for item in items.values()]
    measures: dict[str, Measure] = {}
    for name in request.metric:
        if name == "cider-d":
            measures["CIDEr-D"] = mean_of(cider_d(tokens, references))
        elif name == "bleu":
            measures |= bleu(tokens, references)
        elif name == "rouge-l":
            measures["ROUGE-L"] = mean_of(rouge_l(tokens, references))
    return _with_intervals(measures, items)


def _with_intervals(measures: Mapping[str, Measure], items: Items) -> dict[str, Measured]:
    """Return each measure with a bootstrap over videos, or over items if there is one video at most."""
    are_videos = len({item.video for item in items.values()}) > 1
    units = [item.video if are_videos else name for name, item in items.items()]
    _, unit_of = np.unique(units, return_inverse=True)
    n_units = int(unit_of.max()) + 1
    sums = {name: np.zeros((n_units, measure.parts.shape[1])) for name, measure in measures.items()}
    for name, measure in measures.items():
        np.add.at(sums[name], unit_of, measure.parts)
    drawn: dict[str, list[float]] = {name: [] for name in measures}
    for seed in range(_DRAWS):
        times = np.bincount(np.random.default_rng(seed).integers(n_units, size=n_units), minlength=n_units)
        for name, measure in measures.items():
            drawn[name].append(measure.of_sums(times @ sums[name]))
    ends = {name: np.percentile(values, (2.5, 97.5)).tolist() for name, values in drawn.items()}
    return {name: Measured(measure.value, *ends[name]) for name, measure in measures.items()}
