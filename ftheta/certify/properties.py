r"""Properties of a network, written in Python, and the questions that they are decided by.

A *predicate* says something about the outputs $y$ at one input, such as $Ay\le b$. A *property* says that a predicate
holds at every input of a set. Both are combined by `&`, `|` and `~`, and a property asks for its counter-examples: the
inputs of its set at which its predicate fails. All numbers are taken as the rationals that they are: a float as its
value in binary, a string as the decimal that it spells.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import inf
from typing import Any

import numpy as np

from ftheta.logic.errors import UsageError

from .formulas import And, Formula, Or, negate
from .normal_form import make_disjuncts
from .questions import Box, Case, Question, RationalBall, Row

MOST_EXPONENT = 5000
"""Of ten, in a decimal: exact arithmetic with much larger ones would take all time."""

Predict = Callable[[tuple[Fraction, ...]], int]
"""The label that a network gives to an input."""


class Predicate:
    """Something that holds of the outputs at an input, or does not."""

    def formula(self, outputs: int, predict: Predict | None = None) -> Formula:
        """What it says, as rows of so many outputs; `predict` labels the inputs that it is about."""
        raise NotImplementedError

    def on(self, lo: Any, hi: Any) -> "Property":
        """The property that it holds at every input between `lo` and `hi`, entry by entry."""
        return Property(((inputs_between(lo, hi), self),))

    def __and__(self, other: "Predicate | Property") -> "Any":
        return other & self if isinstance(other, Property) else _Combined(And, (self, other))

    def __or__(self, other: "Predicate | Property") -> "Any":
        return other | self if isinstance(other, Property) else _Combined(Or, (self, other))

    def __invert__(self) -> "Predicate":
        return _Negated(self)


@dataclass(frozen=True)
class _Combined(Predicate):
    connective: type[And] | type[Or]
    parts: tuple[Predicate, ...]

    def formula(self, outputs: int, predict: Predict | None = None) -> Formula:
        return self.connective(tuple(part.formula(outputs, predict) for part in self.parts))


@dataclass(frozen=True)
class _Negated(Predicate):
    part: Predicate

    def formula(self, outputs: int, predict: Predict | None = None) -> Formula:
        return negate(self.part.formula(outputs, predict))


class Outputs(Predicate):
    r"""$Ay\le b$ of the outputs $y$: `Outputs(A, b)`, or `Outputs(lambda y: A @ y <= b)` with any comparison."""

    def __init__(self, A: Any, b: Any = None) -> None:
        if callable(A):
            self.says: Callable[[Forms], Any] = A
            return
        matrix = _rationals(A, "A")
        matrix = matrix.reshape(1, -1) if matrix.ndim < 2 else matrix
        bounds = _entries(0 if b is None else b, matrix.shape[:1], "b")
        self.says = lambda y: matrix @ y <= bounds

    def formula(self, outputs: int, predict: Predict | None = None) -> Formula:
        y = Forms(
            np.array(
                [[Fraction(int(i == j)) for j in range(outputs)] for i in range(outputs)],
                dtype=object,
            )
        )
        said = self.says(y)
        if not isinstance(said, Predicate):
            raise UsageError(
                "Outputs takes a function that compares outputs.",
                got=type(said).__name__,
                remedy="write Outputs(lambda y: A @ y <= b), or Outputs(A, b)",
            )
        return said.formula(outputs, predict)


@dataclass(frozen=True)
class Rows(Predicate):
    """All `rows` hold."""

    rows: tuple[Row, ...]

    def formula(self, outputs: int, predict: Predict | None = None) -> Formula:
        return And(self.rows)


class Forms:
    r"""Affine forms $My+c$ of the outputs, entry by entry; comparisons of them are predicates."""

    __array_ufunc__ = None  # arrays leave `A @ y` to it
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, matrix: np.ndarray, constants: np.ndarray | None = None) -> None:
        self.matrix = matrix
        self.constants = (
            np.full(len(matrix), Fraction(0), dtype=object) if constants is None else constants
        )

    def __len__(self) -> int:
        return len(self.matrix)

    def __getitem__(self, which: Any) -> "Forms":
        chosen = np.arange(len(self))[which]
        rows = np.atleast_1d(chosen)
        return Forms(self.matrix[rows], self.constants[rows])

    def __rmatmul__(self, A: Any) -> "Forms":
        matrix = _rationals(A, "A")
        if matrix.ndim == 0 or matrix.shape[-1] != len(self):
            raise UsageError(
                "The matrix does not fit the outputs.",
                got=f"A of shape {matrix.shape} for {len(self)} outputs",
                remedy=f"give a matrix of {len(self)} columns",
            )
        matrix = matrix.reshape(-1, len(self))
        return Forms(matrix @ self.matrix, matrix @ self.constants)

    def __add__(self, other: Any) -> "Forms":
        if isinstance(other, Forms):
            return Forms(self.matrix + other.matrix, self.constants + other.constants)
        return Forms(self.matrix, self.constants + _rationals(other, "a constant"))

    def __neg__(self) -> "Forms":
        return Forms(-self.matrix, -self.constants)

    def __sub__(self, other: Any) -> "Forms":
        return self + (-other if isinstance(other, Forms) else -_rationals(other, "a constant"))

    def __rsub__(self, other: Any) -> "Forms":
        return -self + other

    def __mul__(self, factor: Any) -> "Forms":
        scale = _rationals(factor, "a factor")
        return Forms(
            self.matrix * (scale.reshape(-1, 1) if scale.ndim else scale), self.constants * scale
        )

    __radd__ = __add__
    __rmul__ = __mul__

    def __le__(self, other: Any) -> Rows:
        return _compare(self - other, strict=False)

    def __lt__(self, other: Any) -> Rows:
        return _compare(self - other, strict=True)

    def __ge__(self, other: Any) -> Rows:
        return _compare(-self + other, strict=False)

    def __gt__(self, other: Any) -> Rows:
        return _compare(-self + other, strict=True)


def _compare(forms: Forms, strict: bool) -> Rows:
    rows = list[Row]()
    constants = np.broadcast_to(forms.constants, len(forms.matrix))
    for coefficients, constant in zip(forms.matrix, constants):
        rows.append(Row({}, {j: q for j, q in enumerate(coefficients) if q}, -constant, strict))
    return Rows(tuple(rows))


@dataclass(frozen=True)
class _LargestAt(Predicate):
    """The output `label` is larger than all others; without a label, the one that is largest at `x`."""

    label: int | None
    x: tuple[Fraction, ...]

    def formula(self, outputs: int, predict: Predict | None = None) -> Formula:
        label = self.label
        if label is None and predict is None:
            raise UsageError(
                "The label is not known.", remedy="give label=, or the network to predict it"
            )
        label = predict(self.x) if label is None and predict is not None else label
        if outputs < 2 or not isinstance(label, (int, np.integer)) or not 0 <= label < outputs:
            raise UsageError(
                "A label is the number of an output, of two or more.",
                got=f"label {label} of {outputs} outputs",
                remedy="give a label from 0; a property of one output is written with Outputs",
            )
        others = [j for j in range(outputs) if j != label]
        return And(
            tuple(
                Row({}, {j: Fraction(1), int(label): Fraction(-1)}, Fraction(0), True)
                for j in others
            )
        )


@dataclass(frozen=True)
class Inputs:
    """Inputs of a box, and of a ball where there is one."""

    box: Box
    ball: RationalBall | None = None


class Property:
    """Predicates that hold at every input of their sets.

    Combined with a predicate, it is about the outputs in the same sets. Two properties may be joined by `&`; `|` and
    `~` are of properties about one set, and are meant at each input of it.
    """

    def __init__(self, parts: Sequence[tuple[Inputs, Predicate]]) -> None:
        self.parts = tuple(parts)

    def question(self, outputs: int, predict: Predict | None = None) -> Question:
        """Whether there is a counter-example, for a network of so many outputs.

        `predict` gives the label of an input where `Robust` was not told one.
        """
        cases = list[Case]()
        for where, predicate in self.parts:
            unsafe = make_disjuncts(negate(predicate.formula(outputs, predict)), "the property")
            cases.append(Case(where.box, unsafe, where.ball))
        sizes = {len(case.box.lo) for case in cases}
        if len(sizes) != 1:
            raise UsageError(
                "The parts of the property have inputs of different sizes.", got=sorted(sizes)
            )
        return Question(sizes.pop(), outputs, tuple(cases))

    def __and__(self, other: "Property | Predicate") -> "Property":
        if isinstance(other, Property):
            return Property(self.parts + other.parts)
        return Property([(where, predicate & other) for where, predicate in self.parts])

    def __or__(self, other: "Property | Predicate") -> "Property":
        if isinstance(other, Property):
            (where, predicate), (there, alternative) = self._single("|"), other._single("|")
            if where != there:
                raise UsageError(
                    "Properties joined by | must be about the same inputs.",
                    got="two different sets",
                    remedy="ask two questions, or combine predicates and say .on(lo, hi) once",
                )
            return Property([(where, predicate | alternative)])
        return Property([(where, predicate | other) for where, predicate in self.parts])

    __rand__ = __and__
    __ror__ = __or__

    def __invert__(self) -> "Property":
        where, predicate = self._single("~")
        return Property([(where, ~predicate)])

    def _single(self, operator: str) -> tuple[Inputs, Predicate]:
        if len(self.parts) != 1:
            raise UsageError(
                f"{operator} is of a property about one set of inputs.",
                got=f"{len(self.parts)} sets",
                remedy="ask about each of them",
            )
        return self.parts[0]


class Robust(Property):
    r"""At all inputs within `eps` of `x` in a norm, one output stays larger than all others.

    It is number `label`, or the largest at `x`. `norm` is $\infty$ (then `eps` may differ from entry to entry), 2 or 1;
    inputs outside `clip = (lo, hi)` do not count. A tie is a counter-example.
    """

    def __init__(
        self,
        x: Any,
        eps: Any,
        norm: float = inf,
        label: int | None = None,
        clip: tuple[Any, Any] | None = None,
    ) -> None:
        centre = _rationals(x, "x").ravel()
        radius = _rationals(eps, "eps")
        if any(r < 0 for r in radius.flat):
            raise UsageError("The radius is negative.", got=f"eps = {eps}", remedy="give eps ≥ 0")
        if norm not in (1, 2, inf) or (norm != inf and radius.ndim):
            raise UsageError(
                "The norm is 1, 2 or inf, and eps is one number for 1 and 2.",
                got=f"norm = {norm}, eps of shape {radius.shape}",
            )
        ranges = _entries(radius, centre.shape, "eps")
        lo, hi = centre - ranges, centre + ranges
        if clip is not None:
            lo = np.maximum(lo, _entries(clip[0], centre.shape, "clip"))
            hi = np.minimum(hi, _entries(clip[1], centre.shape, "clip"))
        box = _nonempty(Box(tuple(lo), tuple(hi)))
        ball = None if norm == inf else RationalBall(tuple(centre), radius.item(), int(norm))
        if ball is not None and not ball.contains(
            [min(max(c, a), b) for c, a, b in zip(centre, lo, hi)]
        ):
            raise UsageError(
                "The set of inputs is empty.",
                got="clip has no point of the ball",
                remedy="give x inside clip",
            )
        where = Inputs(box, ball)
        super().__init__([(where, _LargestAt(label, tuple(centre)))])


def inputs_between(lo: Any, hi: Any) -> Inputs:
    """All inputs `x` with `lo ≤ x ≤ hi`, entry by entry; a single number stands for every entry."""
    low, high = _rationals(lo, "lo"), _rationals(hi, "hi")
    shape = (max(low.size, high.size),)
    return Inputs(
        _nonempty(Box(tuple(_entries(low, shape, "lo")), tuple(_entries(high, shape, "hi"))))
    )


def _nonempty(box: Box) -> Box:
    if box.is_empty:
        k = next(k for k, (a, b) in enumerate(zip(box.lo, box.hi)) if a > b)
        raise UsageError(
            "The set of inputs is empty.",
            got=f"entry {k} from {float(box.lo[k])} to {float(box.hi[k])}",
            remedy="give lo ≤ hi, and x inside clip",
        )
    return box


def _entries(values: Any, shape: tuple[int, ...], what: str) -> np.ndarray:
    """As many rationals as the shape has, or one for all of them."""
    rationals = _rationals(values, what)
    if rationals.ndim and rationals.size != shape[0]:
        raise UsageError(
            f"{what} has another number of entries.",
            got=f"{rationals.size} instead of {shape[0]}",
            remedy="give as many, or one number for all",
        )
    return np.broadcast_to(rationals.ravel() if rationals.ndim else rationals, shape)


def _rationals(values: Any, what: str) -> np.ndarray:
    """Numbers, however they are given, as an array of rationals of the same shape."""
    given = np.asarray(values).astype(object)  # Python's own numbers, with the same values
    exact = [read_rational(value, what) for value in given.flat]
    return np.array(exact, dtype=object).reshape(given.shape)


def read_rational(value: Any, what: str) -> Fraction:
    """A number, however it is given, as the rational that it is; of decimals, those that exact arithmetic can hold."""
    try:
        if isinstance(value, str) and "/" not in value:
            value = Decimal(value)
        if (
            isinstance(value, Decimal)
            and value.is_finite()
            and abs(value.adjusted()) > MOST_EXPONENT
        ):
            raise OverflowError
        return Fraction(
            value if isinstance(value, (int, float, str, Decimal, Fraction)) else float(value)
        )
    except (ArithmeticError, ValueError, TypeError):
        raise UsageError(
            f"{what} has an entry that is no number, or none that fits.", got=repr(value)[:60]
        ) from None
