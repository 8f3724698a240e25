"""One function as a graph: a forward sweep of values, a reverse sweep of adjoints, and its gradient."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
from flint import arb, ctx

from ftheta.certify.balls import PRECISION, ball_gradient, known, secant_slope
from ftheta.graph import GraphError, Tableau, named, tableau
from ftheta.graph.certain import is_smooth_at
from ftheta.graph.compiling import call_compiled
from ftheta.logic import (
    Axis,
    Basis,
    Claim,
    Curves,
    Enclosure,
    Evidence,
    Finding,
    Identity,
    Knob,
    Series,
    UsageError,
    Witness,
    hypothesis,
    theorem,
)
from ftheta.subjects import Target


def example(theta1: Any, theta2: Any) -> Any:
    theta3 = named(jnp.exp(theta1), "θ3")
    theta4 = named(theta2 * theta3, "θ4")
    theta5 = named(theta1 + theta4, "θ5")
    return named(theta4 * named(jnp.sqrt(theta5), "θ6"), "θ7")


def closed_formulas(theta1: float, theta2: float) -> list[Enclosure]:
    with ctx.workprec(PRECISION):
        e = arb(theta1).exp()
        u = theta2 * arb(theta1).exp()
        root = (theta1 + u).sqrt()
        return [
            known(u * root),
            known(u * root + u * (1 + u) / (2 * root)),
            known(e * (root + u / (2 * root))),
        ]


def worked_example(rng: np.random.Generator) -> Target:
    return Target("θ₂e^θ₁ √(θ₁ + θ₂e^θ₁)", example, (-1e3, -1e6), (1e3, 1e6), ("θ1", "θ2"))


def two_hinges(rng: np.random.Generator) -> Target:
    product = lambda x, y: y * (jax.nn.relu(x) - jax.nn.relu(-x))
    return Target("θ₁θ₂ from two hinges, at θ₁ = 0", product, (0.0, 1.0), (0.0, 1.0), ("θ1", "θ2"))


def both_sweeps(target: Target, theta1: float, theta2: float) -> Tableau | None:
    return sweep_in_box(target.f, target.lo, target.hi, (theta1, theta2), target.arguments)


@hypothesis(
    "every node is differentiable at its value",
    remedy="move the point off kinks and into the domain",
)
def smooth_nodes(target: Target, *, theta1: float, theta2: float) -> Finding:
    found = both_sweeps(target, theta1, theta2)
    if found is None:
        return Finding.failed("the function has no graph with one number as result")
    wrong = found.trouble
    if wrong:
        return Finding.failed("; ".join(wrong[:2]))
    note = f"{len(found.graph.nodes)} nodes, all finite"
    if is_smooth_at(found.graph, *[found.value[slot] for slot in found.graph.inputs]):
        return Finding.proved(
            note, "smooth operations at values that are enclosed with outward rounding"
        )
    return Finding.proved(note, "no node is at a kink, at its values in float64", basis=Basis.FLOAT)


@theorem(
    title="Forward and reverse sweep of a worked example",
    sources=("peyre-slides", "griewank2008", "johansson2017"),
    gist="A formula is a graph of elementary operations; one sweep forward computes its value and one sweep back "
    "all its partial derivatives, here followed by hand.",
    see_also=("reverse-mode", "forward-mode-and-finite-differences", "backprop-mlp"),
    assumes=(smooth_nodes,),
    on=worked_example,
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
    theta1: Annotated[
        float, Knob(-1, 3, "first coordinate of the point", "θ₁", least=-1e3, most=1e3)
    ] = 0.0,
    theta2: Annotated[
        float, Knob(0, 3, "second coordinate of the point", "θ₂", least=-1e6, most=1e6)
    ] = 1.0,
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
    if swept:
        pairs = zip(("ℓ", "∂ℓ/∂θ1", "∂ℓ/∂θ2"), swept, closed_formulas(*found.at))
        claims = tuple(
            Identity(f"{name}: sweep and closed formula", left, right)
            for name, left, right in pairs
        )
    else:
        claims = claim_secants(found) or claim_differences(found, rng)
    slopes = ", ".join(f"{g:.10g}" for g in found.gradient[:6])
    return Evidence(
        claims=claims,
        charts=(found.picture, _draw_section(found)),
        numbers=found.numbers,
        tables=(found.table,),
        summary=f"ℓ = {found.result:.10g}; the reverse sweep gives ∇ℓ = ({slopes})",
    )


def sweep_in_box(
    f: Callable[..., Any],
    lo: Sequence[float],
    hi: Sequence[float],
    wanted: Sequence[float],
    names: Sequence[str] = (),
) -> Tableau | None:
    """Both sweeps at the point `wanted`, moved into the box, its missing coordinates in the middle; with `names` the
    function takes scalars. None where the function has no graph or does not return one number."""
    middle = (np.asarray(lo, np.float64) + np.asarray(hi, np.float64)) / 2
    point = np.clip([*wanted, *middle[len(wanted) :]][: len(middle)], lo, hi).astype(np.float64)
    at = tuple(map(float, point)) if names or len(point) == 1 else (point,)
    try:
        return tableau(f, *at, names=names or None)
    except (GraphError, UsageError):
        return None


def _draw_section(found: Tableau) -> Curves:
    """The function along its first coordinate, with the tangent that the reverse sweep gives."""
    first = np.asarray(found.at[0], np.float64)
    step = np.zeros(first.shape)
    step[(0,) * first.ndim] = 1.0
    offsets = np.linspace(-1, 1, 101)
    line = jax.vmap(lambda t, start, rest: found.f(start + t * step, *rest), (0, None, None))
    heights = np.array(call_compiled(line, offsets, first, found.at[1:]), np.float64)
    tangent = found.result + found.gradient[0] * offsets
    curves = [
        ("function", heights, "measured"),
        ("tangent from the reverse sweep", tangent, "reference"),
    ]
    series = [_trace(name, float(first.flat[0]) + offsets, y, role) for name, y, role in curves]
    return Curves(
        "slope in the first coordinate", Axis(found.coordinates[0]), Axis("ℓ"), tuple(series)
    )


def claim_secants(found: Tableau) -> tuple[Claim, ...] | None:
    """Every entry of the gradient, by the reverse sweep in ball arithmetic, with the slope of a secant in ball
    arithmetic; None where there are no balls. A contradiction names the point and the two numbers."""
    point = [float(x) for x in found.at] if all(np.ndim(x) == 0 for x in found.at) else []
    swept = ball_gradient(found.graph, point)
    slopes = [secant_slope(found.graph, point, k) for k in range(len(point))]
    if swept is None or not slopes or any(slope is None for slope in slopes):
        return None
    at = dict(zip(found.coordinates, point))
    how = "secant of half-length 2^-400 through the point, in ball arithmetic"
    claims: list[Claim] = []
    for name, g, slope in zip(found.coordinates, swept[1:], slopes):
        if slope is not None:
            apart = g.lo > slope.hi or slope.lo > g.hi
            # of the secant itself, if not of the derivative
            exactly = Enclosure.between(slope.lo, slope.hi)
            witness = Witness(at, g, exactly, how) if apart else None
            claims.append(
                Identity(
                    f"∂ℓ/∂{name}: reverse sweep and secant of half-length 2⁻⁴⁰⁰",
                    g,
                    slope,
                    witness,
                    atol=1e-12,
                )
            )
    return tuple(claims)


def claim_differences(found: Tableau, rng: np.random.Generator) -> tuple[Claim, ...]:
    """The gradient along a random direction, with forward mode and with a central difference."""
    at = tuple(np.asarray(x, np.float64) for x in found.at)
    along = tuple(rng.normal(size=x.shape) for x in at)
    reverse = float(found.gradient @ np.concatenate([np.ravel(v) for v in along]))
    ahead = float(jax.jvp(found.f, at, along)[1])
    h = 1e-5
    ends = [float(found.f(*(x + sign * h * v for x, v in zip(at, along)))) for sign in (1, -1)]
    central = (ends[0] - ends[1]) / (2 * h)
    loose = 1e-6 * (1 + max(map(abs, ends)))
    if not np.isfinite([reverse, ahead, central]).all():
        return ()
    swept = Enclosure.equal(reverse)
    return (
        Identity(
            "slope along a direction: reverse and forward mode",
            swept,
            Enclosure.measured(ahead, samples=1),
        ),
        Identity(
            "the same and a central difference",
            swept,
            Enclosure.measured(central, samples=2),
            rtol=1e-5,
            atol=loose,
        ),
    )


def _trace(name: str, x: np.ndarray, y: np.ndarray, role: Any) -> Series:
    kept = np.isfinite(y)
    return Series(name, tuple(map(float, x[kept])), tuple(map(float, y[kept])), role)
