"""Sorting, scattering, choices by several comparisons, shared maxima: what JAX computes, decided without rounding."""

from fractions import Fraction
from functools import cache
from itertools import product

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jax import lax

from ftheta.logic import SubjectError
from ftheta.relu.counts import count
from ftheta.relu.exact import exact
from ftheta.relu.line.points import on_line
from ftheta.relu.network import ExactNetwork, ReluNetwork
from ftheta.relu.reading.form import relu_form
from ftheta.relu.reading.kinks import comparators

from ..thoroughness import max_examples


@pytest.fixture(autouse=True)
def double_precision():
    with jax.enable_x64(True):
        yield


def assert_same(f, shape: tuple[int, ...], samples: int = 40, whole: bool = False) -> ReluNetwork:
    """The same values as JAX at random points; at whole numbers (many ties, points on kinks) the very same."""
    net = relu_form(f, jnp.zeros(shape))
    rng = np.random.default_rng(0)
    x = rng.integers(-3, 4, (samples, *shape)).astype(float)
    expected = np.asarray(jax.jit(jax.vmap(f))(x)).reshape(samples, -1)
    if whole:
        assert np.array_equal(net(x.reshape(samples, -1)), expected)
    assert np.allclose(net(x.reshape(samples, -1)), expected, atol=1e-12)
    x = rng.normal(size=(samples, *shape)) * 2
    expected = np.asarray(jax.jit(jax.vmap(f))(x)).reshape(samples, -1)
    assert np.allclose(net(x.reshape(samples, -1)), expected, atol=1e-12)
    return net


# ---- sorting ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", range(1, 13))
def test_the_comparators_sort_every_row_of_zeros_and_ones(n):
    """A network of comparators that sorts zeros and ones sorts everything (the zero-one principle)."""
    rounds = comparators(n)
    for pairs in rounds:
        touched = [i for pair in pairs for i in pair]
        assert len(set(touched)) == len(touched) and all(0 <= a < b < n for a, b in pairs)
    for bits in product((0, 1), repeat=n):
        row = list(bits)
        for pairs in rounds:
            for a, b in pairs:
                row[a], row[b] = min(row[a], row[b]), max(row[a], row[b])
        assert row == sorted(bits)


@pytest.mark.parametrize(
    "f",
    [
        jnp.sort,
        lambda x: jnp.sort(x, axis=0),
        lambda x: jnp.sort(x, axis=1, descending=True),
        lambda x: lax.sort(x, dimension=0),
        lambda x: lax.top_k(x, 2)[0],
        lambda x: jnp.median(x),
        lambda x: jnp.median(x, axis=1),
        lambda x: jnp.quantile(x, 0.25, axis=0),
        lambda x: jnp.partition(x, 1, axis=1),
    ],
)
@pytest.mark.parametrize("shape", [(4, 3), (5, 2)])
def test_the_order_of_a_few_numbers(f, shape):
    assert_same(f, shape)


@max_examples(30)
@given(
    st.lists(st.builds(Fraction, st.integers(-20, 20), st.integers(1, 7)), min_size=1, max_size=9)
)
def test_sorting_in_rationals_is_sorting(numbers):
    assert list(sorter(len(numbers))(numbers)) == sorted(numbers)


@cache
def sorter(n: int) -> ExactNetwork:
    with jax.enable_x64(True):
        return exact(relu_form(jnp.sort, jnp.zeros(n)))


def test_a_comparator_is_one_neuron_and_unused_ones_are_left_out():
    n = 8
    net = relu_form(jnp.sort, jnp.zeros(n))
    assert count(net).neurons == sum(map(len, comparators(n))) == 19 and count(
        net
    ).activations == len(comparators(n))
    assert count(relu_form(lambda x: lax.top_k(x, 1)[0], jnp.zeros(n))).neurons == n - 1


@pytest.mark.nightly
def test_too_many_numbers_are_refused_with_their_number():
    with pytest.raises(SubjectError, match="comparators") as caught:
        relu_form(jnp.sort, jnp.zeros(20_000))
    assert caught.value.remedy and "sort" in str(caught.value.got)


# ---- scattering ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x.at[jnp.array([3, 1])].set(2 * x[:2]),
        lambda x: x.at[1].add(3.0).at[-1].set(x[0]),
        lambda x: x.at[jnp.array([1, 1, 4])].add(x[1:4]),
        lambda x: x.at[jnp.array([1, 1, 9])].subtract(x[1:4]),
        lambda x: x.at[1:3].set(jax.nn.relu(x[3:5])),
        lambda x: x.at[jnp.array([2, 0, 2])].max(x[:3] * 2).at[1].min(0.5),
        lambda x: x.at[2].divide(4.0),
        lambda x: x.reshape(5, 1).at[jnp.array([0, 4]), 0].add(jnp.array([1.0, 2.0])),
        lambda x: jnp.zeros((3, 5)).at[1].set(x).at[:, 2].add(x[:3]),
        lambda x: lax.dynamic_update_slice(x, jax.nn.relu(x[:2]), (2,)),
        lambda x: lax.dynamic_slice(x, (1,), (3,)),
        lambda x: lax.dynamic_update_slice(x, x[:2], (9,)),
    ],
)
def test_writing_at_constant_places(f):
    assert_same(f, (5,), whole=True)


@max_examples(15)
@given(
    st.lists(st.integers(-6, 7), min_size=4, max_size=4),
    st.sampled_from(["add", "subtract", "max", "min"]),
)
def test_writing_at_any_places_also_outside_and_twice(places, word):
    with jax.enable_x64(True):
        u = jnp.array([-1.0, 0.5, 2.0, 1.0])
        f = lambda x: getattr(x.at[jnp.array(places)], word)(u * x[0])
        net = relu_form(f, jnp.zeros(5))
        for x in np.random.default_rng(0).integers(-4, 5, (3, 5)).astype(float):
            assert np.array_equal(net(x), f(jnp.asarray(x)))


def test_places_that_depend_on_the_input_are_refused():
    with pytest.raises(SubjectError, match="integers"):
        relu_form(lambda x: x.at[x[0].astype(int)].add(1.0), jnp.zeros(3))


# ---- choices ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "f",
    [
        lambda x: jnp.where((x > -1) & (x < 1), x, jnp.where(x >= 1, 1.0, -1.0)),
        lambda x: jnp.where(x < -1, -1.0, jnp.where(~(x > 1), x, 1.0)),
        lambda x: jnp.where((x < 0) | (x > 2), 0.0, jnp.where(x < 1, x, 2 - x)),
        lambda x: jnp.where((x > 0) ^ (x > 1), x, jnp.where(x > 0, 1.0, 0.0)),
        lambda x: jnp.where((x >= 0) & (x <= 0), 0.0, x),
        lambda x: jnp.where(
            jnp.logical_not((x <= 0) | (x >= 3)), jnp.where(x < 1, x, (3 - x) / 2), 0.0
        ),
        lambda x: jnp.where((x > 0) | (x > 1), x, 0.0),
        lambda x: jnp.where((x > 0) & jnp.array([True, False, True, True]), x, 0.0),
        lambda x: jnp.where(jnp.array([True, False, True, True]), jnp.where(x > 0, x, 0.0), -x),
        lambda x: jnp.where(
            2 * x + x[0] > 6, 6.0, jnp.where(2 * x + x[0] < -4, -4.0, 2 * x + x[0])
        ),
        lambda x: jnp.where(x > 1, 3 - 2 * x, jnp.where((x < -1) & (x < 5), -1.0, x)),
        lambda x: jnp.where(
            (x > 1)[::-1] & (x < 3)[::-1], x[::-1] - 1, jnp.where(x >= 3, 2.0, 0.0)[::-1]
        ),
        lambda x: jnp.where(
            x > 1.5,
            jnp.clip(x, -1, 1),
            jnp.where(x < -1.5, -jax.nn.relu(1 - 0 * x), jnp.clip(x, -1, 1)),
        ),
    ],
)
def test_choices_by_several_comparisons(f):
    assert_same(f, (4,))
    W = np.random.default_rng(5).integers(-3, 4, (4, 3)) / 4
    assert_same(lambda x: f(W @ x + 0.1), (3,))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: jnp.where((x > 0) & (x < 1), x, 0.0),
        lambda x: jnp.where((x >= 0) & (x <= 0), 7.0, x),
        lambda x: jnp.where((x > 0) | (x < 0), x, 7.0),
        lambda x: jnp.where((x > 0) & (x[::-1] > 0), jnp.minimum(x, x[::-1]), 0.0),
        lambda x: jnp.where(x > 1, 1.0, 0.0) + x,
        lambda x: jnp.where(x > 1, jnp.where(x > 2, 1.0, 0.0), x),
        lambda x: (x > 0) * ((x < 1) * x),
        lambda x: jnp.sum(x > 0) * x,
        lambda x: x - (x > 0),
        lambda x: jnp.concatenate([jnp.where(x > 1, 1.0, 0.0), x]),
    ],
)
def test_choices_that_jump_are_refused(f):
    with pytest.raises(SubjectError, match="continuous"):
        relu_form(f, jnp.zeros(3))


@st.composite
def broken_lines(draw):
    """Kinks and slopes, whole, as a function by `where` whose intermediate values jump."""
    kinks = sorted(draw(st.sets(st.integers(-5, 5), min_size=1, max_size=4)))
    slopes = [draw(st.integers(-3, 3)) for _ in range(len(kinks) + 1)]
    return kinks, slopes, draw(st.permutations(range(len(kinks) + 1)))


def by_where(kinks, slopes, order):
    offsets = [0.0]
    for t, a, b in zip(kinks, slopes, slopes[1:]):
        offsets.append(offsets[-1] + (a - b) * t)
    ends = [-np.inf, *kinks, np.inf]

    def f(x):
        y = 99.0 * jnp.ones_like(x)
        for i in order:
            inside = (
                (x >= ends[i]) & (x < ends[i + 1])
                if np.isfinite([ends[i], ends[i + 1]]).all()
                else None
            )
            if inside is None:
                inside = x < ends[i + 1] if i == 0 else x >= ends[i]
            y = jnp.where(inside, slopes[i] * x + offsets[i], y)
        return y

    return f


@max_examples(25)
@given(broken_lines())
def test_a_broken_line_piece_by_piece_in_any_order(line):
    with jax.enable_x64(True):
        f = by_where(*line)
        g = on_line(relu_form(f, jnp.zeros(1)))[0]
        x = np.arange(-7, 7.5, 0.5)
        for t, y in zip(x, np.asarray(f(jnp.asarray(x)))):
            assert g(Fraction(t)) == Fraction(y)


def test_cases_meet_exactly_or_not_at_all():
    """3·0.1 is not 0.3 in floats: that program jumps by 6e-17. Quarters are what they seem."""
    with pytest.raises(SubjectError, match="continuous"):
        relu_form(lambda x: jnp.where(x > 0.1, 3 * x - 0.3, 0.0), jnp.zeros(1))
    assert_same(lambda x: jnp.where(x > 0.25, 3 * x - 0.75, 0.0), (2,))
    with pytest.raises(SubjectError, match="continuous"):
        relu_form(lambda x: jnp.where(x > 0, x + 2.0**-60, x * 2), jnp.zeros(1))


def test_our_own_rounding_decides_nothing():
    """The offsets 0.1 − 1 and 2·0.1 − 1 are rounded in the weights, not in the decision."""
    W = np.array([[0.3, 0.7], [0.1, -0.9]])
    assert_same(lambda x: jnp.where(W @ x + 0.1 <= 1, 2 * (W @ x + 0.1) - 1, W @ x + 0.1), (2,))
    assert_same(lambda x: jnp.where(x / 3 > 1 / 8, x / 3 + x / 3, x / 3 + 1 / 8), (2,))
    with pytest.raises(SubjectError, match="continuous"):
        relu_form(lambda x: jnp.where(x / 3 > 1 / 8, x * (2 / 3), x / 3 + 1 / 8), jnp.zeros(2))


def test_long_loops_are_followed_back():
    def f(x):
        h = lax.scan(lambda h, _: (1 - h, None), x, None, length=1200)[0]
        return jnp.where(h > 1, 3 - 2 * h, h)

    net = relu_form(f, jnp.zeros(2))
    assert np.array_equal(net(np.array([3.0, -1.0])), [-3.0, -1.0]) and count(net).neurons == 2


@pytest.mark.nightly
def test_many_leaky_neurons_are_read_together():
    net = relu_form(lambda x: jax.nn.leaky_relu(x, 0.01), jnp.zeros(50_000))
    x = np.random.default_rng(0).normal(size=50_000)
    assert np.allclose(net(x), np.where(x > 0, x, 0.01 * x), atol=1e-15)


def test_a_large_choice_that_has_to_be_looked_into_is_refused():
    with pytest.raises(SubjectError, match="one by one"):
        relu_form(lambda x: jnp.where((x > 0) & (x < 1), x, jnp.clip(x, 0, 1)), jnp.zeros(50_000))


# ---- shared maxima ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "window, stride, padding",
    [((3, 3), 2, 1), ((3, 3), 1, 0), ((2, 4), 1, 1), ((5, 5), 3, 2), ((2, 2), 2, 0)],
)
def test_overlapping_windows_share_their_rows(window, stride, padding):
    pool = eqx.nn.MaxPool2d(window, stride, padding)
    net = assert_same(pool, (2, 9, 8), samples=10)
    outputs = net.widths[-1]
    each = count(net).neurons / outputs
    apart = window[0] * window[1] - 1
    assert each < apart if stride < max(window) else each == apart
    smallest = lambda x: -pool(-x)
    assert_same(smallest, (2, 9, 8), samples=5)


def test_pairs_that_meet_again_meet_once():
    # neighbours, then windows; not 3 · 9
    assert count(assert_same(eqx.nn.MaxPool1d(4, 1), (1, 12))).neurons == 11 + 9
    n = 16
    assert count(assert_same(lambda x: lax.cummax(x), (n,))).neurons <= n * 4


def test_dilated_and_padded_windows():
    def f(x):
        return lax.reduce_window(
            x, -jnp.inf, lax.max, (2, 3), (1, 2), ((1, 0), (2, 1)), (1, 1), (2, 2)
        )

    assert_same(f, (5, 7), samples=10)
