"""The public functions. They only join the parts: video, features, shots, summary.

`extract`, `find_shots` and `summarize` take keyword arguments, for people. The `run_*` functions take them as
settings, for the command line. `*_provenance` tells what a run would be made from, without running it.
"""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from vidsum import provenance
from vidsum.documents import features_document, read_record
from vidsum.errors import InputError, UsageError
from vidsum.features import cache
from vidsum.features.cache import CacheState
from vidsum.features.store import is_feature_file, read_features, write_features
from vidsum.pipelines.extraction import extraction_job, run_jobs, spec_of, transitions_job
from vidsum.settings import AttentionPart, Extraction, Selection, ShotSettings
from vidsum.shots import METHODS, find
from vidsum.summary.score import best_score, candidates, checkpoint_sha256, draw_attention
from vidsum.summary.score import require_attention as require_attention
from vidsum.summary.selection import select
from vidsum.times import parse_budget
from vidsum.types import Features, Progress, Shots, Summary, VideoInfo
from vidsum.video.probe import probe
from vidsum.video.timing import jumps_of

VideoPath = str | os.PathLike[str]
Source = VideoPath | Features
"""A video, a feature file (`x.npz`, `x.h5`, `x.h5#video`), or features."""


def extract(
    path: VideoPath, extractor: str = Extraction.extractor, *, progress: Progress | None = None, **how: Any
) -> Features:
    """Features of a video.

    Args:
        path: a video file.
        extractor: one of `vidsum.features.EXTRACTORS`.
        progress: called while it runs.
        **how: the other fields of `vidsum.settings.Extraction`, such as `fps=1.0` or `device="cpu"`.

    Returns:
        Features [T, D] with their times.

    Raises:
        InputError: the file cannot be read or holds no video.
        WeightsError: the extractor's weights cannot be had.
        UsageError: a setting makes no sense.
    """
    return run_extraction(path, Extraction(extractor=extractor, **how), progress)


def find_shots(
    source: Source,
    shots: str = ShotSettings.shots,
    *,
    max_shots: int | None = None,
    min_shot_s: float | None = None,
    max_shot_s: float | None = None,
    progress: Progress | None = None,
    **how: Any,
) -> Shots:
    """Cut a video into shots.

    Args:
        source: a video, a feature file or features; `transnetv2` needs the video.
        shots: `kts`, `uniform` or `transnetv2`.
        max_shots: at most so many; KTS chooses the number if not given.
        min_shot_s: shortest shot.
        max_shot_s: longest shot.
        progress: called while it runs.
        **how: fields of `vidsum.settings.Extraction`, for a video.

    Raises:
        InputError, WeightsError, UsageError: see `extract`.
    """
    return run_shots(
        source, ShotSettings(shots, max_shots, min_shot_s, max_shot_s), Extraction(**how), progress
    )


def summarize(
    source: Source,
    budget: str | float = Selection.budget,
    *,
    model: str = Selection.model,
    seed: int = 0,
    beams: int = 1,
    keep: Sequence[tuple[float, float]] = (),
    drop: Sequence[tuple[float, float]] = (),
    shots: str = ShotSettings.shots,
    max_shots: int | None = None,
    min_shot_s: float | None = None,
    max_shot_s: float | None = None,
    progress: Progress | None = None,
    **how: Any,
) -> Summary:
    """Choose the stretches of a video that are worth keeping.

    Args:
        source: a video, a feature file or features.
        budget: longest summary, as a share (`15%`, 0.15) or a time (`45s`, `1:30`, 45).
        model: one of `vidsum.summary.score.MODELS`, or a checkpoint's path.
        seed: of the scorers that draw lots.
        beams: of a trained model; 1 is greedy.
        keep: stretches (start_s, end_s) that must be in.
        drop: stretches that must not be in.
        shots, max_shots, min_shot_s, max_shot_s: see `find_shots`.
        progress: called while it runs.
        **how: fields of `vidsum.settings.Extraction`, for a video.

    Raises:
        InputError, WeightsError, UsageError: see `extract`.
    """
    selection = Selection(budget, model, seed, beams, tuple(keep), tuple(drop))
    cutting = ShotSettings(shots, max_shots, min_shot_s, max_shot_s)
    return run_summary(source, selection, cutting, Extraction(**how), progress)


def run_extraction(path: VideoPath, how: Extraction, progress: Progress | None = None) -> Features:
    """`extract`, with its settings in one."""
    video = probe(path, allow_playlists=how.allow_playlists)
    return run_jobs(video, [extraction_job(video, how)], how, progress)[0]


def run_shots(
    source: Source, cutting: ShotSettings, how: Extraction, progress: Progress | None = None
) -> Shots:
    """`find_shots`, with its settings in two."""
    if cutting.shots == "transnetv2":
        video = _video_of(source, how)
        (transitions,) = run_jobs(video, [transitions_job(video, how)], how, progress)
        return _cut(transitions, cutting, _shots_provenance(transitions.provenance, cutting))
    features = _features_of(source, how, progress)
    return _cut(features, cutting, _shots_provenance(provenance.of_features(features), cutting))


def run_summary(
    source: Source,
    selection: Selection,
    cutting: ShotSettings,
    how: Extraction,
    progress: Progress | None = None,
    *,
    attention: Path | None = None,
    attention_part: AttentionPart = "mean",
) -> Summary:
    """`summarize`, with its settings in three.

    `attention` is where to draw what a trained model looked at, `attention_part` which layers and heads.
    """
    source = _read_once(source)
    if attention:
        require_attention(selection.model)
    models = _models(source, selection, how)
    if cutting.shots == "transnetv2":
        video = _video_of(source, how)
        jobs = [extraction_job(video, how), transitions_job(video, how)]
        features, seen = run_jobs(video, jobs, how, progress)
    else:
        features = seen = _features_of(source, how, progress)
    shots = _cut(seen, cutting, _shots_provenance(provenance.of_features(features), cutting))
    budget_s = parse_budget(selection.budget, features.duration_s)
    share = budget_s / features.duration_s
    scored = best_score(models, features, shots, selection, share, how.device)
    made_from = _summary_provenance(shots.provenance, selection, models)
    drawn: tuple[str, ...] = ()
    if attention:
        label = provenance.label_of(made_from)
        drawn = draw_attention(
            features, shots, selection, share, how.device, attention, attention_part, label
        )
    chosen = select(features, shots, scored.importance, budget_s, keep=selection.keep, drop=selection.drop)
    return Summary(
        segments=chosen.segments,
        shots=chosen.shots,
        importance=scored.importance,
        timestamps=features.timestamps,
        budget_s=budget_s,
        video_duration_s=features.duration_s,
        video_fps=features.video_fps,
        model=scored.model,
        model_reason=scored.reason,
        shot_method=cutting.shots,
        video=features.video,
        provenance=made_from,
        warnings=(*features.warnings, *scored.warnings, *chosen.messages, *drawn),
    )


def extraction_provenance(path: VideoPath, how: Extraction) -> dict[str, Any]:
    """What features of a video would be made from. The file is hashed, not decoded."""
    return extraction_job(probe(path, allow_playlists=how.allow_playlists), how).provenance


def shots_provenance(source: Source, cutting: ShotSettings, how: Extraction) -> dict[str, Any]:
    """What shots would be made from."""
    if cutting.shots == "transnetv2":
        return _shots_provenance(transitions_job(_video_of(source, how), how).provenance, cutting)
    return _shots_provenance(_source_provenance(source, how), cutting)


def summary_provenance(
    source: Source, selection: Selection, cutting: ShotSettings, how: Extraction
) -> dict[str, Any]:
    """What a summary would be made from."""
    source = _read_once(source)
    shots = _shots_provenance(_source_provenance(source, how), cutting)
    return _summary_provenance(shots, selection, _models(source, selection, how))


def recorded_document(path: Path) -> dict[str, Any]:
    """What a result file tells of itself, with its provenance.

    Raises:
        InputError: it is missing, not ours, or was changed since; the message does not name the file.
    """
    if not is_feature_file(path.name):
        return read_record(path)
    try:
        document = features_document(read_features(path), with_arrays=False)
    except (InputError, UsageError):
        document = {}
    if not document.get("provenance"):
        raise InputError("is not known to be made by vidsum")
    return document


def save_features(features: Features, path: Path) -> None:
    """Write features to a file; an h5 file gets shots by KTS as well, which its readers expect.

    Raises:
        UsageError: the suffix is that of no feature file.
        OutputError: the file cannot be written.
    """
    change_points = None if path.suffix == ".npz" else find(features).change_points
    write_features(features, path, change_points=change_points)


def notes_on_time_stamps(video: VideoInfo) -> tuple[str, ...]:
    """What there is to say of a video's time stamps: nothing, unless they jump."""
    return jumps_of(video).describe(video.path)


def has_pictures(source: VideoPath) -> bool:
    """Whether a source is a video by its name, not a feature file."""
    return not is_feature_file(os.fspath(source))


def cache_state() -> CacheState:
    """How full the cache of features is."""
    return cache.state()


def _cut(features: Features, cutting: ShotSettings, made_from: dict[str, Any]) -> Shots:
    if cutting.shots not in METHODS:
        raise UsageError(
            f"there is no way {cutting.shots!r} to cut shots", hint=f"choose from {', '.join(METHODS)}"
        )
    cuts_s = None
    if cutting.shots == "transnetv2":
        from vidsum.shots.transnetv2 import cuts_of

        cuts_s = cuts_of(features)
    shots = find(
        features,
        cutting.shots,
        max_shots=cutting.max_shots,
        min_shot_s=cutting.min_shot_s,
        max_shot_s=cutting.max_shot_s,
        cuts_s=cuts_s,
    )
    return replace(shots, provenance=made_from, warnings=features.warnings)


def _models(source: Source, selection: Selection, how: Extraction) -> tuple[str, ...]:
    """The models that may score features, or those that a video will give."""
    if isinstance(source, Features):
        extractor, step_s = source.extractor, source.step_s
    else:
        extractor, step_s = how.extractor, spec_of(how).step_s
    return candidates(selection.model, extractor, 1 / step_s, how.device)


def _read_once(source: Source) -> Source:
    """The features in place of a feature file, so that it is not read for each question about them."""
    if isinstance(source, Features) or has_pictures(source):
        return source
    path, _, video = os.fspath(source).partition("#")
    return read_features(path, video or None)


def _features_of(source: Source, how: Extraction, progress: Progress | None) -> Features:
    source = _read_once(source)
    return source if isinstance(source, Features) else run_extraction(source, how, progress)


def _video_of(source: Source, how: Extraction) -> VideoInfo:
    if isinstance(source, Features) or is_feature_file(os.fspath(source)):
        raise UsageError("TransNetV2 looks at every frame: features are not enough", hint="give the video")
    return probe(source, allow_playlists=how.allow_playlists)


def _source_provenance(source: Source, how: Extraction) -> dict[str, Any]:
    if isinstance(source, Features) or is_feature_file(os.fspath(source)):
        return provenance.of_features(_features_of(source, how, None))
    return extraction_provenance(source, how)


def _shots_provenance(made_from: Mapping[str, Any], cutting: ShotSettings) -> dict[str, Any]:
    return {**made_from, "shots": asdict(cutting)}


def _summary_provenance(
    made_from: Mapping[str, Any], selection: Selection, models: Sequence[str]
) -> dict[str, Any]:
    plain = json.loads(json.dumps(asdict(selection)))  # tuples as lists, as they come back from a file
    if list(models) != [selection.model]:
        plain["candidates"] = list(models)
    if sha256 := next(filter(None, map(checkpoint_sha256, models)), None):
        plain["model_sha256"] = sha256
    return {**made_from, "summary": plain}
