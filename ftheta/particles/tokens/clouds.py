"""Clouds of tokens: unit vectors to start from, and the hemisphere that holds them."""

import numpy as np

from ftheta.risks.separation import separation
from ftheta.shapes import Float

STARTS = ("uniform", "hemisphere", "orthonormal")
MOST_TOKENS = 4000


def unit(x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
    r"""The rows $x_i/|x_i|$ of `x`."""
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def start(
    name: str, rng: np.random.Generator, tokens: int, dimension: int
) -> Float[np.ndarray, "tokens dimension"]:
    """Unit tokens: uniform on the sphere, the same turned into one half of it, or the first unit vectors."""
    x = unit(rng.normal(size=(tokens, dimension)))
    if name == "hemisphere":
        x[:, 0] = np.abs(x[:, 0]) + 0.05
    elif name == "orthonormal":
        x = np.eye(tokens, max(tokens, dimension))
    return unit(x)


def hemisphere(x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "d"] | None:
    r"""A direction $w$ with $\langle w,x_i\rangle>0$ for all tokens, checked in rationals; None where none is found."""
    found = separation(x)
    if found.kind != "separable" or found.direction is None:
        return None
    w = np.array([float(v) for v in found.direction])
    return w / np.linalg.norm(w)
