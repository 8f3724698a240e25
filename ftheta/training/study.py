"""The loop looked at as a function of its arguments: run twice, cut and resumed, not run at all."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import jax
import numpy as np

from ftheta.logic import AtMost, Axis, Curves, Enclosure, Identity, Series, UsageError, Witness

from .batches import Batches
from .fitting import fit
from .run import Fit

ROWS = 512  # of the data, at most
WORK = 2e10  # multiplications of one run, at most


@dataclass(frozen=True, eq=False)
class Study:
    """One run, and claims about others with the same arguments: how many numbers of theirs differ from its own."""

    run: Fit
    claims: tuple[Identity, ...]

    @property
    def agrees(self) -> bool:
        return all(claim.left.hi == 0 for claim in self.claims)


def study(net: Any, data: Any, how: dict[str, Any], steps: int, cuts: tuple[int, ...]) -> Study:
    """`how` are the arguments of `fit` but for `steps`; `cuts` are the steps after which it is cut and resumed."""
    whole, start = fit(net, data, **how, steps=steps), fit(net, data, **how, steps=0)
    unmoved = _differing(start.params, start._machine.model.params)
    claims = (
        Identity("parameters that zero steps change", Enclosure.exact(unmoved), Enclosure.exact(0)),
        _none("numbers that differ in a second run", (steps,), lambda k: apart(fit(net, data, **how, steps=k), whole)),
        _none(
            "numbers that differ after a cut and resuming from a file",
            cuts,
            lambda cut: apart(_cut(net, data, how, steps, cut), whole),
        ),
    )
    return Study(whole, claims)


def _cut(net: Any, data: Any, how: dict[str, Any], steps: int, cut: int) -> Fit:
    """The first part to a file; the rest from the file, as another process would. A refused file is no continuation."""
    with TemporaryDirectory() as folder:
        place = Path(folder) / "run.npz"
        first = fit(net, data, **how, steps=cut, checkpoint=place)
        try:
            return fit(net, data, **how, steps=steps, checkpoint=place, resume=True)
        except UsageError:
            return first


def _none(what: str, runs: tuple[int, ...], differing: Callable[[int], int]) -> Identity:
    """Seen at some runs only; where one differs it is made and counted once more."""
    found, zero = {k: differing(k) for k in runs}, Enclosure.exact(0)
    at, worst = max(found.items(), key=lambda pair: pair[1])
    again = (
        Witness({"step": float(at)}, Enclosure.exact(differing(at)), zero, "another run, compared") if worst else None
    )
    return Identity(what, Enclosure.measured(float(worst), samples=len(runs)), zero, again)


def apart(one: Fit, other: Fit) -> int:
    """How many numbers of parameters and history the two runs do not have in common, bit for bit."""
    return _differing((one.params, one.history.loss), (other.params, other.history.loss))


def _differing(one: Any, other: Any) -> int:
    pairs = list(zip(jax.tree.leaves(one), jax.tree.leaves(other)))
    return sum(int(np.count_nonzero(a != b)) if a.shape == b.shape else abs(a.size - b.size) for a, b in pairs)


def affordable(parameters: int, rows: int, steps: int) -> int:
    """Of so many steps, those that a run on this many rows can afford."""
    return min(steps, max(4, int(WORK / (6 * parameters * rows))))


def first_rows(data: Any, flat: bool, parameters: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """The first rows of the data and their targets, as numbers; none where there are no data or no targets."""
    if data is None or data.y is None:
        return np.zeros((0, 1)), np.zeros((0, 1))
    few = int(min(ROWS, max(16, 5e7 / parameters)))  # of a large network
    x, y = data.x[:few].astype(float), data.y[:few].astype(float)
    return x.reshape(len(x), -1) if flat else x, y.reshape(len(x), -1)


def natural_loss(y: np.ndarray, outputs: int) -> str | None:
    """Squared where there is a number an output, cross-entropy where there is a class a row."""
    if y[0].size == outputs:
        return "squared"
    whole = y[0].size == 1 and (y == np.floor(y)).all() and y.min() >= 0 and y.max() < outputs
    return "cross-entropy" if whole else None


@dataclass(frozen=True, eq=False)
class LeastSquares:
    r"""$\min_\theta\frac1n\|X\theta-Y\|^2$: its solution of least norm, and the curvature $\mu,L$ on the row space."""

    solution: np.ndarray
    loss: float
    mu: float
    smoothness: float

    @classmethod
    def of(cls, x: np.ndarray, y: np.ndarray) -> "LeastSquares":
        values = np.linalg.svd(x, compute_uv=False)
        seen = values[values > values[0] * max(x.shape) * np.finfo(float).eps] if values[0] > 0 else values[:1]
        solution = np.linalg.lstsq(x, y, rcond=None)[0]
        curvature = 2 * seen**2 / len(x)
        loss = float(np.mean(np.sum((x @ solution - y) ** 2, axis=1)))
        return cls(solution, loss, float(curvature[-1]), float(curvature[0]))

    def reached(self, run: Fit, tau: float) -> AtMost:
        r"""$\|\theta_K-\theta^*\|\le\max(|1-\tau\mu|,|1-\tau L|)^K\|\theta^*\|$ from $\theta_0=0$, and rounding."""
        factor = max(abs(1 - tau * self.mu), abs(1 - tau * self.smoothness))
        distance, size = (float(np.linalg.norm(v)) for v in (run.params - self.solution, self.solution))
        rounding = 1e-12 * size * self.smoothness / self.mu
        return AtMost("‖θ_K − θ*‖", Enclosure.equal(distance), Enclosure.equal(factor**run.steps * size + rounding))

    def numbers(self, run: Fit) -> dict[str, float]:
        return {"least squares loss": self.loss} | {
            f"θ {i + 1}": float(v) for i, v in enumerate(np.ravel(run.params)[:6])
        }


def linear(theta: Any, x: Any) -> Any:
    return x @ theta


def race(net: Any, data: Any, how: dict[str, Any], steps: int, rows: int, floor: float) -> Curves:
    """Loss above `floor` against the step: all rows, mini-batches, and another optimiser."""
    rule = how["optimiser"]
    other, step = ("adam", 0.05) if rule == "gd" else ("momentum", 0.01)
    runs = {
        f"{rule}, all rows": {},
        f"{rule}, {rows} row{'s' * (rows > 1)} a step": {"batch": Batches(rows)},
        f"{other}, all rows": {"optimiser": other, "step": step},
    }
    drawn = []
    for name, change in runs.items():
        seen = fit(net, data, **(how | change), steps=steps + 1, validation=data, evaluate_every=max(1, steps // 100))
        k, excess = seen.history.evaluated, seen.history.validation - floor
        shown = excess > 1e-14 * max(floor, excess[0], 1e-300)  # below it all is rounding
        drawn.append(Series(name, k[shown], excess[shown]))
    label = "loss above least squares" if floor else "loss over all rows"
    return Curves("loss along the training", Axis("step k"), Axis(label, "log"), tuple(drawn))
