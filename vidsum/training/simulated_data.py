"""Training examples simulated from captions: no video, and no features, are needed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
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
from vidsum.training.simulated import NOISE, Classifier, Simulation, simulate_highlights, simulate_moments
from vidsum.types import Progress

_VALIDATION_SEED, _TRAINING_SEED = 1, 2


@dataclass(frozen=True)
class CaptionRecipe:
    """What examples are simulated from, and how many."""

    annotations: tuple[Path, ...]
    """Files as `vidsum.datasets.moments` reads them; their videos are not needed."""
    space: str = "conse"
    clip_s: float = 1.0
    """Longest clip; a window has T of them."""
    guided: bool = True
    """Whether clips come with a guide, see `vidsum.grounding.spaces.guided_rows`."""
    videos: int = 1200
    """Simulated anew for each epoch."""
    n_queries: int = 4
    """Maximum per example, where there is no guide."""
    validation: float = 0.1
    """Fraction of the annotated videos that the validation examples, and no others, are simulated from."""

    def __post_init__(self) -> None:
        if self.space not in ("conse", "clip"):
            raise UsageError(
                f"features of the space {self.space} cannot be simulated from captions", hint="--space conse"
            )
        if not (self.clip_s > 0 and self.videos >= 1 and self.n_queries >= 1):
            raise UsageError("clip_s must be positive, videos and n_queries at least 1")


def simulated_moments(
    recipe: CaptionRecipe, clips: int, seed: int = 0, device: str = "auto", progress: Progress | None = None
) -> MomentData[MomentExample]:
    """Examples simulated from captions, others in each epoch.

    Args:
        recipe: from what, and how.
        clips: T, of an example.
        seed: of all draws.
        device: where the text encoder runs.
        progress: called while captions are embedded.

    Raises:
        InputError: annotations cannot be read.
        UsageError: there is no caption, or no video to hold out.
        WeightsError: the text encoder's weights cannot be had.
    """
    return _simulated(recipe, simulate_moments, clips, seed, device, progress)


def simulated_highlights(
    recipe: CaptionRecipe,
    clips: int,
    words: int,
    seed: int = 0,
    device: str = "auto",
    progress: Progress | None = None,
) -> MomentData[HighlightExample]:
    """The same with the words of queries in place of their sentences, and the saliency of each clip.

    Args:
        recipe: from what, and how; each example has one query.
        clips: maximum T of an example.
        words: maximum per query.
        seed, device, progress: see `simulated_moments`.

    Raises:
        InputError, UsageError, WeightsError: see `simulated_moments`.
    """
    encode = partial(embed_words, recipe.space, device=device)
    book = lru_cache(maxsize=2)(partial(words_of, encode=encode, most=words))

    def simulate(how: Simulation, n_videos: int, seeds: Sequence[int]) -> list[HighlightExample]:
        return simulate_highlights(how, book(how.captions), n_videos, seeds)

    return _simulated(replace(recipe, n_queries=1), simulate, clips, seed, device, progress)


def _simulated(
    recipe: CaptionRecipe,
    simulate: Callable[[Simulation, int, Sequence[int]], list[Example]],
    clips: int,
    seed: int,
    device: str,
    progress: Progress | None,
) -> MomentData[Example]:
    # by the file's name too, since two files may tell of one video
    videos = {
        f"{path.stem}/{name}": replace(video, name=f"{path.stem}/{name}")
        for path in recipe.annotations
        for name, video in read_moments(path).items()
        if video.queries
    }
    held_out = held_out_of(videos, recipe.validation, seed)
    train = {name: video for name, video in videos.items() if name not in held_out}
    extractors = CLASSIFIERS if recipe.space == "conse" else ()
    classifiers = [Classifier(name_embeddings(each, device), NOISE[each]) for each in extractors]
    sizes = (classifiers, clips, recipe.clip_s, recipe.n_queries, recipe.guided)
    of_train = Simulation(_embedded(train, recipe.space, seed, device, progress), *sizes)
    val: list[Example] = []
    if held_out:
        of_val = Simulation(_embedded(held_out, recipe.space, seed, device, progress), *sizes)
        val = simulate(of_val, N_VALIDATION, (seed, _VALIDATION_SEED))
    first = simulate(of_train, 1, (seed,))[0]

    @lru_cache(maxsize=1)
    def examples(epoch: int) -> list[Example]:
        return simulate(of_train, recipe.videos, (seed, _TRAINING_SEED, epoch))

    return MomentData(
        examples=examples,
        validation=[example for example in val if example.windows.any()],
        features={
            "space": recipe.space,
            "dim": int(first.video.shape[1]),
            "clip_s": recipe.clip_s,
            "guided": recipe.guided,
        },
        about={
            "recipe": "captions",
            "annotations": files_of(recipe.annotations),
            "videos": recipe.videos,
            "validation": recipe.validation,
        },
        warnings=repaired(videos),
    )


def _embedded(
    videos: dict[str, MomentVideo], space: str, seed: int, device: str, progress: Progress | None
) -> Captions:
    encoder = text_encoder_of(space)
    encode = load_text_encoder(encoder, device).encode
    return embed_captions(videos, encode, checkpoints.sha256_of(encoder), seed, progress)
