"""Pictures as evidence: the clips of a video in an image-text space, and what is usual in them."""

from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np

from vidsum.evidence.match_probability import (
    Condition,
    MatchedQueries,
    Usual,
    WindowMatches,
    match_windows,
    usual_of,
)
from vidsum.evidence.protocol import Found
from vidsum.evidence.records import ClassNames, Records, pack_actions, pack_clips, unpack_clips
from vidsum.grounding.proposals import find_moments
from vidsum.grounding.spaces import STEP_S, ClipEmbeddings, scenes_of, similarity
from vidsum.types import FloatArray, TimeArray


class PictureQuery(NamedTuple):
    """Queries of which some must be seen together, and others must not."""

    queries: MatchedQueries
    condition: Condition


class PackedPicture(NamedTuple):
    """Pictures as an archive stores them."""

    clips: Records  # [T] of `pack_clips`
    actions: Records | None  # [T] of `pack_actions`
    shots_s: TimeArray  # [S + 1] edges of the shots
    usual: Usual
    space: str
    names: ClassNames  # which are not stored


@dataclass(frozen=True, eq=False)
class Picture:
    """The pictures of a video in a space."""

    clips: ClipEmbeddings
    usual: Usual
    space: str

    @classmethod
    def of(cls, clips: ClipEmbeddings, space: str, background: FloatArray) -> Self:
        """Return clips with what is usual in them, by `embed_background` [B, D] of the space."""
        return cls(clips, usual_of(clips, background), space)

    def match(self, queries: MatchedQueries) -> WindowMatches:
        """Return how likely queries are in the windows of the video."""
        return match_windows(self.clips, queries, self.usual)

    def search(self, query: PictureQuery, most: int) -> list[Found]:
        """Return the moments that stand out for a query, with their probabilities."""
        clips, (queries, condition) = self.clips, query
        curves = similarity(clips, queries.vectors)
        curve = curves[list(condition.wanted)].sum(axis=0) - curves[list(condition.unwanted)].sum(axis=0)
        moments = find_moments(
            curve,
            clips.timestamps,
            clips.step_s,
            clips.duration_s,
            most,
            shots_s=clips.shots_s,
            scenes_s=clips.scenes_s,
        )
        matches = self.match(queries)
        return [
            Found(replace(moment, present=matches.within(condition, *moment.interval))) for moment in moments
        ]

    def pack(self) -> PackedPicture:
        clips = self.clips
        assert clips.shots_s is not None
        none = np.zeros((0, clips.rows.shape[1]), np.float32)
        names = ClassNames(*(seen.names if seen else none for seen in (clips.objects, clips.actions)))
        packed = pack_clips(clips), pack_actions(clips)
        return PackedPicture(*packed, clips.shots_s, self.usual, self.space, names)

    @classmethod
    def unpack(cls, packed: PackedPicture, duration_s: float) -> Self:
        parts = packed.clips, packed.actions, packed.names
        clips = unpack_clips(*parts, duration_s, STEP_S, packed.shots_s)
        scenes_s = scenes_of(clips, packed.shots_s, packed.space)
        return cls(replace(clips, scenes_s=scenes_s), packed.usual, packed.space)
