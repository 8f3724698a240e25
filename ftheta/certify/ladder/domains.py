"""Where a constant is asked for: all of space, or a bounded convex set of inputs."""

from dataclasses import dataclass
from fractions import Fraction
from math import inf
from typing import Any

import numpy as np

from ftheta.graph.domains.linear.sets import BallSet, InputSet, PolytopeSet
from ftheta.logic.errors import UsageError
from ftheta.shapes import Bool, Float

from ..input_regions import NORMS, Ball, Polytope, Region, read_region


@dataclass(frozen=True, eq=False)
class Domain:
    """A convex set of inputs; without a `region`, all of space. `says` describes it."""

    region: InputSet | None
    says: str

    @property
    def is_space(self) -> bool:
        return self.region is None

    @property
    def hull(self) -> tuple[Float[np.ndarray, "d"], Float[np.ndarray, "d"]] | None:
        """The smallest box that holds it, flat."""
        if self.region is None:
            return None
        return self.region.hull.lo[0].ravel(), self.region.hull.hi[0].ravel()

    def project(self, x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
        """Points (rows) moved into the set, as far as floats say; for a polytope, into its box."""
        if self.region is None:
            return x
        lo, hi = self.hull or (x, x)
        if isinstance(self.region, BallSet):
            centre = self.region.centre[0].ravel()
            step = x - centre
            size = np.linalg.norm(step, ord=self.region.norm, axis=1, keepdims=True)
            return centre + step * np.minimum(
                1.0, float(self.region.radius[0]) * (1 - 1e-12) / np.maximum(size, 1e-300)
            )
        return np.clip(x, lo, hi)

    def make_room(
        self, x: Float[np.ndarray, "d"], steps: Float[np.ndarray, "n d"]
    ) -> Float[np.ndarray, "n d"]:
        """For each step (row) a point near `x` from which the step leads to points of the set both ways, where there is
        one; a polytope is taken for its box."""
        if self.region is None:
            return np.broadcast_to(x, steps.shape)
        if isinstance(self.region, BallSet):
            centre = self.region.centre[0].ravel()
            radius = max(float(self.region.radius[0]), 1e-300)
            share = np.linalg.norm(steps, ord=self.region.norm, axis=1, keepdims=True) / radius
            return centre + (x - centre) * np.maximum(0.0, 1 - share)
        lo, hi = self.hull or (x, x)
        room = np.minimum(np.abs(steps), (hi - lo) / 2)
        return np.clip(x, lo + room, hi - room)

    def holds(self, x: Float[np.ndarray, "n d"]) -> Bool[np.ndarray, "n"]:
        """Which points (rows) lie in it, as far as floats say."""
        if not isinstance(self.region, PolytopeSet):
            return np.ones(len(x), bool)
        rows = self.region.rows.reshape(len(self.region.rows), -1)
        return np.asarray((x @ rows.T <= self.region.limits).all(1))

    def contains(self, x: Float[np.ndarray, "d"]) -> bool:
        """Whether one point lies in it, in rationals."""
        if self.region is None:
            return bool(np.isfinite(x).all())
        lo, hi = self.hull or (x, x)
        if not (np.isfinite(x).all() and (lo <= x).all() and (x <= hi).all()):
            return False
        point = [Fraction(v) for v in x.tolist()]
        if isinstance(self.region, BallSet):
            steps = [
                abs(p - Fraction(c)) for p, c in zip(point, self.region.centre[0].ravel().tolist())
            ]
            radius = Fraction(float(self.region.radius[0]))
            if self.region.norm == 1:
                return sum(steps, Fraction(0)) <= radius
            return sum((s * s for s in steps), Fraction(0)) <= radius**2
        if isinstance(self.region, PolytopeSet):
            rows = self.region.rows.reshape(len(self.region.rows), -1)
            sums = [
                sum((Fraction(a) * p for a, p in zip(row, point)), Fraction(0))
                for row in rows.tolist()
            ]
            return all(s <= Fraction(limit) for s, limit in zip(sums, self.region.limits.tolist()))
        return True


def read_domain(domain: Region | None, shape: tuple[int, ...] | None) -> Domain:
    """The set of inputs that a user has written; a box of two numbers is the same for every input."""
    if domain is None:
        return Domain(None, "all of space")
    if isinstance(domain, (tuple, list)) and len(domain) == 2 and shape is not None:
        domain = tuple(_spread(end, shape) for end in domain)  # type: ignore[assignment]
    region, is_batch = read_region(domain, shape)
    if is_batch:
        raise UsageError(
            "A Lipschitz constant is asked for on one set of inputs.",
            got=f"a batch of {len(region.hull.lo)}",
            remedy="call it once per set",
        )
    if not (np.isfinite(region.hull.lo).all() and np.isfinite(region.hull.hi).all()):
        raise UsageError(
            "A local Lipschitz constant needs a bounded set of inputs.",
            where="domain",
            got="an infinite end",
            remedy="give finite ends, or leave the domain out for the constant over all of space",
        )
    return Domain(region, _describe(domain, region))


def _spread(end: Any, shape: tuple[int, ...]) -> Any:
    return (
        np.full(shape, end, np.float64) if np.ndim(end) == 0 and not isinstance(end, str) else end
    )


def _describe(domain: Any, region: InputSet) -> str:
    if isinstance(domain, Ball):
        name = {1: "ℓ1", 2: "ℓ2", inf: "ℓ∞"}[domain.norm]
        return f"a ball in {name} of radius {float(np.ravel(domain.radius)[0]):.6g}"
    lo, hi = region.hull.lo, region.hull.hi
    kind = "a polytope in a box" if isinstance(domain, Polytope) else "a box"
    if np.ptp(lo) == 0 and np.ptp(hi) == 0:
        return f"{kind}, [{float(lo.ravel()[0]):.6g}, {float(hi.ravel()[0]):.6g}] in each of {lo.size} inputs"
    width = float(np.max(hi - lo))
    return f"{kind} of {lo.size} inputs, up to {width:.6g} wide"


def read_norm(norm: Any) -> float:
    """1, 2 or ∞."""
    words = {"inf": inf, "infinity": inf, "∞": inf, "1": 1.0, "2": 2.0}
    found = words.get(norm, norm) if isinstance(norm, str) else norm
    if found not in NORMS:
        raise UsageError(
            "The norm is 1, 2 or infinity.",
            where="norm",
            got=norm,
            remedy='norm=1, norm=2 or norm="inf"',
        )
    return float(found)
