"""Lines and planes around non-linear functions, in balls of high precision and in rationals: never crossed, and
tight."""

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flint import arb, ctx
from jax import lax

from ftheta.graph import Interval, trace
from ftheta.graph.domains.linear import BoxSet, curves, linear_bounds, sampled
from ftheta.graph.domains.linear.kinks import bound_kink
from ftheta.graph.domains.linear.log_sum_exp import log_sum_exp
from ftheta.graph.domains.linear.one_variable import along_region, single_node
from ftheta.graph.domains.linear.planning import RULES, plan_slot
from ftheta.graph.domains.linear.products import plane_below
from ftheta.graph.domains.linear.program import Program
from ftheta.graph.graph import Slot

BITS = 300
OPERAND = Slot(0, "x", (), np.dtype(np.float64))
Lines = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def intervals_in(domain: tuple[float, float], count: int, seed: int) -> Interval:
    """Intervals of every width and place inside of a domain: wide, narrow, single points, from its ends on."""
    rng = np.random.default_rng(seed)
    low, high = (np.clip(end, -60.0, 60.0) for end in domain)
    scale = 10.0 ** rng.uniform(-3, 0, count)
    middle = np.where(
        rng.random(count) < 0.5, rng.uniform(low, high, count), rng.standard_normal(count) * scale
    )
    width = 10.0 ** rng.uniform(-14, 2, count) * (rng.random(count) < 0.95)
    lo = np.clip(middle - width * rng.random(count), low, high)
    hi = np.clip(middle + width * rng.random(count), low, high)
    lo[:2] = low, np.clip(0.0, low, high)
    hi[:2] = high, high
    return Interval(np.minimum(lo, hi), np.maximum(lo, hi))


def points_of(lo: float, hi: float, rng: np.random.Generator) -> list[Any]:
    ends = arb(lo), arb(hi)
    shares = [0, 1, *rng.integers(0, 1 << 20, 6).tolist()]
    return [ends[0] + (ends[1] - ends[0]) * arb(k) / (1 if k == 1 else 1 << 20) for k in shares]


def crossings(lines: Lines, x: Interval, exact: Callable[[Any], Any]) -> list[str]:
    """Points at which the exact value is outside of the two lines."""
    rng = np.random.default_rng(1)
    found = []
    with ctx.workprec(BITS):
        for lo, hi, *line in zip(x.lo.tolist(), x.hi.tolist(), *(part.tolist() for part in lines)):
            below, under, above, over = (
                arb(v) if np.isfinite(v) else arb("inf") * np.sign(v) for v in line
            )
            for t in points_of(lo, hi, rng):
                value = exact(t)
                if value.is_finite() and (value < below * t + under or value > above * t + over):
                    found.append(f"[{lo!r}, {hi!r}] at {t}: {value}, lines {line}")
    return found


# ---- known curvature ----------------------------------------------------------------------------------------------

CURVED: dict[str, tuple[Any, tuple[float, float], Callable[[Any], Any]]] = {
    "exp": (curves.CURVES["exp"], (-60, 60), lambda v: v.exp()),
    "exp2": (curves.CURVES["exp2"], (-60, 60), lambda v: arb(2) ** v),
    "expm1": (curves.CURVES["expm1"], (-60, 60), lambda v: v.expm1()),
    "cosh": (curves.CURVES["cosh"], (-60, 60), lambda v: v.cosh()),
    "square": (curves.CURVES["square"], (-60, 60), lambda v: v * v),
    "rsqrt": (curves.CURVES["rsqrt"], (1e-6, 60), lambda v: v.rsqrt()),
    "log": (curves.CURVES["log"], (1e-6, 60), lambda v: v.log()),
    "log1p": (curves.CURVES["log1p"], (-0.999, 60), lambda v: v.log1p()),
    "sqrt": (curves.CURVES["sqrt"], (0, 60), lambda v: v.sqrt()),
    "acosh": (curves.CURVES["acosh"], (1, 60), lambda v: v.acosh()),
    "tanh": (curves.CURVES["tanh"], (-60, 60), lambda v: v.tanh()),
    "logistic": (curves.CURVES["logistic"], (-60, 60), lambda v: 1 / (1 + (-v).exp())),
    "erf": (curves.CURVES["erf"], (-60, 60), lambda v: v.erf()),
    "erfc": (curves.CURVES["erfc"], (-60, 60), lambda v: v.erfc()),
    "erf_inv": (curves.CURVES["erf_inv"], (-0.999, 0.999), lambda v: v.erfinv()),
    "atan": (curves.CURVES["atan"], (-60, 60), lambda v: v.atan()),
    "asinh": (curves.CURVES["asinh"], (-60, 60), lambda v: v.asinh()),
    "cbrt": (curves.CURVES["cbrt"], (-60, 60), lambda v: v.root(3) if v >= 0 else -((-v).root(3))),
    "acos": (curves.CURVES["acos"], (-1, 1), lambda v: v.acos()),
    "sinh": (curves.CURVES["sinh"], (-60, 60), lambda v: v.sinh()),
    "atanh": (curves.CURVES["atanh"], (-0.999, 0.999), lambda v: v.atanh()),
    "asin": (curves.CURVES["asin"], (-1, 1), lambda v: v.asin()),
    "x^3": (curves.power_curve(3.0), (-60, 60), lambda v: v**3),
    "x^4": (curves.power_curve(4.0), (-60, 60), lambda v: v**4),
    "x^-1, positive": (curves.power_curve(-1.0), (1e-6, 60), lambda v: 1 / v),
    "x^-3, negative": (curves.power_curve(-3.0), (-60, -1e-3), lambda v: v**-3),
    "x^-2, negative": (curves.power_curve(-2.0), (-60, -1e-3), lambda v: v**-2),
    "x^1.5": (curves.power_curve(1.5), (0, 60), lambda v: v ** arb(1.5)),
    "x^0.3": (curves.power_curve(0.3), (1e-6, 60), lambda v: v ** arb(0.3)),
    "x^-0.7": (curves.power_curve(-0.7), (1e-6, 60), lambda v: v ** arb(-0.7)),
    "3/x": (curves.reciprocal_curve(3.0), (1e-6, 60), lambda v: 3 / v),
    "-3/x, negative": (curves.reciprocal_curve(-3.0), (-60, -1e-6), lambda v: -3 / v),
}


def test_every_function_of_known_curvature_is_tried():
    assert set(curves.CURVES) <= set(CURVED)


@pytest.mark.parametrize("name", CURVED)
def test_lines_along_a_curve_are_never_crossed(name):
    curve, domain, exact = CURVED[name]
    x = intervals_in(domain, 150, seed=len(name))
    assert crossings(curves.lines_around(curve, x), x, exact) == []


@pytest.mark.parametrize("name", CURVED)
def test_the_line_beside_a_convex_or_concave_piece_touches_it_in_the_middle_and_the_other_at_the_ends(
    name,
):
    curve, domain, _ = CURVED[name]
    pieces = [
        (max(domain[0], 0.2), min(domain[1], 0.9), curve.right),
        (max(domain[0], -0.9), -0.2, curve.left),
    ]
    for lo, hi, bend in pieces:
        if lo >= hi or hi > domain[1] or lo < domain[0]:
            continue
        x = Interval(np.array([lo]), np.array([hi]))
        lines = curves.lines_around(curve, x)
        at = lambda t: float(curve.value(Interval.point(np.array([t]))).lo[0])
        middle = (lo + hi) / 2
        tangent, secant = (lines[:2], lines[2:]) if bend > 0 else (lines[2:], lines[:2])
        assert abs(float(tangent[0][0] * middle + tangent[1][0]) - at(middle)) < 1e-12 * (
            1 + abs(at(middle))
        )
        for end in (lo, hi):
            assert abs(float(secant[0][0] * end + secant[1][0]) - at(end)) < 1e-12 * (
                1 + abs(at(end))
            )


@pytest.mark.parametrize("name", ["tanh", "logistic", "erf", "atan", "sinh", "x^3"])
def test_lines_across_the_bend_of_an_s_are_the_lowest_in_the_middle(name):
    """Against the upper hull of many samples."""
    curve, _, _ = CURVED[name]
    for lo, hi in ((-1.0, 2.0), (-3.0, 0.5), (-0.1, 4.0), (-2.0, 2.0), (-0.3, 0.2)):
        x = Interval(np.array([lo]), np.array([hi]))
        lines = curves.lines_around(curve, x)
        t = np.linspace(lo, hi, 2001)
        g = curve.value(Interval(t, t)).lo
        middle = (lo + hi) / 2
        rise = (g[None, 1001:] - g[:1000, None]) / (t[None, 1001:] - t[:1000, None])
        hull = (g[:1000, None] + rise * (middle - t[:1000, None])).max()
        assert hull - 1e-9 <= lines[2][0] * middle + lines[3][0] <= hull + 1e-4


# ---- by pieces ----------------------------------------------------------------------------------------------------


def _gelu(v: Any) -> Any:
    return v * (1 + (v * arb(np.sqrt(0.5))).erf()) / 2


def _half_open(v: Any) -> Any:
    return v if v > arb(0.2) else arb(0.1) * v - 1


PIECES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "sin": (jnp.sin, lambda v: v.sin()),
    "cos": (jnp.cos, lambda v: v.cos()),
    "silu": (jax.nn.silu, lambda v: v / (1 + (-v).exp())),
    "gelu": (lambda x: x * ((1 + lax.erf(x * np.sqrt(0.5))) / 2), _gelu),
    "softplus": (jax.nn.softplus, lambda v: (1 + v.exp()).log()),
    "mish": (lambda x: x * jnp.tanh(jax.nn.softplus(x)), lambda v: v * (1 + v.exp()).log().tanh()),
    "elu": (jax.nn.elu, lambda v: v if v > 0 else v.expm1()),
    "bump": (lambda x: jnp.exp(-x * x) - 0.1 * x, lambda v: (-v * v).exp() - arb(0.1) * v),
    "wave": (lambda x: x * jnp.sin(x), lambda v: v * v.sin()),
    "stopped": (lambda x: x * lax.stop_gradient(jnp.sin(x)), lambda v: v * v.sin()),
    "jump": (lambda x: jnp.where(x > 0.2, x, 0.1 * x - 1), _half_open),
    "step times x": (
        lambda x: (x > 0.5).astype(float) * x,
        lambda v: v if v > arb(0.5) else arb(0),
    ),
    "hidden jump": (
        lambda x: jnp.where(x * x > 0.3, x, -x),
        lambda v: v if v * v > arb(0.3) else -v,
    ),
    "floor": (jnp.floor, lambda v: v.floor()),
    "hard swish": (
        lambda x: x * (jnp.clip(x + 3, 0, 6) / 6),
        lambda v: v * (v + 3).max(arb(0)).min(arb(6)) / 6,
    ),
    "abs and max": (
        lambda x: jnp.abs(x - 1) + jnp.maximum(x, x * x),
        lambda v: abs(v - 1) + v.max(v * v),
    ),
    "quotient": (lambda x: x / (1 + x * x), lambda v: v / (1 + v * v)),
}


@cache
def by_pieces(name: str) -> Callable[[Interval], Lines]:
    f, _ = PIECES[name]
    program = Program.of(trace(f, 0.0, fold_rounded=False))
    (out,) = program.graph.outputs
    node, _ = program.output_of[out.id]
    region = program.regions.get(out.id) or single_node(node, program.graph.inputs[0])

    def lines(x: Interval) -> Lines:
        found = along_region(region, program.graph, program.constants, x)
        return found.lower_slope, found.lower_offset, found.upper_slope, found.upper_offset

    return lines


@pytest.mark.parametrize("name", PIECES)
def test_lines_around_a_function_of_one_variable_are_never_crossed(name):
    _, exact = PIECES[name]
    x = intervals_in((-20.0, 20.0), 80, seed=len(name))
    assert crossings(by_pieces(name)(x), x, exact) == []


@pytest.mark.parametrize(
    "name", ["sin", "silu", "gelu", "softplus", "mish", "elu", "bump", "wave", "quotient"]
)
def test_lines_by_pieces_are_within_a_hundredth_of_the_best_ones(name):
    """The height in the middle against the hull of many samples, in units of the gap between the hulls."""
    f, _ = PIECES[name]
    for lo, hi in ((-1.0, 2.0), (-3.0, 0.5), (-4.0, 4.0), (0.3, 0.9), (-0.01, 0.02)):
        lines = by_pieces(name)(Interval(np.array([lo]), np.array([hi])))
        t = np.linspace(lo, hi, 201)
        g = np.asarray(jax.vmap(f)(t))
        middle = (lo + hi) / 2
        chords = [
            g[i] + (g[j] - g[i]) * (middle - t[i]) / (t[j] - t[i])
            for i, j in product(range(100), range(101, 201))
        ]
        gap = max(chords) - min(chords)
        assert max(chords) - 1e-12 <= lines[2][0] * middle + lines[3][0] <= max(chords) + 0.03 * gap
        assert min(chords) + 1e-12 >= lines[0][0] * middle + lines[1][0] >= min(chords) - 0.03 * gap


def outside(f: Callable[[Any], Any], low: np.ndarray, high: np.ndarray, points: np.ndarray) -> int:
    """How many values at points of a box are outside of linear bounds of the outputs."""
    program = Program.of(trace(f, low, fold_rounded=False))
    found = linear_bounds(program, [BoxSet(Interval(low[None], high[None]))])
    y = np.asarray(jax.vmap(f)(points)).reshape(len(points), -1)
    return int(np.sum((y < found.lower - 1e-9) | (y > found.upper + 1e-9)))


def test_a_value_at_one_point_alone_is_held():
    """By the lines themselves: bounds of outputs are met with intervals."""
    program = Program.of(
        trace(lambda x: jnp.where(x == 0.5, 5.0, jnp.sin(x)), 0.0, fold_rounded=False)
    )
    region = program.regions[program.graph.outputs[0].id]
    x = Interval(np.array([0.0, 0.5, 0.25]), np.array([1.0, 0.75, 0.5]))
    found = along_region(region, program.graph, program.constants, x)
    assert np.all(found.upper_slope * 0.5 + found.upper_offset >= 5.0)


def test_constants_of_a_function_of_one_variable_are_those_of_the_entry():
    C = np.array([0.1, 5.0, -3.0, 0.7])
    f = lambda x: x * jnp.sin(C * x) + C * jnp.square(x)
    low, high = np.array([-1.0, 0.2, 0.5, -2.0]), np.array([1.0, 0.9, 1.5, 0.3])
    points = low + (high - low) * np.random.default_rng(0).random((500, 4))
    assert outside(f, low, high, points) == 0
    shifted = np.array([[-3.0, 0.2, -5.0, 1.0]]), np.array([[3.0, 0.9, 1.5, 2.0]])
    for lo, hi in zip(*shifted):
        assert outside(f, lo, hi, lo + (hi - lo) * np.random.default_rng(1).random((500, 4))) == 0


def test_a_kink_above_the_origin_is_no_kink_through_it():
    f = lambda x: jnp.where(x > 0, 2 * x + 1, x + 1) * 1.0
    points = np.linspace(-1.0, 1.0, 201)[:, None]
    assert outside(f, -np.ones(1), np.ones(1), points) == 0


def test_leaky_relus_of_every_spelling_have_a_free_slope():
    for f in (
        jax.nn.relu,
        jax.nn.leaky_relu,
        lambda x: jnp.where(x > 0, x, 0.2 * x),
        jnp.abs,
        lambda x: -jax.nn.relu(-x),
    ):
        program = Program.of(trace(f, np.zeros(3), fold_rounded=False))
        kinds = [plan_slot(program, slot).only_signs for node in program.graph.nodes for slot in node.outputs
                 if slot.is_real and slot.id in program.varying]  # fmt: skip
        assert any(kinds), f


# ---- kinks, products, sums of exponentials ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("left", "right"), [(0.0, 1.0), (-1.0, 1.0), (0.01, 1.0), (1.0, 0.0), (1.0, -0.3), (0.1, 0.1)]
)
def test_lines_around_a_kink_are_never_crossed_whatever_the_free_slope(left, right):
    x = intervals_in((-60.0, 60.0), 200, seed=3)
    found = bound_kink(OPERAND, x, left, right)
    exact = lambda v: arb(left) * v if v < 0 else arb(right) * v
    fixed = found.lower_slope, found.lower_offset, found.upper_slope, found.upper_offset
    assert crossings(fixed, x, exact) == []
    assert found.turns is not None
    for slope in (found.least, found.most, (found.least + found.most) / 2):
        free = np.where(
            found.turns, slope, found.upper_slope if found.turns_above else found.lower_slope
        )
        lines = (*fixed[:2], free, fixed[3]) if found.turns_above else (free, *fixed[1:])
        assert crossings(lines, x, exact) == []


def test_infinite_ends_leave_a_finite_line_on_the_finite_side():
    x = Interval(np.array([-2.0, -np.inf, -np.inf]), np.array([np.inf, 3.0, np.inf]))
    found = bound_kink(OPERAND, x, 0.0, 1.0)
    assert np.all(found.upper_offset >= [2.0, 3.0, np.inf]) and np.all(
        np.isfinite(found.upper_slope)
    )


def test_planes_below_products_are_never_crossed_and_attain_the_least_product():
    rng = np.random.default_rng(0)
    scale = 10.0 ** rng.uniform(-12, 12, (2, 300))
    ends = (
        rng.standard_normal((2, 2, 300))
        * scale[:, None]
        * rng.choice([0.0, 1.0], (2, 2, 300), p=[0.1, 0.9])
    )
    x, y = (Interval.hull_of(*pair) for pair in ends)
    p, q, c = plane_below(x, y)
    for k in range(300):
        corners = [
            (Fraction(float(a)), Fraction(float(b)))
            for a in (x.lo[k], x.hi[k])
            for b in (y.lo[k], y.hi[k])
        ]
        plane = [Fraction(float(v[k])) for v in (p, q, c)]
        inner = tuple(sum(pair) / 4 for pair in zip(*corners))
        for a, b in (*corners, inner):
            assert plane[0] * a + plane[1] * b + plane[2] <= a * b
        least = min(plane[0] * a + plane[1] * b + plane[2] for a, b in corners)
        truth = min(a * b for a, b in corners)
        size = max(abs(a * b) for a, b in corners)
        assert least >= truth - size * Fraction(1, 10**14)


def test_planes_around_a_sum_of_exponentials_are_never_crossed():
    rng = np.random.default_rng(0)
    slot = Slot(0, "x", (5,), np.dtype(np.float64))
    for scale, width in product((1.0, 30.0, 700.0), (0.0, 1e-9, 0.3, 5.0)):
        middle = scale * rng.standard_normal((1, 5))
        x = Interval.around(middle, width)
        found = log_sum_exp(slot, (0,), (), x)
        with ctx.workprec(BITS):
            for _ in range(20):
                share = rng.choice([0.0, 1.0, rng.random()], 5)
                point = [
                    arb(a) + (arb(b) - arb(a)) * arb(t) for a, b, t in zip(x.lo[0], x.hi[0], share)
                ]
                value = sum((v.exp() for v in point), arb(0)).log()
                low, high = (
                    sum((arb(w) * v for w, v in zip(plane[0][0], point)), arb(float(plane[1][0])))
                    for plane in (found.below, found.above)
                )
                assert not value < low and not value > high


def test_the_plane_below_pays_for_its_rounded_gradient():
    """Where all entries move together the function is affine, and the rounding of its gradient is all there is."""
    slot = Slot(0, "x", (3,), np.dtype(np.float64))
    rng = np.random.default_rng(0)
    for _ in range(40):
        x = Interval.around(rng.standard_normal((1, 3)), 2.0**12)
        plane, offset = log_sum_exp(slot, (0,), (), x).below
        with ctx.workprec(BITS):
            for end in (x.lo[0], x.hi[0]):
                value = sum((arb(v).exp() for v in end), arb(0)).log()
                assert not value < sum(
                    (arb(w) * arb(v) for w, v in zip(plane[0], end)), arb(float(offset[0]))
                )


def test_the_plane_below_a_sum_of_exponentials_touches_it_in_the_middle():
    slot = Slot(0, "x", (3,), np.dtype(np.float64))
    x = Interval.around(np.array([[0.0, 1.0, -2.0]]), 0.5)
    found = log_sum_exp(slot, (0,), (), x)
    middle = np.array([0.0, 1.0, -2.0])
    assert (
        abs(found.below[0][0] @ middle + found.below[1][0] - np.log(np.exp(middle).sum())) < 1e-12
    )


def test_lines_do_not_depend_on_how_many_entries_are_asked_for():
    x = intervals_in((-5.0, 5.0), 40, seed=9)
    whole = by_pieces("silu")(x)
    for k in (0, 7, 39):
        one = by_pieces("silu")(x.map(lambda end, k=k: end[k : k + 1]))
        assert all(a[k] == b[0] for a, b in zip(whole, one))


def test_every_function_with_a_rule_is_one_that_the_interval_domain_knows():
    from ftheta.graph.domains.interval import RULES as INTERVAL_RULES

    assert set(RULES) <= set(INTERVAL_RULES) and sampled.EVEN_PIECES % 2 == 1
