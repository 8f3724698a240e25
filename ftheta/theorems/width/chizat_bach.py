"""Infinitely many neurons, spread in all directions, do not stop before a global minimum, if they stop at all."""

from typing import Annotated

import numpy as np

from ftheta.limits.width import teachers
from ftheta.limits.width.descent import Task
from ftheta.limits.width.flows import balanced
from ftheta.logic import Evidence, Finding, Knob, hypothesis, theorem
from ftheta.subjects import Dataset, Family

ROWS, INPUTS = 200, 32


def students(
    rng: np.random.Generator,
    *,
    start: Annotated[str, Knob(says="where students start", symbol="ρ₀", choices=teachers.STARTS)] = "spread",
    teacher: Annotated[int, Knob(2, 8, "neurons of the teacher", "q*", most=16)] = 4,
) -> Family:
    given = teachers.teacher(rng, teacher, 48, start)
    return Family(
        f"{teacher} neurons teach, start {start}", lambda q, rng: given.start(rng, q), given, (1, 2, 4, 8, 16)
    )


def task_of(data: Dataset) -> Task:
    """The first rows, scaled to unit variance, with a constant 1; the first label, scaled alike."""
    X = data.x[:ROWS].reshape(min(len(data), ROWS), -1)[:, :INPUTS].astype(float)
    y = np.zeros(len(X)) if data.y is None else data.y[:ROWS].reshape(len(X), -1)[:, 0].astype(float)
    X, y = ((v - v.mean(0)) / np.where((s := v.std(0)) > 0, s, 1.0) for v in (X, y))
    return Task(np.column_stack([X, np.ones(len(X))]), y)


@hypothesis("the start is spread over all directions, for both signs", remedy="draw directions from the whole sphere")
def spread_start(subject: Family | Dataset) -> Finding:
    if isinstance(subject, Dataset):
        return Finding.proved("neurons are drawn here, from the whole sphere and with both signs", "so drawn")
    empty = teachers.emptiest(subject.member(2000, np.random.default_rng(0)))
    note = f"among 2,000 neurons the largest angle without one of either sign is {empty:.3g}°; asked: at most 10°"
    return (Finding.sampled if empty <= 10 else Finding.failed)(note)


@hypothesis(r"$q\to\infty$, and the flow of measures converges", remedy="nothing is known for a given q: try several")
def flow_converges(subject: Family | Dataset) -> Finding:
    return Finding.assumed("an assumption about the limit; ReLU is not smooth where the theorem asks for it")


@hypothesis("labels to learn that are not all the same", remedy="give rows with one number each")
def something_to_learn(subject: Family | Dataset) -> Finding:
    task = subject.limit.task if isinstance(subject, Family) else task_of(subject)
    return Finding.decide(task.worth > 0, f"{len(task.y)} rows, energy without neurons {task.worth:.4g}", "a sum")


@theorem(
    title="Global convergence at infinite width",
    sources=("seed 0", "seed 4", "chizat2018"),
    assumes=(something_to_learn, spread_start, flow_converges),
    on=students,
    breaks_on=lambda rng: students(rng, start="one sign"),
    presets={
        "textbook": {},
        "a larger teacher": {"teacher": 6, "seeds": 8},
        "at the edge": {"teacher": 2, "steps": 100},
        "broken on purpose": {"start": "one sign"},
    },
    errata=r"""Seed 0: "for $p$ large enough gradient descent works". The theorem is about infinitely many neurons,
    and only *if* their flow converges; it names no $p$. A start with one sign fails for every $p$.""",
)
def chizat_bach(
    subject: Family | Dataset,
    rng: np.random.Generator,
    *,
    seeds: Annotated[int, Knob(4, 32, "students of each width", "S", most=200)] = 16,
    steps: Annotated[int, Knob(100, 2000, "steps of the flow", "K", log=True, most=20_000)] = 600,
    below: Annotated[float, Knob(1e-6, 0.1, "loss that counts as success, of that of no neuron", "ε", log=True)] = 1e-3,
) -> Evidence:
    r"""Let $F(\rho)=R\big(\int\mu\,\sigma(\langle w,\cdot\rangle)\,d\rho\big)$ with $R$ convex and 2-homogeneous
    units, and let the directions of $\rho_0$ cover the sphere, with both signs. **If** the flow
    $\partial_t\rho=\mathrm{div}(\rho\nabla\frac{\delta F}{\delta\rho})$ converges (and a regularity condition of
    Sard's kind holds), its limit is a global minimiser of $F$; the flow of $q$ neurons
    tends to it as $q\to\infty$. Nothing is said for a given $q$."""
    given = None if isinstance(subject, Dataset) else subject.limit
    task = task_of(subject) if isinstance(subject, Dataset) else subject.limit.task
    start = given.start if given else balanced(task.X.shape[1])
    found = teachers.study(task, start, given, seeds, steps, below, rng)
    lone, (home, own) = teachers.narrow_student(task, start, steps, rng), teachers.at_teacher(given)
    (narrow, *_, wide), least = found.found.shares, found.found.least_width
    return Evidence(
        claims=(*home, *found.claims(given is not None)),
        charts=found.charts(given.neurons if given else None),
        numbers={f"success at q = {q}": float(s) for q, s in zip(found.found.widths, found.found.shares)}
        | {"loss at the teacher": own, "least relative loss": found.lowest / task.worth}
        | {"width for the target loss": least or np.nan, "−min V, best wide student": found.still}
        | {"−min V, lone neuron": lone},
        summary=f"{wide:.0%} of {seeds} students with {found.found.widths[-1]} neurons come below {below:g} of the "
        f"loss of none, {narrow:.0%} with {found.found.widths[0]}; half of them from q = {least or 'more'} on",
    )
