r"""What holds at a counter-example in a part, as matrices $C$ with $v^\top Cv\le0$, or $=0$.

The rows of a disjunct; $\tilde x_i^2\le1$; for a neuron of undecided sign with $a\in[l,u]$ under it and output
$z=u\tilde z$: $\tilde z^2\le\tilde z$, $z\ge0$, $z\ge a$, $z\le u(a-l)/(u-l)$, $(a-l)(u-a)\ge0$ and $z(z-a)=0$; for a
neuron of given sign $\pm a\ge0$, and products of such with one another, with $z$ and with $z-a$.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ftheta.certify.questions import Row, nearest

from .approximate import (
    TINY,
    Approximate,
    Array,
    balance,
    combine,
    is_positive_definite,
    join,
    multiply_forms,
)
from .multipliers import Found, find_multipliers
from .unfolding import Unfolded, Unfolder

U = 2.0**-53
MOST_PAIRS = 12  # told signs of which products are taken


@dataclass(frozen=True, eq=False)
class Constraints:
    """Matrices over (1, inputs, undecided neurons): the first `rows` are those of the disjunct, the first `signed` are
    inequalities; `diagonal` bound one variable each."""

    matrices: Approximate
    rows: int
    signed: int
    diagonal: Array

    def refute(self) -> Found:
        """Multipliers that are proved to exclude every point, or moments of a relaxed counter-example."""
        found = find_multipliers(self.matrices.centre, self.rows, self.signed, self.diagonal)
        if found.multipliers is None:
            return found
        weights = found.multipliers.copy()
        weights[: self.signed] = np.maximum(weights[: self.signed], 0.0)
        if is_positive_definite(combine(weights, self.matrices)):
            return Found(weights, found.moments)
        return Found(None, found.moments / found.moments[0, 0])


def matrices_of_rows(
    unfolder: Unfolder, last: Approximate, columns: Array, rows: tuple[Row, ...]
) -> Approximate:
    """The excess of each row as a matrix over some columns; an excess is at most 0 at a counter-example."""
    net = unfolder.net
    a = last[net.outputs : net.outputs + net.products][:, columns]
    b = last[net.outputs + net.products :][:, columns]
    products = multiply_forms(a, b)
    found = []
    for row in rows:
        form = _combine_outputs(row, last[: net.outputs])
        affine = _times_one(form[None, columns])
        weights = form[None, unfolder.first_product :]
        shape = products.centre.shape[1:]
        flat = Approximate(
            *(end.reshape(net.products, -1) for end in (products.centre, products.radius))
        )
        square = weights @ flat
        square = Approximate(square.centre.reshape(1, *shape), square.radius.reshape(1, *shape))
        found.append(affine + square)
    return join(found)


def _combine_outputs(row: Row, outputs: Approximate) -> Approximate:
    """The form of a row's excess; its numbers are next to rationals."""
    weights = np.zeros((1, len(outputs.centre)))
    for j, q in row.outputs.items():
        weights[0, j] = nearest(q)
    form = Approximate(weights, _doubt(weights, row.outputs.keys())) @ outputs
    bound = np.zeros_like(form.centre)
    bound[0, 0] = -nearest(row.bound)
    return (form + Approximate(bound, _doubt(bound, [0])))[0]


def _doubt(line: Array, written: Iterable[int]) -> Array:
    """How far the numbers of a line are from the rationals that are written at some places."""
    found = 2 * U * np.abs(line)
    found[0, list(written)] += TINY
    return found


def _times_one(forms: Approximate) -> Approximate:
    one = np.zeros_like(forms.centre)
    one[:, 0] = 1.0
    return multiply_forms(forms, Approximate.exactly(one))


def constrain(unfolder: Unfolder, unfolded: Unfolded, rows: tuple[Row, ...]) -> Constraints:
    """All constraints of a disjunct over a part."""
    d = unfolder.net.inputs
    undecided = unfolded.undecided
    columns = np.concatenate([np.arange(1 + d), unfolder.first_neuron + undecided])
    n = len(columns)
    basis = Approximate.exactly(np.eye(n))
    one = basis[:1]
    z = basis[1 + d :]
    of_rows = matrices_of_rows(unfolder, unfolded.last, columns, rows)
    x = basis[1 : 1 + d]
    box = multiply_forms(x, x) - multiply_forms(*_repeat(one, one, d))
    under = unfolded.under[undecided][:, columns]
    least, most = unfolded.least[undecided], unfolded.most[undecided]
    output = Approximate.exactly(z.centre * most[:, None])
    above = output - under  # ≥ 0
    hull = multiply_forms(z, z) - _times_one(z)
    lines = [z, above, _below_chord(under, output, least, most)]
    told = np.flatnonzero(unfolded.is_told)
    signs = Approximate.exactly(unfolded.sign[told][:, None].astype(float))
    towards = unfolded.under[told][:, columns]
    towards = Approximate(towards.centre * signs.centre, towards.radius)
    far = np.where(unfolded.sign[told] > 0, unfolded.most[told], -unfolded.least[told])
    slabs = [
        multiply_forms(_shift(under, -least), _shift(under.times(-1.0), most)),
        multiply_forms(towards, _shift(towards.times(-1.0), far)),
    ]
    linear = [_times_one(part) for part in (*lines, towards)]
    pairs = _pair_up(balance(towards)[:MOST_PAIRS])
    cross = [
        multiply_forms(*_outer(balance(towards)[:MOST_PAIRS], part)) for part in (z, balance(above))
    ]
    positive = [part.times(-1.0) for part in (*linear, *slabs, pairs, *cross)]
    equations = multiply_forms(z, above)
    parts = [of_rows, box, hull, *positive, equations]
    matrices = balance(join(parts))
    counts = [len(part.centre) for part in parts]
    diagonal = np.arange(counts[0], sum(counts[:3]))
    return Constraints(matrices, counts[0], sum(counts) - counts[-1], diagonal)


def _repeat(a: Approximate, b: Approximate, count: int) -> tuple[Approximate, Approximate]:
    first, second = (Approximate.exactly(np.repeat(part.centre, count, axis=0)) for part in (a, b))
    return first, second


def _shift(forms: Approximate, by: Array) -> Approximate:
    """The forms plus constants."""
    constants = np.zeros_like(forms.centre)
    constants[:, 0] = by
    return forms + Approximate.exactly(constants)


def _below_chord(under: Approximate, output: Approximate, least: Array, most: Array) -> Approximate:
    r"""$t(a-l)-z\ge0$ for a float $t\ge u/(u-l)$: also a larger one holds, as $a\ge l$ does."""
    slope = most / (most - least) * (1 + 4 * U)
    shifted = _shift(under, -least)
    raised = Approximate(
        shifted.centre * slope[:, None],
        (shifted.radius + U * np.abs(shifted.centre)) * slope[:, None],
    )
    return Approximate(raised.centre, raised.radius * (1 + 2.0**-30)) - output


def _pair_up(forms: Approximate) -> Approximate:
    """Products of any two of the forms."""
    i, j = np.triu_indices(len(forms.centre), 1)
    return multiply_forms(forms[i], forms[j])


def _outer(a: Approximate, b: Approximate) -> tuple[Approximate, Approximate]:
    """Every form of one list beside every form of the other."""
    i, j = (at.ravel() for at in np.indices((len(a.centre), len(b.centre))))
    return a[i], b[j]
