r"""What $(\mu,L)$ says of pairs of points, held against such pairs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from ftheta.graph.compiling import call_compiled
from ftheta.graph.enclosing import enclose_number
from ftheta.logic import Enclosure, Witness
from ftheta.spectra.compact import NetworkOnBall, into_ball

SMOOTH = "smooth: ‖∇F(y) − ∇F(x)‖ ≤ max(L, −μ)‖y − x‖"
DESCENT = "descent lemma: F(y) ≤ F(x) + ⟨∇F(x), y − x⟩ + L/2‖y − x‖²"
CONVEX = "μ-convex: F(x) + ⟨∇F(x), y − x⟩ + μ/2‖y − x‖² ≤ F(y)"
COERCIVE = "co-coercive: ‖∇F(y) − ∇F(x)‖²/L ≤ ⟨∇F(y) − ∇F(x), y − x⟩"
INTERPOLATION = "interpolation"
BY = {SMOOTH: "μL", DESCENT: "L", CONVEX: "μ", COERCIVE: "μL", INTERPOLATION: "μL"}
"""The constants by which each inequality holds."""


@dataclass(frozen=True, eq=False)
class Pairs:
    """A function at pairs of points: values and gradients at both ends."""

    F: Callable[[Any], Any]
    ends: tuple[np.ndarray, np.ndarray]
    values: tuple[np.ndarray, np.ndarray]
    slopes: tuple[np.ndarray, np.ndarray]

    @classmethod
    def draw(
        cls, F: Callable[[Any], Any], centre: np.ndarray, radius: float, n: int, rng: Any
    ) -> "Pairs":
        """Pairs around the centre at all distances up to the radius; those of a function on a ball stay in it."""
        d = centre.size
        inside = (lambda v: into_ball(v, F.radius)) if isinstance(F, NetworkOnBall) else lambda v: v
        x = inside(centre + radius * rng.normal(size=(n, d)) / np.sqrt(d))
        far = radius * 10.0 ** rng.uniform(-3, 0, size=(n, 1))
        y = inside(x + far * rng.normal(size=(n, d)) / np.sqrt(d))
        both = jax.vmap(jax.value_and_grad(F))
        (a, g) = call_compiled(both, x)
        (b, h) = call_compiled(both, y)
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
        """The largest ‖∇F‖ met: a lower bound of M."""
        return float(np.linalg.norm(self.slopes[0], axis=1).max())

    def sides(self, mu: float, L: float) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Both sides of every inequality that (μ, L) implies, pair by pair; co-coercivity needs convexity."""
        (x, y) = self.ends
        (a, b) = self.values
        (g, h) = self.slopes
        step = y - x
        turn = h - g
        square = (step**2).sum(1)
        bent = (turn**2).sum(1)
        linear = a + (g * step).sum(1)
        found = {
            SMOOTH: (bent**0.5, max(L, -mu) * square**0.5),
            DESCENT: (b, linear + L / 2 * square),
            CONVEX: (linear + mu / 2 * square, b),
        }
        if mu >= 0 and L > 0:
            inner = (turn * step).sum(1)
            found[COERCIVE] = (bent / L, inner)
        if mu < L:
            gap = ((h - g - mu * step) ** 2).sum(1) / (2 * (L - mu))
            found[INTERPOLATION] = (linear + mu / 2 * square + gap, b)
        return found

    def enclose(self, name: str, k: int, mu: float, L: float) -> Witness:
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
        closed = (
            {"M": Enclosure.equal(self.F.constants[0])} if isinstance(self.F, NetworkOnBall) else {}
        )
        return closed | {
            "L is at least": Enclosure.at_least(float(self.steepness.max()), samples=n),
            "μ is at most": -Enclosure.at_least(-least, samples=n),
            "M is at least": Enclosure.at_least(self.lipschitz, samples=n),
        }
