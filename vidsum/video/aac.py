"""AAC as clips have it: its rates, its bit rate, and what coding does to a sound."""

from collections.abc import Iterable, Iterator
from fractions import Fraction

import av
import numpy as np

from vidsum.types import FloatArray

AAC_RATES = (8_000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000)
"""Sample rates that AAC has and browsers play; any other rate becomes the last."""
BITS_PER_CHANNEL = 80_000


def code_and_decode(blocks: Iterable[FloatArray], rate: int, layout: str) -> Iterator[FloatArray]:
    """Yield the sound of blocks [channels, samples] as it is after coding; it begins a little later."""
    encoder = av.AudioCodecContext.create("aac", "w")
    encoder.sample_rate, encoder.layout, encoder.format = rate, layout, "fltp"
    encoder.bit_rate = BITS_PER_CHANNEL * av.AudioLayout(layout).nb_channels
    encoder.time_base = Fraction(1, rate)
    encoder.open()
    decoder = av.AudioCodecContext.create("aac", "r")
    decoder.extradata = encoder.extradata
    n_samples = 0

    def decoded(packets: "Iterable[av.Packet[av.AudioStream] | None]") -> Iterator[FloatArray]:
        for packet in packets:
            for made in decoder.decode(packet):
                yield np.asarray(made.to_ndarray(), np.float32)

    for block in blocks:
        frame = av.AudioFrame.from_ndarray(np.ascontiguousarray(block), format="fltp", layout=layout)
        frame.sample_rate, frame.time_base, frame.pts = rate, Fraction(1, rate), n_samples
        n_samples += block.shape[1]
        yield from decoded(encoder.encode(frame))
    if n_samples:
        yield from decoded([*encoder.encode(None), None])
