"""Networks by name: with one hidden layer, some of them affine or zero in disguise, and one with two."""

from fractions import Fraction

import numpy as np
from flint import fmpq  # type: ignore[import-untyped]

from ftheta.networks.description import Dense, Description, random_mlp
from ftheta.relu.describe import describe_layers
from ftheta.relu.exact import exact
from ftheta.relu.mesh import Mesh
from ftheta.relu.meshes.nodal import nodal
from ftheta.relu.meshes.simplex_cells import box_mesh, box_simplices, integral

COMPACT_HAT = "compact hat, two hidden layers"
KINDS = ("ridge hat", "random", "affine in disguise", "zero in disguise", COMPACT_HAT)


def build_network(kind: str, inputs: int, width: int, rng: np.random.Generator) -> Description:
    """Networks by name; only the last one has two hidden layers, and compact support."""
    first = np.eye(inputs)[0]
    zero = np.zeros(1)
    if kind == COMPACT_HAT:
        points, simplices = box_mesh([-1] * inputs, [1] * inputs, 2)
        return describe_layers(nodal(Mesh.of(points, simplices), points.index((fmpq(0),) * inputs)))
    if kind == "ridge hat":
        hidden = Dense(np.tile(first, (3, 1)), np.array([1.0, 0.0, -1.0]), "relu")
        return Description((hidden, Dense(np.array([[1.0, -2.0, 1.0]]), zero)))
    if kind == "random":
        return random_mlp(rng, (inputs, width, 1), bias=0.5)
    w = rng.integers(-4, 5, (width, inputs)) / 2.0
    b = rng.integers(-4, 5, width) / 2.0
    w[~w.any(axis=1)] = first
    hidden = Dense(np.concatenate([w, -w, 2 * w]), np.concatenate([b, -b, 2 * b]), "relu")
    c = rng.integers(1, 9, width) / 4.0
    # r(z) − r(−z) = z, r(2z) = 2r(z)
    outer = [c, -c, 0 * c] if kind == "affine in disguise" else [-2 * c, 0 * c, c]
    return Description((hidden, Dense(np.concatenate(outer)[None], zero)))


def integrate_ridge_hat(radius: float) -> Fraction:
    r"""$\int_{[-R,R]^2}\max\{0,1-|x_1|\}$ of the network, cell by cell."""
    return _integrate("ridge hat", radius)


def integrate_compact_hat(radius: float) -> Fraction:
    r"""The integral over $[-R,R]^2$ of a hat with two hidden layers and compact support."""
    return _integrate(COMPACT_HAT, radius)


def _integrate(kind: str, radius: float) -> Fraction:
    R = Fraction(radius)
    nothing_drawn = np.random.default_rng(0)
    net = exact(build_network(kind, 2, 3, nothing_drawn))
    return integral(net, box_simplices([-R, -R], [R, R]))
