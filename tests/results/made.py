"""Results of a video, made by hand, whose names and texts try to be more than text."""

from fractions import Fraction
from pathlib import Path

import av
import numpy as np

from vidsum.results.cut_list import Cutting
from vidsum.results.descriptions import Description, Descriptions
from vidsum.results.media import Media
from vidsum.results.moments import Grounding, Highlights, Moment, QueryMoments
from vidsum.results.shots import Shots
from vidsum.results.summary import ScoredShot, Summary
from vidsum.results.transcript import Segment, Transcript
from vidsum.video.probe import probe

EVIL = "<script>window.hacked = 1</script> snow"
QUOTED = '"><img src=x onerror="window.hacked = 1">'
MADE_FROM = {"vidsum": "0", "summary": {"model": "'><b>x", "keep": [[0.0, 1.0]], "seed": None}}

_NO_CURVE = np.zeros(0, np.float32)
_QUERIES = (
    QueryMoments("a\nbird & <b>", (Moment(8.0, 9.5, 1.25),), _NO_CURVE, 0.7),
    QueryMoments("fog", (), _NO_CURVE),
    QueryMoments("snow", (Moment(2.0, 9.0, 0.5, "speech"),), _NO_CURVE),
)
MOMENTS = Grounding(_QUERIES, np.zeros(0), 2.0, 10.0, "similarity", "vse", evidence=("picture", "speech"))
"""Two queries with a moment each, of a picture and of speech, and a query without any."""


def results(film: Path, *, with_saliency: bool = False) -> list[tuple[str, Cutting]]:
    """A summary, moments, highlights and shots of a film of ten seconds."""
    about = {"video": probe(film), "provenance": MADE_FROM, "warnings": (EVIL,)}
    times = np.arange(0, 10, 0.5)
    scores = np.where((times >= 4) & (times < 5), 0.8, 0.4).astype(np.float32)
    scores[17] = 0.6
    shots = [ScoredShot(start, start + 2.0, 0.5, start == 4.0) for start in (0.0, 2.0, 4.0, 6.0, 8.0)]
    segments = ((4.0, 6.0), (8.0, 9.0))
    lengths = {"budget_s": 3.0, "video_duration_s": 10.0, "video_fps": 25.0}
    methods = {"model": "ridge", "shot_method": "kts"}
    summary = Summary(segments, tuple(shots), scores, times, **lengths, **methods, **about)
    moments = (Moment(6.0, 7.5, 2.0, "speech"), Moment(1.0, 2.0, 1.0))
    queries = (
        QueryMoments("a bird", moments, scores, 0.9, said=scores[::-1]),
        QueryMoments(EVIL, (Moment(3.0, 4.0, 1.5),), scores, None),
        QueryMoments(QUOTED, (), scores, 0.01),
    )
    grounding = Grounding(
        queries, times, 0.5, 10.0, "similarity", "vse", evidence=("picture", "speech"), **about
    )
    if not with_saliency:
        grounding = Grounding.from_dict(grounding.to_dict(with_saliency=False))
    highlights = Highlights(scores, times, 0.5, (Moment(4.0, 5.0, 0.5),), 10.0, "ridge", **about)
    cut = Shots(np.array([0.0, 3.0, 10.0]), "kts", video_fps=25.0, **about)
    return [(f"out/film_{result.kind}.json", result) for result in (summary, grounding, highlights, cut)]


def of_features() -> tuple[str, Shots]:
    """Return these shots, computed from features only."""
    return "features_shots.json", Shots(np.array([0.0, 3.0, 10.0]), "kts", provenance=MADE_FROM)


def texts(film: Path) -> tuple[Transcript, Descriptions]:
    """Return its speech and pictures, described by hand."""
    speech = {"model": "m", "weights_sha256": "0" * 64, "language": None, "translate": False}
    speech |= {"beams": 1, "precision": "int8"}
    source = {"sha256": "0" * 64, "bytes": film.stat().st_size}
    video, by = probe(film), {"vidsum": "0", "video": source, "speech": speech}
    said = tuple(
        Segment(start, start + 1.5, text, 0.9, 0.1) for start, text in ((1.0, "<b> hello"), (6.0, EVIL))
    )
    seen = (Description(0.0, 4.0, "a bird", 0.9), Description(4.0, 10.0, QUOTED, 0.8))
    transcript = Transcript(said, "en", 0.9, 10.0, video=video, provenance=by)
    facts = {"writer": "words", "every_s": None, "min_sure": 0.3, "candidates": ["highlights"]}
    digests = dict.fromkeys(("map_sha256", "text_weights_sha256", "sentences_sha256"), "0" * 64)
    features = {"extractor": "x", "weights_sha256": "0" * 64, "parameters": {}, "shots": {}}
    by = {"vidsum": "0", "video": source, **features, "descriptions": {**facts, **digests}}
    return transcript, Descriptions(seen, "words", 10.0, 1, ((0.0, 1.75),), video=video, provenance=by)


def media(
    rate: Fraction | int,
    *,
    n_frames: int = 300_000,
    is_conformed: bool = False,
    time_code: str | None = None,
    n_channels: int = 2,
    path: Path = Path("/films/film.mp4"),
) -> Media:
    rate = Fraction(rate)
    size, sound = (640, 360), (n_channels, 48_000)
    return Media(path, rate, is_conformed, float(rate), n_frames, *size, *sound, time_code)


def save_with_time_code(path: Path, rate: Fraction, code: str) -> None:
    """A grey .mov of ten frames with a time code, as cameras write it."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=rate)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        stream.metadata["timecode"] = code
        for _ in range(10):
            container.mux(stream.encode(av.VideoFrame.from_ndarray(np.full((48, 64, 3), 99, np.uint8))))
        container.mux(stream.encode(None))
