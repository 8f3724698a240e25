"""Two models of the 8 × 8 digits: a denoising score network and a variational autoencoder."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import ftheta as ft
from ftheta.flows.mixtures import Mixture
from ftheta.latent.bounds import importance_bound, log_weights

from .models import (
    Model,
    Params,
    count_copies,
    digits,
    draw_digits,
    mean_of_the_end,
    run_layers,
    start_layers,
    train,
)

LATENTS = 8
NOISE = 0.2  # standard deviation of the decoder
EARLIEST, LATEST = 0.01, 3.0  # times of the forward process at which the score is learnt


def start_unet(rng: np.random.Generator) -> Params:
    """Two resolutions, 8 × 8 and 4 × 4, and a path across; kernels are 3 × 3."""
    shapes = {"in": (16, 2), "down": (32, 16), "middle": (32, 32), "up": (16, 48), "out": (1, 16)}
    return {
        name: (rng.normal(size=(n, 9 * m)) / (3 * np.sqrt(m)), np.zeros((n, 1, 1)))
        for name, (n, m) in shapes.items()
    }


def run_unet(params: Params, both: Any) -> Any:
    """The noise in 64 pixels at a time of the forward process: pixels and time in one vector."""

    def convolve(name: str, x: Any, stride: int = 1) -> Any:
        W, b = params[name]
        n = x.shape[1]
        padded = jnp.pad(x, ((0, 0), (1, 1), (1, 1)))
        shifted = [padded[:, i : i + n, j : j + n] for i in range(3) for j in range(3)]
        return jnp.tensordot(W, jnp.concatenate(shifted)[:, ::stride, ::stride], 1) + b

    t = jnp.broadcast_to(jnp.log(both[64]) / 3, (1, 8, 8))
    fine = jax.nn.silu(convolve("in", jnp.concatenate([both[:64].reshape(1, 8, 8), t])))
    coarse = jax.nn.silu(convolve("middle", jax.nn.silu(convolve("down", fine, 2))))
    wide = jnp.repeat(jnp.repeat(coarse, 2, 1), 2, 2)
    return convolve("out", jax.nn.silu(convolve("up", jnp.concatenate([fine, wide])))).ravel()


def least_noise_loss(law: Mixture, rng: np.random.Generator) -> float:
    """The mean loss of the exact score, over the times at which the network is trained."""
    found = []
    for t in np.geomspace(EARLIEST, LATEST, 24).tolist():
        xi = rng.normal(size=(60, 64))
        spread = np.sqrt(-np.expm1(-2 * t))
        noised = np.exp(-t) * law.sample(rng, 60) + spread * xi
        found.append(((-spread * law.score_at(t, noised) - xi) ** 2).sum(1).mean())
    return float(np.mean(found))


def train_score(steps: int = 1800) -> Model:
    """A small U-Net that finds the noise. The floor belongs to the exact score of these rows, which makes copies: a
    loss above it is what lets a network make new digits."""
    rng = np.random.default_rng(3)
    pixels = digits()
    centre = pixels.mean(0)
    scale = float(np.sqrt(pixels.var(0).mean()))
    rows = (pixels - centre) / scale
    law = Mixture(rows, np.full(len(rows), 1 / len(rows)), 0.0)
    clean = rows[rng.integers(0, len(rows), 40_000)]
    t = np.exp(rng.uniform(np.log(EARLIEST), np.log(LATEST), (len(clean), 1)))
    xi = rng.normal(size=clean.shape)
    spread = np.sqrt(-np.expm1(-2 * t))
    noised = np.exp(-t) * clean + spread * xi
    inputs = np.concatenate([noised, t], 1)
    run, seconds = train(start_unet(rng), run_unet, (inputs, xi), "squared", steps, 3e-3, 80)
    floor = least_noise_loss(law, rng)
    find = jax.jit(jax.vmap(lambda x: run_unet(run.params, x)))

    def score(t: float, x: np.ndarray) -> np.ndarray:
        inputs = np.concatenate([x, np.full((len(x), 1), np.clip(t, EARLIEST, LATEST))], 1)
        return -np.asarray(find(inputs.astype(np.float32)), np.float64) / np.sqrt(-np.expm1(-2 * t))

    made = ft.diffuse(score, data=pixels, sampler="ddim", steps=60).sample(200)
    exact = ft.diffuse(pixels, sampler="ddim", steps=60)
    copies = {"network": count_copies(made, pixels), "exact score": exact.copies(exact.sample(60))}
    last = mean_of_the_end(run.history.loss)
    return Model(
        "Denoising score (U-Net)",
        run.history.step,
        run.history.loss,
        {"exact score of the rows": floor},
        [draw_digits(f"Diffusion: {copies['network']:.0%} copies", made)],
        seconds,
        f"loss {last:.2f}, floor {floor:.2f}; copies among samples: {copies['network']:.1%}, with the exact score "
        f"{copies['exact score']:.0%}",
        copies,
    )


def train_vae(steps: int = 4000) -> Model:
    """Encoder and decoder; the loss −ELBO is never below −log p of the same decoder, which importance weights find."""
    rng = np.random.default_rng(4)
    pixels = digits()
    many = np.tile(pixels, (16, 1))
    inputs = np.concatenate([many, rng.normal(size=(len(many), LATENTS))], 1)
    params = {
        "encoder": start_layers(rng, (64, 96, 2 * LATENTS)),
        "decoder": start_layers(rng, (LATENTS, 96, 64)),
    }

    def encode(params: Params, x: Any) -> tuple[Any, Any]:
        code = run_layers(params["encoder"], x)
        return code[:LATENTS], jnp.clip(code[LATENTS:], -6, 2)

    def decode(params: Params, z: Any) -> Any:
        return jax.nn.sigmoid(run_layers(params["decoder"], z))

    def evidence(params: Params, both: Any) -> Any:
        """Minus the ELBO of one row, with the noise that comes with it."""
        x = both[:64]
        mean, log_deviation = encode(params, x)
        off = decode(params, mean + jnp.exp(log_deviation) * both[64:]) - x
        fit = (off @ off) / (2 * NOISE**2) + 32 * jnp.log(2 * jnp.pi * NOISE**2)
        return (
            fit
            + (mean @ mean + jnp.exp(2 * log_deviation).sum() - LATENTS - 2 * log_deviation.sum())
            / 2
        )

    run, seconds = train(
        params, evidence, (inputs, np.zeros(len(inputs))), lambda found, _: found, steps, 2e-3
    )
    decoder = jax.jit(jax.vmap(lambda z: decode(run.params, z)))
    at = lambda z: np.asarray(decoder(np.asarray(z, np.float32)), np.float64)
    likelihoods = []
    for row in pixels[:200]:
        mean, log_deviation = (np.asarray(part, np.float64) for part in encode(run.params, row))
        deviation = np.exp(log_deviation)
        z = mean + deviation * rng.normal(size=(640, LATENTS))
        logs = log_weights(at, row, z, mean, deviation, NOISE)
        likelihoods.append(importance_bound(logs.reshape(10, 64)).middle)
    floor = -float(np.mean(likelihoods))
    made = at(rng.normal(size=(200, LATENTS)))
    linear = -ft.ppca(pixels[:, pixels.std(0) > 0], LATENTS).log_likelihood
    last = mean_of_the_end(run.history.loss)
    copies = count_copies(made, pixels)
    return Model(
        "VAE",
        run.history.step[100:],
        run.history.loss[100:],
        {"−L₆₄ of the same decoder": floor},
        [draw_digits(f"VAE: {copies:.0%} copies", made)],
        seconds,
        f"−ELBO {last:.2f}, {last - floor:.2f} above −L₆₄ on 200 rows; {copies:.1%} copies among samples (PPCA with "
        f"as many latents and noise of its own choice: {linear:.2f})",
        {"gap": last - floor, "copies": copies},
    )
