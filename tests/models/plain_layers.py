"""Slow, plain NumPy versions of the layers, to check the networks by."""

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def padded_like_tensorflow(x: Array, kernel: tuple[int, ...], stride: tuple[int, ...], fill: float) -> Array:
    """[C, T, H, W] padded by the rule of TensorFlow's documentation for padding="SAME"."""
    pads = [(0, 0)]
    for size, k, s in zip(x.shape[1:], kernel, stride, strict=True):
        along = max(k - s, 0) if size % s == 0 else max(k - size % s, 0)
        pads.append((along // 2, along - along // 2))
    return np.pad(x, pads, constant_values=fill)


def windows(x: Array, kernel: tuple[int, ...], stride: tuple[int, ...]) -> Array:
    """[C, T', H', W', kt, kh, kw]: what each output place of a convolution or pool sees of [C, T, H, W]."""
    view = np.lib.stride_tricks.sliding_window_view(x, kernel, axis=(1, 2, 3))
    return view[:, :: stride[0], :: stride[1], :: stride[2]]


def convolve(x: Array, weight: Array, stride: int = 1) -> Array:
    """[C, T, H, W] with weight [O, C, kt, kh, kw] and TensorFlow's "SAME" padding."""
    kernel, strides = weight.shape[2:], (stride,) * 3
    seen = windows(padded_like_tensorflow(x, kernel, strides, 0.0), kernel, strides)
    out: Array = np.einsum("cthwijk,ocijk->othw", seen, weight, optimize=True)
    return out


def max_pool(x: Array, kernel: tuple[int, int, int], stride: tuple[int, int, int]) -> Array:
    """[C, T, H, W] with TensorFlow's "SAME" padding."""
    out: Array = windows(padded_like_tensorflow(x, kernel, stride, -np.inf), kernel, stride).max(
        axis=(4, 5, 6)
    )
    return out
