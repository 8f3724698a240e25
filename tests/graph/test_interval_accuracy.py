"""Outward rounding, checked against exact arithmetic: fractions for + − × ÷, arb for everything transcendental."""

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from ftheta.graph import Interval, intervals, trace
from ftheta.graph.domains.interval import arithmetic, functions, rounding, sums
from ftheta.graph.domains.interval.functions import MONOTONE, NUMPY, SCIPY

from ..thoroughness import max_examples
from .zoo import draws

FLOATS = st.floats(allow_nan=False, allow_infinity=False)
LARGEST = Fraction(rounding.LARGEST)


def fraction_ends(x: Interval) -> tuple[Fraction | float, Fraction | float]:
    lo = float(x.lo)
    hi = float(x.hi)
    return (lo if math.isinf(lo) else Fraction(lo)), (hi if math.isinf(hi) else Fraction(hi))


def assert_inside(exact: Fraction, x: Interval) -> None:
    lo, hi = fraction_ends(x)
    assert lo <= exact <= hi


@pytest.fixture(autouse=True)
def quiet():
    with np.errstate(all="ignore"):
        yield


# ---- arithmetic -------------------------------------------------------------------------------------------------

OPERATIONS = {
    "add": (arithmetic.add, lambda a, b: a + b),
    "sub": (arithmetic.sub, lambda a, b: a - b),
    "mul": (arithmetic.mul, lambda a, b: a * b),
    "div": (arithmetic.div, lambda a, b: a / b if b else None),
    "max": (arithmetic.maximum, max),
    "min": (arithmetic.minimum, min),
    "rem": (arithmetic.remainder, lambda a, b: Fraction(math.fmod(a, b)) if b else None),
}


@pytest.mark.parametrize("name", OPERATIONS)
@given(FLOATS, FLOATS)
@max_examples(150)
def test_the_exact_result_of_two_floats_lies_inside(name, a, b):
    interval, exact = OPERATIONS[name]
    value = exact(Fraction(a), Fraction(b))
    if value is not None:
        assert_inside(value, interval(Interval.point(a), Interval.point(b)))


@pytest.mark.parametrize("name", OPERATIONS)
@given(*[st.tuples(FLOATS, FLOATS, st.fractions(0, 1, max_denominator=97)) for _ in range(2)])
@max_examples(100)
def test_the_exact_result_at_any_rational_point_of_two_intervals_lies_inside(name, first, second):
    interval, exact = OPERATIONS[name]
    boxes = [Interval.hull_of(a, b) for a, b, _ in (first, second)]
    points = [Fraction(a) + t * (Fraction(b) - Fraction(a)) for a, b, t in (first, second)]
    if name == "rem":
        points = [Fraction(float(p)) for p in points]  # fmod is exact on floats
        points = [
            min(max(p, Fraction(float(x.lo))), Fraction(float(x.hi))) for p, x in zip(points, boxes)
        ]
    value = exact(*points)
    if value is not None:
        assert_inside(value, interval(*boxes))


@given(st.tuples(FLOATS, FLOATS, st.fractions(0, 1, max_denominator=97)), st.integers(-6, 9))
@max_examples(200)
def test_the_exact_power_lies_inside(point, exponent):
    a, b, t = point
    x = Fraction(a) + t * (Fraction(b) - Fraction(a))
    if x or exponent >= 0:
        assert_inside(x**exponent, arithmetic.integer_power(Interval.hull_of(a, b), exponent))


@given(st.lists(FLOATS, min_size=1, max_size=12))
@max_examples(200)
def test_the_exact_sum_lies_inside(terms):
    assert_inside(
        sum(map(Fraction, terms), Fraction(0)),
        sums.reduce_sum(Interval.point(np.array(terms)), (0,)),
    )


@given(st.lists(st.tuples(FLOATS, FLOATS), min_size=1, max_size=8))
@max_examples(200)
def test_the_exact_inner_product_lies_inside(pairs):
    exact = sum((Fraction(a) * Fraction(b) for a, b in pairs), Fraction(0))
    x, y = (Interval.point(np.array(side)) for side in zip(*pairs))
    row = x.map(lambda end: end[None])
    column = y.map(lambda end: end[:, None])
    for product in (sums.matrix_product(row, column), sums._product_by_corners(row, column)):
        assert_inside(exact, product.map(lambda end: end[0, 0]))


@given(FLOATS)
def test_the_exact_square_root_lies_inside(a):
    x = arithmetic.sqrt(Interval.point(abs(a)))
    lo, hi = fraction_ends(x)
    assert lo**2 <= Fraction(abs(a)) <= hi**2


@given(FLOATS, FLOATS)
def test_exact_sums_are_not_widened(a, b):
    """x + 0, and any sum that is a float, keep their value."""
    total = a + b
    if math.isfinite(total) and Fraction(a) + Fraction(b) == Fraction(total):
        found = arithmetic.add(Interval.point(a), Interval.point(b))
        assert float(found.lo) == total == float(found.hi)


ODD = np.array([0.0, -0.0, 5e-324, -5e-324, 2.3e-308, 1.0, -1.0, np.inf, -np.inf, np.nan])
ODD = np.concatenate([ODD, [rounding.LARGEST, -rounding.LARGEST, 1e-200, -1e-200]])


def test_arrays_are_rounded_as_their_entries_are():
    down = [float(rounding.below(x)) for x in ODD]
    up = [float(rounding.above(x)) for x in ODD]
    np.testing.assert_array_equal(rounding.below(ODD), down)
    np.testing.assert_array_equal(rounding.above(ODD), up)
    for bits in (0x7FF0000000000001, 0x7FFFFFFFFFFFFFFF, 0xFFF0000000000001, 0xFFFFFFFFFFFFFFFF):
        nan = np.array([bits], np.uint64).view(np.float64)
        assert rounding.below(nan) == -np.inf and rounding.above(nan) == np.inf


@np.errstate(all="ignore")
def test_what_is_not_a_number_times_a_number_may_be_anything():
    for other in (2.0, -2.0, np.inf, np.nan):
        a, b = np.array([np.nan]), np.array([other])
        assert rounding.multiply_below(a, b) == -np.inf and rounding.multiply_above(a, b) == np.inf


@np.errstate(all="ignore")
def test_products_with_odd_ends_are_those_of_all_corners():
    numbers = ODD[~np.isnan(ODD)]
    a, b = (np.sort(np.stack(np.meshgrid(numbers, numbers)), 0)[k].ravel() for k in (0, 1))
    x = Interval(a[:, None], b[:, None])
    for y in (Interval(a, b), Interval.point(a)):
        corners = [(p, q) for p in (x.lo, x.hi) for q in (y.lo, y.hi)]
        lo = np.minimum.reduce([rounding.multiply_below(p, q) for p, q in corners])
        hi = np.maximum.reduce([rounding.multiply_above(p, q) for p, q in corners])
        found = arithmetic.mul(x, y)
        np.testing.assert_array_equal(found.lo, lo)
        np.testing.assert_array_equal(found.hi, hi)


def test_roundings_are_steps_of_one_float():
    for x in (0.0, 1.0, -1.0, 5e-324, rounding.LARGEST, -rounding.LARGEST):
        assert rounding.below(x) == np.nextafter(x, -np.inf) and rounding.above(x) == np.nextafter(
            x, np.inf
        )
    assert rounding.below(np.nan) == -np.inf and rounding.above(np.nan) == np.inf
    assert rounding.gamma(10) >= 10 * 2.0**-53 / (1 - 10 * 2.0**-53)
    with pytest.raises(ValueError, match="too long"):
        rounding.sum_error(np.ones(1), 2**27)


def test_numpy_keeps_subnormal_numbers():
    """Directed rounding near zero relies on gradual underflow; a library that flushes to zero would break it."""
    tiny = np.array([5e-324, 2.3e-308])
    assert np.all(tiny * 1.0 == tiny) and tiny[1] / 2 > 0 and tiny[0] + tiny[0] > tiny[0]


# ---- affine maps, exactly ---------------------------------------------------------------------------------------


def exact_affine_range(
    w: np.ndarray, b: np.ndarray, box: Interval
) -> list[tuple[Fraction, Fraction]]:
    """min and max of W x + b over the box, in rational arithmetic."""
    ranges = []
    for row, shift in zip(w, b):
        terms = [
            sorted((Fraction(a) * Fraction(lo), Fraction(a) * Fraction(hi)))
            for a, lo, hi in zip(row.tolist(), box.lo.tolist(), box.hi.tolist())
        ]
        ranges.append(
            (
                sum((t[0] for t in terms), Fraction(shift)),
                sum((t[1] for t in terms), Fraction(shift)),
            )
        )
    return ranges


def affine_violations(seed: int) -> int:
    """Rows of a random affine map whose exact range is not inside the computed one."""
    w = draws(6, 5, seed=seed)
    b = draws(6, seed=seed)
    x = draws(5, seed=seed)
    box = Interval.around(x, np.abs(draws(5, seed=seed + 1)) * (seed % 3) / 4)
    found = intervals(trace(lambda x: w @ x + b, x), box).outputs
    exact = exact_affine_range(w, b, box)
    return sum(
        not (Fraction(lo) <= least and most <= Fraction(hi))
        for (least, most), lo, hi in zip(exact, found.lo.tolist(), found.hi.tolist())
    )


@pytest.mark.parametrize("seed", range(12))
def test_affine_maps_enclose_their_exact_range_and_nothing_to_speak_of_beyond(seed):
    assert affine_violations(seed) == 0
    w = draws(6, 5, seed=seed)
    b = draws(6, seed=seed)
    x = draws(5, seed=seed)
    box = Interval.around(x, 0.25)
    found = intervals(trace(lambda x: w @ x + b, x), box).outputs
    for (least, most), lo, hi in zip(
        exact_affine_range(w, b, box), found.lo.tolist(), found.hi.tolist()
    ):
        assert float(least) - lo < 2e-14 and hi - float(most) < 2e-14


def test_a_deep_affine_network_encloses_its_exact_output():
    """Composed layers: the exact value at rational points of the box, through twelve layers."""
    layers = [(draws(4, 4, seed=s) / 2, draws(4, seed=s)) for s in range(12)]

    def f(x):
        for w, b in layers:
            x = w @ x + b
        return x

    x = draws(4)
    found = intervals(trace(f, x), Interval.point(x)).outputs
    exact = [Fraction(v) for v in x.tolist()]
    for w, b in layers:
        exact = [
            sum((Fraction(a) * v for a, v in zip(row, exact)), Fraction(c))
            for row, c in zip(w.tolist(), b.tolist())
        ]
    for value, lo, hi in zip(exact, found.lo.tolist(), found.hi.tolist()):
        assert Fraction(lo) <= value <= Fraction(hi) and hi - lo < 1e-9 * (1 + abs(hi))


# ---- transcendental functions -----------------------------------------------------------------------------------

REFERENCE = {
    "exp": arb.exp,
    "exp2": lambda a: (a * arb(2).log()).exp(),
    "expm1": arb.expm1,
    "log": arb.log,
    "log1p": arb.log1p,
    "tanh": arb.tanh,
    "logistic": lambda a: 1 / (1 + (-a).exp()),
    "erf": arb.erf,
    "erfc": arb.erfc,
    "erf_inv": arb.erfinv,
    "sinh": arb.sinh,
    "asinh": arb.asinh,
    "acosh": arb.acosh,
    "atanh": arb.atanh,
    "atan": arb.atan,
    "asin": arb.asin,
    "acos": arb.acos,
    "cbrt": lambda a: a.root(3) if a > 0 else -((-a).root(3)),
    "rsqrt": arb.rsqrt,
}


def floats_in(lo: float, hi: float, count: int = 500) -> np.ndarray:
    """Floats of every size in [lo, hi]: subnormal to huge, both signs, near the ends and near 0 and 1."""
    rng = np.random.default_rng(1)
    size = np.ldexp(rng.uniform(1, 2, count), rng.integers(-1074, 1024, count))
    moderate = np.ldexp(rng.uniform(1, 2, count), rng.integers(-30, 10, count))
    special_points = np.array(
        [
            0.0,
            5e-324,
            2.2e-308,
            1e-300,
            0.5,
            1.0,
            np.nextafter(1, 0),
            np.nextafter(1, 2),
            2.0,
            26.5,
            27.3,
            36.7,
            708.3,
            709.7,
            709.8,
            745.1,
            745.2,
            1023.9,
            1e300,
            rounding.LARGEST,
        ]
    )
    x = np.concatenate(
        [size, moderate, special_points, rng.uniform(-1, 1, count), rng.uniform(-40, 40, count)]
    )
    x = np.unique(np.concatenate([x, -x, 1 + x]))
    return x[(x >= lo) & (x <= hi)]


def exact_value(name: str, x: float) -> arb | None:
    """arb at a precision that also resolves 1 + tiny and huge arguments."""
    ctx.prec = 1200 if abs(x) < 1e-30 or abs(abs(x) - 1) < 1e-12 else 200
    value = REFERENCE[name](arb(x))
    return value if value.is_finite() else None


def inside(value: arb, lo: float, hi: float) -> bool:
    """lo ≤ value ≤ hi, as far as hundreds of bits tell (at cos 0 = 1 no number of bits does)."""
    return not (value < arb(lo)) and not (value > arb(hi))


def function_violations(name: str) -> list[float]:
    f = MONOTONE[name]
    x = floats_in(*f.domain)
    found = f(Interval.point(x))
    bad = []
    for point, lo, hi in zip(x.tolist(), found.lo.tolist(), found.hi.tolist()):
        exact = exact_value(name, point)
        if exact is not None and not inside(exact, lo, hi):
            bad.append(point)
    return bad


@pytest.mark.parametrize("name", MONOTONE)
def test_the_exact_value_of_the_function_lies_inside(name):
    assert function_violations(name) == []


@pytest.mark.parametrize("name", MONOTONE)
def test_the_margin_leaves_a_factor_of_two_over_the_measured_error(name):
    """In ulps of the result, where the result is a normal number."""
    f = MONOTONE[name]
    x = floats_in(*f.domain)
    y = f.f(x)
    normal = np.isfinite(y) & (np.abs(y) > 1e-300)
    worst = 0.0
    for point, value, margin in zip(
        x[normal], y[normal], np.broadcast_to(f.margin(x), x.shape)[normal]
    ):
        exact = exact_value(name, float(point))
        if exact is not None:
            error = abs(
                float(((exact - arb(float(value))) / arb(float(np.spacing(abs(value))))).mid())
            )
            worst = max(worst, error / float(margin))
    assert worst <= 0.5


@pytest.mark.parametrize("name", ["sin", "cos", "tan", "cosh"])
def test_the_exact_value_of_waves_lies_inside(name):
    x = floats_in(-1e300, 1e300, 300)
    found = getattr(functions, name)(Interval.point(x))
    for point, lo, hi in zip(x.tolist(), found.lo.tolist(), found.hi.tolist()):
        ctx.prec = 1400
        if name != "cosh" or abs(point) < 1e5:
            assert inside(getattr(arb, name)(arb(point)), lo, hi)


@given(st.floats(-1e6, 1e6), st.floats(0, 10), st.fractions(0, 1, max_denominator=50))
@max_examples(300)
def test_waves_over_an_interval_hold_the_exact_value_at_any_point(start, width, share):
    box = Interval.hull_of(start, start + width)
    lo = Fraction(float(box.lo))
    hi = Fraction(float(box.hi))
    point = lo + share * (hi - lo)
    ctx.prec = 200
    exact = arb(point.numerator) / arb(point.denominator)
    for name in ("sin", "cos", "tan"):
        found = getattr(functions, name)(box)
        assert (
            inside(getattr(exact, name)(), float(found.lo), float(found.hi))
            or not getattr(exact, name)().is_finite()
        )


@given(FLOATS, FLOATS)
@max_examples(200)
def test_the_exact_angle_lies_inside(y, x):
    if x or y:
        ctx.prec = 300
        found = functions.atan2(Interval.point(y), Interval.point(x))
        assert inside(arb.atan2(arb(y), arb(x)), float(found.lo), float(found.hi))


@given(st.floats(5e-324, 1e300), st.floats(-40, 40))
@max_examples(300)
def test_the_exact_real_power_lies_inside(x, y):
    ctx.prec = 300
    found = arithmetic.positive_power(Interval.point(x), Interval.point(y))
    exact = (arb(y) * arb(x).log()).exp()
    assert inside(exact, float(found.lo), float(found.hi))


def test_margins_are_what_the_documentation_says():
    page = (Path(__file__).parents[2] / "docs" / "graph.md").read_text(encoding="utf-8")
    assert f"a margin of {NUMPY} or {SCIPY} ulps" in page
    x = np.linspace(-3, 3, 101)
    # SciPy's own, to which the margin belongs
    np.testing.assert_array_equal(MONOTONE["erf"].f(x), special.erf(x))


@given(st.lists(FLOATS, min_size=2, max_size=2, unique=True))
def test_widths_and_magnitudes_are_bounds(pair):
    x = Interval.hull_of(*pair)
    lo = Fraction(float(x.lo))
    hi = Fraction(float(x.hi))
    assert (width := float(x.width)) == math.inf or Fraction(width) >= hi - lo
    assert Fraction(float(x.magnitude)) == max(abs(lo), abs(hi))
    ball = Interval.around(pair[0], abs(pair[1]))
    centre = Fraction(pair[0])
    radius = Fraction(abs(pair[1]))
    assert fraction_ends(ball)[0] <= centre - radius and centre + radius <= fraction_ends(ball)[1]


def test_large_integers_are_enclosed():
    for n in (2**53 + 1, 2**62 + 1, -(2**63) + 1):
        x = Interval.point(np.int64(n))
        assert Fraction(float(x.lo)) <= n <= Fraction(float(x.hi))
