"""Evidence in addition to pictures: which of speech, text and sounds is searched, and their answers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from vidsum import checkpoints
from vidsum.features.sounds import STEP_S as SOUND_STEP_S
from vidsum.grounding.settings import Retrieval
from vidsum.grounding.sounds import describe_unknown
from vidsum.grounding.spaces import STEP_S
from vidsum.grounding.speech import ENCODER, fuse
from vidsum.grounding.windows import grid
from vidsum.pipelines.plan import Input, Plan
from vidsum.pipelines.queries import Queries
from vidsum.pipelines.sounds import SoundScores, plan_moment_sounds, search_sounds
from vidsum.pipelines.speech_evidence import plan_moment_speech, search_speech
from vidsum.pipelines.text_evidence import plan_moment_text, text_answers
from vidsum.results.moments import Grounding, QueryMoments
from vidsum.results.screen_text import ScreenText
from vidsum.results.settings import Evidence, list_evidence
from vidsum.results.transcript import Transcript
from vidsum.types import Progress


@dataclass(frozen=True, eq=False)
class PlannedEvidence:
    """The evidence that is searched, with the plans of what is not pictures."""

    kinds: tuple[Evidence, ...]
    speech: Plan[Transcript] | None
    sounds: Plan[SoundScores] | None
    text: Plan[ScreenText] | None

    @property
    def has_pictures(self) -> bool:
        """Whether pictures are searched."""
        return "picture" in self.kinds

    def facts(self) -> dict[str, Any]:
        """Return the parts of the provenance."""
        plans: tuple[tuple[str, Plan[Any] | None], ...] = (("speech", self.speech), ("sounds", self.sounds))
        parts = {part: plan.provenance[part] for part, plan in plans if plan}
        if self.text:
            about = ("weights_sha256", "parameters")
            parts["screen_text"] = {name: self.text.provenance[name] for name in about}
        encoder = checkpoints.sha256_of(ENCODER) if parts else ""
        return {part: {**about, "text_weights_sha256": encoder} for part, about in parts.items()}

    def run(self, progress: Progress | None) -> "OtherEvidence":
        """Return the speech, the text and the sounds, made or from the cache."""
        transcript = self.speech.run(progress) if self.speech else None
        sounds = self.sounds.run(progress) if self.sounds else None
        text = self.text.run(progress) if self.text else None
        return OtherEvidence(self.kinds, transcript, sounds, text)


def plan_evidence(retrieval: Retrieval, video_input: Input) -> PlannedEvidence:
    """Plan what is searched: as requested, or by default the pictures and all that is cached.

    Raises InputError: sound is requested, and the video has none. UsageError: it is requested of features.
    PackageError: text is requested, and the extra `ocr` is not installed.
    """
    speech, sounds = plan_moment_speech(retrieval, video_input), plan_moment_sounds(retrieval, video_input)
    text = plan_moment_text(retrieval, video_input)
    others: dict[Evidence, object] = {"speech": speech, "text": text, "sound": sounds}
    cached = (kind for kind, source in others.items() if source is not None)
    return PlannedEvidence(list_evidence(retrieval.evidence) or ("picture", *cached), speech, sounds, text)


@dataclass(frozen=True, eq=False)
class OtherEvidence:
    """The speech, the sounds and the text of a video that are searched."""

    kinds: tuple[Evidence, ...]
    transcript: Transcript | None
    sounds: SoundScores | None
    text: ScreenText | None

    def scope(self) -> dict[str, Any]:
        """Return the times of the curves, and the length, of a result in which no pictures are searched."""
        made = self.transcript or self.text or self.sounds
        assert made
        duration_s, step_s = made.duration_s, SOUND_STEP_S if made is self.sounds else STEP_S
        return {"timestamps": grid(duration_s, step_s), "step_s": step_s, "video_duration_s": duration_s}

    def add_to(self, grounding: Grounding, queries: Queries, retrieval: Retrieval, device: str) -> Grounding:
        """Return the answers by pictures, if they are searched, merged with the others."""
        if self.kinds == ("picture",):
            return grounding
        texts, others = queries.texts, list[list[QueryMoments]]()
        if self.transcript:
            others.append(search_speech(self.transcript, texts, grounding.timestamps, retrieval, device))
        if self.text:
            others.append(text_answers(self.text, texts, grounding.timestamps, retrieval, device))
        if self.sounds:
            others.append(search_sounds(self.sounds, texts, retrieval, device))
        answers: Sequence[QueryMoments] = others[0] if others else grounding.queries
        if "picture" in self.kinds:
            rows = zip(grounding.queries, *others, strict=True)
            answers = [fuse(seen, rest, retrieval.top_k) for seen, *rest in rows]
        warnings = [*grounding.warnings, *self._warnings(texts, retrieval, device)]
        return replace(
            grounding,
            queries=queries.attach_spoken(answers),
            evidence=self.kinds,
            warnings=tuple(dict.fromkeys(warnings)),
        )

    def _warnings(self, texts: Sequence[str], retrieval: Retrieval, device: str) -> Iterator[str]:
        if self.transcript:
            yield from self.transcript.warnings
        if self.text:
            yield from self.text.warnings
        if self.sounds:
            yield from self.sounds.warnings
        if self.kinds == ("sound",):
            yield from describe_unknown(texts, retrieval.language, device)
