"""A network is no steeper than the product of its layers."""

from dataclasses import replace
from typing import Annotated

import numpy as np

from ftheta.certify import inputs_near, steepest_secant
from ftheta.certify.ladder import HINGES, KNOWN, ladder
from ftheta.logic import Evidence, Finding, Knob, hypothesis, theorem
from ftheta.networks import ACTIVATIONS, activation, random_mlp
from ftheta.subjects import Network
from ftheta.subjects.layers import describes_this_function


def network(
    rng: np.random.Generator,
    *,
    kind: Annotated[str, Knob(says="which network", symbol="f", choices=("random", *KNOWN))] = "random",
    inputs: Annotated[int, Knob(1, 784, "number of inputs", "d₀", log=True, most=4096)] = 2,
    width: Annotated[int, Knob(1, 256, "neurons in each hidden layer", "w", log=True, most=512)] = 32,
    depth: Annotated[int, Knob(1, 8, "number of affine maps", "L", most=12)] = 3,
    outputs: Annotated[int, Knob(1, 10, "number of outputs", "d_L", most=100)] = 1,
    hidden: Annotated[str, Knob(says="activation of hidden layers", symbol="σ", choices=tuple(ACTIVATIONS))] = "relu",
) -> Network:
    if kind in KNOWN:
        return Network.described(KNOWN[kind](inputs), kind)
    description = random_mlp(rng, (inputs, *[width] * (depth - 1), outputs), hidden, bias=0.5)
    return Network.described(description, f"random {hidden} network {'-'.join(map(str, description.widths))}")


def steeper_than_described(rng: np.random.Generator) -> Network:
    told = Network.described(HINGES, "described as |t|, applies 9|t|")
    return replace(told, apply=lambda params, x: HINGES.apply(params, 9 * x))


@hypothesis(
    r"every layer is $x\mapsto\sigma(Wx+b)$ with $\sigma$ of known Lipschitz constant",
    remedy="hand in layers with named activations (an .npz weight list, an MLP module); `square` has no constant",
)
def layers_of_known_constant(net: Network) -> Finding:
    if net.description is None:
        return Finding.failed("the network is a function without a list of layers")
    worst = max((activation(layer.activation).lipschitz for layer in net.description.layers), key=lambda c: c.hi)
    note = f"{len(net.description.layers)} layers, the steepest activation has constant {worst.hi:.6g}"
    return Finding.decide(np.isfinite(worst.hi), note, "closed forms by name", worst, basis=worst.basis)


@theorem(
    title="Lipschitz constant of a composition",
    sources=("seed 2", "seed 3", "virmaux2018", "rump2006", "sedghi2019"),
    assumes=(layers_of_known_constant, describes_this_function),
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
    points: Annotated[int, Knob(16, 4096, "inputs tried for the slope", "n", log=True, least=1, most=16384)] = 512,
    radius: Annotated[float, Knob(0.1, 10, "spread of random inputs", "ς", log=True, least=1e-6, most=1e6)] = 1.0,
    climbs: Annotated[int, Knob(1, 128, "gradient ascents from the steepest inputs", "m", log=True, most=256)] = 32,
) -> Evidence:
    r"""If $f=\sigma_L\circ A_L\circ\dots\circ\sigma_1\circ A_1$ with $A_\ell x=W_\ell x+b_\ell$, and $\sigma_\ell$ is
    $c_\ell$-Lipschitz, then
    $$\mathrm{Lip}(f)=\sup_{x\ne y}\frac{\|f(x)-f(y)\|}{\|x-y\|}\le\prod_{\ell=1}^Lc_\ell\,\|W_\ell\|_2.$$
    The exact constant is NP-hard to compute; for a periodic convolution $\|W\|_2=\max_\omega\|\hat\psi(\omega)\|_2$."""
    starts = inputs_near(None if net.data is None else net.data.x, net.input_shape, points, radius, rng)
    if net.description is None:
        met = steepest_secant(net, starts, rng, climbs=climbs).known
        return Evidence((), numbers={"steepest secant": met}, summary=f"the steepest secant met has slope {met.lo:.6g}")
    rungs = ladder(net, net.description, starts, rng, climbs=climbs)
    met = f"the steepest secant met has slope {rungs.secant.slope:.6g}"
    return Evidence(
        rungs.claims(),
        rungs.charts,
        rungs.numbers,
        (rungs.table,),
        summary=f"{met}; the product of norms is {rungs.product.hi:.6g}",
    )
