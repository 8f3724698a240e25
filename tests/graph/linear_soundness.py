"""Sampling a program over a box, and comparing with linear bounds: numbers and affine forms of every slot."""

from functools import cache
from itertools import pairwise
from typing import Any

import jax
import numpy as np

from ftheta.graph import Graph, Interval
from ftheta.graph.domains.linear.backward import Form, Relaxed
from ftheta.graph.domains.linear.program import Program
from ftheta.graph.domains.linear.refining import enclose
from ftheta.graph.domains.linear.sets import BoxSet

from .soundness import every_slot, points

SLACK = 1e-10


@cache
def prepared(g: Graph) -> Program:
    return Program.of(g)


def with_axis(box: Interval) -> BoxSet:
    return BoxSet(box.map(lambda end: end[None]))


def relaxed_over(g: Graph, inputs: tuple[Interval, ...]) -> tuple[Relaxed, list[BoxSet]]:
    sets = [with_axis(box) for box in inputs]
    return enclose(prepared(g), sets), sets


@cache
def samples_of(
    g: Graph, inputs: tuple[Interval, ...], count: int
) -> tuple[list[np.ndarray], dict[int, np.ndarray]]:
    """Points of the box, one array an input, and the values of every slot there."""
    graph = prepared(g).graph
    batches = [points(box, slot.dtype, count, slot.id) for slot, box in zip(graph.inputs, inputs)]
    return batches, jax.tree.map(np.asarray, every_slot(graph)(*batches))


def form_values(form: Form, at: list[np.ndarray]) -> np.ndarray:
    """⟨A, x⟩ + offset − error at every point: (points, functionals), for one box."""
    total: Any = form.offset[0] - form.paid_error[0]
    for A, x in zip(form.coefficients, at):
        if A is not None:
            total = total + x.reshape(len(x), -1).astype(float) @ A[0].reshape(A.shape[1], -1).T
    return np.broadcast_to(total, (len(at[0]), form.offset.shape[1]))


def violations(
    relaxed: Relaxed, sets: list[BoxSet], at: list[np.ndarray], seen: dict[int, np.ndarray]
) -> list[str]:
    """Slots with a sample outside of their enclosure, of their bounds by back-substitution, or of their forms."""
    graph = relaxed.program.graph
    wrong = []
    for slot in graph.slots:
        if not slot.is_real or slot.id not in relaxed.program.varying:
            continue
        values = seen[slot.id].reshape(len(at[0]), -1)
        slack = SLACK * np.where(np.isfinite(values), np.abs(values), 0.0).max(initial=1.0)
        x = relaxed.enclosures[slot.id]
        # ∞ − ∞ in a slot that nothing reads is no value
        outside = np.any(values < x.lo.ravel() - slack) or np.any(values > x.hi.ravel() + slack)
        one = np.eye(slot.size).reshape(1, slot.size, *slot.shape)
        for sign in (1.0, -1.0):
            form = relaxed.pull_back({slot.id: sign * one})
            outside |= np.any(form_values(form, at) > sign * values + slack)
            outside |= np.any(form.least(sets)[0] > sign * values + slack)
        if outside:
            wrong.append(str(graph.producers.get(slot.id, slot)))
    return wrong


def found_wrong(g: Graph, inputs: tuple[Interval, ...], count: int = 100) -> list[str]:
    relaxed, sets = relaxed_over(g, inputs)
    return violations(relaxed, sets, *samples_of(g, inputs, count))


def draw_network_and_point(
    seed: int, exponent: int
) -> tuple[list[tuple[np.ndarray, np.ndarray]], np.ndarray]:
    """Weights and biases of a random network of three inputs, and an input: some of them times 2^exponent."""
    rng = np.random.default_rng(seed)
    widths = (3, *rng.integers(1, 6, rng.integers(1, 4)), 2)
    params = [
        (
            rng.standard_normal((m, n)),
            rng.standard_normal(n) * 2.0 ** float(rng.choice([0, exponent])),
        )
        for m, n in pairwise(widths)
    ]
    x = rng.standard_normal(3) * 2.0 ** float(rng.choice([0, exponent]))
    return params, x
