"""Loops of a jaxpr written out step by step, as the walk of `jaxprs` meets them."""

from collections.abc import Sequence
from typing import Any, Protocol

from ftheta.graph.errors import UnknownTripCount
from ftheta.graph.leaves import stack_jaxpr, unstack_jaxpr


class Walk(Protocol):
    """What a loop needs of the walk: what is known of its slots, and a way into the body."""

    budget: int
    visited: int
    steps: tuple[int, ...]
    constants: dict[int, Any]
    avals: Any

    def count(self, equations: int, source: str, construct: str) -> None: ...

    def enter(self, closed: Any, inputs: Sequence[int], where: str) -> list[int]: ...


def unroll_scan(walk: Walk, eqn: Any, inputs: list[int], source: str) -> list[int]:
    """carry_{t+1}, y_t = body(consts, carry_t, x_t), written out for t = 0 .. T-1 (or downwards)."""
    p = eqn.params
    length = p["length"]
    body = p["jaxpr"]
    carried = p["num_carry"]
    if walk.visited + length * len(body.jaxpr.eqns) > walk.budget:
        walk.count(length * len(body.jaxpr.eqns), source, f"scan of length {length}")
    constants = inputs[: p["num_consts"]]
    carry = inputs[p["num_consts"] : p["num_consts"] + carried]
    rows = [
        walk.enter(unstack_jaxpr(walk.avals[x], length), [x], source)
        for x in inputs[p["num_consts"] + carried :]
    ]
    results: list[Any] = [None] * length
    outer = walk.steps
    for t in reversed(range(length)) if p["reverse"] else range(length):
        walk.steps = (*outer, t)
        out = walk.enter(body, [*constants, *carry, *(row[t] for row in rows)], source)
        carry, results[t] = out[:carried], out[carried:]
    walk.steps = outer
    stacks = [
        walk.enter(stack_jaxpr(v.aval, length), [y[k] for y in results], source)[0]
        for k, v in enumerate(body.jaxpr.outvars[carried:])
    ]
    return [*carry, *stacks]


def unroll_while(walk: Walk, eqn: Any, inputs: list[int], source: str) -> list[int]:
    """Unrolled as long as the predicate is known; a predicate that depends on the inputs cannot be."""
    p = eqn.params
    outer = walk.steps
    t = 0
    cut = p["cond_nconsts"] + p["body_nconsts"]
    of_test = inputs[: p["cond_nconsts"]]
    of_body = inputs[p["cond_nconsts"] : cut]
    state = inputs[cut:]
    while True:
        (more,) = walk.enter(p["cond_jaxpr"], [*of_test, *state], source)
        if more not in walk.constants:
            raise UnknownTripCount(
                "a while loop whose number of steps depends on the inputs has no finite graph (and no reverse mode)",
                where=source,
                got=f"a predicate that is not constant at step {t}",
                remedy="use lax.fori_loop with static bounds or lax.scan, or wrap the loop in jax.custom_vjp",
            )
        if not walk.constants[more]:
            break
        walk.steps = (*outer, t)
        state = walk.enter(p["body_jaxpr"], [*of_body, *state], source)
        t = t + 1
    walk.steps = outer
    return list(state)
