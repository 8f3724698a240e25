"""Finite differences are off by a V; dual numbers are not off at all, and take one pass for each input."""

from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.certify.differences import Slopes, slopes_of
from ftheta.graph.differences import ULP
from ftheta.logic import Enclosure, Evidence, Finding, Knob, hypothesis, theorem
from ftheta.subjects import Network, Target
from ftheta.subjects.inputs import real_inputs

FUNCTIONS = {"exp": jnp.exp, "sin": jnp.sin, "two hinges": lambda s: jax.nn.relu(s) - jax.nn.relu(-s)}


def ridge(
    rng: np.random.Generator,
    *,
    function: Annotated[str, Knob(says="function of the sum of the inputs", choices=tuple(FUNCTIONS))] = "exp",
    dimension: Annotated[int, Knob(1, 12, "number of inputs", "d", most=100)] = 4,
) -> Target:
    names = tuple(f"θ{k + 1}" for k in range(dimension)) if dimension > 1 else ()
    f = lambda *t: FUNCTIONS[function](sum(t[1:], t[0]))
    return Target(f"{function}(θ₁ + … + θ_d) at 0", f, (-1.0,) * dimension, (1.0,) * dimension, names)


def two_hinges(rng: np.random.Generator) -> Target:
    return ridge(rng, function="two hinges", dimension=1)


def program(subject: Target | Network) -> Slopes | None:
    """A function at the middle of its box; the sum of a network's outputs at its first data row, or at 1/2."""
    if isinstance(subject, Target):
        return slopes_of(subject.f, subject.example, subject.arguments)
    x = np.full(subject.input_shape, 0.5) if subject.data is None else np.asarray(subject.data.x[0], np.float64)
    total = lambda x: jnp.sum(subject.apply(subject.params, x))
    return slopes_of(total, (x,))


@hypothesis(
    r"$f$ is twice differentiable on the way from $\theta$ to $\theta+\varepsilon e_1$, with bounded $f''$",
    remedy="move the point off kinks, write the function in jax.numpy, or return one number",
)
def twice_differentiable(subject: Target | Network) -> Finding:
    found = program(subject)
    if found is None:
        return Finding.failed("the function has no graph with forward mode and one number as result")
    if found.found.trouble:
        return Finding.failed("; ".join(found.found.trouble[:2]))
    if found.reach == 0:
        return Finding.failed("a kink or jump may lie within the smallest step")
    if not np.isfinite(found.curvature):
        return Finding.failed("the second derivative has no finite enclosure")
    note = f"up to ε = {found.reach:.3g} no kink, and |f''| ≤ {found.curvature:.4g}, in interval arithmetic"
    return Finding.proved(note, "intervals rounded outward", Enclosure.at_most(found.curvature))


@theorem(
    title="Forward mode and finite differences",
    sources=("seed 0", "griewank2008"),
    assumes=(real_inputs, twice_differentiable),
    on=ridge,
    breaks_on=two_hinges,
    presets={
        "textbook": {},
        "one input": {"dimension": 1},
        "many inputs": {"dimension": 30},
        "at the edge, best step": {"epsilon": 1.4901161193847656e-08},
        "broken on purpose": {"function": "two hinges"},
    },
)
def forward_mode_and_finite_differences(
    subject: Target | Network,
    rng: np.random.Generator,
    *,
    epsilon: Annotated[float, Knob(1e-12, 0.1, "step of the difference", "ε", log=True, least=1e-15, most=1.0)] = 0.01,
) -> Evidence:
    r"""All $d$ one-sided differences $\frac{f(\theta+\varepsilon e_k)-f(\theta)}\varepsilon$ take $d+1$ evaluations.
    If evaluations are accurate to $u$, each difference is off by at most
    $$\frac\varepsilon2\max|f''|+\frac{2u|f|}\varepsilon,$$
    which is smallest at $\varepsilon\sim\sqrt u$. Forward mode, dual numbers on the graph,
    $\dot\theta_j=\sum_{i\in\mathrm{Parent}(j)}\partial_ig_j\,\dot\theta_i$, is exact up to rounding and takes one
    pass for each input."""
    found = program(subject)
    if found is None:
        return Evidence((), summary="there is no graph to differentiate")
    best = min(found.steps, key=lambda s: s.error.hi)
    difference, exact = found.difference(epsilon), float(found.forward_mode[0])
    numbers = {
        "one-sided difference": difference,
        "forward mode": exact,
        "evaluations": Enclosure.exact(found.evaluations(epsilon)),
        "best step": best.size,
        "error at the best step": best.error.hi,
        "square root of u": ULP**0.5,
    }
    told = f"with ε = {epsilon:.3g} the difference is {difference:.12g}, forward mode gives {exact:.12g}; the best step"
    summary = f"{told} is {best.size:.2g} with error {best.error.hi:.2g}"
    return Evidence(found.claims(epsilon), (found.picture,), numbers, summary=summary)
