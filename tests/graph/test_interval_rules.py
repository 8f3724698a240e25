"""Interval rules, one by one."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from ftheta.graph import GraphError, Interval, NoRule, OutsideDomain, forward, intervals, trace
from ftheta.graph.domains.interval import INTERVAL, RULES
from ftheta.graph.primitives import ELEMENTWISE, PARTIAL

from .soundness import holds
from .table import TABLE, table_graph, table_samples


@cache
def table_results():
    g, boxes = table_graph()
    return g, forward(INTERVAL, g, *boxes), table_samples()


def test_the_table_has_an_entry_for_every_rule():
    assert set(TABLE) == set(RULES)


def test_whatever_may_be_in_a_region_of_one_variable_has_a_rule():
    assert set(RULES) >= ELEMENTWISE >= PARTIAL


@pytest.mark.parametrize("primitive", TABLE)
def test_the_rule_encloses_every_sample(primitive):
    g, found, seen = table_results()
    nodes = [node for node in g.nodes if node.primitive == primitive]
    assert nodes, f"the table's entry does not use {primitive}"
    for node in nodes:
        for slot in node.outputs:
            assert holds(found[slot], *seen[slot.id]), str(node)


def enclose(f, *boxes):
    g = trace(f, *[jax.ShapeDtypeStruct(np.shape(lo), np.float64) for lo, _ in boxes])
    return intervals(
        g, *[Interval(np.asarray(lo, float), np.asarray(hi, float)) for lo, hi in boxes]
    ).outputs


def ends(f, *boxes):
    found = enclose(f, *boxes)
    return found.lo.tolist(), found.hi.tolist()


EXACT = {
    "extremum of cos inside": (jnp.cos, (-0.5, 0.25), (np.cos(0.5), 1.0)),
    "minimum of cos inside": (jnp.cos, (3.0, 3.5), (-1.0, np.cos(3.5))),
    "monotone piece of sin": (jnp.sin, (2.0, 4.0), (np.sin(4.0), np.sin(2.0))),
    "whole wave": (jnp.sin, (0.0, 7.0), (-1.0, 1.0)),
    "sin of something huge": (jnp.sin, (1e17, 1e17 + 64), (-1.0, 1.0)),
    "cosh across zero": (jnp.cosh, (-1.0, 0.5), (1.0, np.cosh(1.0))),
    "even power across zero": (lambda x: x**4, (-2.0, 1.0), (0.0, 16.0)),
    "odd power across zero": (lambda x: x**3, (-2.0, 1.0), (-8.0, 1.0)),
    "negative even power": (lambda x: x**-2, (-4.0, -2.0), (1 / 16, 1 / 4)),
    "negative odd power": (lambda x: x**-1, (-4.0, -2.0), (-1 / 2, -1 / 4)),
    "product with itself": (lambda x: x * x, (-1.0, 2.0), (0.0, 4.0)),
    "difference with itself": (lambda x: x - x, (-1.0, 2.0), (0.0, 0.0)),
    "erfc falls": (lax.erfc, (-0.5, 1.0), (0.15729920705028513, 1.5204998778130465)),
    "tanh far out": (jnp.tanh, (-1e3, 1e3), (-1.0, 1.0)),
    "exp underflows to at least zero": (jnp.exp, (-1e4, 0.0), (0.0, 1.0)),
    "reciprocal root": (lax.rsqrt, (0.25, 4.0), (0.5, 2.0)),
    "square root from zero": (jnp.sqrt, (0.0, 4.0), (0.0, 2.0)),
    "sign across zero": (jnp.sign, (-2.0, 0.5), (-1.0, 1.0)),
    "rounding half to even": (jnp.round, (0.5, 2.5), (0.0, 2.0)),
    "angle across the positive axis": (
        lambda y: jnp.arctan2(y, 1.0),
        (-1.0, 1.0),
        (-np.pi / 4, np.pi / 4),
    ),
    "angle across the cut": (lambda y: jnp.arctan2(y, -1.0), (-1.0, 1.0), (-np.pi, np.pi)),
    "tangent with a pole inside": (jnp.tan, (1.0, 2.0), (-np.inf, np.inf)),
    "negative base, integer exponent": (lambda x: jnp.power(x, 3.0), (-2.0, 1.0), (-8.0, 1.0)),
    "a quotient with itself": (lambda x: x / x, (1.0, 2.0), (1.0, 1.0)),
}


@pytest.mark.parametrize("name", EXACT)
def test_the_range_is_exact_up_to_rounding(name):
    f, box, expected = EXACT[name]
    lo, hi = ends(f, box)
    tolerance = 0.1 if name == "a quotient with itself" else 1e-14  # that one comes from pieces
    assert lo <= expected[0] and expected[1] <= hi
    assert (lo, hi) == pytest.approx(expected, rel=tolerance, abs=1e-300)


QUOTIENTS = {
    ((1.0, 2.0), (-1.0, 1.0)): (-np.inf, np.inf),
    ((1.0, 2.0), (0.0, 4.0)): (0.25, np.inf),
    ((1.0, 2.0), (-4.0, 0.0)): (-np.inf, -0.25),
    ((-2.0, -1.0), (0.0, 4.0)): (-np.inf, -0.25),
    ((0.0, 0.0), (0.0, 4.0)): (0.0, 0.0),
    ((0.0, 1.0), (0.0, 4.0)): (0.0, np.inf),
    ((-1.0, 1.0), (0.0, 1.0)): (-np.inf, np.inf),
    ((1.0, 1.0), (0.0, 0.0)): (-np.inf, np.inf),
    ((1.0, np.inf), (1.0, np.inf)): (0.0, np.inf),
    ((-np.inf, np.inf), (2.0, 3.0)): (-np.inf, np.inf),
}


@pytest.mark.parametrize("pair", QUOTIENTS, ids=str)
def test_division_by_zero_leaves_one_side_or_the_whole_line(pair):
    lo, hi = ends(lambda x, y: x / y, *pair)
    assert (lo, hi) == pytest.approx(QUOTIENTS[pair], rel=1e-14) and not np.isnan([lo, hi]).any()


INFINITE = {
    "overflowing sum": (lambda x: x + x, (1e308, 1.7e308)),
    "overflowing product": (lambda x: x * 1e10, (-1e305, 1e305)),
    "zero times unbounded": (lambda x: x * 0.0, (-np.inf, np.inf)),
    "difference of unbounded": (lambda x: jnp.sin(x) + x - 2 * x, (-np.inf, np.inf)),
    "exp beyond range": (jnp.exp, (0.0, 1e4)),
    "sinh beyond range": (jnp.sinh, (-1e4, 1e4)),
    "sum of unbounded": (lambda x: jnp.stack([x, -x]).sum(), (-np.inf, np.inf)),
    "matrix product of unbounded": (
        lambda x: jnp.array([[1.0, 0.0], [0.0, 1.0]]) @ jnp.stack([x, 2.0]),
        (0.0, np.inf),
    ),
    "softmax of unbounded": (lambda x: jax.nn.softmax(jnp.stack([x, 0.0])), (-np.inf, np.inf)),
    "layer norm of unbounded": (
        lambda x: jax.nn.standardize(jnp.stack([x, 0.0, 1.0])),
        (-np.inf, np.inf),
    ),
    "silu of unbounded": (jax.nn.silu, (-np.inf, np.inf)),
    "softplus of unbounded": (jax.nn.softplus, (-np.inf, np.inf)),
    "power beyond range": (lambda x: x**7, (-1e100, 1e100)),
}


@pytest.mark.parametrize("name", INFINITE)
def test_overflow_gives_infinite_ends_and_never_nan(name):
    f, box = INFINITE[name]
    found = enclose(f, box)
    assert not np.isnan(found.lo).any() and not np.isnan(found.hi).any()
    for x in np.clip(np.linspace(max(box[0], -1e300), min(box[1], 1e300), 31), *box):
        y = np.asarray(f(jnp.asarray(x)))
        assert np.all((found.lo <= y) & (y <= found.hi) | ~np.isfinite(y))


def test_zero_times_unbounded_is_zero():
    assert ends(lambda x: x * 0.0, (-np.inf, np.inf)) == (0.0, 0.0)


def test_sums_and_products_of_numbers_at_least_zero_stay_at_least_zero():
    lo, _ = ends(
        lambda x: jnp.sqrt(jnp.sum(x * x) * x[0] ** 2 + jnp.cumsum(jnp.abs(x))[-1]),
        ([-1e-200] * 3, [1e-200] * 3),
    )
    assert lo == 0.0


# ---- decisions --------------------------------------------------------------------------------------------------


def test_comparisons_are_decided_when_the_intervals_leave_no_doubt():
    found = enclose(
        lambda x, y: (x < y, x <= y, x > y, x >= y, x == y, x != y),
        ([0.0, 0.0, 2.0], [1.0, 1.0, 3.0]),
        ([1.0, 2.0, 0.0], [2.0, 3.0, 1.0]),
    )
    states = [[(bool(a), bool(b)) for a, b in zip(r.lo, r.hi)] for r in found]
    no = (False, False)
    yes = (True, True)
    open_ = (False, True)
    assert states == [
        [open_, yes, no],
        [yes, yes, no],
        [no, no, yes],
        [open_, no, yes],
        [open_, no, no],
        [open_, yes, yes],
    ]


def test_a_choice_takes_only_the_cases_that_are_possible():
    lo, hi = ends(
        lambda x, y: jnp.where(x > 0, y, -y),
        ([1.0, -2.0, -1.0], [2.0, -1.0, 1.0]),
        ([5.0] * 3, [6.0] * 3),
    )
    assert (lo, hi) == ([5.0, -6.0, -6.0], [6.0, -5.0, 6.0])


def test_a_choice_among_several_cases_takes_the_hull_of_those_in_range():
    f = lambda x, n: lax.select_n(n, x, x + 10, x + 20)
    g = trace(f, jax.ShapeDtypeStruct((), np.float64), jax.ShapeDtypeStruct((), np.int32))
    found = intervals(g, Interval(0.0, 1.0), Interval(1, 2)).outputs
    assert (float(found.lo), float(found.hi)) == pytest.approx((10.0, 21.0))


def test_concrete_integers_are_computed_exactly_by_jax():
    g = trace(lambda n, x: x[jnp.bitwise_and(n << 1, 3)], np.int64(3), draws := np.arange(4.0))
    assert float(intervals(g, np.int64(3), draws).outputs.lo) == 2.0


def test_integers_lie_on_whole_numbers_and_wrap_around():
    g = trace(lambda n: (n * 3 + 1, n // 2, n * n * n * n), np.int32(3))
    small, half, wrapped = intervals(g, Interval(2, 5)).outputs
    assert (small.lo, small.hi, half.lo, half.hi) == (7, 16, 1, 2)
    assert (wrapped.lo, wrapped.hi) == (16, 625)
    (huge,) = intervals(trace(lambda n: (n * n * n * n,), np.int32(3)), Interval(0, 10**6)).outputs
    assert (huge.lo, huge.hi) == (-(2.0**31), 2.0**31 - 1)


def test_remainders_of_integers_by_something_that_may_be_zero_say_nothing():
    g = trace(lambda n, m: lax.rem(n, m), np.int32(7), np.int32(3))
    assert (float((found := intervals(g, 7, Interval(0, 3)).outputs).lo), float(found.hi)) == (
        -(2.0**31),
        2.0**31 - 1,
    )
    found = intervals(g, Interval(5, 9), Interval(3, 4)).outputs
    assert (float(found.lo), float(found.hi)) == (0.0, 4.0)


def test_truth_values_can_be_the_variable_and_be_compared_and_sought():
    g = trace(
        lambda p, x: (jnp.where(p, 1.0, 2.0) * p.astype(float), jnp.argmin(x > 0)),
        np.array([True, False]),
        np.ones(3),
    )
    product, first = intervals(
        g,
        Interval(np.array([False, True]), np.array([True, True])),
        Interval(np.array([1.0, -1.0, 2.0]), np.array([2.0, 1.0, 3.0])),
    ).outputs
    assert product.lo[0] == 0.0 and product.hi.tolist() == pytest.approx([2.0, 1.0])
    assert (float(first.lo), float(first.hi)) == (0.0, 2.0)


def test_an_index_that_is_not_known_gives_the_hull_of_the_entries():
    lo, hi = ends(
        lambda x, y: x[jnp.argmax(y)],
        ([1.0, 5.0, 2.0], [1.5, 6.0, 3.0]),
        ([0.0, 0.0, 9.0], [1.0, 1.0, 9.5]),
    )
    assert (lo, hi) == (2.0, 3.0)
    lo, hi = ends(
        lambda x, y: x[jnp.argmax(y)],
        ([1.0, 5.0, 2.0], [1.5, 6.0, 3.0]),
        ([0.0, 0.0, 0.0], [1.0] * 3),
    )
    assert lo <= 1.0 and hi >= 6.0


def test_a_nan_constant_says_nothing():
    lo, hi = ends(lambda x: jnp.where(x > 0, x, jnp.nan), (-1.0, 1.0))
    assert (lo, hi) == (-np.inf, np.inf)
    lo, hi = ends(lambda x: jnp.where(x > 0, x, jnp.nan), (0.5, 1.0))
    assert (lo, hi) == (0.5, 1.0)


# ---- errors -----------------------------------------------------------------------------------------------------

OUTSIDE = {
    "log": (jnp.log, (-1.0, 1.0)),
    "sqrt": (jnp.sqrt, (-1e-9, 1.0)),
    "rsqrt": (lax.rsqrt, (-1.0, 1.0)),
    "log1p": (jnp.log1p, (-2.0, 0.0)),
    "asin": (jnp.arcsin, (0.0, 1.5)),
    "acosh": (jnp.arccosh, (0.5, 2.0)),
    "atanh": (jnp.arctanh, (-0.5, 1.1)),
    "erf_inv": (lax.erf_inv, (-2.0, 0.0)),
    "pow": (lambda x: x**0.3, (-1.0, 1.0)),
}


@pytest.mark.parametrize("name", OUTSIDE)
def test_leaving_the_domain_of_a_function_is_an_error_with_its_place(name):
    f, box = OUTSIDE[name]
    with pytest.raises(OutsideDomain) as error:
        enclose(lambda x: f(x), box)
    text = str(error.value)
    assert (
        name in text
        and "test_interval_rules.py" in text
        and "an enclosure [" in text
        and "remedy: narrow the box" in text
    )


def test_a_guarded_logarithm_is_inside_its_domain():
    lo, hi = ends(lambda x: jnp.where(x > 0, jnp.log(jnp.where(x > 0, x, 1.0)), 0.0), (-1.0, 2.0))
    assert lo == -np.inf and hi == pytest.approx(np.log(2.0))


def test_a_missing_rule_names_domain_primitive_line_and_file():
    with pytest.raises(NoRule) as error:
        enclose(lambda x: lax.lgamma(x), (1.0, 2.0))
    text = str(error.value)
    assert "'interval'" in text and "'lgamma'" in text and "ftheta/graph/domains/interval/" in text
    assert f"{__file__}:" in text and "docs/graph.md" in text


def test_complex_numbers_and_keys_are_refused():
    with pytest.raises(NoRule, match="complex128"):
        enclose(lambda x: jnp.abs(jnp.exp(1j * x)), (0.0, 1.0))
    g = trace(lambda k, x: jax.random.uniform(k) * x, jax.random.key(0), 1.0)
    with pytest.raises(NoRule, match="key<fry>"):
        intervals(g, jax.random.key(0), Interval(0.0, 1.0))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x.at[np.array([1, 1])].set(x[:2]),
        lambda x: lax.sort((x, x), num_keys=2)[1],
        lambda x: jnp.zeros(3, int).at[np.array([0, 0])].add(x[:2].astype(int)),
    ],
)
def test_uses_of_a_primitive_beyond_its_rule_are_refused(f):
    with pytest.raises(NoRule, match="no rule for the primitive"):
        enclose(f, ([0.0] * 4, [1.0] * 4))


def test_a_place_out_of_bounds_says_nothing():
    found = enclose(lambda x: jnp.take(x, np.array([0, 9]), mode="fill"), ([0.0] * 4, [1.0] * 4))
    assert (found.lo.tolist(), found.hi.tolist()) == ([0.0, -np.inf], [1.0, np.inf])


def test_a_place_out_of_bounds_holds_the_fill_value():
    found = enclose(
        lambda x: jnp.take(x, np.array([0, 9]), mode="fill", fill_value=7.0), ([0.0] * 4, [1.0] * 4)
    )
    assert (found.lo.tolist(), found.hi.tolist()) == ([0.0, 7.0], [1.0, 7.0])


def test_intervals_check_their_ends_and_shapes():
    with pytest.raises(GraphError, match="lo ≤ hi"):
        Interval(1.0, 0.0)
    with pytest.raises(GraphError, match="NaN"):
        Interval(np.nan, 1.0)
    with pytest.raises(GraphError, match="one shape"):
        Interval(np.zeros(2), np.ones(3))
    with pytest.raises(GraphError, match="does not fit"):
        intervals(trace(jnp.sin, np.ones(3)), Interval(np.zeros(2), np.ones(2)))
    with pytest.raises(GraphError, match="do not meet"):
        Interval(0.0, 1.0).meet(Interval(2.0, 3.0))


@pytest.mark.parametrize(
    "x, rounded", [(0.49999999999999994, 0.0), (2.0**52 + 1, 2.0**52 + 1), (-2.5, -3.0), (1.5, 2.0)]
)
def test_ties_are_rounded_away_from_zero_and_nothing_else_is(x, rounded):
    found = enclose(lambda x: lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO), (x, x))
    assert (float(found.lo), float(found.hi)) == (rounded, rounded)


def test_an_integer_that_reaches_the_next_power_of_two_wraps_around():
    """2⁶² + 2⁶² = −2⁶³ in 64 bits; the largest integer, 2⁶³ − 1, is no float."""
    with jax.enable_x64(True):
        g = trace(lambda x: x.astype(np.int64) + x.astype(np.int64), np.float64(0))
        found = intervals(g, Interval(2.0**62, 2.0**62)).outputs
    assert found.lo <= -(2.0**63)


def test_extrema_of_no_numbers_are_what_they_begin_with():
    def f(x):
        return jnp.max(x[:0], initial=-3.0) + jnp.min(x[:0], initial=5.0) + jnp.sum(x[:0])

    with jax.enable_x64(True):
        found = intervals(trace(f, np.zeros(3)), Interval(np.zeros(3), np.ones(3))).outputs
    assert found.lo <= 2.0 <= found.hi and found.hi - found.lo <= 1e-14


def test_a_window_over_a_number_is_the_number():
    found = enclose(lambda x: lax.reduce_window(x, 0.0, lax.add, (), (), "VALID"), (1.0, 2.0))
    assert (float(found.lo), float(found.hi)) == (1.0, 2.0)
