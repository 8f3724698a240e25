"""Products with Hessians, Gauss–Newton matrices and tangent kernels: against `jax.hessian`, Jacobians, closed forms."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ftheta.logic import SubjectError, UsageError
from ftheta.networks import random_mlp
from ftheta.networks.description import Dense, Description
from ftheta.spectra import Objective, extremes

RNG = np.random.default_rng(0)
X = RNG.normal(size=(23, 4))
Y = RNG.normal(size=(23, 3))
CLASSES = RNG.integers(0, 3, 23)
NET = random_mlp(RNG, (4, 7, 6, 3), "tanh", bias=0.3)
BLOCKED = {"kept": 1, "block": 4000}


def objective(loss: str = "squared", y: Any = Y, **how: Any) -> Objective:
    return Objective.of(NET, (X, y), loss, **how)


def reference(o: Objective):
    """The same loss written once more, without blocks or rows."""
    target = jnp.asarray(o.examples.y)

    def risk(theta):
        outputs = NET.apply(o.build(theta), X)
        if o.loss.name == "cross-entropy":
            losses = -(target * jax.nn.log_softmax(outputs, axis=-1)).sum(-1)
        else:
            losses = ((outputs - target) ** 2).sum(-1)
        return losses.mean() + o.ridge * (theta**2).sum()

    return risk


@pytest.mark.parametrize("how", [{}, BLOCKED])
@pytest.mark.parametrize("loss, y", [("squared", Y), ("cross-entropy", CLASSES)])
def test_value_gradient_and_hessian_agree_with_jax(how, loss, y):
    o = objective(loss, y, ridge=0.02, **how)
    assert o.fits == (not how) and (len(o._blocks[0]) > 1) == bool(how)
    with jax.enable_x64(True):
        risk = reference(o)
        value, slope, H = (
            np.asarray(jax.jit(of)(o.start)) for of in (risk, jax.grad(risk), jax.hessian(risk))
        )
    assert o.value() == pytest.approx(float(value), rel=1e-12)
    assert np.allclose(o.gradient(), slope, rtol=1e-11, atol=1e-13)
    assert np.allclose(o.hessian().dense(), H, rtol=1e-10, atol=1e-12)


def test_the_hessian_at_another_point_is_that_of_the_point():
    o = objective()
    other = objective().start + 0.3
    with jax.enable_x64(True):
        H = np.asarray(jax.jit(jax.hessian(reference(o)))(other))
    assert np.allclose(o.hessian(other).dense(), H, rtol=1e-10, atol=1e-11)
    assert not np.allclose(o.hessian().dense(), H)


@pytest.mark.parametrize("how", [{}, BLOCKED])
def test_gauss_newton_and_tangent_kernel_agree_with_jacobians(how):
    o = objective("cross-entropy", CLASSES, **how)
    with jax.enable_x64(True):
        J = np.asarray(jax.jit(jax.jacobian(lambda t: NET.apply(o.build(t), X)))(o.start))
        P = np.asarray(jax.nn.softmax(NET.apply(NET.params, X), axis=-1))
    bend = np.stack([np.diag(p) - np.outer(p, p) for p in P])
    assert np.allclose(
        o.gauss_newton().dense(), np.einsum("nip,nij,njq->pq", J, bend, J) / len(X), atol=1e-12
    )
    rows = J.reshape(-1, o.size)
    assert np.allclose(o.tangent_kernel().dense(), rows @ rows.T, rtol=1e-11, atol=1e-11)
    matrix = objective("cross-entropy", CLASSES).kernel_matrix()
    assert matrix is not None and np.allclose(matrix, rows @ rows.T, rtol=1e-11, atol=1e-11)


def test_a_linear_model_with_squared_loss_has_the_hessian_of_least_squares():
    net = Description((Dense(np.zeros((1, 4)), np.zeros(1)),))
    o = Objective.of(net, (X, Y[:, 0]), "squared", ridge=0.1)
    A = np.c_[X, np.ones(len(X))]
    values = np.linalg.eigvalsh(2 * A.T @ A / len(X) + 0.2 * np.eye(5))
    found = extremes(o.hessian(), 1)
    assert found.top().middle == pytest.approx(values[-1], rel=1e-12)
    assert found.bottom().middle == pytest.approx(values[0], rel=1e-12)
    assert np.allclose(o.gauss_newton().dense(), o.hessian().dense(), atol=1e-12)


def test_a_scalar_linear_network_has_its_closed_hessian():
    """½(aw − 1)² at 0 has eigenvalues ±1; on aw = 1 they are 0 and a² + w²."""
    apply = lambda p, x: p["a"] * p["w"] * x
    for a, w, values in ((0.0, 0.0, (-1.0, 1.0)), (2.0, 0.5, (0.0, 4.25))):
        pair = ({"a": np.array(a), "w": np.array(w)}, apply)
        o = Objective.of(pair, (np.ones((1, 1)), np.ones((1, 1))), "half-squared")
        found = extremes(o.hessian(), 1)
        assert found.range == pytest.approx(values, abs=1e-14)


def test_lanczos_on_a_network_agrees_with_its_dense_hessian():
    net = random_mlp(RNG, (4, 16, 16, 3), "tanh", bias=0.3)
    o = Objective.of(net, (X, Y), "squared")
    values = np.linalg.eigvalsh(o.hessian().dense())
    found = extremes(o.hessian(), 5, tol=1e-8, products=2000, dense=0)
    assert np.allclose(found.largest.values, values[::-1][:5], rtol=1e-8)
    assert np.allclose(found.smallest.values, values[:5], atol=1e-8 * values[-1])
    assert values[-1] in found.top().widened(1e-12) and values[0] in found.bottom().widened(1e-12)


def test_single_precision_products_are_near_double_ones():
    narrow = objective(dtype=np.float32).hessian()
    wide = objective().hessian()
    v = np.random.default_rng(1).normal(size=wide.size)
    assert narrow.product(v).dtype == np.float64
    assert (
        0 < np.abs(narrow.product(v) - wide.product(v)).max() < 1e-4 * np.abs(wide.product(v)).max()
    )


def test_bad_input_is_refused():
    with pytest.raises(UsageError):
        objective(ridge=-1.0)
    with pytest.raises(UsageError):
        objective().value(np.zeros(3))
    with pytest.raises(SubjectError):
        objective().value(np.full(objective().size, np.nan))
    with pytest.raises(SubjectError):
        Objective.of(NET, (X, CLASSES + 5), "cross-entropy")
    with pytest.raises(SubjectError):
        Objective.of(NET, (np.zeros((0, 4)), np.zeros((0, 3))))
    with pytest.raises(SubjectError):
        Objective.of(NET, (X, Y), lambda p, t: p - t)
