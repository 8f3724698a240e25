"""Sampling a program over a box, slot by slot, and comparing with enclosures."""

from functools import cache
from typing import Any

import jax
import numpy as np

from ftheta.graph import Domain, Graph, Interval, forward
from ftheta.graph.domains.interval import INTERVAL
from ftheta.graph.domains.values import VALUES

from .zoo import QUICK, graph, program


@cache
def boxes(name: str) -> tuple[Interval, ...]:
    """One interval for each input of a program of the zoo."""
    p = program(name)
    g = graph(name)
    varied = {slot.id for i in p.vary for slot in g.argument(i % len(p.args)) if slot.is_real}
    leaves = g.signature.inputs_of(p.args)
    return tuple(
        Interval.around(x, p.radius) if slot.id in varied else Interval.point(x)
        for slot, x in zip(g.inputs, leaves)
    )


def points(box: Interval, dtype: Any, count: int, salt: int) -> np.ndarray:
    """Points of a box: corners, faces and the interior, independent for each box. The first two are its lowest and
    highest corner."""
    rng = np.random.default_rng([salt, box.lo.size])
    share = rng.uniform(size=(count, *box.shape))
    share[: count // 3] = np.round(share[: count // 3])
    share[count // 3 : count // 2] = np.clip(3 * share[count // 3 : count // 2] - 1, 0, 1)
    share[0], share[1] = 0.0, 1.0
    return np.clip(box.lo + share * (box.hi - box.lo), box.lo, box.hi).astype(dtype)


@cache
def every_slot(g: Graph) -> Any:
    """The values of all slots that are not constant, for a batch of inputs."""
    vary = [slot.id for slot in g.slots if slot.id not in g.constants]
    some = lambda found: {i: found.values[i] for i in vary}
    return jax.jit(jax.vmap(lambda *x: some(forward(VALUES, g, *x))), compiler_options=QUICK)


def sample(
    g: Graph, inputs: tuple[Interval, ...], count: int
) -> dict[int, tuple[np.ndarray, np.ndarray]]:
    """The smallest and largest value seen in each slot."""
    batches = [points(box, slot.dtype, count, slot.id) for slot, box in zip(g.inputs, inputs)]
    seen = jax.tree.map(np.asarray, every_slot(g)(*batches))
    return {i: (np.min(v, 0), np.max(v, 0)) for i, v in seen.items()}


@cache
def sampled(name: str) -> dict[int, tuple[np.ndarray, np.ndarray]]:
    return sample(graph(name), boxes(name), program(name).samples)


def violations(
    g: Graph,
    inputs: tuple[Interval, ...],
    seen: dict[int, tuple[np.ndarray, np.ndarray]],
    domain: Domain = INTERVAL,
) -> list[str]:
    """Slots whose enclosure misses a sample by more than the samples' own rounding."""
    found = forward(domain, g, *inputs)
    return [
        str(g.producers.get(i, g.slots[i]))
        for i, ends in seen.items()
        if not holds(found[i], *ends)
    ]


def holds(found: Interval, least: np.ndarray, most: np.ndarray) -> bool:
    size = np.maximum(np.abs(least), np.abs(most))
    slack = 1e-11 * (1 + np.where(np.isfinite(size), size, 0.0))
    lo = np.asarray(found.lo, float)
    hi = np.asarray(found.hi, float)
    return bool(np.all(lo <= least + slack) and np.all(most - slack <= hi))
