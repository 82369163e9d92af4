"""Make annotated videos out of real clips: to show that FullTransNet learns.

    python -m docs.benchmarks.synthetic CLIP... --out FOLDER [--seed 1] [--videos 50]

CLIP is a video or a folder of videos. Writes FOLDER/synthetic.h5 (see tests.synthetic) and
FOLDER/splits.json, five folds that share no feature, and FOLDER/oracle.json: the truth, as a row for
`vidsum evaluate summary --scores`.
"""

import json
from collections.abc import Sequence
from pathlib import Path

import vidsum
from docs.benchmarks import argument_parser
from docs.benchmarks.degraded import videos_in
from tests.synthetic import Recipe, SyntheticVideo, synthetic_videos, write_annotated
from vidsum.results.features import Features

CLIP_FPS = 8.0
"""Dense, so that the parts of a clip of 10 s still hold some samples."""


def read_clips(sources: Sequence[Path]) -> dict[str, Features]:
    """Features of videos, and of the videos in folders, by name."""
    return {video.stem: vidsum.extract(video, fps=CLIP_FPS) for video in videos_in(sources)}


def folds(made: Sequence[SyntheticVideo]) -> list[dict[str, list[str]]]:
    """Splits by the part of the clips that a video shows."""
    return [
        {
            "train_keys": [each.video.name for each in made if each.part != part],
            "test_keys": [each.video.name for each in made if each.part == part],
        }
        for part in sorted({each.part for each in made})
    ]


def main() -> None:
    """Write the files."""
    parser = argument_parser(__doc__)
    parser.add_argument("clips", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--videos", type=int, default=Recipe.n_videos)
    options = parser.parse_args()
    clips = read_clips(options.clips)
    made = synthetic_videos(clips, Recipe(n_videos=options.videos), options.seed)
    videos = {each.video.name: each.video for each in made}
    options.out.mkdir(parents=True, exist_ok=True)
    oracle = {each.video.name: each.truth.tolist() for each in made}
    (options.out / "oracle.json").write_text(json.dumps(oracle))
    write_annotated(videos, options.out / "synthetic.h5")
    (options.out / "splits.json").write_text(json.dumps(folds(made), indent=1))
    lengths = [len(video.picks) for video in videos.values()]
    print(f"{options.out}: {len(videos)} videos of {min(lengths)} to {max(lengths)} samples")


if __name__ == "__main__":
    main()
