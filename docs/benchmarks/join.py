"""How much what the network names counts beside the map: the rule JOIN of `vidsum.grounding.spaces`.

    python -m docs.benchmarks.join CAPTIONS PICTURES [--first 8091]

Maps are trained on half of the topics of photographs with sentences, and asked about the other half, in films
of 24 photographs, of which four are asked for by a sentence and two phrases. The weight of the objects' curve
beside the map's, slope * nearness + offset, is learned by a conditional logit; nearness is the query's cosine
with the nearest class name. Prints the rule, and how often the right photograph comes first, per cent.
"""

import numpy as np
import torch
from scipy.optimize import minimize
from scipy.special import logsumexp
from sklearn.cluster import KMeans

from docs.benchmarks import argument_parser
from vidsum.features import describe, kept_extractor
from vidsum.features.pictures import features_of_views
from vidsum.grounding.conse import ClassMixture, class_probabilities, name_embeddings
from vidsum.grounding.spaces import ClipEmbeddings, curves_of
from vidsum.grounding.vse import EXTRACTOR
from vidsum.lab.datasets.captioned_pictures import read_captioned_pictures
from vidsum.lab.evaluation.vse import Ranks, embed_sentences, sentences_of
from vidsum.lab.training.captions import shortened
from vidsum.lab.training.settings import LoopSettings
from vidsum.lab.training.summary_settings import VSESettings
from vidsum.lab.training.vse import TrainedMap, batches, contrastive_loss, lr_share, standard_of, standardise
from vidsum.models.configs import VSEConfig
from vidsum.scaling import unit_rows
from vidsum.types import FloatArray, TimeArray

VIEWS, EPOCHS, TOPICS, HALVINGS, FILMS, PICTURES, ASKED = (0, 2, 3), 15, 8, 2, 200, 24, 4
HOW = VSESettings(
    model=VSEConfig(hidden=768, dim_in=3584), loop=LoopSettings(epochs=EPOCHS), views=len(VIEWS)
)


def rows_of(features: FloatArray, vectors: FloatArray, picture_of: Ranks, own: Ranks) -> FloatArray:
    """[N, E] of all pictures, by a map that is trained on the pictures `own`; features are [V, N, D]."""
    shown = torch.from_numpy(standardise(features.copy(), standard_of(features[:, own])))
    sentences = np.flatnonzero(np.isin(picture_of, own))
    torch.manual_seed(HOW.loop.seed)
    model = TrainedMap(HOW.model, HOW.input_dropout, HOW.dropout)
    optimizer = torch.optim.AdamW(model.parameters(), weight_decay=HOW.weight_decay)
    for epoch in range(EPOCHS):
        steps = batches(np.searchsorted(own, picture_of[sentences]), HOW, epoch).values()
        for place, batch in enumerate(steps):
            optimizer.param_groups[0]["lr"] = HOW.lr * lr_share((epoch + place / len(steps)) / EPOCHS)
            pictures = model(shown[batch.view, own[batch.picture]])
            answers = torch.from_numpy(vectors[batch.form, sentences[batch.sentence]])
            optimizer.zero_grad()
            contrastive_loss(pictures, answers, HOW.temperature).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
    return np.array(model.eval()(shown[0]).detach().numpy(), np.float32)


def main() -> None:
    """Print the rule and the table."""
    parser = argument_parser(__doc__, "captions", "pictures")
    parser.add_argument("--first", type=int, help="use the first so many pictures alone")
    options = parser.parse_args()
    pictures = read_captioned_pictures(options.captions, options.pictures)[0][: options.first]
    (texts, picture_of), rng = sentences_of(pictures), np.random.default_rng(0)
    forms = [texts, shortened(texts, rng), shortened(texts, rng)]
    vectors = np.stack([embed_sentences(form, "cpu", None) for form in forms])
    features = features_of_views([picture.still for picture in pictures], EXTRACTOR, VIEWS, device="cpu")
    names = name_embeddings(EXTRACTOR, "cpu")
    objects = class_probabilities(kept_extractor(describe(EXTRACTOR), device="cpu").logits(features[0]))
    means = np.stack([vectors[0][picture_of == number].mean(axis=0) for number in range(len(pictures))])
    topic = KMeans(TOPICS, n_init=3, random_state=0).fit_predict(unit_rows(means))
    is_test = np.array([picture.split == "test" for picture in pictures])
    curves, nearness, n_words = [], [], []
    for topics in (np.random.default_rng(seed).permutation(TOPICS) for seed in range(HALVINGS)):
        for half in np.split(topics, 2):
            is_in = np.isin(topic, half)
            rows = rows_of(features, vectors, picture_of, np.flatnonzero(is_in & ~is_test))
            for _ in range(FILMS):
                film = rng.choice(np.flatnonzero(~is_in), PICTURES, replace=False)
                asked = [rng.choice(np.flatnonzero(picture_of == number)) for number in film[:ASKED]]
                named = (ClassMixture(objects[film], names),)
                video = ClipEmbeddings(rows[film], np.arange(1.0 * PICTURES), 1, PICTURES, named)
                for form, queries in zip(forms, vectors[:, asked], strict=True):
                    curves.append(curves_of(video, queries))
                    nearness.append((queries @ names.T).max(axis=1))
                    n_words.append([0 if form is texts else len(form[number].split()) for number in asked])
    near, words, found = map(np.concatenate, (nearness, n_words, curves))
    by_map, by_class, _ = found.swapaxes(0, 1)
    own = np.arange(len(near)) % ASKED

    def loss(weights: TimeArray) -> float:
        scores = weights[0] * by_map + (weights[1] * near + weights[2])[:, None] * by_class
        return float((logsumexp(scores, axis=1) - scores[np.arange(len(own)), own]).mean())

    fitted = minimize(loss, [1, 0, 0]).x
    slope, offset = fitted[1:] / fitted[0]
    print(f"weight = {slope:.2f} * nearness {offset:+.2f}\n")
    parts = {"sentences": words == 0, "phrases": words > 0, "one word": words == 1, "near .75": near > 0.75}
    print(f"| | {' | '.join(f'{name}, {of.sum():,}' for name, of in parts.items())} |\n|---|" + "---|" * 4)
    weight = np.maximum(0, slope * near + offset)[:, None]
    for row, scores in ("map", by_map), ("objects", by_class), ("rule", by_map + weight * by_class):
        is_first = 100 * (scores.argmax(axis=1) == own)
        print(f"| {row} | {' | '.join(f'{is_first[of].mean():.1f}' for of in parts.values())} |")


if __name__ == "__main__":
    main()
