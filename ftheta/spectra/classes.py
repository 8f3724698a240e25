r"""Function classes by their inequalities: what $(\mu,L)$ says of pairs of points, held against such pairs."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.graph.compiling import call_compiled
from ftheta.graph.enclosing import enclose_number
from ftheta.logic import AtMost, Axis, Basis, Claim, Curves, Enclosure, Evidence, Series, Witness

from .compact import NetworkOnBall, into_ball
from .lanczos import extremes
from .objective import Objective
from .trajectory import along_training


def half_tanh_squared(theta: Any) -> Any:
    r"""$\frac12\sum\tanh^2\theta_i$: 1-smooth, not convex."""
    return jnp.sum(jnp.tanh(theta) ** 2) / 2


def tanh_curvature() -> tuple[Enclosure, Enclosure]:
    r"""The range of $F''=(1-s)(1-3s)$, $s=\tanh^2a\in[0,1)$: from $-\frac13$ at $s=\frac23$ to 1 at $s=0$."""
    at = lambda s: (1 - s) * (1 - 3 * s)
    return Enclosure.exact(at(Fraction(2, 3))), Enclosure.exact(at(Fraction(0)))


def logistic_constants(x: np.ndarray, ridge: float) -> tuple[float, float]:
    r"""$(\mu,L)=\big(2\gamma,\ \frac{\lambda_{\max}(X^\top X)}{4n}+2\gamma\big)$ of ridge logistic regression."""
    return 2 * ridge, float(np.linalg.norm(x, 2) ** 2 / (4 * len(x)) + 2 * ridge)


@dataclass(frozen=True, eq=False)
class Pairs:
    """A function at pairs of points: values and gradients at both ends."""

    F: Callable[[Any], Any]
    ends: tuple[np.ndarray, np.ndarray]
    values: tuple[np.ndarray, np.ndarray]
    slopes: tuple[np.ndarray, np.ndarray]

    @classmethod
    def drawn(cls, F: Callable[[Any], Any], centre: np.ndarray, radius: float, n: int, rng: Any) -> "Pairs":
        """Pairs around the centre at all distances up to the radius; those of a function on a ball stay in it."""
        d = centre.size
        inside = (lambda v: into_ball(v, F.radius)) if isinstance(F, NetworkOnBall) else lambda v: v
        x = inside(centre + radius * rng.normal(size=(n, d)) / np.sqrt(d))
        far = radius * 10.0 ** rng.uniform(-3, 0, size=(n, 1))
        y = inside(x + far * rng.normal(size=(n, d)) / np.sqrt(d))
        both = jax.vmap(jax.value_and_grad(F))
        (a, g), (b, h) = call_compiled(both, x), call_compiled(both, y)
        return cls(F, (x, y), (np.asarray(a), np.asarray(b)), (np.asarray(g), np.asarray(h)))

    def __len__(self) -> int:
        return len(self.values[0])

    @property
    def steepness(self) -> np.ndarray:
        """‖∇F(x) − ∇F(y)‖ / ‖x − y‖: each is a lower bound of L."""
        return np.linalg.norm(self.slopes[1] - self.slopes[0], axis=1) / np.linalg.norm(
            self.ends[1] - self.ends[0], axis=1
        )

    @property
    def monotony(self) -> np.ndarray:
        """⟨∇F(y) − ∇F(x), y − x⟩ / ‖y − x‖²: each is an upper bound of μ."""
        step = self.ends[1] - self.ends[0]
        return ((self.slopes[1] - self.slopes[0]) * step).sum(1) / (step**2).sum(1)

    @property
    def lipschitz(self) -> float:
        return float(np.linalg.norm(self.slopes[0], axis=1).max())

    def sides(self, mu: float, L: float) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Both sides of every inequality that (μ, L) implies, pair by pair; co-coercivity needs convexity."""
        (x, y), (a, b), (g, h) = self.ends, self.values, self.slopes
        step, turn = y - x, h - g
        square, bent, linear = (step**2).sum(1), (turn**2).sum(1), a + (g * step).sum(1)
        found = {
            "L-smooth: ‖∇F(y) − ∇F(x)‖ ≤ L‖y − x‖": (bent**0.5, L * square**0.5),
            "descent lemma: F(y) ≤ F(x) + ⟨∇F(x), y − x⟩ + L/2‖y − x‖²": (b, linear + L / 2 * square),
            "μ-convex: F(x) + ⟨∇F(x), y − x⟩ + μ/2‖y − x‖² ≤ F(y)": (linear + mu / 2 * square, b),
        }
        if mu >= 0:
            inner = (turn * step).sum(1)
            found["co-coercive: ‖∇F(y) − ∇F(x)‖²/L ≤ ⟨∇F(y) − ∇F(x), y − x⟩"] = (bent / L, inner)
        if mu < L:
            gap = ((h - g - mu * step) ** 2).sum(1) / (2 * (L - mu))
            found["interpolation"] = (linear + mu / 2 * square + gap, b)
        return found

    def claims(self, mu: float, L: float) -> tuple[Claim, ...]:
        """At each inequality the pair that comes nearest to failing, or fails."""
        found = []
        for name, (left, right) in self.sides(mu, L).items():
            size = np.abs(left) + np.abs(right) + np.abs(self.values[0]) + np.abs(self.values[1])
            k = int(np.argmax(np.nan_to_num((left - right) / np.maximum(size, 1e-300), nan=np.inf)))
            one, other = (_measured(float(side[k]), len(self)) for side in (left, right))
            again = self._again(name, k, mu, L) if left[k] > right[k] else None
            found.append(AtMost(name, one, other, witness=again, atol=1e-12 * float(size[k])))
        return (*found, *(self.F.claims(np.concatenate(self.slopes)) if isinstance(self.F, NetworkOnBall) else ()))

    def _again(self, name: str, k: int, mu: float, L: float) -> Witness:
        """The same pair, alone, in intervals."""

        def side(x: Any, y: Any, which: int) -> Any:
            values, slopes = zip(*(jax.value_and_grad(self.F)(end) for end in (x, y)))
            a, b, g, h = (part[None] for part in (*values, *slopes))
            return Pairs(self.F, (x[None], y[None]), (a, b), (g, h)).sides(mu, L)[name][which][0]

        x, y = (end[k] for end in self.ends)
        left, right = (enclose_number(lambda x, y, i=i: side(x, y, i), x, y) for i in (0, 1))
        at = {"x": tuple(x.tolist()[:8]), "y": tuple(y.tolist()[:8])}
        return Witness(at, left, right, "this pair alone, in intervals rounded outward")

    def numbers(self) -> dict[str, Enclosure]:
        """Falsifiers, not certificates: pairs bound L and M from below and μ from above."""
        n = len(self)
        least = float(self.monotony.min())
        closed = {"M": Enclosure.equal(self.F.constants[0])} if isinstance(self.F, NetworkOnBall) else {}
        return closed | {
            "L is at least": Enclosure.at_least(float(self.steepness.max()), samples=n),
            "μ is at most": -Enclosure.at_least(-least, samples=n),
            "M is at least": Enclosure.at_least(self.lipschitz, samples=n),
        }


def _measured(value: float, samples: int) -> Enclosure:
    """A value met among so many; nothing is known of one that is no number."""
    return (
        Enclosure(basis=Basis.SAMPLED, samples=samples)
        if np.isnan(value)
        else Enclosure.measured(value, samples=samples)
    )


def envelopes(F: Callable[[Any], Any], at: np.ndarray, along: np.ndarray, mu: float, L: float, reach: float) -> Curves:
    """A section of F with the parabolas of curvature L above and μ below that touch it at a point."""
    reach = min(reach, F.radius - float(np.linalg.norm(at))) if isinstance(F, NetworkOnBall) else reach
    t = np.linspace(-reach, reach, 161)
    unit = along / np.linalg.norm(along)
    section = np.asarray(call_compiled(jax.vmap(lambda s: F(at + s * unit)), t))
    value, slope = float(F(at)), float(np.asarray(jax.grad(F)(at)) @ unit)
    tangent = value + slope * t
    series = (
        Series("upper parabola, L", t, tangent + L / 2 * t**2, "bound"),
        Series("F", t, section),
        Series("lower parabola, μ", t, tangent + mu / 2 * t**2, "bound"),
        Series("tangent", t, tangent, "reference"),
    )
    return Curves("quadratic envelopes on a section", Axis("distance from the point"), Axis("F"), series)


def ridge_logistic(rng: np.random.Generator, dimension: int, ridge: float = 0.05) -> tuple[Any, float, float]:
    """Logistic regression on 40 random rows: the function, μ and L."""
    x, y = rng.normal(size=(40, dimension)), rng.choice([-1.0, 1.0], 40)
    F = lambda t: jnp.mean(jax.nn.softplus(-y * (x @ t))) + ridge * jnp.sum(t**2)
    return F, *logistic_constants(x, ridge)


def evidence_along_training(objective: Objective, rng: np.random.Generator, steps: int = 50) -> Evidence:
    r"""The constants of a loss along a descent: its gradient's steepness between looks, and $\|\nabla^2\|$ at them."""
    ends = extremes(objective.hessian(), 1, "both", tol=1e-3, rng=rng)
    run = along_training(objective, "gd", step=1 / max(ends.range[1], 1e-300), steps=steps, looks=7)
    norms = [extremes(objective.hessian(row), 1, "both", tol=1e-3, rng=rng).range for row in run.rows]
    largest, least = max(max(map(abs, r)) for r in norms), min(r[0] for r in norms)
    n = len(run.at)
    steep = Enclosure.measured(float(run.lipschitz.max()), samples=n)
    slopes = Series("gradient Lipschitz between looks", run.at[1:], run.lipschitz, "measured", "points")
    tops = Series("largest |eigenvalue|", run.at, [max(map(abs, r)) for r in norms], "other")
    lows = Series("lowest curvature", run.at, [r[0] for r in norms], "other")
    return Evidence(
        (AtMost("steepness of ∇F between looks, against max|λ|", steep, Enclosure.at_least(largest, samples=n)),),
        (Curves("curvature along the training", Axis("step k"), Axis("eigenvalue", "symlog"), (tops, slopes, lows)),),
        {"L is at least": largest, "μ is at most": least, "M is at least": float(run.gradient.max())},
        summary=f"along {run.at[-1]} steps the curvature lies in [{least:.4g}, {largest:.4g}]: L ≥ {largest:.4g}, "
        + ("not convex" if least < 0 else "no negative curvature met"),
    )
