"""Averaging over a finite group: of linear maps the orthogonal projection, of functions never a loss."""

from fractions import Fraction
from functools import partial
from typing import Annotated, Any

import numpy as np

from ftheta.groups.defects import evaluations_afforded, representations_for
from ftheta.groups.finite import cyclic, dihedral
from ftheta.groups.representations import Representation
from ftheta.logic import (
    AtMost,
    Axis,
    Bars,
    Basis,
    Chart,
    Claim,
    Enclosure,
    Evidence,
    Examples,
    Finding,
    Heatmap,
    Identity,
    Knob,
    hypothesis,
    theorem,
)
from ftheta.networks import random_mlp
from ftheta.networks.architectures.mosaics import tile_arrays
from ftheta.subjects import Dataset, Network
from ftheta.subjects.inputs import real_inputs

from .choices import ACTIONS, choose_action
from .linear_maps import Linear, convolution_defect, project_random_map, project_textbook_map
from .orbits import OnOrbits, average_gaps, evaluate_on_orbits, label_conflict, rows_of

EXACT = Enclosure.exact
SHOWN = 20_000  # entries of basis tensors
ZERO = 1e-9
MOST_BARS = 12


def on_whole_orbits(
    rng: np.random.Generator,
    *,
    action: str = "automatic",
    n: Annotated[
        int, Knob(2, 5, "points of the set or ring, nodes, or side of the image", "n", most=16)
    ] = 4,
    targets: Annotated[
        str, Knob(says="the targets", symbol="y", choices=("invariant", "its own values"))
    ] = "invariant",
) -> Network:
    shape = (
        (n, n)
        if action in ("permutations of nodes", "quarter turns", "turns and reflections")
        else (n,)
    )
    mlp = random_mlp(rng, (int(np.prod(shape)), 16, 1), "tanh", bias=0.5)
    net = Network(
        f"tanh network on {shape}", lambda p, x: mlp.apply(p, x.ravel()), mlp.params, shape
    )
    rho = moved_by(net, action)
    if not isinstance(rho, Representation):
        raise rho
    x = rng.normal(size=(max(1, 96 // rho.group.order), rho.dimension))
    x = np.concatenate([rho.move(g, x) for g in range(rho.group.order)])
    y = (
        np.array([net(row.reshape(shape)) for row in x])
        if targets != "invariant"
        else np.cos(x).sum(1)[:, None] / n
    )
    return net.with_data(
        Dataset(f"{len(x)} rows, whole orbits", x.reshape(len(x), *shape), y.reshape(len(x), 1))
    )


def moved_by(net: Network, action: str) -> Representation | Exception:
    return choose_action(action, net.input_shape)


@hypothesis(
    "a finite group moves the inputs",
    remedy="choose another group by `action`, or a network that fits it",
    name="a group that acts on the inputs",
)
def group_acts(net: Network, *, action: str) -> Finding:
    rho = moved_by(net, action)
    if not isinstance(rho, Representation):
        return Finding.failed(str(rho).replace("\n ", ";"))
    if evaluations_afforded(net) < rho.group.order:
        return Finding.failed(
            f"{rho.group.order} evaluations an orbit are too many for a network of this size"
        )
    return Finding.proved(
        f"{rho.group}, on inputs of shape {net.input_shape}", "ρ(gh) = ρ(g)ρ(h) for all g, h"
    )


@hypothesis(
    "targets in one orbit agree",
    remedy="give targets that the group does not change, or leave them out",
    name="invariant targets",
)
def invariant_targets(net: Network, *, action: str) -> Finding:
    rho = moved_by(net, action)
    x, y = rows_of(net)
    if y is None or not isinstance(rho, Representation):
        return Finding.proved(
            "the target is 0: no targets of the outputs' size are given", "0 is fixed"
        )
    met, worst = label_conflict(x, y, *representations_for(net, rho, None))
    note = f"{met} pairs of rows lie in one orbit, their targets differ by at most {worst:.3g}"
    same = worst <= 1e-12 * float(np.abs(y).max())
    return Finding.decide(same, note, "all pairs", Enclosure.equal(worst), basis=Basis.FLOAT)


@theorem(
    title="Averaging over a group: Reynolds projection and symmetrised networks",
    gist="Averaging a network over a finite symmetry group makes it equivariant and, if data and target are "
    "symmetric, never increases its squared risk; the equivariant linear maps are what weight sharing leaves free.",
    see_also=("conv-iff-equivariant", "subsampling-receptive-field", "noise-dropout-augmentation"),
    sources=(
        "murari-slides",
        "scaman-slides",
        "zaheer2017",
        "maron2019",
        "cohen2016",
        "elesedy2021",
    ),
    assumes=(real_inputs, group_acts, invariant_targets),
    on=on_whole_orbits,
    breaks_on=lambda rng: on_whole_orbits(rng, targets="its own values"),
    presets={
        "textbook": {},
        "graphs": {"action": "permutations of nodes"},
        "images": {"action": "turns and reflections"},
        "at the edge": {"action": "permutations of nodes", "n": 2},
        "broken on purpose": {"targets": "its own values"},
    },
)
def group_equivariant_linear_maps(
    net: Network,
    rng: np.random.Generator,
    *,
    action: Annotated[
        str, Knob(says="what moves", symbol="G", choices=tuple(ACTIONS))
    ] = "automatic",
) -> Evidence:
    r"""For representations $\rho_1,\rho_2$ of a finite group $G$ by unitary matrices, the average
    $\bar W=\frac1{|G|}\sum_g\rho_2(g)^{-1}W\rho_1(g)$ is the orthogonal projection on the maps with
    $\rho_2(g)W=W\rho_1(g)$ for all $g$, of dimension $\frac1{|G|}\sum_g\overline{\chi_2(g)}\chi_1(g)$: of $S_n$ on
    $\mathbb R^n$ the maps $aI+b\mathbf 1\mathbf 1^\top$, on $\mathbb R^{n\times n}$, $n\ge4$, of dimension 15. If law
    and target are invariant, then $\bar f(x)=\frac1{|G|}\sum_gf(gx)$ has
    $$\mathbb E|\bar f-y|^2=\mathbb E|f-y|^2-\mathbb E|f-\bar f|^2\le\mathbb E|f-y|^2.$$"""
    rho = moved_by(net, action)
    x, y = rows_of(net)
    if not isinstance(rho, Representation):
        return Evidence((), summary=str(rho))
    linear = project_random_map(rho, rng)
    seen = evaluate_on_orbits(net, rho, x, y)
    if seen is None:
        return Evidence((), summary="the outputs are nowhere finite")
    maps = f"{linear.maps.dimension} of {linear.W.size} maps commute; " if linear else ""
    return Evidence(
        claims=_risk_claims(seen),
        charts=_chart_orbits(seen),
        numbers=(linear.numbers() if linear else {}) | seen.numbers(),
        summary=f"{rho.group.name}: {maps}{seen.word} defect {seen.defects.max():.3g}, "
        f"risk {seen.risk:.4g}, of the average {seen.averaged_risk:.4g}",
        examples=partial(_examples, net, linear, seen),
    )


def _risk_claims(seen: OnOrbits) -> tuple[Claim, ...]:
    """Averaging does not increase the risk; what it takes away is the spread on orbits."""
    size = float((seen.values**2).sum(-1).mean() + (seen.y**2).sum(-1).mean()) or 1.0
    risk, averaged, parts = (
        Enclosure.equal(v)
        for v in (seen.risk, seen.averaged_risk, seen.averaged_risk + seen.spread)
    )
    law = (
        "its rows"
        if seen.closed
        else f"all {seen.source.group.order} copies of {len(seen.rows)} rows"
    )
    witness = seen.risks_again() if seen.averaged_risk > seen.risk + 1e-12 * size else None
    what = f"mean of |f̄ − y|² on {law}, at most that of |f − y|²"
    return (
        AtMost(what, averaged, risk, witness=witness, atol=1e-12 * size),
        Identity(
            "mean of |f − y|², and |f̄ − y|² plus the spread on orbits",
            risk,
            parts,
            atol=1e-12 * size,
        ),
    )


# ---- examples --------------------------------------------------------------------------------------------------------


def _examples(net: Network, linear: Linear | None, seen: OnOrbits) -> Examples:
    """A random linear map of the inputs projected, the average of this network moved, and group convolutions."""
    rng = np.random.default_rng(0)
    defects = {group.name: convolution_defect(group, rng) for group in (cyclic(4), dihedral(4))}
    return Examples(
        claims=(
            *(_projection_claims(linear) if linear else ()),
            *_average_claims(net, seen),
            *(
                Identity(f"largest defect of two {name} convolutions", EXACT(w), EXACT(0))
                for name, w in defects.items()
            ),
        ),
        charts=(_chart_basis(linear),) if linear else (),
        numbers=project_textbook_map(),
    )


def _projection_claims(linear: Linear) -> tuple[Claim, ...]:
    """Dimensions counted in several ways; the average of a map is the orthogonal projection, in integers."""
    maps = linear.maps
    S = linear.total
    n = linear.order
    counted = EXACT(Fraction(maps.by_characters))
    claims: list[Claim] = []
    if maps.by_null_space is not None:
        solved = EXACT(maps.by_null_space)
        claims.append(Identity("dimension: unknowns minus rank, and characters", solved, counted))
    if maps.by_orbits is not None:
        claims.append(
            Identity("dimension: orbits of pairs, and characters", EXACT(maps.by_orbits), counted)
        )
    again = np.rint(maps.project(S) * n).astype(np.int64)
    square = [Fraction(int((a.astype(object) ** 2).sum())) for a in (linear.W, S, n * linear.W - S)]
    kept = EXACT(square[1] / n**2 + square[2] / n**2)
    return (
        *claims,
        Identity(
            "largest |ρ(g)W̄ − W̄ρ(g)| over the group",
            EXACT(int(maps.commutators(S).max())),
            EXACT(0),
        ),
        Identity(
            "largest entry of the average of W̄, minus W̄",
            EXACT(int(np.abs(again - n * S).max())),
            EXACT(0),
        ),
        Identity("‖W‖² and ‖W̄‖² + ‖W − W̄‖²", EXACT(square[0]), kept),
        Identity(
            "largest entry of W̄ minus its expansion in the basis",
            EXACT(linear.off_basis()),
            EXACT(0),
        ),
    )


def _average_claims(net: Any, seen: OnOrbits) -> tuple[Claim, ...]:
    """Moved copies of a row have the same average, and the lift of a row is moved along: true by construction."""
    g, gap, lifted, size = average_gaps(net, seen)
    name = seen.source.group.names[g]
    atol = ZERO * size
    return (
        Identity(
            f"f̄ at a row moved by {name}, minus f̄ at the row moved",
            Enclosure.equal(gap),
            EXACT(0),
            atol=atol,
        ),
        Identity(
            f"the lift of f at a row moved by {name}, and moved",
            Enclosure.equal(lifted),
            EXACT(0),
            atol=atol,
        ),
    )


# ---- charts ----------------------------------------------------------------------------------------------------------


def _chart_basis(linear: Linear) -> Heatmap:
    """The first basis tensors side by side: where W may be non-zero, one free weight each."""
    basis = linear.maps.basis[: min(15, max(1, SHOWN // linear.W.size))]
    sheet = tile_arrays(basis, min(5, len(basis)))
    title = f"basis of the {linear.maps.dimension} maps that commute with {linear.maps.source.group.name}"
    shown = title + (f", the first {len(basis)}" if len(basis) < linear.maps.dimension else "")
    extent = (0.0, float(sheet.shape[1]), 0.0, float(sheet.shape[0]))
    if sheet.size < 200:  # so small that numbers would be written into the cells
        sheet = np.kron(sheet, np.ones((3, 3)))
    return Heatmap(
        shown, Axis("input coordinates"), Axis("output coordinates"), sheet[::-1], extent, "weight"
    )


def _chart_orbits(seen: OnOrbits) -> tuple[Chart, ...]:
    order = np.argsort(-seen.defects, kind="stable")[:MOST_BARS]
    names = tuple(seen.source.group.names[k] for k in order)
    values = (tuple(seen.defects[order]),)
    title = f"{seen.word} defect of f, element by element of {seen.source.group.name}"
    return (
        Bars(title, Axis("largest change of a row, relative to the outputs"), names, ("",), values),
        Bars(
            "what averaging over the group removes",
            Axis("mean squared distance"),
            ("f to the targets", "average to the targets", "f to its average"),
            ("",),
            ((seen.risk, seen.averaged_risk, seen.spread),),
        ),
    )
