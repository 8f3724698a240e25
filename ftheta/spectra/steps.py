r"""Gradient descent on a quadratic, mode by mode, and the step of a loss against its curvature.

On $F(\theta)=\frac12(\theta-\theta^*)^\top H(\theta-\theta^*)$ the error in an eigenvector of value $\lambda$ is
multiplied by $1-\tau\lambda$ in each step.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from ftheta.certify.norms import frobenius_norm, spectral_norm
from ftheta.estimates import largest, worst_ratio
from ftheta.logic import AtMost, Axis, Claim, Curves, Enclosure, Evidence, Identity, Series, Witness

from .lanczos import Extremes, extremes
from .objective import Objective
from .trajectory import along_training

FAR = 1e100  # beyond it a path is not followed
SWEEP = np.geomspace(0.1, 12, 17)  # τλ_max of a sweep


@dataclass(frozen=True, eq=False)
class Quadratic:
    """The Hessian `H` of a quadratic and the error θ₀ − θ* at the start."""

    H: np.ndarray
    error: np.ndarray

    @cached_property
    def modes(self) -> tuple[np.ndarray, np.ndarray]:
        values, vectors = np.linalg.eigh(self.H)
        return values, vectors.T @ self.error

    @property
    def mu(self) -> float:
        return float(self.modes[0][0])

    @property
    def L(self) -> float:
        return float(self.modes[0][-1])

    @property
    def best(self) -> float:
        return 2 / (self.mu + self.L)

    def factor(self, tau: float) -> float:
        r"""$\max_\lambda|1-\tau\lambda|$."""
        return float(np.abs(1 - tau * self.modes[0]).max())

    def path(self, tau: float | None, steps: int) -> np.ndarray:
        r"""Errors $e_0,\dots,e_K$, by products with $H$; without a step the exact line search."""
        errors = [self.error]
        for _ in range(steps):
            g = self.H @ errors[-1]
            bend = float(g @ self.H @ g)
            t = tau if tau is not None else float(g @ g) / bend if bend > 0 else 0.0
            errors.append(errors[-1] - t * g)
            if not np.abs(errors[-1]).max() < FAR:
                break
        return np.array(errors)

    def step_bound(self, tau: float) -> Enclosure:
        r"""$\|I-\tau H\|_2\|e_0\|$: how far one step can leave the iterate, rounded outward."""
        n = len(self.H)
        rounding = 4 * n * np.finfo(float).eps * (1 + tau * float(np.abs(self.H).max()))
        norm = spectral_norm(np.eye(n) - tau * self.H) + Enclosure.between(-rounding, rounding)
        return norm * frobenius_norm(self.error[None])

    def claims(self, tau: float, steps: int, path: np.ndarray, first: Enclosure | None = None) -> tuple[Claim, ...]:
        """`path` are errors that another program found, `first` the length of the second of them, rounded outward."""
        seen, factor = self._fitted(tau, path), self.factor(tau)
        norms = np.linalg.norm(path, axis=1)
        last = len(path) - 1
        how = "the first step, in intervals rounded outward"
        witness = None if first is None else Witness({"K": 1.0}, first, self.step_bound(tau), how)
        found: list[Claim] = [
            AtMost(
                "‖θ_K − θ*‖ against factor^K ‖θ₀ − θ*‖",
                _equal(norms[-1]),
                _equal(factor**last * norms[0]),
                witness=witness,
                atol=1e-12 * float(norms[0]),
            ),
            AtMost("factor at 2/(μ+L), the best", _equal(self.factor(self.best)), _equal(factor)),
        ]
        if seen is not None:
            found.insert(0, Identity("fitted factor a step and max|1 − τλ|", _equal(seen), _equal(factor), rtol=1e-6))
        kantorovich = ((self.L - self.mu) / (self.L + self.mu)) ** 2
        ratios = Quadratic(self.H, self._worst_start()).energy_ratios(min(steps, 30))
        found.append(
            Identity("exact line search from its worst start: factor of F", _equal(ratios[0]), _equal(kantorovich))
        )
        most = _equal(largest(self.energy_ratios(min(steps, 60))))
        found.append(AtMost("exact line search: largest factor of F", most, _equal(kantorovich), rtol=1e-7, atol=1e-12))
        return tuple(found)

    def energy_ratios(self, steps: int) -> np.ndarray:
        """F of an iterate over F of the one before, by exact line search; 10⁻²⁰ of the first are granted."""
        path = self.path(None, steps)
        energy = np.einsum("ki,ij,kj->k", path, self.H, path)
        room = 1e-20 * energy[0] * (energy[0] > 0)
        return np.array([worst_ratio(after, before, room) for before, after in pairwise(energy)])

    def _worst_start(self) -> np.ndarray:
        """Kantorovich's inequality is attained at this sum of the two extreme eigenvectors."""
        values, vectors = np.linalg.eigh(self.H)
        return vectors[:, 0] / values[0] + vectors[:, -1] / values[-1]

    def _fitted(self, tau: float, path: np.ndarray) -> float | None:
        """The factor a step of the mode that decays least, from the part of the path that is above rounding."""
        values, vectors = np.linalg.eigh(self.H)
        worst = int(np.argmax(np.abs(1 - tau * values)))
        amplitude = np.abs(path @ vectors[:, worst])
        kept = amplitude > 1e-9 * amplitude[0]
        last = int(np.argmin(kept)) - 1 if not kept.all() else len(kept) - 1
        return float((amplitude[last] / amplitude[0]) ** (1 / last)) if last > 0 and amplitude[0] > 0 else None

    def panels(self, tau: float) -> tuple[Curves, ...]:
        """A small, the best, a large step and the one asked for, on level sets in the plane of the extreme modes."""
        regimes = [("small step", 0.25 / self.L), ("best step", self.best), ("large step", 1.95 / self.L)]
        if not any(abs(tau / t - 1) < 0.02 for _, t in regimes):
            regimes.append(("this step", tau))
        return tuple(self._panel(f"{name}: τL = {t * self.L:.3g}", t) for name, t in regimes)

    def _panel(self, title: str, tau: float) -> Curves:
        k, turn = np.arange(26), np.linspace(0, 2 * np.pi, 121)
        a, b = np.cos(0.6) / np.sqrt(self.mu), np.sin(0.6) / np.sqrt(self.L)  # on the outer level
        x, y = a * (1 - tau * self.mu) ** k, b * (1 - tau * self.L) ** k
        x, y = x[np.abs(y) < 3 * b], y[np.abs(y) < 3 * b]
        # the curves of one series are set apart by points that cannot be drawn
        rings = np.sqrt([1, 0.5, 0.2, 0.05, 0.005])
        ring_x = np.concatenate([[*(r / np.sqrt(self.mu) * np.cos(turn)), np.inf] for r in rings])
        ring_y = np.concatenate([[*(r / np.sqrt(self.L) * np.sin(turn)), np.inf] for r in rings])
        series = (
            Series("levels of F", ring_x, ring_y, "reference"),
            Series("descent", x, y),
            Series("θ_k", x, y, "measured", "points"),
        )
        return Curves(title, Axis("along the flattest direction"), Axis("along the steepest"), series)

    def sweep(self, tau: float) -> Curves:
        t = np.linspace(0, 2.4, 121)
        curve = [self.factor(v / self.L) for v in t]
        series = (
            Series("max|1 − τλ|", t, curve),
            Series("diverges above 1", [0, 2.4], [1, 1], "bound"),
            Series("this step", [tau * self.L], [self.factor(tau)], "other", "points"),
        )
        return Curves("factor a step against the step", Axis("τL"), Axis("factor"), series)


@dataclass(frozen=True, eq=False)
class Sweep:
    r"""A loss trained by gradient descent with steps below and above $2/\lambda_{\max}$ of its Hessian at the start."""

    ends: Extremes
    scales: np.ndarray
    first: float
    losses: np.ndarray
    modes: np.ndarray

    @property
    def top(self) -> float:
        return self.ends.range[1]

    def claims(self) -> tuple[Claim, ...]:
        r"""The top mode of the quadratic model: $\|v-\tau Hv\|=|1-\tau\lambda_{\max}|$ up to the residual."""
        slack = float(self.ends.largest.residuals[0])
        found = []
        for scale, seen in zip(self.scales[::4], self.modes[::4]):
            tau, told = scale / self.top, abs(1 - scale)
            name = f"quadratic model, τλ = {scale:.3g}: factor of the top mode"
            found.append(Identity(name, _equal(seen), _equal(told), atol=tau * slack + 1e-9))
        return tuple(found)

    @property
    def largest_good(self) -> float:
        """The largest τλ_max of the sweep after which the loss had fallen."""
        good = self.scales[np.isfinite(self.losses) & (self.losses < self.first)]
        return float(good.max(initial=0.0))

    @property
    def picture(self) -> Curves:
        shown = np.isfinite(self.losses) & (self.losses < 1e6 * self.first)
        seen = np.append(self.losses[shown], self.first)
        series = (
            Series("loss after the run", self.scales[shown], self.losses[shown]),
            Series("loss at the start", [self.scales[0], self.scales[-1]], [self.first] * 2, "reference"),
            Series("edge of stability", [2, 2], [float(seen.min()), float(seen.max())], "bound"),
        )
        return Curves(
            "learning rates below and above the edge", Axis("τλ_max at the start", "log"), Axis("loss", "log"), series
        )


def swept(objective: Objective, steps: int, rng: np.random.Generator) -> Sweep:
    """Descend from the parameters of the network with each step of the sweep."""
    ends = extremes(objective.hessian(), 1, "largest", tol=1e-6, products=200, rng=rng)
    top, vector = ends.range[1], ends.largest.vectors[:, 0]
    image = objective.hessian().product(vector)
    losses = np.array([_trained(objective, scale / top, steps) for scale in SWEEP])
    modes = np.array([np.linalg.norm(vector - scale / top * image) for scale in SWEEP])
    return Sweep(ends, SWEEP, objective.value(), losses, modes)


def _trained(objective: Objective, tau: float, steps: int) -> float:
    row = objective.start
    for _ in range(steps):
        row = row - tau * objective.gradient(row)
        if not np.abs(row).max() < FAR:
            return float("inf")
    return objective.value(row)


def evidence_of_sweep(objective: Objective, step: float, steps: int, rng: np.random.Generator) -> Evidence:
    r"""A sweep of learning rates, and a run at $\tau\lambda_{\max}=$ `step` followed for so many steps."""
    found = swept(objective, steps, rng)
    run = along_training(objective, "gd", step=step / found.top, steps=steps, looks=9)
    numbers = {"λ_max": found.top, "largest stable step": 2 / found.top, "τλ_max at the start": run.edge[0]}
    numbers |= {"τλ_max at the end": run.edge[-1], "largest τλ_max that lowered the loss": found.largest_good}
    told = f"λ_max = {found.top:.5g}: steps up to {2 / found.top:.4g} are stable here; at τ = {step / found.top:.4g}"
    told += f" τλ_max goes from {run.edge[0]:.3g} to {run.edge[-1]:.3g} in {run.at[-1]} steps (edge of stability: 2)"
    return Evidence(found.claims(), (found.picture, run.picture), numbers, summary=told)


def _equal(value: float) -> Enclosure:
    return Enclosure.equal(float(value)) if np.isfinite(value) else Enclosure()
