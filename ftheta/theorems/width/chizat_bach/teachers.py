r"""Teacher and student: is the flow of many neurons led to a global minimiser, and from how many on?

The teacher is a network of a few neurons in the plane. Units are 2-homogeneous and inputs enter by their direction, so
the inputs are points of the circle. At a stationary measure the potential
$V(\mu,w)=\mathrm{mean}_i(f-y)_i\,\mu\,\sigma(\langle w,x_i\rangle)$
is nowhere negative exactly if the measure is a global minimiser: `steepest` is how negative it still is.
"""

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from ftheta.graph.enclosing import enclose_number
from ftheta.logic import Enclosure
from ftheta.particles.descent import RegressionTask, descend
from ftheta.particles.neurons import Start, Success, balanced_start, success

STARTS = ("spread", "one sign", "one cone")


@dataclass(frozen=True, eq=False)
class Teacher:
    r"""Inputs, the outputs of the `neurons` $(\mu,w)$ of the teacher there, and how students `start`."""

    task: RegressionTask
    neurons: np.ndarray
    start: Start


def make_teacher(rng: np.random.Generator, neurons: int, points: int, start: str) -> Teacher:
    """Directions spread evenly over the circle and turned a little, signs in turn; inputs all around the circle."""
    angle = 2 * np.pi * (
        np.arange(neurons) + 0.3 * rng.uniform(-1, 1, neurons)
    ) / neurons + rng.uniform(0, 2 * np.pi)
    theta = np.column_stack(
        [np.where(np.arange(neurons) % 2, -1.0, 1.0), np.cos(angle), np.sin(angle)]
    )
    around = 2 * np.pi * (np.arange(points) + 0.5) / points
    X = np.column_stack([np.cos(around), np.sin(around)])
    y = RegressionTask(X, np.zeros(points)).outputs(theta[None])[0]
    return Teacher(RegressionTask(X, y), theta, start_of(start))


def start_of(kind: str) -> Start:
    """Students in the plane: spread over signs and directions, all with μ > 0, or all directions within 20 degrees."""
    spread = balanced_start(2)

    def draw(rng: np.random.Generator, q: int) -> np.ndarray:
        theta = spread(rng, q)
        if kind == "one sign":
            theta[:, 0] = np.abs(theta[:, 0])
        if kind == "one cone":
            angle = rng.uniform(-np.pi / 18, np.pi / 18, q)
            theta[:, 1:] = np.column_stack([np.cos(angle), np.sin(angle)])
        return theta

    return draw


def largest_gap(theta: np.ndarray) -> float:
    """The largest angle without a neuron, in degrees, for the sign of μ that is spread less; 360 if one is missing."""
    gaps = []
    for side in (theta[:, 0] > 0, theta[:, 0] < 0):
        angle = np.sort(np.arctan2(theta[side, 2], theta[side, 1]))
        gaps.append(np.diff(angle, append=angle[0] + 2 * np.pi).max() if len(angle) else 2 * np.pi)
    return float(np.rad2deg(max(gaps)))


def steepest(task: RegressionTask, outputs: np.ndarray, directions: np.ndarray) -> float:
    r"""$-\min V$ over these unit directions with $|\mu|=1$: 0 at a global minimiser."""
    gap = (outputs - task.y) / len(task.y)
    return float(np.abs(np.maximum(directions @ task.X.T, 0.0) @ gap).max())


def directions_of(dimension: int, rng: np.random.Generator) -> np.ndarray:
    """All around the circle in the plane, else drawn."""
    if dimension == 2:
        angle = np.linspace(0, 2 * np.pi, 720, endpoint=False)
        return np.column_stack([np.cos(angle), np.sin(angle)])
    drawn = rng.normal(size=(4096, dimension))
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


@dataclass(frozen=True, eq=False)
class Students:
    """Students of several widths; `unit` are the teacher's neurons.

    `still` and `stuck` are how negative the potential still is for the best and the worst of the widest.
    """

    task: RegressionTask
    found: Success
    unit: int
    still: float
    stuck: float

    @property
    def best(self) -> int:
        """The run of the widest students that came lowest."""
        return int(self.found.widest.energies[:, -1].argmin())

    @property
    def lowest(self) -> float:
        """Its energy at the end."""
        return float(self.found.widest.energies[self.best, -1])

    def enclose_lowest(self) -> Enclosure:
        """The energy of the best run once more, in intervals."""

        def energy(theta: Any, X: Any, y: Any) -> Any:
            outputs = jnp.mean(theta[:, 0] * jnp.maximum(X @ theta[:, 1:].T, 0.0), axis=1)
            return jnp.mean((outputs - y) ** 2) / 2

        return enclose_number(energy, self.found.widest.end[self.best], self.task.X, self.task.y)

    @property
    def scales(self) -> tuple[float, ...]:
        """The widths in units of the teacher's neurons."""
        return tuple(q / self.unit for q in self.found.widths)


def train_students(
    task: RegressionTask,
    start: Start,
    given: Teacher | None,
    seeds: int,
    steps: int,
    below: float,
    rng: np.random.Generator,
) -> Students:
    """Students up to 16 times as wide as the teacher, or up to 64 neurons; `below` is a share of the loss of none."""
    unit, ratios = (
        (len(given.neurons), (1, 2, 4, 8, 16)) if given else (1, (1, 2, 4, 8, 16, 32, 64))
    )
    found = success(task, start, [unit * r for r in ratios], seeds, steps, below * task.worth, rng)
    around = directions_of(task.X.shape[1], rng)
    finals = task.outputs(found.widest.end)
    order = found.widest.energies[:, -1].argsort()
    still, stuck = (steepest(task, finals[k], around) for k in (order[0], order[-1]))
    return Students(task, found, unit, still, stuck)


def energy_at_teacher(given: Teacher) -> float:
    """The largest energy of a student that starts at the teacher, in ten steps: 0, and it stays."""
    return float(descend(given.task, given.neurons[None], 10, 0.1).energies.max())


def steepest_of_one(
    task: RegressionTask, start: Start, steps: int, rng: np.random.Generator
) -> float:
    """How negative the potential still is where one lone neuron ends: more neurons would know where to go."""
    run = descend(task, start(rng, 1)[None], steps)
    return steepest(task, task.outputs(run.end)[0], directions_of(task.X.shape[1], rng))
