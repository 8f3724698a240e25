"""`ntk` and `nngp`: one question each, of an actual network or of an architecture."""

from math import prod
from typing import Any

import numpy as np

from ftheta.kernels.empirical.kernel import empirical
from ftheta.kernels.wide.closed_forms import closed_form
from ftheta.kernels.wide.from_weights import architecture_of
from ftheta.kernels.wide.layers import Layer
from ftheta.logic.errors import UsageError
from ftheta.shapes import Float


def ntk(net: Any, x1: Any, x2: Any = None, **options: Any) -> Float[np.ndarray, "n1 n2 *outputs"]:
    r"""The tangent kernel $\langle\partial_\theta f(x),\partial_\theta f(x')\rangle$ of rows of `x1` and `x2`.

    Of an `ft.Network` it is the empirical one; `outputs=`, `method=` and `memory=` are those of `empirical`. Of an
    architecture (a tuple of layers of `ftheta.kernels.wide`) it is the limit of infinite width; `memory=`
    bounds what is held.
    """
    if is_architecture(net):
        return closed_form(net, x1, x2, **options).ntk
    return empirical(network_like(net), x1, x2, **options)


def nngp(net: Any, x1: Any, x2: Any = None, **options: Any) -> Float[np.ndarray, "n1 n2"]:
    """The covariance of the outputs of random networks of infinite width, between the rows of `x1` and of `x2`.

    `net` is an architecture, or a described network, whose variances are read off its weights.
    """
    if is_architecture(net):
        return closed_form(net, x1, x2, **options).nngp
    if network_like(net).description is None:
        raise UsageError(
            "The architecture of this network is not known.",
            got=net.name,
            remedy="give a tuple of layers of ftheta.kernels.wide",
        )
    for name, rows in (("x1", x1), ("x2", x2)):
        size = None if rows is None else prod(np.shape(rows)[1:])
        if size is not None and size != prod(net.input_shape):
            raise UsageError(
                "The rows are not inputs of this network.",
                where=name,
                got=f"{size:,} numbers per row, the network takes {prod(net.input_shape):,}",
                remedy="give rows of shape (n, *net.input_shape)",
            )
    return closed_form(architecture_of(net.description), x1, x2, **options).nngp


def is_architecture(net: Any) -> bool:
    """Whether this is a tuple of layers."""
    return isinstance(net, tuple | list) and all(isinstance(layer, Layer) for layer in net)


def network_like(net: Any) -> Any:
    """The network, if it has what a kernel requires."""
    if not all(hasattr(net, name) for name in ("apply", "params", "input_shape")):
        raise UsageError(
            "A kernel is that of a network or of an architecture.",
            got=type(net).__name__,
            remedy="wrap a JAX function or module by ft.Network.of(function, example), or read a file by ft.load",
        )
    return net
