r"""Functions on the line handed in as programs: their exact pieces, and exact pieces as programs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import jax.numpy as jnp

from ftheta.graph.enclosing import enclose_number
from ftheta.logic.enclosure import Basis, Enclosure
from ftheta.logic.errors import FthetaError, SubjectError
from ftheta.logic.witness import Witness

from ..reading.form import relu_form
from .cpa1d import PiecewiseAffine
from .points import on_line, through_points


@dataclass(frozen=True)
class LineFunction:
    """An exact piecewise-affine function that JAX can call."""

    form: PiecewiseAffine

    def __call__(self, x: Any) -> Any:
        f = self.form
        origin = float(f.kinks[0]) if f.kinks else 0.0
        jumps = jnp.array([*map(float, f.jumps.values())])
        kinks = jnp.array([*map(float, f.kinks)])
        return (
            float(f.values[0])
            + float(f.slopes[0]) * (x - origin)
            + jumps @ jnp.maximum(x - kinks, 0.0)
        )


def exact_pieces(f: Callable[..., Any], dimension: int = 1) -> tuple[PiecewiseAffine, Basis] | str:
    """The pieces of a function of one number and how they are known, or why there are none.

    Those of a traced program are exact, unless it computes constants that are rounded.
    """
    if dimension != 1:
        return f"{dimension} variables, not one"
    if isinstance(f, LineFunction):
        return f.form, Basis.EXACT
    try:
        form = relu_form(f, 0.0)
        outputs = on_line(form)
    except (FthetaError, NotImplementedError, TypeError) as error:
        return str(error).splitlines()[0]
    return (outputs[0], form.basis) if len(outputs) == 1 else f"{len(outputs)} outputs, not one"


def pieces_or_interpolant(
    f: Callable[..., Any], lo: Sequence[float], hi: Sequence[float]
) -> tuple[PiecewiseAffine, Witness | None]:
    """The pieces of `f`; of any other function its interpolant at five points, and how far off that is elsewhere."""
    read = exact_pieces(f, len(lo))
    if not isinstance(read, str):
        return read[0], None
    if len(lo) != 1:
        raise SubjectError("A function of one variable is needed.", got=read)
    step = (hi[0] - lo[0]) / 4
    knots = [lo[0] + k * step for k in range(5)]
    chords = through_points(knots, [float(f(t)) for t in knots])
    gaps = {
        t + step / 2: abs(float(f(t + step / 2)) - float(chords(Fraction(t + step / 2))))
        for t in knots[:-1]
    }
    x = max(gaps, key=lambda t: gaps[t])
    how = "f in intervals rounded outward, the network in rationals"
    off = abs(enclose_number(f, x) - Enclosure.exact(chords(Fraction(x))))
    return chords, Witness({"x": x}, off, Enclosure.exact(0), how)
