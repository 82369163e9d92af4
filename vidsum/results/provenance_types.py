"""The keys of provenance in the documents of results: inputs and settings, by which equal results are known.

The schemas are generated from these types (docs/schemas.py).
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NotRequired, TypedDict

from vidsum.results.decisions import Edit
from vidsum.results.settings import ClipName, Evidence
from vidsum.types import Above0, Count, Fraction, Number, Sha256, rules

Parameters = Mapping[str, Any]
Space = Literal[ClipName, "own", "vse"]
Several = rules(minItems=1)


class HashedFile(TypedDict):
    """A file that a result was made from."""

    bytes: Count
    sha256: Sha256
    video_track: NotRequired[Number]
    audio_track: NotRequired[Number]


class FeatureProvenance(TypedDict):
    """Inputs and settings of features, shots and summaries, which may have more keys."""

    vidsum: NotRequired[str]  # its version; missing where features were made elsewhere
    extractor: NotRequired[str]
    weights_sha256: NotRequired[str | None]
    parameters: NotRequired[Parameters]
    video: NotRequired[HashedFile]
    features: NotRequired[HashedFile]  # in place of the video, where features were given
    shots: NotRequired[Parameters]
    summary: NotRequired[Parameters]


class VideoProvenance(TypedDict):
    """Inputs of results that are made of the features of a video."""

    vidsum: str
    extractor: str
    weights_sha256: NotRequired[Sha256]
    parameters: NotRequired[Parameters]
    video: NotRequired[HashedFile]


class SummaryProvenance(FeatureProvenance):
    """Inputs and settings of a summary, which may have more keys."""

    edit: NotRequired[Edit]  # what was corrected by hand


class TrimProvenance(TypedDict):
    """Inputs and settings of a trimmed film, which may have more keys."""

    vidsum: str
    video: NotRequired[HashedFile]
    trim: NotRequired[Parameters]  # `script` is the SHA-256 of the edited transcript
    speech: NotRequired[Parameters]
    edit: NotRequired[Edit]  # what was corrected by hand


class Speech(TypedDict):
    """Settings of a transcript; those at their defaults may be missing."""

    model: str
    weights_sha256: Sha256
    language: str | None  # the language that was given; null if it was detected
    translate: bool
    ahead_s: NotRequired[Annotated[float, rules(minimum=0)]]
    """How long the sound was heard ahead of the first picture."""
    beams: Number
    no_repeat: NotRequired[Number]
    """Length of token sequences that must not repeat when a repetitive window is transcribed again."""
    no_speech: NotRequired[tuple[float, float]]
    """Text with a higher probability of no speech and a lower mean log-probability is dropped."""
    no_words: NotRequired[Fraction]
    """Text is also dropped if this is less than the probability of no speech times the probability that it is
    not in the most likely language."""
    certain: NotRequired[Fraction]  # segments of a lower probability are uncertain
    languages: NotRequired[tuple[float, float, float]]
    """How many times as likely as the language so far another one must be; the probability below which a
    window may hold two; how many times as likely a language must be in a piece of the window."""
    precision: Literal["int8", "float16"]


class ComparedSpeech(Speech):
    """Settings of a transcript that was compared with queries."""

    text_weights_sha256: Sha256  # digest of the text encoder


class Subtitles(TypedDict):
    """Subtitles that were the transcript."""

    subtitles: str  # name of their file, or `track N`: its number among the subtitle tracks of the video
    sha256: NotRequired[Sha256]  # digest of their file
    language: NotRequired[str]  # its code, by the name of the file, the track or the sound


class ComparedSubtitles(Subtitles):
    """Subtitles that were compared with queries."""

    text_weights_sha256: Sha256  # digest of the text encoder


class Sounds(TypedDict):
    """The network that found sounds."""

    model: str
    weights_sha256: Sha256


class ComparedSounds(Sounds):
    """The network that found sounds, and the text encoder that compares queries with its classes."""

    text_weights_sha256: Sha256


class ComparedScreenText(TypedDict):
    """The networks that read the text on the screen, and the text encoder that compares meanings."""

    weights_sha256: Sha256
    parameters: Parameters
    text_weights_sha256: Sha256


class TranscriptProvenance(TypedDict):
    """Inputs and settings of a transcript."""

    vidsum: str
    video: HashedFile
    speech: Speech
    sounds: NotRequired[Sounds]


class ScreenTextProvenance(TypedDict):
    """Inputs and settings of text on the screen."""

    vidsum: str
    video: HashedFile
    extractor: Literal["screen_text"]
    weights_sha256: Sha256  # digest of the SHA-256 of the networks
    parameters: Parameters


class Extracted(TypedDict):
    """Features that were extracted from the video."""

    extractor: str
    weights_sha256: Sha256
    parameters: Parameters


class AskedQueries(TypedDict):
    """The queries, by their digest."""

    count: Number
    sha256: Sha256
    spoken: NotRequired[Sequence[Sha256]]  # recordings of spoken queries


class RecordedGrounding(TypedDict):
    """Settings of the search; those at their defaults are missing, and there may be more keys."""

    top_k: NotRequired[Number | None]
    model: str
    space: Space
    queries: AskedQueries
    text_weights_sha256: NotRequired[Sha256]
    without: NotRequired[Sequence[str]]  # what must not be seen (--not)
    min_present: NotRequired[Fraction]
    vse_sha256: NotRequired[Sha256]  # digest of the map from pictures to sentences, in the space vse
    model_sha256: NotRequired[Sha256]  # digest of the checkpoint of a trained model
    precision: NotRequired[Literal["bf16"]]  # precision of the trained model, if not fp32
    alone: NotRequired[bool]  # that a trained model's curve was not added to similarity's curve
    evidence: NotRequired[Annotated[Sequence[Evidence], Several]]


class MomentProvenance(TypedDict):
    """Inputs and settings of moments."""

    vidsum: str
    video: NotRequired[HashedFile]
    extractions: NotRequired[Annotated[Sequence[Extracted], Several]]
    """None if only speech, text or sounds were searched."""
    extractor: NotRequired[str]  # in place of the extractions, where moments were found in features
    weights_sha256: NotRequired[Sha256]
    parameters: NotRequired[Parameters]
    features: NotRequired[HashedFile]  # in place of the video, where features were given
    grounding: RecordedGrounding
    speech: NotRequired[ComparedSpeech | ComparedSubtitles]
    screen_text: NotRequired[ComparedScreenText]
    sounds: NotRequired[ComparedSounds]
    edit: NotRequired[Edit]  # what was corrected by hand


class RecordedHighlights(TypedDict):
    """Settings of the highlights."""

    top_k: Number
    clip_s: Above0
    max_length_s: NotRequired[Above0]
    speech: NotRequired[Parameters]  # settings of the transcript whose sentences are not cut, or subtitles
    voice: NotRequired[bool]  # true: edges avoid voices, in a video without a transcript
    candidates: NotRequired[Annotated[Sequence[str], Several]]
    """The models in order; the first whose importance is not constant is used."""
    model_sha256: NotRequired[Sha256]
    map_sha256: NotRequired[Sha256]


class HighlightProvenance(VideoProvenance):
    """Inputs and settings of highlights."""

    features: NotRequired[HashedFile]  # in place of the video, where features were given
    highlights: RecordedHighlights
    edit: NotRequired[Edit]  # what was corrected by hand


Writer = Literal["words", "retrieve", "write", "people", "tags"] | Annotated[str, rules(pattern="^vlm:.")]
"""The source of sentences; people: --texts; vlm:NAME: a vision-language model on a server."""


class RecordedDescriptions(TypedDict):
    """Settings of the descriptions."""

    writer: Writer
    server: NotRequired[str]  # the address of the server with the vision-language model
    prompt: NotRequired[str]  # the instruction of the vision-language model for each frame
    every_s: NotRequired[Above0 | None]
    min_sure: NotRequired[Fraction]
    space: NotRequired[str]  # the image-text space in which words and pictures were compared
    map_sha256: NotRequired[Sha256]
    movement_weights_sha256: NotRequired[Sha256]  # digest of the network that sees actions
    text_weights_sha256: NotRequired[Sha256]
    sentences_sha256: NotRequired[Sha256]
    texts_sha256: NotRequired[Sha256]  # the corrected descriptions, of which nothing else is recorded
    in_gaps: NotRequired[tuple[float, float, float]]
    """Shortest pause and margin in seconds, words per minute."""
    candidates: NotRequired[Annotated[Sequence[str], Several]]
    model_sha256: NotRequired[Sha256]
    speak: NotRequired[str]  # the program that spoke the descriptions


class DescriptionProvenance(VideoProvenance):
    """Inputs and settings of descriptions."""

    shots: NotRequired[Parameters]
    descriptions: RecordedDescriptions


class DescribedChapters(TypedDict):
    """Sentences of a vision-language model that titles use."""

    writer: Annotated[str, rules(pattern="^vlm:")]
    digest: str


class RecordedChapters(TypedDict):
    """Settings of the chapters."""

    evidence: NotRequired[Literal["auto", "speech", "picture"]]
    count: NotRequired[Annotated[int, rules(minimum=3)]]
    prices: Mapping[str, Above0]  # price of a chapter, by evidence
    screen_text: NotRequired[bool]  # titles use text on the screen; false where it was read and there is none
    descriptions: NotRequired[DescribedChapters]
    map_sha256: Sha256
    text_weights_sha256: NotRequired[Sha256]


class RecordedShorts(TypedDict):
    """Settings of the shorts; those at their defaults are missing."""

    count: NotRequired[Number]
    length_s: NotRequired[tuple[Above0, Above0]]
    evidence: NotRequired[Evidence]
    candidates: Annotated[Sequence[str], Several]
    """The models in order; the first whose importance is not constant is used."""
    model_sha256: NotRequired[Sha256]
    map_sha256: Sha256
    standing_sha256: NotRequired[Sha256]  # digest of the models that mark sentences
    minilm_sha256: NotRequired[Sha256]


class ShortProvenance(VideoProvenance):
    """Inputs and settings of shorts."""

    speech: NotRequired[Parameters]  # see the schema of transcripts; or the subtitles, as of moments
    shorts: RecordedShorts
    edit: NotRequired[Edit]  # what was corrected by hand


class ChapterProvenance(VideoProvenance):
    """Inputs and settings of chapters."""

    speech: NotRequired[Parameters]  # see the schema of transcripts; or the subtitles, as of moments
    chapters: RecordedChapters
    edit: NotRequired[Edit]  # what was corrected by hand


class ReelInputs(HashedFile):
    """An input of a reel."""

    analysis: NotRequired[Annotated[str, rules(pattern="^[0-9a-f]{32}$")]]
    """Digest of how a clip was analysed; photographs have none."""
    speech: NotRequired[bool]
    """Whether the speech of a clip with sound was considered."""
    voice: NotRequired[bool]
    """Whether voices were looked for in a clip with sound that has no transcript."""


class ReelProvenance(TypedDict):
    """Inputs and settings of a reel."""

    vidsum: str
    reel: Parameters
    inputs: Annotated[Sequence[ReelInputs], Several]  # in the order of the film
    edit: NotRequired[Edit]  # what was corrected by hand
