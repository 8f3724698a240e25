"""`approximate`: a network for a function, with its certificate."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

import ftheta.approximation.constructions as c
from ftheta.estimates.means import CONFIDENCE
from ftheta.logic.errors import SubjectError, UsageError
from ftheta.networks import ACTIVATIONS
from ftheta.networks import activation as activation_named
from ftheta.shapes import Float

from .certificate import AT_ONCE, Certificate, certify
from .chain import Chained, monomial_networks
from .enclosed import Enclosed
from .floors import polynomial_floor
from .goal import Goal, goal_of, whole
from .mean_square import mean_square_certificate
from .result import Approximation, Attempt

METHODS: dict[str, c.Method] = {
    "cpa": c.Method(c.interpolation, ("relu",), 3, "piecewise-affine interpolation"),
    "greedy": c.Method(c.greedy, c.ANY, None, "greedy choice of ridges, least squares"),
    "random": c.Method(c.random_features, c.ANY, None, "random ridges, least squares"),
    "frank-wolfe": c.Method(c.frank_wolfe_steps, ("sigmoid",), None, "Frank–Wolfe in the hull of steps"),
    "staircase": c.Method(c.steps, c.SIGMOIDAL, 1, "a staircase of steep sigmoids"),
    "trained": c.Method(c.train_layer, c.ANY, None, "one hidden layer trained by Adam"),
    "barron": c.Method(c.barron_sampling, ("sigmoid",), 2, "Barron's sampling of the spectrum"),
    "bernstein": c.Method(monomial_networks, ("tanh", "sigmoid", "softplus", "arctan", "gelu", "silu"), 1,
                          "Bernstein's polynomial by difference quotients"),
}  # fmt: skip
FIRST = ("cpa", "greedy", "random")  # the rest is tried when none of these gets there
MULTIPLICATIONS = 60_000_000  # of one certificate: cells times neurons
LOOK = 2000  # points of a first look at a mean square
MOST_DRAWS = 400_000  # of one estimate of a mean square
DRAWN = 200_000_000  # neurons evaluated for one estimate, at most


def approximate(
    f: Any,
    domain: Any = None,
    eps: float = 0.01,
    *,
    norm: str = "sup",
    method: str = "auto",
    activation: str | None = None,
    neurons: int = 2048,
    cells: int = 200_000,
    seconds: float = 60.0,
    seed: int = 0,
) -> Approximation:
    r"""A network $g$ with a proved bound of $\sup|f-g|$ over a box, at most `eps` if the budget allows.

    Across jumps, and in many variables, no such proof is to be had: with `norm="L2"` the error is the root mean square
    over the box. In few variables it is proved too, on cells; in many it has a confidence interval from points drawn
    within proved bounds of $|f-g|$; where no such bound is small enough, it is measured, and said to be no more.

    Parameters
    ----------
    f
        A function in jax.numpy of one point (a number for $d=1$, an array `(d,)` above), an expression such as
        `"sin(6*x) + x"`, or a `Target`.
    domain
        The box `(lo, hi)`: two numbers, or two lists of d numbers.
    eps
        The error wanted.
    norm
        "sup", proved; or "L2", the root mean square of $f-g$ over the box: `error.basis` and `how` say how it is known.
    method
        One of `METHODS`, or "auto": the network with the fewest neurons among those that get there.
    activation
        Of the hidden layers; each construction has its own if not said.
    neurons, cells, seconds
        The budget: hidden neurons of a network, cells of a certificate, time. What is best when it is spent is kept.
    seed
        Of everything drawn at random.
    """
    goal = goal_of(f, domain)
    wanted = whole(eps, "eps")
    if norm.lower() not in SEARCHES:
        raise UsageError("Unknown norm.", got=norm, remedy="choose sup or L2")
    _ensure_within_reach(goal, wanted, activation, jumps=norm.lower() == "l2")
    search = SEARCHES[norm.lower()](
        goal,
        wanted,
        int(whole(neurons, "neurons")),
        int(whole(cells, "cells")),
        time.perf_counter(),
    )
    names = _methods(method, activation, goal)
    for name in names:
        if search.spent(whole(seconds, "seconds")) or (search.has_reached and name not in FIRST):
            break
        search.attempt(name, activation or METHODS[name].activations[0], seed, seconds)
    return search.result()


def _methods(method: str, activation: str | None, goal: Goal) -> Sequence[str]:
    if method != "auto" and method not in METHODS:
        raise UsageError("Unknown method.", got=method, remedy=f"choose auto, {', '.join(METHODS)}")
    names = list(METHODS) if method == "auto" else [method]
    names = [n for n in names if _serves(n, goal)]
    if not names:
        raise UsageError(
            f"This construction is for at most {METHODS[method].dimensions} variables.",
            got=f"{method} in dimension {goal.dimension}",
            remedy="take greedy, frank-wolfe, random or trained" + SPECTRUM * (method == "barron"),
        )
    if activation is not None:
        word = activation_named(activation).name
        fitting = [n for n in names if word in METHODS[n].activations]
        if not fitting:
            known = METHODS[names[0]].activations
            raise UsageError(
                "The construction does not work with this activation.",
                got=f"{method} with {word}",
                remedy=f"it takes {', '.join(known)}; greedy, random and trained take any",
            )
        return fitting
    return names


def _serves(name: str, goal: Goal) -> bool:
    return (
        c.has_spectrum(goal)
        if name == "barron"
        else (METHODS[name].dimensions or goal.dimension) >= goal.dimension
    )


def _ensure_within_reach(goal: Goal, eps: float, activation: str | None, *, jumps: bool) -> None:
    """Refuse what no network of the kind can do, and say by how much."""
    known = ACTIVATIONS[activation_named(activation).name] if activation is not None else None
    if known is not None and known.degree is not None:
        floor, direction = polynomial_floor(goal, known.degree)
        raise UsageError(
            "A polynomial activation is not dense: one hidden layer of any width is a polynomial of its degree.",
            got=f"{known.name}, degree {known.degree}; none comes closer to f than {floor:.6g} ({direction})",
            remedy="take ReLU, tanh or any activation that is no polynomial",
        )
    if not jumps and goal.jump is not None and eps <= goal.jump[1] / 2:
        place, height = goal.jump
        raise SubjectError(
            "The function jumps, and networks are continuous.",
            where=f"x = {tuple(round(t, 6) for t in place)}",
            got=f"a jump of {height:.6g}: every network misses by at least {height / 2:.6g} there, eps is {eps:g}",
            remedy="what is lost is the sup norm near the jump: take eps above half of it, a domain on one side of it, "
            'or norm="L2", which does not see single points',
        )


@dataclass
class _Search:
    goal: Goal
    eps: float
    most: int
    cells: int
    began: float
    best: tuple[str, Enclosed, Certificate] | None = None
    attempts: list[Attempt] = field(default_factory=list)
    norm = "sup"

    @property
    def sample(self) -> tuple[np.ndarray, np.ndarray]:
        """The points at which errors are measured, and f there."""
        return self.goal.dense

    @property
    def has_reached(self) -> bool:
        return self.best is not None and self.best[2].error.hi <= self.eps

    def spent(self, seconds: float) -> bool:
        return time.perf_counter() - self.began > seconds

    def attempt(self, name: str, activation: str, seed: int, seconds: float) -> None:
        """Climb the ladder of one method until a network is certified, or shown to be too large."""
        task = c.Task(self.goal, self.eps, activation, np.random.default_rng(seed))
        fewer = self.best[1].neurons - 1 if self.has_reached and self.best else self.most
        closest: tuple[float, Enclosed] | None = None
        for net in self._ladder(name, task, fewer):
            measured = self.measure(net)
            known = measured <= self.eps or isinstance(net, Chained)
            proof = self.certify(net) if known else None
            self.attempts.append(
                Attempt(name, net.neurons, measured, proof.error.hi if proof else np.inf)
            )
            if proof is not None:
                self.keep(name, net, proof)
            if proof is not None and proof.error.hi <= self.eps:
                return
            if closest is None or measured < closest[0]:
                closest = (measured, net)
            if self.spent(seconds):
                break
        if closest is not None and not self.has_reached:
            self.keep(name, closest[1], self.certify(closest[1]))

    def _ladder(self, name: str, task: c.Task, most: int) -> Iterator[Enclosed]:
        for net in METHODS[name].build(task, most) if most > 0 else ():
            if net.neurons > most:
                return
            yield net

    def keep(self, name: str, net: Enclosed, proof: Certificate) -> None:
        """The first that is certified, then whichever is smaller; without one, the best certificate."""
        if (
            self.best is None
            or proof.error.hi <= self.eps
            or (proof.error.hi < self.best[2].error.hi)
        ):
            self.best = (name, net, proof)

    def measure(self, net: Enclosed, *, look: bool = True) -> float:
        """The largest error on the dense grid; a look at some of it is enough if that is too large already."""
        rows, values = self.sample
        for part in (slice(0, None, 37), slice(0, None)) if look else (slice(0, None),):
            found = float(gaps(net, rows[part], values[part]).max())
            if not found <= self.eps:
                break
        return found

    def certify(self, net: Enclosed) -> Certificate:
        if isinstance(net, Chained):
            return net.certificate
        return certify(
            self.goal, net, self.eps, min(self.cells, MULTIPLICATIONS // max(net.neurons, 1))
        )

    def result(self) -> Approximation:
        if self.best is None:
            raise UsageError(
                "No network was built within the budget.",
                got=f"neurons = {self.most}",
                remedy="allow more neurons",
            )
        name, net, proof = self.best
        return Approximation(
            goal=self.goal,
            eps=self.eps,
            norm=self.norm,
            method=name,
            says=METHODS[name].says,
            network=net.network,
            error=proof.error,
            how=proof.how,
            measured=self.measure(net, look=False),
            points=len(self.sample[0]),
            attempts=tuple(self.attempts),
            seconds=time.perf_counter() - self.began,
            enclosed=net,
        )


@dataclass
class _MeanSearch(_Search):
    """The same in the mean square; what is reported is proved, or estimated at points that no choice was made on."""

    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(1))
    estimates: int = 0
    norm = "L2"

    @cached_property
    def sample(self) -> tuple[np.ndarray, np.ndarray]:
        return self._draw(LOOK)

    def _draw(self, points: int) -> tuple[np.ndarray, np.ndarray]:
        rows = self.rng.uniform(self.goal.lo, self.goal.hi, size=(points, self.goal.dimension))
        return rows, self.goal.values(rows)

    def measure(self, net: Enclosed, *, look: bool = True) -> float:
        return float(np.sqrt((gaps(net, *self.sample) ** 2).mean()))

    def certify(self, net: Enclosed) -> Certificate:
        """One of several estimates is chosen: the j-th may err with probability δ/j(j+1), all together with δ."""
        self.estimates += 1
        each = 1 - (1 - CONFIDENCE) / (self.estimates * (self.estimates + 1))
        neurons = max(net.neurons, 1)
        found = mean_square_certificate(
            self.goal,
            net,
            self.eps,
            min(self.cells, MULTIPLICATIONS // neurons),
            int(np.clip(DRAWN // neurons, LOOK, MOST_DRAWS)),
            lambda rows: gaps(net, rows, self.goal.values(rows)),
            self.rng,
            each,
        )
        if found.error.confidence is None:
            return found
        return replace(found, error=replace(found.error, confidence=CONFIDENCE))

    def keep(self, name: str, net: Enclosed, proof: Certificate) -> None:
        """What is guaranteed gives way only to what is guaranteed."""
        sure = self.best is not None and self.best[2].error.nominal is None
        if sure and self.has_reached and proof.error.nominal is not None:
            return
        super().keep(name, net, proof)

    def result(self) -> Approximation:
        made = super().result()
        if made.method != "barron":
            return made
        bound = (
            2
            * c.ball_around(self.goal).radius
            * c.spectrum_of(self.goal)[1]
            / np.sqrt(made.neurons)
        )
        return replace(
            made, how=f"{made.how}; Barron's bound in expectation, for steps: {bound:.6g}"
        )


def gaps(
    net: Enclosed, x: Float[np.ndarray, "n d"], y: Float[np.ndarray, "n"]
) -> Float[np.ndarray, "n"]:
    """|f − g| at rows, a block of them at a time."""
    block = max(1, AT_ONCE // max(net.neurons, 1))
    return np.concatenate(
        [np.abs(net.values(x[i : i + block]) - y[i : i + block]) for i in range(0, len(x), block)]
    )


SEARCHES: dict[str, type[_Search]] = {"sup": _Search, "l2": _MeanSearch}
SPECTRUM = ", or give a Target with its Spectrum"
