r"""Is a network convex, monotone, symplectic? For piecewise-affine ones of few variables the answer is exact.

On every cell $f$ is affine, in rationals. It is monotone if no slope is negative, symplectic if every Jacobian is, and
convex if no tangent lies above the function across a facet (`ftheta.pieces.functions.convexity`). A network that fails
comes with the points where it does. Other networks are looked at in points, which proves nothing but finds witnesses.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.pieces.functions.composition import floats, within_budget
from ftheta.pieces.functions.convexity import facets
from ftheta.pieces.functions.partitions import Piece
from ftheta.pieces.functions.polyhedra import everywhere
from ftheta.relu.geometry import value
from ftheta.relu.matrices import fraction
from ftheta.relu.network import ExactNetwork

from .shears import defect, exact_defect

MOST_INPUTS = 3


@dataclass(frozen=True, eq=False)
class Test:
    """By how much a property fails at worst, `excess` (not positive, or zero, if it holds), and `at` which point.

    `everywhere` says that all of the space was looked at, in rationals; else `points` were.
    """

    excess: Fraction | float
    at: tuple[float, ...]
    towards: tuple[float, ...] = ()
    everywhere: bool = False
    points: int = 0


def pieces_everywhere(net: ExactNetwork, max_pieces: int) -> list[Piece] | None:
    """All pieces on all of the space; None where there are more inputs or pieces than allowed."""
    d = net.widths[0]
    return within_budget(net, everywhere(d), max_pieces) if d <= MOST_INPUTS else None


def monotone_test(pieces: Sequence[Piece], output: int, falls: Sequence[bool] = ()) -> Test:
    """The largest fall: minus the least slope in any input; inputs in `falls` are to rise instead."""
    worst = None
    at = pieces[0]
    for piece in pieces:
        slopes = piece.rows[output][:-1]
        signs = [-1 if k < len(falls) and falls[k] else 1 for k in range(len(slopes))]
        fall = max(-fraction(s) * sign for s, sign in zip(slopes, signs))
        if worst is None or fall > worst:
            worst = fall
            at = piece
    return Test(worst or Fraction(0), tuple(floats(at.cell.within)), everywhere=True)


def convex_test(pieces: Sequence[Piece], output: int) -> Test:
    r"""The largest $f(a)+\langle\nabla f(a),b-a\rangle-f(b)$ for inner points of two cells with a common facet."""
    alone = [replace(p, rows=(p.rows[output],)) for p in pieces]
    worst = Fraction(0)
    ends = (alone[0], alone[0])
    for facet in facets(alone):
        for i, j in ((facet.below, facet.above), (facet.above, facet.below)):
            b = alone[i].cell.within
            gap = fraction(value(alone[j].rows[0], b) - value(alone[i].rows[0], b))
            if gap > worst:
                worst = gap
                ends = (alone[j], alone[i])
    a, b = (tuple(floats(p.cell.within)) for p in ends)
    return Test(worst, a, b, everywhere=True)


def symplectic_test(pieces: Sequence[Piece]) -> Test:
    r"""The largest entry of $|J^\top\Omega J-\Omega|$ over all cells."""
    found = [(exact_defect([row[:-1] for row in p.rows]), p) for p in pieces]
    worst, piece = max(found, key=lambda pair: pair[0])
    return Test(worst, tuple(floats(piece.cell.within)), everywhere=True)


# ---- at points -------------------------------------------------------------------------------------------------------


def sampled_tests(f: Callable[[Any], Any], x: np.ndarray, output: int) -> dict[str, Test]:
    """The same three numbers at points (rows of `x`, flat), in float64; symplectic where the sizes allow it."""
    with jax.enable_x64(True):
        values, slopes = (
            np.asarray(v, np.float64)
            for v in jax.vmap(jax.value_and_grad(lambda z: jnp.ravel(f(z))[output]))(x)
        )
        outputs = jax.eval_shape(f, x[0]).size
        even = outputs == x.shape[1] and outputs % 2 == 0
        J = np.asarray(jax.vmap(jax.jacobian(f))(x), np.float64) if even else None
    low = int(slopes.min(1).argmin())
    tangents = slopes @ x.T - (slopes * x).sum(1)[:, None]  # ⟨∇f(a), b − a⟩
    gap = values[:, None] + tangents - values[None]
    a, b = np.unravel_index(int(gap.argmax()), gap.shape)
    point = lambda k: tuple(x[k].tolist())
    found = {
        "monotone": Test(float(-slopes.min()), point(low), points=len(x)),
        "convex": Test(float(gap[a, b]), point(a), point(b), points=len(x)),
    }
    if J is not None:
        defects = [defect(j) for j in J]
        worst = int(np.argmax(defects))
        found["symplectic"] = Test(defects[worst], point(worst), points=len(x))
    return found
