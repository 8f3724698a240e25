"""Finite differences are off by a V; dual numbers are not off at all, and take one pass for each input."""

from functools import partial
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.graph.differences import ULP
from ftheta.logic import (
    Adapter,
    AtMost,
    Axis,
    Curves,
    Enclosure,
    Evidence,
    Examples,
    Finding,
    Identity,
    Knob,
    Series,
    Witness,
    hypothesis,
    theorem,
)
from ftheta.subjects import Network, Target
from ftheta.subjects.inputs import real_inputs

from .differences import Slopes, slopes_of

FUNCTIONS = {
    "exp": jnp.exp,
    "sin": jnp.sin,
    "two hinges": lambda s: jax.nn.relu(s) - jax.nn.relu(-s),
}


def ridge(
    rng: np.random.Generator,
    *,
    function: Annotated[
        str, Knob(says="function of the sum of the inputs", choices=tuple(FUNCTIONS))
    ] = "exp",
    dimension: Annotated[int, Knob(1, 12, "number of inputs", "d", most=100)] = 4,
) -> Target:
    names = tuple(f"θ{k + 1}" for k in range(dimension)) if dimension > 1 else ()
    f = lambda *t: FUNCTIONS[function](sum(t[1:], t[0]))
    return Target(
        f"{function}(θ₁ + … + θ_d) at 0", f, (-1.0,) * dimension, (1.0,) * dimension, names
    )


def two_hinges(rng: np.random.Generator) -> Target:
    return ridge(rng, function="two hinges", dimension=1)


def sum_of_outputs(net: Network) -> Target:
    """The sum of a network's outputs at one input, its first row of data or 1/2: the box is that point."""
    x = np.full(net.input_shape, 0.5) if net.data is None else np.asarray(net.data.x[0], np.float64)
    total = lambda x: jnp.sum(net.apply(net.params, jnp.reshape(x, net.input_shape)))
    point = tuple(x.ravel().tolist())
    return Target(net.name, total, point, point)


def program(subject: Target) -> Slopes | None:
    """A function at the middle of its box."""
    return slopes_of(subject.f, subject.example, subject.arguments)


@hypothesis(
    r"$f$ is twice differentiable on the way from $\theta$ to $\theta+\varepsilon e_1$, with bounded $f''$",
    remedy="move the point off kinks, write the function in jax.numpy, or return one number",
    name="two derivatives",
)
def twice_differentiable(subject: Target) -> Finding:
    found = program(subject)
    if found is None:
        return Finding.failed(
            "the function has no graph with forward mode and one number as result"
        )
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
    sources=("peyre-slides", "griewank2008"),
    gist="Finite differences trade truncation against rounding and lose half of the digits at best; forward-mode "
    "differentiation is exact up to rounding, but takes one pass per input.",
    see_also=("reverse-mode", "backprop-mlp", "worked-example-graph"),
    assumes=(twice_differentiable,),
    adapters=(Adapter(Network, sum_of_outputs, real_inputs),),
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
    subject: Target,
    rng: np.random.Generator,
    *,
    epsilon: Annotated[
        float, Knob(1e-12, 0.1, "step of the difference", "ε", log=True, least=1e-15, most=1.0)
    ] = 0.01,
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
    difference = found.difference(epsilon)
    exact = float(found.forward_mode[0])
    numbers = {
        "one-sided difference": difference,
        "forward mode": exact,
        "evaluations": Enclosure.exact(found.evaluations(epsilon)),
        "best step": best.size,
        "error at the best step": best.error.hi,
        "square root of u": ULP**0.5,
    }
    summary = (
        f"with ε = {epsilon:.3g} the difference is {difference:.12g}, forward mode gives {exact:.12g}; the best step "
        f"is {best.size:.2g} with error {best.error.hi:.2g}"
    )
    claims = (_claim_error(found), *_claim_exactness(found))
    return Evidence(
        claims,
        (_draw_errors(found),),
        numbers,
        summary=summary,
        examples=partial(_examples, found, epsilon),
    )


def _claim_error(found: Slopes) -> AtMost:
    worst = max(found.steps, key=lambda s: s.ratio)
    ratio = Enclosure.at_least(worst.ratio, samples=len(found.steps))
    again = Witness(
        {"ε": worst.size}, worst.error, worst.bound, "error and bound at this step, in intervals"
    )
    return AtMost(
        "error of the difference ÷ its bound, over all steps",
        ratio,
        Enclosure.exact(1),
        witness=again,
    )


def _claim_exactness(found: Slopes) -> tuple[Identity, ...]:
    """Forward mode in the worst coordinate beside an enclosure of the derivative."""
    if found.derivative is None:
        return ()
    lo, hi = found.derivative
    gap = np.maximum(np.maximum(lo - found.forward_mode, found.forward_mode - hi), 0.0)
    k = int(np.argmax(gap / np.maximum(np.abs(found.forward_mode), 1e-300)))
    name = found.found.coordinates[k]
    forward = Enclosure.equal(float(found.forward_mode[k]))
    scale = 1e-13 * float(np.max(np.abs(found.forward_mode)))
    enclosed = Enclosure.between(float(lo[k]), float(hi[k]))
    return (
        Identity(f"∂f/∂{name} (worst): forward mode and enclosure", forward, enclosed, atol=scale),
    )


def _draw_errors(found: Slopes) -> Curves:
    """The V: truncation to the right, rounding to the left."""
    kept = [s for s in found.steps if np.isfinite(s.error.hi) and s.error.hi > 0]
    eps = [s.size for s in kept]
    series = (
        Series("bound", eps, [s.bound.hi for s in kept], "bound"),
        Series("one-sided difference", eps, [s.error.hi for s in kept]),
        Series("central difference", eps, [max(s.central, 1e-18) for s in kept], "other"),
    )
    shown = tuple(s for s in series if np.isfinite(s.y).all())
    return Curves(
        "error of finite differences",
        Axis("step ε", "log"),
        Axis("error of the slope", "log"),
        shown,
    )


def _examples(found: Slopes, epsilon: float) -> Examples:
    """The evaluations of our own differences, counted."""
    counted = Enclosure.exact(found.evaluations(epsilon))
    return Examples(
        (
            Identity(
                "evaluations for d differences: d + 1",
                counted,
                Enclosure.exact(found.dimension + 1),
            ),
        )
    )
