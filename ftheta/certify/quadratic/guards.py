r"""Rows that bound the inputs by an ellipsoid, and what that says of linear functions of the inputs.

Let $q(v)\le0$ hold wherever a counter-example is, with $v=(1,\tilde x)$ and a quadratic $q$ that is convex in
$\tilde x$. If $\lambda q(v)-\langle g,v\rangle+u$ is positive for all $\tilde x$, then $\langle g,v\rangle\le u$ there.
The best $\lambda$ and $u$ are guessed in floats, and the positive definite matrix is proved.
"""

from dataclasses import dataclass

import numpy as np

from .approximate import Approximate, Array, is_positive_definite

SLACK = 1e-9
"""Of the size of a bound, that a guess is raised by."""


@dataclass(frozen=True, eq=False)
class Guard:
    r"""The matrix of $q$ over $(1,x)$, or over $(1,\tilde x)$ of a box (`seen_from`)."""

    matrix: Approximate

    @property
    def is_convex(self) -> bool:
        """In floats, with a margin: whether this can bound anything."""
        A = self.matrix.centre[1:, 1:]
        values = np.linalg.eigvalsh(A)
        return bool(values[0] > 1e-10 * max(values[-1], 1e-300))

    def seen_from(self, centre: Array, half: Array) -> "Guard":
        r"""In $\tilde x$, $x=c+h\tilde x$."""
        move = np.diag(np.concatenate([[1.0], half]))
        move[1:, 0] = centre
        exact = Approximate.exactly(move)
        return Guard(exact.transposed @ self.matrix @ exact)

    def bound_above(self, forms: Approximate) -> Array:
        """Upper bounds of forms over (1, inputs) wherever q ≤ 0; ∞ where nothing is proved."""
        Q = self.matrix.centre
        nothing = np.full(len(forms.centre), np.inf)
        try:
            inverse = np.linalg.inv(Q[1:, 1:])
        except np.linalg.LinAlgError:
            return nothing
        middle = -inverse @ Q[1:, 0]
        square = middle @ Q[1:, 1:] @ middle - Q[0, 0]
        g = forms.centre
        length = np.einsum("ki,ij,kj->k", g[:, 1:], inverse, g[:, 1:])
        if not (square > 0 and (length >= 0).all() and np.isfinite(length).all()):
            return nothing
        reach = np.sqrt(square * length)
        size = np.abs(g).sum(1) + reach
        multiplier = np.sqrt(length / square) / 2 + SLACK * size / square
        most = g[:, 0] + g[:, 1:] @ middle + reach + 4 * SLACK * size
        n = len(Q)
        k = len(g)
        linear = Approximate(np.zeros((k, n, n)), np.zeros((k, n, n)))
        for mine, theirs in ((linear.centre, -g / 2), (linear.radius, forms.radius)):
            mine[:, 0, :] += theirs
            mine[:, :, 0] += theirs
        linear.centre[:, 0, 0] = -g[:, 0] + most
        linear.radius[:, 0, 0] += 2.0**-52 * (np.abs(g[:, 0]) + np.abs(most))
        stack = Approximate(
            np.broadcast_to(Q, (k, n, n)), np.broadcast_to(self.matrix.radius, (k, n, n))
        )
        scaled = (
            Approximate(multiplier[:, None, None] * np.eye(n), np.zeros((k, n, n))) @ stack + linear
        )
        return most if is_positive_definite(scaled) else nothing


def clip_box(guard: Guard, low: Array, high: Array) -> tuple[Array, Array]:
    """The box around what is left of a box."""
    d = len(low)
    unit = np.concatenate([np.zeros((d, 1)), np.eye(d)], axis=1)
    most = guard.bound_above(Approximate.exactly(unit))
    least = -guard.bound_above(Approximate.exactly(-unit))
    return np.maximum(low, least), np.minimum(high, most)
