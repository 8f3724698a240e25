"""One function as a graph: a forward sweep of values, a reverse sweep of adjoints, and its gradient."""

from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
from flint import arb, ctx

from ftheta.certify.balls import PRECISION, ball_gradient, known
from ftheta.certify.sweeps import against_differences, against_secants, section, sweep_in_box
from ftheta.graph import Tableau, named
from ftheta.graph.certain import is_smooth_at
from ftheta.logic import Basis, Enclosure, Evidence, Finding, Identity, Knob, hypothesis, theorem
from ftheta.subjects import Target


def example(theta1: Any, theta2: Any) -> Any:
    theta3 = named(jnp.exp(theta1), "θ3")
    theta4 = named(theta2 * theta3, "θ4")
    theta5 = named(theta1 + theta4, "θ5")
    return named(theta4 * named(jnp.sqrt(theta5), "θ6"), "θ7")


def closed_formulas(theta1: float, theta2: float) -> list[Enclosure]:
    with ctx.workprec(PRECISION):
        e, u = arb(theta1).exp(), theta2 * arb(theta1).exp()
        root = (theta1 + u).sqrt()
        return [known(u * root), known(u * root + u * (1 + u) / (2 * root)), known(e * (root + u / (2 * root)))]


def worked(rng: np.random.Generator) -> Target:
    return Target("θ₂e^θ₁ √(θ₁ + θ₂e^θ₁)", example, (-1e3, -1e6), (1e3, 1e6), ("θ1", "θ2"))


def two_hinges(rng: np.random.Generator) -> Target:
    product = lambda x, y: y * (jax.nn.relu(x) - jax.nn.relu(-x))
    return Target("θ₁θ₂ from two hinges, at θ₁ = 0", product, (0.0, 1.0), (0.0, 1.0), ("θ1", "θ2"))


def both_sweeps(target: Target, theta1: float, theta2: float) -> Tableau | None:
    return sweep_in_box(target.f, target.lo, target.hi, (theta1, theta2), target.arguments)


@hypothesis("every node is differentiable at its value", remedy="move the point off kinks and into the domain")
def smooth_nodes(target: Target, *, theta1: float, theta2: float) -> Finding:
    found = both_sweeps(target, theta1, theta2)
    if found is None:
        return Finding.failed("the function has no graph with one number as result")
    wrong = found.trouble
    if wrong:
        return Finding.failed("; ".join(wrong[:2]))
    note = f"{len(found.graph.nodes)} nodes, all finite"
    if is_smooth_at(found.graph, *[found.value[slot] for slot in found.graph.inputs]):
        return Finding.proved(note, "smooth operations at values that are enclosed with outward rounding")
    return Finding.proved(note, "no node is at a kink, at its values in float64", basis=Basis.FLOAT)


@theorem(
    title="Forward and reverse sweep of a worked example",
    sources=("seed 0", "griewank2008", "johansson2017"),
    assumes=(smooth_nodes,),
    on=worked,
    breaks_on=two_hinges,
    presets={
        "textbook": {},
        "irrational": {"theta1": 1.0, "theta2": 2.0},
        "hard, large values": {"theta1": 50.0, "theta2": 3.0},
        "at the edge": {"theta1": -0.5671432904, "theta2": 1.0},
        "broken on purpose": {"theta1": -1.0, "theta2": 1.0},
    },
)
def worked_example_graph(
    target: Target,
    rng: np.random.Generator,
    *,
    theta1: Annotated[float, Knob(-1, 3, "first coordinate of the point", "θ₁", least=-1e3, most=1e3)] = 0.0,
    theta2: Annotated[float, Knob(0, 3, "second coordinate of the point", "θ₂", least=-1e6, most=1e6)] = 1.0,
) -> Evidence:
    r"""$\ell=\theta_2e^{\theta_1}\sqrt{\theta_1+\theta_2e^{\theta_1}}$ is the graph $\theta_3=e^{\theta_1}$,
    $\theta_4=\theta_2\theta_3$, $\theta_5=\theta_1+\theta_4$, $\theta_6=\sqrt{\theta_5}$, $\theta_7=\theta_4\theta_6$.
    One reverse sweep gives its gradient: with $u=\theta_4$ and $s=\theta_5>0$,
    $$\partial_1\ell=u\sqrt s+\frac{u(1+u)}{2\sqrt s},\qquad
    \partial_2\ell=e^{\theta_1}\Big(\sqrt s+\frac u{2\sqrt s}\Big).$$"""
    found = both_sweeps(target, theta1, theta2)
    if found is None:
        return Evidence((), summary="there is no graph to sweep")
    swept = ball_gradient(found.graph, found.at) if target.f is example else None
    claims = () if swept else against_secants(found) or against_differences(found, rng)
    for name, left, right in zip(("ℓ", "∂ℓ/∂θ1", "∂ℓ/∂θ2"), swept or (), closed_formulas(*found.at) if swept else ()):
        claims += (Identity(f"{name}: sweep and closed formula", left, right),)
    slopes = ", ".join(f"{g:.10g}" for g in found.gradient[:6])
    told = f"ℓ = {found.result:.10g}; the reverse sweep gives ∇ℓ = ({slopes})"
    return Evidence(claims, (found.picture, section(found)), found.numbers, (found.table,), summary=told)
