"""What the bounds of the Lipschitz ladder pay for: each rounding, decomposition and compression, against rationals."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product
from math import inf

import numpy as np
import pytest
from flint import arb, ctx, fmpq, fmpq_mat
from hypothesis import given
from hypothesis import strategies as st

from ftheta.certify import semidefinite
from ftheta.certify.ladder import lipschitz, rungs
from ftheta.certify.ladder import products as products_module
from ftheta.certify.ladder.chains import Chain, read_chain
from ftheta.certify.ladder.curves import slope_range
from ftheta.certify.ladder.jacobians import corner_bound, interval_bound, linear_bound
from ftheta.certify.ladder.local import prepare
from ftheta.certify.ladder.products import absolute_product, pairwise_product, verify_scales
from ftheta.certify.ladder.rungs import climb_ladder, prepare_setting
from ftheta.certify.ladder.secants import _evaluate
from ftheta.certify.ladder.sectors import (
    System,
    bound_sectors,
    compress_inputs,
    is_positive,
    reduce_chain,
)
from ftheta.certify.ladder.splitting import Splitter
from ftheta.certify.semidefinite import bound_slope
from ftheta.graph.domains.interval.intervals import Interval
from ftheta.graph.domains.linear.sets import BoxSet
from ftheta.logic.enclosure import Enclosure
from ftheta.networks import Dense, Description
from ftheta.networks.scaling import ScaledLayers, Scaling
from tests.thoroughness import max_examples

NORMS = (1, 2, inf)


def rational_matrix(A: np.ndarray) -> fmpq_mat:
    return fmpq_mat(*A.shape, [fmpq(*float(v).as_integer_ratio()) for v in A.ravel()])


def squared_size(A: fmpq_mat) -> Fraction:
    """The squared Frobenius norm."""
    return sum((Fraction(int(q.p), int(q.q)) ** 2 for q in A.entries()), Fraction(0))


def is_positive_semidefinite(A: fmpq_mat) -> bool:
    """By elimination in rationals."""
    rows = [[A[i, j] for j in range(A.ncols())] for i in range(A.nrows())]
    for k in range(len(rows)):
        pivot = rows[k][k]
        if pivot < 0 or (pivot == 0 and any(rows[k][j] != 0 for j in range(k + 1, len(rows)))):
            return False
        for i in range(k + 1, len(rows)) if pivot != 0 else ():
            share = rows[i][k] / pivot
            rows[i] = [a - share * b for a, b in zip(rows[i], rows[k])]
    return True


def scaled_chain(
    factors: list[float], weight: float, second: float
) -> tuple[ScaledLayers, Fraction]:
    """One input times the factors, then the weight, a ReLU and a second weight: with its Lipschitz constant."""
    scaling = Scaling(tuple(("mul", np.array([factor])) for factor in factors))
    layers = Description(
        (
            Dense(np.array([[weight]]), np.zeros(1), "relu"),
            Dense(np.array([[second]]), np.zeros(1), "identity"),
        )
    )
    slope = Fraction(weight) * Fraction(second)
    for factor in factors:
        slope *= Fraction(factor)
    return ScaledLayers(scaling, layers), abs(slope)


# ---- the scaling of the inputs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("domain", [None, (-1.0, 1.0)])
@pytest.mark.parametrize(
    "factors, weight, second",
    [([1e-200], 1e-200, 1e300), ([1e200, 1e-200], 1e-200, 1.0), ([1e-310], 0.7, 1e300)],
    ids=["the product underflows", "a product on the way underflows", "a subnormal factor"],
)
def test_what_underflows_in_a_folded_scaling_is_paid_for(factors, weight, second, domain, norm):
    layers, slope = scaled_chain(factors, weight, second)
    found = lipschitz(layers, domain, norm, budget=0.1)
    assert Fraction(found.lo) <= slope <= Fraction(found.hi)


@max_examples(40)
@given(
    st.lists(st.floats(-1e3, 1e3).filter(lambda c: abs(c) > 1e-3), min_size=1, max_size=4),
    st.lists(st.sampled_from(["mul", "div"]), min_size=4, max_size=4),
    st.floats(-10, 10),
)
def test_the_error_of_a_folded_scaling_is_no_larger_than_its_bound(factors, operations, weight):
    scaling = Scaling(tuple((word, np.array([c])) for word, c in zip(operations, factors)))
    first = Dense(np.array([[weight]]), np.zeros(1), "relu")
    exact = Fraction(weight)
    for word, c in zip(operations, factors):
        exact = exact * Fraction(c) if word == "mul" else exact / Fraction(c)
    folded = scaling.folded_into(first).weight[0, 0]
    assert abs(Fraction(folded) - exact) <= Fraction(scaling.bound_folding_error(first)[0, 0])


@pytest.mark.parametrize("norm", NORMS)
def test_the_error_of_a_folded_scaling_is_added_to_every_bound(norm):
    """A first matrix that is off by `first_error` at most stands for all matrices that near."""
    layers, _ = scaled_chain([1 / 3], 0.7, 1.3)
    chain = read_chain(layers)
    assert isinstance(chain, Chain)
    chain.__dict__["first_error"] = 0.25
    setting = prepare_setting(chain, chain.global_ranges, norm, is_local=False)
    steepest = (0.7 / 3 + 0.25) * 1.3
    assert all(rung.value >= steepest for rung in climb_ladder(setting, 0.05))


# ---- decompositions --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("swapped", [False, True])
def test_what_products_lose_that_cancel_counts_as_a_defect(swapped):
    """One of two products that cancel is rounded, whichever of them is fused: what is computed is 0."""
    F, G = np.array([[1e8 / 3, 1e8]]), np.array([[3.0], [-1.0]])
    order = [1, 0] if swapped else [0, 1]
    exactly = abs(3 * Fraction(1e8 / 3) - Fraction(1e8))
    assert 0 < exactly <= Fraction(products_module._defect(np.zeros((1, 1)), F[:, order], G[order]))


@pytest.mark.parametrize("swapped", [False, True])
def test_bounds_of_jacobians_pay_for_what_products_lose_that_cancel(swapped):
    """All neurons are on: the Jacobian is one number, of which floats see nothing."""
    order = [1, 0] if swapped else [0, 1]
    weights = [np.array([[3.0], [-1.0]])[order], np.array([[1e8 / 3, 1e8]])[:, order]]
    ranges = ((np.ones(2), np.ones(2)),)
    exactly = abs(3 * Fraction(1e8 / 3) - Fraction(1e8))
    bounds = [linear_bound(weights, ranges)]
    bounds += [interval_bound(weights, ranges, norm) for norm in (2, inf)]
    bounds += [corner_bound(weights, ranges, norm) for norm in NORMS]
    assert all(Fraction(bound) >= exactly > 0 for bound in bounds)


def test_pairs_of_layers_are_a_bound_however_poor_the_decomposition_is(monkeypatch):
    rng = np.random.default_rng(0)
    weights = [rng.normal(size=shape) for shape in ((3, 2), (3, 3), (2, 3))]
    steepest = max(
        np.linalg.norm(weights[2] @ np.diag(second) @ weights[1] @ np.diag(first) @ weights[0], 2)
        for first in product((0.0, 1.0), repeat=3)
        for second in product((0.0, 1.0), repeat=3)
    )
    halves = products_module._halves
    for share in (0.0, 0.3, 0.9):
        monkeypatch.setattr(products_module, "_halves", lambda W, share=share: halves(share * W))
        assert pairwise_product(weights, 1.0, 20) >= steepest


# ---- slopes of activations ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("word", ["tanh", "sigmoid", "arctan", "softplus", "gelu", "silu"])
def test_ranges_of_slopes_hold_the_slope_at_either_end(word):
    """By secants of length 2⁻³⁰⁰ in balls: the slope itself, but for less than what floats tell."""
    ends = np.sort(np.random.default_rng(0).normal(size=(40, 2)) * 3, axis=1)
    least, most = slope_range(word, ends[:, 0], ends[:, 1])
    with ctx.workprec(1200):
        step = arb(2) ** -300
        for end, low, high in zip(ends, least, most):
            for x in (arb(end[0]), arb(end[1]) - step):
                slope = (_evaluate(word, x + step) - _evaluate(word, x)) / step
                assert arb(low) <= slope <= arb(high)


# ---- ranges of slopes ------------------------------------------------------------------------------------------------


def reduce_in_rationals(
    weights: list[np.ndarray], ranges: list[tuple[np.ndarray, np.ndarray]]
) -> tuple[list[fmpq_mat], fmpq_mat]:
    """The matrices of `reduce_chain` without rounding."""
    d = weights[0].shape[1]
    h = rational_matrix(np.eye(d))
    rows = []
    for W, (low, high) in zip(weights, ranges):
        z = rational_matrix(W) * h
        moving = np.flatnonzero(high > low)
        rows.append(
            fmpq_mat([[z[int(i), j] for j in range(z.ncols())] for i in moving])
            if len(moving)
            else None
        )
        straight = rational_matrix(np.diag(low)) * z
        widened = np.zeros((len(low), len(moving)))
        widened[moving, np.arange(len(moving))] = (high - low)[moving]
        wide = rational_matrix(widened) if len(moving) else None
        h = fmpq_mat(
            [
                [
                    *(straight[i, j] for j in range(straight.ncols())),
                    *(wide[i, j] for j in range(len(moving))),
                ]
                for i in range(straight.nrows())
            ]
        )
    return rows, rational_matrix(weights[-1]) * h


@max_examples(30)
@given(st.integers(0, 2**32 - 1))
def test_what_rounding_changes_in_a_reduced_chain_is_no_more_than_its_error(seed):
    """With entries that cancel, a product is far from what it would be in exact arithmetic."""
    rng = np.random.default_rng(seed)
    sizes = (2, 3, 3, 2)
    weights = [
        rng.normal(size=(m, n)) * 10.0 ** rng.integers(-8, 9, (m, n)) for n, m in pairwise(sizes)
    ]
    ends = [(0.0, 1.0), (1.0, 1.0), (0.25, 0.75), (0.3, 0.3)]
    picks = [rng.integers(0, len(ends), n) for n in sizes[1:-1]]
    ranges = [tuple(np.array([ends[k][side] for k in pick]) for side in (0, 1)) for pick in picks]
    system = reduce_chain(weights, ranges)  # type: ignore[arg-type]
    rows, out = reduce_in_rationals(weights, ranges)  # type: ignore[arg-type]
    for computed, exact, error in zip(
        (*system.rows, system.out), (*rows, out), (*system.errors, system.out_error)
    ):
        if len(computed):
            # the range of a slope is rounded up by one unit in the last place, which only adds slopes
            lost = squared_size(rational_matrix(computed) - exact)
            assert lost <= Fraction(error) ** 2


@pytest.mark.parametrize("norm", [2, inf])
def test_a_chain_without_ranges_has_the_norm_of_its_product(norm):
    rng = np.random.default_rng(3)
    weights = [rng.normal(size=shape) for shape in ((4, 3), (4, 4), (1, 4))]
    fixed = [
        (slopes, slopes) for slopes in (rng.choice([0.0, 1.0, 0.5], 4), rng.choice([1.0, 0.5], 4))
    ]
    J = weights[2] @ np.diag(fixed[1][0]) @ weights[1] @ np.diag(fixed[0][0]) @ weights[0]
    size = np.linalg.norm(J, norm)
    found = bound_sectors(reduce_chain(weights, fixed), steps=5, norm=norm).bound
    assert size * (1 - 1e-14) <= found <= size * (1 + 1e-9)


# ---- fewer inputs ----------------------------------------------------------------------------------------------------


@max_examples(20)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 1e-12, 0.1]))
def test_what_stands_for_the_inputs_reaches_all_that_they_reach(seed, wrong):
    r"""$LL^\top\succeq SS^\top$ in rationals, for every $S$ that is `wrong` away from the computed one."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(2, 6)) * 10.0 ** rng.integers(-3, 4)
    if rng.random() < 0.5:
        rows[1] = rows[0]  # a singular product, of which rounding makes anything
    out = np.hstack([rng.normal(size=(2, 6)), rng.normal(size=(2, 2))])
    system = System(6, (rows,), (wrong,), out, 0.0)
    small = compress_inputs(system)
    assert small.inputs == 4
    L = rational_matrix(np.vstack([small.rows[0][:, :4], small.out[:, :4]]))
    change = rng.normal(size=rows.shape)
    moved = rational_matrix(rows) + rational_matrix(
        change * (0.999 * wrong / np.linalg.norm(change))
    )
    S = fmpq_mat(
        [
            *([row[j] for j in range(6)] for row in moved.table()),
            *rational_matrix(out[:, :6]).table(),
        ]
    )
    assert is_positive_semidefinite(L * L.transpose() - S * S.transpose())


# ---- matrices that are not factorised ------------------------------------------------------------------------------


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("widths", [(5, 2, 1), (2, 5, 1), (1, 2, 5)])
def test_bounds_of_large_matrices_are_those_of_the_norm_asked_for(norm, widths, monkeypatch):
    """A row of n ones has the norm n in ∞, a column in 1; its Frobenius norm is the root of that."""
    monkeypatch.setattr(rungs, "LARGE", 4)
    weights = [np.ones((n, m)) for m, n in pairwise(widths)]
    hidden = Dense(weights[0], np.zeros(widths[1]), "relu")
    net = Description((hidden, Dense(weights[1], np.zeros(widths[2]), "identity")))
    chain = read_chain(net)
    assert isinstance(chain, Chain)
    setting = prepare_setting(chain, chain.global_ranges, norm, is_local=False)
    steepest = np.linalg.norm(weights[1] @ weights[0], norm)  # where all neurons are on
    found = [rung.value for rung in climb_ladder(setting, 0.05)]
    assert found and min(found) >= steepest


# ---- weights of every size -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("norm", NORMS)
def test_weights_near_the_ends_of_the_floats_give_a_bound_and_no_error(norm):
    layers = [[[1e200], [1e-200]], [[0.0, 1e200], [1e-200, 0.0]]]
    hidden = [Dense(np.array(W), np.zeros(2), "relu") for W in layers]
    net = Description((*hidden, Dense(np.array([[1.0, 0.0]]), np.zeros(1), "identity")))
    found = lipschitz(net, norm=norm, budget=0.3)
    assert found.lo <= 1 <= found.hi


def steep_behind_underflow() -> tuple[Description, float]:
    """A product of weights that is rounded to 0, before a square with the slope 2¹⁰¹ where it is."""
    layers = (
        Dense(np.array([[1.0], [2.0**-537]]), np.zeros(2), "relu"),
        Dense(np.array([[0.0, 2.0**-538], [1.0, 0.0]]), np.array([2.0**100, 0.0]), "square"),
        Dense(np.array([[1.0, 0.0]]), np.zeros(1), "identity"),
    )
    return Description(layers), 2.0**-974


@pytest.mark.parametrize("norm", NORMS)
def test_what_underflows_before_steep_slopes_is_paid_for(norm):
    net, slope = steep_behind_underflow()
    found = lipschitz(net, (1.0, 2.0), norm, budget=0.05)
    assert found.lo <= slope <= found.hi


def test_sums_that_underflow_before_steep_slopes_are_no_zeros():
    """Sixty-four products, each of less than half of the least float; and a slope that takes what it gets below it."""
    flat, steep = (np.zeros(64), np.ones(64)), (np.zeros(1), np.full(1, 2.0**500))
    first, last = np.full((64, 1), 2.0**-600), np.full((1, 1), 2.0**600)
    weights = [first, np.full((1, 64), 0.99 * 2.0**-475), last]
    assert absolute_product(weights, (flat, steep))[-1][0] >= 64 * 0.99 * 2.0**25
    assert absolute_product([0 * first, *weights[1:]], (flat, steep))[-1][0] == 0.0
    tiny = np.zeros(1), np.full(1, 2.0**-600)
    weights = [np.full((1, 1), 2.0**-600), last, last]
    assert absolute_product(weights, (tiny, (np.zeros(1), np.ones(1))))[-1][0] >= 1


def test_what_scaling_loses_before_steep_slopes_is_paid_for():
    """An entry that is 2⁻¹⁰⁸⁰ of the largest one is 0 in a scaled matrix, and counts by a slope of 2²⁰⁰."""
    dense = Dense(np.array([[2.0**900, 0.0], [0.0, 2.0**-180]]), np.zeros(2), "square")
    net = Description((dense, Dense(np.array([[0.0, 1.0]]), np.zeros(1), "identity")))
    chain = read_chain(net)
    assert isinstance(chain, Chain)
    ranges = ((np.zeros(2), np.array([2.0**200, 2.0**200])),)
    for norm in NORMS:
        setting = prepare_setting(chain, ranges, norm, is_local=True)
        assert all(rung.value >= 2.0**20 for rung in climb_ladder(setting, 0.05))


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("steep", [1e160, 1e308])
def test_slopes_whose_squares_or_products_overflow_give_a_bound_and_no_error(norm, steep):
    weights = tuple(np.ones(shape) for shape in ((2, 2), (2, 2), (1, 2)))
    hidden = [Dense(W, np.zeros(2), "square") for W in weights[:-1]]
    chain = read_chain(Description((*hidden, Dense(weights[-1], np.zeros(1), "identity"))))
    assert isinstance(chain, Chain)
    ranges = ((np.zeros(2), np.full(2, steep)),) * 2
    with np.errstate(all="ignore"):
        setting = prepare_setting(chain, ranges, norm, is_local=True)
        found = [rung.value for rung in climb_ladder(setting, 0.02)]
    assert found and all(value >= min(steep * steep, 1e308) for value in found)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("word", ["tanh", "sigmoid"])
def test_a_secant_of_which_balls_know_nothing_is_no_witness_and_no_error(word, norm):
    """At 1000 the activation is flat to thousands of bits."""
    hidden = Dense(np.ones((1, 1)), np.full(1, 1000.0), word)
    net = Description((hidden, Dense(np.ones((1, 1)), np.zeros(1), "identity")))
    found = lipschitz(net, (1.0, 2.0), norm, budget=0.05)
    assert found.lo == 0.0 and 0 < found.hi < 1e-12


def test_a_search_that_finds_no_multipliers_proves_nothing(monkeypatch):
    monkeypatch.setattr(semidefinite, "_minimise", lambda weights, steps: ())
    assert bound_slope([np.eye(2), 2 * np.eye(2), 0.5 * np.eye(2)]).bound == inf


def matrix_of(system: System, multipliers, rho: float) -> np.ndarray:
    """The matrix that has to be positive, term by term."""
    F = system.out
    M = -F.T @ F
    M[: system.inputs, : system.inputs] += rho * np.eye(system.inputs)
    place = system.inputs
    for Z, t in zip(system.rows, multipliers):
        rows = slice(place, place + len(t))
        M[rows, rows] += 2 * np.diag(t)
        M[rows, : Z.shape[1]] -= t[:, None] * Z
        M[: Z.shape[1], rows] -= (t[:, None] * Z).T
        place += len(t)
    return M


@max_examples(12)
@given(st.integers(0, 2**32 - 1), st.sampled_from([(0.3, 0.0), (0.0, 0.3), (0.2, 0.2)]))
def test_what_is_shown_positive_is_so_for_all_systems_within_the_errors(seed, sizes):
    rng = np.random.default_rng(seed)
    system = System(2, (rng.normal(size=(3, 2)),), (sizes[0],), rng.normal(size=(2, 5)), sizes[1])
    t = (10.0 ** rng.uniform(-0.5, 1.5) * rng.uniform(0.5, 2, 3),)
    shown = [rho for rho in np.geomspace(1, 1e5, 300) if is_positive(system, t, float(rho))]
    for rho in shown[:1]:
        values, vectors = np.linalg.eigh(matrix_of(system, t, rho))
        for v in vectors.T[values < 10 * values[0]]:
            worst = move_against(system, t, v)
            assert np.linalg.eigvalsh(matrix_of(worst, t, rho))[0] > 0


def move_against(system: System, multipliers, v: np.ndarray) -> System:
    """The system within the errors whose form is least along v."""
    place = system.inputs
    rows = []
    for Z, t, wrong in zip(system.rows, multipliers, system.errors):
        step = np.outer(t * v[place : place + len(t)], v[: Z.shape[1]])
        rows.append(Z + wrong * step / max(np.linalg.norm(step), 1e-300))
        place += len(t)
    step = np.outer(system.out @ v, v)
    out = system.out + system.out_error * step / max(np.linalg.norm(step), 1e-300)
    return replace(system, rows=tuple(rows), out=out)


def test_a_matrix_that_rounding_alone_makes_positive_is_not_shown_to_be():
    rng = np.random.default_rng(0)
    tried = 0
    for _ in range(200):
        F = rng.normal(size=(1000, 1))
        exact = sum(Fraction(v) ** 2 for v in F[:, 0].tolist())
        rho = float(exact)
        if Fraction(rho) >= exact:
            rho = float(np.nextafter(rho, 0))
        if rho > float((F.T @ F)[0, 0]):  # computed, the difference is positive; it is negative
            tried += 1
            assert not is_positive(System(1, (), (), F, 0.0), (), rho)
    assert tried > 20


def test_a_singular_matrix_that_a_factorisation_takes_for_positive_is_not_shown_to_be():
    rng = np.random.default_rng(0)
    for _ in range(12):
        z = rng.normal(size=(40, 1))
        t = rng.uniform(0.5, 1, size=40)
        exact = sum(Fraction(a) * Fraction(b) ** 2 for a, b in zip(t.tolist(), z[:, 0].tolist()))
        rho = float(np.nextafter(float(exact / 2), 0))  # the form is negative somewhere
        system = System(1, (z,), (0.0,), np.zeros((1, 41)), 0.0)
        assert Fraction(rho) < exact / 2
        assert not is_positive(system, (t,), rho)


def test_what_scales_make_underflow_is_paid_for():
    """Sixty-four times sixty-four entries, each just under what is rounded to the least float."""
    weights = [np.full((64, 64), 0.99 * 2.0**-1000), np.eye(1, 64)]
    ranges = ((np.zeros(64), np.ones(64)),)
    found = verify_scales(weights, ranges, [np.full(64, 2.0**-75)])
    assert found >= 64 * 0.99 * 2.0**-1000


def test_slopes_that_underflow_are_paid_for_after_scaling():
    weights = [np.array([[2.0**-500]]), np.array([[2.0**900]])]
    ranges = ((np.zeros(1), np.array([2.0**-600])),)
    assert verify_scales(weights, ranges, [np.array([2.0**300])]) >= 2.0**-200


def test_rounded_scales_are_paid_for(monkeypatch):
    """Scaled entries that are all rounded to ±1 of a Hadamard matrix, each away from the direction in which it counts;
    what else is rounded up is left out."""
    monkeypatch.setattr(products_module, "nextafter", lambda x, _: x)
    norm = lambda A: Enclosure.exact(8) if len(A) == 64 else Enclosure.exact(1)
    monkeypatch.setattr(products_module, "spectral_norm", norm)
    H = np.ones((1, 1))
    for _ in range(6):
        H = np.block([[H, H], [H, -H]])
    v = np.random.default_rng(0).integers(-5, 6, 64).astype(float)
    u = H @ v  # H attains its norm there, as everywhere
    third = 1 / 3  # three times this, or the next float, is rounded to 1
    longer = np.where(np.sign(np.outer(u, v)) == H, np.nextafter(third, 1), third)
    weights = [H * longer, 3.0 * np.eye(1, 64)]
    found = verify_scales(weights, ((np.zeros(64), np.ones(64)),), [np.full(64, 3.0)])
    assert np.array_equal(3.0 * weights[0], H)
    form = sum(
        (
            Fraction(3) * Fraction(float(w)) * int(a) * int(b)
            for row, a in zip(weights[0], u)
            for w, b in zip(row, v)
        ),
        Fraction(0),
    )
    least = form / (8 * int(v @ v))  # of the norm before rounding
    assert least > 8
    assert Fraction(found) >= least


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_no_input_on_the_border_of_a_part_is_cut_off(sign):
    """All neurons below are on, so that the input of one above is affine, and rounded where its row is formed."""
    rng = np.random.default_rng(0)
    inner = Dense(rng.normal(size=(5, 3)) / 3, np.full(5, 7.0), "relu")
    heights = rng.normal(size=(2, 5))
    outer = Dense(heights, -7.0 * heights.sum(1), "relu")
    chain = read_chain(Description((inner, outer, Dense(np.ones((1, 2)), np.zeros(1), "identity"))))
    box = Interval(np.full((1, 3), -1.0), np.full((1, 3), 1.0))
    splitter = Splitter(chain, prepare(chain), BoxSet(box), 2)
    (part,) = splitter.parts
    for entry in range(2):
        region = splitter._with_row(part.region, part.relaxed, (1, entry, sign))
        row = [Fraction(float(a)) for a in region.rows[0].ravel()]
        for _ in range(30):
            x = find_border(outer.weight[entry], inner, outer.bias[entry], sign, rng)
            reached = sum(a * b for a, b in zip(row, x))
            assert reached <= Fraction(float(region.limits[0]))


def find_border(
    w: np.ndarray, inner: Dense, bias: float, sign: float, rng: np.random.Generator
) -> list[Fraction]:
    """A point of floats at which the neuron has this sign, or 0, and with the next first coordinate the other one."""
    weights = [Fraction(v) for v in w.tolist()]
    slopes = [
        sum(a * Fraction(v) for a, v in zip(weights, column)) for column in inner.weight.T.tolist()
    ]
    offset = sum(a * Fraction(v) for a, v in zip(weights, inner.bias.tolist())) + Fraction(bias)
    others = [Fraction(v) for v in rng.uniform(-0.1, 0.1, 2).tolist()]
    rest = offset + sum(a * v for a, v in zip(slopes[1:], others))
    first = float(-rest / slopes[0])
    outward = float(np.sign(sign * float(slopes[0]))) * inf
    while Fraction(sign) * (rest + slopes[0] * Fraction(first)) < 0:
        first = float(np.nextafter(first, outward))
    return [Fraction(first), *others]
