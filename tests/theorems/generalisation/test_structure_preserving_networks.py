"""Structure by construction: against derivatives by JAX, brute force, and exact pieces."""

from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import pairwise

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ftheta as ft
from ftheta.logic import SubjectError, UsageError, Verdict
from ftheta.networks import random_mlp
from ftheta.networks.description import Dense, Description
from ftheta.pieces.functions.convexity import Difference
from ftheta.relu.exact import exact
from ftheta.running import run
from ftheta.theorems.generalisation.structure_preserving_networks import certificates as tests
from ftheta.theorems.generalisation.structure_preserving_networks import (
    hamiltonian,
    physics,
    shears,
)
from ftheta.theorems.generalisation.structure_preserving_networks import (
    structure_preserving_networks as theorem,
)
from ftheta.theorems.generalisation.structure_preserving_networks.signs import (
    draw_input_convex,
    shape_of,
    with_signs,
)

from ...thoroughness import max_examples

# ---- symplectic ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("h", [Fraction(1, 10), Fraction(1), Fraction(7, 5)])
def test_leapfrog_and_euler_by_their_recursions(h):
    q = Fraction(1)
    p = Fraction(0)
    steps = 25
    start = q * q * (1 - h * h / 4) + p * p
    for _ in range(steps):
        p -= h / 2 * q
        q += h * p
        p -= h / 2 * q
    M = shears.leapfrog_matrix(h)
    assert (
        q * q + p * p == shears.energy_after(M, steps) and q * q * (1 - h * h / 4) + p * p == start
    )
    assert shears.exact_defect(M) == 0 == shears.determinant(M) - 1
    assert shears.determinant(shears.euler_matrix(h)) == 1 + h * h
    assert shears.energy_after(shears.euler_matrix(h), 7) == (1 + h * h) ** 7


def test_the_exact_defect_is_that_of_floats():
    rng = np.random.default_rng(0)
    for n in (1, 2, 3):
        J = rng.integers(-3, 4, (2 * n, 2 * n)).astype(float)
        assert float(shears.exact_defect(J.tolist())) == shears.defect(J)


@pytest.mark.parametrize("sigma", ["relu", "tanh", "softplus", "square"])
@pytest.mark.parametrize("pairs", [1, 3])
def test_sympnets_are_symplectic_whatever_the_activation(sigma, pairs):
    rng = np.random.default_rng(pairs)
    params = shears.draw_shears(rng, pairs, 5, 4)
    net = shears.SympNet(sigma)
    with jax.enable_x64(True):
        for x in rng.normal(size=(5, 2 * pairs)):
            J = np.asarray(jax.jacobian(lambda z: net(params, z))(x))
            assert shears.defect(J) < 1e-11 * max(np.abs(J).max() ** 2, 1)


def test_the_exact_map_is_the_sympnet_and_passes_on_every_cell():
    rng = np.random.default_rng(2)
    for pairs in (1, 2):
        params = shears.draw_shears(rng, pairs, 3, 3)
        net = shears.exact_map(params)
        with jax.enable_x64(True):
            for x in rng.normal(size=(5, 2 * pairs)):
                assert np.allclose(
                    shears.SympNet()(params, x), [float(v) for v in net(x.tolist())], rtol=1e-12
                )
    pieces = tests.pieces_everywhere(shears.exact_map(shears.draw_shears(rng, 1, 3, 3)), 2000)
    assert pieces is not None and len(pieces) > 5 and tests.symplectic_test(pieces).excess == 0
    bent = [replace(p, rows=(p.rows[0], tuple(2 * a for a in p.rows[1]))) for p in pieces]
    assert tests.symplectic_test(bent).excess == 1  # areas are doubled


def test_hamiltonian_flows_keep_their_energy():
    net = random_mlp(np.random.default_rng(0), (2, 12, 1), "tanh", bias=1.0)
    assert hamiltonian.largest_power(net, np.random.default_rng(1).normal(size=(50, 2))) < 1e-14
    drift = hamiltonian.measure_drifts(net, np.array([0.1, 0.05]))
    assert drift[1] < drift[0] / 8 and drift[1] < 1e-4


# ---- convex and monotone ---------------------------------------------------------------------------------------------


def signed(rng: np.random.Generator, widths: tuple[int, ...]) -> Description:
    """Few weights, of mostly one sign: so that the signs sometimes prove something."""
    layers = [
        Dense(
            np.abs(rng.integers(-2, 3, (n, m))) * rng.choice([1, 1, 1, -1], (n, m)),
            rng.integers(-2, 3, n),
            "relu",
        )
        for m, n in pairwise(widths)
    ]
    return Description((*layers[:-1], Dense(layers[-1].weight, layers[-1].bias)))


@max_examples(60)
@given(st.integers(0, 100_000))
def test_what_the_signs_prove_holds_on_every_cell(seed):
    net = signed(np.random.default_rng(seed), (2, 2, 2, 1))
    shape = shape_of(net)
    pieces = tests.pieces_everywhere(exact(net), 2000)
    assert pieces is not None
    if shape.convex[0]:
        assert tests.convex_test(pieces, 0).excess <= 0
    if shape.concave[0]:
        flipped = [replace(p, rows=(tuple(-a for a in p.rows[0]),)) for p in pieces]
        assert tests.convex_test(flipped, 0).excess <= 0
    for k in range(2):
        slopes = [p.rows[0][k] for p in pieces]
        assert not shape.rises[0, k] or min(slopes) >= 0
        assert not shape.falls[0, k] or max(slopes) <= 0


@max_examples(40)
@given(st.integers(0, 100_000))
def test_the_convexity_test_is_that_of_the_facets(seed):
    """The tangents against the jumps that the decomposition into convex functions uses."""
    net = signed(np.random.default_rng(seed), (2, 3, 1))
    pieces = tests.pieces_everywhere(exact(net), 2000)
    assert pieces is not None
    found = tests.convex_test(pieces, 0)
    assert (found.excess > 0) == bool(Difference.of(pieces).concave)
    if found.excess > 0:  # the witness, by the network itself
        a, b = (np.array(t) for t in (found.at, found.towards))
        value = lambda x: float(np.asarray(net.apply(net.params, x))[0])
        step = 1e-6 * (b - a)
        with jax.enable_x64(True):
            slope = (value(a + step) - value(a - step)) / 2e-6
            assert value(a) + slope - value(b) == pytest.approx(
                float(found.excess), rel=1e-4, abs=1e-6
            )


def test_constructed_networks_have_their_shape():
    rng = np.random.default_rng(0)
    for sigma in ("relu", "softplus", "leaky-relu"):
        layers = random_mlp(rng, (3, 5, 5, 1), sigma, bias=0.5)
        assert shape_of(with_signs(layers, False)).convex[0] and not shape_of(layers).convex[0]
        assert shape_of(with_signs(layers, True)).rises.all()
    assert shape_of(with_signs(random_mlp(rng, (3, 5, 1), "tanh"), True)).rises.all()
    assert not shape_of(with_signs(random_mlp(rng, (3, 5, 1), "tanh"), True)).convex[0]
    assert not shape_of(with_signs(random_mlp(rng, (3, 5, 1), "gelu"), True)).rises.any()
    square = with_signs(random_mlp(rng, (3, 5, 1), "square"), True)
    assert shape_of(square).convex[0] and not shape_of(square).rises.any()


def test_input_convex_networks_bend_upwards_along_every_segment():
    rng = np.random.default_rng(1)
    apply, params = draw_input_convex(rng, 2, 6)
    f = lambda x: float(apply(params, x)[0])
    with jax.enable_x64(True):
        for a, b in rng.normal(size=(50, 2, 2)) * 3:
            assert f((a + b) / 2) <= (f(a) + f(b)) / 2 + 1e-9
    found = shape_of(
        ft.pieces.normal_forms.normal_form(ft.Network("f", apply, params, (2,))).network
    )
    assert found.convex[0] and not found.concave[0]


# ---- physics ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 5, 8, 12])
def test_collocation_has_no_loss_and_an_error_within_its_residual(n):
    u = physics.Collocated.of(n)
    t = np.arange(1, n + 1) / n
    A = np.array([[k * s ** (k - 1) + s**k for k in range(1, n + 1)] for s in t])
    assert [float(c) for c in u.coefficients[1:]] == pytest.approx(
        np.linalg.solve(A, -np.ones(n)), rel=1e-4, abs=1e-6
    )
    assert u.loss == 0 and u(Fraction(0)) == 1
    off = abs(float(u(Fraction(1))) - np.exp(-1))
    sup = u.largest_residual
    grid = np.abs(np.polyval([float(r) for r in u.residual[::-1]], np.linspace(0, 1, 2001)))
    assert (
        grid.max() == pytest.approx(sup.middle, rel=1e-3)
        and off <= (1 - np.exp(-1)) * sup.hi + 1e-15
    )


def test_the_residual_bounds_the_error_of_any_network():
    rng = np.random.default_rng(0)
    for sigma in ("tanh", "softplus"):
        net = random_mlp(rng, (1, 6, 1), sigma, bias=1.0)
        found = physics.measure_residual(partial(net.apply, net.params), net)
        assert found.error.hi <= found.bound.hi
        slopes = np.gradient(found.u, found.t)
        assert np.abs((slopes + found.u)[5:-5]).max() <= found.residual.hi + 1e-4
        # between the points only where it is known
        assert np.isfinite(found.residual.hi) == (sigma == "tanh")
    trained = physics.train_informed(rng, 8, 16, 600)
    assert (
        physics.measure_residual(lambda t: trained.apply(trained.params, t), trained).error.hi
        < 0.05
    )


def test_the_projection_is_the_nearest_point_that_meets_the_constraint():
    A = np.array([[1.0, 1, 1], [1, 2, 3]])
    b = np.array([1.0, 2])
    y = np.array([0.5, -2, 0.25])
    exactly = lambda rows: [[Fraction(v) for v in row] for row in rows.tolist()]
    x = physics.project(exactly(A), exactly(b[None])[0], exactly(y[None])[0])
    assert physics.violation(exactly(A), exactly(b[None])[0], x) == 0
    assert [float(v) for v in x] == pytest.approx(y + np.linalg.lstsq(A, b - A @ y, rcond=None)[0])
    with pytest.raises(UsageError):
        physics.Collocated.of(0)


# ---- the theorem -----------------------------------------------------------------------------------------------------


def test_any_network_gets_a_certificate():
    hat = ft.load("max(0,1-abs(x))+0*x")  # as a function it is a Target: as a network it has layers
    assert isinstance(hat, ft.Target)
    rng = np.random.default_rng(0)
    net = ft.Network.described(with_signs(random_mlp(rng, (2, 3, 1), bias=0.5), True), "mine")
    result = run(theorem, net, property="any")
    assert {row[0]: row[2] for row in result.tables[0].rows} == dict.fromkeys(
        ("convex", "monotone"), "holds everywhere"
    )
    assert [j.judgement.verdict for j in result.claims[:2]] == [Verdict.PROVED] * 2
    large = ft.Network.described(random_mlp(rng, (10, 8, 1), "tanh"), "large")
    failing = run(theorem, large, property="any")
    assert {row[0]: row[2] for row in failing.tables[0].rows} == {
        "monotone": "fails",
        "convex": "fails",
    }
    # with the places where it fails
    assert {judged.claim.kind for judged in failing.claims} == {"exists"}
    assert failing.verdict is Verdict.PROVED


def test_a_network_that_lies_about_its_layers_is_not_believed():
    net = ft.Network.described(
        with_signs(random_mlp(np.random.default_rng(0), (2, 3, 1), "softplus"), True), "honest"
    )
    assert run(theorem, net, property="convex").verdict is Verdict.CONSISTENT
    liar = replace(net, apply=lambda params, x: -net.apply(params, x))
    assert run(theorem, liar, property="convex").verdict is Verdict.INAPPLICABLE
    assert run(theorem, liar, property="convex", force=True).verdict is Verdict.REFUTED


def test_wrong_questions_are_refused():
    net = ft.Network.described(random_mlp(np.random.default_rng(0), (2, 3, 1)), "plane")
    assert run(theorem, net, property="physics").verdict is Verdict.INAPPLICABLE
    assert run(theorem, net).verdict is Verdict.INAPPLICABLE
    with pytest.raises(SubjectError, match="no such output"):
        run(theorem, net, property="convex", output=5)
