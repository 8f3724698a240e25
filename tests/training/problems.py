"""Small problems that the tests of the training loop share."""

from typing import Any

import jax
import numpy as np

from ftheta.networks import Description, random_mlp


def regression(n: int = 50, d: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    return x, np.sin(x @ np.arange(1, d + 1)) + 0.1 * rng.normal(size=n)


def mlp(d: int = 3, out: int = 1, seed: int = 1) -> Description:
    return random_mlp(np.random.default_rng(seed), (d, 8, out), "tanh")


def linear(params: Any, x: Any) -> Any:
    return x @ params


def same_bits(one: Any, other: Any) -> bool:
    left = jax.tree.leaves(one)
    right = jax.tree.leaves(other)
    return len(left) == len(right) and all(
        np.asarray(a).dtype == np.asarray(b).dtype
        and np.asarray(a).tobytes() == np.asarray(b).tobytes()
        for a, b in zip(left, right)
    )
