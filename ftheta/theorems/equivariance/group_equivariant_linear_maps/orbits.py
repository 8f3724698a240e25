"""A network along the orbits of its inputs: its average over the group, its risk, and its equivariance defect."""

from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.estimates import largest
from ftheta.graph.enclosing import enclose, enclose_number
from ftheta.groups.defects import (
    evaluations_afforded,
    moved_outputs,
    output_shape,
    representations_for,
    root_mean_square,
)
from ftheta.groups.representations import Representation
from ftheta.logic import Enclosure, Witness

EXACT = Enclosure.exact
MOST_MOVED = 4096  # inputs sent through the network
ROWS = 512


@dataclass(frozen=True, eq=False)
class OnOrbits:
    r"""`values[g, i]` is $\rho_2(g)^{-1}f(\rho_1(g)x_i)$; `y` are targets of the same shape as outputs.

    `closed`: the rows, with their multiplicities, are whole orbits, so that their own law is invariant. Otherwise the
    law is that of all moved rows, each with its target moved along.
    """

    source: Representation
    target: Representation
    rows: np.ndarray
    values: np.ndarray
    y: np.ndarray
    closed: bool
    net: Any = None

    @cached_property
    def mean(self) -> np.ndarray:
        r"""$\bar f(x_i)$."""
        return self.values.mean(0)

    @property
    def risk(self) -> float:
        """The mean squared distance of f to the targets, under the law."""
        seen = self.values[self.source.group.identity] if self.closed else self.values
        return float(((seen - self.y) ** 2).sum(-1).mean())

    @property
    def averaged_risk(self) -> float:
        return float(((self.mean - self.y) ** 2).sum(-1).mean())

    @property
    def spread(self) -> float:
        """The mean squared distance of f on an orbit to its average there."""
        return float(((self.values - self.mean) ** 2).sum(-1).mean())

    @cached_property
    def defects(self) -> np.ndarray:
        """The largest change of a row, relative to the outputs, for every element."""
        still = self.values[self.source.group.identity]
        return np.linalg.norm(self.values - still, axis=2).max(1) / root_mean_square(still)

    @property
    def word(self) -> str:
        return (
            "invariance"
            if not (self.target.character - self.target.dimension).any()
            else "equivariance"
        )

    def risks_again(self) -> Witness | None:
        """Both risks in intervals; None where outputs move otherwise than by exchanging entries."""
        group = self.source.group
        if self.net is None or self.target.action is None:
            return None
        orbit = np.concatenate([self.source.move(g, self.rows) for g in range(group.order)])
        found = enclose(jax.vmap(self.net), orbit.reshape(-1, *self.net.input_shape))
        if found is None:
            return None
        moved = found.map(lambda end: end.reshape(group.order, len(self.rows), -1))
        values = moved.map(
            lambda end: np.stack(
                [self.target.move(int(group.inverses[g]), end[g]) for g in range(group.order)]
            )
        )
        risk = lambda v, y: jnp.mean(jnp.sum((v - y) ** 2, -1))
        averaged = enclose_number(lambda v, y: risk(jnp.mean(v, 0), y), values, self.y)
        seen = values.map(lambda end: end[group.identity]) if self.closed else values
        how = "the network in intervals rounded outward"
        return Witness(
            {"rows": float(len(self.rows))}, averaged, enclose_number(risk, seen, self.y), how
        )

    def numbers(self) -> dict[str, Enclosure | float]:
        defect = Enclosure.at_least(
            float(self.defects.max()), samples=self.values.shape[0] * self.values.shape[1]
        )
        return {
            "group order": EXACT(self.source.group.order),
            f"{self.word} defect": defect,
            "risk": self.risk,
            "risk of the average": self.averaged_risk,
            "spread on orbits": self.spread,
        }


def rows_of(net: Any, most: int = ROWS) -> tuple[np.ndarray, np.ndarray | None]:
    """Inputs, and targets of the outputs' size: the data's, one column a class where they are classes."""
    if net.data is None:
        return np.random.default_rng(0).normal(size=(most, *net.input_shape)), None
    x = net.data.x[:most]
    y = net.data.y
    k = prod(output_shape(net))
    if y is None:
        return x, None
    flat = y[:most].reshape(len(x), -1)
    if flat.shape[1] == 1 < k and y.dtype.kind == "i":
        return x, np.eye(k)[flat[:, 0]]
    return x, flat.astype(float) if flat.shape[1] == k else None


def evaluate_on_orbits(
    net: Any, source: Representation, x: np.ndarray, y: np.ndarray | None
) -> OnOrbits | None:
    """The network along the orbits of as many rows as are affordable, and finite there; None where no row is."""
    source, target = representations_for(net, source, None)
    most = max(1, min(MOST_MOVED, evaluations_afforded(net)) // source.group.order)
    rows = x[:most].reshape(min(len(x), most), -1).astype(np.float64)
    labels = np.zeros((len(rows), target.dimension)) if y is None else y[:most]
    moved = moved_outputs(net, source, rows)
    back = np.stack(
        [target.move(int(source.group.inverses[g]), moved[g]) for g in range(source.group.order)]
    )
    finite = np.isfinite(back).all((0, 2))
    if not finite.any():
        return None
    closed = len(rows) == len(x) and bool(finite.all()) and is_closed(rows, source)
    return OnOrbits(source, target, rows[finite], back[:, finite], labels[finite], closed, net)


def average_gaps(net: Any, seen: OnOrbits) -> tuple[int, float, float, float]:
    r"""A generator $g$; how far $\bar f(gx)$ is from $\rho_2(g)\bar f(x)$; how far the lift $F(gx)_k=f(kgx)$ is from
    $F(x)$ moved by $k\mapsto kg$; and the size of the outputs, all at the first row."""
    source = seen.source
    group = seen.source.group
    g = group.generators[0] if group.generators else group.identity
    rows = seen.rows[:1]
    here, there = (
        moved_outputs(net, source, source.move(h, rows))[:, 0] for h in (group.identity, g)
    )
    # f(k·gx): entry kg of what was seen at x
    lifted = float(np.abs(there - here[group.table[:, g]]).max())
    back = [
        np.stack([seen.target.move(int(group.inverses[k]), v[k]) for k in range(group.order)]).mean(
            0
        )
        for v in (here, there)
    ]
    size = float(np.abs(here).max()) or 1.0
    gap = float(np.abs(back[1] - seen.target.move(g, back[0])).max())
    return g, gap, lifted, size


def label_conflict(
    x: np.ndarray, y: np.ndarray, source: Representation, target: Representation
) -> tuple[int, float]:
    """Pairs of rows in one orbit that were met, and the largest difference between their targets, one of them moved
    along; a row that stays where it is asks its own target to stay too."""
    rows = x.reshape(len(x), -1).astype(np.float64) + 0.0  # −0 is 0
    where = {row.tobytes(): i for i, row in enumerate(rows)}
    met = 0
    worst = 0.0
    for g in range(source.group.order):
        moved = np.ascontiguousarray(source.move(g, rows))
        for i, row in enumerate(moved):
            j = where.get(row.tobytes())
            if j is not None:
                met += j != i
                worst = largest(worst, np.abs(y[j] - target.move(g, y[i])))
    return met, worst


def is_closed(rows: np.ndarray, source: Representation) -> bool:
    """Whether every generator maps the rows to the rows, as often as they come."""
    rows = rows + 0.0
    sorted_rows = sorted(row.tobytes() for row in rows)
    moved = (np.ascontiguousarray(source.move(g, rows)) for g in source.group.generators)
    return all(sorted(row.tobytes() for row in m) == sorted_rows for m in moved)
