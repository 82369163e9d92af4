"""How often the clip that a caption is of comes first, by captions in English and in six other languages.

    python -m docs.benchmarks.languages

24 of the 40 shared clips have captions in other languages (tests/grounding/captions_in_languages.json),
written before any run. R@1 among all clips, by the cosine with the mean of a clip's rows in `vse`: with
MiniLM for all texts, and as vidsum reads them. In brackets: 95 % of a bootstrap over clips.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from docs.benchmarks import argument_parser
from docs.benchmarks.joined import embed, known_clips
from docs.benchmarks.tables import bootstrap, print_table, with_interval
from vidsum.grounding.spaces import embed_queries
from vidsum.grounding.text_encoders import load_text_encoder
from vidsum.models.scaling import unit_rows
from vidsum.types import FloatArray, TimeArray

_CAPTIONS = Path(__file__).parents[2] / "tests" / "grounding" / "captions_in_languages.json"


def hits(texts: FloatArray, clips: FloatArray, wanted: list[int]) -> TimeArray:
    """[M] 100 where the wanted clip of a text [M, D] is first among clips [N, D], else 0."""
    return np.asarray(100.0 * ((texts @ clips.T).argmax(axis=1) == wanted))


def rows() -> Iterator[list[str]]:
    """The rows of the table: R@1 by language, and its mean over languages with its interval."""
    clips = known_clips()
    names = [Path(clip["file"]).name for clip in clips]
    pictures = unit_rows(
        np.stack([embed(Path(clip["file"]), "vse", "auto").rows.mean(axis=0) for clip in clips])
    )
    captions = {name: row for name, row in json.loads(_CAPTIONS.read_text()).items() if name in names}
    wanted = [names.index(name) for name in captions]
    languages = list(next(iter(captions.values())))
    encoders = {
        "MiniLM": load_text_encoder("minilm").encode,
        "E5 and the matrix": lambda texts: embed_queries("vse", texts),
    }
    english = [clip["query"] for name in captions for clip in clips if Path(clip["file"]).name == name]
    for method, encode in encoders.items():
        found = [
            hits(encode([row[name] for row in captions.values()]), pictures, wanted) for name in languages
        ]
        means = np.mean(found, axis=0)
        of_all = with_interval(float(means.mean()), bootstrap(means), 1)
        in_english = f"{hits(encode(english), pictures, wanted).mean():.1f}"
        yield [method, *(f"{of_language.mean():.1f}" for of_language in found), of_all, in_english]


def main() -> None:
    """Print the table."""
    argument_parser(__doc__, small="").parse_args()
    languages = list(next(iter(json.loads(_CAPTIONS.read_text()).values())))
    print_table(["", *languages, "mean", "English"], rows())


if __name__ == "__main__":
    main()
