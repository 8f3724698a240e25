"""LipSDP: certificates checked in rationals, constants of small networks by their pieces, the gradient."""

from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from flint import acb, acb_mat, arb, ctx
from hypothesis import given
from hypothesis import strategies as st

from ftheta.certify.lipschitz import product_bound, semidefinite_bound
from ftheta.certify.norms import is_semidefinite
from ftheta.certify.semidefinite import (
    _Problem,
    bound_slope,
    is_certified,
    scale_chain,
    verify_certificate,
    verify_multipliers,
)
from ftheta.networks import Dense, Description, random_mlp
from ftheta.pieces import pieces
from ftheta.pieces.domains import Box
from ftheta.relu.exact import from_description


def chain(seed: int, *widths: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(n, m)) for m, n in pairwise(widths)]


def assemble(weights, multipliers, rho) -> list[list[Fraction]]:
    """The matrix of the program in rationals, block by block from its definition."""
    sizes = [weights[0].shape[1], *(len(t) for t in multipliers)]
    ends = np.cumsum([0, *sizes])
    n = int(ends[-1])
    M = [[Fraction(0)] * n for _ in range(n)]
    for k in range(sizes[0]):
        M[k][k] = Fraction(rho)
    for i, t in enumerate(multipliers):
        for a in range(len(t)):
            M[ends[i + 1] + a][ends[i + 1] + a] = 2 * Fraction(float(t[a]))
            for b in range(sizes[i]):
                entry = -Fraction(float(t[a])) * Fraction(float(weights[i][a, b]))
                M[ends[i + 1] + a][ends[i] + b] = M[ends[i] + b][ends[i + 1] + a] = entry
    outer = [[Fraction(float(v)) for v in row] for row in weights[-1]]
    for a, b in product(range(sizes[-1]), repeat=2):
        M[ends[-2] + a][ends[-2] + b] -= sum((row[a] * row[b] for row in outer), Fraction(0))
    return M


def is_positive(M: list[list[Fraction]]) -> bool:
    """Whether Gauss's elimination of a symmetric matrix meets positive pivots alone."""
    M = [row[:] for row in M]
    for k in range(len(M)):
        if M[k][k] <= 0:
            return False
        for i in range(k + 1, len(M)):
            factor = M[i][k] / M[k][k]
            M[i] = [a - factor * b for a, b in zip(M[i], M[k])]
    return True


@given(
    st.integers(0, 10**6),
    st.sampled_from([(2, 3, 1), (3, 4, 3, 2), (1, 2, 2, 2, 1)]),
    st.floats(0.2, 5),
)
def test_what_is_certified_is_positive_in_rationals(seed, widths, share):
    """For multipliers that are good and for ones that are not, ρ above and below the least one."""
    weights = chain(seed, *widths)
    rng = np.random.default_rng(seed)
    good = bound_slope(weights, steps=5).multipliers
    for multipliers in (good, tuple(t * rng.uniform(0.6, 1.6, t.shape) for t in good)):
        rho = share * float(np.prod([np.linalg.norm(W, 2) for W in weights])) ** 2
        if is_certified(weights, multipliers, rho):
            assert is_positive(assemble(weights, multipliers, rho))


@pytest.mark.parametrize("widths", [(2, 3, 1), (3, 4, 3, 2), (4, 8, 8, 3)])
def test_what_is_certified_has_positive_eigenvalues_in_balls(widths):
    """The way without any factorisation: just above the least ρ, and just below it, where nothing is certified."""
    weights, _ = scale_chain(chain(len(widths), *widths))
    found = bound_slope(weights, steps=40)
    least = verify_multipliers(weights, found.multipliers) ** 2
    for share, holds in ((1.001, True), (0.99, False)):
        M = assemble(weights, found.multipliers, share * least)
        with ctx.workprec(200):
            A = acb_mat([[acb(arb(v.numerator) / arb(v.denominator)) for v in row] for row in M])
            eigenvalues = A.eig(nonstop=True)
            assert all(value.real > 0 for value in eigenvalues) == holds
        assert is_certified(weights, found.multipliers, share * least) == holds


@pytest.mark.parametrize("seed", range(3))
def test_the_bound_is_just_above_the_least_one_for_its_multipliers(seed):
    weights = chain(seed, 3, 6, 5, 2)
    multipliers = bound_slope(weights, steps=20).multipliers
    scales = [2.0 ** -int(np.frexp(np.linalg.norm(W, 2))[1]) for W in weights]
    scaled = [W * s for W, s in zip(weights, scales)]
    rho = verify_multipliers(scaled, multipliers) ** 2
    assert is_positive(assemble(scaled, multipliers, rho))
    assert not is_positive(assemble(scaled, multipliers, rho * (1 - 1e-6)))
    assert not is_certified(scaled, multipliers, rho * (1 - 1e-6))


def test_the_gradient_is_that_of_the_mean_of_eigenvalues():
    problem = _Problem(chain(0, 4, 6, 5, 3))
    p = problem.start() + 0.2 * np.random.default_rng(1).normal(size=13)
    _, gradient = problem(p, 20.0)
    steps = 1e-6 * np.eye(len(p))
    differences = [(problem(p + h, 20.0)[0] - problem(p - h, 20.0)[0]) / 2e-6 for h in steps]
    np.testing.assert_allclose(gradient, differences, atol=1e-7)


@pytest.mark.parametrize("seed", range(2))
def test_the_constant_over_all_pieces_lies_below_the_bound_and_that_below_the_product(seed):
    description = random_mlp(np.random.default_rng(seed), (2, 8, 8, 1), "relu", bias=0.5)
    bound = semidefinite_bound(description)
    assert bound is not None
    cells = pieces(from_description(description), Box([-50, -50], [50, 50]))
    steepest = np.linalg.norm(cells.maps[:, :, :-1], 2, axis=(1, 2)).max()
    assert steepest <= bound * (1 + 1e-12)
    assert bound < 0.98 * product_bound(description).lo


def test_diagonal_slopes_between_0_and_1_never_exceed_the_bound():
    """Sampled corners: every choice of active neurons of a chain of three matrices."""
    weights = chain(7, 3, 4, 4, 2)
    bound = bound_slope(weights).bound
    for first, second in product(product((0.0, 1.0), repeat=4), repeat=2):
        whole = weights[2] @ np.diag(second) @ weights[1] @ np.diag(first) @ weights[0]
        assert np.linalg.norm(whole, 2) <= bound * (1 + 1e-12)


@pytest.mark.parametrize("scale", [1.0, 1e-150, 1e150])
def test_the_absolute_value_has_constant_one_whatever_the_scale(scale):
    weights = [scale * np.array([[1.0], [-1.0]]), np.array([[1.0, 1.0]]) / scale]
    assert 1 <= bound_slope(weights).bound <= 1 + 1e-4


def test_one_matrix_and_a_zero_matrix():
    assert bound_slope([np.diag([3.0, 4.0])]).bound == pytest.approx(4, rel=1e-9)
    assert bound_slope([np.zeros((2, 2)), np.ones((1, 2))]).bound == 0


def test_slopes_of_activations_count_and_those_that_decrease_have_no_program():
    rng = np.random.default_rng(0)
    layers = random_mlp(rng, (3, 5, 2), "tanh", bias=0.1).layers
    whole = semidefinite_bound(Description(layers))
    quarter = semidefinite_bound(
        Description((Dense(layers[0].weight, layers[0].bias, "sigmoid"), layers[1]))
    )
    assert whole is not None and quarter is not None
    assert quarter == pytest.approx(whole / 4, rel=1e-9)
    for name in ("gelu", "silu", "square"):
        assert semidefinite_bound(random_mlp(rng, (3, 5, 2), name, bias=0.1)) is None


def test_constants_of_activations_multiply_the_bound_and_not_the_weights():
    """The certificate is about the stored weights, of whatever constants the slopes are multiples."""
    rng = np.random.default_rng(1)
    layers = random_mlp(rng, (3, 5, 4, 2), "sigmoid", bias=0.1).layers
    plain = bound_slope([layer.weight for layer in layers]).bound
    bound = semidefinite_bound(Description(layers))
    assert bound is not None
    assert plain / 16 <= bound <= plain / 16 * (1 + 1e-14)


@pytest.mark.parametrize("scale", [2.0**-1040, 2.0**-1060, 2.0**-1074])
def test_entries_that_become_subnormal_are_paid_for(scale):
    """The second column is lost when the matrix is scaled down, and yet counts for inputs along it."""
    first = np.array([[2.0**40, 0.0], [0.0, scale * 2.0**20]])
    weights = [first, np.array([[1.0, 1.0]])]
    assert bound_slope(weights).bound >= np.hypot(first[0, 0], first[1, 1])
    only = [np.array([[0.0, scale]]), np.array([[2.0**60]])]
    assert bound_slope(only).bound >= scale * 2.0**60


def test_a_bound_beyond_the_floats_is_infinite_and_one_below_them_is_not_zero():
    huge = [np.array([[2.0**1000]]), np.array([[2.0**1000]])]
    tiny = [np.array([[2.0**-1000]]), np.array([[2.0**-1000]])]
    assert bound_slope(huge).bound == np.inf
    assert 0 < bound_slope(tiny).bound < 2.0**-1000


@pytest.mark.parametrize("seed", range(3))
def test_a_certificate_is_verified_again_from_its_multipliers(seed):
    weights = [1e3 * W for W in chain(seed, 3, 6, 5, 2)]
    found = bound_slope(weights, steps=20)
    assert verify_certificate(weights, found.multipliers) == found.bound
    assert verify_certificate([2 * W for W in weights], found.multipliers) == pytest.approx(
        8 * found.bound
    )
    assert verify_certificate(weights, tuple(0.01 * t for t in found.multipliers)) == np.inf


def test_a_factorisation_that_rounding_completes_proves_nothing():
    """Gram matrices of rank 5, rounded: some have a negative eigenvalue, and a factorisation that goes through."""
    rng = np.random.default_rng(0)
    misled = 0
    for _ in range(150):
        A = rng.normal(size=(6, 5))
        M = A @ A.T
        M = np.tril(M) + np.tril(M, -1).T
        if is_positive([[Fraction(v) for v in row] for row in M.tolist()]):
            continue
        assert not is_semidefinite(M, 0.0)
        misled += _has_factor(M)
    assert misled >= 10


def _has_factor(M: np.ndarray) -> bool:
    try:
        np.linalg.cholesky(M)
    except np.linalg.LinAlgError:
        return False
    return True
