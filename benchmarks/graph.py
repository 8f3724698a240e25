"""The graph: every adjoint beside JAX's gradient of the inputs, intervals beside plain values, cost beside XLA's count.

Peers in one run: `jax.grad` (compiled), `jax.jit` of the function, `cost_analysis` of the compiled function. Times are
wall times, the best of several runs, compilation left out.
"""

import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.graph import Interval, cost, intervals, sweep, trace
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
    "attention 32 × 64": attention(32, 64),
}


def best(work: Callable[[], Any], seconds: float = 0.5) -> float:
    """The shortest of as many runs as fit, after one to warm up."""
    jax.block_until_ready(work())
    times, begun = [], time.perf_counter()
    while time.perf_counter() - begun < seconds:
        started = time.perf_counter()
        jax.block_until_ready(work())
        times.append(time.perf_counter() - started)
    return min(times)


def box(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments with the last one widened to ± 0.01."""
    *params, x = args
    return (*params, Interval(x - 0.01, x + 0.01))


def row(name: str, f: Callable[..., Any], args: tuple[Any, ...]) -> str:
    started = time.perf_counter()
    graph = trace(f, *args)
    tracing = time.perf_counter() - started
    compiled, every, inputs = jax.jit(f), sweep(graph), jax.jit(jax.grad(f, argnums=tuple(range(len(args)))))
    ours, theirs = best(lambda: list(every(*args).values.values())), best(lambda: inputs(*args))
    enclosing, plain = best(lambda: intervals(graph, *box(args)).values and 0), best(lambda: compiled(*args))
    counted = compiled.lower(*args).compile().cost_analysis() or {}
    flops = f"{cost(graph).forward_total.flops / counted['flops']:.3f}" if counted.get("flops") else "-"
    return (
        f"{name:22} {len(graph.nodes):6} {tracing * 1e3:9.1f} {ours * 1e3:12.3f} {theirs * 1e3:11.3f}"
        f" {ours / theirs:7.2f} {enclosing * 1e3:12.3f} {enclosing / plain:10.1f} {flops:>12}"
    )


def main() -> None:
    print(
        f"{'program':22} {'nodes':>6} {'trace ms':>9} {'all adj. ms':>12} {'jax.grad ms':>11} {'ratio':>7}"
        f" {'interval ms':>12} {'÷ values':>10} {'flops ÷ XLA':>12}"
    )
    with jax.enable_x64(True):
        for name, (f, args) in PROGRAMS.items():
            print(row(name, f, args))
