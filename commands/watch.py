"""`vidsum watch`: alerts from a camera, a stream, or files as they are recorded."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vidsum.batch.reply import Reply
from vidsum.commands.batch import Printing
from vidsum.commands.options import Only, command
from vidsum.commands.result import render
from vidsum.errors import (
    Mention,
    UsageError,
    fill,
    message_of,
    printable,
    redact,
)
from vidsum.features.settings import Extraction
from vidsum.grounding.settings import Watching
from vidsum.io.urls import Url, is_url
from vidsum.options import option
from vidsum.times import format_time

if TYPE_CHECKING:
    from vidsum.pipelines.watch import Alert, Second

app = typer.Typer(add_completion=False)

Source = Annotated[
    str | None,
    typer.Argument(
        None, metavar="SOURCE", help="File, folder of segments, URL, camera or camera:1, or - for stdin."
    ),
]


@dataclass(frozen=True, kw_only=True)
class AlertOptions:
    """Queries, and outputs of alerts."""

    PANEL = "Queries and alerts"

    query: tuple[str, ...] = option("What to look for.", (), metavar="TEXT")
    clips: bool = option("Save each alert as MP4, {query}_{time}.mp4.", False)
    clips_dir: Path | None = option(
        "Folder for the clips; implies --clips.", None, metavar="FOLDER", default_text="the current one"
    )

    @property
    def clip_folder(self) -> Path | None:
        """The folder of the clips; None for no clips."""
        return self.clips_dir or (Path() if self.clips else None)


@command(
    app,
    'vidsum watch rtsp://192.0.2.7/stream --query "a person at the door" --clips-dir alerts',
    'vidsum watch recording.ts --follow --query "a dog" --json',
    'vidsum watch recordings --query "a truck" --min-present 0.8 --for 5s',
    "ffmpeg ... -f mpegts - | vidsum watch - --like parcel.jpg",
)
def watch(
    source: Source,
    options: AlertOptions,
    settings: Watching,
    extraction: Annotated[Extraction, Only(("device", "video_track", "audio_track"))],
    common: Printing,
) -> Reply:
    """Watch a camera, a stream or a recording in progress, and alert when something is seen.

    It sees pictures, and does not listen: for sounds, record, then vidsum ground FILE --in sound.

    Prints an alert when a query has matched for --for, and again when it is over. With --json, also one line
    per second with the match probability of each query. Ctrl-C stops it.
    """
    from vidsum.pipelines.watch import Second
    from vidsum.pipelines.watch import watch as watch_source

    if source is None:
        raise UsageError(
            "no source given", hint="a file, a folder, a URL or camera; vidsum watch --help lists the options"
        )
    source = Url(source) if is_url(source) else source
    if common.quiet and not common.json and options.clip_folder is None:
        hint = fill("{}, or {}", Mention("json"), Mention("clips"))
        raise UsageError((Mention("quiet"), " would print nothing"), hint)
    events = watch_source(
        source,
        options.query,
        clips=options.clip_folder,
        device=extraction.device,
        video_track=extraction.video_track,
        audio_track=extraction.audio_track,
        warn=partial(_warn, source),
        **vars(settings),
    )
    seconds, alerts, longest_lag_s = 0, 0, 0.0
    try:
        for event in events:
            if isinstance(event, Second):
                seconds += 1
                longest_lag_s = max(longest_lag_s, event.lag_s)
                answer = _second_answer(source, (*options.query, *settings.like), event)
            else:
                alerts += event.end_s is None
                answer = _alert_answer(source, event)
            if common.json or answer.lines:
                render(answer, common)
    except KeyboardInterrupt:  # the way to stop it
        events.close()
    data = {"seconds": seconds, "alerts": alerts, "longest_lag_s": round(longest_lag_s, 3)}
    count = "1 alert" if alerts == 1 else f"{alerts} alerts"
    return Reply("watch", source, {"ended": data}, (f"{seconds} s watched, {count}",))


def _second_answer(source: str, queries: Sequence[str], second: "Second") -> Reply:
    present = {query: round(p, 3) for query, p in zip(queries, second.present, strict=True)}
    data = {"time_s": second.time_s, "present": present, "lag_s": round(second.lag_s, 3)}
    return Reply("watch", source, data)


def _alert_answer(source: str, alert: "Alert") -> Reply:
    clip = None if alert.clip is None else str(alert.clip)
    data = {**vars(alert), "present": round(alert.present, 3), "clip": clip}
    start, query = format_time(alert.start_s), printable(alert.query)
    if alert.end_s is None:
        line = f"{start}  {query} ({alert.present:.2f})"
    else:
        file = f"; {clip}" if clip else ""
        line = f"{start}-{format_time(alert.end_s)}  {query}: over (at most {alert.present:.2f}){file}"
    return Reply("watch", source, {"alert": data}, (line,))


def _warn(source: str, message: str) -> None:
    print(f"warning: {printable(redact(message_of(source, message)))}", file=sys.stderr, flush=True)
