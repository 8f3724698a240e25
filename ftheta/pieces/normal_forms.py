"""Networks of every kind in ReLU normal form, and what is known of it."""

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from ftheta.logic import Basis, Finding, FthetaError, SubjectError, UsageError, hypothesis
from ftheta.networks.description import Dense, Description
from ftheta.networks.realisation import is_realisation
from ftheta.relu.exact import ExactNetwork, exact, from_description, rounded
from ftheta.relu.network import ReluNetwork

AnyNetwork: TypeAlias = Any
"""A `ReluNetwork`, an `ExactNetwork`, a `Description`, or a network subject (anything `ft.load` makes a network of)."""


def network_of(net: AnyNetwork) -> ReluNetwork:
    """The normal form of any network; one with rational weights must consist of floats."""
    if isinstance(net, ReluNetwork):
        return net
    if isinstance(net, Description):
        return from_description(net)
    if isinstance(net, ExactNetwork):
        return _in_floats(net)
    if not all(hasattr(net, name) for name in ("apply", "params", "example", "description")):
        remedy = "ft.load(file or module), ft.relu_form(function, example) or ReluNetwork.dense(weights, biases)"
        raise UsageError("Pieces are those of a network.", got=f"a {type(net).__name__}", remedy=remedy)
    form = normal_form(net)
    if form.network is None or form.refusal:
        remedy = "pieces are those of ReLU, leaky ReLU, max, abs, clip and affine maps"
        raise SubjectError("The network is not piecewise affine.", where=net.name, got=form.refusal, remedy=remedy)
    return form.network


def exact_network_of(net: AnyNetwork) -> ExactNetwork:
    """The normal form with its weights at their exact values."""
    return net if isinstance(net, ExactNetwork) else exact(network_of(net))


def _in_floats(net: ExactNetwork) -> ReluNetwork:
    found = rounded(net)
    if not found.is_exact:
        got = f"an error of {found.largest_error:.3g} in a weight"
        remedy = "ft.relu.rounded(net).network has the pieces of the rounded network; equal and decompile take it as is"
        raise UsageError("The weights of this network are not all float64 numbers.", got=got, remedy=remedy)
    return found.network


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
    listed = is_realisation(net.apply, net.params, told)
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
    note = f"{neurons:,} ReLUs in {len(form.network.steps) - 1} hidden layers, {how}"
    return Finding.proved(note, "each operation of the program was turned into such maps", basis=form.basis)


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
