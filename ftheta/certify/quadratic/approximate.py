r"""Arrays that are known up to a radius, entry by entry: $|a-c|\le r$, all rounding paid for.

Radii are sums of non-negative floats, raised by `RAISE`, which is more than such sums of up to $2^{20}$ terms can lose.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ftheta.certify.norms import U, gamma, round_sum_up

Array = np.ndarray
RAISE = 1 + 2.0**-30
TINY = 2.0**-400  # far more than can be lost by underflow, also after `balance`
MOST = 2.0**400  # entries are smaller: nothing overflows


@dataclass(frozen=True, eq=False)
class Approximate:
    """All arrays within `radius` of `centre`."""

    centre: Array
    radius: Array

    @classmethod
    def exactly(cls, centre: Array) -> "Approximate":
        return cls(centre, np.zeros_like(centre))

    @property
    def size(self) -> Array:
        """At least the absolute value of every entry."""
        return (np.abs(self.centre) + self.radius) * RAISE

    def __getitem__(self, at: Any) -> "Approximate":
        return Approximate(self.centre[at], self.radius[at])

    def __add__(self, other: "Approximate") -> "Approximate":
        centre = self.centre + other.centre
        return Approximate(centre, (self.radius + other.radius + U * np.abs(centre)) * RAISE)

    def __sub__(self, other: "Approximate") -> "Approximate":
        return self + other.times(-1.0)

    def times(self, power_of_two: float) -> "Approximate":
        """Multiplied by plus or minus a power of two, which rounds nothing that matters."""
        return Approximate(self.centre * power_of_two, self.radius * abs(power_of_two))

    def __matmul__(self, other: "Approximate") -> "Approximate":
        """The product of two matrices, of one and a stack, or of two stacks."""
        centre = self.centre @ other.centre
        size, spread = self.size, other.radius
        touched = ((size > 0).astype(float) @ (other.size > 0).astype(float)) > 0
        radius = size @ spread + self.radius @ np.abs(other.centre)
        radius = radius + gamma(self.centre.shape[-1] + 2) * (
            np.abs(self.centre) @ np.abs(other.centre)
        )
        return Approximate(centre, (radius + TINY * touched) * RAISE)

    @property
    def transposed(self) -> "Approximate":
        return Approximate(self.centre.swapaxes(-1, -2), self.radius.swapaxes(-1, -2))


def join(parts: list[Approximate]) -> Approximate:
    """Arrays one after another."""
    return Approximate(
        *(np.concatenate([getattr(part, end) for part in parts]) for end in ("centre", "radius"))
    )


def multiply_forms(a: Approximate, b: Approximate) -> Approximate:
    r"""The symmetric matrices of $v\mapsto\langle a,v\rangle\langle b,v\rangle$, for rows of forms."""
    first = Approximate(a.centre[:, :, None], a.radius[:, :, None]) @ Approximate(
        b.centre[:, None, :], b.radius[:, None, :]
    )
    return first.times(0.5) + first.transposed.times(0.5)


def balance(stack: Approximate) -> Approximate:
    """Every array of a stack times a power of two, so that its largest entry is about 1."""
    axes = tuple(range(1, stack.centre.ndim))
    top = np.abs(stack.centre).max(axes, initial=0.0, keepdims=True)
    scale = np.exp2(-np.clip(np.round(np.log2(np.where(top > 0, top, 1.0))), -300, 300))
    return Approximate(stack.centre * scale, stack.radius * scale)


def combine(weights: Array, stack: Approximate) -> Approximate:
    """The sum of the matrices of a stack with these weights."""
    shape = stack.centre.shape[1:]
    flat = Approximate(
        stack.centre.reshape(len(weights), -1), stack.radius.reshape(len(weights), -1)
    )
    found = Approximate.exactly(weights[None]) @ flat
    return Approximate(found.centre.reshape(shape), found.radius.reshape(shape))


def is_positive_definite(M: Approximate) -> bool:
    """Whether all symmetric matrices of a stack `(k, n, n)`, or of one, are proved to be positive definite.

    Rows and columns are scaled by powers of two. A completed factorisation of `M` minus a multiple of the identity
    shows that no eigenvalue is below that multiple less what it errs by (`norms.py`).
    """
    n = M.centre.shape[-1]
    diagonal = np.diagonal(M.centre, axis1=-2, axis2=-1)
    if not np.isfinite(M.centre).all() or not (diagonal > TINY).all() or not (M.size < MOST).all():
        return False
    d = np.exp2(-np.round(np.log2(diagonal) / 2))
    scale = d[..., :, None] * d[..., None, :]
    lower = np.tril(M.centre * scale)
    centre = lower + np.tril(lower, -1).swapaxes(-1, -2)
    doubt = (M.radius + U * np.abs(M.centre)) * scale + np.abs(M.centre * scale - centre)
    error = round_sum_up(float(doubt.sum(axis=(-2, -1)).max()), 4 * n * n) + TINY
    trace = round_sum_up(float(np.trace(centre, axis1=-2, axis2=-1).max()), n)
    shift = 2 * (gamma(n + 2) * trace + error + 4 * U * trace)
    try:
        np.linalg.cholesky(centre - shift * np.eye(n))
    except np.linalg.LinAlgError:
        return False
    return True
