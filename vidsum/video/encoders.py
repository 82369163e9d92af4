"""How clips are encoded: H.264 by libx264, in the same bytes on every machine."""

from vidsum.video.settings import DEFAULT_CRF

ENCODER = "libx264"


def encoder_options(crf: int = DEFAULT_CRF) -> dict[str, str]:
    """Return libx264's options for a quality.

    Macroblock trees make files some 10 % smaller, but different in each run and on each kind of processor.
    """
    fixed = {"profile": "high", "forced-idr": "1", "x264-params": "mbtree=0"}
    return {"preset": "veryfast", "crf": str(crf), **fixed}
