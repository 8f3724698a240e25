"""What is claimed of attention over a Gaussian measure, by quadrature, by draws, by particles and by transport."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax.numpy as jnp
import numpy as np
from scipy import stats

from ftheta.estimates import mean
from ftheta.graph.enclosing import enclose_entry
from ftheta.limits.orders import observed_order
from ftheta.logic import (
    AtMost,
    Axis,
    Chart,
    Claim,
    Converges,
    Curves,
    Enclosure,
    Finding,
    Identity,
    Series,
    SubjectError,
    Witness,
)

from .mean_field import ORDERS, Attention, Gaussian, hermite, moments, scalar, stability_rates, wasserstein

NEAR = 1e-6  # of quadratures and integrations with local errors of 1e-8
SIZES = tuple(100 << k for k in range(7))  # draws
CLOUDS = (100, 400)  # particles
TAME = 0.6  # largest variance up to which particles stand for a Gaussian: beyond, the tails decide
REPEATS = 160
TIMES = 33
SIGNIFICANT = 1e-4
NEIGHBOUR = 0.9  # the second flow starts from this share of the covariance, its mean moved a little


@dataclass(frozen=True, eq=False)
class Cloud:
    """The measure as it is, by nodes and weights, and the Gaussian with its mean and covariance."""

    nodes: np.ndarray
    weights: np.ndarray
    law: Gaussian

    @classmethod
    def mixture(cls, atoms: np.ndarray, weights: np.ndarray, spread: float) -> "Cloud":
        """Bumps of one width: a Gauss–Hermite rule for each, up to three dimensions."""
        d = atoms.shape[1]
        parts = [hermite(atom, spread * np.eye(d)) for atom in atoms] if d in ORDERS and spread > 0 else []
        if not parts:
            return cls(atoms, weights, moments(atoms, weights))
        nodes, w = np.concatenate([p[0] for p in parts]), np.concatenate([v * p[1] for v, p in zip(weights, parts)])
        return cls(nodes, w, moments(nodes, w))

    @classmethod
    def surrogate(cls, rows: np.ndarray) -> "Cloud":
        """The Gaussian with the mean and the covariance of data stands for them."""
        law = moments(rows, np.full(len(rows), 1 / len(rows)))
        if law.largest <= 0:
            raise SubjectError("Tokens that are all equal have no Gaussian.", remedy="give tokens that differ")
        nodes, weights = law.quadrature() if law.dimension in ORDERS else (rows, np.full(len(rows), 1 / len(rows)))
        return cls(nodes, weights, law)


def normality(rows: np.ndarray) -> Finding:
    """Skewness and kurtosis along the principal directions (Jarque and Bera), the worst of them."""
    centred = rows - rows.mean(0)
    _, values, directions = np.linalg.svd(centred, full_matrices=False)
    scores = (centred @ directions.T)[:, values > 1e-9 * values[0]]
    p = min(1.0, min(float(np.asarray(stats.jarque_bera(column))[1]) for column in scores.T) * scores.shape[1])
    note = f"p = {p:.3g} for {len(rows)} tokens in {scores.shape[1]} directions; asked: at least {SIGNIFICANT:g}"
    known = Enclosure.measured(p, samples=len(rows))
    return Finding.sampled(note, known) if p >= SIGNIFICANT else Finding.failed(note, known)


@dataclass(frozen=True, eq=False)
class Study:
    cloud: Cloud
    attention: Attention
    time: float

    @property
    def law(self) -> Gaussian:
        return self.cloud.law

    @cached_property
    def points(self) -> np.ndarray:
        """Where attention is looked at: the mean, and one deviation from it along each direction."""
        return np.concatenate(
            [self.law.mean[None], self.law.mean + np.sqrt(self.law.largest) * np.eye(self.law.dimension)]
        )

    @cached_property
    def course(self) -> list[Gaussian]:
        return self.attention.gaussians(self.law, np.linspace(0, self.time, TIMES))

    # -- attention itself -----------------------------------------------------------------------------

    def by_quadrature(self) -> Claim:
        """Γ of the measure as it is, and of the Gaussian with its moments."""
        exact = self.attention.of_points(self.cloud.nodes, self.cloud.weights, self.points)
        formula = self.attention.of_gaussian(self.law, self.points)
        k = np.unravel_index(int(np.abs(exact - formula).argmax()), exact.shape)
        what = "Γ of the measure and V(m + ΣMx), where they differ most"
        atol = NEAR * float(np.abs(formula).max() + 1)
        witness = self._again(*map(int, k)) if abs(exact[k] - formula[k]) > atol else None
        return Identity(what, _float(exact[k]), _float(formula[k]), witness, atol=atol)

    def _again(self, i: int, entry: int) -> Witness:
        """Both at one point, in intervals."""

        def of_points(y: Any, weights: Any, x: Any, M: Any, V: Any) -> Any:
            scores = weights * jnp.exp(y @ (M @ x))
            return V @ (scores @ y) / jnp.sum(scores)

        def of_gaussian(mean: Any, covariance: Any, x: Any, M: Any, V: Any) -> Any:
            return V @ (mean + covariance @ (M @ x))

        x, by = self.points[i], (self.attention.M, self.attention.V)
        met = enclose_entry(of_points, self.cloud.nodes, self.cloud.weights, x, *by, entry=entry)
        told = enclose_entry(of_gaussian, self.law.mean, self.law.covariance, x, *by, entry=entry)
        return Witness({"x": tuple(map(float, x))}, met, told, "both at this point, in intervals rounded outward")

    def by_draws(self, rng: np.random.Generator) -> tuple[tuple[Claim, ...], Chart]:
        """A z-test of the formula, and the error of attention over n draws."""
        x = self.points[-1]
        y = self.law.draw(rng, SIZES[-1])
        along = rng.normal(size=self.law.dimension)
        spread = self.attention.residual_variance(self.law, x, along)
        found = mean(self.attention.residuals(self.law, y, x) @ along, variance=spread)
        truth, errors = self.attention.of_gaussian(self.law, x[None]), []
        for n in SIZES:
            draws = (self.law.draw(rng, n) for _ in range(REPEATS))
            gaps = [self.attention.of_points(z, np.full(n, 1 / n), x[None]) - truth for z in draws]
            errors.append(float(np.sqrt(np.mean([(gap**2).sum() for gap in gaps]))))
        zero = Identity(f"mean of e^⟨Mx, y⟩(Vy − Γ(x)) over {len(y):,} draws", found, Enclosure.exact(0))
        line = Series("1/√n", SIZES, errors[0] * np.sqrt(SIZES[0] / np.array(SIZES)), "reference")
        axes = Axis("draws n", "log"), Axis("|Γ_n(x) − Γ(x)|, root mean square", "log")
        series = (line, Series("measured", SIZES, errors))
        chart = Curves("attention over n draws tends to that of the measure", *axes, series)
        return (zero, *observed_order("|Γ_n − Γ|", 0.5, SIZES, errors, slack=0.15)), chart

    # -- flows ----------------------------------------------------------------------------------------

    def by_particles(self, rng: np.random.Generator) -> tuple[Claim, ...]:
        """The equation of the covariance, beside nodes of a quadrature and random particles that move."""
        strength = np.linalg.norm(self.attention.M, 2)
        k = max((k for k, law in enumerate(self.course) if law.largest * strength <= TAME), default=0)
        if not k:
            return ()
        until, last = self.time * k / (TIMES - 1), self.course[k]
        trace = float(np.trace(last.covariance))
        claims: list[Claim] = []
        if self.law.dimension <= 2:
            y, w = self.law.quadrature()
            found = np.trace(moments(self.attention.particles(y, w, until), w).covariance)
            what = f"trace of the covariance at t = {until:.4g} and of moving nodes"
            claims.append(Identity(what, _float(trace), _float(found), rtol=NEAR))
        values = []
        for n in CLOUDS:
            y, w = self.law.draw(rng, n), np.full(n, 1 / n)
            values.append(_float(np.trace(moments(self.attention.particles(y, w, until, 1e-5), w).covariance)))
        grown = last.largest / self.law.largest  # a relative error of the start grows at most so
        within = 5 * np.sqrt(2 / CLOUDS[-1]) * max(1.0, grown) * trace
        what = f"trace of the covariance of n random particles at t = {until:.4g}"
        return (*claims, Converges(what, _float(trace), tuple(values), tuple(map(float, CLOUDS)), within))

    def by_formula(self) -> tuple[Claim, float]:
        """One dimension, V = M = 1: the equation solved, and s₀/(1 − 2s₀t)."""
        first = self.law.largest
        one = Attention(np.eye(1), np.eye(1))
        t = min(self.time, 0.9 / (2 * first))
        solved = one.gaussians(Gaussian(np.zeros(1), first * np.eye(1)), np.array([0.0, t]))[-1].largest
        what = f"variance at t = {t:.4g} of the scalar equation and s₀/(1 − 2s₀t)"
        return Identity(what, _float(solved), _float(scalar(first, t))), solved

    def by_transport(self) -> tuple[AtMost, Chart]:
        r"""$W_2(\mu_t,\nu_t)\le W_2(\mu_0,\nu_0)e^{\int L}$ for a second Gaussian that starts near."""
        near = Gaussian(self.law.mean + 0.1 * np.sqrt(self.law.largest), NEIGHBOUR * self.law.covariance)
        times = np.linspace(0, self.time, TIMES)
        others = self.attention.gaussians(near, times)
        apart = np.array([wasserstein(a, b) for a, b in zip(self.course, others)])
        rates = np.array(list(stability_rates(self.attention, self.course, others)))
        # L grows with the covariances: its larger end value on each interval is on the safe side
        steps = np.maximum(rates[1:], rates[:-1]) * np.diff(times[: len(rates)])
        bound = apart[0] * np.exp(np.concatenate([[0.0], np.cumsum(steps)]))
        k = int((apart / bound)[1:].argmax()) + 1
        series = (Series("bound", times[: len(bound)], bound, "bound"), Series("W₂", times[: len(apart)], apart))
        chart = Curves(
            "two clouds drift apart no faster than the bound", Axis("time t"), Axis("W₂(μ, ν)", "log"), series
        )
        return AtMost("W₂(μ_t, ν_t)", _float(apart[k]), _float(bound[k])), chart

    def ellipses(self) -> Chart:
        """Where the density is e^(−½) of its largest, at five times; of one dimension, the deviation against time."""
        if self.law.dimension == 1:
            times = np.linspace(0, self.time, TIMES)[: len(self.course)]
            spread = [np.sqrt(law.largest) for law in self.course]
            return Curves(
                "the cloud spreads", Axis("time t"), Axis("standard deviation"), (Series("√s", times, spread),)
            )
        turn = np.linspace(0, 2 * np.pi, 73)
        circle = np.stack([np.cos(turn), np.sin(turn)], 1)
        series = []
        for k in np.linspace(0, len(self.course) - 1, 5).astype(int):
            law = self.course[k]
            edge = law.mean[:2] + circle @ np.linalg.cholesky(law.covariance[:2, :2]).T
            series.append(Series(f"t = {self.time * k / (TIMES - 1):.3g}", edge[:, 0], edge[:, 1]))
        return Curves("the cloud as an ellipse", Axis("x₁"), Axis("x₂"), tuple(series))


def _float(value: float) -> Enclosure:
    return Enclosure.equal(float(value)) if np.isfinite(value) else Enclosure()
