"""Arithmetic of a query: affine forms of its variables, and products of them.

A product of two things that both vary is no affine form. It is given a variable of its own, which stands for an output
that the network does not have: with it every comparison of a query is a linear row.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ..questions import Row

ZERO = Fraction(0)
ONE = Fraction(1)
MINUS_ONE = Fraction(-1)


@dataclass(frozen=True)
class Affine:
    r"""$\sum_ip_ix_i+\sum_jq_jy_j+c$ of inputs $x$ and outputs $y$, with the `constant` $c$."""

    inputs: Mapping[int, Fraction]
    outputs: Mapping[int, Fraction]
    constant: Fraction

    def value(self, x: Sequence[Fraction], y: Sequence[Fraction]) -> Fraction:
        left = sum((p * x[i] for i, p in self.inputs.items()), self.constant)
        return left + sum((q * y[j] for j, q in self.outputs.items()), ZERO)


@dataclass(frozen=True)
class Product:
    """The product of affine forms."""

    factors: tuple[Affine, ...]

    def value(self, x: Sequence[Fraction], y: Sequence[Fraction]) -> Fraction:
        product = ONE
        for factor in self.factors:
            product *= factor.value(x, y)
        return product


class Linear:
    """An affine form while it is read: coefficients of variables, and a constant.

    A variable is a number: an input $i$ is $i$, an output $j$ is $-1-j$. `element_type` is the type of its variables,
    empty where it has none; `is_decimal` tells of constants written with a point, which no integer type has.
    """

    __slots__ = ("constant", "element_type", "is_decimal", "terms")

    def __init__(
        self,
        terms: Mapping[int, Fraction],
        constant: Fraction,
        element_type: str = "",
        is_decimal: bool = False,
    ) -> None:
        self.terms = terms
        self.constant = constant
        self.element_type = element_type
        self.is_decimal = is_decimal

    def scale(self, factor: Fraction) -> "Linear":
        if not factor:
            return Linear({}, ZERO, self.element_type, self.is_decimal)
        terms = {v: factor * p for v, p in self.terms.items()}
        return Linear(terms, factor * self.constant, self.element_type, self.is_decimal)

    def affine(self) -> Affine:
        inputs, outputs = split_terms(self.terms)
        return Affine(inputs, outputs, self.constant)


def add(forms: Sequence[Linear]) -> Linear:
    """The sum of affine forms; what cancels is left out."""
    terms = dict(forms[0].terms)
    constant = forms[0].constant
    for form in forms[1:]:
        constant += form.constant
        for v, p in form.terms.items():
            terms[v] = terms[v] + p if v in terms else p
    return Linear({v: p for v, p in terms.items() if p}, constant)


def split_terms(terms: Mapping[int, Fraction]) -> tuple[dict[int, Fraction], dict[int, Fraction]]:
    """The coefficients of inputs and of outputs."""
    return {v: p for v, p in terms.items() if v >= 0}, {
        -1 - v: p for v, p in terms.items() if v < 0
    }


def row_below_zero(form: Linear, strict: bool) -> Row:
    """The row that says that an affine form is at most 0, or less."""
    inputs, outputs = split_terms(form.terms)
    return Row(inputs, outputs, -form.constant, strict)


class Products:
    """The products met while a query is read, each once; the first of them is output number `first`."""

    def __init__(self, first: int) -> None:
        self.first = first
        self.met = list[Product]()
        self._index = dict[tuple, int]()

    def multiply(self, forms: Sequence[Linear]) -> Linear:
        """The product of affine forms that are not constant, as a multiple of one new variable."""
        scale = ONE
        factors = list[Linear]()
        for form in forms:
            leading = form.terms[min(form.terms)]
            scale *= leading
            factors.append(form.scale(1 / leading))
        factors.sort(key=_key)
        key = tuple(map(_key, factors))
        if key not in self._index:
            self._index[key] = len(self.met)
            self.met.append(Product(tuple(factor.affine() for factor in factors)))
        return Linear({-1 - (self.first + self._index[key]): scale}, ZERO)


def _key(form: Linear) -> tuple:
    return tuple(sorted(form.terms.items())), form.constant
