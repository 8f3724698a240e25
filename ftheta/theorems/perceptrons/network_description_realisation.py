"""A list of layers describes a network; the function it computes is its realisation."""

from itertools import pairwise
from typing import Annotated

import jax
import numpy as np

from ftheta.logic import AtMost, Enclosure, Evidence, Finding, Identity, Knob, hypothesis, theorem
from ftheta.networks import ACTIVATIONS, Dense, Description, count, random_mlp
from ftheta.networks.realisation import STORED, compared, diagram, differing, layer_table, layers_of
from ftheta.networks.realisation import lost_in_a_file, permuted, sizes, states
from ftheta.subjects import Network

ROUNDING = 1e-9  # of the largest state on the way: what two orders of summation may differ by


def dense(
    rng: np.random.Generator,
    *,
    sizes: Annotated[
        str, Knob(says="sizes of the layers", symbol="d", choices=("3-5-2", "784-512-256-10", "1-1", "2-1-1-1-1-2"))
    ] = "3-5-2",
    activation: Annotated[str, Knob(says="activation", symbol="ϱ", choices=tuple(ACTIVATIONS))] = "relu",
    pruned: Annotated[float, Knob(0, 1, "share of the weights that are set to zero", "s")] = 0.0,
    forgets: Annotated[
        str, Knob(says="what the description leaves out", choices=("nothing", "biases", "activations"))
    ] = "nothing",
) -> Network:
    drawn = random_mlp(rng, [int(d) for d in sizes.split("-")], activation, bias=0.5)
    kept = [Dense(y.weight * (rng.random(y.weight.shape) >= pruned), y.bias, y.activation) for y in drawn.layers]
    true = Description(tuple(kept))
    told = [Dense(y.weight, y.bias * (forgets != "biases"), y.activation) for y in kept]
    if forgets == "activations":
        told = [Dense(y.weight, y.bias) for y in kept]
    described = true if forgets == "nothing" else Description(tuple(told))
    return Network(f"dense {sizes}, {activation}", true.apply, true.params, (true.widths[0],), described)


def biases_left_out(rng: np.random.Generator) -> Network:
    return dense(rng, forgets="biases")


@hypothesis(r"the layers $(W_\ell,b_\ell)$ are known", remedy="give an .npz with W0, b0, … or an equinox MLP")
def described(net: Network) -> Finding:
    if net.description is None:
        return Finding.failed(f"a function with {net.parameters:,} parameters whose layers are not known")
    return Finding.proved("-".join(map(str, net.description.widths)))


@hypothesis(r"they are those of $f_\theta$", remedy="correct the weights, biases or activations of the description")
def describes_this_function(net: Network) -> Finding:
    if net.description is None:
        return Finding.failed("unknown without layers")
    own = getattr(net.apply, "__self__", None) is net.description
    if own and all(a is b for p, q in zip(net.params, net.description.params) for a, b in zip(p, q)):
        return Finding.proved("the function is computed from this list of layers")
    x = np.random.default_rng(0).normal(size=(64, net.description.widths[0]))
    passed = states(net.description, x)
    seen = compared(np.asarray(jax.vmap(net)(x)).reshape(64, -1), passed[-1][1], passed)
    gap = abs(seen.left.middle - seen.right.middle)
    note = f"at 64 points the two differ by at most {gap:.3g}"
    return Finding.sampled(note) if gap <= ROUNDING * seen.scale else Finding.failed(note, Enclosure.equal(gap))


@theorem(
    title="A network's description and its realisation",
    sources=("seed 0", "seed 1", "seed 2", "seed 3", "seed 4"),
    assumes=(described, describes_this_function),
    on=dense,
    breaks_on=biases_left_out,
    presets={
        "textbook": {},
        "half a million parameters": {"sizes": "784-512-256-10"},
        "at the edge": {"sizes": "1-1", "pruned": 1.0},
        "broken on purpose": {"forgets": "activations", "activation": "tanh"},
    },
    errata=r"""Seed 2 types the output matrix of a shallow network $\mathbb R^d\to\mathbb R^c$ as $A_1\in\mathbb R^{d\times
    h}$, must be $\mathbb R^{c\times h}$; it swaps $(c,d)$ between slides and numbers the $L+1$ affine maps around $L$
    activations $1,\dots,L$, must be $0,\dots,L$. Seed 3 dates the multi-layer perceptron “75”; it is of 1986.""",
)
def network_description_realisation(
    net: Network,
    rng: np.random.Generator,
    *,
    points: Annotated[int, Knob(1, 1000, "inputs at which it is evaluated", "m", log=True, most=10_000)] = 64,
) -> Evidence:
    r"""The description $\theta=(W_\ell,b_\ell)_{\ell\le L}$, $W_\ell\in\mathbb R^{d_\ell\times d_{\ell-1}}$, realises
    $$f_\theta=A_L\circ\varrho\circ A_{L-1}\circ\dots\circ\varrho\circ A_1,\qquad A_\ell(x)=W_\ell x+b_\ell,$$
    through $2L-1$ maps. It has $\sum_{\ell<L}d_\ell$ neurons, at most $\sum_\ell d_{\ell-1}d_\ell$ connections and
    $\sum_\ell(d_{\ell-1}+1)d_\ell$ parameters. $\theta\mapsto f_\theta$ is not injective: neurons may change places."""
    theta = layers_of(net.description)
    widths, counts = theta.widths, count(theta)
