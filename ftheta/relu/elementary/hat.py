"""The hat function, exactly: the closed form, the deep network, the misprint, and what two neurons cannot do."""

from itertools import product

import numpy as np

from ftheta.logic import Axis, Curves, Series
from ftheta.logic.chart import Role
from ftheta.networks.description import Dense, Description

from ..line.cpa1d import PiecewiseAffine, absolute, affine, compose, far_field_rank, relu

X, ONE = affine(1), affine(0, 1)
HAT = relu(ONE - absolute(X))
RAMP = ONE - HAT  # min{|x|, 1}
PRINTED = relu(absolute(ONE - absolute(X)))  # max{0, |1 − |x||}, as a source prints it

_FOLD = Dense(np.array([[1.0], [-1.0]]), np.zeros(2), "relu")
DEEP = Description((_FOLD, Dense(-np.ones((1, 2)), np.ones(1), "relu"), Dense(np.ones((1, 1)), np.zeros(1))))


def shallow(copies: int = 1, offset: float = 0.0) -> Description:
    r"""$r(x+1)-2r(x)+r(x-1+\text{offset})$, each neuron split into `copies` rescaled ones.

    All factors are powers of two, so that the sum over the copies is the neuron itself, without rounding.
    """
    j = np.arange(copies)
    scale, share = 2.0 ** (j % 5), 2.0 ** -np.minimum(j + 1.0, copies - 1)
    hidden = Dense(np.tile(scale, 3)[:, None], np.outer([1.0, 0.0, offset - 1.0], scale).ravel(), "relu")
    return Description((hidden, Dense(np.outer([1.0, -2.0, 1.0], share / scale).reshape(1, -1), np.zeros(1))))


def iterated(times: int) -> PiecewiseAffine:
    r"""$h\circ\dots\circ h$."""
    f = HAT
    for _ in range(times - 1):
        f = compose(HAT, f)
    return f


def two_neuron_rank() -> int:
    """The least rank, over all orientations of two neurons, of the conditions to vanish far out (three unknowns)."""
    return min(far_field_rank(signs) for signs in product((1, -1), repeat=2))


def chart(f: PiecewiseAffine, iterate: PiecewiseAffine, times: int) -> Curves:
    roles: list[tuple[str, PiecewiseAffine, Role]] = [
        ("network", f, "measured"),
        ("hat h", HAT, "bound"),
        ("as printed", PRINTED, "reference"),
        (f"h applied {times} times", iterate, "other"),
    ]
    series = tuple(Series(name, *g.corners(-3, 3), role) for name, g, role in roles)
    return Curves("the hat and its misprint", Axis("x"), Axis("value"), series)
