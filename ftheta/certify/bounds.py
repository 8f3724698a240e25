r"""Bounds of a network over a set of inputs: numbers, and affine functions of the input, below and above it.

    ft.bounds(net, (lo, hi))                      # a box
    ft.bounds(net, ft.Ball(x, 0.1, norm=2))       # a ball in ℓ1, ℓ2 or ℓ∞, around one input or around many
    ft.bounds(net, ft.Polytope(lo, hi, G, c))     # the part of a box where Gx ≤ c
    ft.bounds(net, (lo, hi), rows=C)              # of the rows of C times the outputs

Meant is the real function with the stored weights: weights are taken at their exact values, arithmetic is that of real
numbers, and every bound is rounded outward (`ftheta/graph/domains/linear`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ftheta.graph.domains.linear import METHODS, Form, InputSet, Method, Program, linear_bounds
from ftheta.logic.errors import UsageError
from ftheta.shapes import Float

from .input_regions import Ball as Ball
from .input_regions import Polytope as Polytope
from .input_regions import Region, read_region
from .traced_programs import MEANING, describe_meaning, read_input_shape, read_program

AT_ONCE = 1 << 22
"""Numbers, of all slots and boxes, that are bounded at a time."""


@dataclass(frozen=True, eq=False)
class AffineForm:
    r"""$\langle A,x\rangle+c\mp e$ for each number that is bounded: `matrix` $A$ (its axes, then those of the input),
    `offset` $c$, and `error` $e\ge0$, which is taken off a lower bound and added to an upper one."""

    matrix: Float[Any, "*numbers_and_inputs"]
    offset: Float[Any, "*numbers"]
    error: Float[np.ndarray, "*numbers"]


@dataclass(frozen=True, eq=False)
class Bounds:
    """For every x of the set `lower ≤ f(x) ≤ upper`, and f(x) lies between the two affine forms.

    The arrays have the shape of the output, or one entry for each of the `rows` asked for; for a batch of sets there is
    an axis for them in front. `meaning` says which function is bounded.
    """

    lower: Float[np.ndarray, "*numbers"]
    upper: Float[np.ndarray, "*numbers"]
    lower_form: AffineForm
    upper_form: AffineForm
    method: Method
    meaning: str = MEANING

    def __str__(self) -> str:
        return f"[{self.lower}, {self.upper}] ({self.method}; {self.meaning})"

    __repr__ = __str__


def bounds(
    f: Any,
    inputs: Region,
    *,
    method: Method = "crown",
    rows: ArrayLike | None = None,
    steps: int = 20,
) -> Bounds:
    r"""Bounds of `f` over a set of inputs, sound to rounding.

    Parameters
    ----------
    f
        A network (anything `ft.load` makes one of), a list of layers, or a JAX function of one array.
    inputs
        A box `(lo, hi)`, a `Ball` or a `Polytope`. Arrays with one more axis than an input of the network are a batch
        of sets; an array given to a function is one input.
    method
        "interval": interval arithmetic, node by node. "forward": affine functions of the input carried from node to
        node in one pass. "crown": affine functions taken back through the program from its outputs, and from every slot
        that a non-linear node reads: as a rule the sharper one. "alpha-crown": the same with the slopes below ReLUs
        chosen for each bound, by `steps` steps of ascent. All are met with intervals.
    rows
        A matrix $C$: bounds of $Cf(x)$, with $f(x)$ flattened, in place of those of every output. They are far sharper
        than differences of bounds.
    """
    if method not in METHODS:
        raise UsageError(
            "That is no method of bounding.", got=method, remedy=f"one of {', '.join(METHODS)}"
        )
    if steps < 0:
        raise UsageError("The number of steps is at least 0.", got=steps)
    sets, is_batch = read_region(inputs, read_input_shape(f))
    shape = sets.hull.shape[1:]
    program = read_program(f, shape)
    functionals = _read_rows(rows, program)
    found = [
        linear_bounds(program, [sets.part(part)], functionals, method=method, steps=steps)
        for part in split_batch(program, sets)
    ]
    back = program.graph.outputs[0].shape if functionals is None else (len(functionals),)
    front = (*((len(sets.hull.lo),) if is_batch else ()), *back)
    return Bounds(
        np.concatenate([part.lower for part in found]).reshape(front),
        np.concatenate([part.upper for part in found]).reshape(front),
        _join([part.lower_form for part in found], 1.0, front, shape),
        _join([part.upper_form for part in found], -1.0, front, shape),
        method,
        describe_meaning(f),
    )


def _join(
    forms: Sequence[Form], sign: float, front: tuple[int, ...], shape: tuple[int, ...]
) -> AffineForm:
    """The forms of all parts of a batch; those of upper bounds are of the negatives."""
    offset = np.concatenate([form.offset for form in forms])
    error = np.concatenate([form.paid_error for form in forms])
    parts = [form.coefficients[0] for form in forms]
    zeros = [np.zeros((*form.offset.shape, *shape)) for form in forms]
    matrix = np.concatenate([zero if part is None else part for part, zero in zip(parts, zeros)])
    return AffineForm(
        sign * matrix.reshape(*front, *shape), sign * offset.reshape(front), error.reshape(front)
    )


# ---- what is bounded ------------------------------------------------------------------------------------------------


def _read_rows(rows: ArrayLike | None, program: Program) -> np.ndarray | None:
    output = program.graph.outputs[0]
    if rows is None:
        return None
    found = np.asarray(rows, np.float64)
    if found.ndim != 2 or found.shape[1] != output.size or not np.isfinite(found).all():
        raise UsageError(
            "The rows are a matrix of finite numbers with one column for each output.",
            got=f"shape {found.shape}",
            remedy=f"the network has {output.size} outputs",
        )
    return found.reshape(len(found), *output.shape)


def split_batch(program: Program, sets: InputSet) -> list[slice]:
    """Boxes to bound at a time, so that memory stays bounded."""
    numbers = sum(slot.size for slot in program.graph.slots if slot.id in program.varying)
    count = len(sets.hull.lo)
    step = 1 if program.has_branches else max(1, min(count, AT_ONCE // max(1, numbers)))
    return [slice(k, k + step) for k in range(0, count, step)]
