"""A network is no steeper than the product of its layers."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Annotated

import jax.numpy as jnp
import numpy as np

from ftheta.certify.ladder.chains import read_chain
from ftheta.certify.ladder.graphs import Unbounded, bound_by_nodes, trace_network
from ftheta.certify.ladder.rungs import climb_ladder, prepare_setting
from ftheta.certify.lipschitz import (
    Secant,
    inputs_near,
    layer_norms,
    product_bound,
    steepest_secant,
)
from ftheta.certify.norms import convolution_norm, frobenius_norm
from ftheta.graph.enclosing import affordable
from ftheta.graph.errors import GraphError
from ftheta.logic import (
    AtMost,
    Axis,
    Bars,
    Enclosure,
    Evidence,
    Finding,
    Identity,
    Knob,
    SubjectError,
    Table,
    hypothesis,
    theorem,
)
from ftheta.networks import Dense, Description, activation, random_mlp
from ftheta.subjects import Network
from ftheta.subjects.layers import describes_this_function
from ftheta.theorems.knobs import HiddenActivation

# ---- subjects --------------------------------------------------------------------------------------------------------

ABSOLUTE_VALUE = Description(
    (Dense(np.array([[1.0], [-1.0]]), np.zeros(2), "relu"), Dense(np.ones((1, 2)), np.zeros(1)))
)
r"""$|t|=(t)_++(-t)_+$: Lipschitz constant 1, product of norms 2."""


def second_difference(n: int) -> Description:
    r"""The linear map $[1,-2,1]$ on a ring of $n$ points: constant 4 for even $n$, along the alternating vector."""
    ring = np.eye(n)
    return Description((Dense(np.roll(ring, 1, 0) + np.roll(ring, -1, 0) - 2 * ring, np.zeros(n)),))


KNOWN: dict[str, Callable[[int], Description]] = {
    "absolute value": lambda n: ABSOLUTE_VALUE,
    "second difference": second_difference,
}
"""Networks whose Lipschitz constant is known, by the number of inputs."""


def network(
    rng: np.random.Generator,
    *,
    kind: Annotated[
        str, Knob(says="which network", symbol="f", choices=("random", *KNOWN))
    ] = "random",
    inputs: Annotated[int, Knob(1, 784, "number of inputs", "d₀", log=True, most=4096)] = 2,
    width: Annotated[
        int, Knob(1, 256, "neurons in each hidden layer", "w", log=True, most=512)
    ] = 32,
    depth: Annotated[int, Knob(1, 8, "number of affine maps", "L", most=12)] = 3,
    outputs: Annotated[int, Knob(1, 10, "number of outputs", "d_L", most=100)] = 1,
    hidden: HiddenActivation = "relu",
) -> Network:
    if kind in KNOWN:
        return Network.described(KNOWN[kind](inputs), kind)
    description = random_mlp(rng, (inputs, *[width] * (depth - 1), outputs), hidden, bias=0.5)
    return Network.described(
        description, f"random {hidden} network {'-'.join(map(str, description.widths))}"
    )


def steeper_than_described(rng: np.random.Generator) -> Network:
    """The negative control: its list of layers says |t|, the function that runs is 9|t|."""
    listed = Network.described(ABSOLUTE_VALUE, "described as |t|, applies 9|t|")
    return replace(listed, apply=lambda params, x: ABSOLUTE_VALUE.apply(params, 9 * x))


# ---- the theorem -----------------------------------------------------------------------------------------------------


def program_bound(net: Network) -> Enclosure | str:
    r"""$\prod_\ell c_\ell\|W_\ell\|_2$ of a network that is no list of layers, such as one whose
    activation changes from neuron to neuron: read off its program operation by operation. In words
    why there is none."""
    try:
        graph = trace_network(lambda x: net.apply(net.params, x), net.input_shape)
    except (GraphError, SubjectError, TypeError, ValueError) as error:
        return getattr(error, "what", str(error))
    if not affordable(graph):
        return "a function without a list of layers, of too many operations"
    found = bound_by_nodes(graph, 2)
    if isinstance(found, Unbounded):
        return f"a function without a list of layers; {found.why}"
    return Enclosure.exact(found)


@hypothesis(
    r"every layer is $x\mapsto\sigma(Wx+b)$ with $\sigma$ of known Lipschitz constant, one for all "
    "neurons or one for each",
    remedy="hand in layers with named activations (an .npz weight list, an MLP module); `square` has no constant",
)
def layers_of_known_constant(net: Network) -> Finding:
    if net.description is None:
        bound = program_bound(net)
        if isinstance(bound, str):
            return Finding.failed(f"the network is {bound}")
        note = "every operation of the program has a known constant"
        return Finding.proved(note, "matrices and activations are read off the program")
    worst = max(
        (activation(layer.activation).lipschitz for layer in net.description.layers),
        key=lambda c: c.hi,
    )
    note = (
        f"{len(net.description.layers)} layers, the steepest activation has constant {worst.hi:.6g}"
    )
    return Finding.decide(
        np.isfinite(worst.hi), note, "closed forms by name", worst, basis=worst.basis
    )


@hypothesis(
    r"$f_\theta$ is computed from these layers",
    remedy="correct weights, biases or activations of the list",
    name="layers that compute it",
)
def layers_compute_it(net: Network) -> Finding:
    if net.description is None and isinstance(program_bound(net), Enclosure):
        return Finding.proved("there is no list beside it", "the bound is read off the program")
    return describes_this_function.check(net)


@theorem(
    title="Lipschitz constant of a composition",
    gist="The Lipschitz constant of a network, which limits how far a small change of the input can move the output, "
    "is at most the product of the spectral norms of its layers; a search for steep secants shows how loose that is.",
    see_also=(
        "gradient-product-bound",
        "architecture-and-stability-penalties",
        "conv-iff-equivariant",
    ),
    sources=(
        "murari-slides",
        "scaman-slides",
        "virmaux2018",
        "fazlyab2019",
        "rump2006",
        "sedghi2019",
    ),
    assumes=(layers_of_known_constant, layers_compute_it),
    on=network,
    breaks_on=steeper_than_described,
    presets={
        "textbook": {},
        "bound twice the truth": {"kind": "absolute value"},
        "large": {"inputs": 784, "width": 256, "outputs": 10},
        "at the edge": {"kind": "second difference", "inputs": 8},
        "broken on purpose": {"hidden": "square"},
    },
)
def lipschitz_bounds(
    net: Network,
    rng: np.random.Generator,
    *,
    points: Annotated[
        int, Knob(16, 4096, "inputs tried for the slope", "n", log=True, least=1, most=16384)
    ] = 512,
    radius: Annotated[
        float, Knob(0.1, 10, "spread of random inputs", "ς", log=True, least=1e-6, most=1e6)
    ] = 1.0,
    climbs: Annotated[
        int, Knob(1, 128, "gradient ascents from the steepest inputs", "m", log=True, most=256)
    ] = 32,
) -> Evidence:
    r"""If $f=\sigma_L\circ A_L\circ\dots\circ\sigma_1\circ A_1$ with $A_\ell x=W_\ell x+b_\ell$, and $\sigma_\ell$ is
    $c_\ell$-Lipschitz, then
    $$\mathrm{Lip}(f)=\sup_{x\ne y}\frac{\|f(x)-f(y)\|}{\|x-y\|}\le\prod_{\ell=1}^Lc_\ell\,\|W_\ell\|_2.$$
    The exact constant is NP-hard to compute; for a periodic convolution $\|W\|_2=\max_\omega\|\hat\psi(\omega)\|_2$.
    Sharper are $\prod_\ell\|S_\ell W_\ell S_{\ell-1}^{-1}\|_2$ with rescaled neurons (diagonal $S_\ell>0$), products
    over pairs of layers (SeqLip), and, where slopes lie in $[0,c_\ell]$, a semidefinite program with diagonal
    multipliers (LipSDP), whose multipliers may also be chosen layer by layer (ECLipsE)."""
    starts = inputs_near(
        None if net.data is None else net.data.x, net.input_shape, points, radius, rng
    )
    secant = steepest_secant(net, starts, rng, climbs=climbs)
    found = f"the steepest secant found has slope {secant.slope:.6g}"
    if net.description is None:
        return _evidence_of_a_program(net, secant, found)

    layers = net.description.layers
    norms = layer_norms(net.description)
    product = product_bound(net.description, norms)
    crude = product_bound(net.description, tuple(frobenius_norm(layer.weight) for layer in layers))
    symbols = {
        k: norm
        for k, layer in enumerate(layers)
        if (norm := circulant_norm(layer.weight)) is not None
    }
    stretches = layer_stretches(net.description, secant.x.ravel(), secant.y.ravel())

    program = climb_above(net.description)
    ladder = {
        "steepest secant": secant.known,
        **program,
        "product of norms": product,
        "product of Frobenius norms": crude,
    }
    return Evidence(
        claims=(
            AtMost("Lip(f)", secant.known, product, witness=secant.against(product)),
            *(
                AtMost(f"Lip(f), by a {name}", secant.known, number, witness=secant.against(number))
                for name, number in program.items()
            ),
            *(
                Identity(f"norm of layer {k + 1}, matrix and symbol", norms[k], norm)
                for k, norm in symbols.items()
            ),
        ),
        charts=(_chart_stretches(net.description, norms, stretches), _chart_bounds(ladder)),
        numbers=ladder
        | {f"norm of layer {k + 1} by frequencies": norm for k, norm in symbols.items()},
        tables=(_tabulate_layers(net.description, norms, stretches),),
        summary=f"{found}; the product of norms is {product.hi:.6g}"
        + "".join(
            f", a {name} shows {program[name].hi:.6g}"
            for name in ("semidefinite program",)
            if name in program
        ),
    )


def _evidence_of_a_program(net: Network, secant: Secant, found: str) -> Evidence:
    bound = program_bound(net)
    if isinstance(bound, str):
        return Evidence((), numbers={"steepest secant": secant.known}, summary=found)
    ladder = {"steepest secant": secant.known, "product of constants": bound}
    return Evidence(
        claims=(AtMost("Lip(f)", secant.known, bound, witness=secant.against(bound)),),
        charts=(_chart_bounds(ladder),),
        numbers=ladder,
        summary=f"{found}; the product of the constants of all operations is {bound.hi:.6g}",
    )


# ---- mathematics -----------------------------------------------------------------------------------------------------


NAMES = {
    "product with rescaled neurons": "product with rescaled neurons",
    "pairs of layers (SeqLip)": "product over pairs of layers",
    "layer by layer (ECLipsE-style)": "program layer by layer",
    "semidefinite program (LipSDP)": "semidefinite program",
    "semidefinite program with ranges of slopes": "semidefinite program",
}
"""The bounds of the ladder beside the product of norms."""
WORK = 1.0  # for all of them


def climb_above(description: Description) -> dict[str, Enclosure]:
    """The bounds between the secant and the product, by name; of two programs the smaller."""
    chain = read_chain(description)
    if chain is None or not chain.has_finite_slopes or not chain.words:
        return {}
    found: dict[str, Enclosure] = {}
    for rung in climb_ladder(prepare_setting(chain, chain.global_ranges, 2, is_local=False), WORK):
        name = NAMES.get(rung.method)
        if (
            name is not None
            and np.isfinite(rung.value)
            and (name not in found or rung.value < found[name].hi)
        ):
            found[name] = Enclosure.exact(rung.value)
    return dict(sorted(found.items(), key=lambda item: item[1].hi))


def circulant_norm(W: np.ndarray) -> Enclosure | None:
    r"""$\|W\|_2=\max_\omega|\hat\psi(\omega)|$ of a square matrix $W$ that is the periodic convolution with $\psi$ on a
    ring (each column is the one before, moved on by one place); None of any other matrix."""
    if W.shape[0] != W.shape[1] or not np.array_equal(W, np.roll(W, (1, 1), (0, 1))):
        return None
    return convolution_norm(W[:, 0].reshape(-1, 1, 1), (len(W),))


@np.errstate(all="ignore")
def layer_stretches(description: Description, x: np.ndarray, y: np.ndarray) -> list[float]:
    r"""$\|x_\ell-y_\ell\|/\|x_{\ell-1}-y_{\ell-1}\|$ for the outputs $x_\ell,y_\ell$ of layer $\ell$ at two inputs.

    The product of these factors is the slope of the secant from `x` to `y`; each is at most $c_\ell\|W_\ell\|_2$.
    """
    before = float(np.linalg.norm(x - y))
    factors = []
    for layer in description.layers:
        sigma = activation(layer.activation).function
        x = np.asarray(sigma(jnp.asarray(layer.weight @ x + layer.bias)))
        y = np.asarray(sigma(jnp.asarray(layer.weight @ y + layer.bias)))
        after = float(np.linalg.norm(x - y))
        factors.append(after / before if before > 0 else 0.0)
        before = after
    return [factor if np.isfinite(factor) else 0.0 for factor in factors]


# ---- charts ----------------------------------------------------------------------------------------------------------


def _chart_stretches(
    description: Description, norms: tuple[Enclosure, ...], stretches: list[float]
) -> Bars:
    """Per layer, by how much it stretches the steepest secant, and by how much it can stretch any."""
    names = tuple(f"layer {k + 1}" for k in range(len(stretches)))
    most = [
        activation(layer.activation).lipschitz.hi * norm.hi
        for layer, norm in zip(description.layers, norms)
    ]
    most = [bound if np.isfinite(bound) else 0.0 for bound in most]
    groups = ("measured stretch", "spectral norm")
    return Bars(
        "stretch of each layer", Axis("factor"), names, groups, (tuple(stretches), tuple(most))
    )


def _chart_bounds(ladder: Mapping[str, Enclosure]) -> Bars:
    """The lower bound and both upper bounds of the Lipschitz constant."""
    values = {name: number.middle for name, number in ladder.items() if np.isfinite(number.middle)}
    scale = "log" if max(values.values()) > 100 * min(values.values()) > 0 else "linear"
    return Bars(
        "bounds of Lip(f)",
        Axis("Lip(f)", scale),
        tuple(values),
        ("bound",),
        (tuple(values.values()),),
    )


def _tabulate_layers(
    description: Description, norms: tuple[Enclosure, ...], stretches: list[float]
) -> Table:
    rows = [
        (k + 1, " × ".join(map(str, layer.weight.shape)), layer.activation, norm.middle, stretch)
        for k, (layer, norm, stretch) in enumerate(zip(description.layers, norms, stretches))
    ]
    return Table(
        "layers",
        ("layer", "weight", "activation", "spectral norm", "measured stretch"),
        tuple(rows),
    )
