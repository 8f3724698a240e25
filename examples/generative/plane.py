"""Three models of eight bumps in the plane: a coupling flow, flow matching, and a WGAN with a certified critic."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

import ftheta as ft
from ftheta.flows.continuous import carry
from ftheta.flows.matching import conditional_variance, draw_pairs

from .models import (
    ROWS,
    SHOWN,
    Model,
    Params,
    draw_samples,
    eight_bumps,
    mean_of_the_end,
    run_layers,
    start_layers,
    train,
)


def train_coupling(steps: int = 10_000) -> Model:
    """Eight coupling layers by maximum likelihood; no density has a mean loss below the entropy of the data."""
    rng = np.random.default_rng(0)
    law = eight_bumps()
    rows = law.sample(rng, ROWS)
    params = {f"layer {k}": start_layers(rng, (1, 48, 48, 2)) for k in range(8)}

    def bend(layers: Any, kept: Any) -> tuple[Any, Any]:
        scale, shift = run_layers(layers, kept[None])
        return 2 * jnp.tanh(scale / 2), shift

    def invert(params: Params, y: Any) -> Any:
        """The noise that a row came from, and log|det DT⁻¹|."""
        total = 0.0
        for k in reversed(range(8)):
            scale, shift = bend(params[f"layer {k}"], y[k % 2])
            y = y.at[1 - k % 2].set((y[1 - k % 2] - shift) * jnp.exp(-scale))
            total = total - scale
        return jnp.append(y, total)

    def forward(params: Params, x: Any) -> Any:
        for k in range(8):
            scale, shift = bend(params[f"layer {k}"], x[k % 2])
            x = x.at[1 - k % 2].set(x[1 - k % 2] * jnp.exp(scale) + shift)
        return x

    def surprise(found: Any, _: Any) -> Any:
        return (found[:2] @ found[:2]) / 2 + jnp.log(2 * jnp.pi) - found[2]

    run, seconds = train(params, invert, (rows, np.zeros(ROWS)), surprise, steps, 2e-3)
    made = np.asarray(
        jax.vmap(lambda x: forward(run.params, x))(rng.normal(size=(SHOWN, 2)).astype(np.float32))
    )
    entropy = float(-law.log_density(law.sample(rng, ROWS)).mean())
    last = mean_of_the_end(run.history.loss)
    return Model(
        "Coupling flow",
        run.history.step,
        run.history.loss,
        {"entropy of the data": entropy},
        [draw_samples("Coupling flow", made, rows)],
        seconds,
        f"{last - entropy:.3f} nats above the entropy {entropy:.4f} of the data",
        {"excess": last - entropy},
    )


def train_matching(steps: int = 10_000) -> Model:
    """A velocity network by flow matching; its loss has the floor E Var(x₁ − x₀ | x_t)."""
    rng = np.random.default_rng(1)
    law = eight_bumps()
    noise, data = draw_pairs(law, rng, 10 * ROWS)
    t = rng.random((10 * ROWS, 1))
    inputs = np.concatenate([(1 - t) * noise + t * data, t], 1)
    params = {"layers": start_layers(rng, (3, 96, 96, 2))}

    def velocity(params: Params, x: Any) -> Any:
        return run_layers(params["layers"], x)

    run, seconds = train(params, velocity, (inputs, data - noise), "squared", steps, 3e-3)
    moves = jax.jit(jax.vmap(lambda x: velocity(run.params, x)))

    def field_at(t: float, x: np.ndarray) -> np.ndarray:
        return np.asarray(
            moves(np.concatenate([x, np.full((len(x), 1), t)], 1).astype(np.float32)), np.float64
        )

    made = carry(field_at, rng.normal(size=(SHOWN, 2)), np.linspace(0, 1, 41))
    times = (np.arange(50) + 0.5) / 50
    least = [
        conditional_variance(law, s, (1 - s) * noise[:2000] + s * data[:2000]).mean()
        for s in times.tolist()
    ]
    floor = float(np.mean(least))
    last = mean_of_the_end(run.history.loss)
    return Model(
        "Flow matching",
        run.history.step,
        run.history.loss,
        {"E Var(x₁ − x₀ | x_t)": floor},
        [draw_samples("Flow matching", made, law.sample(rng, SHOWN))],
        seconds,
        f"{last - floor:.3f} above the floor {floor:.4f}",
        {"excess": last - floor},
    )


def normalise(W: Any) -> Any:
    """The matrix over its spectral norm."""
    return W / jnp.linalg.norm(W, 2)


def adam_for_each(rates: dict[str, float]) -> optax.GradientTransformation:
    """Adam with a step of its own for each part of the parameters."""

    def name_leaves(params: Params) -> Params:
        return {
            name: jax.tree.map(lambda _, name=name: name, part) for name, part in params.items()
        }

    return optax.multi_transform(
        {name: optax.adam(rate, b1=0.5) for name, rate in rates.items()}, name_leaves
    )


def sharpen_critic(start: Any, criticise: Callable, pairs: np.ndarray, steps: int = 3000) -> Any:
    """The critic that tells the samples of the finished generator from the data best."""

    def compare(layers: Any, both: Any) -> Any:
        kept = [(normalise(W), b) for W, b in layers]
        return criticise(kept, both[:2]) - criticise(kept, both[2:])

    return train(
        start, compare, (pairs, np.zeros(len(pairs))), lambda found, _: found, steps, 5e-3, 1000
    )[0].params


def train_wgan(steps: int = 8000) -> Model:
    """Generator and critic in one descent: the generator sees the gradient of the loss with its sign changed. Layers of
    the critic have norm at most 1 and |·| between them, so that its loss is never below −W₁."""
    rng = np.random.default_rng(2)
    law = eight_bumps()
    rows = law.sample(rng, ROWS)
    latents = rng.normal(size=(ROWS, 2))
    params = {
        "generator": start_layers(rng, (2, 64, 64, 2)),
        "critic": [(W, rng.normal(size=len(W))) for W, _ in start_layers(rng, (2, 32, 32, 1))],
    }

    def criticise(layers: Any, x: Any) -> Any:
        for W, b in layers[:-1]:
            x = jnp.abs(W @ x + b)
        W, b = layers[-1]
        return (W @ x + b)[0]

    def compare(params: Params, both: Any) -> Any:
        made = run_layers(params["generator"], both[:2])
        turned = 2 * jax.lax.stop_gradient(made) - made  # its value is `made`, its slope −1
        layers = [(normalise(W), b) for W, b in params["critic"]]
        return criticise(layers, turned) - criticise(layers, both[2:])

    data = (np.concatenate([latents, rows], 1), np.zeros(ROWS))
    rates = adam_for_each({"generator": 5e-4, "critic": 5e-3})
    run, seconds = train(params, compare, data, lambda found, _: found, steps, rates, 500)
    generate = jax.jit(
        jax.vmap(lambda z: run_layers(run.params["generator"], z.astype(np.float32)))
    )
    made = np.asarray(generate(rng.normal(size=(SHOWN, 2))), np.float64)
    fresh = law.sample(rng, SHOWN)
    distance = ft.distance(made, fresh, "w1").value
    best = sharpen_critic(
        run.params["critic"], criticise, np.concatenate([generate(latents), rows], 1)
    )
    layers = [(np.asarray(normalise(W), float), np.asarray(b, float)) for W, b in best]
    critic = ft.Network(
        "critic", lambda params, x: criticise(params, x)[None], layers, (2,), role="critic"
    )
    pair = ft.Dataset("made and data", np.concatenate([made, fresh]), np.repeat([0, 1], SHOWN))
    checked = ft.check("wgan-critic", critic.with_data(pair))
    below = checked.numbers["lower bound"].middle
    return Model(
        "WGAN, certified critic",
        run.history.step,
        run.history.loss,
        {"−W₁ of the last samples": -distance.middle},
        [draw_samples("WGAN", made, fresh)],
        seconds,
        f"W₁ of {SHOWN} samples is {distance.middle:.4f}; the critic certifies {below:.4f} of it",
        {"W₁": distance.middle, "certified": below},
    )
