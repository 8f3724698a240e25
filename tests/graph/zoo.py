"""Programs of every kind that the graph has to take: each entry makes a function and its arguments.

`vary` are the arguments that a box is put around when the program is enclosed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ftheta.graph import Graph, named, trace


@dataclass(frozen=True)
class Program:
    f: Callable[..., Any]
    args: tuple[Any, ...]
    vary: tuple[int, ...] = (-1,)
    radius: float = 0.3
    samples: int = 1500


KEY = jax.ShapeDtypeStruct((2,), np.uint32)


def draws(*shape: int, seed: int = 0, scale: float = 1.0) -> np.ndarray:
    return scale * np.random.default_rng(seed + sum(shape)).standard_normal(shape)


def module(make: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """An equinox module with float64 weights, drawn without compiling its initialisation."""
    shapes = eqx.filter_eval_shape(make, *args, **options)
    fill = lambda a: (
        draws(*a.shape) / np.sqrt(max(a.size, 1)) * 2 if isinstance(a, jax.ShapeDtypeStruct) else a
    )
    return jax.tree.map(fill, shapes)


def layers(*widths: int) -> list[tuple[np.ndarray, np.ndarray]]:
    return [
        (draws(m, n, seed=i) / np.sqrt(m), 0.1 * draws(n, seed=i))
        for i, (m, n) in enumerate(pairwise(widths))
    ]


def mlp(activation: Callable[[Any], Any], params: Any, x: Any) -> Any:
    for w, b in params[:-1]:
        x = activation(x @ w + b)
    w, b = params[-1]
    return x @ w + b


def relu_network() -> Program:
    return Program(lambda params, x: mlp(jax.nn.relu, params, x), (layers(3, 8, 5, 2), draws(4, 3)))


def tanh_network() -> Program:
    return Program(
        lambda params, x: jnp.sum(mlp(jnp.tanh, params, x) ** 2),
        (layers(3, 6, 6, 1), draws(3)),
        (0, 1),
        0.1,
    )


def activations() -> Program:
    def f(x):
        h = [
            jax.nn.gelu(x),
            jax.nn.gelu(x, approximate=False),
            jax.nn.silu(x),
            jax.nn.softplus(x),
            jax.nn.sigmoid(x),
            jax.nn.elu(x),
            jax.nn.selu(x),
            jax.nn.leaky_relu(x),
            jax.nn.relu6(x),
            jax.nn.hard_tanh(x),
            jax.nn.mish(x),
            jnp.abs(x),
            jnp.clip(x, -0.5, 0.7),
            jnp.where(x > 0.2, x, 0.1 * x - 1),
        ]
        return jnp.stack(h)

    return Program(f, (np.linspace(-2.4, 2.6, 11),))


def convolutional_network() -> Program:
    first = module(eqx.nn.Conv2d, 2, 4, 3, padding=1, stride=2, key=KEY)
    second = module(eqx.nn.Conv2d, 4, 4, 2, groups=2, dilation=2, padding=1, key=KEY)
    dense = module(eqx.nn.Linear, 16, 3, key=KEY)
    most = eqx.nn.MaxPool2d(2, 1)
    mean = eqx.nn.AvgPool2d(2, 1, padding=1)

    def f(x):
        h = most(jax.nn.relu(first(x)))
        return dense(mean(jnp.tanh(second(h)))[:, 1:3, 1:3].ravel())

    return Program(f, (draws(2, 7, 7),), radius=0.1, samples=300)


def residual_network() -> Program:
    norm = module(eqx.nn.LayerNorm, 6)
    (w1, b1), (w2, b2) = layers(6, 10, 6)

    def f(x):
        h = x + jax.nn.gelu(norm(x) @ w1 + b1) @ w2 + b2
        return norm(h)

    return Program(f, (draws(6, scale=2.0),))


def normalisations() -> Program:
    group = module(eqx.nn.GroupNorm, 2, 4)
    rms = module(eqx.nn.RMSNorm, 3)
    mean = draws(3)
    var = np.abs(draws(3, seed=1)) + 0.5

    def f(x):
        fast = jnp.mean(x**2, -1, keepdims=True) - jnp.mean(x, -1, keepdims=True) ** 2
        by_hand = (x - x.mean(0)) / (x.std(0) + 1e-3)
        flax_like = (x - jnp.mean(x, -1, keepdims=True)) * lax.rsqrt(jnp.maximum(fast, 0) + 1e-4)
        inference = (x - mean) / jnp.sqrt(var + 1e-5)
        return group(x), jax.vmap(rms)(x), by_hand, flax_like, inference, x / jnp.linalg.norm(x)

    return Program(f, (draws(4, 3, scale=2.0),))


def attention() -> Program:
    wq, wk, wv = (draws(4, 4, seed=s) / 2 for s in range(3))
    mask = np.tril(np.ones((5, 5), bool))

    def f(x):
        scores = (x @ wq) @ (x @ wk).T / 2.0
        return jax.nn.softmax(jnp.where(mask, scores, -jnp.inf)) @ (x @ wv), jax.nn.softmax(
            scores, axis=0
        )

    return Program(f, (draws(5, 4),), radius=0.1)


def cross_entropy() -> Program:
    def f(x):
        return (
            -jax.nn.log_softmax(x)[:, 1].mean(),
            jax.nn.logsumexp(x, axis=1),
            jnp.logaddexp(x[0], x[1]),
        )

    return Program(f, (draws(3, 4),))


def recurrent_network(reverse: bool = False) -> Program:
    w = draws(4, 4) / 2
    u = draws(3, 4)

    def f(h, xs):
        def step(carry, x):
            new = named(jnp.tanh(carry @ w + x @ u), "h")
            return new, (new[0], 2 * x)

        return lax.scan(step, h, xs, reverse=reverse)

    return Program(f, (draws(4), draws(5, 3)), (0, 1), 0.05)


def counted_loop() -> Program:
    def f(x):
        return lax.fori_loop(0, 4, lambda i, v: v * jnp.cos(v) + i, x)

    return Program(f, (draws(3),), radius=0.02)


def branches() -> Program:
    def f(x, n):
        y = lax.cond(x[0] > 0, lambda v: 2 * v, lambda v: jnp.sin(v), x)
        return lax.switch(n, [lambda v: v, lambda v: v**2, lambda v: -v], y)

    return Program(f, (np.array([0.1, -0.7]), 1), (0,))


def nested_calls() -> Program:
    inner = jax.jit(lambda x, y: jnp.exp(-x) * y)
    middle = jax.checkpoint(lambda x: inner(x, x + 1) / 3)
    return Program(jax.jit(lambda x: middle(x) + inner(x, 2.0)), (draws(3),))


@jax.custom_jvp
def clipped_exponential(x):
    return jnp.exp(jnp.minimum(x, 1.0))


clipped_exponential.defjvp(lambda p, t: (clipped_exponential(*p), 3.0 * t[0]))

SCALE = np.array([1.0, -2.0, 0.5])


@jax.custom_vjp
def scaled(x, y):
    return SCALE * x * y


scaled.defvjp(lambda x, y: (scaled(x, y), (x, y)), lambda r, g: (7.0 * g * r[1], g * r[0]))


def custom_derivatives() -> Program:
    return Program(
        lambda x, y: clipped_exponential(x) + scaled(x, jnp.sin(y)),
        (draws(3), draws(3, seed=4)),
        (0, 1),
    )


def relu_at_zero() -> Program:
    return Program(lambda x: jax.nn.relu(x) * 2 + jax.nn.relu(-x), (np.array([0.0, 1.0, -1.0]),))


def equinox_network() -> Program:
    net = module(eqx.nn.MLP, 3, 2, 5, 2, activation=jax.nn.silu, key=KEY)
    return Program(lambda net, x: net(x), (net, draws(3)))


def pytrees() -> Program:
    def f(p, q):
        return {
            "sum": p["a"] + q[0],
            "pair": (q[1] * 2, p["b"]),
            "fixed": jnp.arange(3.0),
            "same": q[0],
        }

    return Program(f, ({"a": draws(2), "b": draws(3)}, [draws(2, seed=1), 3.0]), (0, 1))


def embedding() -> Program:
    table = draws(7, 4)

    def f(tokens, scale):
        chosen = jnp.asarray(table)[tokens]
        return jnp.sum(chosen * scale, 0) + jax.nn.one_hot(tokens, 4)[0] * scale

    return Program(f, (np.array([2, 5, 2, -1]), draws(4)))


def stopped() -> Program:
    return Program(lambda x: x * lax.stop_gradient(jnp.sin(x)) + lax.stop_gradient(x), (draws(4),))


def message_passing() -> Program:
    sources = np.array([0, 1, 2, 2, 3])
    targets = np.array([1, 2, 0, 3, 3])
    w = draws(2, 3)

    def f(x):
        sums = jax.ops.segment_sum(jnp.tanh(x[sources] @ w), targets, num_segments=4)
        return sums.at[1].set(0.5)

    return Program(f, (draws(4, 2),))


def array_gymnastics() -> Program:
    def f(x):
        a = jnp.einsum("bij,bkj->bik", x, x)
        b = jnp.cumsum(jnp.sort(x, axis=-1), axis=1)[:, ::-1]
        c = jnp.pad(x[:, 1:, ::2], ((0, 0), (1, 0), (0, 1)))
        d = lax.dynamic_slice(x, (0, 1, 0), (2, 2, 2))
        top = jnp.stack([x.max(), x.min(), x.prod(), jnp.concatenate([x, -x]).mean()])
        return (
            a,
            b,
            c,
            d,
            top,
            jnp.argmax(x, axis=2),
            jnp.split(x, 3, axis=2),
            jnp.tile(x[0], (2, 1)).T,
        )

    return Program(f, (draws(2, 3, 3),), radius=0.05)


def worked_example() -> Program:
    def f(t1, t2):
        u = named(t2 * jnp.exp(t1), "u")
        return u * jnp.sqrt(named(t1 + u, "s"))

    return Program(f, (1.0, 2.0), (0, 1))


ZOO: dict[str, Callable[[], Program]] = {
    make.__name__: make
    for make in (
        relu_network,
        tanh_network,
        activations,
        convolutional_network,
        residual_network,
        normalisations,
        attention,
        cross_entropy,
        recurrent_network,
        counted_loop,
        branches,
        nested_calls,
        custom_derivatives,
        relu_at_zero,
        equinox_network,
        pytrees,
        embedding,
        stopped,
        message_passing,
        array_gymnastics,
        worked_example,
    )
} | {"recurrent_network_backwards": lambda: recurrent_network(reverse=True)}


QUICK = {"xla_backend_optimization_level": "0"}
"""Compiler options for tests, which run once what they compile."""


@cache
def program(name: str) -> Program:
    return ZOO[name]()


@cache
def graph(name: str) -> Graph:
    """The program's graph, traced once in float64."""
    with jax.enable_x64(True):
        return trace(program(name).f, *program(name).args)
