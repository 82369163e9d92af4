"""Mix channels down without losing what cancels out in the mix, as channels of opposite phase do (R = -L).

For every half second, the mix or the loudest channel is chosen, with a cross-fade where the choice changes.
"""

from collections.abc import Generator, Iterable, Iterator, Sequence

import numpy as np

from vidsum.types import FloatArray
from vidsum.video.damage import DecodeLog

_CHUNK_S, _FADE_S = 0.5, 0.01
_LOST, _BACK = 10 ** (20 / 10), 10 ** (14 / 10)  # power of the loudest channel over the mix's to use it
_CLEARLY_LOUDER = 10 ** (6 / 10)
_SILENT = 1e-8  # mean square of silence, which changes no choice

Mixed = tuple[int, FloatArray]  # (number of the first sample, [channels, samples])
Unmixed = tuple[int, FloatArray, FloatArray | None]  # `Mixed` and the channels [C, samples] if mixed


def keep_cancelled(blocks: Iterable[Unmixed], rate: int, log: DecodeLog) -> Iterator[Mixed]:
    """Yield the mix of each block or, where it is lost, the loudest channel; `log` counts the seconds."""
    held: list[Unmixed] = []
    used: int | None = None
    for block in blocks:
        is_full = sum(mix.shape[1] for _, mix, _ in held) >= _CHUNK_S * rate
        if held and (is_full or _n_channels(block) != _n_channels(held[0])):
            used = yield from _mix_chunk(held, used, rate, log)
            held = []
        held.append(block)
    if held:
        yield from _mix_chunk(held, used, rate, log)


def _n_channels(block: Unmixed) -> int:
    return 0 if block[2] is None else len(block[2])


def _mix_chunk(
    held: Sequence[Unmixed], before: int | None, rate: int, log: DecodeLog
) -> Generator[Mixed, None, int | None]:
    """Yield some blocks by one choice, cross-faded from the choice `before`; return it."""
    mix = np.concatenate([mix for _, mix, _ in held], axis=1)
    channels = np.concatenate([mix if channels is None else channels for _, mix, channels in held], axis=1)
    used = _choose_channel(mix, channels, before) if _n_channels(held[0]) else None
    made = mix if used is None else np.broadcast_to(channels[used], mix.shape).copy()
    if used != before:
        old = mix if before is None or before >= len(channels) else channels[before]
        ramp = np.linspace(0, 1, min(round(_FADE_S * rate), mix.shape[1]), dtype=np.float32)
        made[:, : len(ramp)] = old[..., : len(ramp)] * (1 - ramp) + made[:, : len(ramp)] * ramp
    log.cancelled_s += mix.shape[1] / rate * (used is not None)
    ends = np.cumsum([mix.shape[1] for _, mix, _ in held])[:-1]
    yield from zip((position for position, _, _ in held), np.split(made, ends, axis=1), strict=True)
    return used


def _choose_channel(mix: FloatArray, channels: FloatArray, before: int | None) -> int | None:
    """Return the channel to use in place of the mix; None for the mix."""
    powers, mixed = (channels**2).mean(axis=1), float((mix**2).mean(axis=1).max())
    loudest = int(powers.argmax())
    if powers[loudest] < _SILENT:
        return before
    if mixed * (_LOST if before is None else _BACK) >= powers[loudest]:
        return None
    is_near = before is not None and powers[before] * _CLEARLY_LOUDER >= powers[loudest]
    return before if is_near else loudest
