"""What a moment-retrieval model is trained and judged on: features of a video, its queries, their windows."""

from dataclasses import dataclass

from vidsum.errors import UsageError
from vidsum.types import FloatArray


@dataclass(frozen=True, eq=False)
class MomentExample:
    """A video as a model takes it, with the queries asked of it."""

    name: str
    """The video's; errors name it."""
    video: FloatArray
    """[T, Dv]: the whole video in T clips of equal length."""
    queries: FloatArray
    """[M, Dq]"""
    windows: FloatArray
    """[M, 2] start and end of what each query describes, as shares of the video; [M, W, 2] where a query has
    up to W windows, padded with empty ones (0, 0). A query with empty windows alone is true nowhere."""

    def __post_init__(self) -> None:
        video, queries, windows = (list(one.shape) for one in (self.video, self.queries, self.windows))
        if len(video) != 2 or len(queries) != 2 or 0 in (*video, *queries):
            raise UsageError(f"{self.name}: video and queries must be two [N, D], not {video} and {queries}")
        if len(windows) not in (2, 3) or windows[0] != queries[0] or windows[-1] != 2:
            raise UsageError(f"{self.name}: {queries[0]} queries have windows {windows}")
