"""Make annotated videos out of real clips: to show that FullTransNet learns, and to train the one that ships.

    python -m docs.benchmarks.synthetic CLIP... --out FOLDER [--seed 1] [--videos 50]
                                         [--teacher SCORER] [--dull]

CLIP is a video or a folder of videos. Writes FOLDER/synthetic.h5 (see tests.synthetic) and
FOLDER/splits.json, five folds that share no feature, and FOLDER/oracle.json: the truth, as a row for
`vidsum evaluate summary --scores`. With a teacher, the one annotator is a training-free scorer, and there is
one split and no truth. With --dull there is a dull version of each clip as well (see degraded.py).
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

import vidsum
from docs.benchmarks import argument_parser
from docs.benchmarks.degraded import DEGRADATIONS, features_of, pictures_of, videos_in
from tests.synthetic import Recipe, SyntheticVideo, synthetic_videos
from vidsum.datasets.summaries import AnnotatedVideo, write_annotated
from vidsum.evaluation.key_shots import at_every_frame, key_shots
from vidsum.features import describe, load_extractor
from vidsum.summary.importance import SCORERS
from vidsum.types import Features

CLIP_FPS = 8.0
"""Dense, so that the parts of a clip of 10 s still hold some samples."""


def read_clips(sources: Sequence[Path]) -> dict[str, Features]:
    """Features of videos, and of the videos in folders, by name."""
    return {video.stem: vidsum.extract(video, fps=CLIP_FPS) for video in videos_in(sources)}


def dull_clips(sources: Sequence[Path], seed: int) -> dict[str, Features]:
    """Features of a dull version of each video."""
    rng, extractor = np.random.default_rng(seed), load_extractor(describe("mobilenet_v2", fps=CLIP_FPS))
    made = {}
    for video in videos_in(sources):
        degrade = DEGRADATIONS[rng.integers(len(DEGRADATIONS))]
        rows = features_of(degrade(pictures_of(video, extractor), rng), extractor)
        name = f"{video.stem} {degrade.__name__}"
        made[name] = Features.from_array(rows, CLIP_FPS, extractor=extractor.spec.name)
    return made


def folds(made: Sequence[SyntheticVideo]) -> list[dict[str, list[str]]]:
    """Splits by the part of the clips that a video shows."""
    return [
        {
            "train_keys": [each.video.name for each in made if each.part != part],
            "test_keys": [each.video.name for each in made if each.part == part],
        }
        for part in sorted({each.part for each in made})
    ]


def taught(video: AnnotatedVideo, teacher: str) -> AnnotatedVideo:
    """The video with a scorer in place of its annotators."""
    scores = SCORERS[teacher](video.features, 0)
    frames = at_every_frame(scores, video.picks, video.n_frames)
    summary = key_shots(frames[None], video.change_points, "pgl-sum").astype(np.float32)
    return replace(video, gtscore=scores, user_summary=summary, user_scores=None)


def main() -> None:
    """Write the files."""
    parser = argument_parser(__doc__)
    parser.add_argument("clips", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--videos", type=int, default=Recipe.n_videos)
    parser.add_argument("--teacher", choices=SCORERS)
    parser.add_argument("--dull", action="store_true")
    options = parser.parse_args()
    clips = read_clips(options.clips)
    if options.dull:
        clips |= dull_clips(options.clips, options.seed)
    made = synthetic_videos(clips, Recipe(n_videos=options.videos), options.seed)
    videos = {each.video.name: each.video for each in made}
    splits = folds(made)
    options.out.mkdir(parents=True, exist_ok=True)
    if options.teacher:
        videos = {name: taught(video, options.teacher) for name, video in videos.items()}
        splits = splits[-1:]
    else:
        oracle = {each.video.name: each.truth.tolist() for each in made}
        (options.out / "oracle.json").write_text(json.dumps(oracle))
    write_annotated(videos, options.out / "synthetic.h5")
    (options.out / "splits.json").write_text(json.dumps(splits, indent=1))
    lengths = [len(video.picks) for video in videos.values()]
    print(f"{options.out}: {len(videos)} videos of {min(lengths)} to {max(lengths)} samples")


if __name__ == "__main__":
    main()
