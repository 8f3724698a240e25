"""Training is a loop, and a function: of its start, its data, its rule and its seed."""

from typing import Annotated, Any

import numpy as np

from ftheta.logic import Enclosure, Evidence, Finding, Identity, Knob, hypothesis, theorem
from ftheta.subjects import Dataset, Network
from ftheta.training.study import LeastSquares, affordable, first_rows, linear, natural_loss, race, study


def three_points(rng: np.random.Generator) -> Dataset:
    return Dataset(
        "three points in the plane", np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]]), np.array([1.0, 2.0, 3.0])
    )


def forgetful(rng: np.random.Generator) -> Network:
    noise = lambda params, x: params[0] @ x * np.random.default_rng().normal(1.0, 0.1)
    return Network("linear model with unseeded noise", noise, (np.ones((1, 2)),), (2,), data=three_points(rng))


def rows_of(subject: Dataset | Network) -> tuple[np.ndarray, np.ndarray]:
    if isinstance(subject, Dataset):
        return first_rows(subject, flat=True)
    return first_rows(subject.data, flat=False, parameters=subject.parameters)


@hypothesis(
    "there are data with targets that the outputs can meet", remedy="give data with labels that fit the network"
)
def targets_known(subject: Dataset | Network) -> Finding:
    y = rows_of(subject)[1]
    fits = len(y) and (isinstance(subject, Dataset) or natural_loss(y, int(np.prod(subject.output_shape))) is not None)
    return Finding.decide(bool(fits), f"{len(y):,} rows with targets of {y.shape[1]} numbers", "counted")


@hypothesis("the network is a function of its parameters and its input", remedy="draw no random numbers inside it")
def pure(subject: Dataset | Network) -> Finding:
    if isinstance(subject, Dataset):
        return Finding.proved("a linear model", "made here")
    x, _ = rows_of(subject)
    x = x if len(x) else np.zeros((1, *subject.input_shape))
    same = np.array_equal(subject(x[0]), subject(x[0]))
    return Finding.sampled("two evaluations agree") if same else Finding.failed("two evaluations at one input differ")


@hypothesis(r"$0<\tau<\frac2L$", remedy="take a smaller step")
def step_stable(subject: Dataset | Network, *, step: float) -> Finding:
    return Finding.decide(0 < step < 2, f"τ is {step:g} of 1/L", "a comparison of knobs")


@theorem(
    title="The training loop",
    sources=("seed 0", "seed 2"),
    assumes=(targets_known, pure, step_stable),
    on=three_points,
    breaks_on=forgetful,
    presets={
        "textbook": {},
        "few steps": {"steps": 5},
        "at the edge": {"step": 1.99, "steps": 2000},
        "broken on purpose": {"step": 2.5},
    },
    errata=r"""Seed 2 counts $k=1,\dots,$ epochs from the start $\theta_0$: the first update then asks for $\theta_1$,
    which nothing defines. $K$ updates are $k=0,\dots,K-1$ and give $K+1$ iterates $\theta_0,\dots,\theta_K$.""",
)
def training_loop(
    subject: Dataset | Network,
    rng: np.random.Generator,
    *,
    steps: Annotated[int, Knob(1, 1000, "number of updates", "K", log=True, most=5000)] = 200,
    step: Annotated[
        float, Knob(0.05, 1.95, "step as a fraction of 1/L (linear model)", "τL", least=1e-6, most=10)
    ] = 1.0,
    rows: Annotated[int, Knob(1, 64, "rows a mini-batch has in the figure", "B", log=True)] = 1,
) -> Evidence:
    r"""From $\theta_0$, for $k=0,\dots,K-1$: forward, loss, backward, $\theta_{k+1}=\theta_k+u_k$. The run is a
    function of $\theta_0$, the data, the rule and the seed: $K=0$ is the initialisation, and a run that was cut and
    resumed is the uninterrupted one, bit for bit. Gradient descent on $\frac1n\|X\theta-Y\|^2$ from $\theta_0=0$
    reaches least squares,
    $$\|\theta_K-\theta^*\|\le\max(|1-\tau\mu|,|1-\tau L|)^K\,\|\theta^*\|,\qquad\theta^*=X^+Y.$$"""
    (x, y), goal = rows_of(subject), None
    how: dict[str, Any] = {"optimiser": "adam", "step": 1e-3}
    if isinstance(subject, Dataset):
        goal, net = LeastSquares.of(x, y), (np.zeros((x.shape[1], y.shape[1])), linear)
        how = {"optimiser": "gd", "step": step / goal.smoothness}
    else:
        net, how["loss"] = subject, natural_loss(y, int(np.prod(subject.output_shape)))
        steps = affordable(subject.parameters, len(x), steps)
    found = study(net, (x, y), how, steps, tuple(sorted({1, steps // 2, steps - 1} - {0, steps})) or (0,))
    claims, run = found.claims, found.run
    numbers = {"loss at the start": run.history.loss[0], "loss at K": run.loss}
    if goal is not None:
        claims, numbers = (*claims, goal.reached(run, how["step"])), numbers | goal.numbers(run)
    printed = Identity("iterates defined when k = 1, …, K from θ₀", Enclosure.exact(1), Enclosure.exact(steps + 1))
    figure = race(net, (x, y), how, steps, min(rows, len(x)), 0.0 if goal is None else goal.loss)
    told = f"in {run.steps} steps the loss went from {run.history.loss[0]:.6g} to {run.loss:.6g}; run again, or cut and"
    told += f" resumed, it {'is the same bit for bit' if found.agrees else 'differs'}"
    return Evidence(claims, (figure,), numbers, as_printed=(printed,), summary=told)
