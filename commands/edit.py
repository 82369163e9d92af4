"""`vidsum edit`: correct a result by hand, in a browser on this machine."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vidsum.batch.inputs import BatchInput
from vidsum.batch.reply import Reply
from vidsum.batch.settings import CommonOptions
from vidsum.commands.batch import Printing
from vidsum.commands.options import Only, command
from vidsum.commands.result import render
from vidsum.commands.served_page import serve_page
from vidsum.commands.summarize import SummaryOutputs, summarize_one
from vidsum.features.settings import Extraction
from vidsum.io.progress import Display
from vidsum.options import Checked, option
from vidsum.outputs.artifacts import Artifacts
from vidsum.shots.settings import ShotSettings
from vidsum.summary.settings import Selection

if TYPE_CHECKING:
    from vidsum.editing.reel_session import ReelSession
    from vidsum.editing.session import EditSession
    from vidsum.types import Progress

app = typer.Typer(add_completion=False)

Edited = Annotated[
    str,
    typer.Argument(
        ...,
        metavar="RESULT.json|VIDEO",
        help="A JSON file of summarize, highlights, trim, chapters, ground, shorts or reel; or a video.",
    ),
]


@dataclass(frozen=True, kw_only=True)
class Editing(Checked):
    """The page, or what is written without one."""

    PANEL = "Page"

    port: int = option("Port; 0 for a free one.", 0, min=0, max=65535)
    token: str | None = option("Token required on the first visit.", None, default_text="none")
    open: bool = option("Open the page in a browser.", False)
    apply: bool = option("Write the result with the decisions so far, without a page.", False)
    video: Path | None = option(
        "The video, if it has moved.", None, default_text="where the result says", metavar="FILE"
    )
    overwrite: bool = option("With --apply, replace files that vidsum did not write.", False)


@command(
    app,
    "vidsum edit film_summary.json --open",
    "vidsum edit film.mp4 --open",
    "vidsum edit film_summary.json --apply",
)
def edit(
    source: Edited,
    settings: Editing,
    common: Printing,
    extraction: Annotated[Extraction, Only(("device", "cache"))],
) -> Reply:
    """Correct a summary, highlights, a trimmed film, chapters, moments, shorts or a reel by hand.

    Prints the address of a page; --open opens it in a browser. An MP4 that vidsum wrote, such as
    film_summary.mp4 or talk_short_1.mp4, stands for its result. For any other video, the page shows
    {video}_summary.json of the current folder, which is made first if it is missing.
    Each decision is stored next to the result at once. Save writes the result, its MP4 and its exports again.
    Ctrl-C stops the server.
    """
    with Display(quiet=common.quiet) as display:
        session = _open(source, settings, common, extraction, display.reporter(""))
        if settings.apply:
            saved, again = session.save(display.reporter(""), overwrite=settings.overwrite)
            names = [str(path) for path in saved.files]
            data = {"files": names, "command": again}
            return Reply(input=source, data=data, lines=tuple(names), messages=saved.warnings)
        display.end("")
    return _serve(session, settings, common)


def _open(
    source: str,
    settings: Editing,
    common: CommonOptions,
    extraction: Extraction,
    progress: "Progress | None",
) -> "EditSession | ReelSession":
    from vidsum.editing.reel_session import open_session
    from vidsum.editing.session import EditSession
    from vidsum.outputs.clips import video_stem
    from vidsum.outputs.names import own_names
    from vidsum.pipelines.sources import source_path

    if source.endswith(".json"):
        return open_session(Path(source), settings.video, extraction, progress)
    path = source_path(source)
    stem = video_stem(Path(path).stem) or ""
    for record in (Path(path).with_suffix(".json"), Path(path).with_name(f"{stem}_shorts.json")):
        if Artifacts(record).holds(Path(path), Artifacts(record).read()[1]):  # vidsum's own opens its result
            return open_session(record, settings.video, extraction, progress)
    record = own_names([path], lambda _, stem: Path(f"{stem}_summary.json"))[path]
    if not record.exists():
        item = BatchInput(path, artifacts=Artifacts(record, {"json": record}))
        summarize_one(Selection(), ShotSettings(), extraction, SummaryOutputs(), common, item, progress)
    return EditSession(record, settings.video or Path(path), extraction, progress, with_video=True)


def _serve(session: "EditSession | ReelSession", settings: Editing, common: CommonOptions) -> Reply:
    from vidsum.editing.edit_server import EditServer
    from vidsum.results.decisions import decisions_path

    def notify(line: str) -> None:
        render(Reply("edit", data={"line": line}, lines=(line,)), common)

    server = EditServer(session, settings.port, settings.token, notify)
    about = Reply("edit", data={"url": server.url, "result": str(session.record)}, lines=(server.url,))
    stopped = serve_page(server, about, common, is_opened=settings.open)
    decisions = decisions_path(session.record)
    lines = (*stopped.lines, *([f"decisions: {decisions}"] if decisions.exists() else []))
    return replace(stopped, lines=lines)
