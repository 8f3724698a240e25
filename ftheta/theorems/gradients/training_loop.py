"""Training is a loop, and a function: of its start, its data, its rule and its seed."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import jax
import numpy as np

from ftheta.logic import (
    AtMost,
    Axis,
    Curves,
    Enclosure,
    Evidence,
    Finding,
    Identity,
    Knob,
    Series,
    SubjectError,
    UsageError,
    Witness,
    hypothesis,
    theorem,
)
from ftheta.subjects import Dataset, Network
from ftheta.training.batches import Batches
from ftheta.training.fitting import fit
from ftheta.training.run import Fit
from ftheta.training.study import affordable, first_rows, natural_loss


def three_points(rng: np.random.Generator) -> Dataset:
    return Dataset(
        "three points in the plane",
        np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]]),
        np.array([1.0, 2.0, 3.0]),
    )


def forgetful(rng: np.random.Generator) -> Network:
    noise = lambda params, x: params[0] @ x * np.random.default_rng().normal(1.0, 0.1)
    return Network(
        "linear model with unseeded noise", noise, (np.ones((1, 2)),), (2,), data=three_points(rng)
    )


def rows_of(subject: Dataset | Network) -> tuple[np.ndarray, np.ndarray]:
    if isinstance(subject, Dataset):
        return first_rows(subject, flat=True)
    return first_rows(subject.data, flat=False, parameters=subject.parameters)


@hypothesis(
    "there are data with targets that the outputs can meet",
    remedy="give data with labels that fit the network",
    name="targets",
)
def targets_known(subject: Dataset | Network) -> Finding:
    y = rows_of(subject)[1]
    fits = len(y) and (
        isinstance(subject, Dataset)
        or natural_loss(y, int(np.prod(subject.output_shape))) is not None
    )
    return Finding.decide(
        bool(fits), f"{len(y):,} rows with targets of {y.shape[1]} numbers", "counted"
    )


@hypothesis(
    "the network is a function of its parameters and its input",
    remedy="draw no random numbers inside it",
    name="a pure function",
)
def pure(subject: Dataset | Network) -> Finding:
    if isinstance(subject, Dataset):
        return Finding.proved("a linear model", "made here")
    x, _ = rows_of(subject)
    x = x if len(x) else np.zeros((1, *subject.input_shape))
    same = np.array_equal(subject(x[0]), subject(x[0]))
    return (
        Finding.sampled("two evaluations agree")
        if same
        else Finding.failed("two evaluations at one input differ")
    )


@hypothesis(r"$0<\tau<\frac2L$", remedy="take a smaller step", name="a stable step")
def step_stable(subject: Dataset | Network, *, step: float) -> Finding:
    if isinstance(subject, Dataset) and not rows_of(subject)[0].any():
        return Finding.failed("all inputs are 0: L = 0, and there is nothing to learn")
    return Finding.decide(0 < step < 2, f"τ is {step:g} of 1/L", "a comparison of knobs")


@theorem(
    title="The training loop",
    sources=("peyre-slides", "murari-slides", "scaman-slides"),
    gist="Training is a loop of forward pass, loss, backward pass and update. Its start, data, rule and seed determine "
    "it, so that a run can be repeated, or cut and resumed; on a linear model gradient descent ends at least squares.",
    see_also=("backprop-mlp", "gd-strongly-convex", "adam"),
    same_for_all={
        "numbers that differ in a second run": "counts differences between two runs of this network; only one with a "
        "hidden state has any",
        "numbers that differ after a cut": "counts differences between two runs of this network; only one with a "
        "hidden state has any",
    },
    audited=False,
    assumes=(targets_known, pure, step_stable),
    on=three_points,
    breaks_on=forgetful,
    presets={
        "textbook": {},
        "few steps": {"steps": 5},
        "at the edge": {"step": 1.99, "steps": 2000},
        "broken on purpose": {"step": 2.5},
    },
    errata=r"""Murari's slides count $k=1,\dots,$ epochs from the start $\theta_0$: the first update then asks for
    $\theta_1$,
    which nothing defines. $K$ updates are $k=0,\dots,K-1$ and give $K+1$ iterates $\theta_0,\dots,\theta_K$.""",
)
def training_loop(
    subject: Dataset | Network,
    rng: np.random.Generator,
    *,
    steps: Annotated[int, Knob(1, 1000, "number of updates", "K", log=True, most=5000)] = 200,
    step: Annotated[
        float,
        Knob(0.05, 1.95, "step as a fraction of 1/L (linear model)", "τL", least=1e-6, most=10),
    ] = 1.0,
    rows: Annotated[int, Knob(1, 64, "rows per mini-batch in the chart", "B", log=True)] = 1,
) -> Evidence:
    r"""From $\theta_0$, for $k=0,\dots,K-1$: forward, loss, backward, $\theta_{k+1}=\theta_k+u_k$. The run is a
    function of $\theta_0$, the data, the rule and the seed: $K=0$ is the initialisation, and a run that was cut and
    resumed is the uninterrupted one, bit for bit. Gradient descent on $\frac1n\|X\theta-Y\|^2$ from $\theta_0=0$
    reaches least squares,
    $$\|\theta_K-\theta^*\|\le\max(|1-\tau\mu|,|1-\tau L|)^K\,\|\theta^*\|,\qquad\theta^*=X^+Y.$$"""
    if isinstance(subject, Dataset):
        return _fit_least_squares(subject, steps, step, rows)
    return _train_network(subject, steps, rows)


def _summarise(run: Fit) -> str:
    return f"in {run.steps} steps the loss went from {run.history.loss[0]:.6g} to {run.loss:.6g}"


def _misprint(steps: int) -> Identity:
    return Identity(
        "iterates defined when k = 1, …, K from θ₀", Enclosure.exact(1), Enclosure.exact(steps + 1)
    )


# -- a linear model on the data handed in -------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LeastSquares:
    r"""$\min_\theta\frac1n\|X\theta-Y\|^2$: its minimum-norm solution, and the curvature $\mu,L$ on the row space."""

    solution: np.ndarray
    loss: float
    mu: float
    smoothness: float

    @classmethod
    def of(cls, x: np.ndarray, y: np.ndarray) -> "LeastSquares":
        """Of these rows, by singular values; those that are rounding are no part of the row space."""
        values = np.linalg.svd(x, compute_uv=False)
        seen = (
            values[values > values[0] * max(x.shape) * np.finfo(float).eps]
            if values[0] > 0
            else values[:1]
        )
        solution = np.linalg.lstsq(x, y, rcond=None)[0]
        curvature = 2 * seen**2 / len(x)
        loss = float(np.mean(np.sum((x @ solution - y) ** 2, axis=1)))
        return cls(solution, loss, float(curvature[-1]), float(curvature[0]))


def _fit_least_squares(subject: Dataset, steps: int, step: float, rows: int) -> Evidence:
    x, y = rows_of(subject)
    goal = LeastSquares.of(x, y)
    if not 0 < goal.smoothness < np.inf:
        raise SubjectError(
            "The squares of these rows are no numbers of float64, or 0 there: no step fits their loss.",
            where=subject.name,
            got=f"largest entry {np.abs(x).max():.3g}",
            remedy="scale the rows",
        )
    model = (np.zeros((x.shape[1], y.shape[1])), lambda theta, x: x @ theta)
    how = {"optimiser": "gd", "step": step / goal.smoothness}
    run = fit(model, (x, y), **how, steps=steps)
    numbers = {
        "loss at the start": run.history.loss[0],
        "loss at K": run.loss,
        "least squares loss": goal.loss,
    }
    numbers |= {f"θ {i + 1}": float(v) for i, v in enumerate(np.ravel(run.params)[:6])}
    return Evidence(
        claims=(_claim_distance(goal, run, how["step"]),),
        charts=(_draw_losses(model, (x, y), how, steps, min(rows, len(x)), goal.loss),),
        numbers=numbers,
        as_printed=(_misprint(steps),),
        summary=_summarise(run),
    )


def _claim_distance(goal: LeastSquares, run: Fit, tau: float) -> AtMost:
    r"""$\|\theta_K-\theta^*\|\le\max(|1-\tau\mu|,|1-\tau L|)^K\|\theta^*\|$ from $\theta_0=0$, and rounding."""
    factor = max(abs(1 - tau * goal.mu), abs(1 - tau * goal.smoothness))
    distance = float(np.linalg.norm(run.params - goal.solution))
    size = float(np.linalg.norm(goal.solution))
    rounding = 1e-12 * size * goal.smoothness / goal.mu
    return AtMost(
        "‖θ_K − θ*‖",
        Enclosure.equal(distance),
        Enclosure.equal(factor**run.steps * size + rounding),
    )


# -- the network handed in ----------------------------------------------------------------------------------


def _train_network(net: Network, steps: int, rows: int) -> Evidence:
    data = rows_of(net)
    how = {
        "optimiser": "adam",
        "step": 1e-3,
        "loss": natural_loss(data[1], int(np.prod(net.output_shape))),
    }
    steps = affordable(net.parameters, len(data[0]), steps)
    run = fit(net, data, **how, steps=steps)
    return Evidence(
        claims=(
            _claim_same(
                "numbers that differ in a second run",
                (steps,),
                lambda k: _count_differing(fit(net, data, **how, steps=k), run),
            ),
            _claim_same(
                "numbers that differ after a cut and resuming from a file",
                tuple(sorted({1, steps // 2, steps - 1} - {0, steps})) or (0,),
                lambda cut: _count_differing(_cut_and_resume(net, data, how, steps, cut), run),
            ),
        ),
        charts=(_draw_losses(net, data, how, steps, min(rows, len(data[0])), 0.0),),
        numbers={"loss at the start": run.history.loss[0], "loss at K": run.loss},
        as_printed=(_misprint(steps),),
        summary=_summarise(run),
    )


def _claim_same(
    what: str, runs: tuple[int, ...], count_differing: Callable[[int], int]
) -> Identity:
    """Seen at some runs only; where one differs it is made and counted once more."""
    found = {k: count_differing(k) for k in runs}
    zero = Enclosure.exact(0)
    at = max(found, key=lambda k: found[k])
    again = None
    if found[at]:
        again = Witness(
            {"step": float(at)}, Enclosure.exact(count_differing(at)), zero, "another run, compared"
        )
    return Identity(what, Enclosure.measured(float(found[at]), samples=len(runs)), zero, again)


def _cut_and_resume(net: Any, data: Any, how: dict[str, Any], steps: int, cut: int) -> Fit:
    """The first part to a file; the rest from the file, as another process would. A refused file is no continuation."""
    with TemporaryDirectory() as folder:
        place = Path(folder) / "run.npz"
        first = fit(net, data, **how, steps=cut, checkpoint=place)
        try:
            return fit(net, data, **how, steps=steps, checkpoint=place, resume=True)
        except UsageError:
            return first


def _count_differing(one: Fit, other: Fit) -> int:
    """How many numbers of parameters and history the two runs do not have in common, bit for bit."""
    pairs = zip(*(jax.tree.leaves((run.params, run.history.loss)) for run in (one, other)))
    return sum(
        int(np.count_nonzero(a != b)) if a.shape == b.shape else abs(a.size - b.size)
        for a, b in pairs
    )


# -- charts -------------------------------------------------------------------------------------------------


def _draw_losses(
    net: Any, data: Any, how: dict[str, Any], steps: int, rows: int, floor: float
) -> Curves:
    """Loss above `floor` against the step: all rows, mini-batches, and another optimiser."""
    rule = how["optimiser"]
    other, step = ("adam", 0.05) if rule == "gd" else ("momentum", 0.01)
    runs = {
        f"{rule}, all rows": {},
        f"{rule}, {rows} row{'s' * (rows > 1)} per step": {"batch": Batches(rows)},
        f"{other}, all rows": {"optimiser": other, "step": step},
    }
    series = []
    for name, change in runs.items():
        seen = fit(
            net,
            data,
            **(how | change),
            steps=steps + 1,
            validation=data,
            evaluate_every=max(1, steps // 100),
        )
        k = seen.history.evaluated
        excess = seen.history.validation - floor
        shown = excess > 1e-14 * max(floor, excess[0], 1e-300)  # below it all is rounding
        series.append(Series(name, k[shown], excess[shown]))
    label = "loss above least squares" if floor else "loss over all rows"
    return Curves("training loss", Axis("step k"), Axis(label, "log"), tuple(series))
