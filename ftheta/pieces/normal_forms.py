"""Networks of every kind in ReLU normal form, and what is known of it."""

from dataclasses import dataclass
from typing import Any, TypeAlias

from ftheta.logic.enclosure import Basis, Enclosure
from ftheta.logic.errors import FthetaError, SubjectError, UsageError
from ftheta.logic.hypotheses import Finding, hypothesis
from ftheta.networks.description import Dense, Description, is_realisation
from ftheta.relu.exact import exact, from_description
from ftheta.relu.network import ExactNetwork, ReluNetwork

from .bounds import layers_of

AnyNetwork: TypeAlias = Any
"""A `ReluNetwork`, an `ExactNetwork`, a `Description`, or a network subject (anything `ft.load` makes a network of)."""


def network_of(net: AnyNetwork) -> ReluNetwork:
    """The normal form of any network: the real function with the stored weights, or what it says of itself."""
    if isinstance(net, ReluNetwork):
        return net
    if isinstance(net, Description):
        return from_description(net)
    if isinstance(net, ExactNetwork):
        return net.in_floats()
    if not all(hasattr(net, name) for name in ("apply", "params", "example", "description")):
        remedy = "ft.load(file or module), ft.relu_form(function, example) or ReluNetwork.dense(weights, biases)"
        raise UsageError(
            "Pieces are those of a network.", got=f"a {type(net).__name__}", remedy=remedy
        )
    form = normal_form(net)
    if form.network is None or form.refusal:
        remedy = "pieces are those of ReLU, leaky ReLU, max, abs, clip and affine maps"
        raise SubjectError(
            "The network is not piecewise affine.", where=net.name, got=form.refusal, remedy=remedy
        )
    return form.network


def exact_network_of(net: AnyNetwork) -> ExactNetwork:
    """The normal form with its weights at their exact values."""
    return net if isinstance(net, ExactNetwork) else exact(network_of(net))


@dataclass(frozen=True, eq=False)
class Form:
    """A network in normal form. `refusal` says why there is none: then `network` reads every activation as a ReLU.

    `basis` is exact when the network is the real function with the stored weights, float when constants were rounded on
    the way to it; `meaning` says it in words.
    """

    network: ReluNetwork | None
    refusal: str = ""

    @property
    def basis(self) -> Basis:
        return Basis.FLOAT if self.network is None or self.refusal else self.network.basis

    @property
    def meaning(self) -> str:
        return "" if self.network is None else self.network.meaning


def normal_form(net: Any) -> Form:
    """The normal form of a subject with `apply`, `description` and `example`; the function itself is read, so that a
    description that tells something else is not believed."""
    told: Description | None = net.description
    listed = is_realisation(net.apply, net.params, told)
    if (
        told is not None
        and listed
        and {layer.activation for layer in told.layers} <= {"relu", "identity"}
    ):
        return Form(from_description(told))
    from ftheta.relu.reading.form import relu_form  # the tracer is slow to import

    try:
        return Form(relu_form(net, net.example))
    except FthetaError as error:
        return Form(None if told is None else from_description(as_relu(told)), error.what)


@hypothesis(
    r"$f_\theta$ is made of affine maps and ReLUs",
    remedy="use piecewise-affine activations (ReLU, leaky ReLU, absolute value, max-pooling)",
    name="a ReLU network",
)
def relu_network(net: Any) -> Finding:
    """The program of the network has a ReLU normal form."""
    form = normal_form(net)
    if form.refusal or form.network is None:
        return Finding.failed(form.refusal)
    neurons = sum(int(step.rectified.sum()) for step in form.network.steps)
    note = f"{neurons:,} ReLUs in {len(form.network.steps) - 1} hidden layers: {form.meaning}"
    return Finding.proved(
        note, "each operation of the program was turned into such maps", basis=form.basis
    )


def listed_form(net: Any) -> ReluNetwork | None:
    """The normal form that the description tells of, if there is one."""
    told: Description | None = net.description
    plain = told is not None and {layer.activation for layer in told.layers} <= {"relu", "identity"}
    return from_description(told) if told is not None and plain else None


def as_relu(told: Description) -> Description:
    """The same weights with a ReLU in every hidden layer."""
    hidden = tuple(Dense(layer.weight, layer.bias, "relu") for layer in told.layers[:-1])
    return Description((*hidden, Dense(told.layers[-1].weight, told.layers[-1].bias)))


@hypothesis(
    r"layer $\ell$ has $n_\ell$ ReLUs and no more",
    remedy="describe the network as it is applied, or not at all",
    name="a known number of ReLUs per layer",
)
def neurons_as_told(net: Any) -> Finding:
    """The normal form has as many ReLUs in each layer as the list of layers says."""
    read = normal_form(net)
    told = listed_form(net)
    form = read.network
    if form is None:
        return Finding.failed("there is no normal form to count in")
    found = [layer.neurons for layer in layers_of(form)]
    listed = [layer.neurons for layer in layers_of(told or form)]
    note = f"ReLUs in the normal form: {_join_counts(found)}; in the list of layers: {_join_counts(listed)}"
    if found != listed:
        return Finding.failed(note, Enclosure.exact(sum(found)))
    return Finding.proved(
        note, "counted in both", basis=Basis.EXACT if read.refusal else read.basis
    )


def _join_counts(counts: list[int]) -> str:
    return ", ".join(map(str, counts[:12])) + (" …" if len(counts) > 12 else "") or "none"
