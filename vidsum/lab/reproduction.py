"""The tables of the papers, each a YAML file in `papers/`: published figures, and what makes ours.

    tables: {lam: ["1b"], stamp: ["1b"]}     its numbers in the papers
    title, state, why, notes                 `why` is the reason why there are no commands
    data: {FILE: kind}                       what the user brings; kinds as in `vidsum.lab.made_up`
    layout: SECTION                          of docs/formats.md
    train, evaluate: WORDS                   after `vidsum train`, `vidsum evaluate`
    columns: {head: path of a figure in the report}
    groups: {name: {variables}}              such as data sets; each row is made for each
    rows: {name: {variables, why, published: [a figure per column], or {group: those}}}
    computed: MODEL                          in place of commands: our figures are `costs` of each
                                             row's `sizes`, for the columns that it has; no data

Words and paths may hold the variables of the group and the row, {data} and {run}.
"""

import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, Literal

from vidsum.errors import Mention, UsageError, unknown_name_error
from vidsum.io.text import read_yaml
from vidsum.options import from_mapping

State = Literal["here", "not here"]

FOLDER: Final = Path(__file__).parent / "papers"
_MAX_NESTING = 3  # variables may hold others
WORDS: Final = 249  # at which full attention costs what STAMP's Table 4 says; the paper does not give it


@dataclass(frozen=True)
class PaperRow:
    """A row of a table, in one group."""

    name: str
    published: Mapping[str, float | None]  # figure by column; fractions in per cent
    train: tuple[str, ...] = ()  # words after `vidsum train`, without --out; with {data} in them
    evaluate: tuple[str, ...] = ()  # words after `vidsum evaluate`; with {data} and {run} in them
    paths: Mapping[str, str] | None = None  # where the figure of a column is in the report of `evaluate`
    why: str = ""  # why it is not comparable, where it cannot be made
    computed: str = ""  # the model whose costs are its figures, in place of commands
    sizes: Mapping[str, Any] = field(default_factory=dict)  # its options, unlike the published defaults

    @property
    def data(self) -> tuple[str, ...]:
        """Its files and folders under {data}."""
        words = (*self.train, *self.evaluate)
        return tuple(dict.fromkeys(word[len("{data}/") :] for word in words if word.startswith("{data}/")))


@dataclass(frozen=True)
class PaperTable:
    """A table of the papers."""

    tables: Mapping[str, Sequence[str]]  # its numbers by paper
    title: str
    state: State
    rows: tuple[PaperRow, ...]
    data: Mapping[str, str]
    layout: str
    notes: tuple[str, ...]

    def name(self, paper: str) -> str:
        """`Table 1b, 1c`"""
        return f"Table {', '.join(self.tables[paper])}"


def read_tables() -> tuple[PaperTable, ...]:
    """Return all tables, in the order of their files."""
    tables = []
    for path in sorted(FOLDER.glob("*.yaml")):
        read: Mapping[str, Any] = read_yaml(path)
        groups = read.get("groups", {"": {}})
        rows = tuple(row for group in groups for row in _rows(read, group, groups[group]))
        facts = read.get("data", {}), read.get("layout", ""), tuple(read.get("notes", ()))
        tables.append(PaperTable(read["tables"], read["title"], read["state"], rows, *facts))
    return tuple(tables)


def find_tables(papers: Sequence[str], number: str | None = None) -> list[tuple[str, PaperTable]]:
    """Return the papers' tables, or tables of a number; `1` is 1a, 1b and 1c. Raises UsageError: unknown."""
    tables = read_tables()
    known = list(dict.fromkeys(name for table in tables for name in table.tables))
    if strange := [paper for paper in papers if paper not in known]:
        raise unknown_name_error("paper", strange[0], known)
    of_papers = [(paper, table) for paper in papers for table in tables if paper in table.tables]
    matches = [
        (paper, table)
        for paper, table in of_papers
        if not number or any(re.fullmatch(f"{re.escape(number)}[a-z]?", name) for name in table.tables[paper])
    ]
    if not matches:
        numbers = ", ".join(dict.fromkeys(name for paper, table in of_papers for name in table.tables[paper]))
        some = f"{papers[0]} has no table" if len(papers) == 1 else "no paper has a table"
        raise UsageError(f"{some} {number}", hint=(Mention("table"), f": {numbers}"))
    return matches


def _rows(read: Mapping[str, Any], group: str, of_group: Mapping[str, str]) -> Iterator[PaperRow]:
    for name, of_row in read["rows"].items():
        variables = {"data": "{data}", "run": "{run}", "options": "", **of_group, **of_row}
        figures = of_row["published"][group] if group else of_row["published"]
        published = dict(zip(read["columns"], figures, strict=True))
        name = f"{group}: {name}" if group else name
        if why := of_row.get("why") or read.get("why"):
            yield PaperRow(name, published, why=why)
            continue
        if model := read.get("computed"):
            yield PaperRow(name, published, computed=model, sizes=of_row.get("sizes", {}))
            continue
        train, evaluate = (_fill_variables(read.get(key, ""), variables) for key in ("train", "evaluate"))
        paths = {head: _fill_variables(path, variables) for head, path in read["columns"].items()}
        yield PaperRow(name, published, tuple(shlex.split(train)), tuple(shlex.split(evaluate)), paths)


def _fill_variables(text: str, variables: Mapping[str, str]) -> str:
    for _ in range(_MAX_NESTING):
        text = text.format_map(variables)
    return text


def folder_name(words: Sequence[str]) -> str:
    """Return the name of what a command makes: the same for the same words, in whichever table they stand."""
    return f"{words[0]}-{sha256(shlex.join(words).encode()).hexdigest()[:10]}"


BASELINES: Final = ("random", "uniform", "whole video")
"""Rows of a report that know nothing of the video."""


@dataclass(frozen=True)
class Figures:
    """The figures of a row, by column, in per cent where they are of the report's rows."""

    ours: Mapping[str, float | None]
    intervals: Mapping[str, tuple[float, float]]  # 95 per cent over splits, of the columns that have them
    baselines: Mapping[str, Mapping[str, float | None]]  # by name of the baseline


def figures_of(report: Any, paths: Mapping[str, str], splits: Sequence[Mapping[str, Any]]) -> Figures:
    """Return the figures at some paths of a report, of the splits of its run, if it is of a summarizer."""
    present = [row["name"] for row in report.get("rows", ()) if row["name"] in BASELINES]
    baselines = {
        name: {head: figure(report, _of_row(path, name)) for head, path in paths.items()} for name in present
    }
    intervals = {head: _interval(report, path, splits) for head, path in paths.items()}
    return Figures(
        {head: figure(report, path) for head, path in paths.items()},
        {head: interval for head, interval in intervals.items() if interval},
        baselines,
    )


def _of_row(path: str, name: str) -> str:
    """Return the path of the same figure in another row."""
    rows, slash, rest = path.partition("/")
    return f"rows/name={name}/{rest.partition('/')[2]}" if rows == "rows" and slash else path


def _interval(report: Any, path: str, splits: Sequence[Mapping[str, Any]]) -> tuple[float, float] | None:
    """Return the 95 per cent interval, over splits, of the mean over the videos that each tests."""
    from vidsum.lab.evaluation.summary_metrics import interval_of_mean

    if not splits:
        return None
    rows, row, *rest = path.split("/")
    videos = _value_at(report, [rows, row, "videos"])
    means = []
    for split in splits:
        # a video that several splits test has a name for each of them
        names = [name if name in videos else f"{name} ({split['name']})" for name in split["test"]]
        values = [_value_at(videos[name], rest) for name in names]
        means.append(None if None in values else 100 * sum(values) / len(values))
    return None if None in means else interval_of_mean([mean for mean in means if mean is not None])


def figure(report: Any, path: str) -> float | None:
    """Return a figure of a report, in per cent where it is in the rows; None: it has none.

    `rows/0/recall/top=1,iou=0.5/share` is the share of the first row's recall with those two values.
    """
    value = _value_at(report, path.split("/"))
    return None if value is None else float(value) * (100 if path.startswith("rows/") else 1)


def _value_at(value: Any, steps: Sequence[str]) -> Any:
    for step in steps:
        if value is None:
            return None
        if isinstance(value, list) and not step.isdigit():
            wanted = dict(pair.split("=") for pair in step.split(","))
            value = next(item for item in value if all(str(item[key]) == wanted[key] for key in wanted))
        else:
            value = value[int(step) if isinstance(value, list) else step]
    return value


def costs(model: str, sizes: Mapping[str, Any]) -> dict[str, float]:
    """Count the parameters of a model and, for audio description, the operations of a clip, by column."""
    import torch
    from torch import nn
    from torch.utils.flop_counter import FlopCounterMode

    from vidsum.lab.models.llama_adapter import AudioDescription, AudioDescriptionConfig
    from vidsum.models.configs import FullTransNetConfig, MaskConfig, MRNetConfig
    from vidsum.models.fulltransnet import FullTransNet
    from vidsum.models.mrnet import MRNet

    mask = from_mapping(MaskConfig, sizes.get("mask"))
    models: Mapping[str, Callable[[], nn.Module]] = {
        "audio_description": lambda: AudioDescription(AudioDescriptionConfig(**{**sizes, "mask": mask})),
        "fulltransnet": lambda: FullTransNet(FullTransNetConfig(**sizes)),
        "mrnet": lambda: MRNet(MRNetConfig(**sizes)),
    }
    with torch.device("meta"):
        network = models[model]().eval().requires_grad_(False)
        counted = {"million parameters": sum(weights.numel() for weights in network.parameters()) / 1e6}
        if not isinstance(network, AudioDescription):
            return counted
        config = AudioDescriptionConfig()
        clip = (torch.zeros(1, config.n_tokens, dim) for dim in (config.dim_visual, config.dim_audio))
        with FlopCounterMode(display=False) as counter:
            network(torch.zeros(1, WORDS, dtype=torch.long), network.evidence(*clip))
    flops = counter.get_total_flops()
    return {**counted, "TFLOPs": flops / 1e12, "TMACs": flops / 2e12}
