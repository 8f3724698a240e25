"""Pieces of deep networks against their bounds: what was found, what is attained, layer by layer."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from ftheta.logic import AtMost, Axis, Basis, Curves, Enclosure, Finding, Identity, Series, Table, hypothesis
from ftheta.relu.exact import from_description

from .. import Box, pieces
from ..complex import Complex
from ..geometry import facets
from ..normal_forms import normal_form, told_form
from .bounds import Layer, folding_network, layers_of, montufar_lower, montufar_network, product_upper, serra_upper

MOST_BUILT = 20_000  # pieces of a construction that is built to be counted
MOST_COMPARED = 3_000  # among them, cells whose maps are compared in rational arithmetic


@hypothesis(
    r"layer $\ell$ has $n_\ell$ ReLUs and no more", remedy="describe the network as it is applied, or not at all"
)
def neurons_as_told(net: Any) -> Finding:
    read, told = normal_form(net), told_form(net)
    form = read.network
    if form is None:
        return Finding.failed("there is no normal form to count in")
    found, listed = ([y.neurons for y in layers_of(f)] for f in (form, told or form))
    note = f"ReLUs in the normal form: {_listed(found)}; in the list of layers: {_listed(listed)}"
    if found != listed:
        return Finding.failed(note, Enclosure.exact(sum(found)))
    return Finding.proved(note, "counted in both", basis=Basis.EXACT if read.refusal else read.basis)


def _listed(counts: list[int]) -> str:
    return ", ".join(map(str, counts[:12])) + (" …" if len(counts) > 12 else "") or "none"


def bounded(pieces: Enclosure, d: int, layers: Sequence[Layer]) -> tuple[AtMost, AtMost]:
    """The pieces found in dimension `d`, the bound of Serra et al., and the product bound."""
    serra, product = serra_upper(d, layers), product_upper(d, layers)
    neurons = sum(layer.neurons for layer in layers)
    trivial = 2.0**neurons if neurons < 1000 else float("inf")
    first = AtMost("pieces on the slice ≤ bound of Serra et al.", pieces, Enclosure.exact(serra), trivial)
    share = Enclosure.exact(Fraction(serra, product))  # of whole numbers that float64 may not hold
    return first, AtMost("bound of Serra et al. ≤ product bound (their quotient)", share, Enclosure.exact(1))


def attained(d: int, layers: Sequence[Layer], folds: int, max_work: int) -> dict[str, Identity]:
    """Linear regions of constructions in the cube: Montúfar's for these widths where it is small enough, a folding."""
    widths, lower = [layer.neurons for layer in layers], montufar_lower(d, [layer.neurons for layer in layers])
    made = {"folding": (folding_network(d, 2 * d, folds), 2 ** (folds * d), f"cube folded {folds} times")}
    if widths and min(widths) >= d and (widths[-1] > d or len(widths) == 1) and lower <= MOST_BUILT:
        made["Montúfar"] = (montufar_network(d, widths), lower, "network of Montúfar et al. with these widths")
    cube, found = Box(np.zeros(d), np.ones(d)), {}
    for name, (told, expected, words) in made.items():
        cells = pieces(from_description(told), cube, max_work=max_work)
        found[name] = Identity(f"linear regions of the {words}", linear_regions(cells), Enclosure.exact(expected))
    return found


def linear_regions(cells: Complex) -> Enclosure:
    """Their number: exact where every facet inside has its two cells and their maps differ in rational arithmetic."""
    if not cells.certificate.complete:
        return Enclosure.at_least(1)
    _, label, _ = facets(cells)
    pairs, layer = cells.adjacency, len(cells.plan.net.steps)
    if len(cells) <= MOST_COMPARED and 2 * len(pairs) == int((label >= 0).sum()):
        numbers = [cells.pattern_number(i) for i in range(len(cells))]
        form = lambda i, k: cells.exact_forms.form(layer, k, numbers[i])
        if all(any(form(i, k) != form(j, k) for k in range(cells.plan.outputs)) for i, j in pairs[:, :2].tolist()):
            return cells.count
    return Enclosure.equal(int(cells.linear_regions().max(initial=-1)) + 1)


def bounds_table(d: int, inputs: int, layers: Sequence[Layer]) -> Table:
    """The bounds on the slice and in all inputs; those beyond float64 as powers of ten."""
    rules = {
        "attained by some network": lambda k: montufar_lower(k, [layer.neurons for layer in layers]),
        "Serra et al.": lambda k: serra_upper(k, layers),
        "product": lambda k: product_upper(k, layers),
    }
    rows = tuple((name, shortly(rule(d)), shortly(rule(inputs))) for name, rule in rules.items())
    return Table("bounds", ("bound", f"on the slice (d = {d})", f"in all inputs (d = {inputs})"), rows)


def shortly(n: int) -> int | str:
    """The number, or its power of ten where it is long."""
    return n if n < 10**15 else f"about 10^{len(str(n)) - 1}"


def layer_by_layer(cells: Complex) -> list[int]:
    """The pieces of the first 1, 2, … hidden layers: each has a pattern of its own, the beginning of longer ones."""
    ends = np.cumsum([int(step.rectified.sum()) for step in cells.plan.net.steps[:-1]])
    return [len(np.unique(np.packbits(cells.activation[:, :end], axis=1), axis=0)) for end in ends.tolist()]


def ladder(cells: Complex, layers: Sequence[Layer]) -> Curves:
    """Pieces after every hidden layer, between the bounds."""
    d, depth = cells.dimension, range(1, len(layers) + 1)
    parts = [layers[:k] for k in depth]
    series = [
        Series("pieces found", depth, layer_by_layer(cells), mark="points"),
        Series("product bound", depth, [_drawn(product_upper(d, part)) for part in parts], "bound"),
        Series("Serra et al.", depth, [_drawn(serra_upper(d, part)) for part in parts], "reference"),
    ]
    lower = [montufar_lower(d, [layer.neurons for layer in part]) for part in parts]
    if lower and min(lower) > 0:
        series.append(Series("attained by some network", depth, [_drawn(n) for n in lower], "other"))
    return Curves("pieces, layer by layer", Axis("hidden layers"), Axis("pieces", "log"), tuple(series))


def _drawn(n: int) -> float:
    return float(min(n, 10**300))
