"""Linear bounds where programs are odd: operands that occur twice, ends that are infinite or subnormal, outputs that do
not vary."""

import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from ftheta.graph import Interval, trace
from ftheta.graph.domains.linear import METHODS, BoxSet, LinearBounds, Program, linear_bounds
from ftheta.graph.domains.linear.curves import CURVES, lines_around


def bounds_over(f, lo, hi, method) -> LinearBounds:
    lo, hi = np.atleast_2d(lo), np.atleast_2d(hi)
    program = Program.of(trace(f, np.zeros(lo.shape[1:]), fold_rounded=False))
    with np.errstate(all="ignore"):
        return linear_bounds(program, [BoxSet(Interval(lo, hi))], method=method, steps=2)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("extremum", [jnp.maximum, jnp.minimum])
@pytest.mark.parametrize("lo", [-2.0, -0.5, 1.0])
def test_the_extremum_of_a_slot_with_itself_is_the_slot(extremum, method, lo):
    found = bounds_over(lambda x: extremum(x, x), [lo], [lo + 1], method)
    assert np.all(np.abs(found.lower - lo) <= 1e-12)
    assert np.all(np.abs(found.upper - lo - 1) <= 1e-12)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("boxes", [1, 2])
def test_outputs_that_do_not_vary_are_known(method, boxes):
    f = lambda x: jnp.where(np.array([True, False]), 3.0, 0 * x[0] + 1.0).at[1].set(-1.0)
    found = bounds_over(f, -np.ones((boxes, 2)), np.ones((boxes, 2)), method)
    assert np.allclose(found.lower, [3, -1]) and np.allclose(found.upper, [3, -1])


@pytest.mark.parametrize("method", ["forward", "crown"])
@pytest.mark.parametrize(
    "f",
    [
        lambda x: jnp.tanh(jnp.square(1e200 * x) - jnp.square(1e200 * x[::-1])),
        lambda x: jnp.cos(jnp.square(1e200 * x) - jnp.square(1e200 * x[::-1])),
        lambda x: jnp.exp(-jnp.abs(jnp.square(1e200 * x) - jnp.square(1e200 * x[::-1]))),
    ],
)
def test_ranges_without_ends_are_bounded_by_what_the_function_attains(f, method):
    found = bounds_over(f, [-1.0, -1.0], [1.0, 1.0], method)
    assert np.all(found.lower >= -1.0 - 1e-12) and np.all(found.upper <= 1.0 + 1e-12)


@pytest.mark.parametrize("x", [5e-324, 1.7e308, -5e-324, -1.7e308])
@pytest.mark.parametrize(
    "f, value",
    [
        (lambda x: x * jnp.tanh(x) - x, lambda x: x * np.tanh(x) - x),
        (lambda x: jnp.where(x > 0, x, jnp.expm1(x)), lambda x: x if x > 0 else np.expm1(x)),
    ],
)
def test_ends_that_are_subnormal_or_nearly_infinite_are_cut_inside_of_the_range(f, value, x):
    found = bounds_over(f, [x], [x], "crown")
    with np.errstate(all="ignore"):
        assert found.lower[0, 0] <= value(x) <= found.upper[0, 0]


@pytest.mark.parametrize("name", ["tanh", "square", "sinh", "exp"])
@pytest.mark.parametrize("ends", [(-np.inf, np.inf), (-np.inf, 1.0), (-1.0, np.inf)])
def test_curves_have_lines_on_unbounded_ranges(name, ends):
    x = Interval(*(np.array([end]) for end in ends))
    lower_slope, lower_offset, upper_slope, upper_offset = lines_around(CURVES[name], x)
    at = np.clip(np.linspace(-20, 20, 41), *ends)
    value = CURVES[name].value(Interval.point(at))
    assert np.all(lower_slope * at + lower_offset <= value.hi)
    assert np.all(upper_slope * at + upper_offset >= value.lo)


def test_the_middle_of_an_interval_is_inside():
    ends = np.array([-np.inf, -1.7e308, -1.0, -5e-324, 0.0, 5e-324, 1.5e-323, 1.0, 1.7e308, np.inf])
    lo, hi = (end[np.triu_indices(len(ends))] for end in np.meshgrid(ends, ends, indexing="ij"))
    assert Interval(lo, hi).contains(Interval(lo, hi).middle)


@pytest.mark.parametrize("padding", [(2, -2), (-2, 2), (3, -4), (-4, 3), (-1, -1), (5, -3)])
@pytest.mark.parametrize("count, stride", [(1, 1), (3, 1), (3, 4)])
def test_what_is_cropped_may_reach_into_the_padding_of_the_other_side(count, stride, padding):
    if count + sum(padding) < 1:
        pytest.skip("nothing is left")
    kernel = jnp.asarray(np.array([[[2.0]]]))
    conv = lambda x: lax.conv_general_dilated(x[None, None], kernel, (stride,), (padding,)).ravel()
    sums = lambda x: 2 * lax.reduce_window(x, 0.0, lax.add, (1,), (stride,), (padding,))
    x = np.arange(1.0, count + 1)
    before, after = padding
    wide = np.pad(x, (max(before, 0), max(after, 0)))
    left = wide[max(-before, 0) : len(wide) - max(-after, 0)]
    for f in (conv, sums):  # XLA itself gives up on some of them
        for method in ("interval", "crown"):
            found = bounds_over(f, x, x, method)
            assert np.allclose(found.lower, 2 * left[::stride])
            assert np.allclose(found.upper, 2 * left[::stride])


@pytest.mark.parametrize("method", METHODS)
def test_windows_outside_of_the_array_have_no_largest_entry(method):
    x = np.array([1.0, 2.0, 3.0])
    f = lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (2,), (2,), ((2, 1),))
    found = bounds_over(f, x, x + 1, method)
    assert found.lower[0, 0] == -np.inf
    assert np.allclose(found.lower[0, 1:], [2, 3]) and np.allclose(found.upper[0, 1:], [3, 4])


TINY, HUGE = np.array([-2e-304, -1e-304]), np.array([7e307, 1.5e308])


@pytest.mark.parametrize("method", ["forward", "crown"])
@pytest.mark.parametrize("huge_first", [True, False])
@pytest.mark.parametrize(
    "f",
    [
        lambda x: (x[0] * x[1])[None],
        lambda x: (x[:1].reshape(1, 1) @ x[1:].reshape(1, 1)).ravel(),
        lambda x: x[:1] * jnp.stack([x[1], x[1]])[:1],
    ],
)
def test_coefficients_that_underflow_before_huge_numbers_are_paid_for(f, huge_first, method):
    lo, hi = np.stack([HUGE, TINY] if huge_first else [TINY, HUGE], 1)
    program = Program.of(trace(f, np.zeros(2), fold_rounded=False))
    sets = [BoxSet(Interval(lo[None], hi[None]))]
    for sign in (1.0, -1.0):  # of the first plane and of the second
        with np.errstate(all="ignore"):
            found = linear_bounds(program, sets, np.array([[sign * 1e-20]]), method=method)
        values = [sign * 1e-20 * (a * b) for a in TINY for b in HUGE]
        assert found.lower[0, 0] <= min(values) * (1 + 1e-12 * np.sign(min(values)))
        assert found.upper[0, 0] >= max(values) * (1 - 1e-12 * np.sign(max(values)))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "f, value",
    [
        (lambda x: jnp.where(x > 0, x + 1, x), lambda x: np.where(x > 0, x + 1, x)),
        (lambda x: jnp.where(x < 0, x - 1, 2 * x), lambda x: np.where(x < 0, x - 1, 2 * x)),
        (lambda x: jnp.where(x >= 0, x + 1, x), lambda x: np.where(x >= 0, x + 1, x)),
        (lambda x: x * lax.clamp(-1.0, x, 1.0), lambda x: x * np.clip(x, -1, 1)),
        (lambda x: x - lax.clamp(-1.0, 2 * x, 0.5), lambda x: x - np.clip(2 * x, -1, 0.5)),
        (lambda x: jnp.where(x > x[::-1], x, 2 * x + 1), lambda x: np.where(x > x[::-1], x, 2 * x + 1)),
    ],
)  # fmt: skip
def test_functions_that_jump_or_stop_hold_what_they_attain(f, value, method):
    rng = np.random.default_rng(0)
    lo = rng.choice([-3.0, -1.2, -1.0, -1e-9, -0.4, 0.0, 0.3, 0.9], (12, 2))
    hi = lo + rng.choice([0.1, 0.5, 1.5, 3.0], (12, 2))
    found = bounds_over(f, lo, hi, method)
    for share in [*rng.random((200, 12, 2)), *np.round(rng.random((20, 12, 2)))]:
        x = np.clip(lo + share * (hi - lo), lo, hi)
        y = np.stack([value(point) for point in x])
        assert np.all(found.lower <= y + 1e-12) and np.all(y - 1e-12 <= found.upper)
