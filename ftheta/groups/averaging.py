r"""What is claimed of averages over a group: of linear maps (Reynolds), and of a network on data."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.estimates import largest
from ftheta.graph.enclosing import enclose, enclose_number
from ftheta.logic import AtMost, Axis, Bars, Chart, Claim, Enclosure, Heatmap, Identity, Witness
from ftheta.networks.architectures.mosaics import tiled

from .actions import on_images
from .defects import evaluations_afforded, moved_outputs, output_shape, representations_for, root_mean_square
from .finite import cyclic, dihedral, symmetric
from .group_convolution import group_convolution, on_poses
from .maps import EquivariantMaps
from .representations import Representation, natural

EXACT = Enclosure.exact
MOST_MOVED = 4096  # inputs sent through the network
MOST_WORK = 1 << 24  # entries times elements, up to which the linear part is computed
MOST_ENTRIES = 4096  # of a linear map
SHOWN = 20_000  # entries of basis tensors
ZERO = 1e-9
ROWS = 512
MOST_BARS = 12


@dataclass(frozen=True, eq=False)
class Linear:
    """The maps of the inputs to themselves that commute with the group, and one integer map projected onto them."""

    maps: EquivariantMaps
    W: np.ndarray

    @property
    def order(self) -> int:
        return self.maps.source.group.order

    @cached_property
    def total(self) -> np.ndarray:
        r"""$|G|\bar W$, in integers."""
        return np.rint(self.maps.project(self.W) * self.order).astype(np.int64)

    def claims(self) -> tuple[Claim, ...]:
        maps, S, n = self.maps, self.total, self.order
        counted = EXACT(Fraction(maps.by_characters))
        claims: list[Claim] = []
        if maps.by_null_space is not None:
            solved = EXACT(maps.by_null_space)
            claims.append(Identity("dimension: unknowns minus rank, and characters", solved, counted))
        if maps.by_orbits is not None:
            claims.append(Identity("dimension: orbits of pairs, and characters", EXACT(maps.by_orbits), counted))
        again = np.rint(maps.project(S) * n).astype(np.int64)
        square = [Fraction(int((a.astype(object) ** 2).sum())) for a in (self.W, S, n * self.W - S)]
        kept = EXACT(square[1] / n**2 + square[2] / n**2)
        return (
            *claims,
            Identity("largest |ρ(g)W̄ − W̄ρ(g)| over the group", EXACT(int(maps.commutators(S).max())), EXACT(0)),
            Identity("largest entry of the average of W̄, minus W̄", EXACT(int(np.abs(again - n * S).max())), EXACT(0)),
            Identity("‖W‖² and ‖W̄‖² + ‖W − W̄‖²", EXACT(square[0]), kept),
            Identity("largest entry of W̄ minus its expansion in the basis", EXACT(self._off_basis()), EXACT(0)),
        )

    def _off_basis(self) -> Fraction:
        """By orbit sums in integers: the mean of W over an orbit of pairs is the entry of the average there."""
        orbits = self.maps.orbits
        assert orbits is not None
        sums = np.bincount(orbits.ravel(), self.W.ravel().astype(float)).astype(np.int64)
        sizes = np.bincount(orbits.ravel())
        gap = np.abs(sums[orbits] * self.order - self.total * sizes[orbits])
        return Fraction(int(gap.max()), self.order)

    def numbers(self) -> dict[str, Enclosure | float]:
        found: dict[str, Enclosure | float] = {"equivariant maps": EXACT(Fraction(self.maps.by_characters))}
        if self.maps.by_null_space is not None:
            found["by null space"] = EXACT(self.maps.by_null_space)
        if self.maps.by_orbits is not None:
            found["orbits of pairs"] = EXACT(self.maps.by_orbits)
        return found | {"all linear maps": EXACT(self.W.size)}

    def chart(self) -> Heatmap:
        """The first basis tensors side by side: where W may be non-zero, one free weight each."""
        basis = self.maps.basis[: min(15, max(1, SHOWN // self.W.size))]
        sheet = tiled(basis, min(5, len(basis)))
        title = f"basis of the {self.maps.dimension} maps that commute with {self.maps.source.group.name}"
        shown = title + (f", the first {len(basis)}" if len(basis) < self.maps.dimension else "")
        extent = (0.0, float(sheet.shape[1]), 0.0, float(sheet.shape[0]))
        if sheet.size < 200:  # so small that numbers would be written into the cells
            sheet = np.kron(sheet, np.ones((3, 3)))
        return Heatmap(shown, Axis("input coordinates"), Axis("output coordinates"), sheet[::-1], extent, "weight")


def linear_part(source: Representation, rng: np.random.Generator) -> Linear | None:
    """With a random integer map; None where the space is too large."""
    size = source.dimension**2
    if source.action is None or size > MOST_ENTRIES or size * source.group.order > MOST_WORK:
        return None
    return Linear(EquivariantMaps(source, source), rng.integers(-9, 10, (source.dimension,) * 2))


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
        return "invariance" if not (self.target.character - self.target.dimension).any() else "equivariance"

    def claims(self) -> tuple[Claim, ...]:
        size = float((self.values**2).sum(-1).mean() + (self.y**2).sum(-1).mean()) or 1.0
        risk, averaged, parts = (
            Enclosure.equal(v) for v in (self.risk, self.averaged_risk, self.averaged_risk + self.spread)
        )
        law = "its rows" if self.closed else f"all {self.source.group.order} copies of {len(self.rows)} rows"
        witness = self._again() if self.averaged_risk > self.risk + 1e-12 * size else None
        what = f"mean of |f̄ − y|² on {law}, at most that of |f − y|²"
        return (
            AtMost(what, averaged, risk, witness=witness, atol=1e-12 * size),
            Identity("mean of |f − y|², and |f̄ − y|² plus the spread on orbits", risk, parts, atol=1e-12 * size),
        )

    def _again(self) -> Witness | None:
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
            lambda end: np.stack([self.target.move(int(group.inverses[g]), end[g]) for g in range(group.order)])
        )
        risk = lambda v, y: jnp.mean(jnp.sum((v - y) ** 2, -1))
        averaged = enclose_number(lambda v, y: risk(jnp.mean(v, 0), y), values, self.y)
        seen = values.map(lambda end: end[group.identity]) if self.closed else values
        how = "the network in intervals rounded outward"
        return Witness({"rows": float(len(self.rows))}, averaged, enclose_number(risk, seen, self.y), how)

    def numbers(self) -> dict[str, Enclosure | float]:
        told = Enclosure.at_least(float(self.defects.max()), samples=self.values.shape[0] * self.values.shape[1])
        return {
            "group order": EXACT(self.source.group.order),
            f"{self.word} defect": told,
            "risk": self.risk,
            "risk of the average": self.averaged_risk,
            "spread on orbits": self.spread,
        }

    def charts(self) -> tuple[Chart, ...]:
        order = np.argsort(-self.defects, kind="stable")[:MOST_BARS]
        names, values = tuple(self.source.group.names[k] for k in order), (tuple(self.defects[order]),)
        title = f"{self.word} defect of f, element by element of {self.source.group.name}"
        return (
            Bars(title, Axis("largest change of a row, relative to the outputs"), names, ("",), values),
            Bars(
                "what averaging over the group takes away",
                Axis("mean squared distance"),
                ("f to the targets", "average to the targets", "f to its average"),
                ("",),
                ((self.risk, self.averaged_risk, self.spread),),
            ),
        )


def rows_of(net: Any, most: int = ROWS) -> tuple[np.ndarray, np.ndarray | None]:
    """Inputs, and targets of the outputs' size: the data's, one column a class where they are classes."""
    if net.data is None:
        return np.random.default_rng(0).normal(size=(most, *net.input_shape)), None
    x, y, k = net.data.x[:most], net.data.y, prod(output_shape(net))
    if y is None:
        return x, None
    flat = y[:most].reshape(len(x), -1)
    if flat.shape[1] == 1 < k and y.dtype.kind == "i":
        return x, np.eye(k)[flat[:, 0]]
    return x, flat.astype(float) if flat.shape[1] == k else None


def on_orbits(net: Any, source: Representation, x: np.ndarray, y: np.ndarray | None) -> OnOrbits | None:
    """The network along the orbits of as many rows as are affordable, and finite there; None where no row is."""
    source, target = representations_for(net, source, None)
    most = max(1, min(MOST_MOVED, evaluations_afforded(net)) // source.group.order)
    rows = x[:most].reshape(min(len(x), most), -1).astype(np.float64)
    labels = np.zeros((len(rows), target.dimension)) if y is None else y[:most]
    moved = moved_outputs(net, source, rows)
    back = np.stack([target.move(int(source.group.inverses[g]), moved[g]) for g in range(source.group.order)])
    finite = np.isfinite(back).all((0, 2))
    if not finite.any():
        return None
    closed = len(rows) == len(x) and bool(finite.all()) and _closed(rows, source)
    return OnOrbits(source, target, rows[finite], back[:, finite], labels[finite], closed, net)


def average_is_invariant(net: Any, seen: OnOrbits) -> tuple[Claim, ...]:
    r"""Moved copies of a row have the same average, and the lift $F(x)_k=f(kx)$ of a row is moved by $k\mapsto kg$."""
    source, group = seen.source, seen.source.group
    g = group.generators[0] if group.generators else group.identity
    rows = seen.rows[:1]
    here, there = (moved_outputs(net, source, source.move(h, rows))[:, 0] for h in (group.identity, g))
    # f(k·gx): entry kg of what was seen at x
    lifted = float(np.abs(there - here[group.table[:, g]]).max())
    back = [
        np.stack([seen.target.move(int(group.inverses[k]), v[k]) for k in range(group.order)]).mean(0)
        for v in (here, there)
    ]
    size = float(np.abs(here).max()) or 1.0
    gap = float(np.abs(back[1] - seen.target.move(g, back[0])).max())
    name = group.names[g]
    return (
        Identity(
            f"f̄ at a row moved by {name}, minus f̄ at the row moved", Enclosure.equal(gap), EXACT(0), atol=ZERO * size
        ),
        Identity(
            f"the lift of f at a row moved by {name}, and moved", Enclosure.equal(lifted), EXACT(0), atol=ZERO * size
        ),
    )


def label_conflict(x: np.ndarray, y: np.ndarray, source: Representation, target: Representation) -> tuple[int, float]:
    """Pairs of rows in one orbit that were met, and the largest difference between their targets."""
    rows = x.reshape(len(x), -1).astype(np.float64) + 0.0  # −0 is 0
    where = {row.tobytes(): i for i, row in enumerate(rows)}
    met, worst = 0, 0.0
    for g in range(source.group.order):
        moved = np.ascontiguousarray(source.move(g, rows))
        for i, row in enumerate(moved):
            j = where.get(row.tobytes())
            if j is not None and j != i:
                met += 1
                worst = largest(worst, np.abs(y[j] - target.move(g, y[i])))
    return met, worst


def _closed(rows: np.ndarray, source: Representation) -> bool:
    """Whether every generator maps the rows to the rows, as often as they come."""
    rows = rows + 0.0
    sorted_rows = sorted(row.tobytes() for row in rows)
    moved = (np.ascontiguousarray(source.move(g, rows)) for g in source.group.generators)
    return all(sorted(row.tobytes() for row in m) == sorted_rows for m in moved)


def group_convolutions(rng: np.random.Generator, side: int = 5) -> tuple[Claim, ...]:
    r"""A lifting and a group convolution with integer kernels, for $C_4$ and $D_4$, on a periodic integer image.

    Sums of small integers are exact in float64.
    """
    claims = []
    for group in (cyclic(4), dihedral(4)):
        x = rng.integers(-3, 4, (side, side, 2)).astype(float)
        first = rng.integers(-3, 4, (3, 3, 2, 2)).astype(float)
        second = rng.integers(-2, 3, (3, 3, group.order, 2, 1)).astype(float)

        def f(x: np.ndarray, group=group, first=first, second=second) -> np.ndarray:
            lifted = np.maximum(np.asarray(group_convolution(group, first, x)), 0)
            return np.asarray(group_convolution(group, second, lifted))

        pixels, poses = on_images(group, side, 2), on_poses(group, side)
        y, worst = f(x), 0
        for g in range(group.order):
            moved = pixels.move(g, x.reshape(-1)).reshape(x.shape)
            worst = max(worst, int(np.abs(f(moved).reshape(-1) - poses.move(g, y.reshape(-1))).max()))
        claims.append(Identity(f"largest defect of two {group.name} convolutions", EXACT(worst), EXACT(0)))
    return tuple(claims)


def textbook_projection() -> dict[str, Enclosure | float]:
    r"""$\begin{pmatrix}1&2\\3&4\end{pmatrix}$ averaged over $S_2$: $\frac52$ everywhere."""
    ring = natural(symmetric(2))
    W = EquivariantMaps(ring, ring).project(np.array([[1, 2], [3, 4]]))
    return {"textbook projection": float(W[0, 0]), "textbook projection, spread": float(np.ptp(W))}
