"""`vidsum reproduce`: make the tables of the papers, with the published figures beside ours."""

import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Exit

from vidsum.batch.reply import Reply, Rows, reply_of
from vidsum.batch.settings import CommonOptions
from vidsum.commands.batch import Printing
from vidsum.commands.config import has_flag
from vidsum.commands.options import command, complete, settings_of
from vidsum.commands.result import render, run_alone
from vidsum.errors import (
    Mention,
    Problem,
    UsageError,
    VidsumError,
)
from vidsum.options import item_of, option, required

if TYPE_CHECKING:
    from vidsum.lab import reproduction

app = typer.Typer(add_completion=False)

PAPERS = ("fulltransnet", "mrnet", "lam", "stamp", "qvhighlights")


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """Tables to reproduce, their data, and the folder of the runs."""

    PANEL = "Data and output"

    table: str | None = option(
        "Number of the table: 2, IV or 1b.", None, flags=("--paper-table",), default_text="all", metavar="N"
    )
    data: Path | None = option(
        "Folder of the data.",
        None,
        metavar="FOLDER",
        more="Its files have their published names; without it, a line says what is needed.",
    )
    out: Path | None = option(
        "Folder of runs and reports.",
        None,
        flags=("--out", "-o"),
        metavar="FOLDER",
        more="Rows that are finished there are kept; an unfinished one is resumed.",
    )
    toy: bool = option("Run on tiny generated data, in place of --data.", False)

    def __post_init__(self) -> None:
        if self.toy and self.data:
            raise UsageError((Mention("toy"), " makes its own data"), hint=("leave out ", Mention("data")))
        if (self.toy or self.data) and not self.out:
            raise UsageError("no folder for runs and reports", hint=Mention("out", "FOLDER"))


@command(
    app,
    "vidsum reproduce",
    "vidsum reproduce mrnet --paper-table 3 --data DATA --out runs/papers",
    "vidsum reproduce fulltransnet --toy --out runs/try",
)
def reproduce(
    paper: Annotated[
        list[str],
        typer.Argument(
            None,
            metavar="PAPER",
            help="fulltransnet, mrnet, lam, stamp or qvhighlights.",
            autocompletion=complete(PAPERS),
        ),
    ],
    wanted: Wanted,
    common: Printing,
) -> None:
    """Reproduce the tables of the papers: train and evaluate each row, and print published figures too."""
    from vidsum.lab.reproduction import find_tables

    if len(paper) > 1:
        raise UsageError("only one paper at a time", hint="vidsum reproduce PAPER")
    if not paper:
        run_alone("reproduce", common, lambda: _list(wanted.table))
        return
    failed = False
    tables = [*find_tables(paper, wanted.table)]
    for _, table in tables:
        name = f"{paper[0]}, {table.name(paper[0])}"
        answer = reply_of("reproduce", name, common, partial(_reproduce, name, table, wanted, common))
        render(answer, common, n_inputs=len(tables))
        failed = failed or bool(answer.exit_code)
    if failed:
        raise Exit(1)


def _list(number: str | None) -> Reply:
    from vidsum.lab.reproduction import find_tables

    heads, tables = ("paper", "table", "state", "title"), find_tables(PAPERS, number)
    rows = tuple((paper, table.name(paper), table.state, table.title) for paper, table in tables)
    facts = [dict(zip(heads, row, strict=True)) for row in rows]
    return Reply(data={"tables": facts}, table=(heads, *rows))


def _reproduce(name: str, table: "reproduction.PaperTable", wanted: Wanted, common: CommonOptions) -> Reply:
    """Return the figures of a table: make what is missing, and give the reason where that cannot be."""
    from vidsum.lab.reproduction import costs

    data = _data(table, wanted)
    rows: list[dict[str, Any]] = []
    faults: list[Problem] = []
    for row in table.rows:
        needed = row.data if data else table.data
        missing = [name for name in needed if not (data and (data / name).exists())]
        counted = costs(row.computed, row.sizes) if row.computed else {}
        ours: Mapping[str, float | None] | None = None
        if row.computed:
            ours = {head: counted.get(head) for head in row.published}
        made: reproduction.Figures | None = None
        why = row.why
        if missing and not (why or ours):
            why = f"bring {', '.join(missing)} in --data FOLDER (layout: docs/formats.md#{table.layout})"
        if data and wanted.out and not (why or ours):
            try:
                made = _figures(row, data, wanted.out, common, toy=wanted.toy)
                ours = made.ours
            except VidsumError as error:
                why = error.message
                faults.append(Problem.of(error))
        facts_of_row = {"row": row.name, "ours": ours, "published": dict(row.published), "why": why or None}
        more = {"intervals": made.intervals, "baselines": made.baselines} if made else {}
        rows.append({**facts_of_row, **more})
    lines = []
    for why in dict.fromkeys(row["why"] for row in rows if row["why"]):
        names = [row["row"] for row in rows if row["why"] == why]
        of = "" if len(names) == len(rows) else f" ({'; '.join(names)})"
        lines.append(f"not comparable: {why}{of}")
    if wanted.toy and table.data and any(row["ours"] for row in rows):
        lines.append("made-up data: our figures mean nothing")
    facts = {"state": table.state, "title": table.title, "rows": rows, "notes": list(table.notes)}
    digits = 3 if table.rows[0].computed else 2
    return Reply(
        data=facts,
        table=_paired_rows(rows, digits),
        title=f"{name}: {table.title}",
        lines=(*lines, *table.notes),
        errors=tuple(faults),
        exit_code=int(bool(faults)),
    )


def _data(table: "reproduction.PaperTable", wanted: Wanted) -> Path | None:
    """Return the folder of the data; with `--toy` the table's data are made there."""
    if not (wanted.toy and wanted.out):
        return wanted.data
    from vidsum.lab.made_up import write_made_up

    for name, kind in {**table.data, "splits.json": "splits"}.items():
        write_made_up(wanted.out / "made-up" / name, kind)
    return wanted.out / "made-up"


def _figures(
    row: "reproduction.PaperRow", data: Path, out: Path, common: CommonOptions, *, toy: bool
) -> "reproduction.Figures":
    """Return the figures of a row from its report; without one, train and evaluate it first."""
    from vidsum.io.text import read_json
    from vidsum.lab.made_up import OPTIONS
    from vidsum.lab.reproduction import figures_of, folder_name
    from vidsum.lab.training.run import read_run

    tiny = _without(shlex.split(OPTIONS[row.train[0]]), row.train) if toy and row.train else []
    train, evaluate = [*row.train[:1], *tiny, *row.train[1:]], [*row.evaluate]
    run = out / "runs" / folder_name(train) if train else out
    report = out / "reports" / f"{folder_name([*evaluate, *train, str(data.resolve())])}.json"
    if not report.exists():
        place = {"{data}": str(data), "{run}": str(run)}
        if train:
            _run("train", [*train, "--out", "{run}"], place, out, quiet=common.quiet)
        report.parent.mkdir(parents=True, exist_ok=True)
        _run("evaluate", [*evaluate, "--output", str(report)], place, out, quiet=True)
    document = read_json(report)
    paths = {head: path.replace("{run}", run.name) for head, path in (row.paths or {}).items()}
    has_splits = bool(train) and row.evaluate[0] == "summary"
    return figures_of(document, paths, read_run(run)["splits"] if has_splits else ())


def _without(words: Sequence[str], named: Sequence[str]) -> list[str]:
    """Return options and their values without those options that a row names itself."""
    others, is_named = list[str](), False
    for word in words:
        is_named = word in named if word.startswith("--") else is_named
        others += [] if is_named else [word]
    return others


def _run(verb: str, words: Sequence[str], place: Mapping[str, str], out: Path, *, quiet: bool) -> None:
    """Run another command in this process; its output goes to stderr.

    Options without a flag go into a configuration file in `out`. Raises VidsumError: the command failed, and
    has printed why.
    """
    from vidsum.commands.app import INTERRUPTED, find_command, run
    from vidsum.lab.reproduction import folder_name
    from vidsum.outputs.alone import save_text

    for name, path in place.items():
        words = [word.replace(name, path) for word in words]
    words, values = without_flags(find_command([verb, *words]), words)
    if values:
        config = out / "options" / f"{folder_name([verb, *words, *map(str, values.items())])}.yaml"
        config.parent.mkdir(parents=True, exist_ok=True)
        save_text(json.dumps({verb: {words[0]: values}}, indent=1) + "\n", config, overwrite=False)
        words = [*words, "--config", str(config)]
    more = ("--quiet",) if quiet else ()
    with redirect_stdout(sys.stderr):
        code = run([verb, *words, *more])
    if code == INTERRUPTED:
        raise KeyboardInterrupt
    if code:
        raise VidsumError(f"vidsum {verb} {words[0]} failed, as said above")


def without_flags(command: Any, words: Sequence[str]) -> tuple[list[str], dict[str, Any]]:
    """Split a command line into words, and the values of options that have no flag on this command."""
    hidden = [leaf for leaf in settings_of(command) if not has_flag(leaf, command.name)]
    by_flag = {
        flag: (leaf, place == 0)
        for leaf in hidden
        for pair in leaf.flags
        for place, flag in enumerate(pair.split("/"))
    }
    rest, values, left = list[str](), dict[str, Any](), list(words)
    while left:
        flag, equals, text = left.pop(0).partition("=")
        if flag not in by_flag:
            rest.append(f"{flag}{equals}{text}")
            continue
        leaf, is_on = by_flag[flag]
        value = is_on if required(leaf.kind) is bool else text if equals else left.pop(0)
        if item_of(leaf.kind):
            values.setdefault(leaf.parameter, []).append(value)
        else:
            values[leaf.parameter] = value
    return rest, values


def _paired_rows(rows: Sequence[Mapping[str, Any]], digits: int) -> Rows:
    """Return two lines per row, ours above the published figures; one where there is none of ours.

    Baselines stand below the first row that they belong to: rows of the same tests share them.
    """
    heads, lines = list(rows[0]["published"]), []
    last: Mapping[str, Any] = {}
    for row in rows:
        baselines: Mapping[str, Any] = row.get("baselines", {})
        new = baselines.items() if baselines != last else ()
        last = baselines or last
        for of, figures in (("ours", row["ours"]), ("published", row["published"]), *new):
            if figures:
                intervals = row.get("intervals", {}) if of == "ours" else {}
                cells = [_cell(figures[head], intervals.get(head), digits) for head in heads]
                lines.append((row["row"], of, *cells))
    return (("row", "", *heads), *lines)


def _cell(value: float | None, interval: Sequence[float] | None, digits: int) -> str:
    """Return a figure, with its interval where it has one."""
    if value is None:
        return "-"
    rest = f" [{interval[0]:.{digits}f}, {interval[1]:.{digits}f}]" if interval else ""
    return f"{value:.{digits}f}{rest}"
