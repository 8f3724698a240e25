"""Formulas of VNN-LIB for tests: drawn at random, written as text, and evaluated by following the definition."""

from collections.abc import Callable
from fractions import Fraction
from operator import eq, ge, gt, le, lt, ne
from typing import Any

from hypothesis import strategies as st

RELATIONS: dict[str, Callable[[Any, Any], bool]] = {
    "<=": le,
    "<": lt,
    ">=": ge,
    ">": gt,
    "=": eq,
    "==": eq,
    "!=": ne,
}
Point = dict[str, Fraction]

grid = st.integers(-6, 6).map(lambda k: Fraction(k, 4))
"""A coarse grid, on which ties are frequent."""


def value_of(expression: Any, point: Point) -> Any:
    """What an expression, a nested tuple of operator and arguments, is at a point."""
    if isinstance(expression, str):
        return point[expression]
    if isinstance(expression, Fraction):
        return expression
    operator, *arguments = expression
    values = [value_of(argument, point) for argument in arguments]
    if operator in RELATIONS:
        return RELATIONS[operator](*values)
    if operator == "and":
        return all(values)
    if operator == "or":
        return any(values)
    if operator == "not":
        return not values[0]
    if operator == "+":
        return sum(values, Fraction(0))
    if operator == "*":
        product = Fraction(1)
        for value in values:
            product *= value
        return product
    if len(values) == 1:
        return -values[0]
    return values[0] - sum(values[1:], Fraction(0))


def decimal(value: Fraction) -> str:
    """A number of the grid as a decimal, not always written in the same way."""
    texts = [
        f"{float(value)}",
        f"{float(value):.3f}",
        f"{float(value) * 100}e-2",
        f"{float(value):.1E}",
    ]
    exact = [text for text in texts if Fraction(text) == value]
    if value.denominator == 1:
        exact.append(str(value))
    return exact[value.numerator % len(exact)]


def write(expression: Any, gap: str = " ") -> str:
    """The text of an expression, with `gap` between its words."""
    if isinstance(expression, str):
        return expression
    if isinstance(expression, Fraction):
        return decimal(expression)
    operator, *arguments = expression
    return f"({operator}{gap}{gap.join(write(argument, gap) for argument in arguments)})"


def linear_terms(names: list[str]) -> st.SearchStrategy:
    leaf = st.one_of(st.sampled_from(names), grid)
    return st.recursive(
        leaf,
        lambda inner: st.one_of(
            st.tuples(st.just("+"), inner, inner),
            st.tuples(st.just("-"), inner),
            st.tuples(st.just("-"), inner, inner, inner),
            st.tuples(st.just("*"), grid, inner),
            st.tuples(st.just("*"), inner, grid, grid),
        ),
        max_leaves=4,
    )


def polynomial_terms(names: list[str]) -> st.SearchStrategy:
    return st.recursive(
        linear_terms(names),
        lambda inner: st.one_of(
            st.tuples(st.just("+"), inner, inner),
            st.tuples(st.just("*"), inner, inner),
            st.tuples(st.just("*"), inner, inner, inner),
        ),
        max_leaves=4,
    )


def formulas(
    terms: st.SearchStrategy, relations: list[str], connectives: list[str]
) -> st.SearchStrategy:
    comparison = st.tuples(st.sampled_from(relations), terms, terms)

    def combine(inner: st.SearchStrategy) -> st.SearchStrategy:
        of_several = [connective for connective in connectives if connective != "not"]
        choices = [
            st.tuples(st.just(connective), *[inner] * count)
            for connective in of_several
            for count in (1, 2, 3)
        ]
        if "not" in connectives:
            choices.append(st.tuples(st.just("not"), inner))
        return st.one_of(choices)

    return st.recursive(comparison, combine, max_leaves=7)


gaps = st.sampled_from([" ", "\n  ", "\t ", " ; a comment with ( and ) \n"])


def points(names: list[str]) -> st.SearchStrategy[Point]:
    return st.fixed_dictionaries(dict.fromkeys(names, grid))
