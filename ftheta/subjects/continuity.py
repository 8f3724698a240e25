"""Hypotheses on functions of one variable: continuous targets, activations that are no polynomials."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import inf, isfinite
from typing import Any

import jax
import numpy as np

from ftheta.approximation.suprema import Oscillation, count_values, without_jumps
from ftheta.graph.certain import bounds_over, is_continuous, is_pole_free, polynomial_degree
from ftheta.graph.jaxprs import trace
from ftheta.logic.enclosure import Enclosure
from ftheta.logic.errors import SubjectError
from ftheta.logic.hypotheses import Finding, Status, hypothesis
from ftheta.networks.sheets import sheet

from .kinds import Family, Target

NO_JUMP = (
    "every operation of its graph is continuous, and finite on the interval in interval arithmetic"
)
GRID = 513
PARTS = {"for x ≤ 0": (-inf, 0.0), "for x ≥ 0": (0.0, inf), "on the line": (-inf, inf)}
_ENDS = np.geomspace(1e-3, 100.0, 33)
CELLS = np.concatenate([np.stack([-1.001 * _ENDS, -_ENDS], 1), np.stack([_ENDS, 1.001 * _ENDS], 1)])
"""Short intervals on both sides of 0 on which a function is enclosed."""


def target_of(subject: Target | Family) -> Target:
    """The function itself, or the limit of the family."""
    goal = subject.limit if isinstance(subject, Family) else subject
    if isinstance(goal, Target):
        return goal
    raise SubjectError(
        "There is no function to approximate.", got=type(goal).__name__, remedy="give a Target"
    )


def missing_on_interval(f: Target) -> str:
    """What keeps f from being a real function on an interval $[a,b]$ with $a<b$; empty if nothing does."""
    return f"a function of {f.dimension} variables" if f.dimension != 1 else missing_on_box(f)


def missing_on_box(f: Target) -> str:
    """What keeps f from being a real function on a bounded box that is nowhere flat; empty if nothing does."""
    for lo, hi in zip(f.lo, f.hi):
        if not (isfinite(lo) and isfinite(hi)):
            return f"the interval from {lo:g} to {hi:g} is not bounded"
        if lo == hi:
            return f"a single point, {lo:g}, is no interval"
    values = count_values(f.of_point, f.dimension)
    return "" if values == 1 else f"{values} values at each point"


@hypothesis(
    r"$f$ is real and continuous on $[a,b]$", remedy="give a Target of one variable without jumps"
)
def continuous(subject: Target | Family) -> Finding:
    """Proved by the program or the closed form; else looked at on a grid of the interval."""
    f = target_of(subject)
    missing = missing_on_interval(f)
    if missing:
        return Finding.failed(missing)
    if not isfinite(Oscillation.of(f.f, f.lo[0], f.hi[0]).modulus(f.hi[0] - f.lo[0]).hi):
        return Finding.failed("it may be unbounded on the interval")
    sure = without_jumps(f.f, 1)
    if not sure:
        return Finding.assumed("its program makes choices")
    return Finding.proved("no part of its program can jump", NO_JUMP)


def continuous_everywhere(f: Target) -> bool:
    """Whether the program of a function of one variable has neither jumps nor poles on the whole line."""
    with jax.enable_x64(True):
        graph = trace(f.f, jax.ShapeDtypeStruct((), np.float64), fold_rounded=False)
    return is_continuous(graph) and is_pole_free(graph, -inf, inf)


def continuous_on_box(f: Target) -> bool:
    """Whether the program has neither jumps nor poles on its box."""
    shape = () if f.dimension == 1 else (f.dimension,)
    with jax.enable_x64(True):
        graph = trace(f.of_point, jax.ShapeDtypeStruct(shape, np.float64), fold_rounded=False)
    return is_continuous(graph) and is_pole_free(
        graph, np.reshape(f.lo, shape), np.reshape(f.hi, shape)
    )


def finite_on_interval(f: Target) -> Finding:
    """Whether a function of one variable is finite on its interval: on all of it, or at the points of a grid."""
    missing = missing_on_interval(f)
    if missing:
        return Finding.failed(missing)
    edges = np.linspace(f.lo[0], f.hi[0], GRID)
    whole = bounds_over(jax.vmap(f.f), edges[:-1], edges[1:])
    if whole is not None and np.isfinite(whole.lo).all() and np.isfinite(whole.hi).all():
        top = float(max(-whole.lo.min(), whole.hi.max()))
        return Finding.proved(
            f"|f| ≤ {top:.6g}", f"interval arithmetic on {GRID - 1} cells that fill the interval"
        )
    finite = bool(np.isfinite(np.asarray(jax.jit(jax.vmap(f.f))(edges))).all())
    return (Finding.sampled if finite else Finding.failed)(
        f"finite at {GRID} points: {str(finite).lower()}"
    )


@hypothesis(
    r"$\varrho$ is not a polynomial",
    remedy="take ReLU, tanh or any function that is no polynomial",
    name="an activation that is not a polynomial",
)
def not_a_polynomial(rho: Target, *, degree: int) -> Finding:
    """Decided by the program or the closed form; else by differences up to `degree`."""
    if rho.dimension != 1:
        return Finding.failed(f"a function of {rho.dimension} variables")
    return no_polynomials([(rho.name, rho.f, rho.lo[0], rho.hi[0])], degree)


def no_polynomials(
    functions: Sequence[tuple[str, Callable[[Any], Any], float, float]], degree: int
) -> Finding:
    """Whether none of the functions (name, function, interval) is a polynomial: the weakest finding of all."""
    found = [_no_polynomial(*which, degree) for which in functions]
    if not found:
        return Finding.failed("none known")
    note = "; ".join(f"{name}: {finding.note}" for (name, *_), finding in zip(functions, found))
    weakest = max(found, key=lambda finding: finding.cap.rank)
    if weakest.status is not Status.PROVED:
        return replace(weakest, note=note)
    return Finding.proved(note, "; ".join(dict.fromkeys(finding.why for finding in found)))


def _no_polynomial(
    name: str, f: Callable[[Any], Any], lo: float, hi: float, degree: int
) -> Finding:
    """Decided by the program or the closed form; differences tell of no degree above `degree`."""
    whole = polynomial_degree(f, (lo + hi) / 2)
    if whole is not None:
        return Finding.failed(
            f"by its program a polynomial of degree at most {whole}", Enclosure.exact(whole)
        )
    found = sheet(name, f, lo, hi, degree, 0.0)
    if found.polynomial:
        return Finding.failed(found.density)
    if found.known:
        return Finding.proved(
            found.density, f"{found.known.name} is no polynomial by its closed form"
        )
    part = bounded_part(f)
    if part is not None:
        return Finding.proved(
            "dense",
            f"bounded {part} in interval arithmetic, and not constant there: no polynomial is",
        )
    return Finding.sampled(found.density)


def bounded_part(f: Callable[[Any], Any]) -> str | None:
    """A half-line, or the line, on which f is bounded and takes values that lie apart on two whole intervals, so that
    it is no polynomial, not even almost everywhere. None without a proof."""
    for word, (lo, hi) in PARTS.items():
        whole = bounds_over(f, lo, hi)
        if whole is None or not isfinite(float(whole.lo)) or not isfinite(float(whole.hi)):
            continue
        inside = (CELLS[:, 0] >= lo) & (CELLS[:, 1] <= hi)
        cells = bounds_over(jax.vmap(f), CELLS[inside, 0], CELLS[inside, 1])
        if cells is not None and cells.lo.max() > cells.hi.min():
            return word
    return None
