"""Training examples made up from captions: no video, and no features, are needed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path

from vidsum import checkpoints
from vidsum.datasets.examples import MomentExample
from vidsum.datasets.highlight_examples import HighlightExample
from vidsum.datasets.moments import MomentVideo, mended, read_moments
from vidsum.errors import UsageError
from vidsum.grounding.class_names import name_embeddings
from vidsum.grounding.spaces import CLASSIFIERS, embed_words, text_encoder_of
from vidsum.grounding.text import load_text_encoder
from vidsum.provenance import of_file
from vidsum.training.captions import Captions, embed_captions, words_of
from vidsum.training.data import Made, MomentData, share_of
from vidsum.training.simulated import HAZE, Classifier, Making, make_up
from vidsum.training.simulated_highlights import make_up_highlights
from vidsum.types import Progress

_FOR_VALIDATION = 200
_VALIDATION_SEED, _TRAINING_SEED = 1, 2


@dataclass(frozen=True)
class CaptionRecipe:
    """What examples are made up from, and how many."""

    annotations: tuple[Path, ...]
    """Files as `vidsum.datasets.moments` reads them; their videos are not needed."""
    space: str = "conse"
    clip_s: float = 1.0
    """Longest clip; a window has T of them."""
    guided: bool = True
    """Whether clips come with a guide, see `vidsum.grounding.spaces.guided_rows`."""
    videos: int = 1200
    """Made up anew for each epoch."""
    n_queries: int = 4
    """Of an example at most, where there is no guide."""
    validation: float = 0.1
    """Share of the annotated videos that the examples for validation are made up from, and no others."""

    def __post_init__(self) -> None:
        if self.space not in ("conse", "clip"):
            raise UsageError(
                f"captions cannot be made into features of the space {self.space}", hint="--space conse"
            )
        if not (self.clip_s > 0 and self.videos >= 1 and self.n_queries >= 1):
            raise UsageError("clip_s must be positive, videos and n_queries at least 1")


def captions_data(
    recipe: CaptionRecipe, clips: int, seed: int = 0, device: str = "auto", progress: Progress | None = None
) -> MomentData[MomentExample]:
    """Examples that are made up from captions, others in each epoch.

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
    return _made_up(recipe, make_up, clips, seed, device, progress)


def highlight_captions_data(
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
        clips: T, of an example at most.
        words: of a query at most.
        seed, device, progress: see `captions_data`.

    Raises:
        InputError, UsageError, WeightsError: see `captions_data`.
    """
    encode = partial(embed_words, recipe.space, device=device)
    book = lru_cache(maxsize=2)(partial(words_of, encode=encode, most=words))

    def make(how: Making, n_videos: int, of_seed: Sequence[int]) -> list[HighlightExample]:
        return make_up_highlights(how, book(how.captions), n_videos, of_seed)

    return _made_up(replace(recipe, n_queries=1), make, clips, seed, device, progress)


def _made_up(
    recipe: CaptionRecipe,
    make: Callable[[Making, int, Sequence[int]], list[Made]],
    clips: int,
    seed: int,
    device: str,
    progress: Progress | None,
) -> MomentData[Made]:
    videos = _read(recipe.annotations)
    held_out = share_of(videos, recipe.validation, seed)
    kept = {name: video for name, video in videos.items() if name not in held_out}
    extractors = CLASSIFIERS if recipe.space == "conse" else ()
    classifiers = [Classifier(name_embeddings(one, device), HAZE[one]) for one in extractors]
    made_of = (classifiers, clips, recipe.clip_s, recipe.n_queries, recipe.guided)
    making = Making(_embedded(kept, recipe.space, seed, device, progress), *made_of)
    judged: list[Made] = []
    if held_out:
        judging = Making(_embedded(held_out, recipe.space, seed, device, progress), *made_of)
        judged = make(judging, _FOR_VALIDATION, (seed, _VALIDATION_SEED))
    first = make(making, 1, (seed,))[0]

    @lru_cache(maxsize=1)
    def examples(epoch: int) -> list[Made]:
        return make(making, recipe.videos, (seed, _TRAINING_SEED, epoch))

    return MomentData(
        examples=examples,
        validation=[example for example in judged if example.windows.any()],
        features={
            "space": recipe.space,
            "dim": int(first.video.shape[1]),
            "clip_s": recipe.clip_s,
            "guided": recipe.guided,
        },
        about={
            "recipe": "captions",
            "annotations": [{"name": path.name, **of_file(path)} for path in recipe.annotations],
            "videos": recipe.videos,
            "validation": recipe.validation,
        },
        warnings=mended(videos),
    )


def _read(paths: Sequence[Path]) -> dict[str, MomentVideo]:
    """The videos of all files; by the file's name too, since two files may tell of one video."""
    return {
        f"{path.stem}/{name}": replace(video, name=f"{path.stem}/{name}")
        for path in paths
        for name, video in read_moments(path).items()
        if video.queries
    }


def _embedded(
    videos: dict[str, MomentVideo], space: str, seed: int, device: str, progress: Progress | None
) -> Captions:
    encoder = text_encoder_of(space)
    encode = load_text_encoder(encoder, device).encode
    return embed_captions(videos, encode, checkpoints.sha256_of(encoder), seed, progress)
