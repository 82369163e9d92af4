"""`vidsum watch`: alerts from a camera, a stream, or files as they are recorded."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from vidsum.commands.options import Only, command
from vidsum.commands.result import Result, View, printable, render, run_alone
from vidsum.errors import UsageError, redact
from vidsum.features.settings import Extraction
from vidsum.grounding.settings import Watching
from vidsum.io.urls import Url, is_url
from vidsum.options import option
from vidsum.times import format_time

app = typer.Typer(add_completion=False)

Source = Annotated[
    str,
    typer.Argument(
        None, metavar="SOURCE", help="File, folder of segments, URL, camera or camera:1, or - for stdin."
    ),
]


@dataclass(frozen=True, kw_only=True)
class AlertOptions:
    """Queries, and outputs of alerts."""

    PANEL = "Queries and alerts"

    query: tuple[str, ...] = option("What to look for, in English. Can be repeated.", (), metavar="TEXT")
    clips: str | None = option(
        "Save each alert as MP4, {query}_{time}.mp4, in this folder, or the current one.",
        None,
        metavar="[FOLDER]",
        alone=".",
    )


@command(app)
def watch(
    source: Source,
    options: AlertOptions,
    settings: Watching,
    extraction: Annotated[Extraction, Only(("device", "video_track", "audio_track"))],
    view: View,
) -> None:
    """Watch a camera, a stream or a recording in progress, and alert when something is seen.

    Prints an alert when a query has matched for --for, and again when it is over. With --json, also one line
    per second with the match probability of each query. Ctrl-C stops it.

    vidsum watch rtsp://192.0.2.7/stream --query "a person at the door" --clips alerts

    vidsum watch recording.ts --follow --query "a dog" --json

    vidsum watch recordings --query "a truck" --min-present 0.8 --for 5s

    ffmpeg ... -f mpegts - | vidsum watch - --like parcel.jpg
    """

    source = Url(source) if is_url(source) else source

    def step() -> Result:
        from vidsum.pipelines.watch import Second
        from vidsum.pipelines.watch import watch as watch_source

        if view.quiet and not view.json and options.clips is None:
            raise UsageError("--quiet would print nothing", hint="--json, or --clips FOLDER")
        counts, lags = {"seconds": 0, "alerts": 0}, [0.0]
        queries = [*options.query, *settings.like]
        events = watch_source(
            source,
            options.query,
            clips=None if options.clips is None else Path(options.clips),
            device=extraction.device,
            video_track=extraction.video_track,
            audio_track=extraction.audio_track,
            warn=_warn,
            **vars(settings),
        )
        try:
            for event in events:
                if isinstance(event, Second):
                    counts["seconds"] += 1
                    lags[0] = max(lags[0], event.lag_s)
                    present = {query: round(p, 3) for query, p in zip(queries, event.present, strict=True)}
                    data: dict[str, Any] = {"time_s": event.time_s, "present": present}
                    _print(Result("watch", source, {**data, "lag_s": round(event.lag_s, 3)}), view)
                    continue
                counts["alerts"] += event.end_s is None
                data = {**vars(event), "present": round(event.present, 3)}
                data["clip"] = None if event.clip is None else str(event.clip)
                _print(Result("watch", source, {"alert": data}, (_in_words(event, data["clip"]),)), view)
        except KeyboardInterrupt:  # the way to stop it
            events.close()
        data = {**counts, "longest_lag_s": round(lags[0], 3)}
        return Result("watch", source, {"ended": data}, (_ending(counts),))

    run_alone("watch", view, step)


def _print(result: Result, view: View) -> None:
    if view.json or result.lines:
        render(result, view)


def _in_words(alert: Any, clip: str | None) -> str:
    start, query = format_time(alert.start_s), printable(alert.query)
    if alert.end_s is None:
        return f"{start}  {query} ({alert.present:.2f})"
    file = f"; {clip}" if clip else ""
    return f"{start}-{format_time(alert.end_s)}  {query}: over (at most {alert.present:.2f}){file}"


def _ending(counts: dict[str, int]) -> str:
    alerts = "1 alert" if counts["alerts"] == 1 else f"{counts['alerts']} alerts"
    return f"{counts['seconds']} s watched, {alerts}"


def _warn(message: str) -> None:
    print(f"warning: {printable(redact(message))}", file=sys.stderr, flush=True)
