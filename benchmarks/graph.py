"""The graph: every adjoint beside every value and JAX's gradient, intervals beside values, cost beside XLA's count;
gradients by differences, forward and reverse mode as the number of inputs grows; memory with and without checkpoints.

Peers in one run: `jax.grad` (compiled), `jax.jit` of the function, `cost_analysis` and `memory_analysis` of what is
compiled, `jax.checkpoint`. Times are CPU times, the best of several runs, compilation left out unless it is named.
"""

import math
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import ftheta as ft
from ftheta.graph import Interval, cost, every, intervals, sweep, trace
from ftheta.graph.domains.tangents import directional
from ftheta.graph.domains.values import flat_inputs
from ftheta.graph.gradient_costs import gradient_cost, gradient_memory
from ftheta.networks import random_mlp


def mlp(widths: tuple[int, ...]) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    net = random_mlp(np.random.default_rng(0), widths, "tanh")
    x = np.random.default_rng(1).normal(size=widths[0])
    return (lambda params, x: jnp.sum(net.apply(params, x) ** 2)), (net.params, x)


def attention(tokens: int, width: int) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    rng = np.random.default_rng(0)
    weights = [rng.normal(size=(width, width)) / width**0.5 for _ in range(3)]

    def f(weights, x):
        q, k, v = (x @ w for w in weights)
        return jnp.sum(jax.nn.softmax(q @ k.T / width**0.5) @ v)

    return f, (weights, rng.normal(size=(tokens, width)))


PROGRAMS = {
    "MLP 10-64-64-1": mlp((10, 64, 64, 1)),
    "MLP 64-256-256-10": mlp((64, 256, 256, 10)),
    "MLP, 32 layers of 64": mlp((64,) * 33),
    "MLP, 100 layers of 32": mlp((32,) * 101),
    "attention 32 × 64": attention(32, 64),
}


def best(work: Callable[[], Any], seconds: float = 0.5) -> float:
    """The shortest of as many runs as fit, after one to warm up, in CPU time."""
    jax.block_until_ready(work())
    times = []
    begun = time.process_time()
    while time.process_time() - begun < seconds:
        started = time.process_time()
        jax.block_until_ready(work())
        times.append(time.process_time() - started)
    return min(times)


def once(work: Callable[[], Any]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def box(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments with the last one widened to ± 0.01."""
    *params, x = args
    return (*params, Interval(x - 0.01, x + 0.01))


def row(name: str, f: Callable[..., Any], args: tuple[Any, ...]) -> str:
    first = once(lambda: ft.graph(f, *args))
    again = once(lambda: ft.graph(f, *args))
    graph = trace(f, *args)
    compiled = jax.jit(f)
    gradient = jax.jit(jax.grad(f, argnums=tuple(range(len(args)))))
    all_values = every(graph)
    all_adjoints = sweep(graph)
    plain = best(lambda: compiled(*args))
    values = best(lambda: list(all_values(*args).values.values()))
    ours = best(lambda: list(all_adjoints(*args).values.values()))
    theirs = best(lambda: gradient(*args))
    enclosing = best(lambda: intervals(graph, *box(args)).values and 0)
    counted = compiled.lower(*args).compile().cost_analysis() or {}
    flops = (
        f"{cost(graph).forward_total.flops / counted['flops']:.3f}" if counted.get("flops") else "-"
    )
    return (
        f"{name:22} {len(graph.nodes):6} {first:7.2f} {again:7.2f} {plain * 1e3:8.3f} {values * 1e3:8.3f}"
        f" {ours * 1e3:9.3f} {ours / values:8.2f} {ours / plain:7.2f} {ours / theirs:9.2f}"
        f" {enclosing * 1e3:9.2f} {flops:>8}"
    )


def growth(d: int) -> str:
    """One gradient of a ridge sum in d inputs, three ways: counted in operations and timed, in evaluations."""
    weights = np.random.default_rng(0).normal(size=(32, d)) / d**0.5
    f = lambda x: jnp.sum(jnp.tanh(weights @ x))
    x = np.random.default_rng(1).normal(size=d)
    graph = trace(f, x)
    counted = gradient_cost(graph)
    one = directional(graph)
    inputs = flat_inputs(graph, (x,))
    evaluate = jax.jit(f)
    ahead = jax.jit(lambda v: one(inputs, [v])[0])
    both = jax.jit(jax.value_and_grad(f))
    passes = list(np.eye(min(d, 64), d))
    moved = x + 1e-8
    plain = best(lambda: evaluate(x), 0.2)
    differences = (
        best(lambda: [evaluate(moved) for _ in range(len(passes) + 1)], 0.2)
        * (d + 1)
        / (len(passes) + 1)
    )
    forward = best(lambda: [ahead(v) for v in passes], 0.2) * d / len(passes)
    reverse = best(lambda: both(x), 0.2)
    by = lambda c: c.flops / counted.function.flops
    return (
        f"{d:8} {by(counted.finite_differences):12.1f} {by(counted.forward_mode):10.1f} {by(counted.reverse_mode):8.2f}"
        f" {differences / plain:14.1f} {forward / plain:10.1f} {reverse / plain:8.2f}"
    )


def checkpoints(n: int, width: int = 64) -> str:
    """Bytes alive in a chain of n layers on a batch: counted on the graph, and what XLA allots."""
    root = math.isqrt(n)
    w = np.random.default_rng(0).normal(size=(width, width)) / width**0.5
    step = lambda x: jnp.tanh(w @ x)

    def repeated(f: Callable[[Any], Any], times: int) -> Callable[[Any], Any]:
        return lambda x: jax.lax.scan(lambda state, _: (f(state), None), x, None, length=times)[0]

    plain = lambda x: jnp.sum(repeated(step, n)(x))
    kept = lambda x: jnp.sum(repeated(jax.checkpoint(repeated(step, n // root)), root)(x))
    x = np.ones((width, width))
    analysis = lambda f: jax.jit(jax.grad(f)).lower(x).compile().memory_analysis()
    temporary = lambda f: analysis(f).temp_size_in_bytes  # type: ignore[union-attr]
    counted = gradient_memory(trace(plain, x))
    return f"{n:8} {counted.reverse:14,} {counted.checkpointed:14,} {temporary(plain):14,} {temporary(kept):14,}"


def main() -> None:
    print(
        f"{'program':22} {'nodes':>6} {'graph s':>7} {'again s':>7} {'f ms':>8} {'vals ms':>8} {'adj. ms':>9}"
        f" {'÷ values':>8} {'÷ f':>7} {'÷ jax.grad':>9} {'interv.':>8} {'÷ XLA':>8}"
    )
    with jax.enable_x64(True):
        for name, (f, args) in PROGRAMS.items():
            print(row(name, f, args))
        print("\none gradient, in evaluations: counted, then timed")
        print(
            f"{'d':>8} {'differences':>12} {'forward':>10} {'reverse':>8}"
            f" {'differences':>14} {'forward':>10} {'reverse':>8}"
        )
        for d in (10, 100, 1000, 10_000):
            print(growth(d))
        print(
            "\nbytes alive in a chain: counted on the graph (plain, checkpoints), allotted by XLA (plain, checkpoints)"
        )
        for n in (16, 64, 256):
            print(checkpoints(n))
