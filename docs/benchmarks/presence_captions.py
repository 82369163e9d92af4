"""Whether a query is true of a video of QVHighlights, each of whose clips is given by a caption.

    python -m docs.benchmarks.presence_captions [--videos 1519]

Each video of the validation split that has a caption of every clip, written by a network, is asked one query
of its own and one of another video. Prints how well each row tells them apart (docs/benchmarks/no_target.py):

standardised  largest mean of three clips of the cosines, standardised within the video
raw           the same of the cosines as they are
evidence      that of `vidsum.grounding.presence`, the background captions shown by themselves

The background is that which ships; the cosine of a caption takes the place of the log-likelihood of a clip.
Embedding the captions takes a quarter of an hour, once.
"""

from dataclasses import replace
from itertools import islice

import numpy as np

from docs.benchmarks import argument_parser
from docs.benchmarks.no_target import ABSENT, SHOWN, Scored, table
from docs.benchmarks.qvhighlights_guide import embedded
from tests.conftest import SHARED
from vidsum import checkpoints
from vidsum.datasets.moments import read_moments
from vidsum.grounding.conse import ClassMixture
from vidsum.grounding.presence import NAME, evidence, largest_means, load_background
from vidsum.grounding.spaces import embed_queries, similarity

FOLDER = SHARED / "data" / "qvhighlights"


def main() -> None:
    """Print the table."""
    parser = argument_parser(__doc__)
    parser.add_argument("--videos", type=int, default=1519)
    options = parser.parse_args()
    annotated = read_moments(FOLDER / "highlight_val_release.jsonl").values()
    queries = [video.queries[0] for video in islice(annotated, options.videos)]
    vectors = embed_queries("conse", [query.text for query in queries])
    background = load_background(checkpoints.sha256_of(NAME))
    n_background = len(background.queries)
    rng, rows = np.random.default_rng(0), {}
    for number, query in enumerate(queries):
        video = embedded(FOLDER / "clip_captions_val.jsonl.gz", query)
        (captions,) = video.parts
        asked = vectors[[number, (number + rng.integers(1, len(queries))) % len(queries)]]
        # a clip of which one class is certain has the log-likelihood 10 cos(q, name of the class)
        certain = np.eye(n_background + len(captions), dtype=np.float32)
        names = np.concatenate([background.queries, captions])
        shown = replace(video, mixtures=(ClassMixture(certain[n_background:], names),))
        others = replace(background, clips=(certain[:n_background],))
        found = {
            "standardised": largest_means(similarity(video, asked)).tolist(),
            "raw": largest_means(asked @ captions.T).tolist(),
            "evidence": evidence(shown, asked, others).tolist(),
        }
        for row, scores in found.items():
            for kind, score in zip((SHOWN, ABSENT), scores, strict=True):
                rows.setdefault(row, []).append(Scored(kind, query.video, score))
    print(table(rows))


if __name__ == "__main__":
    main()
