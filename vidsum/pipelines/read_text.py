"""Text on the screen of a video: plan what it depends on, then read it, in the pass that makes features."""

from __future__ import annotations

from dataclasses import replace
from typing import Unpack

from vidsum.features.settings import Extraction
from vidsum.io.packages import has_extra
from vidsum.options import from_keywords
from vidsum.pipelines.decoding import changes_job, run_jobs, screen_text_job
from vidsum.pipelines.keywords import ReadingOptions
from vidsum.pipelines.plan import Input, Plan
from vidsum.pipelines.sources import Video, VideoPath, memo_of, probe_video, source_path
from vidsum.results.cached import find_cached
from vidsum.results.screen_text import ScreenText, describe_unread
from vidsum.types import Progress


def read_screen(
    path: VideoPath, *, progress: Progress | None = None, **options: Unpack[ReadingOptions]
) -> ScreenText:
    """Read the text on the screen of a video.

    Args:
        path: a video file.
        progress: called as progress(what, done, total) while it runs; a total of 0 is unknown.
        **options: fields of `vidsum.features.settings.Extraction` that choose the track and the reader.

    Returns lines with their words, places and times; none if nothing can be read. Raises InputError: the file
    cannot be read or holds no video. PackageError: the extra `ocr` is not installed.
    """
    return plan_screen_text(path, from_keywords(read_screen, Extraction, options)).run(progress)


def plan_screen_text(source: VideoPath | Video, extraction: Extraction) -> Plan[ScreenText]:
    """Plan the text of a video alone. Raises the errors of `read_screen`."""
    video = probe_video(source_path(source), extraction)
    return plan_input_text(Input(extraction, video, memo=memo_of(source)))


def plan_input_text(video_input: Input) -> Plan[ScreenText]:
    """Plan the text of a video, which is read in the pass that makes the features of its jobs.

    Raises PackageError: the extra `ocr` is not installed.
    """
    video, extraction = video_input.video, video_input.extraction
    assert video is not None
    job = screen_text_job(video, extraction)

    def make(progress: Progress | None) -> ScreenText:
        jobs = [*video_input.jobs]
        # which pictures are decoded, and so their changes, must not depend on this job
        rates = {other.sampling.fps for other in jobs if other.sampling}
        if jobs and job.sampling and job.sampling.fps in rates:
            measured = changes_job(video, extraction, jobs)
            jobs += [measured] if measured else []
        else:
            jobs = []
        is_known = extraction.cache and find_cached(ScreenText, job.provenance)
        made = run_jobs(video, [job] if is_known else [*jobs, job], extraction, progress, video_input.memo)
        text: ScreenText = made[-1]
        return replace(text, warnings=(*text.warnings, *describe_unread(text)))

    return Plan(job.provenance, make)


def find_screen_text(video_input: Input) -> ScreenText | None:
    """Return the text of a video if it is in the cache, and the package is there that read it."""
    video, extraction = video_input.video, video_input.extraction
    if video is None or not extraction.cache or not has_extra("ocr"):
        return None
    return find_cached(ScreenText, screen_text_job(video, extraction).provenance)
