"""Two-sample distances and tests against SciPy, closed forms, enumeration and simulation."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import linalg, stats
from scipy.spatial.distance import cdist

import ftheta as ft
from ftheta.logic.errors import SubjectError, UsageError
from ftheta.transport.distances import relabelling_test
from ftheta.transport.gaussian import gaussian_distance, gaussian_map, sample_moments
from ftheta.transport.sliced import largest_coordinate_cost, sliced_cost
from ftheta.transport.two_sample import (
    deviation_threshold,
    kernel_block,
    median_distance,
    permutation_test,
    unbiased_statistic,
)
from tests.thoroughness import max_examples


def test_distances_of_the_line_agree_with_scipy():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=50), rng.exponential(size=70)
    assert ft.distance(x, y).value.middle == pytest.approx(
        stats.wasserstein_distance(x, y), rel=1e-12
    )
    assert ft.distance(x, y, "energy").value.middle == pytest.approx(
        stats.energy_distance(x, y), rel=1e-10
    )


def test_four_numbers_against_four_others_have_p_1_35():
    x, y = np.arange(4.0), np.arange(4.0, 8.0)
    for kind in ("w1", "energy", "mmd"):
        assert ft.distance(x, y, kind).p_value == pytest.approx(1 / 35, abs=1e-15)


@max_examples(20)
@given(st.integers(0, 10**6), st.sampled_from(["gaussian", "linear", "energy"]))
def test_one_matrix_product_is_all_permutations(seed, kernel):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(3, 2)), rng.normal(size=(4, 2)) + 0.5
    pooled = np.concatenate([x, y])
    K = kernel_block(pooled, pooled, kernel, 1.0)
    values = []
    for chosen in combinations(range(7), 3):
        w = np.full(7, -1 / 4)
        w[list(chosen)] = 1 / 3
        values.append(w @ K @ w)
    found = permutation_test(x, y, kernel, bandwidth=1.0)
    np.testing.assert_allclose(found.null, values, atol=1e-12)
    assert found.p_value == pytest.approx(np.mean(np.array(values) >= values[0] - 1e-12))


def test_p_values_are_uniform_under_the_null_and_small_under_a_shift():
    rng = np.random.default_rng(0)
    p = []
    for _ in range(2000):
        x, y = rng.normal(size=(2, 12, 2))
        p.append(permutation_test(x, y, "energy", permutations=19, rng=rng).p_value)
    for k in range(1, 20):  # P(p ≤ k/20) ≤ k/20, here with equality: there are no ties
        share = np.mean(np.array(p) <= k / 20 + 1e-12)
        assert abs(share - k / 20) < 5 * (k / 20 * (1 - k / 20) / 2000) ** 0.5
    shifted = [
        permutation_test(
            rng.normal(size=(30, 1)), rng.normal(size=(30, 1)) + 2, permutations=99, rng=rng
        ).p_value
        for _ in range(20)
    ]
    assert max(shifted) == 0.01


@pytest.mark.nightly
@pytest.mark.parametrize("kernel", ["gaussian", "energy"])
def test_p_values_of_many_tests_are_uniform_under_the_null(kernel):
    """Without ties p is uniform on k/20; 4,000 tests of rows in the plane, by the χ² test."""
    rng = np.random.default_rng(5)
    p = []
    for _ in range(4000):
        rows = rng.normal(size=(40, 2))
        p.append(permutation_test(rows[:15], rows[15:], kernel, permutations=19, rng=rng).p_value)
    counts = np.bincount(np.rint(np.array(p) * 20).astype(int), minlength=21)[1:]
    assert counts.sum() == 4000
    assert stats.chisquare(counts).pvalue > 1e-6


def test_p_values_with_ties_are_at_most_the_level():
    rng = np.random.default_rng(1)
    p = []
    for _ in range(1000):
        x, y = rng.integers(0, 2, (2, 8, 1)).astype(float)
        p.append(permutation_test(x, y, "energy", permutations=19, rng=rng).p_value)
    for k in range(1, 20):
        assert np.mean(np.array(p) <= k / 20 + 1e-12) < k / 20 + 5 * (k / 20 / 1000) ** 0.5


def test_the_discrepancy_of_two_normals_has_a_closed_form():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2000, 1)), rng.normal(size=(2000, 1)) + 1
    found = unbiased_statistic(x, y)
    assert found == pytest.approx(2 / 3**0.5 * (1 - np.exp(-1 / 6)), abs=0.03)
    assert deviation_threshold(100, 0.05) == pytest.approx(0.487585033, abs=1e-9)


def test_the_bandwidth_does_not_depend_on_the_order_of_rows():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(1500, 2))
    assert median_distance(rows) == median_distance(rng.permutation(rows))


def test_gaussians_have_the_distance_of_the_textbook():
    rng = np.random.default_rng(0)
    S, V = (w @ w.T for w in rng.normal(size=(2, 3, 5)))
    half = linalg.sqrtm(S)
    cross = np.trace(np.real(linalg.sqrtm(half @ V @ half)))
    m, w = rng.normal(size=(2, 3))
    assert gaussian_distance(m, S, w, V) == pytest.approx(
        ((m - w) ** 2).sum() + np.trace(S + V) - 2 * cross, rel=1e-9
    )
    T = gaussian_map(S, V)
    np.testing.assert_allclose(T @ S @ T, V, atol=1e-9)
    pair = gaussian_distance(
        np.zeros(2), np.array([[2.0, 1], [1, 2]]), np.array([1.0, -1]), np.diag([1.0, 4])
    )
    assert pair == pytest.approx(2.771220448, abs=1e-9)


def test_moments_bound_the_distance_of_samples_from_below():
    rng = np.random.default_rng(4)
    x, y = rng.exponential(size=(40, 3)), rng.normal(size=(50, 3))
    gelbrich = gaussian_distance(*sample_moments(x), *sample_moments(y))
    value = ft.transport(x, y).value
    assert gelbrich <= value.hi
    assert ft.distance(x, y, "bures").value.middle ** 2 == pytest.approx(gelbrich)
    assert largest_coordinate_cost(x, y) <= ft.distance(x, y, "w1").value.hi
    assert sliced_cost(x, y, rng).lo <= value.hi


@pytest.mark.parametrize("kind", ["w1", "w2", "mmd", "energy"])
def test_intervals_contain_the_distance_of_the_laws(kind):
    """Uniform on [0, 1] against uniform on [1/2, 3/2]: W is 1/2, the energy distance and MMD by quadrature."""
    rng = np.random.default_rng(0)
    for n in (50, 500):
        found = ft.distance(rng.random(n), rng.random(n) + 0.5, kind)
        z = (np.arange(1000) + 0.5) / 1000
        law = {"w1": 0.5, "w2": 0.5}.get(kind)
        if law is None:
            K = [
                kernel_block(
                    s[:, None],
                    t[:, None],
                    "gaussian" if kind == "mmd" else "energy",
                    found.bandwidth or 1.0,
                ).mean()
                for s, t in ((z, z), (z + 0.5, z + 0.5), (z, z + 0.5))
            ]
            law = (K[0] + K[1] - 2 * K[2]) ** 0.5
        assert found.interval.lo - 1e-3 <= law <= found.interval.hi + 1e-3
        assert found.interval.confidence == 0.95


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (([1.0], [2.0], "w3"), UsageError, "did you mean"),
        (([1.0], [2.0], "w1", 1.5), UsageError, "between 0 and 1"),
        (([[1.0, 2.0]], [[1.0]]), SubjectError, "different lengths"),
        (([np.inf], [1.0]), SubjectError, "finite"),
        (([1.0], [2.0], "bures"), SubjectError, "two rows"),
        (([2**60], [2**60 + 1]), SubjectError, "would be rounded"),
        (([Fraction(1, 3)], [0.0]), SubjectError, "would be rounded"),
        (([1j], [0.0]), SubjectError, "real numbers"),
        ((["1.5"], [0.0]), SubjectError, "real numbers"),
    ],
)
def test_bad_input_is_told(arguments, error, words):
    with pytest.raises(error, match=words):
        ft.distance(*arguments)


@pytest.mark.parametrize("kind", [int, np.int8, np.uint64, np.float32, bool, Fraction])
def test_numbers_of_every_type_are_read_as_they_are(kind):
    found = ft.distance([kind(0), kind(1)], [kind(1), kind(1)])
    assert 0.5 in found.value


def test_a_sample_is_at_distance_zero_from_itself():
    x = np.random.default_rng(0).normal(size=50)
    found = ft.distance(x, x[::-1])
    assert (found.value.lo, found.value.hi) == (0, 0)


def test_it_can_be_written_as_json_and_text():
    found = ft.distance([0.0, 1.0, 2.0], [0.5, 3.0, 4.0])
    assert found.to_dict()["p_value"] == found.p_value
    assert "p-value" in str(found)
    rows = np.random.default_rng(0).normal(size=(800, 2))
    many = ft.distance(rows, rows + 1, "w2")
    assert many.p_value is None and "kind energy" in str(many)
    wide = np.random.default_rng(1).normal(size=(300, 300))
    assert ft.distance(wide[:150], wide[150:], "bures").p_value is None


@pytest.mark.parametrize("kind", ["w1", "w2", "bures"])
@pytest.mark.parametrize("d", [1, 2])
def test_a_p_value_counts_all_relabellings_of_few_rows(kind, d):
    rng = np.random.default_rng(d)
    x, y = rng.normal(size=(4, d)), rng.normal(size=(4, d)) + 1
    pooled = np.concatenate([x, y])
    values = []
    for chosen in combinations(range(8), 4):
        others = [k for k in range(8) if k not in chosen]
        values.append(ft.distance(pooled[list(chosen)], pooled[others], kind).value.middle)
    expected = np.mean(np.array(values) >= values[0] * (1 - 1e-7))
    assert ft.distance(x, y, kind).p_value == pytest.approx(expected)


@pytest.mark.parametrize(("kind", "d"), [("w2", 1), ("bures", 2), ("w1", 2)])
def test_p_values_of_any_statistic_are_at_most_the_level_under_the_null(kind, d):
    rng = np.random.default_rng(1)
    p = []
    for _ in range(60):
        rows = rng.normal(size=(16, d)).round(1)  # with ties
        found = ft.distance(rows[:8], rows[8:], kind)
        test = relabelling_test(found._statistic, rows[:8], rows[8:], permutations=19, rng=rng)
        p.append(test.p_value)
    for level in (0.1, 0.25, 0.5):
        assert np.mean(np.array(p) <= level) <= level + 4 * np.sqrt(level * (1 - level) / len(p))


@pytest.mark.parametrize("kind", ["energy", "mmd"])
@pytest.mark.parametrize("offset, accuracy", [(0.0, 1e-13), (2.0**20, 1e-9), (2.0**26, 1e-7)])
def test_distances_far_from_the_origin_are_those_of_the_rows(kind, offset, accuracy):
    """Against differences of coordinates; the rows are stored with the rounding of the offset, their distances not."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(20, 2)) + offset, rng.normal(size=(25, 2)) + offset + 1
    found = ft.distance(x, y, kind=kind)
    pooled = np.concatenate([x, y])
    apart = cdist(pooled, pooled)
    K = (
        -apart
        if kind == "energy"
        else np.exp(-(apart**2) / (2 * np.median(apart[np.triu_indices(45, 1)]) ** 2))
    )
    w = np.repeat([1 / 20, -1 / 25], [20, 25])
    assert found.value.middle == pytest.approx(np.sqrt(w @ K @ w), rel=1e-12)
    near = ft.distance(x - offset, y - offset, kind=kind)
    assert found.value.middle == pytest.approx(near.value.middle, rel=accuracy)
