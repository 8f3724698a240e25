r"""Bounds of $\log p(x)=\log\int p(x|z)\,\mathcal N(z;0,I)\,dz$ for a decoder $p(x|z)=\mathcal N(x;g(z),\sigma^2I)$.

With $q=\mathcal N(m,\tau^2)$ (per latent) and weights $w=\frac{p(x|z)p(z)}{q(z)}$: $\mathrm{ELBO}=\mathbb E_q\log w$,
and $L_K=\mathbb E\log\frac1K\sum_{k\le K}w_k$ for independent $z_k\sim q$ (IWAE) rises to $\log p(x)$.
"""

from collections.abc import Callable
from functools import partial
from math import inf
from typing import Any

import numpy as np

from ftheta.estimates.means import mean as mean_of
from ftheta.lazy import jax, special
from ftheta.logic.enclosure import Enclosure
from ftheta.logic.errors import UsageError
from ftheta.shapes import Float

Decoder = Callable[[np.ndarray], np.ndarray]
"""Of rows of latents, rows of means."""


def gaussian_divergence(mean: Float[np.ndarray, "q"], deviation: Float[np.ndarray, "q"]) -> float:
    r"""$\mathrm{KL}(\mathcal N(m,\tau^2)\|\mathcal N(0,I))=\frac12\sum(m^2+\tau^2-1-\ln\tau^2)$."""
    return float((mean**2 + deviation**2 - 1).sum()) / 2 - float(np.log(deviation).sum())


def log_weights(
    decode: Decoder,
    x: Float[np.ndarray, "d"],
    z: Float[np.ndarray, "n q"],
    mean: Float[np.ndarray, "q"],
    deviation: Float[np.ndarray, "q"],
    noise: float,
) -> Float[np.ndarray, "n"]:
    r"""$\log w=\log p(x|z)+\log p(z)-\log q(z)$ at the rows of `z`; `noise` is $\sigma$."""
    off = ((x - decode(z)) ** 2).sum(1) / noise**2
    likelihood = -off / 2 - len(x) / 2 * np.log(2 * np.pi * noise**2)
    prior = -(z**2).sum(1) / 2
    encoder = -(((z - mean) / deviation) ** 2).sum(1) / 2 - np.log(deviation).sum()
    return likelihood + prior - encoder


def importance_bound(logs: Float[np.ndarray, "n k"]) -> Enclosure:
    r"""$L_K$ from rows of $K$ independent log-weights each: the mean of $\log\frac1K\sum_kw_k$ over the rows."""
    return mean_of(special.logsumexp(logs, axis=1) - np.log(logs.shape[1]))


def elbo(
    decoder: Any,
    x: Any,
    mean: Any,
    deviation: Any,
    *,
    noise: float = 1.0,
    importance: int = 1,
    draws: int = 2000,
    seed: int = 0,
) -> Enclosure:
    r"""A lower bound of $\log p(x)$ of a Gaussian decoder, from draws of $q=\mathcal N(m,\tau^2)$, with its error.

    Parameters
    ----------
    decoder
        A `Network`, or a function of rows of latents that returns rows of means.
    x
        One row of data.
    mean, deviation
        $m$ and $\tau>0$ of the encoder at this row, one number per latent.
    noise
        The standard deviation $\sigma$ of the decoder.
    importance
        The number $K$ of weights that are averaged inside the logarithm: 1 is the ELBO, more are tighter.
    draws
        How often that is done.
    """
    row = np.asarray(x, np.float64).ravel()
    m = np.atleast_1d(np.asarray(mean, np.float64))
    tau = np.asarray(deviation, np.float64)
    if not (
        row.size and np.isfinite(row).all() and np.isfinite(m).all() and tau.size in (1, m.size)
    ):
        raise UsageError(
            "A row of finite numbers is needed, and a finite mean and a deviation for each latent.",
            where="ft.elbo",
            got=f"x {row[:4]}, mean {m[:4]}, {tau.size} deviations",
        )
    tau = np.broadcast_to(tau, m.shape)
    if not (0 < noise < inf and ((tau > 0) & (tau < inf)).all() and importance >= 1 and draws >= 2):
        raise UsageError(
            "Deviations are positive, and at least one weight and two draws are needed.",
            where="ft.elbo",
            got=f"noise {noise}, deviation {deviation}, importance {importance}, draws {draws}",
        )
    decode = partial(_decode, decoder) if hasattr(decoder, "apply") else decoder
    z = m + tau * np.random.default_rng(seed).normal(size=(draws * importance, len(m)))
    means = np.asarray(decode(z))
    if means.shape != (len(z), len(row)):
        raise UsageError(
            "The decoder returns one row of the size of x for every row of latents.",
            where="ft.elbo",
            got=f"shape {means.shape}, not {(len(z), len(row))}",
        )
    with np.errstate(over="ignore"):  # what overflows is looked for
        logs = log_weights(lambda _: means, row, z, m, tau, noise)
    if not np.isfinite(logs).all():
        raise UsageError(
            "The weights are no float64 numbers.",
            where="ft.elbo",
            got=f"log w = {logs[~np.isfinite(logs)][0]}",
            remedy="scale the rows, or give larger noise",
        )
    return importance_bound(logs.reshape(draws, importance))


def _decode(net: Any, z: np.ndarray) -> np.ndarray:
    """A network at rows of latents, in float64."""
    with jax.enable_x64(True):
        return np.asarray(jax.vmap(partial(net.apply, net.params))(z))
