"""The shots of a video: plan, then run."""

from __future__ import annotations

from dataclasses import replace
from typing import Unpack

from vidsum.features.settings import Extraction
from vidsum.options import all_from_keywords, without_defaults
from vidsum.pipelines.keywords import ShotOptions
from vidsum.pipelines.plan import Plan, open_input, report_step
from vidsum.pipelines.sources import Source
from vidsum.results.shots import Shots
from vidsum.shots.segmentation import find
from vidsum.shots.settings import ShotMethod, ShotSettings
from vidsum.types import Progress


def find_shots(
    source: Source,
    shots: ShotMethod = ShotSettings.shots,
    *,
    progress: Progress | None = None,
    **options: Unpack[ShotOptions],
) -> Shots:
    """Cut a video into shots.

    Args:
        source: a video, a feature file or features.
        shots: `kts` or `uniform`.
        progress: called as progress(what, done, total) while it runs; a total of 0 is unknown.
        **options: other fields of `vidsum.shots.settings.ShotSettings`, such as `max_shots=10`; for a video,
            also fields of `vidsum.features.settings.Extraction`.

    Raises InputError, WeightsError, UsageError: see `extract`.
    """
    kinds, video_input = (ShotSettings, Extraction), {"shots": shots, **options}
    settings, extraction = all_from_keywords(find_shots, kinds, video_input)
    return plan_shots(source, settings, extraction).run(progress)


def plan_shots(source: Source, settings: ShotSettings, extraction: Extraction) -> Plan[Shots]:
    """Plan the shots of a video or of features. Raises InputError, UsageError: see `find_shots`."""
    video_input = open_input(source, extraction)
    provenance = {**video_input.provenance, "shots": without_defaults(settings)}

    def make(progress: Progress | None) -> Shots:
        features, pictures = video_input.read(progress)
        report_step(progress, "finding shots")
        shots = find(features[-1], settings, pictures, "only")
        return replace(shots, provenance=provenance, warnings=features[-1].warnings)

    return Plan(provenance, make)
