"""Expressions: read as data, with the meaning that Python's own arithmetic gives them."""

import math
import operator

import jax
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftheta.graph import Expression
from ftheta.graph.expressions import FUNCTIONS, LONGEST, point
from ftheta.logic import UsageError

from ..thoroughness import max_examples

MEANING = {
    "exp": math.exp,
    "log": math.log,
    "sqrt": math.sqrt,
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "sinh": math.sinh,
    "cosh": math.cosh,
    "tanh": math.tanh,
    "sigmoid": lambda x: 1 / (1 + math.exp(-x)),
    "softplus": lambda x: math.log1p(math.exp(x)),
    "relu": lambda x: max(x, 0.0),
    "erf": math.erf,
    "abs": abs,
}
SIGNS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}
SMOOTH = ("sin", "cos", "tanh", "sigmoid", "softplus", "erf", "abs")


def value(text, **at):
    read = Expression.parse(text)
    assert set(read.variables) == set(at)
    with jax.enable_x64(True):
        return float(read(*(float(at[v]) for v in read.variables)))


def test_every_function_means_what_it_means_in_mathematics():
    assert set(MEANING) == set(FUNCTIONS)
    for name, f in MEANING.items():
        assert value(f"{name}(x)", x=0.7) == pytest.approx(f(0.7), rel=1e-12)


def trees():
    leaves = st.one_of(st.sampled_from("xy"), st.floats(0.1, 4).map(lambda v: round(v, 3)))
    grow = lambda inner: st.one_of(
        st.tuples(st.sampled_from("+-*/"), inner, inner),
        st.tuples(st.just("^"), inner, st.integers(0, 3)),
        st.tuples(st.just("neg"), inner),
        st.tuples(st.sampled_from(SMOOTH), inner),
        st.tuples(st.sampled_from(("min", "max")), inner, inner),
    )
    return st.recursive(leaves, grow, max_leaves=12)


def written(tree, tight):
    """The tree as text; with `tight`, sums and products in parentheses only where the other side needs them."""
    if not isinstance(tree, tuple):
        return str(tree)
    kind, *parts = tree
    inner = [written(p, tight) if not isinstance(p, int) else str(p) for p in parts]
    if kind in "+-*/^":
        return f"({inner[0]}) {kind} ({inner[1]})" if tight else f"(({inner[0]}){kind}({inner[1]}))"
    return f"-({inner[0]})" if kind == "neg" else f"{kind}({', '.join(inner)})"


def evaluated(tree, x, y):
    if not isinstance(tree, tuple):
        return {"x": x, "y": y}.get(tree, tree)
    kind, *parts = tree
    values = [evaluated(p, x, y) for p in parts]
    if kind in SIGNS:
        return SIGNS[kind](*values)
    rest = {"^": operator.pow, "neg": operator.neg, "min": min, "max": max}
    return (rest.get(kind) or MEANING[kind])(*values)


@given(trees(), st.floats(0.2, 2), st.floats(0.2, 2), st.booleans())
@max_examples(60)
def test_random_expressions_have_the_value_of_their_tree(tree, x, y, tight):
    text = f"x*0 + y*0 + ({written(tree, tight)})"
    try:
        expected = evaluated(tree, x, y)
    except (ZeroDivisionError, OverflowError, ValueError):
        return
    assert value(text, x=x, y=y) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(
    "text, expected",
    [
        ("-x^2", -9.0),
        ("x^-2", 1 / 9),
        ("2^x^2", 512.0),
        ("x-2-1", 0.0),
        ("12/x/2", 2.0),
        ("2*x^2+1", 19.0),
        ("-x*-x", 9.0),
        ("+x**2", 9.0),
        ("x^(1/2)", math.sqrt(3)),
        ("1.5e1*x + .5", 45.5),
        ("pi*x - e", 3 * math.pi - math.e),
        ("max(x, 1, 7)", 7.0),
        ("x − 1 · 2 × 1", 1.0),
        ("u = x*x; u + u^2", 90.0),
        (" x ", 3.0),
    ],
)
def test_powers_signs_and_order_are_those_of_mathematics(text, expected):
    assert value(text, x=3.0) == pytest.approx(expected, rel=1e-14)


def test_equal_parts_are_shared_and_named_parts_keep_their_name():
    with jax.enable_x64(True):
        graph = Expression.parse("t2*exp(t1)*sqrt(t1+t2*exp(t1))").trace(0.0, 1.0)
        assert [n.primitive for n in graph.nodes] == ["exp", "mul", "add", "sqrt", "mul"]
        named = Expression.parse("u = t2*exp(t1); u*sqrt(t1+u)").trace(0.0, 1.0)
        assert named["u"] in named.nodes[1].outputs
        assert {n.source for n in named.nodes} == {"u = t2*exp(t1); u*sqrt(t1+u)"}


def test_variables_come_in_their_natural_order():
    assert Expression.parse("t10 + t2*t1 + θ").variables == ("t1", "t2", "t10", "θ")


BAD = [
    ("", 0, "expected"),
    ("x +", 3, "expected"),
    ("2x", 1, "operator"),
    ("x y", 2, "operator"),
    ("foo(x)", 0, "not a function"),
    ("x(y)", 0, "not a function"),
    ("sqt(x)", 0, "did you mean sqrt"),
    ("sin x", 0, "argument"),
    ("(x", 2, "`)`"),
    ("x)", 1, "operator"),
    ("x^101", 1, "exponents"),
    ("x & y", 2, "no meaning"),
    ("x.__class__", 1, "no meaning"),
    ("__import__('os')", 11, "no meaning"),
    ("lambda: 0", 6, "no meaning"),
    ("1e999*x", 0, "too large"),
    ("2 + 3", 0, "variable"),
    ("max(x)", 0, "two arguments"),
    ("exp(x, y)", 0, "one argument"),
    ("u = x; u = 2; u", 7, "taken"),
    ("exp = 3; x", 0, "taken"),
    ("u = x u", 6, "`;`"),
]


@pytest.mark.parametrize("text, place, word", BAD)
def test_what_is_no_expression_is_refused_with_a_caret_below_the_place(text, place, word):
    with pytest.raises(UsageError) as error:
        Expression.parse(text)
    where, caret = str(error.value.where).split("\n")
    assert where.startswith(text[:40]) and caret.index("^") == len("  where: ") + place
    assert word in str(error.value)


@pytest.mark.parametrize(
    "text",
    ["(" * 500 + "x", "-" * 500 + "x", "x^" * 300 + "x", "sin(" * 300 + "x", "x" * (LONGEST + 1)],
)
def test_depth_and_length_are_limited(text):
    with pytest.raises(UsageError):
        Expression.parse(text)


@given(st.text("xyt12+-*/^().,;= esinlogpaθ\n", max_size=40))
@max_examples(200)
def test_any_text_is_read_or_refused_and_never_crashes(text):
    try:
        Expression.parse(text)
    except UsageError as error:
        assert error.remedy


def test_points_give_a_value_to_each_variable_and_nothing_else():
    read = Expression.parse("t2*exp(t1)")
    assert point(read, "t2=1e1, t1 = -0.5") == (-0.5, 10.0)
    for words, part in (
        ("t1=0", "no value for t2"),
        ("t1=0,t2=1,z=3", "no variable z"),
        ("t1", "name=number"),
        ("t1=a,t2=0", "t1=a"),
        ("t1=nan,t2=0", "finite"),
    ):
        with pytest.raises(UsageError, match=part):
            point(read, words)
