"""What is to be approximated: a function that JAX can trace, on a bounded box."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.graph.expressions import Expression
from ftheta.logic.errors import SubjectError, UsageError
from ftheta.shapes import Float

from .jumps import find_jumps
from .suprema import Scalar, ranges, without_jumps

DENSE = {1: 20_001, 2: 201, 3: 41}  # points per side of the dense search
NARROW = 1e-9  # relative width of an enclosure whose middle is the value
SCATTERED = 50_000  # points of it in higher dimension


@dataclass(frozen=True, eq=False)
class Goal:
    """The function `f` of one point (a number for d = 1, an array (d,) above) on the box [lo, hi]."""

    name: str
    f: Scalar
    lo: tuple[float, ...]
    hi: tuple[float, ...]
    spectrum: Any = None

    @property
    def dimension(self) -> int:
        return len(self.lo)

    @property
    def centre(self) -> Float[np.ndarray, "d"]:
        return (np.asarray(self.lo) + np.asarray(self.hi)) / 2

    @property
    def halves(self) -> Float[np.ndarray, "d"]:
        return (np.asarray(self.hi) - np.asarray(self.lo)) / 2

    def values(self, rows: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n"]:
        """f at rows, in float64: without compiling, as every call has another shape.

        The middle of the enclosure; where that is wide (sin of a huge number), what the program itself returns.
        """
        with np.errstate(invalid="ignore"):
            box = ranges(self.f, rows, rows)
            middle = box.lo + (box.hi - box.lo) / 2
            vague = ~(box.hi - box.lo <= NARROW * np.maximum(1.0, np.abs(middle)))
        if vague.any():
            with jax.enable_x64(True):
                there = jnp.asarray(rows[vague][:, 0] if self.dimension == 1 else rows[vague])
                middle[vague] = np.asarray(jax.vmap(self.f)(there))
        return middle

    def grid(self, side: int, rng: np.random.Generator | None = None) -> Float[np.ndarray, "n d"]:
        """Points of the box: a grid for d ≤ 3, above it points drawn with `rng`, the corners and the centre."""
        lo = np.asarray(self.lo)
        hi = np.asarray(self.hi)
        if self.dimension <= 3:
            sides = [np.linspace(a, b, side) for a, b in zip(lo, hi)]
            return np.stack([x.ravel() for x in np.meshgrid(*sides, indexing="ij")], 1)
        drawn = (rng or np.random.default_rng(0)).uniform(lo, hi, size=(side, self.dimension))
        return np.concatenate([drawn, [lo, hi, self.centre]])

    @cached_property
    def dense(self) -> tuple[Float[np.ndarray, "n d"], Float[np.ndarray, "n"]]:
        """Points of the dense search, and f there."""
        rows = self.grid(DENSE.get(self.dimension, SCATTERED))
        return rows, self.values(rows)

    @cached_property
    def may_jump(self) -> bool:
        return not without_jumps(self.f, self.dimension)

    def line(self, direction: Float[np.ndarray, "d"]) -> Scalar:
        """f along the line through the centre, for −1 ≤ t ≤ 1; `direction` is scaled by the box."""
        step = direction * self.halves
        point = lambda t: self.centre + t * step
        return lambda t: self.f(point(t)[0] if self.dimension == 1 else point(t))

    def directions(self) -> list[Float[np.ndarray, "d"]]:
        d = self.dimension
        return [np.ones(1)] if d == 1 else [*np.eye(d), np.ones(d)]

    @cached_property
    def jump(self) -> tuple[tuple[float, ...], float] | None:
        """The highest jump met on lines through the centre: where and how high."""
        if not self.may_jump:
            return None
        found = [
            (tuple((self.centre + t * u * self.halves).tolist()), abs(height))
            for u in self.directions()
            for t, height in find_jumps(self.line(u), -1.0, 1.0)
        ]
        return max(found, key=lambda place: place[1], default=None)


def goal_of(f: Any, domain: Any) -> Goal:
    """A goal from a callable, an expression such as "sin(6*x) + x", or a `Target`; `domain` is (lo, hi)."""
    program: Any = getattr(f, "f", f)
    name = getattr(f, "name", None) or (
        program if isinstance(program, str) else getattr(program, "__name__", "f")
    )
    told = getattr(f, "arguments", ())
    spectrum = getattr(f, "spectrum", None)
    if domain is None and hasattr(f, "lo"):
        domain = (f.lo, f.hi)
    if isinstance(program, str):
        program = Expression.parse(program)
        told = program.variables if len(program.variables) > 1 else ()
    if not callable(program):
        raise UsageError(
            "There is no function to approximate.",
            got=type(f).__name__,
            remedy="give a function in jax.numpy, an expression in quotes, or a Target",
        )
    lo, hi = _box(domain, len(told) or 1)
    goal = Goal(
        str(name).replace("<lambda>", "f"), _of_a_point(program, len(told)), lo, hi, spectrum
    )
    _check(goal)
    return goal


def _of_a_point(program: Callable[..., Any], arguments: int) -> Scalar:
    """The function of one array that a function of several scalars is."""
    real = lambda value: jnp.reshape(jnp.asarray(value), ())
    return (
        (lambda x: real(program(*(x[j] for j in range(arguments)))))
        if arguments
        else lambda x: real(program(x))
    )


def _box(domain: Any, arguments: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    try:
        lo, hi = (np.atleast_1d(np.asarray(end, np.float64)) for end in domain)
        lo, hi = np.broadcast_arrays(
            *(np.repeat(e, arguments) if len(e) == 1 else e for e in (lo, hi))
        )
    except (TypeError, ValueError):
        raise UsageError(
            "The domain is a box (lo, hi).",
            got=domain,
            remedy="give two numbers, or two lists of d numbers",
        ) from None
    if not (np.isfinite(lo).all() and np.isfinite(hi).all()):
        raise UsageError(
            "The domain must be bounded: networks are dense on compact sets alone.",
            got=f"from {lo.tolist()} to {hi.tolist()}",
            remedy="give finite ends; beyond them a network grows or settles as its activation does, whatever f is",
        )
    if lo.ndim != 1 or (lo >= hi).any() or (arguments > 1 and len(lo) != arguments):
        raise UsageError(
            "The domain is a box with lo < hi in every coordinate.",
            got=f"from {lo.tolist()} to {hi.tolist()}",
        )
    return tuple(lo.tolist()), tuple(hi.tolist())


def _check(goal: Goal) -> None:
    """f can be followed between points, and is finite on the dense grid."""
    centre = goal.centre[None]
    ranges(goal.f, centre, centre)
    rows, values = goal.dense
    if not np.isfinite(values).all():
        worst = int(np.argmin(np.isfinite(values)))
        raise SubjectError(
            "The function is not finite on its domain.",
            where=f"x = {np.round(rows[worst], 6).tolist()}",
            got=values[worst],
            remedy="take a domain on which it is continuous",
        )


def whole(value: Any, name: str) -> float:
    """A positive finite number."""
    if not (isinstance(value, int | float | np.floating) and isfinite(value) and value > 0):
        raise UsageError(f"`{name}` is a positive number.", got=value)
    return float(value)
