"""Make the background of `vidsum.grounding.presence`: queries, clips, and the calibration.

    python -m docs.benchmarks.background TARGET.safetensors --annotations TRAIN.json [...] [--videos 600]

The queries are background_captions.txt, which we wrote for this. Each is also shown by one simulated clip
(vidsum/training/simulated.py). The calibration is a logistic regression on videos simulated from the
annotations, half of them as annotated, half joined from events of any: each is asked a query that is true of
it, and one that is true of another video. Prints the calibration, how well it fits videos that were held out,
and what weights/registry.yaml has to say of the file.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, roc_auc_score

from docs.benchmarks import argument_parser
from vidsum import checkpoints
from vidsum.datasets.moments import read_moments
from vidsum.grounding.conse import name_embeddings
from vidsum.grounding.presence import Background, evidence, packed
from vidsum.grounding.spaces import CLASSIFIERS, ClipEmbeddings
from vidsum.grounding.text import load_text_encoder
from vidsum.provenance import hash_file
from vidsum.training.captions import Captions, embed_captions
from vidsum.training.scripts import Script, Segment, annotated, ask, joined
from vidsum.training.simulated import NOISE, Classifier, Simulation, simulate_video
from vidsum.types import FloatArray, TimeArray

_CAPTIONS = Path(__file__).with_name("background_captions.txt")
_LONGEST_S = 240.0
_PER_FILE = 200
"""Videos of each file of annotations: embedding their sentences is what takes long."""
_SEED = 0


def known_classifiers() -> list[Classifier]:
    """The networks of the space `conse`."""
    return [Classifier(name_embeddings(each), NOISE[each]) for each in CLASSIFIERS]


def some_captions(annotations: Sequence[Path]) -> Captions:
    """The sentences of some videos of each file of annotations."""
    rng, videos = np.random.default_rng(_SEED), {}
    for path in annotations:
        known = {name: video for name, video in read_moments(path).items() if video.queries}
        for name in rng.permutation(sorted(known))[:_PER_FILE].tolist():
            videos[f"{path.stem}/{name}"] = replace(known[name], name=f"{path.stem}/{name}")
    return embed_captions(videos, load_text_encoder("minilm").encode, checkpoints.sha256_of("minilm"))


def shown(captions: FloatArray, classifiers: list[Classifier]) -> tuple[FloatArray, ...]:
    """[U, K] each caption [U, D] as one clip, by each network."""
    n = len(captions)
    texts = Captions(
        (), np.empty(0, np.int64), ("",) * n, captions, {}, np.concatenate([captions] * 2), (), {}
    )
    rng = np.random.default_rng(_SEED)
    rows = []
    for row in range(n):
        one = Script("background", 1.0, (Segment(row, 0.0, 1.0),))
        video = simulate_video(one, Simulation(texts, classifiers, 1, 1.0), rng)
        rows.append([mixture.probabilities for mixture in video.mixtures])
    return tuple(np.concatenate(part) for part in zip(*rows, strict=True))


def asked(how: Simulation, n_videos: int) -> Iterator[tuple[ClipEmbeddings, list[int]]]:
    """Videos, each with the numbers of two queries: one that is true of it, and one of another video."""
    captions, rng = how.captions, np.random.default_rng(_SEED + 1)
    for number in range(n_videos):
        script = joined(captions, _LONGEST_S, rng) if number % 2 else annotated(captions, rng)
        own = sorted({segment.sentence for segment in script.true})
        other = int(rng.choice(np.setdiff1d(np.arange(captions.n_sentences), own)))
        sentences = (int(rng.choice(own)), other)
        queries = [ask(script, captions, each, rng).query for each in sentences]
        yield simulate_video(script, how, rng), queries


def judged(how: Simulation, background: Background, n_videos: int) -> Iterator[tuple[float, float, bool]]:
    """Evidence, logarithm of the number of clips, and whether it is true, of two queries per video."""
    for video, queries in asked(how, n_videos):
        scores = evidence(video, how.captions.queries[queries], background)
        for score, is_true in zip(scores, (True, False), strict=True):
            yield float(score), float(np.log(len(video))), is_true


def fitted(rows: TimeArray) -> TimeArray:
    """[3] calibration, from rows [N, 3] of `judged`; every other pair is held out to judge the fit."""
    is_held_out = np.arange(len(rows)) // 2 % 2 == 1
    inputs, is_true = rows[:, :2], rows[:, 2]
    model = LogisticRegression(C=1e6).fit(inputs[~is_held_out], is_true[~is_held_out])
    probability = model.predict_proba(inputs[is_held_out])[:, 1]
    auc, brier = (score(is_true[is_held_out], probability) for score in (roc_auc_score, brier_score_loss))
    print(f"{is_held_out.sum()} held-out queries of simulated videos: AUC {auc:.3f}, Brier {brier:.3f}")
    return np.array([*model.coef_[0], *model.intercept_])


def main() -> None:
    """Write the file."""
    parser = argument_parser(__doc__)
    parser.add_argument("target", type=Path)
    parser.add_argument("--annotations", type=Path, nargs="+", required=True)
    parser.add_argument("--videos", type=int, default=600)
    options = parser.parse_args()
    classifiers = known_classifiers()
    queries = load_text_encoder("minilm").encode(_CAPTIONS.read_text().splitlines())
    background = Background(queries, shown(queries, classifiers), np.zeros(3))
    captions = some_captions(options.annotations)
    rows = np.array(list(judged(Simulation(captions, classifiers, 64, 1.0), background, options.videos)))
    background = replace(background, calibration=fitted(rows))
    print(f"calibration: {background.calibration.tolist()}")
    save_file(packed(background), options.target)
    print(f"sha256: {hash_file(options.target)}\nbytes: {options.target.stat().st_size}")


if __name__ == "__main__":
    main()
