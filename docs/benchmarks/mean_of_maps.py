"""One visual-semantic map of maps from several runs, which may differ in pictures and standardisation.

    python -m docs.benchmarks.mean_of_maps OUT CAPTIONS PICTURES --map FILE NUMBER --map FILE NUMBER ...

NUMBER counts, from 0, the maps that a run of `vidsum train vse` put side by side in FILE. What the map would
show of a caption, and the cohort, are measured anew on the validation pictures of CAPTIONS.
"""

from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from docs.benchmarks import argument_parser
from vidsum.checkpoints.trained import Trained, read_trained, save_trained
from vidsum.grounding.vse import EXTRACTOR
from vidsum.io.provenance import hash_file
from vidsum.lab.evaluation.vse import embed_sentences, sentences_of
from vidsum.lab.training.summary_settings import VSEData
from vidsum.lab.training.vse import read_splits
from vidsum.lab.training.vse_measured import FOLDS, cohort_classes, measure_map
from vidsum.models.configs import VSEConfig
from vidsum.models.vse import CLASSES, VisualSemanticMap, pack, unpack
from vidsum.types import FloatArray


def one_of(trained: Trained, number: int) -> dict[str, FloatArray]:
    """A map of those side by side, with its part of their bias."""
    whole = unpack({name: np.asarray(tensor) for name, tensor in trained.tensors.items()})
    n_maps = int(str(trained.training["maps"]))
    width = len(whole["hidden.bias"]) // n_maps
    units = slice(number * width, (number + 1) * width)
    return {
        "mean": whole["mean"],
        "scale": whole["scale"],
        "hidden.weight": whole["hidden.weight"][units],
        "hidden.bias": whole["hidden.bias"][units],
        "output.weight": whole["output.weight"][:, units],
        "output.bias": whole["output.bias"] / n_maps,
    }


def standardised_as(layers: dict[str, FloatArray], common: dict[str, FloatArray]) -> dict[str, FloatArray]:
    """Convert a map for features that another map's mean and scale standardise."""
    shift = layers["hidden.weight"] @ ((common["mean"] - layers["mean"]) / layers["scale"])
    weight = layers["hidden.weight"] * (common["scale"] / layers["scale"])
    return {**layers, "hidden.weight": weight, "hidden.bias": layers["hidden.bias"] + shift}


def main() -> None:
    """Write the map."""
    parser = argument_parser(__doc__, "out", "captions", "pictures")
    parser.add_argument("--map", nargs=2, action="append", required=True, metavar=("FILE", "NUMBER"))
    options = parser.parse_args()
    runs = [(read_trained(Path(file)), int(number), hash_file(Path(file))) for file, number in options.map]
    single_maps = [one_of(trained, number) for trained, number, _ in runs]
    maps = [standardised_as(single, single_maps[-1]) for single in single_maps]
    layers = {"mean": single_maps[-1]["mean"], "scale": single_maps[-1]["scale"]}
    layers["hidden.weight"] = np.concatenate([layers_of_map["hidden.weight"] for layers_of_map in maps])
    layers["hidden.bias"] = np.concatenate([layers_of_map["hidden.bias"] for layers_of_map in maps])
    layers["output.weight"] = np.concatenate(
        [layers_of_map["output.weight"] for layers_of_map in maps], axis=1
    )
    layers["output.bias"] = np.sum([layers_of_map["output.bias"] for layers_of_map in maps], axis=0)
    config = VSEConfig(**{**runs[-1][0].config, "hidden": len(layers["hidden.bias"])})
    tensors = pack(layers)

    data = VSEData(captions=options.captions, pictures=options.pictures)
    [(pictures, features)], _ = read_splits(data, 1, {"val": FOLDS}, "auto", None)
    sentences = sentences_of(pictures)
    embedded = VisualSemanticMap(config, unpack(tensors))(features[0])
    vectors = embed_sentences(sentences.texts, "auto", None)
    tensors |= pack(measure_map(embedded, vectors, sentences.picture_of))
    tensors[CLASSES] = cohort_classes(features[0], EXTRACTOR, "auto")
    made_of = [{"sha256": sha256, "map": number, "training": run.training} for run, number, sha256 in runs]
    trained = replace(runs[-1][0], config=asdict(config), training={"mean_of": made_of}, tensors=tensors)
    save_trained(options.out, trained)
    print(f"sha256: {hash_file(options.out)}\nbytes: {options.out.stat().st_size}")


if __name__ == "__main__":
    main()
