"""Claims about both sweeps of one program at one point (a `Tableau`), each beside another way to the gradient."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from ftheta.graph import GraphError, Tableau, tableau
from ftheta.graph.compiling import call_compiled
from ftheta.logic import Axis, Claim, Curves, Enclosure, Identity, Series, UsageError, Witness

from .balls import ball_gradient, secant_slope


def sweep_in_box(
    f: Callable[..., Any], lo: Sequence[float], hi: Sequence[float], wanted: Sequence[float], names: Sequence[str] = ()
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


def section(found: Tableau) -> Curves:
    """The function along its first coordinate, with the tangent that the reverse sweep gives."""
    first = np.asarray(found.at[0], np.float64)
    step = np.zeros(first.shape)
    step[(0,) * first.ndim] = 1.0
    offsets = np.linspace(-1, 1, 101)
    line = jax.vmap(lambda t, start, rest: found.f(start + t * step, *rest), (0, None, None))
    heights = np.array(call_compiled(line, offsets, first, found.at[1:]), np.float64)
    tangent = found.result + found.gradient[0] * offsets
    curves = [("function", heights, "measured"), ("tangent from the reverse sweep", tangent, "reference")]
    series = [_finite(name, float(first.flat[0]) + offsets, y, role) for name, y, role in curves]
    return Curves("slope in the first coordinate", Axis(found.coordinates[0]), Axis("ℓ"), tuple(series))


def against_secants(found: Tableau) -> tuple[Claim, ...] | None:
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
            exactly = Enclosure.between(slope.lo, slope.hi)  # of the secant itself, if not of the derivative
            witness = Witness(at, g, exactly, how) if apart else None
            claims.append(
                Identity(f"∂ℓ/∂{name}: reverse sweep and secant of half-length 2⁻⁴⁰⁰", g, slope, witness, atol=1e-12)
            )
    return tuple(claims)


def against_differences(found: Tableau, rng: np.random.Generator) -> tuple[Claim, ...]:
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
        Identity("slope along a direction: reverse and forward mode", swept, Enclosure.measured(ahead, samples=1)),
        Identity(
            "the same and a central difference", swept, Enclosure.measured(central, samples=2), rtol=1e-5, atol=loose
        ),
    )


def _finite(name: str, x: np.ndarray, y: np.ndarray, role: Any) -> Series:
    kept = np.isfinite(y)
    return Series(name, tuple(map(float, x[kept])), tuple(map(float, y[kept])), role)
