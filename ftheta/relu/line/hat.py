"""The hat function, exactly: the closed form, three neurons side by side, and two layers of two and one."""

import numpy as np

from ftheta.networks.description import Dense, Description

from .cpa1d import absolute, affine, relu

HAT = relu(affine(0, 1) - absolute(affine(1)))
r"""$h(x)=\max\{0,1-|x|\}$."""

_FOLD = Dense(np.array([[1.0], [-1.0]]), np.zeros(2), "relu")
DEEP = Description(
    (_FOLD, Dense(-np.ones((1, 2)), np.ones(1), "relu"), Dense(np.ones((1, 1)), np.zeros(1)))
)
r"""$r(1-r(x)-r(-x))$."""


def shallow(copies: int = 1, offset: float = 0.0) -> Description:
    r"""$r(x+1)-2r(x)+r(x-1+\text{offset})$, each neuron split into `copies` rescaled ones.

    All factors are powers of two, so that the sum over the copies is the neuron itself, without rounding.
    """
    j = np.arange(copies)
    scale = 2.0 ** (j % 5)
    share = 2.0 ** -np.minimum(j + 1.0, copies - 1)
    hidden = Dense(
        np.tile(scale, 3)[:, None], np.outer([1.0, 0.0, offset - 1.0], scale).ravel(), "relu"
    )
    return Description(
        (hidden, Dense(np.outer([1.0, -2.0, 1.0], share / scale).reshape(1, -1), np.zeros(1)))
    )
