"""Chains of dense layers recognised by the names and shapes of their tensors.

Layers whose names differ in one number come in the order of that number. An order of all layers is one in which the
shapes chain; it counts only if it is the only one.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from .tensors import COUNTERS, ENDINGS

Layout = Literal["torch", "jax"]
MOST_LAYERS = 1000
_MOST_STEPS = 20_000  # of the search for an order


@dataclass(frozen=True)
class Link:
    """One dense layer: what the names of its tensors begin with, and the tensors."""

    prefix: str
    weight: str
    bias: str | None
    ending: str


@dataclass(frozen=True)
class Chain:
    """Dense layers in order; `layout` says whether matrices are (out, in), "torch", or (in, out), "jax"."""

    links: tuple[Link, ...]
    layout: Layout


def chain(arrays: Mapping[str, np.ndarray], layout: str | None = None) -> Chain | None:
    """The chain that the arrays are, if names and shapes leave no choice; `layout` may settle one."""
    links = _links(arrays)
    if links is None or len(links) > MOST_LAYERS:
        return None
    wanted: tuple[Layout, ...] = (
        ("torch", "jax") if layout is None else ("torch" if layout == "torch" else "jax",)
    )
    fits = [Chain(order, way) for way in wanted for order in _orders(links, arrays, way)]
    if len(fits) > 1 and {link.ending for link in links} in ({"weight"}, {"kernel"}):
        # all frameworks agree on these two words
        meant = "torch" if links[0].ending == "weight" else "jax"
        fits = [found for found in fits if found.layout == meant]
    return fits[0] if len(fits) == 1 else None


def _links(arrays: Mapping[str, np.ndarray]) -> list[Link] | None:
    """Matrices and the vectors that belong to them; None if anything else is there."""
    pattern = rf"^(.*?)[._/]?({'|'.join(ENDINGS['weight'])})([._]?\d*)$"
    links = list[Link]()
    used = set[str]()
    for name, array in arrays.items():
        match = re.match(pattern, name)
        if match is None or array.ndim != 2:
            continue
        start, ending, number = match.groups()
        between = name[len(start) : match.start(2)]
        biases = [f"{start}{between}{word}{number}" for word in ENDINGS["bias"]]
        bias = next((b for b in biases if b in arrays and arrays[b].ndim == 1), None)
        links.append(Link(f"{start}{number}", name, bias, ending))
        used |= {name} if bias is None else {name, bias}
    left = [name for name in arrays if name not in used and not name.endswith(COUNTERS)]
    return links if links and not left else None


def _orders(
    links: list[Link], arrays: Mapping[str, np.ndarray], layout: Layout
) -> Iterator[tuple[Link, ...]]:
    """Up to two orders in which shapes chain and numbers grow."""
    shapes = {link: arrays[link.weight].shape[:: 1 if layout == "torch" else -1] for link in links}
    if any(link.bias is not None and arrays[link.bias].shape != shapes[link][:1] for link in links):
        return
    before = {link: _smaller(link, links) for link in links}
    waiting: list[tuple[Link, ...]] = [()]
    found = 0
    for _ in range(_MOST_STEPS):
        if not waiting or found == 2:
            return
        taken = waiting.pop()
        if len(taken) == len(links):
            found += 1
            yield taken
            continue
        for link in links:
            ready = link not in taken and before[link] <= set(taken)
            if ready and (not taken or shapes[taken[-1]][0] == shapes[link][1]):
                waiting.append((*taken, link))
    yield from ((), ())  # undecided: as good as two


def _smaller(link: Link, links: list[Link]) -> set[Link]:
    """The layers of the same name with a smaller number, and that number only."""
    stem, numbers = _parts(link.prefix)
    others = ((other, *_parts(other.prefix)) for other in links)
    return {other for other, s, n in others if s == stem and n < numbers}


def _parts(prefix: str) -> tuple[str, tuple[int, ...]]:
    return re.sub(r"\d+", "#", prefix), tuple(int(n) for n in re.findall(r"\d+", prefix))
