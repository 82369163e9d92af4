"""Training examples simulated from captions: no video, and no features, are needed."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path

from vidsum import checkpoints
from vidsum.datasets.examples import HighlightExample, MomentExample
from vidsum.datasets.moments import MomentVideo, read_moments, repaired
from vidsum.errors import UsageError
from vidsum.grounding.conse import name_embeddings
from vidsum.grounding.spaces import CLASSIFIERS, embed_words, text_encoder_of
from vidsum.grounding.text import load_text_encoder
from vidsum.training.captions import Captions, embed_captions, words_of
from vidsum.training.data import N_VALIDATION, Example, MomentData, files_of, held_out_of
from vidsum.training.settings import DataSettings
from vidsum.training.simulated import NOISE, Classifier, Simulation, simulate_highlights, simulate_moments
from vidsum.types import Progress

_VALIDATION_SEED, _TRAINING_SEED = 1, 2
_CLIP_S, _VIDEOS = 1.0, 1200
"""The longest clip in seconds, and the videos simulated per epoch, unless the settings have others."""
_QUERIES = 4
"""Maximum per example of MRNet, where there is no guide."""


def simulated_moments(
    source: DataSettings, clips: int, seed: int = 0, device: str = "auto", progress: Progress | None = None
) -> MomentData[MomentExample]:
    """Examples simulated from captions, others in each epoch; the videos of the annotations are not needed.

    Args:
        source: files of annotations, the space, and how to simulate.
        clips: T, of an example.
        seed: of all draws.
        device: where the text encoder runs.
        progress: called while captions are embedded.

    Raises:
        InputError: annotations cannot be read.
        UsageError: there is no caption, or no video to hold out.
        WeightsError: the text encoder's weights cannot be had.
    """
    return _simulated(source, simulate_moments, _QUERIES, clips, seed, device, progress)


def simulated_highlights(
    source: DataSettings,
    clips: int,
    words: int,
    seed: int = 0,
    device: str = "auto",
    progress: Progress | None = None,
) -> MomentData[HighlightExample]:
    """The same with one query per example, its words (at most `words`) and the saliency of each clip.

    Here `clips` is the maximum T of an example.
    """
    encode = partial(embed_words, space_of(source), device=device)
    book = lru_cache(maxsize=2)(partial(words_of, encode=encode, most=words))

    def simulate(how: Simulation, n_videos: int, seeds: Sequence[int]) -> list[HighlightExample]:
        return simulate_highlights(how, book(how.captions), n_videos, seeds)

    return _simulated(source, simulate, 1, clips, seed, device, progress)


def space_of(source: DataSettings) -> str:
    """The space to simulate."""
    return "conse" if source.space == "features" else source.space


def _simulated(
    source: DataSettings,
    simulate: Callable[[Simulation, int, Sequence[int]], list[Example]],
    n_queries: int,
    clips: int,
    seed: int,
    device: str,
    progress: Progress | None,
) -> MomentData[Example]:
    space, fraction = space_of(source), source.held_out
    clip_s, guided, n_videos = source.clip_s or _CLIP_S, source.guided is not False, source.videos or _VIDEOS
    if isinstance(fraction, Path):
        fault = "with captions, --validation is a fraction of the annotated videos"
        raise UsageError(fault, hint="--validation 0.1")
    # by the file's name too, since two files may describe one video
    videos = {
        f"{path.stem}/{name}": replace(video, name=f"{path.stem}/{name}")
        for path in map(Path, source.data)
        for name, video in read_moments(path).items()
        if video.queries
    }
    held_out = held_out_of(videos, fraction, seed)
    train = {name: video for name, video in videos.items() if name not in held_out}
    extractors = CLASSIFIERS if space == "conse" else ()
    classifiers = [Classifier(name_embeddings(each, device), NOISE[each]) for each in extractors]
    sizes = (classifiers, clips, clip_s, n_queries, guided)
    of_train = Simulation(_embedded(train, space, seed, device, progress), *sizes)
    val: list[Example] = []
    if held_out:
        of_val = Simulation(_embedded(held_out, space, seed, device, progress), *sizes)
        val = simulate(of_val, N_VALIDATION, (seed, _VALIDATION_SEED))
    first = simulate(of_train, 1, (seed,))[0]

    @lru_cache(maxsize=1)
    def examples(epoch: int) -> list[Example]:
        return simulate(of_train, n_videos, (seed, _TRAINING_SEED, epoch))

    return MomentData(
        examples=examples,
        validation=[example for example in val if example.windows.any()],
        features={"space": space, "dim": int(first.video.shape[1]), "clip_s": clip_s, "guided": guided},
        about={
            "recipe": "captions",
            "annotations": files_of(source.data),
            "videos": n_videos,
            "validation": fraction,
        },
        warnings=repaired(videos),
    )


def _embedded(
    videos: dict[str, MomentVideo], space: str, seed: int, device: str, progress: Progress | None
) -> Captions:
    encoder = text_encoder_of(space)
    encode = load_text_encoder(encoder, device).encode
    return embed_captions(videos, encode, checkpoints.sha256_of(encoder), seed, progress)
