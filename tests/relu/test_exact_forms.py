"""A normal form is the real function with the stored weights, or says what was rounded."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jax import lax

import ftheta as ft
from ftheta.logic import Basis
from ftheta.pieces import Box, Segment, count_pieces, equal, pieces
from ftheta.pieces.normal_forms import network_of, normal_form, relu_network
from ftheta.relu import rounding
from ftheta.relu.exact import exact
from ftheta.relu.network import REAL, ExactNetwork, ReluNetwork
from ftheta.subjects import Network

from ..thoroughness import max_examples

relu = jax.nn.relu
LINE = Segment([-1.0], [2.0])


def form(f, inputs: int = 1) -> ReluNetwork:
    with jax.enable_x64(True):
        return ft.relu_form(f, jax.ShapeDtypeStruct((inputs,), np.float64))


def test_sums_of_weights_are_not_rounded():
    one = lambda x: relu(0.1 * x + 0.2 * x - 0.3)
    two = lambda x: relu(0.30000000000000004 * x - 0.3)
    both = form(lambda x: one(x) + two(x))
    assert (
        count_pieces(both, LINE) == pieces(both, LINE).count == pieces(both, LINE, exact=True).count
    )
    assert count_pieces(both, LINE).lo == 3 and both.basis is Basis.EXACT
    found = equal(form(one), form(two), LINE)
    assert (
        found.equal is False
        and found.witness is not None
        and 0 < found.witness.gap < Fraction(1, 10**15)
    )


def test_what_cancels_in_floats_does_not_vanish():
    net = form(lambda x: relu((1e16 * x + x) - 1e16 * x))
    cells = pieces(net, LINE)
    assert len(cells) == 2 and cells.certificate.meaning == REAL
    assert cells.lipschitz("inf").lo == cells.lipschitz("inf").hi == 1
    assert not net.is_long  # its weights are floats after all
    assert equal(net, form(relu), LINE)


def test_quotients_are_rationals():
    net = form(lambda x: relu(x / 3 - 1 / 3) + relu(1 - x))
    assert net.is_long and exact(net)([Fraction(4)]) == (1 + Fraction(1, 3) - Fraction(1 / 3),)
    assert equal(3 * exact(form(lambda x: relu(x / 3))), form(relu), LINE)


@pytest.mark.parametrize(
    ("f", "meant"),
    [
        (lambda x: (jnp.float64(0.1) + jnp.float64(0.2)) * x, Fraction(0.1) + Fraction(0.2)),
        (lambda x: x / (jnp.float64(0.1) * jnp.float64(0.7)), 1 / (Fraction(0.1) * Fraction(0.7))),
        (lambda x: (jnp.array([0.1, 0.2, 1e20]) @ jnp.array([0.3, 0.7, 1.0])) * x, None),
        (lambda x: jnp.sum(jnp.array([1e20, 1.0, -1e20])) * x, Fraction(1)),
        (lambda x: (jnp.array([0.1]) * 2).astype(jnp.float32).astype(x.dtype) * x, Fraction(0.2)),
        (lambda x: jnp.float64(0.1) ** 2 * x, Fraction(0.1) ** 2),
        (lambda x: jnp.where(x > 0, x / 3, x / 7), Fraction(1, 3)),
        (
            lambda x: jnp.maximum(jnp.float64(0.1) + jnp.float64(0.2), 0.3) * x,
            Fraction(0.1) + Fraction(0.2),
        ),
        (lambda x: jnp.minimum(jnp.float64(0.1) / 3, 0.1) * x, Fraction(0.1) / 3),
        (lambda x: jnp.abs(jnp.float64(-0.1) / 3) * x, Fraction(0.1) / 3),
    ],
    ids=[
        *("sum", "quotient", "product of vectors", "sum of an array", "cast", "square", "choice"),
        *("largest", "smallest", "absolute value"),
    ],
)
def test_constants_that_the_program_computes_are_exact(f, meant):
    meant = meant or Fraction(0.1) * Fraction(0.3) + Fraction(0.2) * Fraction(0.7) + Fraction(1e20)
    net = form(f)
    assert not net.rounded and exact(net)([Fraction(1)]) == (meant,)


def test_matrices_of_rationals_are_exact():
    W = jnp.array([[0.1, 0.2], [0.3, 0.7]])
    net = form(lambda x: (W @ W) @ relu((W / 3) @ x), 2)
    F = [[Fraction(float(a)) for a in row] for row in np.asarray(W)]
    square = [[sum(F[i][k] * F[k][j] for k in range(2)) for j in range(2)] for i in range(2)]
    inner = [sum(row) / 3 for row in F]
    assert not net.rounded and exact(net)([1, 1]) == tuple(
        sum(a * b for a, b in zip(row, inner)) for row in square
    )


def test_roots_are_named_and_nothing_of_them_is_exact():
    f = lambda x: relu(x * lax.rsqrt(jnp.float64(2.0)) - 0.5) + relu(-x)
    net = form(f)
    cells = pieces(net, LINE)
    assert net.basis is Basis.FLOAT and "rsqrt" in net.meaning and "rounded" in repr(cells)
    assert cells.certificate.is_certain and cells.certificate.meaning == net.meaning
    answers = (
        count_pieces(net, LINE),
        cells.count,
        cells.lipschitz(),
        *cells.extreme(),
        cells.activity.live,
    )
    assert {a.basis for a in answers} == {Basis.FLOAT}
    same = equal(net, net, LINE)
    assert (
        same.equal
        and not same
        and same.basis is same.distance.basis is Basis.FLOAT
        and "rsqrt" in repr(same)
    )
    assert (net + net).rounded and exact(net).rounded and network_of(exact(net)).rounded
    with jax.enable_x64(True):
        subject = Network("root", lambda p, x: f(x), (), (1,))
        found = relu_network.check(subject) if hasattr(relu_network, "check") else None
        assert normal_form(subject).basis is Basis.FLOAT
    assert found is None or found.basis is Basis.FLOAT


def test_too_many_products_are_marked_as_rounded():
    W = np.random.default_rng(0).normal(size=(90, 90))
    net = form(lambda x: relu(W @ (W @ x)), 90)
    assert net.basis is Basis.FLOAT and "products of many weights" in net.meaning
    # their products are floats: nothing is rounded, however many there are
    short = np.round(4 * W) / 4
    assert form(lambda x: relu(short @ (short @ x)), 90).basis is Basis.EXACT


def test_float32_weights_count_at_their_values():
    f = lambda x: relu(jnp.float32(0.1) * x + jnp.float32(0.2) * x)
    net = ft.relu_form(f, jax.ShapeDtypeStruct((1,), np.float32))
    assert exact(net)([1]) == (Fraction(float(np.float32(0.1))) + Fraction(float(np.float32(0.2))),)


def test_networks_of_rationals_have_pieces():
    third = ExactNetwork.dense(
        [[[Fraction(1, 3)], [Fraction(1, 3)], [1]], [[1, 1, 1]]],
        [[0, Fraction(-1, 10**30), 0], [0]],
    )
    cells = pieces(third, Segment([-1.0], [1.0]))
    assert len(cells) == 3 and cells.lipschitz("inf").hi == pytest.approx(5 / 3)
    low, high = cells.extreme()
    assert low.lo == 0 and high.lo <= float(Fraction(5, 3) - Fraction(1, 10**30)) <= high.hi
    square = Box.cube(2)
    lines = ExactNetwork.dense(
        [
            [
                [Fraction(1, 3), Fraction(1, 7)],
                [Fraction(7), Fraction(3)],
                [Fraction(7, 3), Fraction(10**30 + 1, 10**30)],
            ],
            [[1] * 3],
        ],
        [[0, 0, 0], [0]],
    )
    assert len(pieces(lines, square)) == 4  # two of the three lines are one
    assert pieces(lines, square).linear_regions().max() == 3


numbers = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(
        [0.0, 1.0, -1.0, 0.1, 3.0, 5e-324, 2.0**-1022, 1e308, 2.0**53, 2.0**53 + 2, 2.0**-540]
    ),
)


@max_examples(300)
@given(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=8))
def test_what_passes_as_exact_is_exact(pairs):
    a, b = (np.array(column) for column in zip(*pairs))
    with np.errstate(all="ignore"):
        results = {
            "product": a * b,
            "sum": a + b,
            "quotient": np.where(b != 0, a / np.where(b, b, 1.0), 0.0),
        }
    tests = {"product": rounding.product_is_exact, "sum": rounding.sum_is_exact}
    for name, test in tests.items():
        for x, y, z, passes in zip(
            a.tolist(), b.tolist(), results[name].tolist(), test(a, b).tolist()
        ):
            true = Fraction(x) * Fraction(y) if name == "product" else Fraction(x) + Fraction(y)
            assert passes == (bool(np.isfinite(z)) and Fraction(z) == true)
    some = b != 0
    for x, y, passes in zip(
        a[some].tolist(), b[some].tolist(), rounding.quotient_is_exact(a[some], b[some]).tolist()
    ):
        with np.errstate(all="ignore"):
            z = float(np.float64(x) / np.float64(y))
        assert not passes or Fraction(z) == Fraction(x) / Fraction(y)


WEIGHTS = st.floats(-10, 10, allow_subnormal=False).map(lambda x: round(x, 2))


@st.composite
def float_networks(draw: st.DrawFn) -> ReluNetwork:
    """One input, one output, weights in hundredths: their products are not floats."""
    hidden = draw(st.integers(1, 3))
    column = [[draw(WEIGHTS)] for _ in range(hidden)]
    row = [[draw(WEIGHTS) for _ in range(hidden)]]
    return ReluNetwork.dense(
        [column, row], [[draw(WEIGHTS) for _ in range(hidden)], [draw(WEIGHTS)]]
    )


@given(float_networks(), float_networks(), WEIGHTS)
@max_examples(25)
def test_the_calculus_of_float_networks_rounds_no_weight(
    f: ReluNetwork, g: ReluNetwork, c: float
) -> None:
    x = [Fraction(1, 3)]
    made = {
        "f @ g": f @ g,
        "f + g": f + g,
        "c f": c * f,
        "f − g": f - g,
        "f / 3": Fraction(1, 3) * f,
    }
    F = exact(f)
    G = exact(g)
    meant = {
        "f @ g": F @ G,
        "f + g": F + G,
        "c f": c * F,
        "f − g": F - G,
        "f / 3": Fraction(1, 3) * F,
    }
    for name, network in made.items():
        assert network.basis is Basis.EXACT
        assert exact(network)(x) == meant[name](x), name


def test_large_networks_are_rounded_and_say_so() -> None:
    rng = np.random.default_rng(0)
    f = ReluNetwork.dense(
        [rng.normal(size=(300, 2)), rng.normal(size=(300, 300))], [np.zeros(300), np.zeros(300)]
    )
    found = (
        ReluNetwork.dense([rng.normal(size=(5, 300)), np.ones((1, 5))], [np.zeros(5), np.zeros(1)])
        @ f
    )
    assert found.basis is Basis.FLOAT
    assert "rounded" in found.meaning
