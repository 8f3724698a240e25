"""Hypotheses about the list of layers of a network, shared by the theorems that read it."""

import numpy as np

from ftheta.logic.enclosure import Basis, Enclosure
from ftheta.logic.errors import SubjectError
from ftheta.logic.hypotheses import Finding, Status, hypothesis
from ftheta.networks.description import count_stored_apart, is_realisation
from ftheta.networks.realisation import compare_outputs

from .network import Network

INPUTS = 64
MOST_WEIGHTS = 60_000  # in rationals


@hypothesis(
    r"the layers $(W_\ell,b_\ell)$ are known",
    remedy="this is about chains of dense layers with named activations: an .onnx or .pt2 that is one (or, ended by "
    "`--until NODE`, begins with one), an .npz with W0, b0, …, an equinox MLP",
    name="list of layers",
)
def has_layers(net: Network) -> Finding:
    r"""Whether the network has a list of layers $(W_\ell,b_\ell)$; what it computes is another hypothesis."""
    if net.description is None:
        return Finding.failed(
            f"a function with {net.parameters:,} parameters whose layers are not known"
        )
    d = [str(n) for n in net.description.widths]
    sizes = "-".join(d if len(d) <= 10 else [*d[:4], "…", *d[-4:]])
    return Finding.proved(
        f"sizes {sizes}", "there is a list of them; what it computes is another hypothesis"
    )


@hypothesis(
    r"the network is a list of layers $W_L\circ r\circ\cdots\circ r\circ W_1$ with $r(t)=\max\{0,t\}$, not too many",
    remedy=f"give ReLU layers that end in an affine map, up to {MOST_WEIGHTS:,} weights (rationals take their time); "
    "r alone has r(λt) = λr(t) for λ > 0, and y = r(y) − r(−y)",
    name="ReLU layers",
)
def relu_layers(net: Network) -> Finding:
    """The layers are ReLUs, and few enough to be computed with in rationals."""
    from ftheta.relu.describe import plain_form

    why = plain_form(net.description)
    if net.description is None or why:
        return Finding.failed(f"this one has {why}")
    size = sum(layer.weight.size for layer in net.description.layers)
    note = f"widths {'-'.join(map(str, net.description.widths))}, {size:,} weights"
    if size > MOST_WEIGHTS:
        return Finding.failed(f"{note}, too many for rationals", Enclosure.exact(size))
    return Finding.proved(note, "activations and sizes are read off the list")


@hypothesis(
    r"$f_\theta$ is computed from these layers",
    remedy="correct weights, biases or activations of the list",
    name="layers that compute it",
)
def describes_this_function(net: Network) -> Finding:
    """Proved where the function is the list's own, else compared at a few inputs."""
    net = net.with_zero_biases()
    if net.description is None:
        return Finding.undecided("layers")
    if is_realisation(net.apply, net.params, net.description):
        why = "it is the realisation of this very list, and every stored number is the list's"
        return Finding.proved("the function is made from this list", why)
    made_of = net.scaled_layers
    if (
        made_of is not None
        and net.description is made_of.folded_layers
        and not count_stored_apart(net.params, made_of.layers)
    ):
        note = "the function is made from this list; the scaling of its inputs is folded into layer 1 in float64"
        why = "it is the realisation of the layers behind the scaling, and every stored number is theirs"
        return Finding.proved(note, why, basis=Basis.FLOAT)
    x = np.random.default_rng(0).normal(size=(INPUTS, net.description.widths[0]))
    try:
        seen = compare_outputs(net, net.description, x)
    except SubjectError as error:  # outputs of another shape
        return Finding.failed(error.what)
    note = f"list and function differ by {seen.gap:.3g} at {INPUTS} inputs"
    return Finding.sampled(note) if seen.within_rounding else Finding.failed(note)


def read_off_layers(net: Network, note: str, why: str, number: Enclosure | None = None) -> Finding:
    """What a list of layers proves of a network: no more than that the list is what the function computes."""
    computed = describes_this_function.check(net)
    return Finding.proved(note, why, number) if computed.status is Status.PROVED else computed
