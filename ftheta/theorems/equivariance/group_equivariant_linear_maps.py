"""Averaging over a finite group: of linear maps the orthogonal projection, of functions never a loss."""

from typing import Annotated

import numpy as np

from ftheta.groups import averaging, choosing
from ftheta.groups.defects import evaluations_afforded, representations_for
from ftheta.groups.representations import Representation
from ftheta.logic import Basis, Enclosure, Evidence, Finding, Knob, hypothesis, theorem
from ftheta.networks import random_mlp
from ftheta.subjects import Dataset, Network
from ftheta.subjects.inputs import real_inputs


def on_whole_orbits(
    rng: np.random.Generator,
    *,
    action: str = "automatic",
    n: Annotated[int, Knob(2, 5, "points of the set or ring, nodes, or side of the image", "n", most=16)] = 4,
    targets: Annotated[
        str, Knob(says="the targets", symbol="y", choices=("invariant", "its own values"))
    ] = "invariant",
) -> Network:
    shape = (n, n) if action in ("permutations of nodes", "quarter turns", "turns and reflections") else (n,)
    mlp = random_mlp(rng, (int(np.prod(shape)), 16, 1), "tanh", bias=0.5)
    net = Network(f"tanh network on {shape}", lambda p, x: mlp.apply(p, x.ravel()), mlp.params, shape)
    rho = moved_by(net, action)
    if not isinstance(rho, Representation):
        raise rho
    x = rng.normal(size=(max(1, 96 // rho.group.order), rho.dimension))
    x = np.concatenate([rho.move(g, x) for g in range(rho.group.order)])
    y = np.array([net(row.reshape(shape)) for row in x]) if targets != "invariant" else np.cos(x).sum(1)[:, None] / n
    return net.with_data(Dataset(f"{len(x)} rows, whole orbits", x.reshape(len(x), *shape), y.reshape(len(x), 1)))


def moved_by(net: Network, action: str) -> Representation | Exception:
    return choosing.chosen(action, net.input_shape)


@hypothesis("a finite group moves the inputs", remedy="choose another group by `action`, or a network that fits it")
def group_acts(net: Network, *, action: str) -> Finding:
    rho = moved_by(net, action)
    if not isinstance(rho, Representation):
        return Finding.failed(str(rho).replace("\n ", ";"))
    if evaluations_afforded(net) < rho.group.order:
        return Finding.failed(f"{rho.group.order} evaluations an orbit are too many for a network of this size")
    return Finding.proved(f"{rho.group}, on inputs of shape {net.input_shape}", "ρ(gh) = ρ(g)ρ(h) for all g, h")


@hypothesis("targets in one orbit agree", remedy="give targets that the group does not change, or leave them out")
def invariant_targets(net: Network, *, action: str) -> Finding:
    rho, (x, y) = moved_by(net, action), averaging.rows_of(net)
    if y is None or not isinstance(rho, Representation):
        return Finding.proved("the target is 0: no targets of the outputs' size are given", "0 is fixed")
    met, worst = averaging.label_conflict(x, y, *representations_for(net, rho, None))
    note = f"{met} pairs of rows lie in one orbit, their targets differ by at most {worst:.3g}"
    return Finding.decide(worst <= 1e-12, note, "all pairs", Enclosure.equal(worst), basis=Basis.FLOAT)


@theorem(
    title="Averaging over a group: Reynolds projection and symmetrised networks",
    sources=("seed 2", "seed 3", "zaheer2017", "maron2019", "cohen2016", "elesedy2021"),
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
    action: Annotated[str, Knob(says="what moves", symbol="G", choices=tuple(choosing.ACTIONS))] = "automatic",
) -> Evidence:
    r"""For representations $\rho_1,\rho_2$ of a finite group $G$ by unitary matrices, the average
    $\bar W=\frac1{|G|}\sum_g\rho_2(g)^{-1}W\rho_1(g)$ is the orthogonal projection on the maps with
    $\rho_2(g)W=W\rho_1(g)$ for all $g$, of dimension $\frac1{|G|}\sum_g\overline{\chi_2(g)}\chi_1(g)$: of $S_n$ on
    $\mathbb R^n$ the maps $aI+b\mathbf 1\mathbf 1^\top$, on $\mathbb R^{n\times n}$, $n\ge4$, of dimension 15. If law
    and target are invariant, then $\bar f(x)=\frac1{|G|}\sum_gf(gx)$ has
    $$\mathbb E|\bar f-y|^2=\mathbb E|f-y|^2-\mathbb E|f-\bar f|^2\le\mathbb E|f-y|^2.$$"""
    rho, (x, y) = moved_by(net, action), averaging.rows_of(net)
    if not isinstance(rho, Representation):
        return Evidence((), summary=str(rho))
    linear, seen = averaging.linear_part(rho, rng), averaging.on_orbits(net, rho, x, y)
    if seen is None:
        return Evidence((), summary="the outputs are nowhere finite")
    claims = (*(linear.claims() if linear else ()), *seen.claims(), *averaging.average_is_invariant(net, seen))
    maps = f"{linear.maps.dimension} of {linear.W.size} maps commute; " if linear else ""
    return Evidence(
        (*claims, *averaging.group_convolutions(rng)),
        (*((linear.chart(),) if linear else ()), *seen.charts()),
        averaging.textbook_projection() | (linear.numbers() if linear else {}) | seen.numbers(),
        summary=f"{rho.group.name}: {maps}{seen.word} defect {seen.defects.max():.3g}, "
        f"risk {seen.risk:.4g}, of the average {seen.averaged_risk:.4g}",
    )
