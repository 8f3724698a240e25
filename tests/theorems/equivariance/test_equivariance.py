"""What the theorems on symmetry claim, on networks of one's own."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ftheta as ft
from ftheta.groups import cyclic, natural, symmetric, trivial
from ftheta.groups.representations import Representation
from ftheta.logic import Identity, UsageError, Verdict
from ftheta.networks.architectures import Stack
from ftheta.networks.layers import Conv, Pool, ReLU
from ftheta.running import run
from ftheta.theorems.equivariance.group_equivariant_linear_maps import (
    choices,
    group_equivariant_linear_maps,
    orbits,
)
from ftheta.theorems.equivariance.pde_net_stencils import pde_net_stencils
from ftheta.theorems.equivariance.subsampling_receptive_field import (
    claim_field,
    claim_shifts,
    strides,
    subsampling_receptive_field,
)
from ftheta.theorems.equivariance.subsampling_receptive_field.fields import find_field


@pytest.fixture(autouse=True)
def float64():
    with jax.enable_x64(True):
        yield


def opaque(stack: Stack, seed: int = 0) -> ft.Network:
    """The network of a table that does not show its table."""
    params = stack.initial(np.random.default_rng(seed))
    return ft.Network(stack.name, lambda p, x: stack.apply(p, x), params, stack.input_shape)


def one_layer(**options) -> Stack:
    return Stack(
        "layers",
        (Conv(kernel=3, padding=1, channels=4), ReLU(), Pool(kernel=2, stride=2)),
        (2, 12, 12),
        **options,
    )


@pytest.mark.parametrize(
    "action, shape, order",
    [
        ("automatic", (8, 8, 3), 4),
        ("automatic", (3, 8, 8), 4),
        ("automatic", (64,), 4),
        ("automatic", (3,), 6),
        ("automatic", (4, 7), 24),
        ("automatic", (11, 7), 11),
        ("automatic", (200,), 2),
        ("turns and reflections", (5, 5), 8),
        ("permutations of nodes", (3, 3, 2), 6),
        ("shifts", (7,), 7),
        ("reversal", (4, 2), 2),
    ],
)
def test_a_group_is_chosen_that_fits_the_shape(action, shape, order):
    rho = choices.choose_action(action, shape)
    assert (
        isinstance(rho, Representation)
        and rho.group.order == order
        and rho.dimension == np.prod(shape)
    )


@pytest.mark.parametrize(
    "action, shape",
    [
        ("automatic", ()),
        ("permutations", (9,)),
        ("quarter turns", (7,)),
        ("permutations of nodes", (3, 4)),
    ],
)
def test_a_group_that_does_not_fit_is_said(action, shape):
    assert isinstance(choices.choose_action(action, shape), UsageError)


@given(st.integers(0, 99))
def test_the_risk_splits_into_that_of_the_average_and_the_spread(seed):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(6, 5, 2))
    y = rng.normal(size=(5, 2))
    group = symmetric(3)
    seen = orbits.OnOrbits(
        natural(group), trivial(group, 2), rng.normal(size=(5, 3)), values, y, closed=False
    )
    brute = np.mean([[np.sum((v - t) ** 2) for v, t in zip(row, y)] for row in values])
    assert seen.risk == pytest.approx(brute) == pytest.approx(seen.averaged_risk + seen.spread)


def test_rows_in_one_orbit_with_other_targets_are_found():
    group = cyclic(3)
    x = np.array([[1.0, 2.0, 3.0], [3.0, 1.0, 2.0], [5.0, 5.0, 5.0], [0.0, 1.0, 0.0]])
    met, gap = orbits.label_conflict(
        x, np.array([[1.0], [1.5], [2.0], [3.0]]), natural(group), trivial(group)
    )
    assert (met, gap) == (2, 0.5)  # the first two rows, there and back
    assert orbits.label_conflict(x[2:], np.zeros((2, 1)), natural(group), trivial(group)) == (
        0,
        0.0,
    )


def test_a_users_network_with_data_is_averaged_and_without_finite_outputs_it_is_said():
    rng = np.random.default_rng(0)
    data = ft.Dataset("rows", rng.normal(size=(40, 4)), rng.integers(0, 3, 40))
    net = ft.Network(
        "logits", lambda p, x: p @ jnp.tanh(x), rng.normal(size=(3, 4)), (4,)
    ).with_data(data)
    result = run(group_equivariant_linear_maps, net)
    assert result.verdict is Verdict.CERTIFIED
    numbers = result.numbers
    assert numbers["risk of the average"].middle < numbers["risk"].middle
    x, y = orbits.rows_of(net)
    brute = np.mean(
        [np.sum((np.asarray(net(row)) - t) ** 2) for row, t in zip(x, y if y is not None else [])]
    )
    assert y is not None and y.shape == (40, 3) and brute > 0
    lost = ft.Network("lost", lambda p, x: jnp.log(-jnp.abs(x) - 1), (), (3,))
    assert orbits.evaluate_on_orbits(lost, natural(symmetric(3)), x[:, :3], None) is None


def test_a_ring_keeps_shifts_by_its_stride_and_a_border_loses_them_at_its_ends():
    ring = opaque(one_layer(circular=True))
    border = opaque(one_layer())
    assert strides.stride_of(ring) == strides.stride_of(border) == 2
    kept = strides.measure_shifts(ring, 2)
    lost = strides.measure_shifts(border, 2)
    assert kept.worst_kept < 1e-13 and kept.defects[1::2].min() > 1e-3
    assert lost.worst_kept > 1e-3 and set(np.flatnonzero(lost.where > 1e-12)) <= {0, 1, 5}
    claim = claim_shifts(lost)[0]
    clean = claim_shifts(kept)[0]
    assert isinstance(claim, Identity) and isinstance(clean, Identity)
    witness = claim.witness
    assert witness is not None and clean.witness is None
    x = np.random.default_rng(0).uniform(size=(strides.ROWS, *border.input_shape))[0]
    tau = round(float(np.asarray(witness.at["shift"])))
    there = np.asarray(border(np.roll(x, tau, 1)))
    here = np.asarray(border(x))
    rows = here.shape[1]
    gap = (
        max(np.abs(there[:, i] - here[:, (i - tau // 2) % rows]).max() for i in range(rows))
        / np.abs(here).max()
    )
    assert witness.left.middle == pytest.approx(gap, rel=1e-9)


def test_the_field_of_a_program_without_a_table_is_that_of_the_table():
    stack = Stack(
        "two",
        (Conv(kernel=3, padding=1, channels=4), ReLU(), Conv(kernel=5, stride=2, padding=2)),
        (1, 40),
        True,
    )
    seen = find_field(opaque(stack))
    assert seen.table is None and seen.width == stack.field() == 7
    assert all(claim.judge().verdict is Verdict.CONSISTENT for claim in claim_field(seen))


def test_odd_sides_are_inapplicable_and_say_so():
    odd = Stack("odd", (Conv(kernel=2, stride=2),), (1, 7, 7))
    result = run(subsampling_receptive_field, opaque(odd))
    assert result.verdict is Verdict.INAPPLICABLE and "do not divide" in result.summary


def test_a_learnt_filter_of_a_users_network_is_read():
    net = opaque(one_layer())
    result = run(pde_net_stencils, net)
    assert result.verdict is Verdict.CERTIFIED and len(result.tables[0].rows) == 8


def test_a_row_that_does_not_move_asks_its_target_not_to_move():
    first = ft.Network("the first coordinate", lambda W, x: W @ x, np.diag([1.0, 0.0]), (2,))
    row = ft.Dataset("one row", np.ones((1, 2)), np.array([[1.0, 0.0]]))
    result = run(group_equivariant_linear_maps, first.with_data(row))
    assert result.verdict is Verdict.INAPPLICABLE  # f = y has risk 0, its average ½
