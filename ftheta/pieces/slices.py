"""Planar slices of a network's input space: where to cut, and which normal form to cut."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ftheta.logic import Basis, Finding, FthetaError, hypothesis
from ftheta.networks.description import Dense, Description
from ftheta.relu.exact import from_description
from ftheta.relu.network import ReluNetwork

from .domains import Polygon, Segment

MOST_NUMBERS = 4_000_000  # in the affine maps of all cells that are kept
MOST_PRODUCTS = 4_000_000_000  # cells times weights, where the network is evaluated on every cell


@dataclass(frozen=True, eq=False)
class Form:
    """A network in normal form. `basis` is exact when the steps are the listed layers, float when they were combined
    in float64; `refusal` says why there is no normal form: then `network` reads every hidden activation as a ReLU."""

    network: ReluNetwork | None
    basis: Basis
    refusal: str = ""


def normal_form(net: Any) -> Form:
    """The normal form of a subject with `apply`, `description` and `example`; the function itself is read, so that a
    description that tells something else is not believed."""
    told: Description | None = net.description
    listed = told is not None and net.apply == told.apply and _same(net.params, told.params)
    if told is not None and listed and {layer.activation for layer in told.layers} <= {"relu", "identity"}:
        return Form(from_description(told), Basis.EXACT)
    from ftheta.relu.reading.form import relu_form  # the tracer is slow to import

    try:
        form = relu_form(net, net.example)
        return Form(form, Basis.EXACT if told is not None and _as_told(form, told) else Basis.FLOAT)
    except FthetaError as error:
        return Form(None if told is None else from_description(as_relu(told)), Basis.FLOAT, error.what)


@hypothesis(
    r"$f_\theta$ is made of affine maps and ReLUs",
    remedy="use piecewise-affine activations (ReLU, leaky ReLU, absolute value, max-pooling)",
)
def relu_network(net: Any) -> Finding:
    form = normal_form(net)
    if form.refusal or form.network is None:
        return Finding.failed(form.refusal)
    neurons = sum(int(step.rectified.sum()) for step in form.network.steps)
    how = "as listed" if form.basis is Basis.EXACT else "its normal form combined in float64"
    return Finding.proved(f"{neurons:,} ReLUs in {len(form.network.steps) - 1} hidden layers, {how}", basis=form.basis)


def _same(params: Any, others: Any) -> bool:
    return len(params) == len(others) and all(np.array_equal(a, b) for p in zip(params, others) for a, b in zip(*p))


def _as_told(form: ReluNetwork, told: Description) -> bool:
    """Whether the steps read off the function are, number by number, the layers of the description."""
    if not {layer.activation for layer in told.layers} <= {"relu", "identity"}:
        return False
    steps = from_description(told).steps
    numbers = lambda step: (step.dense(), step.offset, step.rectified)
    return len(steps) == len(form.steps) and all(
        np.array_equal(a, b) for pair in zip(steps, form.steps) for a, b in zip(*map(numbers, pair))
    )


def told_form(net: Any) -> ReluNetwork | None:
    """The normal form that the description tells of, if there is one."""
    told: Description | None = net.description
    plain = told is not None and {layer.activation for layer in told.layers} <= {"relu", "identity"}
    return from_description(told) if told is not None and plain else None


def as_relu(told: Description) -> Description:
    """The same weights with a ReLU in every hidden layer."""
    hidden = tuple(Dense(layer.weight, layer.bias, "relu") for layer in told.layers[:-1])
    return Description((*hidden, Dense(told.layers[-1].weight, told.layers[-1].bias)))


def slice_of(
    inputs: int, data: np.ndarray | None, rng: np.random.Generator, radius: float, centre: float = 0.0
) -> Polygon | Segment:
    r"""A square in the plane through three rows of the data, with `radius` to spare around them; without data the
    square of half-width `radius` around `centre` in the first two coordinates; a segment where there is one input."""
    low, high = centre - radius, centre + radius
    if inputs == 1:
        return Segment([low], [high])
    rows = None if data is None else np.unique(np.reshape(data, (len(data), -1)), axis=0)
    for _ in range(8 if rows is not None and len(rows) >= 3 else 0):
        p, q, r = rows[rng.choice(len(rows), 3, replace=False)]  # type: ignore[index]
        if np.linalg.matrix_rank(np.stack([q - p, r - p])) == 2:
            low, high = -radius, 1 + radius
            return Polygon.through(p, q, r, [(low, low), (high, low), (high, high), (low, high)])
    corners = [(low, low), (high, low), (high, high), (low, high)]
    return Polygon(corners, np.zeros(inputs), np.eye(inputs)[:, :2])


def storable(net: ReluNetwork, max_cells: int) -> int:
    """No more cells than whose affine maps on a plane can be kept, and compared with the network in some seconds."""
    weights = sum(step.matrix.nnz if sparse.issparse(step.matrix) else step.matrix.size for step in net.steps)
    return min(max_cells, max(1, MOST_NUMBERS // (3 * net.widths[-1])), max(1, MOST_PRODUCTS // max(weights, 1)))
