"""Slices of a loss and the signs of their curvature."""

import jax
import numpy as np
import pytest

from ftheta.logic import Enclosure, UsageError, Verdict
from ftheta.networks import random_mlp
from ftheta.spectra.objective import Objective
from ftheta.theorems.optimisation.nonconvex_tanh import claim_bulge, slice_loss
from ftheta.theorems.optimisation.nonconvex_tanh.slices import directions, lines, plane, risk_of


def quadratic(theta):
    return theta[0] ** 2 - theta[1] ** 2 + 3 * theta[0] * theta[1]


def test_a_saddle_is_a_saddle_everywhere_with_its_own_hessian():
    found = plane(quadratic, np.zeros(2), np.eye(2)[0], np.eye(2)[1], points=7)
    assert np.allclose(found.bend, [[2, 3], [3, -2]])
    assert (found.negative == 1).all()
    assert np.allclose(found.convexity, -1)


@pytest.mark.parametrize("sign, count", [(1, 0), (-1, 2)])
def test_bowls_are_convex_or_concave(sign, count):
    found = plane(lambda t: sign * (t**2).sum(), np.ones(3), *np.eye(3)[:2], points=5)
    assert (found.negative == count).all()


def test_a_network_is_sliced_with_the_curvature_of_its_dense_hessian():
    rng = np.random.default_rng(0)
    net = random_mlp(rng, (2, 3, 1), "tanh")
    x = rng.normal(size=(16, 2))
    objective = Objective.of(net, (x, np.sin(x[:, :1])))
    u = directions(rng, objective.model.params, 2)
    risk = risk_of(objective)
    (line, _) = lines(risk, objective.start, u, points=5)
    flat = plane(risk, objective.start, u[0], u[1], points=5)
    with jax.enable_x64(True):
        H = np.asarray(jax.jit(jax.hessian(risk))(objective.start))
    assert line.loss[2] == pytest.approx(objective.value(), rel=1e-12)
    assert line.bend[2] == pytest.approx(u[0] @ H @ u[0], rel=1e-8)
    assert np.allclose(flat.bend[2, 2], u @ H @ u.T, rtol=1e-8, atol=1e-12)
    ahead = objective.value(objective.start + 0.5 * u[0])
    assert line.loss[3] == pytest.approx(ahead, rel=1e-12)


def test_directions_have_the_size_of_each_row_of_the_weights():
    rng = np.random.default_rng(1)
    params = random_mlp(rng, (4, 5, 2), bias=1.0).params
    row = directions(rng, params, 1)[0]
    first = row[:20].reshape(5, 4)
    assert np.allclose(np.linalg.norm(first, axis=1), np.linalg.norm(params[0][0], axis=1))
    assert np.allclose(np.abs(row[20:25]), np.abs(params[0][1]))


def test_a_bulge_is_found_where_there_is_one_and_not_on_a_convex_line():
    u = np.ones((1, 1))
    for f, verdict in (
        (lambda t: -(t[0] ** 2), Verdict.CERTIFIED),
        (lambda t: t[0] ** 2, Verdict.INCONCLUSIVE),
    ):
        (seen,) = lines(f, np.zeros(1), u)
        assert claim_bulge(f, np.zeros(1), u[0], seen).judge().verdict is verdict


def test_evidence_counts_the_parts_of_the_plane():
    found = slice_loss(np.random.default_rng(0), quadratic, np.ones(2), "saddle", 1.0, 9)
    parts = [
        found.numbers[f"part of the plane that is {w}"] for w in ("convex", "saddle", "concave")
    ]
    assert sum(p.middle for p in parts if isinstance(p, Enclosure)) == pytest.approx(1)


def test_a_slice_needs_a_reach_and_points():
    with pytest.raises(UsageError, match="positive reach"):
        lines(quadratic, np.zeros(2), np.eye(2), reach=0.0)
