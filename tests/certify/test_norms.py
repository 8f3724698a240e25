"""Norms with their rounding enclosed, held against exact arithmetic."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ftheta.certify.norms import convolution_norm, frobenius_norm, spectral_norm
from ftheta.logic import Basis, Enclosure
from ftheta.theorems.robustness.lipschitz_bounds import circulant_norm

entries = st.floats(-1e3, 1e3, allow_subnormal=False)
matrices = arrays(np.float64, st.tuples(st.integers(1, 4), st.integers(1, 4)), elements=entries)
extreme = arrays(
    np.float64, st.tuples(st.integers(1, 3), st.integers(1, 3)), elements=st.floats(-1e300, 1e300)
)


def positive_definite(M: list[list[Fraction]]) -> bool:
    """By elimination in rational arithmetic."""
    M = [row[:] for row in M]
    for k in range(len(M)):
        if M[k][k] <= 0:
            return False
        for i in range(k + 1, len(M)):
            factor = M[i][k] / M[k][k]
            M[i] = [a - factor * b for a, b in zip(M[i], M[k])]
    return True


def norm_is_below(A: np.ndarray, t: float) -> bool:
    """Whether the spectral norm is less than t, decided exactly."""
    if np.isinf(t):
        return True
    rows = [[Fraction(float(x)) for x in row] for row in A]
    gram = [
        [sum((r[i] * r[j] for r in rows), Fraction(0)) for j in range(A.shape[1])]
        for i in range(A.shape[1])
    ]
    return positive_definite(
        [
            [(Fraction(t) ** 2 if i == j else 0) - gram[i][j] for j in range(len(gram))]
            for i in range(len(gram))
        ]
    )


@given(st.one_of(matrices, extreme))
def test_the_spectral_norm_lies_in_its_enclosure_by_exact_arithmetic(A):
    norm = spectral_norm(A)
    assert norm.basis is Basis.EXACT
    if not A.any():
        assert norm.lo == norm.hi == 0
        return
    assert norm_is_below(A, np.nextafter(norm.hi, np.inf))
    assert norm.lo == 0 or not norm_is_below(A, norm.lo)


@pytest.mark.parametrize("shape", [(256, 784), (784, 256), (300, 300), (1, 700)])
def test_the_enclosure_of_a_norm_is_tight_and_contains_the_singular_value(shape):
    A = np.random.default_rng(0).normal(size=shape)
    norm = spectral_norm(A)
    assert norm.width <= 1e-10 * norm.hi
    assert float(np.linalg.norm(A, 2)) in norm.widened(1e-13)


def test_a_hadamard_matrix_has_norm_root_n_though_all_singular_values_tie():
    H = np.array([[1.0]])
    for _ in range(7):
        H = np.block([[H, H], [H, -H]])
    norm = spectral_norm(H)
    assert Fraction(norm.lo) ** 2 <= 128 <= Fraction(norm.hi) ** 2
    assert norm.width < 1e-11 * norm.hi


def test_a_norm_of_what_is_not_a_finite_matrix_is_refused():
    for bad in (np.array([[np.nan]]), np.array([[np.inf]]), np.ones(3)):
        with pytest.raises(ValueError, match="finite matrix"):
            spectral_norm(bad)


def explicit(kernel: np.ndarray, grid: tuple[int, ...]) -> np.ndarray:
    """The matrix of the periodic convolution, entry by entry."""
    *extent, S, T = kernel.shape
    cells = list(product(*map(range, grid)))
    place = {cell: k for k, cell in enumerate(cells)}
    W = np.zeros((len(cells), T, len(cells), S))
    for q in cells:
        for r in product(*map(range, extent)):
            p = tuple((a + b) % M for a, b, M in zip(q, r, grid))
            W[place[p], :, place[q], :] += kernel[r].T
    return W.reshape(len(cells) * T, len(cells) * S)


@given(st.data())
def test_the_norm_by_frequencies_is_the_norm_of_the_convolution_matrix(data):
    grid = data.draw(st.sampled_from([(1,), (4,), (5,), (3, 4), (2, 2)]))
    extent = tuple(data.draw(st.integers(1, M)) for M in grid)
    shape = (*extent, data.draw(st.integers(1, 3)), data.draw(st.integers(1, 3)))
    kernel = data.draw(arrays(np.float64, shape, elements=entries))
    by_waves = convolution_norm(kernel, grid)
    by_matrix = spectral_norm(explicit(kernel, grid))
    assert by_waves.lo <= by_matrix.hi and by_matrix.lo <= by_waves.hi
    assert by_waves.width <= 1e-11 * by_waves.hi + 1e-280


def test_the_second_difference_has_norm_four_on_an_even_ring():
    for n in (2, 8, 64):
        assert 4.0 in convolution_norm(np.array([1.0, -2.0, 1.0]).reshape(3, 1, 1), (n,))
    odd = convolution_norm(np.array([1.0, -2.0, 1.0]).reshape(3, 1, 1), (5,))
    assert 2 + 2 * np.cos(np.pi / 5) in odd.widened(1e-14)


@pytest.mark.parametrize("count", [256, 1024, 4096])
def test_small_taps_that_rounding_swallows_are_part_of_the_norm(count):
    """Positive taps attain their norm, the sum of all, at frequency 0; added to 1, taps of 2⁻⁵⁴ are lost one by one."""
    taps = np.full(count, 2.0**-54)
    taps[0] = 1.0
    assert Fraction(1) + Fraction(count - 1, 2**54) in convolution_norm(
        taps.reshape(count, 1, 1), (2,)
    )


def test_only_circulant_matrices_have_a_norm_by_frequencies():
    ring = np.array([np.roll([2.0, -1.0, 0.0, -1.0], k) for k in range(4)]).T
    norm = circulant_norm(ring)
    assert norm is not None and 4.0 in norm
    broken = ring.copy()
    broken[3, 0] = 0.0
    assert circulant_norm(broken) is None
    assert circulant_norm(np.ones((2, 3))) is None


@given(matrices)
def test_the_frobenius_norm_lies_in_its_enclosure(A):
    norm: Enclosure = frobenius_norm(A)
    square = sum(Fraction(float(x)) ** 2 for x in A.ravel())
    assert Fraction(norm.lo) ** 2 <= square <= Fraction(norm.hi) ** 2
