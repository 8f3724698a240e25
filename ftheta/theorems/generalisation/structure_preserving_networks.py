"""Structure by construction: symplectic, convex, monotone, and physics in the loss."""

from typing import Annotated

import jax.numpy as jnp
import numpy as np

from ftheta.generalisation.shift.physics import informed
from ftheta.generalisation.shift.shears import SympNet, exact_map, random_shears
from ftheta.generalisation.shift.signs import input_convex, with_signs
from ftheta.generalisation.shift.structure_study import PROPERTIES, Structured, evidence
from ftheta.logic import Basis, Evidence, Finding, Knob, Status, hypothesis, theorem
from ftheta.networks import random_mlp
from ftheta.pieces.normal_forms import normal_form
from ftheta.subjects import Network
from ftheta.subjects.layers import describes_this_function


def structured(
    rng: np.random.Generator,
    *,
    property: Annotated[str, Knob(says="which structure", choices=PROPERTIES)] = "symplectic",
    hidden: Annotated[str, Knob(says="activation", symbol="σ", choices=("relu", "softplus", "tanh"))] = "relu",
    width: Annotated[int, Knob(1, 8, "neurons of a layer", "m", most=32)] = 4,
) -> Network:
    if property == "symplectic":
        return Network("SympNet", SympNet(hidden), random_shears(rng, 1, width, 4), (2,))
    if property == "physics":
        return Network.described(informed(rng, 4 * width, 20, 1500), "network trained on u′ = −u")
    if property == "convex" and hidden == "relu":
        return Network("input-convex network", *input_convex(rng, 2, width), (2,))
    layers = random_mlp(rng, (2, width, width, 1), hidden, bias=0.5)
    layers = layers if property == "any" else with_signs(layers, first=property == "monotone")
    return Network.described(layers, f"{property} network")


def euler_step(rng: np.random.Generator) -> Network:
    return Network.of(lambda z: jnp.array([z[0] + 0.1 * z[1], z[1] - 0.1 * jnp.maximum(z[0], 0)]), (2,), "Euler step")


def subject_of(net: Network) -> Structured:
    d, size = int(np.prod(net.input_shape)), net.input_shape
    f = lambda x: jnp.ravel(net.apply(net.params, x.reshape(size)))
    rows = None if net.data is None else net.data.x.reshape(len(net.data), d)
    layers = net.description if describes_this_function.check(net).status is Status.PROVED else None
    made = isinstance(net.apply, SympNet)
    shears = exact_map(net.params) if net.apply == SympNet("relu") else None
    return Structured(net.name, d, f, normal_form(net), layers, shears, rows, made)


@hypothesis(
    "the network is built so: shears for symplectic, signs of weights for convex and monotone",
    remedy="ask for --property any to see what it has; non-negative weights and convex, monotone activations",
)
def built_so(net: Network, *, property: str, output: int) -> Finding:
    given = subject_of(net)
    if property == "physics":
        sizes = (given.dimension, int(np.prod(net.output_shape)))
        return Finding.decide(sizes == (1, 1), f"inputs and outputs: {sizes}", "counted", basis=Basis.EXACT)
    if property == "any":
        return Finding.proved("nothing is asked", "an empty statement")
    holds = given.by_construction(output)[property]
    note = f"{property} by construction" if holds else f"nothing in its layers makes it {property}"
    return Finding.decide(holds, note, "its signs", basis=Basis.EXACT if given.shears else normal_form(net).basis)


@theorem(
    title="Networks that preserve a structure",
    sources=("seed 2", "jin2020", "amos2017", "greydanus2019", "raissi2019", "hairer1993"),
    assumes=(built_so,),
    on=structured,
    breaks_on=euler_step,
    presets={
        "textbook": {},
        "long time": {"h": 0.5, "steps": 200},
        "input-convex": {"property": "convex"},
        "smooth and convex": {"property": "convex", "hidden": "softplus"},
        "monotone": {"property": "monotone", "hidden": "tanh"},
        "physics-informed": {"property": "physics"},
        "anything": {"property": "any"},
        "broken on purpose": {"property": "convex", "hidden": "tanh"},
    },
    audited=False,
)
def structure_preserving_networks(
    net: Network,
    rng: np.random.Generator,
    *,
    property: Annotated[str, Knob(says="which structure", choices=PROPERTIES)] = "symplectic",
    h: Annotated[float, Knob(0.01, 1, "step of leapfrog and Euler", "h", log=True, most=1.9)] = 0.1,
    steps: Annotated[int, Knob(1, 300, "steps of the oscillator", "k", most=1000)] = 100,
    degree: Annotated[int, Knob(1, 16, "degree of the collocation polynomial", "n", most=24)] = 8,
    output: Annotated[int, Knob(0, 9, "which output", "j", most=10_000)] = 0,
) -> Evidence:
    r"""Compositions of shears (leapfrog, SympNets) satisfy $J^\top\Omega J=\Omega$, Euler's step has $\det J=1+h^2$ and
    multiplies the energy of $q''=-q$ by $1+h^2$. Non-negative weights and monotone $\sigma$ give monotone networks;
    non-negative weights between hidden layers, free weights from the input and convex non-decreasing $\sigma$ convex
    ones. If $|u'+u|\le\varepsilon$ on $[0,1]$, then $|u(1)-e^{-1}|\le e^{-1}|u(0)-1|+(1-e^{-1})\varepsilon$: a loss
    that is zero at points does not say so between them."""
    return evidence(subject_of(net), rng, property, h, steps, degree, output)
