"""Planted errors: each must be noticed, by the samples or by exact arithmetic."""

from contextlib import suppress
from dataclasses import replace
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ftheta.graph import GraphError, Interval, trace
from ftheta.graph.domains.interval import (
    INTERVAL,
    QUIET_RULES,
    arithmetic,
    decisions,
    functions,
    fused,
    sums,
    univariate,
)
from ftheta.graph.patterns import (
    Centred,
    LogAddExp,
    LogSumExp,
    Normalised,
    Softmax,
    Variance,
    WeightedAverage,
)

from .soundness import boxes, sample, sampled, violations
from .table import TABLE, table_graph, table_samples
from .test_interval_accuracy import affine_violations, function_violations
from .zoo import ZOO, draws, graph


def caught_by_table(domain):
    g, table_boxes = table_graph()
    try:
        return bool(violations(g, table_boxes, table_samples(), domain))
    except GraphError:  # enclosures that do not meet, or ends in the wrong order
        return True


def caught_by(name, domain=INTERVAL):
    try:
        return bool(violations(graph(name), boxes(name), sampled(name), domain))
    except GraphError:
        return True


def with_rule(primitive, rule):
    return replace(INTERVAL, rules={**QUIET_RULES, primitive: np.errstate(all="ignore")(rule)})


def test_the_domain_without_a_planted_error_is_clean():
    assert not caught_by_table(INTERVAL)


# ---- every rule, losing one of its ends --------------------------------------------------------------------------


def losing(side, rule):
    def one(x):
        end = getattr(x, side)
        return Interval(end, end)

    def wrong(node, *xs):
        result = rule(node, *xs)
        return one(result) if isinstance(result, Interval) else [one(x) for x in result]

    return wrong


@pytest.mark.parametrize("side", ["lo", "hi"])
@pytest.mark.parametrize("primitive", [p for p in TABLE if p != "is_finite"])
def test_a_rule_that_loses_one_end_is_noticed(primitive, side):
    """All but `is_finite`, which is decided on every bounded box."""
    assert caught_by_table(with_rule(primitive, losing(side, QUIET_RULES[primitive])))


LIGHT = [n for n in ZOO if n not in ("convolutional_network", "activations")]


@pytest.mark.parametrize(
    "primitive",
    [
        "mul",
        "add",
        "sub",
        "dot_general",
        "tanh",
        "exp",
        "div",
        "reduce_sum",
        "custom_jvp_call",
        "broadcast_in_dim",
        "select_n",
        "neg",
    ],
)
def test_the_rules_that_networks_live_on_are_watched_by_several_programs(primitive):
    users = [n for n in LIGHT if any(node.primitive == primitive for node in graph(n).nodes)]
    noticed = [
        n
        for n in users
        for side in ("lo", "hi")
        if caught_by(n, with_rule(primitive, losing(side, QUIET_RULES[primitive])))
    ]
    assert len(set(noticed)) >= 2, (users, noticed)


# ---- mistakes of thought ------------------------------------------------------------------------------------------


def point(x):
    return Interval.point(x)


def centre_without_product_of_radii(node, x, y):
    """|c₁|r₂ + r₁|c₂| without r₁r₂."""
    exact = lambda a, b: sums.dot_general(node, point(a), point(b)).lo
    (c, r), (d, s) = (((v.lo + v.hi) / 2, (v.hi - v.lo) / 2) for v in (x, y))
    radius = exact(np.abs(c), s) + exact(r, np.abs(d))
    return Interval(exact(c, d) - radius, exact(c, d) + radius)


MISTAKES = {
    "products at two corners": (
        "mul",
        lambda node, x, y: Interval.hull_of(x.lo * y.lo, x.hi * y.hi),
    ),
    "differences of like ends": (
        "sub",
        lambda node, x, y: Interval.hull_of(x.lo - y.lo, x.hi - y.hi),
    ),
    "negation without exchange": ("neg", lambda node, x: x),
    "absolute value at the ends": (
        "abs",
        lambda node, x: Interval.hull_of(np.abs(x.lo), np.abs(x.hi)),
    ),
    "squares at the ends": ("square", lambda node, x: Interval.hull_of(x.lo**2, x.hi**2)),
    "powers at the ends": (
        "integer_pow",
        lambda node, x: Interval.hull_of(
            x.lo ** float(node.params["y"]), x.hi ** float(node.params["y"])
        ),
    ),
    "cosine at the ends": ("cos", lambda node, x: Interval.hull_of(np.cos(x.lo), np.cos(x.hi))),
    "sine at the ends": ("sin", lambda node, x: Interval.hull_of(np.sin(x.lo), np.sin(x.hi))),
    "cosh at the ends": ("cosh", lambda node, x: Interval.hull_of(np.cosh(x.lo), np.cosh(x.hi))),
    "angles at two corners": (
        "atan2",
        lambda node, y, x: Interval.hull_of(np.arctan2(y.lo, x.lo), np.arctan2(y.hi, x.hi)),
    ),
    "matrix product of ends": (
        "dot_general",
        lambda node, x, y: Interval.hull_of(
            sums.dot_general(node, point(x.lo), point(y.lo)).lo,
            sums.dot_general(node, point(x.hi), point(y.hi)).lo,
        ),
    ),
    "matrix product without the product of radii": ("dot_general", centre_without_product_of_radii),
    "convolution of ends": (
        "conv_general_dilated",
        lambda node, x, y: Interval.hull_of(
            sums.convolution(node, point(x.lo), point(y.lo)).lo,
            sums.convolution(node, point(x.hi), point(y.hi)).lo,
        ),
    ),
    "always the second case": ("select_n", lambda node, p, *cases: cases[1]),
    "comparison decided too early": ("gt", lambda node, x, y: Interval(x.hi > y.lo, x.hi > y.lo)),
    "sums without order": (
        "cumsum",
        lambda node, x: sums.cumulative_sum(
            replace(node, params={**node.params, "reverse": False}), x
        ),
    ),
    "sorting nothing": ("sort", lambda node, *xs: xs[0] if len(xs) == 1 else xs),
    "argmax of the lower ends": (
        "argmax",
        lambda node, x: QUIET_RULES["argmax"](node, point(x.lo)),
    ),
    "the first branch only": ("cond", lambda node, p, x: QUIET_RULES["cond"](node, point(0.0), x)),
    "gathering in order": (
        "gather",
        lambda node, x, i: QUIET_RULES["gather"](node, x.map(lambda e: e[::-1]), i),
    ),
    "truncation forgotten": ("convert_element_type", lambda node, x: x.map(lambda e: e * 0.9)),
    "reversal forgotten": ("rev", lambda node, x: x),
    "scatter-add without the base": (
        "scatter-add",
        lambda node, x, i, u: QUIET_RULES["scatter-add"](node, x.map(np.zeros_like), i, u),
    ),
    "padding with zero": ("pad", lambda node, x, fill: QUIET_RULES["pad"](node, x, point(0.0))),
    "quotients of like ends": (
        "div",
        lambda node, x, y: Interval.hull_of(x.lo / y.lo, x.hi / y.hi),
    ),
    "rounding away from even": ("round", lambda node, x: x.map(np.floor)),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_in_a_rule_is_noticed(name):
    primitive, wrong = MISTAKES[name]
    assert caught_by_table(with_rule(primitive, wrong))


# ---- mistakes in the formulas that span several nodes --------------------------------------------------------------

SPANNING = {
    Centred: "residual_network",
    Variance: "normalisations",
    Normalised: "residual_network",
    Softmax: "attention",
    LogSumExp: "cross_entropy",
    WeightedAverage: "attention",
}


@pytest.mark.parametrize("side", ["lo", "hi"])
@pytest.mark.parametrize("pattern", SPANNING)
def test_a_formula_that_loses_one_end_is_noticed(pattern, side, monkeypatch):
    right = fused.FUSED[pattern]

    def wrong(*args):
        found = right(*args)
        end = getattr(found, side)
        return Interval(end, end)

    monkeypatch.setitem(fused.FUSED, pattern, wrong)
    assert caught_by(SPANNING[pattern])


def test_log_add_exp_that_loses_its_upper_end_is_noticed(monkeypatch):
    right = fused.FUSED[LogAddExp]
    monkeypatch.setitem(fused.FUSED, LogAddExp, lambda *a: Interval.point(right(*a).lo))
    g = trace(jax.nn.softplus, np.zeros(3))
    box = (Interval(np.full(3, -1.0), np.ones(3)),)
    assert violations(g, box, sample(g, box, 50))


def test_softmax_against_like_ends_is_noticed(monkeypatch):
    """e^l / (e^l + Σ e^l) instead of e^l / (e^l + Σ e^u)."""

    def wrong(pattern, values, node):
        x = values[pattern.x.id]
        ends = [fused.softmax(pattern, {pattern.x.id: point(end)}, node) for end in (x.lo, x.hi)]
        return Interval.hull_of(ends[0].lo, ends[1].hi)

    monkeypatch.setitem(fused.FUSED, Softmax, wrong)
    assert caught_by("attention")


def test_normalised_coordinates_bounded_too_sharply_are_noticed(monkeypatch):
    """√(n−2) for √(n−1): reached by a vector with one large entry."""
    f = lambda x: (x - x.mean()) / jnp.sqrt(x.var() + 1e-9)
    x = np.array([0.0, 0.0, 0.0, 0.0])
    g = trace(f, x)
    box = (Interval.around(x, 1.0),)
    seen = sample(g, box, 1500)
    assert violations(g, box, seen) == []
    right = fused.normalise_interval
    monkeypatch.setitem(
        fused.FUSED, Normalised, lambda *a: right(*a).meet(Interval.around(np.zeros(4), np.sqrt(2)))
    )
    assert violations(g, box, seen)


@pytest.mark.parametrize(
    "mistake", ["a half is lost", "the first piece starts late", "knots decide on the wrong side"]
)
def test_a_mistake_in_the_pieces_is_noticed(mistake, monkeypatch):
    if mistake == "a half is lost":
        right = univariate._replace_pieces
        monkeypatch.setattr(
            univariate,
            "_replace_pieces",
            lambda rows, chosen, found: right(
                rows, chosen, np.concatenate([found[: len(chosen)]] * 2)
            ),
        )
    elif mistake == "the first piece starts late":
        right = univariate._Pieces
        monkeypatch.setattr(
            univariate,
            "_Pieces",
            lambda f, x, knots: right(f, Interval(x.lo + 0.05 * (x.hi - x.lo), x.hi), knots),
        )
    else:
        compare = univariate.strict_compare
        monkeypatch.setattr(
            univariate, "strict_compare", lambda node, x, y: decisions.negation(compare(node, x, y))
        )
    g = trace(lambda x: jax.nn.leaky_relu(x) + jax.nn.elu(x), np.zeros(3))
    box = (Interval(np.array([-1.0, 0.5, -3.0]), np.array([2.0, 1.0, -1.0])),)
    seen = sample(g, box, 200)
    with suppress(
        GraphError
    ):  # where the pieces do not even meet the enclosure of the single nodes
        assert violations(g, box, seen) or caught_by("activations")


# ---- rounding left out ----------------------------------------------------------------------------------------------


def arithmetic_violations():
    """Random floats whose exact result is outside the enclosure."""
    a = draws(200, seed=1).tolist()
    b = draws(200, seed=2).tolist()
    missed = 0
    for x, y in zip(a, b):
        p = Interval.point(x)
        q = Interval.point(y)
        exact = {
            arithmetic.add: Fraction(x) + Fraction(y),
            arithmetic.mul: Fraction(x) * Fraction(y),
            arithmetic.div: Fraction(x) / Fraction(y),
        }
        for operation, value in exact.items():
            found = operation(p, q)
            missed += not (Fraction(float(found.lo)) <= value <= Fraction(float(found.hi)))
        root = arithmetic.sqrt(Interval.point(abs(x)))
        missed += not (
            Fraction(float(root.lo)) ** 2 <= Fraction(abs(x)) <= Fraction(float(root.hi)) ** 2
        )
        square = arithmetic.square(p)
        missed += not (Fraction(float(square.lo)) <= Fraction(x) ** 2 <= Fraction(float(square.hi)))
        power = arithmetic.integer_power(p, 5)
        missed += not (Fraction(float(power.lo)) <= Fraction(x) ** 5 <= Fraction(float(power.hi)))
    return missed


@pytest.fixture(autouse=True)
def quiet():
    with np.errstate(all="ignore"):
        yield


def unrounded(x, *_):
    return np.asarray(x)


UNROUNDED = {
    "sums": (arithmetic, {"add_below": lambda a, b: a + b}, arithmetic_violations),
    "squares below": (arithmetic, {"multiply_below": lambda a, b: a * b}, arithmetic_violations),
    "squares above": (arithmetic, {"multiply_above": lambda a, b: a * b}, arithmetic_violations),
    "products, quotients and roots below": (
        arithmetic,
        {"below": unrounded},
        arithmetic_violations,
    ),
    "products, quotients and roots above": (
        arithmetic,
        {"above": unrounded},
        arithmetic_violations,
    ),
    "powers": (arithmetic, {"below_by": unrounded}, arithmetic_violations),
    "matrix products": (
        sums,
        {"sum_error": lambda size, terms: 0 * size},
        lambda: sum(affine_violations(s) for s in range(12)),
    ),
    "functions below": (
        functions,
        {"below_by": unrounded},
        lambda: len(function_violations("exp")),
    ),
    "functions above": (
        functions,
        {"above_by": unrounded},
        lambda: len(function_violations("tanh")),
    ),
}


@pytest.mark.parametrize("name", UNROUNDED)
def test_rounding_left_out_is_noticed(name, monkeypatch):
    module, changes, count = UNROUNDED[name]
    assert count() == 0
    for attribute, wrong in changes.items():
        monkeypatch.setattr(module, attribute, wrong)
    assert count() > 0
