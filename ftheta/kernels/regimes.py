r"""Lazy or not: how far training moves the tangent kernel as networks grow, and the output scale that makes it lazy."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.estimates import fit_rate
from ftheta.kernels.empirical.kernel import empirical
from ftheta.logic.enclosure import Enclosure
from ftheta.logic.errors import UsageError
from ftheta.networks.shared_program import program_of
from ftheta.shapes import Float

from .lazy import lazy_training, train

LARGEST = 2.0**16  # of the scales tried


@dataclass(frozen=True, eq=False)
class Drift:
    r"""$\|\hat\Theta_k-\hat\Theta_0\|/\|\hat\Theta_0\|$ after training: one row per width, one column per network."""

    widths: Float[np.ndarray, "w"]
    moved: Float[np.ndarray, "w draws"]

    @property
    def order(self) -> Enclosure:
        r"""The slope of $\log$ drift against $\log$ width, about $-\frac12$ where wide networks are lazy."""
        return fit_rate(np.repeat(self.widths, self.moved.shape[1]), self.moved.ravel())


def drift_with_width(
    make: Callable[[int, np.random.Generator], Any],
    widths: Sequence[int],
    x: Any,
    y: Any,
    *,
    draws: int = 4,
    steps: int = 100,
    seed: int = 0,
) -> Drift:
    r"""Train `make(width, rng)`, one output each, on $\frac12\|f-y\|^2$ by steps $1/\lambda_{\max}(\hat\Theta_0)$."""
    if len(set(widths)) < 2 or draws < 1:
        raise UsageError(
            "A drift is compared between widths.",
            got=f"{list(widths)}, {draws} draws",
            remedy="give two or more",
        )
    rng = np.random.default_rng(seed)
    y = np.asarray(y, np.float64).ravel()
    moved = np.array(
        [[kernel_drift(make(m, rng), x, y, steps) for _ in range(draws)] for m in widths]
    )
    return Drift(np.array(widths, float), moved)


def kernel_drift(net: Any, x: Any, y: Float[np.ndarray, "n"], steps: int = 100) -> float:
    """How far training moves the tangent kernel of one network with one output, relative to it."""
    before = empirical(net, x)
    apply = program_of(net)
    with jax.enable_x64(True):
        params = jax.tree.map(jnp.asarray, net.params)
        rows = jnp.asarray(x, np.float64)
        first = jax.vmap(lambda row: jnp.sum(apply(params, row)))(rows)
        end = train(apply, steps, params, rows, y - first, 1.0, 1 / np.linalg.eigvalsh(before)[-1])[
            2
        ]
    after = empirical(_Moved(apply, end, net.input_shape), x)
    return float(np.linalg.norm(after - before) / np.linalg.norm(before))


@dataclass(frozen=True, eq=False)
class _Moved:
    """A network at other parameters."""

    apply: Any
    params: Any
    input_shape: tuple[int, ...]


def lazy_scale(net: Any, x: Any, y: Any, *, within: float = 0.05, steps: int = 100) -> float:
    r"""The least $\alpha=2^k$ for which training $\alpha(f_\theta-f_{\theta_0})$ stays `within` of its linearisation.

    The distance is that of the outputs on the rows after so many steps, relative to them. Infinite if no scale up to
    $2^{16}$ does.
    """
    if not 0 < within < 1:
        raise UsageError(
            "A distance must lie between 0 and 1.", got=str(within), remedy="give within=0.05, say"
        )
    rows = np.asarray(x, np.float64)
    y = np.asarray(y, np.float64).ravel()
    alpha = 1.0
    with jax.enable_x64(True):
        while alpha <= LARGEST:
            apart = lazy_training(net, rows, y, (alpha,), steps).apart[0]
            if apart <= within:
                return alpha
            alpha *= 2
    return float("inf")
