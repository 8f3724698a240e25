r"""Equations between inputs, solved: a question about fewer inputs.

Where a query says $x_3=x_0$ or $x_4=x_1+1/10$, no search would ever meet both sides of it by chance. Such equations are
solved for an input each, $x=Mu+c$ with the inputs $u$ that are left, exactly: an equation is used only if all entries
of $M$ are floats, and an entry of $c$ that is none becomes an input of its own, with one value.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ftheta.lazy import sparse
from ftheta.shapes import Float

from .formulas import And, Formula, Or, flat_parts, fold, negate_row
from .questions import Row

ONE = Fraction(1)
ZERO = Fraction(0)

Form = tuple[dict[int, Fraction], Fraction]
"""Coefficients of inputs, and a constant."""


@dataclass(frozen=True, eq=False)
class Substitution:
    """Every input as an affine form of those that are `kept`, and the formula about these alone.

    `constants` are the values of the inputs that stand for them; they come after the kept ones.
    """

    forms: tuple[Form, ...]
    kept: tuple[int, ...]
    constants: tuple[Fraction, ...]
    formula: Formula

    @property
    def inputs(self) -> int:
        return len(self.kept) + len(self.constants)

    @property
    def is_trivial(self) -> bool:
        return len(self.kept) == len(self.forms)

    @property
    def only_copies(self) -> bool:
        """Whether every input is one that is kept."""
        return all(not constant and list(form.values()) == [ONE] for form, constant in self.forms)

    def lift(self, u: Sequence[Fraction]) -> tuple[Fraction, ...]:
        """All inputs, from those that are kept."""
        place = {i: k for k, i in enumerate(self.kept)}
        return tuple(
            sum((p * u[place[i]] for i, p in form.items()), constant)
            for form, constant in self.forms
        )

    def rewrite(self, inputs: Mapping[int, Fraction]) -> Form:
        """A linear form of all inputs as an affine one of those that are kept, in their own numbers."""
        terms, moved = _insert(dict(enumerate(self.forms)), inputs, ZERO)
        place = {i: k for k, i in enumerate(self.kept)}
        return {place[i]: p for i, p in terms.items()}, -moved

    def matrix(self) -> "tuple[sparse.csr_array, Float[np.ndarray, 'n']]":
        """$M$ and the part of $c$ that floats hold."""
        place = {i: k for k, i in enumerate(self.kept)}
        entries = list[tuple[int, int, float]]()
        offset = np.zeros(len(self.forms))
        for i, (form, constant) in enumerate(self.forms):
            entries += [(i, place[j], float(p)) for j, p in form.items()]
            if is_float(constant):
                offset[i] = float(constant)
            else:
                entries.append((i, len(self.kept) + self.constants.index(constant), 1.0))
        rows, columns, values = zip(*entries) if entries else ((), (), ())
        return sparse.csr_array(
            (values, (rows, columns)), shape=(len(self.forms), self.inputs)
        ), offset


def solve_equations(formula: Formula, inputs: int) -> Substitution:
    """Use the equations between two or more inputs that a formula states of all its cases."""
    solved = dict[int, Form]()
    for form, value in _equations(formula):
        _solve(solved, form, value)
    forms = tuple(solved.get(i, ({i: ONE}, ZERO)) for i in range(inputs))
    kept = tuple(i for i in range(inputs) if i not in solved)
    constants = tuple(dict.fromkeys(c for _, c in forms if not is_float(c)))
    if not solved:
        return Substitution(forms, kept, (), formula)
    place = {i: k for k, i in enumerate(kept)}
    by_input = dict(enumerate(forms))

    def rewrite(row: Row) -> Formula:
        terms, bound = _insert(by_input, row.inputs, row.bound)
        return Row({place[i]: p for i, p in terms.items()}, row.outputs, bound, row.strict)

    rewritten = fold(
        formula, rewrite, lambda parts: And(tuple(parts)), lambda parts: Or(tuple(parts))
    )
    fixed = [_fix(len(kept) + k, c) for k, c in enumerate(constants)]
    return Substitution(
        forms, kept, constants, And((rewritten, *(row for pair in fixed for row in pair)))
    )


def leave_equations(formula: Formula, inputs: int) -> Substitution:
    """All inputs as they are."""
    return Substitution(
        tuple(({i: ONE}, ZERO) for i in range(inputs)), tuple(range(inputs)), (), formula
    )


def is_float(value: Fraction) -> bool:
    """Whether float64 holds a rational exactly."""
    try:
        return Fraction(float(value)) == value
    except OverflowError:
        return False


def _equations(formula: Formula) -> Iterator[tuple[dict[int, Fraction], Fraction]]:
    """Rows of inputs alone whose opposites stand beside them, in the conjunction that is the formula."""
    parts = flat_parts(formula) if isinstance(formula, And) else [formula]
    met = set[tuple]()
    for row in parts:
        if not isinstance(row, Row) or row.outputs or row.strict or len(row.inputs) < 2:
            continue
        opposite = negate_row(row)
        if _key(opposite) in met:
            yield dict(row.inputs), row.bound
        met.add(_key(row))


def _key(row: Row) -> tuple:
    return frozenset(row.inputs.items()), row.bound


def _insert(
    forms: Mapping[int, Form], terms: Mapping[int, Fraction], bound: Fraction
) -> tuple[dict[int, Fraction], Fraction]:
    """A row of all inputs as a row of the kept ones; an input without a form is kept."""
    found = dict[int, Fraction]()
    for i, p in terms.items():
        form, constant = forms.get(i, ({i: ONE}, ZERO))
        bound -= p * constant
        for j, q in form.items():
            found[j] = found.get(j, ZERO) + p * q
    return {j: q for j, q in found.items() if q}, bound


def _solve(solved: dict[int, Form], terms: dict[int, Fraction], value: Fraction) -> None:
    """Solve one equation for the last of its inputs for which all forms stay floats."""
    rest, value = _insert(solved, terms, value)
    if len(rest) < 2:
        return
    for pivot in sorted(rest, reverse=True):
        form = {i: -p / rest[pivot] for i, p in rest.items() if i != pivot}
        constant = value / rest[pivot]
        updated: dict[int, Form] = {pivot: (form, constant)}
        for i, (other, shift) in solved.items():
            if pivot in other:
                inserted, moved = _insert({pivot: (form, constant)}, other, ZERO)
                updated[i] = (inserted, shift - moved)
        if all(is_float(p) for coefficients, _ in updated.values() for p in coefficients.values()):
            solved.update(updated)
            return


def _fix(i: int, value: Fraction) -> tuple[Row, Row]:
    return Row({i: ONE}, {}, value), Row({i: -ONE}, {}, -value)
