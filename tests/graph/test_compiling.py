"""Programs that are known by what they compute: the same values as `jax.jit`, compiled once for all numbers."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftheta.graph import compiling
from ftheta.graph.compiling import call_compiled

from ..thoroughness import max_examples

NUMBERS = st.floats(-50, 50) | st.sampled_from(
    [0.0, 1.0, 2.0, 0.5, -0.0, 1e-300, np.inf, -np.inf, np.nan]
)
RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def double_precision():
    with jax.enable_x64(True):
        yield


def loop(rate, matrix, steps=5):
    """Descent with a rate and a matrix inside the body, a number outside, and a number that is an output."""
    step = lambda x, k: (x - rate * (matrix @ x) / (1 + k), (jnp.sum(x**2), rate))
    return lambda x: (jax.lax.scan(step, x, jnp.arange(steps)), rate * 3.7, 0.3)


def branches(a, b):
    return lambda x: jax.lax.cond(x[0] > a, lambda y: y * b, lambda y: y - b, x)


def rounds(a, b):
    return lambda x: jax.lax.while_loop(
        lambda y: y[0] < 40 + abs(a), lambda y: y * 1.5 + abs(b) + 1, jnp.abs(x)
    )


def smooth(a, b):
    return jax.grad(
        lambda x: jnp.sum(jax.nn.softplus(a * x) + jax.nn.relu(x - b) + jax.jit(lambda y: y * a)(x))
    )


def inner_jit(a, b):
    table = np.array([a, b, 1.0])
    return jax.vmap(jax.jit(lambda x: jnp.where(x > a, table[1] * x, jnp.sum(table))))


@jax.custom_vjp
def _clipped(x):
    return jnp.clip(x, -1.3, 1.7)


_clipped.defvjp(lambda x: (_clipped(x), None), lambda kept, g: (g,))


def with_its_own_rule(a, b):
    return lambda x: _clipped(x * a) + b


MAKERS = [branches, rounds, smooth, inner_jit, with_its_own_rule]


def same(found, wanted):
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        size = np.max(np.abs(other), initial=0.0, where=np.isfinite(other))  # sums may cancel
        np.testing.assert_allclose(one, other, rtol=1e-13, atol=1e-15 * size)
        assert np.shape(one) == np.shape(other) and np.asarray(one).dtype == np.asarray(other).dtype
    assert jax.tree.structure(found) == jax.tree.structure(wanted)


@pytest.mark.parametrize("make", MAKERS, ids=lambda m: m.__name__)
@max_examples(40)  # each of them compiles
@given(a=NUMBERS, b=NUMBERS)
def test_the_values_are_those_of_each_function_itself(make, a, b):
    """One after the other with all kinds of numbers: a program that served the wrong function would be seen."""
    if make is rounds and not (np.isfinite(a) and np.isfinite(b)):
        return
    x = np.array([0.3, -1.2, 2.5])
    same(call_compiled(make(a, b), x), make(a, b)(jnp.asarray(x)))


@max_examples(25)
@given(rate=st.floats(-1, 1), seed=st.integers(0, 99))
def test_loops_take_their_numbers_from_outside(rate, seed):
    matrix = np.random.default_rng(seed).normal(size=(3, 3))
    same(call_compiled(loop(rate, matrix), np.ones(3)), jax.jit(loop(rate, matrix))(np.ones(3)))


def test_graphs_that_use_their_slots_in_another_order_are_told_apart():
    def split(order):
        def function(x):
            parts = jnp.split(x * 0.37, 3)
            more = jnp.split(x + 1.21, 3)
            return jnp.concatenate([[*parts, *more][i] for i in order])

        return function

    x = np.arange(6.0)
    for order in ((0, 1, 2), (0, 2, 1), (3, 1, 2), (2, 3, 4), (5, 4, 0)):
        same(call_compiled(split(order), x), split(order)(jnp.asarray(x)))


def misses(work) -> int:
    before = compiling._program.cache_info().misses
    work()
    return compiling._program.cache_info().misses - before


def test_what_differs_in_its_numbers_alone_is_compiled_once():
    def slide():
        for i in range(20):
            call_compiled(loop(0.0137 + i / 100, RNG.normal(size=(4, 4))), np.full(4, i, float))

    assert misses(slide) == 1


def test_what_differs_otherwise_is_not():
    shapes = lambda: [call_compiled(loop(0.01, np.eye(d)), np.ones(d)) for d in (5, 6)]
    lengths = lambda: [call_compiled(loop(0.01, np.eye(7), steps), np.ones(7)) for steps in (3, 4)]
    powers = lambda: [call_compiled(lambda x, p=p: x**p * 0.123, np.ones(3)) for p in (2, 3)]
    assert misses(shapes) == misses(lengths) == misses(powers) == 2


def test_arguments_and_results_may_be_trees():
    function = lambda pair, k: {"sum": pair["a"] + k, "rest": (pair["b"],)}
    pair = {"a": np.ones(2), "b": np.arange(3)}
    same(call_compiled(function, pair, 2), function(pair, 2))


def test_a_graph_whose_text_does_not_say_all_is_compiled_by_jax():
    calls = misses(lambda: call_compiled(with_its_own_rule(1.23, 4.56), np.ones(2)))
    assert calls == 0


def test_functions_with_effects_are_left_to_jax():
    heard = []

    def speaking(x):
        jax.debug.callback(lambda v: heard.append(float(v)), x)
        return x * 1.23

    assert float(call_compiled(speaking, 2.0)) == pytest.approx(2.46)
    jax.effects_barrier()
    assert heard == [2.0]


def test_numbers_computed_are_counted_through_loops():
    def roll(x):
        return jax.lax.scan(lambda x, _: (matrix @ x, None), x, None, length=7)[0]

    matrix = np.ones((20, 20))
    count = compiling.numbers_computed(jax.make_jaxpr(roll)(np.ones(20)).jaxpr)
    assert 7 * 400 <= count <= 7 * 400 + 100


@pytest.mark.parametrize(
    "long, hurried, settled", [(0, True, True), (1e9, True, False), (0, False, False)]
)
def test_what_runs_for_long_is_not_compiled_in_a_hurry(monkeypatch, long, hurried, settled):
    given = []
    compile_as_usual = jax.jit

    def record(function, **options):
        given.append(options.get("compiler_options"))
        return compile_as_usual(function, **options)

    monkeypatch.setattr(compiling, "LONG", long)
    monkeypatch.setattr(compiling, "compiles_quickly", lambda: hurried)
    monkeypatch.setattr(compiling.jax, "jit", record)
    compiling._program.cache_clear()
    x = np.arange(3.0)
    assert np.allclose(call_compiled(lambda x: x @ x + 0.3, x), x @ x + 0.3)
    levels = [(options or {}).get("xla_backend_optimization_level") for options in given]
    assert levels[-1:] == [2 if settled else None]
