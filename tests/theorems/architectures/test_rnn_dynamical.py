"""Recurrent networks against plain loops, closed forms of linear ones, and PyTorch's gradient through time."""

import jax
import numpy as np
import pytest

import ftheta as ft
from ftheta.logic import SubjectError, Verdict
from ftheta.theorems.architectures.rnn_dynamical import linear_claims
from ftheta.theorems.architectures.rnn_dynamical.recurrent import Cell, lagged_norms, random_cell


@pytest.fixture(autouse=True)
def float64():
    with jax.enable_x64(True):
        yield


def cell_and_inputs(gain: float = 0.9, hidden: int = 5, steps: int = 12) -> tuple[Cell, np.ndarray]:
    rng = np.random.default_rng(0)
    return Cell.random(rng, hidden, 2, gain), rng.normal(size=(steps, 2))


def test_states_are_those_of_a_plain_loop():
    cell, xs = cell_and_inputs()
    assert cell.layers is not None
    layer = cell.layers.layers[0]
    h = np.ones(5)
    states = cell.states(h, xs)
    for t, x in enumerate(xs):
        h = np.tanh(layer.weight @ np.concatenate([h, x]) + layer.bias)
        assert np.allclose(states[t + 1], h, atol=1e-14)


def test_jacobians_are_diagonal_times_weights():
    cell, xs = cell_and_inputs()
    assert cell.layers is not None
    states = cell.states(np.zeros(5), xs)
    W = cell.layers.layers[0].weight[:, :5]
    for t, J in enumerate(cell.jacobians(states, xs)):
        assert np.allclose(J, (1 - states[t + 1] ** 2)[:, None] * W, atol=1e-13)


def test_the_gradient_through_time_is_pytorchs():
    torch = pytest.importorskip("torch")
    cell, xs = cell_and_inputs()
    assert cell.layers is not None
    layer = cell.layers.layers[0]
    aims = np.random.default_rng(1).normal(size=(len(xs), 5))
    states = cell.states(np.zeros(5), xs)
    ours = cell.through_time(states, xs, aims, cell.jacobians(states, xs))
    W, b = (torch.tensor(v, requires_grad=True) for v in (layer.weight, layer.bias))
    h = torch.zeros(5, dtype=torch.float64)
    loss = torch.zeros(())
    for x, y in zip(torch.tensor(xs), torch.tensor(aims)):
        h = torch.tanh(W @ torch.cat([h, x]) + b)
        loss = loss + ((h - y) ** 2).sum() / 2
    loss.backward()
    theirs = np.concatenate([W.grad.numpy().ravel(), b.grad.numpy()])
    assert np.allclose(ours, theirs, rtol=1e-10) and np.allclose(
        cell.unrolled_gradient(states[0], xs, aims), theirs
    )


def test_lagged_norms_of_a_linear_network_are_powers():
    W = 0.8 * np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    assert np.allclose(lagged_norms(np.array([W] * 6)), 0.8 ** np.arange(7))


def test_a_contraction_is_bounded_from_above():
    cell, xs = cell_and_inputs(0.7)
    assert cell.contraction is not None and 0.7 <= cell.contraction.hi < 0.7 + 1e-9
    far = np.linalg.norm(cell.states(np.ones(5), xs) - cell.states(-np.ones(5), xs), axis=1)
    assert (far <= cell.contraction.hi ** np.arange(len(far)) * far[0] + 1e-14).all()


def test_linear_values_of_the_catalogue():
    claims = linear_claims()
    assert claims[0].right.middle == pytest.approx(0.0051537752, rel=2e-8)  # type: ignore[union-attr]
    assert all(claim.judge().verdict in (Verdict.PROVED, Verdict.CERTIFIED) for claim in claims)


def test_a_network_that_is_no_cell_is_refused():
    wide = ft.Network("wide", lambda p, x: p @ x, np.ones((3, 2)), (2,))
    with pytest.raises(SubjectError, match="cell"):
        ft.check("rnn-dynamical", wide)


def test_users_cells_and_sequences():
    mine = ft.Network("mine", lambda p, z: p * z[:2] / 2 + z[2:].sum(), np.array([1.0, 0.5]), (5,))
    assert ft.check("rnn-dynamical", mine).verdict is Verdict.CONSISTENT
    steep = ft.Network("steep", lambda p, z: p * z[:2], np.array([1.0, 1.5]), (3,))
    assert ft.check("rnn-dynamical", steep).verdict is Verdict.INAPPLICABLE
    waves = ft.Dataset("waves", np.sin(np.arange(80.0)).reshape(1, 40, 2))
    assert ft.check("rnn-dynamical", waves).verdict in (Verdict.CERTIFIED, Verdict.CONSISTENT)
    described = ft.Network.described(random_cell(np.random.default_rng(0), 4, 1, 0.5))
    assert ft.check("rnn-dynamical", described).numbers["c"].hi == pytest.approx(0.5)
