"""How often the map `vse` ranks the picture that a sentence is about first, among held-out pictures.

    python -m docs.benchmarks.retrieval FOLDER

FOLDER has pictures and sentences as `vidsum.weights.recipes.vse_pictures` collects them: of Flickr8k every
eighth photograph, of COCO what `vse_data` leaves for testing, and a frame of each test video of MSR-VTT; sets
whose files are not there are left out. Text to image, per cent; in brackets 95 % of a bootstrap over
pictures. A random order has the picture first once in as many sentences as there are pictures.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from docs.benchmarks import argument_parser
from docs.benchmarks.tables import bootstrap, print_table, with_interval
from docs.benchmarks.words import tested_frames
from vidsum.grounding.text_encoders import load_text_encoder
from vidsum.grounding.vse_map import load_map
from vidsum.types import FloatArray, TimeArray
from vidsum.weights.recipes.vse_data import read_pictures
from vidsum.weights.recipes.vse_views import encode_views

TOPS = (1, 5, 10)


def tested_sets(folder: Path) -> dict[str, Mapping[Path, Sequence[str]]]:
    """Return the pictures of each set, and the sentences about each."""
    readers: dict[str, Callable[[], Mapping[Path, Sequence[str]]]] = {
        "flickr8k": lambda: held_out(folder, "flickr8k"),
        "coco": lambda: held_out(folder, "coco"),
        "msrvtt": lambda: tested_frames(folder),
    }
    return {name: read() for name, read in readers.items() if (folder / "pictures" / name).is_dir()}


def held_out(folder: Path, name: str) -> dict[Path, Sequence[str]]:
    """Return the pictures of a set that are for testing, and their sentences."""
    pictures = read_pictures(folder, (name,))
    return {picture.path: picture.sentences for picture in pictures if picture.split == "test"}


def ranks(pictures: FloatArray, texts: FloatArray, answers: Sequence[int]) -> TimeArray:
    """Return [M] the rank, from 1, of the right picture of each text [M, E] among pictures [N, E].

    `answers` [M] are the numbers of the right pictures.
    """
    cosines = texts @ pictures.T
    right = cosines[np.arange(len(answers)), answers]
    return np.asarray((cosines >= right[:, None]).sum(axis=1), np.float64)


def cells(name: str, sentences: Mapping[Path, Sequence[str]]) -> list[str]:
    """Return a row of the table."""
    pictures = load_map()(encode_views([*sentences], 1)[0])
    texts = load_text_encoder("minilm").encode([text for said in sentences.values() for text in said])
    counts = np.array([*map(len, sentences.values())])
    places = ranks(pictures, texts, np.repeat(np.arange(len(counts)), counts).tolist())
    row = [name, f"{len(counts)}", f"{len(texts)}"]
    for top in TOPS:
        hits = np.add.reduceat(places <= top, np.cumsum(counts) - counts).astype(float)
        interval = bootstrap(np.column_stack([hits, counts]), share)
        row.append(with_interval(100 * hits.sum() / counts.sum(), interval, 1))
    return [*row, f"{np.median(places):.0f}", f"{100 / len(counts):.1f}"]


def share(drawn: TimeArray) -> TimeArray:
    """Return [D] the per cent of right sentences of drawn pictures [D, N, 2]: right ones, and all."""
    right, said = np.moveaxis(drawn.sum(axis=1), -1, 0)
    return np.asarray(100 * right / said)


def main() -> None:
    """Print the table."""
    folder = argument_parser(__doc__, "folder", small="pictures").parse_args().folder
    heads = ["set", "pictures", "sentences", *(f"R@{top}" for top in TOPS), "median rank", "random R@1"]
    print_table(heads, (cells(name, said) for name, said in tested_sets(folder).items()))


if __name__ == "__main__":
    main()
