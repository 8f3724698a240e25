"""Networks in normal form as lists of float64 layers, where nothing is lost by that."""

from ftheta.logic.errors import SubjectError
from ftheta.networks.description import Dense, Description

from .counts import is_plain
from .exact import round_weights
from .network import ExactNetwork, ReluNetwork


def to_description(net: ReluNetwork) -> Description:
    """The list of layers of a plain network."""
    if not is_plain(net):
        raise SubjectError(
            "Only a plain network is a list of ReLU layers.",
            got="hidden coordinates without ReLU",
            remedy="save it in the format of steps, or export it to equinox",
        )
    words = ["relu"] * (len(net.steps) - 1) + ["identity"]
    return Description(
        tuple(Dense(step.dense(), step.offset, word) for step, word in zip(net.steps, words))
    )


def describe_layers(net: ExactNetwork) -> Description:
    """The layers of a plain network whose weights are floats."""
    found = round_weights(net)
    if not found.is_exact:
        got = f"an error of {found.largest_error:.3g} in a weight"
        raise SubjectError(
            "Only a network of float64 weights is a list of layers without loss.", got=got
        )
    return to_description(found.network)


def plain_form(description: Description | None) -> str:
    """Why the description is not a ReLU network that ends in an affine map, or nothing."""
    if description is None:
        return "no list of layers"
    words = {layer.activation for layer in description.layers[:-1]} - {"relu"}
    last = description.layers[-1].activation
    return ", ".join([*sorted(words), *([f"{last} at the output"] if last != "identity" else [])])
