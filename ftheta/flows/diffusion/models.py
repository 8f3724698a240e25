"""`ft.diffuse`: samples of a diffusion model, from the exact score of data or from a score of yours."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import inf, log1p, sqrt
from typing import Any

import numpy as np

from ftheta.flows.mixtures import Mixture
from ftheta.flows.models import choose_rows, read_rows
from ftheta.lazy import jax
from ftheta.logic.enclosure import Enclosure
from ftheta.logic.errors import UsageError, suggest
from ftheta.shapes import Float

from .bounds import score_error
from .reversal import Score, kl_to_normal, probability_flow, reverse_sde
from .samplers import (
    karras_levels,
    linear_alphas,
    noise_levels,
    sample_ddim,
    sample_ddpm,
    sample_euler,
    sample_heun,
    thin_alphas,
)

SAMPLERS = ("sde", "flow", "euler", "heun", "ddim", "ddpm")
SCHEDULES = ("karras", "linear")
HORIZON = 6.0
STOP = 1e-3
COPY = 1 / 3  # a copy is this much nearer to one row than to all others


@dataclass(frozen=True, eq=False)
class DiffusionModel:
    """Samples by `sampler` in `steps` steps; `bound` is an upper bound of KL(data ‖ samples) in nats (data noised for
    the time 0.001 of the forward process), for the reverse SDE alone and without the error of its steps."""

    sampler: str
    steps: int
    schedule: str
    law: Mixture
    bound: Enclosure | None
    _score: Score
    _centre: np.ndarray
    _scale: float

    def __repr__(self) -> str:
        rows, dimension = self.law.atoms.shape
        how = f"{self.sampler}, {self.steps} steps, {self.schedule}"
        return f"DiffusionModel({how}; of {rows:,} rows in dimension {dimension})"

    def sample(self, n: int, seed: int = 0) -> Float[np.ndarray, "n d"]:
        """`n` new rows."""
        rng = np.random.default_rng(seed)
        noise = rng.normal(size=(n, self.law.atoms.shape[1]))
        return self._centre + self._scale * self._run(noise, rng)

    def _run(self, noise: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        denoise = partial(denoise_by_score, self._score)
        if self.sampler in ("sde", "flow"):
            times = np.geomspace(HORIZON, STOP, self.steps + 1)
            if self.sampler == "sde":
                return reverse_sde(self._score, noise, times, rng, self.law.variance)
            return probability_flow(self._score, noise, times)
        if self.sampler in ("ddim", "ddpm"):
            alphas = thin_alphas(linear_alphas(), self.steps)
            if self.sampler == "ddim":
                return sample_ddim(denoise, noise, alphas)
            return sample_ddpm(denoise, noise, alphas, rng)
        levels = _choose_levels(self.schedule, self.steps)
        step = sample_euler if self.sampler == "euler" else sample_heun
        return step(denoise, levels[0] * noise, levels)

    def copies(self, x: Any) -> float:
        """The share of the rows of `x` that are at least three times as near to one row of the data as to any other."""
        rows = (read_rows(x, "copies") - self._centre) / self._scale
        distances = np.sqrt(np.partition(self.law.squares(rows), 1, axis=1)[:, :2])
        return float((distances[:, 0] <= COPY * distances[:, 1]).mean())


def diffuse(
    source: Any,
    *,
    sampler: str = "heun",
    steps: int = 32,
    schedule: str = "karras",
    data: Any = None,
    spread: float = 0.0,
    seed: int = 0,
) -> DiffusionModel:
    r"""A diffusion model of data with its exact score, or one with a score of yours.

    Parameters
    ----------
    source
        Rows of data (an array, a `Dataset`), or a score: a `Network` of the entries of a row and the time, or a
        function `score(t, rows)`, of the process $dx=-x\,dt+\sqrt2\,dW$ on data that are centred and divided by one
        number, the root of their mean variance.
    sampler
        "sde" (the reverse SDE), "flow" (the probability flow by Runge–Kutta steps), "euler", "heun", "ddim", "ddpm".
    steps, schedule
        How many steps; for "euler" and "heun" at the levels "karras" or "linear" (those of DDIM).
    data
        With a score: the rows that it was trained on, for the scale, the bound and copies.
    spread
        With data: the standard deviation of a blur of the rows, in units of the scale; with 0 every sample is a copy.
    """
    for name, given, known in (("sampler", sampler, SAMPLERS), ("schedule", schedule, SCHEDULES)):
        if given not in known:
            raise UsageError(
                f"There is no such {name}.",
                where="ft.diffuse",
                got=given,
                remedy=suggest(given, known, f"one of {', '.join(known)}"),
            )
    if not (steps == int(steps) >= 1 and 0 <= spread < inf):
        raise UsageError(
            "Steps are whole and positive, a spread is not negative.",
            where="ft.diffuse",
            got=f"{steps}, {spread}",
        )
    is_score = callable(source) or hasattr(source, "apply")
    if is_score and data is None:
        raise UsageError(
            "A score needs the data it was trained on.", where="ft.diffuse", remedy="give data=rows"
        )
    rows = read_rows(data if is_score else source, "ft.diffuse")
    centre = rows.mean(0)
    scale = sqrt(float(rows.var(0).mean()))
    if not scale > 0:
        raise UsageError(
            "All rows are the same.", where="ft.diffuse", remedy="give rows that differ"
        )
    atoms = (choose_rows(rows, np.random.default_rng(seed)) - centre) / scale
    law = Mixture(atoms, np.full(len(atoms), 1 / len(atoms)), 0.0 if is_score else spread**2)
    score = _read_score(source) if is_score else law.score_at
    bound = None
    if sampler == "sde":
        first = Enclosure.equal(kl_to_normal(law.after(HORIZON)))
        bound = (
            first + score_error(law, score, STOP, HORIZON, np.random.default_rng(seed))
            if is_score
            else first
        )
    return DiffusionModel(sampler, steps, schedule, law, bound, score, centre, scale)


def denoise_by_score(score: Score, x: np.ndarray, sigma: float) -> np.ndarray:
    r"""$D(x,\sigma)=x+\sigma^2\nabla\log p_\sigma(x)$ from the score of $dx=-x\,dt+\sqrt2\,dW$ at the time
    $t=\frac12\ln(1+\sigma^2)$, at which $e^tx_t=x_0+\sigma\xi$."""
    t = log1p(sigma**2) / 2
    shrink = 1 / sqrt(1 + sigma**2)
    return x + sigma**2 * shrink * score(t, shrink * x)


def _choose_levels(schedule: str, steps: int) -> np.ndarray:
    if schedule == "karras":
        return karras_levels(steps)
    return np.append(noise_levels(thin_alphas(linear_alphas(), steps)[:-1]), 0.0)


def _read_score(source: Any) -> Score:
    """A score of times and rows: a network takes the time as the last entry of its input."""
    if not hasattr(source, "apply"):
        return partial(_ensure_vectors, source)
    with jax.enable_x64(True):
        compiled: Callable[..., Any] = jax.jit(jax.vmap(partial(source.apply, source.params)))

    def score(t: float, x: np.ndarray) -> np.ndarray:
        with jax.enable_x64(True):
            return np.asarray(compiled(np.concatenate([x, np.full((len(x), 1), t)], 1)))

    return partial(_ensure_vectors, score)


def _ensure_vectors(score: Score, t: float, x: np.ndarray) -> np.ndarray:
    """What a score of the user says at these rows, or an error: samples that are not numbers would tell nothing."""
    found = np.asarray(score(t, x))
    if found.shape != x.shape:
        got = f"shape {found.shape}, not {x.shape}"
        raise UsageError(
            "A score has one row of the size of x for every row.", where="ft.diffuse", got=got
        )
    if not np.isfinite(found).all():
        got = f"{found[~np.isfinite(found)][0]} at the time {t:.4g}"
        raise UsageError(
            "The score is no number.",
            where="ft.diffuse",
            got=got,
            remedy="take more steps, or mend it",
        )
    return found
