"""Enclosures of whole programs: they hold every sample, and are tight where the mathematics allows."""

from functools import cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jax import lax

from ftheta.graph import Interval, forward, intervals, trace
from ftheta.graph.domains.interval import INTERVAL, PLAIN
from ftheta.graph.patterns import (
    Centred,
    LogAddExp,
    LogSumExp,
    Normalised,
    Softmax,
    Variance,
    WeightedAverage,
)
from ftheta.graph.recognise import patterns

from ..thoroughness import max_examples
from .soundness import boxes, sample, sampled, violations
from .zoo import ZOO, draws, graph, layers, mlp, module

ROUNDING = 1e-12


@pytest.mark.parametrize("name", ZOO)
def test_the_enclosure_of_every_slot_holds_every_sample(name):
    assert violations(graph(name), boxes(name), sampled(name)) == []


@pytest.mark.parametrize("name", [n for n in ZOO if n not in ("normalisations",)])
def test_the_rules_of_single_nodes_are_sound_without_patterns_and_pieces(name):
    assert violations(graph(name), boxes(name), sampled(name), PLAIN) == []


@pytest.mark.parametrize("name", ["residual_network", "attention", "activations"])
def test_sharpening_only_shrinks(name):
    g = graph(name)
    sharp = forward(INTERVAL, g, *boxes(name))
    plain = forward(PLAIN, g, *boxes(name))
    for slot in g.slots:
        if slot.is_real:
            assert np.all(sharp[slot].lo >= plain[slot].lo) and np.all(
                sharp[slot].hi <= plain[slot].hi
            )


# ---- exact up to rounding ---------------------------------------------------------------------------------------


def output_range(f, lo, hi) -> Interval:
    lo = np.asarray(lo, float)
    hi = np.asarray(hi, float)
    return intervals(trace(f, jax.ShapeDtypeStruct(lo.shape, np.float64)), Interval(lo, hi)).outputs


MONOTONE = {
    "tanh network with positive weights": lambda x: jnp.tanh(
        jnp.tanh(x @ np.abs(draws(4, 5))) @ np.abs(draws(5, 2))
    ),
    "softplus": jax.nn.softplus,
    "sigmoid": jax.nn.sigmoid,
    "relu6": jax.nn.relu6,
    "leaky relu": jax.nn.leaky_relu,
    "leaky relu after a bias": lambda x: jax.nn.leaky_relu(x + draws(4)),
    "elu": jax.nn.elu,
    "selu": jax.nn.selu,
    "hard tanh": jax.nn.hard_tanh,
    "clip": lambda x: jnp.clip(x, -0.3, 2.0),
    "sorted partial sums": lambda x: jnp.cumsum(jnp.sort(x)),
    "max pool": lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (2,), (1,), "VALID"),
    "log-sum-exp": jax.nn.logsumexp,
    "recurrence": lambda x: lax.scan(lambda h, v: (jnp.exp(h / 3) + v, h), 0.5, x),
}


@pytest.mark.parametrize("name", MONOTONE)
@pytest.mark.parametrize("box", [(-1.0, 2.0), (-0.2, 0.1), (0.5, 3.0), (-40.0, 30.0)])
def test_increasing_functions_are_enclosed_exactly_up_to_rounding(name, box):
    f = MONOTONE[name]
    (lo, hi) = (np.full(4, end) for end in box)
    for found, least, most in zip(
        jax.tree.leaves(output_range(f, lo, hi), is_leaf=lambda v: isinstance(v, Interval)),
        jax.tree.leaves(f(lo)),
        jax.tree.leaves(f(hi)),
        strict=True,
    ):
        np.testing.assert_allclose(found.lo, least, rtol=ROUNDING, atol=1e-300)
        np.testing.assert_allclose(found.hi, most, rtol=ROUNDING, atol=1e-300)


ONE_VARIABLE = {
    "gelu": jax.nn.gelu,
    "exact gelu": lambda x: jax.nn.gelu(x, approximate=False),
    "silu": jax.nn.silu,
    "mish": jax.nn.mish,
    "hard silu": jax.nn.hard_silu,
    "squareplus": jax.nn.squareplus,
    "x sin x": lambda x: x * jnp.sin(x),
    "x / (1 + x²)": lambda x: x / (1 + x * x),
    "double where": lambda x: jnp.where(x > 0, jnp.log1p(jnp.where(x > 0, x, 0.0)), x),
    "polynomial": lambda x: x**3 - 3 * x,
}


@pytest.mark.parametrize("name", ONE_VARIABLE)
@pytest.mark.parametrize("box", [(-1.0, 1.0), (-3.0, 2.0), (-0.1, 0.3), (-2.0, -1.2), (-8.0, 8.0)])
def test_functions_of_one_variable_are_enclosed_within_a_few_per_cent(name, box):
    f = ONE_VARIABLE[name]
    found = output_range(f, [box[0]], [box[1]])
    seen = np.asarray(f(np.linspace(box[0], box[1], 20001)))
    width = seen.max() - seen.min()
    assert found.lo <= seen.min() + ROUNDING and seen.max() - ROUNDING <= found.hi
    assert found.hi - found.lo <= 1.08 * width


def test_a_discontinuous_choice_is_enclosed_on_both_sides_of_its_knot():
    f = lambda x: jnp.where(x >= 0.5, 1.0 - x, 7.0 + x)
    found = output_range(f, [0.25], [0.5])
    np.testing.assert_allclose([found.lo, found.hi], [[0.5], [7.5]], rtol=1e-12)
    only_left = output_range(f, [0.25], [0.5 - 2**-40])
    assert only_left.lo > 7.0


def test_a_value_taken_at_the_knot_alone_is_not_lost():
    f = lambda x: jnp.where(x == 1.0, 100.0, x) * 1.0 + 0 * x
    assert output_range(f, [0.0], [2.0]).hi >= 100.0
    assert (
        output_range(
            lambda x: jnp.where(x > 1.0, 0.0, jnp.where(x < 1.0, 0.5, -3.0)) + 0 * x, [0], [2]
        ).lo
        <= -3
    )


STEPS = {
    "tanh": lambda a, b, c: jnp.tanh(a),
    "sin": lambda a, b, c: jnp.sin(a),
    "abs": lambda a, b, c: jnp.abs(a),
    "square": lambda a, b, c: a * a,
    "exp": lambda a, b, c: jnp.exp(jnp.clip(a, -2.0, 2.0)),
    "sum": lambda a, b, c: a + b,
    "difference": lambda a, b, c: a - b,
    "product": lambda a, b, c: a * b,
    "quotient": lambda a, b, c: a / (1 + b * b),
    "maximum": lambda a, b, c: jnp.maximum(a, b - c),
    "choice": lambda a, b, c: jnp.where(a > c, a, b),
    "choice at a knot": lambda a, b, c: jnp.where(a <= c, b, c),
    "silu": lambda a, b, c: jax.nn.silu(a) + c,
    "reversed": lambda a, b, c: a[::-1] * b,
}


@given(
    st.lists(
        st.tuples(
            st.sampled_from(sorted(STEPS)),
            st.integers(0, 9),
            st.integers(0, 9),
            st.sampled_from([-0.5, 0.0, 1.0]),
        ),
        min_size=3,
        max_size=9,
    ),
    st.sampled_from([0.01, 0.5, 2.0]),
)
@max_examples(25)
def test_random_programs_are_enclosed_slot_by_slot(steps, radius):
    def f(x):
        known = [x]
        for name, i, j, c in steps:
            known.append(STEPS[name](known[-1 - i % len(known)], known[-1 - j % len(known)], c))
        return known[-1], sum(known)

    x = np.array([-1.0, -0.5, 0.0, 0.3, 1.0])
    g = trace(f, x)
    box = (Interval.around(x, radius),)
    assert violations(g, box, sample(g, box, 200)) == []


# ---- patterns ---------------------------------------------------------------------------------------------------

SPELLINGS = {
    "equinox": (module(eqx.nn.LayerNorm, 6, use_weight=False, use_bias=False), np.sqrt(5)),
    "mean and var": (lambda x: (x - x.mean()) / jnp.sqrt(x.var() + 1e-5), np.sqrt(5)),
    "flax": (
        lambda x: (
            (x - x.mean()) * lax.rsqrt(jnp.maximum((x**2).mean() - x.mean() ** 2, 0.0) + 1e-6)
        ),
        np.sqrt(5),
    ),
    "std": (lambda x: (x - x.mean()) / (x.std() + 1e-6), np.sqrt(5)),
    "power": (lambda x: (x - x.mean()) * (x.var() + 1e-5) ** -0.5, np.sqrt(5)),
    "reciprocal": (lambda x: (x - x.mean()) * (1 / jnp.sqrt(x.var() + 1e-5)), np.sqrt(5)),
    "jax.nn": (lambda x: jax.nn.standardize(x), np.sqrt(5)),
    "unbiased": (lambda x: (x - x.mean()) / jnp.sqrt(x.var(ddof=1) + 1e-5), np.sqrt(25 / 6)),
    "rms": (module(eqx.nn.RMSNorm, 6, use_weight=False, use_bias=False), np.sqrt(6)),
    "unit vector": (lambda x: x / jnp.linalg.norm(x), 1.0),
}


@cache
def spelt(name):
    return trace(SPELLINGS[name][0], np.ones(6))


@pytest.mark.parametrize("name", SPELLINGS)
@pytest.mark.parametrize("radius", [0.01, 1.0, 1e3])
def test_normalised_coordinates_stay_in_their_sphere_however_the_norm_is_spelt(name, radius):
    x = draws(6, seed=3)
    bound = SPELLINGS[name][1]
    g = spelt(name)
    assert any(isinstance(p, Normalised) for p in patterns(g).values())
    box = (Interval.around(x, radius),)
    assert violations(g, box, sample(g, box, 400)) == []
    found = intervals(g, *box).outputs
    assert np.abs([found.lo, found.hi]).max() <= bound * (1 + 1e-12)
    if radius == 0.01:
        assert found.width.max() < 0.06


def test_layer_norm_of_tokens_is_recognised_under_vmap_and_over_several_axes():
    norm = module(eqx.nn.LayerNorm, (2, 3))
    g = trace(jax.vmap(norm), draws(4, 2, 3))
    (pattern,) = [p for p in patterns(g).values() if isinstance(p, Normalised)]
    assert pattern.centred and pattern.axes == (1, 2)


LOOK_ALIKES = {
    "mean of another": lambda x: x - x[::-1].mean(),
    "mean over another axis": lambda x: x.reshape(2, 3) - x.reshape(2, 3).mean(0)[:2].sum(),
    "wrong count": lambda x: x - x.sum() / 5,
    "softmax over another axis": lambda x: (
        jnp.exp(x.reshape(3, 2)) / jnp.exp(x.reshape(3, 2)).sum(0, keepdims=True).T[0]
    ),
    "shift that varies": lambda x: jnp.exp(x - 2 * x) / jnp.exp(x - 3 * x).sum(),
    "transposed mean": lambda x: x[:4].reshape(2, 2) - x[:4].reshape(2, 2).mean(1),
    "subtracting eps": lambda x: (x - x.mean()) / jnp.sqrt(x.var() - 1e-5),
    "log-sum-exp with another shift": lambda x: jnp.log(jnp.exp(x - x[0]).sum()) + x[1],
    "log-sum-exp with a varying shift": lambda x: jnp.log(jnp.exp(x - x / 2).sum()) + x / 2,
    "another log1p": lambda x: jnp.maximum(x, x[0]) + jnp.log1p(jnp.exp(-jnp.abs(x - x[1]))),
    "square root of a sum of cubes": lambda x: x / jnp.sqrt((x**2 * jnp.abs(x)).sum() + 1),
}


@pytest.mark.parametrize("name", LOOK_ALIKES)
def test_look_alikes_of_the_patterns_are_enclosed_all_the_same(name):
    x = np.array([0.5, -1.0, 2.0, 0.1, -0.4, 1.3])
    g = trace(LOOK_ALIKES[name], x)
    box = (Interval.around(x, 0.2),)
    assert violations(g, box, sample(g, box, 600)) == []


def test_unlike_formulas_are_not_taken_for_patterns():
    for name in (
        "mean of another",
        "wrong count",
        "transposed mean",
        "log-sum-exp with another shift",
        "log-sum-exp with a varying shift",
        "another log1p",
        "square root of a sum of cubes",
    ):
        assert not patterns(trace(LOOK_ALIKES[name], np.ones(6))), name


def test_each_pattern_is_found_in_some_program_of_the_zoo():
    names = ("residual_network", "normalisations", "attention", "cross_entropy", "activations")
    found = {type(p) for name in names for p in patterns(graph(name)).values()}
    softplus = trace(jax.nn.softplus, np.ones(2))
    inside = {
        type(p)
        for node in softplus.nodes
        for inner in node.graphs
        for p in patterns(inner).values()
    }
    assert found | inside == {
        Centred,
        Variance,
        Normalised,
        Softmax,
        LogSumExp,
        LogAddExp,
        WeightedAverage,
    }


def test_softmax_has_the_optimal_enclosure():
    lo = np.array([-1.0, 0.0, 0.5])
    hi = np.array([0.0, 2.0, 0.75])
    found = output_range(jax.nn.softmax, lo, hi)
    for i in range(3):
        low = hi.copy()
        high = lo.copy()
        low[i], high[i] = lo[i], hi[i]
        np.testing.assert_allclose(found.lo[i], jax.nn.softmax(low)[i], rtol=1e-13)
        np.testing.assert_allclose(found.hi[i], jax.nn.softmax(high)[i], rtol=1e-13)


def test_softmax_stays_a_probability_however_wide_the_box():
    for radius in (1e2, 1e5, 1e200, np.inf):
        found = output_range(jax.nn.softmax, np.full(4, -radius), np.full(4, radius))
        assert np.all(found.lo >= 0) and np.all(found.hi <= 1)


def test_attention_averages_stay_in_the_hull_of_the_values():
    v = draws(5, 3)
    found = output_range(
        lambda s: jax.nn.softmax(s) @ v, np.full((2, 5), -50.0), np.full((2, 5), 50.0)
    )
    np.testing.assert_allclose(found.lo, np.broadcast_to(v.min(0), (2, 3)), rtol=1e-12)
    np.testing.assert_allclose(found.hi, np.broadcast_to(v.max(0), (2, 3)), rtol=1e-12)


def test_centring_is_one_linear_map():
    lo = np.array([0.0, 1.0, -1.0])
    hi = np.array([1.0, 2.0, 3.0])
    found = output_range(lambda x: x - x.mean(), lo, hi)
    np.testing.assert_allclose(
        found.lo, [(2 * 0 - 2 - 3) / 3, (2 * 1 - 1 - 3) / 3, (-2 - 1 - 2) / 3], rtol=1e-13
    )
    np.testing.assert_allclose(
        found.hi, [(2 * 1 - 1 + 1) / 3, (2 * 2 - 0 + 1) / 3, (2 * 3 - 0 - 1) / 3], rtol=1e-13
    )


def test_weights_may_vary_too():
    params = layers(3, 4, 2)
    g = trace(lambda p, x: mlp(jax.nn.relu, p, x), params, draws(3))
    wide = intervals(g, jax.tree.map(lambda w: Interval.around(w, 0.1), params), draws(3)).outputs
    narrow = intervals(g, params, draws(3)).outputs
    assert (
        np.all(wide.lo < narrow.lo) and np.all(narrow.hi < wide.hi) and narrow.width.max() < 1e-13
    )


def test_a_graph_in_single_precision_is_enclosed_in_double_precision():
    with jax.enable_x64(False):
        g = trace(lambda x: jnp.tanh(x) * 0.1, np.ones(2, np.float32))
    found = intervals(g, Interval(np.zeros(2), np.ones(2))).outputs
    assert found.hi.dtype == np.float64
    np.testing.assert_allclose(found.hi, np.tanh(1.0) * np.float64(np.float32(0.1)), rtol=1e-14)
