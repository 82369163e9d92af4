"""`vidsum report`: results as one page for a browser."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from vidsum.batch.reply import Reply
from vidsum.commands.batch import Printing
from vidsum.commands.export import Results
from vidsum.commands.options import command
from vidsum.errors import (
    InputError,
    Mention,
    Problem,
    UsageError,
    fill,
    message_of,
)
from vidsum.io.paths import Reads, reads_of
from vidsum.io.text import STDIN
from vidsum.options import option
from vidsum.outputs.alone import own_record, save_text, write_alone
from vidsum.outputs.names import check_outputs, require_suffix

if TYPE_CHECKING:
    from vidsum.outputs.pages import PageResult

app = typer.Typer(add_completion=False)


@dataclass(frozen=True, kw_only=True)
class Page:
    """Where the page goes."""

    PANEL = "Output"

    output: str = option(
        "The page; - for stdout.", "report.html", flags=("--output", "-o"), metavar="FILE", writes=True
    )
    bundle: Path | None = option(
        "Write page, videos and subtitles into this .zip file.", None, metavar="ZIP", writes=True
    )
    title: str = option("Title of the page.", "", default_text="the name of the video")
    overwrite: bool = option("Replace existing outputs.", False)


@command(
    app,
    "vidsum report film_summary.json film_moments.json",
    "vidsum report *_summary.json -o all.html",
)
def report(results: Results, page: Page, common: Printing) -> Reply:
    """Show results in a browser.

    Writes report.html: a player, the curves with shots and selection, a picture of each segment to click on,
    the moments of each query, transcript, settings and provenance. It needs no network; paths of videos are
    relative.
    """
    from vidsum.results.load import read_displayable

    target, reads = Path(page.output), {**reads_of(results), **common.reads}
    if page.bundle is not None and page.output != "report.html":
        fault = fill("{} excludes {}: its page is index.html", Mention("bundle"), Mention("output"))
        raise UsageError(fault, hint=Mention("bundle", str(page.bundle)))
    if page.bundle is not None:
        require_suffix(page.bundle, (".zip",), "bundle", any_case=True)
    elif page.output != "-":
        require_suffix(target, (".html",), any_case=True)
    if page.output != "-":
        check_outputs(results[0], [page.bundle or target], reads)
    made: list[tuple[str, PageResult]] = []
    failed = list[InputError]()
    for path in dict.fromkeys(results):
        try:
            made.append(("stdin" if path == STDIN else path, read_displayable(path)))
        except InputError as error:
            failed.append(error)
    if not made and len(failed) == 1:
        raise failed[0]
    answer = _write(made, page, target, reads) if made else Reply()
    return replace(answer, errors=tuple(map(Problem.of, failed)), exit_code=1 if failed else 0)


def _write(made: "Sequence[tuple[str, PageResult]]", page: Page, target: Path, reads: Reads) -> Reply:
    from vidsum.outputs.bundle import write_bundle
    from vidsum.outputs.pages import report_text

    if page.bundle is not None:
        warnings, _ = write_alone(
            own_record(page.bundle),
            lambda path: write_bundle(made, path, page.title),
            overwrite=page.overwrite,
            reads=reads,
        )
        return Reply(
            data={"outputs": {"bundle": str(page.bundle)}}, lines=(str(page.bundle),), messages=warnings
        )
    text, about_videos = report_text(made, target, page.title)
    warnings = tuple(message_of(*warning) for warning in about_videos)
    if page.output == "-":
        return Reply(document=text, messages=warnings)
    line = save_text(text, target, overwrite=page.overwrite, reads=reads)
    return Reply(data={"outputs": {"html": str(target)}}, lines=(line,), messages=warnings)
