"""Plan a result again around decisions of people; the flags that say the same as their decisions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from vidsum.errors import InputError, UsageError
from vidsum.features.settings import Extraction
from vidsum.grounding.settings import HighlightSettings
from vidsum.io.provenance import identify_file
from vidsum.pipelines.highlights import plan_highlights
from vidsum.pipelines.plan import Input, open_input
from vidsum.pipelines.speech_evidence import plan_summary_speech
from vidsum.pipelines.summarize import plan_summary
from vidsum.results.cached import find_features
from vidsum.results.clock import shift_times
from vidsum.results.decisions import Decision, NewPlan
from vidsum.results.edited_parts import EditedParts, subtract_spans
from vidsum.results.edits import Editable, apply_decisions, edit_groups, original_of
from vidsum.results.moments import Highlights
from vidsum.results.result import round_number
from vidsum.results.shorts import Shorts
from vidsum.results.summary import Summary
from vidsum.results.transcript import Transcript
from vidsum.shots.segmentation import find
from vidsum.shots.settings import ShotSettings
from vidsum.summary.settings import Selection
from vidsum.times import parse_interval
from vidsum.types import Interval, Progress, VideoInfo, join_near
from vidsum.video.probe import start_offset_s

_SAMPLING = ("fps", "clip_frames", "stride_frames", "logits", "reader", "strict")
_FREE_S = 1.0  # room in the budget for which no plan is worth its time
_MORE = 20  # highlights beyond those wanted, as some are left out by hand
_MAX_FLAGS = 40  # parts of a summary that a command names
_SAME_S = 1e-5


def plan_again(
    result: Editable,
    decisions: Sequence[Decision],
    limit: float,
    video: VideoInfo,
    device: Extraction = Extraction(),
    progress: Progress | None = None,
) -> NewPlan:
    """Plan a result again: what was taken by hand stays in, what was left out stays out.

    Args:
        result: a summary or highlights, edited or not.
        decisions: the decisions so far.
        limit: seconds of a summary, or number of highlights.
        video: the video as it is now.
        device: device and cache.
        progress: called as progress(what, done, total) while it runs; a total of 0 is unknown.

    Returns the decision to make. Raises the errors of `summarize` and `find_highlights`.
    """
    made, state = original_of(result), edit_groups(result, decisions)[0]
    if isinstance(made, Highlights):
        return _plan_highlights(made, state, round(limit), video, device, progress)
    if not isinstance(made, Summary):
        raise UsageError(f"{made.kind} are not planned again", hint="a summary and highlights are")
    taken_s = sum(end_s - start_s for start_s, end_s in state.by_hand)
    budget_s = round_number(max(limit, taken_s))
    spans: Sequence[Interval] = ()
    selection = _selection_of(made, state, budget_s)
    rounded_s = taken_s + len(selection.keep) * 2 / made.video_fps  # parts to keep are rounded up to frames
    if budget_s - rounded_s >= _FREE_S:
        settings = ShotSettings(**made.provenance.get("shots", {}))
        video_input = open_again(made, video, device)
        spans = plan_summary(video_input, selection, settings).run(progress).segments
    planned = [{"start_s": round_number(start_s), "end_s": round_number(end_s)} for start_s, end_s in spans]
    return {"action": "plan", "budget_s": budget_s, "planned": planned}  # type: ignore[typeddict-item]


def open_again(result: Editable, video: VideoInfo, device: Extraction) -> Input:
    """Return the video of a result as an input that is sampled as it was."""
    parameters = result.provenance.get("parameters", {})
    extraction = replace(
        device,
        extractor=result.provenance.get("extractor", Extraction.extractor),
        video_track=video.video_track,
        audio_track=video.audio_track,
        fast=parameters.get("fast", False),
    )
    video_input = open_input(video.path, extraction)
    present: Mapping[str, Any] = video_input.provenance["parameters"]
    recorded = {name: parameters[name] for name in _SAMPLING if name in parameters}
    differing = {name: value for name, value in recorded.items() if value != present.get(name)}
    return open_input(video.path, replace(extraction, **differing)) if differing else video_input


def with_same_words(result: Editable, video: VideoInfo, folder: Path, device: Extraction) -> Extraction:
    """Return device and cache with the subtitles, or the sound, that the words of a result are from.

    `folder` is that of the result. Raises InputError: the file of subtitles is neither there, nor next to the
    video.
    """
    speech = result.provenance.get("speech", {})
    chosen = replace(device, audio_track=video.audio_track)
    if "subtitles" not in speech:
        return replace(chosen, subtitles="none") if speech else chosen
    if "sha256" not in speech:
        return replace(chosen, subtitles="track")
    name = Path(speech["subtitles"]).name
    for file in (Path(video.path).parent / name, folder / name):
        if file.is_file() and identify_file(file)["sha256"] == speech["sha256"]:
            return replace(chosen, subtitles=str(file))
    raise InputError("is not there any more, or is another file", "its words are captions", subject=name)


def find_places(
    result: Editable, video: VideoInfo, device: Extraction, progress: Progress | None
) -> tuple[Sequence[float], Transcript | None]:
    """Return the edges of the shots of a result's video, and its transcript, if they are in the cache.

    Only highlights and shorts have their shots found anew; else an uncut film is a single shot.
    """
    video_input = open_again(result, video, device)
    speech = plan_summary_speech(Selection(), video_input)
    edges_s = [0.0, round_number(result.video_duration_s)]
    if isinstance(result, Summary):
        edges_s = [result.shots[0].start_s, *(shot.end_s for shot in result.shots)]
    elif isinstance(result, Highlights | Shorts) or (
        device.cache and find_features(video_input.jobs[0].provenance)
    ):
        (features, *_), pictures = video_input.read(progress)
        edges_s = [round_number(edge_s) for edge_s in find(features, pictures=pictures).edges_s.tolist()]
    return edges_s, speech.run(progress) if speech else None


def flags_of(
    result: Summary, decisions: Sequence[Decision], video: VideoInfo, device: Extraction = Extraction()
) -> list[str] | None:
    """Return the flags of `vidsum summarize` that give an edited summary; None if no flags do.

    Summaries with other settings than a budget and parts to keep or drop have none.
    """
    made, state = original_of(result), edit_groups(result, decisions)[0]
    facts = made.provenance.get("summary", {})
    settings = {field.name for field in fields(Selection)} & facts.keys()
    plain = open_input(
        video.path, replace(device, video_track=video.video_track, audio_track=video.audio_track)
    )
    is_plain = plain.provenance == {name: made.provenance.get(name) for name in plain.provenance}
    if not is_plain or made.provenance.get("shots") or settings - {"budget", "keep", "drop"}:
        return None
    wanted = apply_decisions(made, decisions)
    for selection in _selections(made, state, wanted.segments):
        flags, read_back = _to_flags(selection, start_offset_s(video))
        try:
            again = plan_summary(plain, read_back, ShotSettings()).run()
        except UsageError:  # as parts to keep are rounded up to frames
            continue
        if _is_same(again, wanted):
            return flags
    return None


def _is_same(summary: Summary, other: Summary) -> bool:
    """Return whether two summaries have the same budget and the same segments."""
    edges_s, others_s = (
        [made.budget_s, *(edge_s for span in made.segments for edge_s in span)] for made in (summary, other)
    )
    return len(edges_s) == len(others_s) and all(
        abs(edge_s - other_s) < _SAME_S for edge_s, other_s in zip(edges_s, others_s, strict=True)
    )


def _selections(made: Summary, state: EditedParts, segments: Sequence[Interval]) -> Iterator[Selection]:
    """Yield what may give the same summary: the decisions alone, or all segments by name."""
    if len(state.by_hand) + len(state.left) <= _MAX_FLAGS:
        yield _selection_of(made, state, state.limit_s)
    if len(segments) <= _MAX_FLAGS:
        yield Selection(budget=_seconds(state.limit_s), keep=tuple(segments))


def _selection_of(made: Summary, state: EditedParts, budget_s: float) -> Selection:
    """Return the settings of a summary with another budget, around what was decided by hand."""
    names, values = {field.name for field in fields(Selection)}, dict[str, Any]()
    for name, value in made.provenance.get("summary", {}).items():
        if name in names:
            values[name] = _to_tuples(value)
    before = Selection(**values)
    keep = [*subtract_spans(before.keep, [*state.left, *state.by_hand]), *state.by_hand]
    drop = [*subtract_spans(before.drop, state.by_hand), *state.left]
    ordered: dict[str, Any] = {
        "keep": tuple(join_near(sorted(keep), 0.0)),
        "drop": tuple(join_near(sorted(drop))),
    }
    return replace(before, budget=_seconds(budget_s), **ordered)


def _to_flags(selection: Selection, offset_s: float) -> tuple[list[str], Selection]:
    """Return a budget and parts as flags, in times of players, and as the command reads them."""
    flags = ["--budget", str(selection.budget)]
    read = dict[str, Any]()
    for name, spans in (("keep", selection.keep), ("drop", selection.drop)):
        texts = [
            f"{_plain(start_s)}-{_plain(end_s)}" for start_s, end_s in shift_times(list(spans), offset_s)
        ]
        flags += [word for text in texts for word in (f"--{name}", text)]
        read[name] = tuple(shift_times([parse_interval(text) for text in texts], -offset_s))
    return flags, replace(selection, **read)


def _plan_highlights(
    made: Highlights,
    state: EditedParts,
    count: int,
    video: VideoInfo,
    device: Extraction,
    progress: Progress | None,
) -> NewPlan:
    names = {field.name for field in fields(HighlightSettings)}
    values = {name: value for name, value in made.provenance["highlights"].items() if name in names}
    settings = replace(HighlightSettings(**values), top_k=count + len(state.parts) + _MORE)
    source = open_again(made, video, device)
    result = plan_highlights(video.path, settings, source.extraction).run(progress)
    decided = [*state.by_hand, *state.left]
    planned = [
        {"start_s": round_number(start_s), "end_s": round_number(end_s), "score": round_number(moment.score)}
        for moment in result.moments
        for start_s, end_s in [moment.interval]
        if subtract_spans([moment.interval], decided) == [moment.interval]
    ]
    return {"action": "plan", "count": count, "planned": planned}  # type: ignore[typeddict-item]


def _to_tuples(value: Any) -> Any:
    """Return a value of a document as settings have it."""
    return tuple(map(_to_tuples, value)) if isinstance(value, list) else value


def _seconds(length_s: float) -> str:
    return f"{_plain(length_s)}s"


def _plain(number: float) -> str:
    return f"{number:.6f}".rstrip("0").rstrip(".")
