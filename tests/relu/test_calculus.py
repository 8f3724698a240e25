"""The calculus of networks: realisations as the formulas say, counts as the table says."""

from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftheta.logic import SubjectError
from ftheta.relu.calculus import (
    combination,
    compose,
    compose_sparse,
    pad,
    parallel,
    postcompose,
    precompose,
    stack,
)
from ftheta.relu.counts import count, firing, is_plain
from ftheta.relu.elementary import hat
from ftheta.relu.exact import round_weights
from ftheta.relu.line.points import on_line
from ftheta.relu.matrices import rational
from ftheta.relu.network import ExactNetwork, ReluNetwork
from ftheta.relu.symmetry.canonical import canonical, equal_by_symmetry, path_norm

from ..thoroughness import max_examples
from .nets import networks, points, shuffled


def connections(step) -> int:
    return step.matrix.nnz


@given(networks(outputs=2, plain=False), networks(inputs=2, plain=False), st.data())
def test_composition_merges_one_affine_map(
    inner: ExactNetwork, outer: ExactNetwork, data: st.DataObject
) -> None:
    net = outer @ inner
    x = data.draw(points(inner.widths[0]))
    assert net(x) == outer(inner(x))
    assert len(net.steps) == len(inner.steps) + len(outer.steps) - 1
    assert count(net).neurons == count(inner).neurons + count(outer).neurons


@given(networks(outputs=2), networks(inputs=2), st.data())
def test_sparse_composition_has_the_counts_of_the_table(inner, outer, data: st.DataObject) -> None:
    net = compose_sparse(outer, inner)
    x = data.draw(points(inner.widths[0]))
    assert net(x) == outer(inner(x))
    assert len(net.steps) == len(inner.steps) + len(outer.steps)
    assert count(net).neurons == count(inner).neurons + count(outer).neurons + 2 * 2
    W = count(inner).connections
    V = count(outer).connections
    assert count(net).connections == W + V + connections(inner.steps[-1]) + connections(
        outer.steps[0]
    )
    assert count(net).connections <= 2 * W + 2 * V


@given(networks(), st.integers(0, 3), st.data())
def test_padding_keeps_the_function_and_costs_two_neurons_an_output(
    net, more: int, data: st.DataObject
) -> None:
    L = len(net.steps)
    m = net.widths[-1]
    padded = pad(net, L + more)
    x = data.draw(points(net.widths[0]))
    assert padded(x) == net(x)
    assert len(padded.steps) == L + more
    assert count(padded).neurons == count(net).neurons + 2 * m * more
    if more:
        expected = count(net).connections + connections(net.steps[-1]) + 2 * m * more
        assert count(padded).connections == expected


def test_padding_on_the_line_is_proved_to_change_nothing() -> None:
    assert on_line(pad(hat(), 5)) == on_line(hat())


@given(networks(max_depth=2), networks(max_depth=3), st.data())
def test_parallel_networks_have_block_diagonal_weights(f, g, data: st.DataObject) -> None:
    x = data.draw(points(f.widths[0]))
    y = data.draw(points(g.widths[0]))
    assert parallel(f, g)([*x, *y]) == f(x) + g(y)


@given(networks(max_depth=2), networks(max_depth=2))
def test_parallel_counts_add_up_at_equal_depth(f, g) -> None:
    if len(f.steps) == len(g.steps):
        both = count(parallel(f, g))
        assert both.neurons == count(f).neurons + count(g).neurons
        assert both.connections == count(f).connections + count(g).connections


@given(networks(inputs=2, outputs=1), networks(inputs=2, outputs=1), points(2), st.integers(-3, 3))
def test_operators_mean_what_they_say(f, g, x, c: int) -> None:
    (a,) = f(x)
    (b,) = g(x)
    assert (f + g)(x) == (a + b,)
    assert (f - g)(x) == (a - b,)
    assert (f | g)(x) == (a, b)
    assert (c * f)(x) == (f * c)(x) == (c * a,)
    assert (-f)(x) == (-a,)
    assert combination([c, Fraction(1, 3)], [f, g])(x) == (c * a + b / 3,)


@given(networks(inputs=2, outputs=2), points(1))
def test_affine_maps_merge_before_and_after(f, x) -> None:
    A = [[2], [-1]]
    b = [1, 3]
    assert precompose(f, A, b)(x) == f([2 * x[0] + 1, -x[0] + 3])
    y = f([x[0], 1])
    assert postcompose(f, [[1, -2]], [5])([x[0], 1]) == (y[0] - 2 * y[1] + 5,)
    assert len(precompose(f, A, b).steps) == len(f.steps)


@max_examples(30)
@given(networks(inputs=2, outputs=2), networks(inputs=2, outputs=2), points(2))
def test_float_networks_obey_the_same_calculus(f, g, x) -> None:
    F = round_weights(f).network
    G = round_weights(g).network
    p = np.array(x, float)
    tolerance: dict[str, Any] = {"rtol": 1e-9, "atol": 1e-5}
    assert np.allclose((F @ G)(p), F(G(p)), **tolerance)
    assert np.allclose(compose_sparse(F, G)(p), F(G(p)), **tolerance)
    assert np.allclose((F + G)(p), F(p) + G(p), **tolerance)
    assert np.allclose((F | 2 * G)(p), np.r_[F(p), 2 * G(p)], **tolerance)
    assert np.allclose(pad(F, 6)(p), F(p), **tolerance)


def test_networks_that_do_not_fit_are_refused_with_a_remedy() -> None:
    one = ExactNetwork.affine([[1]])
    two = ExactNetwork.affine([[1, 1]])
    for wrong in (
        lambda: compose(two, one),
        lambda: stack(one, two),
        lambda: pad(hat(), 1),
        lambda: one @ round_weights(one).network,  # type: ignore[operator]
        lambda: precompose(one, [[1], [1]]),
        lambda: postcompose(one, [[1, 1]]),
        lambda: parallel(),
    ):
        with pytest.raises(SubjectError):
            wrong()


# ---- counts ---------------------------------------------------------------------------------------------------------


def test_counts_of_the_catalogue() -> None:
    rng = np.random.default_rng(0)

    def mlp(*widths: int) -> ReluNetwork:
        pairs = list(pairwise(widths))
        return ReluNetwork.dense(
            [rng.normal(size=(n, m)) for m, n in pairs], [rng.normal(size=n) for _, n in pairs]
        )

    small = count(mlp(3, 5, 2))
    assert (small.parameters, small.connections, small.neurons) == (32, 25, 5)
    assert count(mlp(784, 512, 256, 10)).parameters == 535_818


def test_the_hat_has_its_depth_in_every_convention() -> None:
    assert set(count(hat()).depth.values()) == {2, 1}
    assert count(hat()).depth["hidden layers L (Murari)"] == 1


def test_affine_maps_without_relu_between_them_count_once() -> None:
    net = round_weights(ExactNetwork.affine([[2]])).network
    twice = ReluNetwork((net.steps[0], net.steps[0]))
    assert count(twice).affine_layers == 1


@max_examples(50)
@given(
    networks(inputs=2, max_depth=3, plain=False),
    st.lists(points(2), min_size=5, max_size=5),
    st.booleans(),
)
def test_neurons_called_dead_or_active_are_so(net, xs, floats: bool) -> None:
    lower = [Fraction(-1), Fraction(0)]
    upper = [Fraction(1), Fraction(2)]
    found = firing(round_weights(net).network if floats else net, lower, upper)
    for x in xs:
        inside = [min(max(t, a), b) for t, a, b in zip(x, lower, upper)]
        state = inside
        for k, step in enumerate(net.steps):
            pre = [a + b for a, b in zip(step.matrix.apply([*map(rational, state)]), step.offset)]
            assert not any(d and v > 1e-9 for d, v in zip(found.dead[k], map(float, pre)))
            assert not any(a and v < -1e-9 for a, v in zip(found.active[k], map(float, pre)))
            state = [max(v, rational(0)) if r else v for v, r in zip(pre, step.rectified)]


def test_certainly_dead_and_certainly_active_neurons_are_found() -> None:
    net = round_weights(
        ExactNetwork.dense([[[1], [-1], [1]], [[1, 1, 1]]], [[-2, -2, 5], [0]])
    ).network
    found = firing(net, [-1.0], [1.0])
    assert found.dead[0].tolist() == [True, True, False]
    assert found.active[0].tolist() == [False, False, True]
    assert found.undecided[0] == 0
    with pytest.raises(SubjectError):
        firing(net, [1.0], [-1.0])


def test_a_sum_that_rounds_to_the_wrong_side_of_zero_decides_nothing() -> None:
    """1 + 4·2⁻⁵³ − (1 + 2⁻⁵²) is 2⁻⁵², but summed one after the other in float64 it is −2⁻⁵²."""
    row = np.array([1.0, *(2.0**-53 for _ in range(4))])
    offset = -(1 + 2.0**-52)
    net = ReluNetwork.dense(
        [np.array([row, -row]), np.ones((1, 2))], [np.array([offset, -offset]), np.zeros(1)]
    )
    ones = [1.0] * 5
    assert sum(map(Fraction, row), Fraction(offset)) > 0 > sum(row.tolist()) + offset
    found = firing(net, ones, ones)
    assert not found.dead[0][0] and not found.active[0][1]


def test_a_box_whose_ends_are_no_floats_is_rounded_outward() -> None:
    # float(1/3) < 1/3, so that this neuron fires in the last sliver of the box
    third = Fraction(1, 3)
    net = ReluNetwork.dense([[[1.0]], [[1.0]]], [[-1 / 3], [0.0]])
    assert not firing(net, [0], [third]).dead[0].any()


# ---- symmetries -----------------------------------------------------------------------------------------------------


@given(networks(), st.integers(0, 2**31), st.data())
def test_copies_by_symmetry_have_one_canonical_form(net, seed: int, data: st.DataObject) -> None:
    copy = shuffled(net, np.random.default_rng(seed))
    x = data.draw(points(net.widths[0]))
    assert copy(x) == net(x) == canonical(net)(x)
    assert equal_by_symmetry(net, copy)
    assert canonical(canonical(net)).widths == canonical(net).widths
    assert equal_by_symmetry(canonical(net), net)


@given(networks(outputs=1), st.integers(0, 2**31))
def test_the_path_norm_is_invariant(net, seed: int) -> None:
    copy = shuffled(net, np.random.default_rng(seed))
    assert path_norm(copy) == path_norm(net)
    assert path_norm(copy, 2) == pytest.approx(path_norm(net, 2))


def test_duplicated_dead_and_constant_neurons_disappear() -> None:
    net = ExactNetwork.dense(
        [
            [[1], [2], [0], [0], [3]],
            [[1, 1, 1, 1, 0], [0, 0, 0, 0, 0], [-1, 0, 0, 0, 0]],
            [[1, 1, 1]],
        ],
        [[1, 2, 5, -5, 0], [0, -1, 0], [0]],
    )
    form = canonical(net)
    assert form.widths == (1, 1, 1, 1)
    assert on_line(form) == on_line(net)


def test_the_path_norm_of_one_hidden_layer_is_the_sum_over_neurons() -> None:
    net = ExactNetwork.dense([[[3, 4], [0, 2]], [[2, -1]]], [[0, 0], [0]])
    assert path_norm(net, 2) == pytest.approx(2 * 5 + 1 * 2)
    assert path_norm(net) == 2 * 7 + 2


def test_networks_with_carried_coordinates_have_no_canonical_form() -> None:
    net = ExactNetwork.affine([[1]])
    step = (net.steps[0].matrix, net.steps[0].offset, net.steps[0].rectified)
    wide = net.rebuilt([step, step])
    assert not is_plain(wide)
    with pytest.raises(SubjectError, match="plain"):
        canonical(wide)


def test_one_gradient_step_breaks_the_balance_at_second_order() -> None:
    """C11: for the scalar net a·w with residual r, one step multiplies a² − w² by 1 − τ²r²."""
    a = Fraction(3, 2)
    w = Fraction(2, 3)
    tau = Fraction(1, 7)
    target = Fraction(5)
    r = a * w - target
    new_a = a - tau * r * w
    new_w = w - tau * r * a
    assert new_a**2 - new_w**2 == (1 - tau**2 * r**2) * (a**2 - w**2)
