"""Names, selections and branches of a jaxpr, as the walk of `jaxprs` meets them."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np


class Walk(Protocol):
    """What a construct needs of the walk: what is known of its slots, and ways to keep an equation or to enter it."""

    steps: tuple[int, ...]
    names: dict[int, str]
    fixed_names: set[int]
    constants: dict[int, Any]

    def keep(self, eqn: Any, inputs: list[int], source: str) -> list[int]: ...

    def enter(self, closed: Any, inputs: Sequence[int], where: str) -> list[int]: ...


def give_name(walk: Walk, eqn: Any, inputs: list[int], source: str) -> list[int]:
    """The slot of `named` keeps the first name it gets."""
    (slot,) = inputs
    if slot not in walk.fixed_names:
        walk.fixed_names.add(slot)
        walk.names[slot] = eqn.params["name"] + "".join(f"[{t}]" for t in walk.steps)
    return inputs


def select_case(walk: Walk, eqn: Any, inputs: list[int], source: str) -> list[int]:
    """A predicate that is constant and everywhere the same chooses its case here (`jnp.var` hides a NaN so)."""
    which, *cases = inputs
    values = np.unique(walk.constants[which]) if which in walk.constants else ()
    return [cases[int(values[0])]] if len(values) == 1 else walk.keep(eqn, inputs, source)


def take_branch(walk: Walk, eqn: Any, inputs: list[int], source: str) -> list[int]:
    """The branch that a known predicate takes."""
    which, *operands = inputs
    if which not in walk.constants:
        return walk.keep(eqn, inputs, source)
    branches = eqn.params["branches"]
    chosen = min(max(int(walk.constants[which]), 0), len(branches) - 1)
    return walk.enter(branches[chosen], operands, source)
