r"""Branch and bound over neurons, in batches of domains: parts of the box where some pre-activations have given signs.

A *target* is a function of a layer's outputs that is to be shown positive over the box: the excess of the rows of a
disjunct, or a pre-activation whose sign is open. A domain of a target is closed as soon as its proved bound is
positive; else it is split at one more neuron. The least bound of a target's open domains bounds the target.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ftheta.shapes import Bool, Float, Int

from .branching import choose_splits
from .domains import Domains
from .frames import Array, Layer
from .inputs import Inputs
from .lines import Climb, Mixture, Optimum, Start, bound_below, draw_lines, optimise

Begin = Callable[[Int[np.ndarray, "n"], Float[np.ndarray, "n k"]], Start]
"""The functions of targets (first argument) with mixtures of rows by weights (second)."""


@dataclass(frozen=True, eq=False)
class Task:
    """Targets over `inputs`, with the `layers` between. `begin` makes their functions, `mixing` their rows (None: each
    target is one row), `contract` takes weights of all rows to those of a target's own, `closes` decides from
    proved bounds, targets and weights."""

    inputs: Inputs
    layers: Sequence[Layer]
    begin: Begin
    mixing: Callable[[Int[np.ndarray, "n"], Float[np.ndarray, "n k"]], Mixture] | None
    contract: Callable[[Int[np.ndarray, "n"], Float[np.ndarray, "n r"]], Float[np.ndarray, "n k"]]
    closes: Callable[
        [Float[np.ndarray, "n"], Int[np.ndarray, "n"], Float[np.ndarray, "n k"]],
        Bool[np.ndarray, "n"],
    ]

    @property
    def neurons(self) -> int:
        return sum(layer.undecided for layer in self.layers)


@dataclass(eq=False)
class Outcome:
    """Bounded domains: those that are open, with their next splits and the corners of their relaxations, and the
    targets and bounds of those that are closed."""

    open: Domains
    corners: Float[np.ndarray, "n d"]
    closed_targets: Int[np.ndarray, "k"]
    closed_bounds: Float[np.ndarray, "k"]


def bound_domains(task: Task, domains: Domains, plan: Climb) -> Outcome:
    """Optimise, prove, and choose the next split of what stays open."""
    start = task.begin(domains.target, domains.weights)
    lines = draw_lines(task.layers, domains.lower, domains.push, domains.sign, np.float32)
    mixture = None if task.mixing is None else task.mixing(domains.target, domains.weights)
    found = optimise(task.inputs, task.layers, start, lines, replace(plan, enough=1e-5), mixture)
    if found.weights is not None:
        domains.weights = task.contract(domains.target, found.weights)
        start = task.begin(domains.target, domains.weights)
    proved = draw_lines(task.layers, found.lower, found.push, domains.sign)
    bound = bound_below(task.inputs, task.layers, start, proved)
    closed = task.closes(bound, domains.target, domains.weights)
    bound = np.maximum(bound, domains.bound)
    rows = np.flatnonzero(~closed)
    left = Domains(
        domains.target[rows],
        bound[rows],
        domains.sign[rows],
        found.lower[rows].astype(np.float16),
        found.push[rows],
        domains.weights[rows],
        np.full(len(rows), -1),
    )
    if len(rows) and task.neurons:
        part = _select_optimum(found, rows)
        left.split = choose_splits(
            task.inputs, task.layers, start.select(rows), proved.select(rows), part
        )
    return Outcome(left, found.corner[rows], domains.target[closed], bound[closed])


def halve(domains: Domains) -> Domains:
    """Both halves of every domain, split at its neuron."""
    both = domains.select(np.repeat(np.arange(len(domains)), 2))
    rows = np.arange(len(both))
    both.sign[rows, both.split] = np.tile(np.array([1, -1], np.int8), len(domains))
    return both


def first_domains(
    task: Task,
    targets: Int[np.ndarray, "n"],
    lower: Float[np.ndarray, "n u"],
    weights: Float[np.ndarray, "n k"],
) -> Domains:
    """The whole box, for every target."""
    rows = len(targets)
    return Domains(
        targets,
        np.full(rows, -np.inf),
        np.zeros((rows, task.neurons), np.int8),
        lower.astype(np.float16),
        np.zeros((rows, task.neurons), np.float32),
        weights,
        np.full(rows, -1),
    )


def _select_optimum(found: Optimum, rows: Array) -> Optimum:
    weights = None if found.weights is None else found.weights[rows]
    return Optimum(
        found.best[rows],
        found.lower[rows],
        found.push[rows],
        weights,
        found.coefficients[rows],
        found.states[rows],
        found.corner[rows],
    )
