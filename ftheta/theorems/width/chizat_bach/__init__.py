"""Infinitely many neurons, spread in all directions, do not stop before a global minimum, if they stop at all."""

from functools import partial
from typing import Annotated

import numpy as np

from ftheta.estimates.means import CONFIDENCE
from ftheta.logic import (
    AtMost,
    Axis,
    Claim,
    Converges,
    Curves,
    Enclosure,
    Evidence,
    Examples,
    Exists,
    Finding,
    Identity,
    Knob,
    Series,
    Status,
    Witness,
    hypothesis,
    theorem,
)
from ftheta.particles.descent import RegressionTask
from ftheta.particles.neurons import balanced_start
from ftheta.subjects import Dataset, Family
from ftheta.theorems.charts_particles import draw_paths, draw_success

from . import teachers

ROWS = 200
INPUTS = 32


def students(
    rng: np.random.Generator,
    *,
    start: Annotated[
        str, Knob(says="where students start", symbol="ρ₀", choices=teachers.STARTS)
    ] = "spread",
    teacher: Annotated[int, Knob(2, 8, "neurons of the teacher", "q*", most=16)] = 4,
) -> Family:
    given = teachers.make_teacher(rng, teacher, 48, start)
    return Family(
        f"{teacher} neurons teach, start {start}",
        lambda q, rng: given.start(rng, q),
        given,
        (1, 2, 4, 8, 16),
    )


def task_of(data: Dataset) -> RegressionTask:
    """The first rows, scaled to unit variance, with a constant 1; the first label, scaled alike."""
    X = data.x[:ROWS].reshape(min(len(data), ROWS), -1)[:, :INPUTS].astype(float)
    y = (
        np.zeros(len(X))
        if data.y is None
        else data.y[:ROWS].reshape(len(X), -1)[:, 0].astype(float)
    )
    X, y = (_standardise(values) for values in (X, y))
    return RegressionTask(np.column_stack([X, np.ones(len(X))]), y)


def _standardise(values: np.ndarray) -> np.ndarray:
    """Of mean 0 and variance 1; huge and tiny numbers are brought into range first, by powers of two, that no square
    overflows or vanishes."""
    values = np.ldexp(values, -np.frexp(np.abs(values).max(0))[1])
    spread = values.std(0)
    return (values - values.mean(0)) / np.where(spread > 0, spread, 1.0)


@hypothesis(
    "the start is spread over all directions, for both signs",
    remedy="draw directions from the whole sphere",
)
def spread_start(subject: Family | Dataset) -> Finding:
    if isinstance(subject, Dataset):
        return Finding.proved(
            "neurons are drawn here, from the whole sphere and with both signs", "so drawn"
        )
    empty = teachers.largest_gap(subject.member(2000, np.random.default_rng(0)))
    note = f"among 2,000 neurons the largest angle without one of either sign is {empty:.3g}°; required: at most 10°"
    return (Finding.sampled if empty <= 10 else Finding.failed)(note)


@hypothesis(
    r"$q\to\infty$, and the flow of measures converges",
    remedy="nothing is known for a given q: try several",
)
def flow_converges(subject: Family | Dataset) -> Finding:
    return Finding.assumed(
        "an assumption about the limit; ReLU is not smooth where the theorem asks for it"
    )


@hypothesis("labels to learn that are not all the same", remedy="give rows with one number each")
def something_to_learn(subject: Family | Dataset) -> Finding:
    task = subject.limit.task if isinstance(subject, Family) else task_of(subject)
    return Finding.decide(
        task.worth > 0, f"{len(task.y)} rows, energy without neurons {task.worth:.4g}", "a sum"
    )


@theorem(
    title="Global convergence at infinite width",
    gist="In the limit of infinitely many neurons that start in all directions, training by gradient flow can only "
    "stop at a global minimum: one reason why wide networks train well despite non-convexity.",
    see_also=("mean-field-limit", "overparam-gd", "ntk-kernel", "landscape-equivalent-minima"),
    same_for_all={
        "largest rise of the energy in a step": "a maximum over steps that is attained where nothing moves",
        "chance of success: narrowest ≤ widest": "on data that no student learns none succeeds, whatever its width",
    },
    sources=("peyre-slides", "peyre-notes", "chizat2018"),
    assumes=(something_to_learn, spread_start, flow_converges),
    on=students,
    breaks_on=lambda rng: students(rng, start="one sign"),
    presets={
        "textbook": {},
        "a larger teacher": {"teacher": 6, "seeds": 8},
        "at the edge": {"teacher": 2, "steps": 100},
        "broken on purpose": {"start": "one sign"},
    },
    errata=r"""Peyré's slides: "for $p$ large enough gradient descent works". The theorem is about infinitely many
    neurons, and only *if* their flow converges; it names no $p$. A start with one sign fails for every $p$.""",
)
def chizat_bach(
    subject: Family | Dataset,
    rng: np.random.Generator,
    *,
    seeds: Annotated[int, Knob(4, 32, "students of each width", "S", most=200)] = 16,
    steps: Annotated[int, Knob(100, 2000, "steps of the flow", "K", log=True, most=20_000)] = 600,
    below: Annotated[
        float, Knob(1e-6, 0.1, "loss that counts as success, of that of no neuron", "ε", log=True)
    ] = 1e-3,
) -> Evidence:
    r"""Let $F(\rho)=R\big(\int\mu\,\sigma(\langle w,\cdot\rangle)\,d\rho\big)$ with $R$ convex and 2-homogeneous
    units, and let the directions of $\rho_0$ cover the sphere, with both signs. **If** the flow
    $\partial_t\rho=\mathrm{div}(\rho\nabla\frac{\delta F}{\delta\rho})$ converges (and a regularity condition of
    Sard's kind holds), its limit is a global minimiser of $F$; the flow of $q$ neurons
    tends to it as $q\to\infty$. Nothing is said for a given $q$."""
    given = None if isinstance(subject, Dataset) else subject.limit
    task = task_of(subject) if isinstance(subject, Dataset) else subject.limit.task
    start = given.start if given else balanced_start(task.X.shape[1])
    found = teachers.train_students(task, start, given, seeds, steps, below, rng)
    lone = teachers.steepest_of_one(task, start, steps, rng)
    shares = found.found.shares
    least = found.found.least_width
    widths = found.found.widths
    return Evidence(
        claims=claims_about_students(found, taught=given is not None, spread=_is_spread(subject)),
        examples=partial(_start_at_teacher, teachers.energy_at_teacher(given)) if given else None,
        charts=(
            draw_paths(found.found.widest.paths, given.neurons if given else None),
            draw_success(found.found, found.unit),
            _draw_losses(found, taught=given is not None),
        ),
        numbers={f"success at q = {q}": float(share) for q, share in zip(widths, shares)}
        | {
            "least relative loss": found.lowest / task.worth,
            "width for the target loss": least or np.nan,
            "−min V, best wide student": found.still,
            "−min V, lone neuron": lone,
        },
        summary=f"{shares[-1]:.0%} of {seeds} students with {widths[-1]} neurons come below {below:g} of the "
        f"loss of none, {shares[0]:.0%} with {widths[0]}; half of them "
        f"{f'from q = {least} on' if least else 'at no width tried'}",
    )


def _is_spread(subject: Family | Dataset) -> bool:
    return spread_start.check(subject).status is not Status.FAILED


def claims_about_students(
    found: teachers.Students, *, taught: bool, spread: bool
) -> tuple[Claim, ...]:
    """The energy falls, and wide students succeed more often; what a teacher did the best of them reach too.

    Of a `spread` start the theorem says so of infinitely many neurons and of all time: a run that stops above refutes
    nothing. Of another start it says nothing, and such a run refutes that it would do."""
    energies = found.found.widest.energies
    target = found.found.target
    rates = found.found.rates(CONFIDENCE)
    rise = Enclosure.equal(float(np.diff(energies, axis=1).max()))
    always = (
        AtMost("largest rise of the energy in a step", rise, Enclosure.exact(0), atol=1e-14),
        AtMost("chance of success: narrowest ≤ widest", rates[0], rates[-1]),
    )
    if not taught:
        return always
    samples = len(energies)
    low = Enclosure.measured(found.lowest, samples=samples)
    shares = tuple(
        Enclosure.measured(float(share), samples=samples) for share in found.found.shares
    )
    widest = {"q": float(found.found.widths[-1])}
    what = "least energy of the widest students"
    reached: Claim = Exists(what, widest, low, Enclosure.equal(target))
    if not spread:
        how = "energy in intervals rounded outward"
        witness = Witness(widest, found.enclose_lowest(), Enclosure.exact(target), how)
        reached = AtMost(
            what, low, Enclosure.equal(target), trivial=found.task.worth, witness=witness
        )
    return (
        *always,
        reached,
        Converges(
            "share of students that succeed", Enclosure.exact(1), shares, found.scales, within=0.35
        ),
    )


def _start_at_teacher(energy: float) -> Examples:
    what = "energy of a student that starts at the teacher"
    claim = Identity(what, Enclosure.equal(energy), Enclosure.exact(0), atol=1e-28)
    return Examples((claim,), numbers={"loss at the teacher": energy})


def _draw_losses(found: teachers.Students, *, taught: bool) -> Curves:
    x = np.array(found.scales)
    worth = found.task.worth
    finals = np.array([np.quantile(f / worth, (0.1, 0.5, 0.9)) for f in found.found.finals]).clip(
        1e-8
    )
    label = "neurons of the student / of the teacher" if taught else "neurons q"
    series = (
        Series("success", x[[0, -1]], [found.found.target / worth] * 2, "bound"),
        Series("median run", x, finals[:, 1], "measured", "line", finals[:, 0], finals[:, 2]),
    )
    return Curves(
        "loss at the end against width",
        Axis(label, "log"),
        Axis("F / F of no neuron", "log"),
        series,
    )
