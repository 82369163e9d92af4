"""The list of several kinds of evidence: what speech about other things does to pictures.

    python -m docs.benchmarks.kinds FOLDER

Ten joined films (docs.benchmarks.grounding makes them), under each the nine shared recordings one after the
other, with pauses of .7 and 1.2 s. R@1 and R@5 at IoU .5 of queries about the pictures, by pictures alone
and in the list of pictures and speech; how many first answers are speech, also of captions that fit no
clip; and how many of the 40 quotations are first found where they are said.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import cycle
from pathlib import Path

from docs.benchmarks import SHARED, argument_parser
from docs.benchmarks.grounding import TOP_K, scored
from docs.benchmarks.joined import KINDS, composite, embed, notes, truth_of
from vidsum.evidence.fusion import fuse
from vidsum.evidence.protocol import encode_queries
from vidsum.features.settings import Extraction
from vidsum.grounding.settings import Retrieval
from vidsum.grounding.spaces import ClipEmbeddings, embed_queries
from vidsum.pipelines.evidence_kinds import Search, search_kind
from vidsum.pipelines.ground import MomentSearch
from vidsum.pipelines.queries import parse_queries
from vidsum.pipelines.transcribe import transcribe
from vidsum.results.clock import shift_times
from vidsum.results.load import read_document
from vidsum.results.moments import QueryMoments
from vidsum.results.transcript import Segment, Transcript
from vidsum.types import Interval

_QUOTATIONS = Path(__file__).with_name("quotations.json")


def stored_transcript(recording: Path) -> Transcript | None:
    """Return the transcript stored next to a recording; None without one."""
    path = recording.with_name(f"{recording.stem}_transcript.json")
    return Transcript.from_dict(read_document(path)) if path.exists() else None


def read_aloud(folder: Path, duration_s: float, first: int) -> tuple[Transcript, dict[str, Interval]]:
    """Recordings one after the other, from the one numbered `first` on, and where each is read."""
    files = sorted(folder.glob("*.flac"))
    files = files[first:] + files[:first]
    segments, spans, at_s = list[Segment](), dict[str, Interval](), 0.0
    for file, pause_s in zip(files, cycle((0.7, 1.2)), strict=False):
        made = stored_transcript(file) or transcribe(file)
        if at_s + made.duration_s > duration_s:
            break
        for segment in made.segments:
            words = tuple(shift_times(word, at_s) for word in segment.words)
            segments.append(replace(shift_times(segment, at_s), words=words))
        spans[file.name] = (at_s, at_s + made.duration_s)
        at_s += made.duration_s + pause_s
    return Transcript(tuple(segments), "en", 1.0, duration_s), spans


def listed(
    video: ClipEmbeddings, transcript: Transcript, texts: Sequence[str]
) -> tuple[list[QueryMoments], list[QueryMoments]]:
    """The answers by pictures alone, and by pictures and speech."""
    retrieval = Retrieval(top_k=TOP_K)
    search = MomentSearch(parse_queries(texts), retrieval, Extraction(), "similarity", "vse")
    seen = search.answers(video, embed_queries("vse", texts))
    said = search_kind("speech", transcript, Search(encode_queries(texts), video.timestamps, retrieval))
    return seen, [fuse(*pair, TOP_K) for pair in zip(seen, ([answer] for answer in said), strict=True)]


def main() -> None:
    """Print the table."""
    parser = argument_parser(__doc__, "folder", small="films --seeds 0 --speech speech")
    parser.add_argument("--speech", type=Path, default=SHARED / "speech", help="folder of recordings")
    parser.add_argument("--seeds", type=int, nargs="+", default=range(10))
    options = parser.parse_args()
    absent, quotations = [*notes()["near"].values()], json.loads(_QUOTATIONS.read_text())["quotations"]
    rows: dict[str, list[list[float]]] = {}
    n_words, n_absent, right = 0, 0, list[bool]()
    for seed in options.seeds:
        film, truth = composite(options.folder, "all", 120, seed)
        video = embed(film, "vse", "auto")
        transcript, spans = read_aloud(options.speech, truth.duration_s, seed % 9)
        for kind in KINDS:
            of_kind = truth_of(film, kind)
            answers = listed(video, transcript, [query.text for query in of_kind.queries])
            for name, answered in zip(("pictures", "both"), answers, strict=True):
                moments = {of_kind.name: [list(answer.moments) for answer in answered]}
                rows.setdefault(f"{kind}, {name}", []).extend(
                    scored({of_kind.name: of_kind}, moments).tolist()
                )
            n_words += sum(answer.moments[0].evidence != "picture" for answer in answers[1])
        _, answered = listed(video, transcript, absent)
        n_absent += sum(answer.moments[0].evidence != "picture" for answer in answered)
        said = [(text, spans[file]) for text, file in quotations if file in spans]
        _, answered = listed(video, transcript, [text for text, _ in said])
        for answer, (_, (start_s, end_s)) in zip(answered, said, strict=True):
            first = answer.moments[0]
            overlaps = first.start_s < end_s and first.end_s > start_s  # a sentence may go on in the next
            right.append(first.evidence == "speech" and overlaps)
    print("| queries, list | R@1 IoU .5 | R@5 IoU .5 |\n|---|---|---|")
    for name, of_row in rows.items():
        n_queries = len(of_row)
        first, any_ = (100 * sum(row[column] for row in of_row) / n_queries for column in (0, 2))
        print(f"| {name}, {n_queries} | {first:.1f} | {any_:.1f} |")
    print(
        f"first answers that are speech: {n_words}; of {len(absent) * len(options.seeds)} absent: {n_absent}"
    )
    print(f"quotations first found where they are said: {sum(right)} of {len(right)}")


if __name__ == "__main__":
    main()
