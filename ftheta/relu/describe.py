"""Exact networks as lists of float64 layers, where nothing is lost by that."""

from ftheta.logic.errors import SubjectError
from ftheta.networks.description import Dense, Description

from .counts import is_plain
from .exact import ExactNetwork, round_weights


def describe_layers(net: ExactNetwork) -> Description:
    """The layers of a plain network whose weights are floats."""
    found = round_weights(net)
    if not (found.is_exact and is_plain(net)):
        got = (
            f"an error of {found.largest_error:.3g} in a weight" if is_plain(net) else "hidden coordinates without ReLU"
        )
        raise SubjectError("Only a plain network of float64 weights is a list of layers without loss.", got=got)
    steps = found.network.steps
    words = ["relu"] * (len(steps) - 1) + ["identity"]
    return Description(tuple(Dense(step.dense(), step.offset, word) for step, word in zip(steps, words)))


def plain_form(description: Description | None) -> str:
    """Why the description is not a ReLU network that ends in an affine map, or nothing."""
    if description is None:
        return "no list of layers"
    words = {layer.activation for layer in description.layers[:-1]} - {"relu"}
    last = description.layers[-1].activation
    return ", ".join([*sorted(words), *([f"{last} at the output"] if last != "identity" else [])])


def require_layers(description: Description | None) -> Description:
    """The description, which must be there."""
    if description is None:
        raise SubjectError("A list of layers is needed.", got="a function without one", remedy="give weights as .npz")
    return description
