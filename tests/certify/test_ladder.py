"""`ft.lipschitz`: exact constants inside every enclosure, certificates checked in rationals and balls, bad input."""

import json
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product
from math import inf

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flint import acb_mat, arb, ctx
from hypothesis import given
from hypothesis import strategies as st

import ftheta as ft
from ftheta.certify.ladder import lipschitz
from ftheta.certify.ladder.chains import Chain, read_chain
from ftheta.certify.ladder.curves import CURVES, slope_range
from ftheta.certify.ladder.jacobians import corner_bound, interval_bound, linear_bound
from ftheta.certify.ladder.local import prepare
from ftheta.certify.ladder.products import (
    absolute_product,
    pairwise_product,
    product_of_norms,
    rescaled_product,
    verify_scales,
)
from ftheta.certify.ladder.secants import slope_between
from ftheta.certify.ladder.sectors import (
    _Problem,
    bound_sectors,
    compress_inputs,
    is_positive,
    reduce_chain,
    verify_sectors,
)
from ftheta.certify.ladder.sequential import sequential_multipliers
from ftheta.certify.ladder.splitting import Splitter
from ftheta.certify.semidefinite import scale_chain, verify_certificate
from ftheta.graph.domains.interval.intervals import Interval
from ftheta.graph.domains.linear.sets import BoxSet
from ftheta.logic.errors import UsageError
from ftheta.networks import ACTIVATIONS, Dense, Description, random_mlp
from ftheta.networks.scaling import ScaledLayers, Scaling
from ftheta.pieces import Box, pieces
from ftheta.relu.exact import from_description
from ftheta.subjects import Network
from tests.thoroughness import max_examples

NORMS = (1, 2, inf)
SLACK = 1 + 1e-9


def norm_of(J: np.ndarray, p: float) -> float:
    return float(np.linalg.norm(J, p))


def steepest_piece(description: Description, lo: float, hi: float, p: float) -> float:
    """The largest norm over all pieces of a box, by NumPy from the maps of the cells."""
    d = description.widths[0]
    cells = pieces(from_description(description), Box([lo] * d, [hi] * d))
    assert cells.certificate.complete
    return max(norm_of(A, p) for A in cells.maps[:, :, :-1])


def small_network(seed: int, widths: tuple[int, ...], hidden: str = "relu") -> Description:
    return random_mlp(np.random.default_rng(seed), widths, hidden, bias=0.5)


def slopes_between(
    rng: np.random.Generator, sizes: list[int]
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Ranges of slopes: some fixed, some of [0, 1], some of neither."""
    found = []
    for n in sizes:
        low = rng.choice([0.0, 0.0, 1.0, 0.25, -0.5], size=n)
        high = np.maximum(low, rng.choice([0.0, 1.0, 0.75], size=n))
        found.append((low, high))
    return found


def corners(weights, ranges):
    """Every Jacobian at a corner of the ranges, one after the other."""
    moving = [(i, k) for i, (low, high) in enumerate(ranges) for k in np.flatnonzero(high > low)]
    for choice in product((False, True), repeat=len(moving)):
        slopes = [low.copy() for low, _ in ranges]
        for (i, k), up in zip(moving, choice):
            slopes[i][k] = ranges[i][1 if up else 0][k]
        J = np.eye(weights[0].shape[1])
        for W, D in zip(weights, slopes):
            J = D[:, None] * (W @ J)
        yield weights[-1] @ J


# ---- enclosures ------------------------------------------------------------------------------------------------------


@max_examples(6)
@given(
    st.integers(0, 10**6),
    st.sampled_from([(1, 4, 1), (2, 5, 2), (2, 4, 3, 2), (3, 4, 2)]),
    st.sampled_from(NORMS),
)
def test_the_exact_constant_on_a_box_lies_between_all_bounds(seed, widths, p):
    description = small_network(seed, widths)
    exact = steepest_piece(description, -1.0, 2.0, p)
    found = lipschitz(description, (-1.0, 2.0), p, budget=0.2)
    for rung in found.ladder:
        if rung.end == "upper":
            assert rung.value >= exact / SLACK, rung.method
        else:
            assert rung.value <= exact * SLACK, rung.method
    assert found.lo <= found.hi
    assert found.verify()


@max_examples(4)
@given(
    st.integers(0, 10**6),
    st.sampled_from([(1, 4, 1), (2, 4, 2), (2, 3, 3, 1)]),
    st.sampled_from(NORMS),
)
def test_no_piece_of_a_large_box_is_steeper_than_the_bounds_over_all_of_space(seed, widths, p):
    description = small_network(seed, widths)
    exact = steepest_piece(description, -1000.0, 1000.0, p)
    found = lipschitz(description, None, p, budget=0.2)
    assert found.verify()
    assert all(rung.value >= exact / SLACK for rung in found.ladder if rung.end == "upper")
    every = [rung for rung in found.ladder if rung.method == "all pieces"]
    assert all(rung.value == pytest.approx(exact, rel=1e-9) for rung in every)


@pytest.mark.parametrize("hidden", [name for name in ACTIVATIONS if name != "square"])
@pytest.mark.parametrize("domain", [None, (-1.0, 1.0)])
def test_secants_and_jacobians_met_lie_below_every_bound(hidden, domain):
    description = small_network(3, (3, 6, 5, 2), hidden)
    found = lipschitz(description, domain, 2, budget=0.3)
    rng = np.random.default_rng(0)
    starts = rng.uniform(-1, 1, size=(200, 3))
    with jax.enable_x64(True):
        jacobians = np.asarray(jax.vmap(jax.jacrev(description))(jnp.asarray(starts)))
    steepest = np.linalg.norm(jacobians, 2, axis=(1, 2)).max()
    assert steepest <= found.hi * SLACK
    assert found.lo <= found.hi
    assert found.lo >= 0.5 * steepest
    assert found.verify()


@pytest.mark.parametrize("p", NORMS)
def test_a_linear_network_has_the_norm_of_its_matrix(p):
    W = np.random.default_rng(0).normal(size=(3, 4))
    for domain in (None, (-1.0, 1.0)):
        found = lipschitz(Description((Dense(W, np.ones(3)),)), domain, p, budget=0.2)
        assert found.hi == pytest.approx(norm_of(W, p), rel=1e-9)
        assert found.lo == pytest.approx(norm_of(W, p), rel=1e-6)
        assert found.lo <= norm_of(W, p) * (1 + 1e-12)


def test_the_absolute_value_is_enclosed_by_its_constant():
    layers = (
        Dense(np.array([[1.0], [-1.0]]), np.zeros(2), "relu"),
        Dense(np.ones((1, 2)), np.zeros(1)),
    )
    found = lipschitz(Description(layers), budget=0.2)
    assert found.lo == 1
    assert 1 <= found.hi <= 1 + 1e-6


def test_a_dead_layer_has_the_constant_zero():
    layers = (Dense(np.eye(2), np.full(2, -9.0), "relu"), Dense(np.ones((1, 2)), np.zeros(1)))
    found = lipschitz(Description(layers), (-1.0, 1.0), budget=0.2)
    assert (found.lo, found.hi) == (0, 0)


def test_the_same_budget_gives_the_same_answer():
    description = small_network(0, (3, 8, 8, 2))
    first, second = (lipschitz(description, (-1.0, 1.0), budget=0.3) for _ in range(2))
    assert [rung.value for rung in first.ladder] == [rung.value for rung in second.ladder]


@pytest.mark.nightly
def test_parts_of_a_box_sharpen_a_local_constant():
    description = small_network(5, (6, 10, 10, 2))
    few = lipschitz(description, (-0.5, 0.5), budget=1)
    many = lipschitz(description, (-0.5, 0.5), budget=8)
    assert many.hi < few.hi
    assert many.hi <= 1.3 * many.lo
    rng = np.random.default_rng(0)
    with jax.enable_x64(True):
        met = np.asarray(
            jax.vmap(jax.jacrev(description))(jnp.asarray(rng.uniform(-0.5, 0.5, (2000, 6))))
        )
    assert np.linalg.norm(met, 2, axis=(1, 2)).max() <= many.hi * SLACK


@pytest.mark.parametrize("p", NORMS)
@pytest.mark.parametrize("seed, hidden", [(1, (5, 4)), (3, (9,))])
def test_parts_by_signs_of_neurons_end_at_the_steepest_piece(seed, hidden, p):
    """The parts know the constant in the end, which the exact complex has by other means."""
    description = small_network(seed, (2, *hidden, 2))
    chain = read_chain(description)
    box = Interval(np.full((1, 2), -0.7), np.full((1, 2), 0.7))
    splitter = Splitter(chain, prepare(chain), BoxSet(box), p)
    before = splitter.parts[0].bound
    cover = splitter.cover(0.0, 400)
    exactly = steepest_piece(description, -0.7, 0.7, p)
    assert not splitter.is_halved
    assert exactly <= cover.bound * SLACK
    assert cover.bound <= exactly * (1 + 1e-6) < before


@pytest.mark.parametrize("inputs, p", [(6, 2), (12, 2), (6, inf), (12, 1)])
def test_signs_of_neurons_and_halves_of_boxes_never_lose_a_piece(inputs, p):
    """Between one input and the next the slope stays below the bound, wherever the part was cut."""
    description = small_network(11, (inputs, 7, 6, 2))
    found = lipschitz(description, (-0.4, 0.4), p, budget=2)
    rng = np.random.default_rng(1)
    x, y = rng.uniform(-0.4, 0.4, size=(2, 4000, inputs))
    x, y = np.concatenate([x, x]), np.concatenate([y, x + 1e-4 * (y - x)])
    with jax.enable_x64(True):
        rise = np.linalg.norm(np.asarray(description(x)) - np.asarray(description(y)), p, axis=1)
    assert (rise / np.linalg.norm(x - y, p, axis=1)).max() <= found.hi * (1 + 1e-6)


# ---- bounds of Jacobians with slopes in ranges -----------------------------------------------------------------------


@max_examples(25)
@given(
    st.integers(0, 10**6), st.sampled_from([(2, 3, 2), (3, 3, 3, 2), (1, 2, 2, 2, 1), (2, 3, 5)])
)
def test_no_corner_of_the_slopes_exceeds_any_bound(seed, widths):
    rng = np.random.default_rng(seed)
    weights = [rng.normal(size=(n, m)) for m, n in pairwise(widths)]
    ranges = tuple(slopes_between(rng, list(widths[1:-1])))
    every = list(corners(weights, ranges))
    largest = {p: max(norm_of(J, p) for J in every) for p in NORMS}
    bounds = {
        "interval": {p: interval_bound(weights, ranges, p) for p in NORMS},
        "product": {p: product_of_norms(weights, ranges, p) for p in NORMS},
        "rescaled": {2: rescaled_product(weights, ranges, 20)[0]},
        "linear": {inf: linear_bound(weights, ranges)},
        "absolute": {inf: float(absolute_product(weights, ranges)[-1].max())},
        "corners": {p: corner_bound(weights, ranges, p) for p in NORMS},
        "sectors": {2: bound_sectors(reduce_chain(weights, ranges), steps=30).bound},
    }
    rows = [
        bound_sectors(reduce_chain([*weights[:-1], row[None]], ranges), steps=30, norm=inf)
        for row in weights[-1]
    ]
    bounds["sectors"][inf] = max(row.bound for row in rows)
    for name, values in bounds.items():
        for p, value in values.items():
            assert value is not None
            assert value >= largest[p] * (1 - 1e-12), (name, p)
    for p in NORMS:
        # the root of `norms.TINY`
        assert bounds["corners"][p] == pytest.approx(largest[p], rel=1e-9, abs=2.0**-449)
    assert bounds["linear"][inf] <= bounds["absolute"][inf]
    compressed = bound_sectors(compress_inputs(reduce_chain(weights, ranges)), steps=30).bound
    assert compressed >= largest[2] * (1 - 1e-12)


def test_corners_of_a_thousand_neurons_are_too_many():
    weights = [np.ones((1100, 1)), np.ones((1, 1100))]
    assert corner_bound(weights, ((np.zeros(1100), np.ones(1100)),), 2) is None


def test_bounds_of_one_neuron_a_layer_are_the_product_of_weights_and_slopes():
    """Nothing is lost here by any rule, so that each of them has one right value."""
    weights = [np.array([[2.0]]), np.array([[-3.0]]), np.array([[0.5]])]
    units = ((np.zeros(1), np.ones(1)),) * 2
    bent = ((np.array([-0.5]), np.array([0.25])), units[0])
    for ranges, exactly in ((units, 3.0), (bent, 1.5)):
        found = [product_of_norms(weights, ranges, p) for p in NORMS]
        found += [interval_bound(weights, ranges, p) for p in NORMS]
        found += [corner_bound(weights, ranges, p) for p in NORMS]
        found += [linear_bound(weights, ranges), float(absolute_product(weights, ranges)[-1][0])]
        found.append(rescaled_product(weights, ranges, 20)[0])
        found.append(bound_sectors(reduce_chain(weights, ranges), steps=60).bound)
        assert min(found) >= exactly
        assert max(found) <= exactly * (1 + 1e-5)
    assert 3.0 <= pairwise_product(weights, 1.0, 60) <= 3.0 * (1 + 1e-5)
    scaled, exponent = scale_chain(weights)
    assert (
        3.0
        <= 2.0**exponent * verify_certificate(scaled, sequential_multipliers(scaled))
        <= 3.0 * (1 + 1e-5)
    )


def test_rescaled_neurons_and_pairs_lie_between_the_program_and_the_product():
    rng = np.random.default_rng(2)
    weights, _ = scale_chain([rng.normal(size=(n, m)) for m, n in ((4, 12), (12, 10), (10, 3))])
    ranges = tuple((np.zeros(n), np.ones(n)) for n in (12, 10))
    rescaled, scales = rescaled_product(weights, ranges, 60)
    sequential = verify_certificate(weights, sequential_multipliers(weights))
    program = bound_sectors(reduce_chain(weights, ranges), steps=200).bound
    whole = product_of_norms(weights, ranges, 2)
    pairs = pairwise_product(weights, 1.0, 60)
    assert program <= min(rescaled, sequential, pairs) * (1 + 1e-6)
    assert max(rescaled, sequential, pairs) < whole
    assert verify_scales(weights, ranges, scales) == rescaled


def assemble(weights, ranges, multipliers, rho) -> list[list[Fraction]]:
    """The matrix of the program with ranges of slopes in rationals, from its definition: entry by entry as a quadratic
    form in the inputs and the `e` of the neurons that move."""
    d = weights[0].shape[1]
    moving = [[k for k in range(len(low)) if high[k] > low[k]] for low, high in ranges]
    n = d + sum(map(len, moving))
    state = [[Fraction(int(i == j)) for j in range(n)] for i in range(d)]
    M = [[Fraction(0)] * n for _ in range(n)]
    for i in range(d):
        M[i][i] = Fraction(float(rho[i] if np.ndim(rho) else rho))
    place = d
    for layer, W in enumerate(weights):
        rows = [
            [
                sum((Fraction(float(a)) * s[j] for a, s in zip(row, state)), Fraction(0))
                for j in range(n)
            ]
            for row in W
        ]
        if layer == len(weights) - 1:
            for row in rows:
                for a, b in product(range(n), repeat=2):
                    M[a][b] -= row[a] * row[b]
            return M
        low, high = ranges[layer]
        state = [[Fraction(float(low[k])) * v for v in row] for k, row in enumerate(rows)]
        for t, k in zip(multipliers[layer], moving[layer]):
            T = Fraction(float(t))
            M[place][place] += 2 * T
            for j in range(n):
                M[place][j] -= T * rows[k][j]
                M[j][place] -= T * rows[k][j]
            state[k][place] += Fraction(float(high[k])) - Fraction(float(low[k]))
            place += 1
    return M


def has_positive_pivots(M: list[list[Fraction]]) -> bool:
    M = [row[:] for row in M]
    for k in range(len(M)):
        if M[k][k] <= 0:
            return False
        for i in range(k + 1, len(M)):
            factor = M[i][k] / M[k][k]
            M[i] = [a - factor * b for a, b in zip(M[i], M[k])]
    return True


def least_eigenvalue(M: list[list[Fraction]]) -> arb | None:
    """In balls (the eigenvalues of a symmetric matrix are real); None where balls do not tell them apart."""
    before = ctx.prec
    ctx.prec = 400
    try:
        matrix = acb_mat([[arb(q.numerator) / q.denominator for q in row] for row in M])
        return min(
            (value.real for value in matrix.eig(multiple=True)), key=lambda ball: float(ball.mid())
        )
    except ValueError:
        return None
    finally:
        ctx.prec = before


@max_examples(15)
@given(st.integers(0, 10**6), st.floats(0.3, 3.0))
def test_what_is_certified_with_ranges_is_positive_in_rationals_and_in_balls(seed, share):
    rng = np.random.default_rng(seed)
    weights = [rng.normal(size=shape) for shape in ((3, 2), (3, 3), (2, 3))]
    ranges = slopes_between(rng, [3, 3])
    system = reduce_chain(weights, ranges)
    if not sum(system.sizes):
        return
    good = bound_sectors(system, steps=20)
    rho = verify_sectors(system, good.multipliers) ** 2
    M = assemble(weights, ranges, good.multipliers, rho)
    assert has_positive_pivots(M)
    least = least_eigenvalue(M)
    assert least is None or least > 0
    bent = tuple(t * rng.uniform(0.6, 1.6, t.shape) for t in good.multipliers)
    if is_positive(system, bent, share * rho):
        assert has_positive_pivots(assemble(weights, ranges, bent, share * rho))


@pytest.mark.parametrize("trace", [False, True])
def test_the_gradient_of_the_program_with_ranges_is_that_of_its_value(trace):
    rng = np.random.default_rng(0)
    weights = [rng.normal(size=shape) for shape in ((5, 3), (4, 5), (1, 4))]
    ranges = [
        (np.array([0, 0, 0.5, 1, 0.0]), np.array([1, 0, 1, 1, 1.0])),
        (np.zeros(4), np.ones(4)),
    ]
    problem = _Problem(reduce_chain(weights, ranges), trace=trace)
    p = 0.3 * rng.normal(size=sum(problem.sizes) + len(problem.sizes) + 3 * trace)
    _, gradient = problem(p, 20.0)
    steps = 1e-6 * np.eye(len(p))
    differences = [(problem(p + h, 20.0)[0] - problem(p - h, 20.0)[0]) / 2e-6 for h in steps]
    np.testing.assert_allclose(gradient, differences, atol=1e-7)


# ---- slopes and secants ----------------------------------------------------------------------------------------------


@given(st.sampled_from(sorted(CURVES)), st.floats(-6, 6), st.floats(0, 5), st.integers(0, 1000))
def test_slopes_of_secants_lie_in_their_range_and_nearly_fill_it(word, lo, width, seed):
    hi = lo + width
    low, high = (float(end) for end in slope_range(word, lo, hi))
    if width < 1e-3:
        return
    rng = np.random.default_rng(seed)
    with jax.enable_x64(True):
        sigma = ACTIVATIONS[word].function
        t = np.sort(rng.uniform(lo, hi, 64))
        values = np.asarray(sigma(jnp.asarray(t)))
        ends = np.asarray(jax.vmap(jax.grad(sigma))(jnp.linspace(lo, hi, 2001)))
    gaps = np.diff(t)
    wide = gaps > 1e-4
    slopes = np.diff(values)[wide] / gaps[wide]
    assert np.all(slopes >= low - 1e-9) and np.all(slopes <= high + 1e-9)
    if word not in ("relu", "leaky-relu"):
        assert low >= ends.min() - 1e-4
        assert high <= ends.max() + 1e-4


@pytest.mark.parametrize("p", NORMS)
def test_a_slope_in_rationals_is_that_of_an_evaluation_in_fractions(p):
    rng = np.random.default_rng(4)
    chain = read_chain(small_network(4, (3, 5, 4, 2), "leaky-relu"))
    assert chain is not None
    x, y = rng.normal(size=(2, 3))

    def value(point):
        h = [Fraction(float(v)) for v in point]
        for k, (W, b) in enumerate(zip(chain.weights, chain.biases)):
            h = [
                sum((Fraction(float(w)) * v for w, v in zip(row, h)), Fraction(float(c)))
                for row, c in zip(W, b)
            ]
            if k < len(chain.words):
                h = [v if v >= 0 else v * Fraction(0.01) for v in h]
        return h

    rise = np.array([float(a - b) for a, b in zip(value(x), value(y))])
    expected = np.linalg.norm(rise, p) / np.linalg.norm(x - y, p)
    found = slope_between(chain, x, y, p)
    assert found.lo <= found.hi
    assert found.middle == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    "hidden", ["tanh", "sigmoid", "arctan", "softplus", "gelu", "silu", "square"]
)
def test_a_slope_in_balls_is_that_of_the_network(hidden):
    description = small_network(6, (2, 4, 2), hidden)
    chain = read_chain(description)
    assert chain is not None
    x, y = np.random.default_rng(0).normal(size=(2, 2))
    with jax.enable_x64(True):
        rise = np.linalg.norm(np.asarray(description(x)) - np.asarray(description(y)))
    assert slope_between(chain, x, y, 2).middle == pytest.approx(
        rise / np.linalg.norm(x - y), rel=1e-10
    )


@pytest.mark.parametrize(
    "domain",
    [
        (-0.3, 0.2),
        ft.Ball(np.zeros(3), 0.5, norm=2),
        ft.Ball(np.ones(3), 0.5, norm=1),
        ft.Polytope(-np.ones(3), np.ones(3), np.array([[1.0, 1.0, 1.0]]), np.array([0.5])),
    ],
)
def test_the_ends_of_the_witness_lie_in_the_domain(domain):
    found = lipschitz(small_network(1, (3, 6, 2)), domain, budget=0.3)
    assert found.witness is not None
    for point in (found.witness.x, found.witness.y):
        if isinstance(domain, tuple):
            assert (point >= domain[0]).all() and (point <= domain[1]).all()
        elif isinstance(domain, ft.Ball):
            steps = [
                abs(Fraction(a) - Fraction(c))
                for a, c in zip(point.tolist(), np.ravel(domain.centre).tolist())
            ]
            size = sum(s if domain.norm == 1 else s * s for s in steps)
            assert size <= (Fraction(1, 2) if domain.norm == 1 else Fraction(1, 4))
        else:
            assert sum(map(Fraction, point.tolist())) <= Fraction(1, 2)
    assert 0 < found.lo <= found.hi


def test_layers_behind_a_scaling_are_bounded_with_the_error_of_folding():
    layers = small_network(2, (3, 5, 2))
    scaling = Scaling((("sub", np.array([0.1, 0.2, 0.3])), ("div", np.array([3.0, 0.7, 11.0]))))
    scaled = ScaledLayers(scaling, layers)
    found = lipschitz(Network.described(scaled), budget=0.3)
    plain = lipschitz(scaled.folded_layers, budget=0.3)
    chain = read_chain(scaled)
    assert isinstance(chain, Chain)
    assert chain.first_error > 0
    assert found.hi >= plain.hi or found.upper.method != plain.upper.method  # type: ignore[union-attr]
    assert found.hi == pytest.approx(plain.hi, rel=0.2)
    assert found.verify()


# ---- other networks --------------------------------------------------------------------------------------------------


def test_a_function_on_a_box_has_a_bound_by_its_jacobian():
    f = lambda x: jnp.exp(x) * jnp.sin(x[::-1])
    found = lipschitz(f, (np.zeros(2), np.ones(2)), budget=0.5)
    rng = np.random.default_rng(0)
    with jax.enable_x64(True):
        met = np.linalg.norm(
            np.asarray(jax.vmap(jax.jacrev(f))(rng.uniform(size=(500, 2)))), 2, axis=(1, 2)
        ).max()
    assert 0.5 * met <= found.lo <= found.hi
    assert met <= found.hi
    assert found.verify()


def test_what_has_no_constant_over_all_of_space_says_where():
    square = lipschitz(small_network(0, (2, 3, 1), "square"), budget=0.2)
    assert square.hi == inf
    assert "square" in square.remarks[0] and "layer 1" in square.remarks[0]
    growing = lipschitz(Network.of(lambda x: jnp.exp(x) + x[::-1], (2,)), budget=0.2)
    assert growing.hi == inf
    assert "exp" in growing.remarks[0]
    assert lipschitz(small_network(0, (2, 3, 1), "square"), (-1, 1), budget=0.2).hi < inf


@pytest.mark.parametrize(
    "f",
    [lambda x: jnp.floor(3 * x), lambda x: jax.lax.stop_gradient(9 * x), lambda x: 1 / (x - 0.5)],
)
def test_a_derivative_that_is_not_that_of_the_function_bounds_nothing(f):
    assert all(
        rung.method != "interval Jacobian"
        for rung in lipschitz(f, (np.zeros(1), np.ones(1)), budget=0.2).ladder
    )


# ---- what is returned ------------------------------------------------------------------------------------------------


def test_the_result_is_json_draws_itself_and_names_both_ends():
    found = lipschitz(small_network(0, (4, 8, 8, 2)), budget=0.3)
    text = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert text["lo"] == found.lo and text["hi"] == found.hi
    assert text["upper"]["certificate"]["multipliers"]
    assert len(text["witness"]["x"]) == 4
    assert found.chart().categories[0] == "≥ steepest secant found"
    assert "norm ℓ2" in repr(found)
    assert "LipSDP" in str(found)
    assert found.lo in found.enclosure and found.hi in found.enclosure


def test_a_certificate_that_was_tampered_with_is_not_verified():
    found = lipschitz(small_network(0, (4, 8, 8, 2)), budget=0.3)
    assert found.verify()
    lowered = [replace(r, value=0.99 * r.value) if r is found.upper else r for r in found.ladder]
    raised = [replace(r, value=1.01 * r.value) if r is found.lower else r for r in found.ladder]
    assert not replace(found, ladder=tuple(lowered)).verify()
    assert not replace(found, ladder=tuple(raised)).verify()


@pytest.mark.parametrize(
    "arguments, what",
    [
        ({"norm": 3}, "norm is 1, 2 or infinity"),
        ({"norm": "two"}, "norm is 1, 2 or infinity"),
        ({"domain": (-inf, inf)}, "bounded set"),
        ({"domain": (1.0, 0.0)}, "empty"),
        ({"domain": (float("nan"), 1.0)}, "NaN"),
        ({"domain": (np.zeros(4), np.ones(4))}, "does not fit"),
        ({"domain": (np.zeros((2, 3)), np.ones((2, 3)))}, "one set of inputs"),
        ({"domain": "everywhere"}, "set of inputs"),
        ({"budget": 0}, "budget"),
        ({"points": np.zeros((2, 5))}, "rows of inputs"),
    ],
)
def test_bad_input_says_what_is_wrong(arguments, what):
    with pytest.raises(UsageError, match=what):
        lipschitz(small_network(0, (3, 4, 1)), **arguments)


def test_a_function_without_a_domain_has_no_known_shape():
    with pytest.raises(UsageError, match="no known shape"):
        lipschitz(lambda x: x)
    with pytest.raises(UsageError, match=r"ft\.load"):
        lipschitz("network.onnx")
