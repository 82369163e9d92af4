"""Find what stands out in a video, with no query: plan (what it would be made from), then run."""

from __future__ import annotations

from dataclasses import replace
from typing import Unpack

from vidsum.errors import UsageError
from vidsum.features.settings import Extraction
from vidsum.grounding.settings import HighlightSettings
from vidsum.grounding.windows import grid, to_grid
from vidsum.options import all_from_keywords, without_defaults
from vidsum.pipelines.keywords import HighlightOptions
from vidsum.pipelines.plan import Plan, open_input
from vidsum.pipelines.sources import Source, has_pictures
from vidsum.pipelines.speech_evidence import plan_summary_speech
from vidsum.pipelines.voice_pauses import end_at_cuts, find_voices, needs_voices
from vidsum.results.features import Features
from vidsum.results.moments import Highlights
from vidsum.results.sentences import SpokenWord, cuts_inside_phrases, describe_cuts
from vidsum.results.transcript import Transcript
from vidsum.shots.segmentation import find
from vidsum.summary.fixed_camera import prefer_events
from vidsum.summary.highlight_scenes import choose_highlights
from vidsum.summary.importance import CLIP_S
from vidsum.summary.picture_quality import quality_at
from vidsum.summary.score import best_score, candidate_models, weights_sha256
from vidsum.summary.settings import Selection
from vidsum.types import Progress
from vidsum.video.probe import start_offset_s

_NOTHING = "nothing stands out: this video looks much the same throughout"
_SCALED_SCORER = "contrastive"  # always scaled to [0, 1]: a still video's noise would stand out


def find_highlights(
    source: Source,
    top_k: int = HighlightSettings.top_k,
    *,
    progress: Progress | None = None,
    **options: Unpack[HighlightOptions],
) -> Highlights:
    """Find what stands out in a video, with no query.

    Args:
        source: a video file, of any length, or features.
        top_k: maximum number of highlights.
        progress: called as progress(what, done, total) while it runs; a total of 0 is unknown.
        **options: other fields of `vidsum.grounding.settings.HighlightSettings`, and of
            `vidsum.features.settings.Extraction`, for a video; the saliency was measured with the default
            extractor.

    Returns the saliency of each clip, and the scenes that stand out, which may be none; docs/highlights.md
    explains them.
    Raises InputError: the file cannot be read or holds no video. WeightsError: the extractor's weights are
    missing and cannot be fetched. UsageError: a setting is out of range.
    """
    kinds = (HighlightSettings, Extraction)
    settings, extraction = all_from_keywords(find_highlights, kinds, {"top_k": top_k, **options})
    return plan_highlights(source, settings, extraction).run(progress)


def plan_highlights(source: Source, settings: HighlightSettings, extraction: Extraction) -> Plan[Highlights]:
    """Plan `find_highlights`: a video is probed and hashed, not decoded. Errors are the same."""
    if not isinstance(source, Features) and not has_pictures(source):
        raise UsageError(
            "highlights are found in a video",
            hint="give the video, or in Python vidsum.find_highlights(vidsum.read_features(FILE))",
            subject=source,
        )
    video_input = open_input(source, extraction)
    models = candidate_models(Selection().model, *video_input.kind, extraction.device)
    models = tuple(name for name in models if name != _SCALED_SCORER)
    facts = {"top_k": int(settings.top_k), "clip_s": CLIP_S, **without_defaults(settings)}
    facts |= {"candidates": list(models), **weights_sha256(models)}
    if speech := plan_summary_speech(Selection(), video_input):
        facts["speech"] = speech.provenance["speech"]
    elif needs_voices(Selection(), video_input.video):
        facts["voice"] = True
    provenance = {**video_input.provenance, "highlights": facts}

    def make(progress: Progress | None) -> Highlights:
        (features,), pictures = video_input.read(progress)
        n_clips = max(1, int(features.duration_s / CLIP_S + 0.5))  # the last one, if it is half of a clip
        times = grid(features.duration_s, CLIP_S)[:n_clips]
        scored = best_score(models, features, None, Selection(), 1.0, extraction.device)
        transcript = speech.run(progress) if speech else None
        words = _words_within(transcript, features.duration_s) if transcript else []
        spoken = transcript.warnings if transcript else ()
        changes = pictures.changes if pictures else None
        if not words:
            scored = prefer_events(scored, features, changes)
        # where all models are flat, a summary takes all for equal; here nothing is salient
        curve = scored.importance * quality_at(changes, features.timestamps) * (scored.model in models)
        saliency = to_grid(curve[:, None], features, times, CLIP_S)[:, 0]
        edges_s = find(features, pictures=pictures).edges_s
        voices = find_voices(video_input, progress) if "voice" in facts else ()
        said = words or [SpokenWord(start_s, end_s, "") for start_s, end_s in end_at_cuts(voices, edges_s)]
        moments = choose_highlights(curve, features, edges_s, settings, said)
        ends_s = {time_s for moment in moments for time_s in moment.interval} - {0.0, features.duration_s}
        cuts = describe_cuts(cuts_inside_phrases(words, ends_s), start_offset_s(features.video))
        return Highlights(
            saliency=saliency,
            timestamps=times,
            clip_s=CLIP_S,
            moments=tuple(moments),
            video_duration_s=features.duration_s,
            model=scored.model,
            model_reason=scored.reason,
            video=features.video,
            provenance=provenance,
            warnings=(*features.warnings, *spoken, *cuts, *(() if moments else (_NOTHING,))),
        )

    return Plan(provenance, make)


def _words_within(transcript: Transcript, duration_s: float) -> list[SpokenWord]:
    """Return the words that begin before the end of a film, none longer than it."""
    return [
        replace(word, end_s=min(word.end_s, duration_s))
        for word in transcript.spoken
        if word.start_s < duration_s
    ]
