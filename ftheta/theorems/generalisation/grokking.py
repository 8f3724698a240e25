"""Grokking: learned by heart early, understood late; and a network that understands by construction."""

from typing import Annotated

import numpy as np

from ftheta.datasets import dataset
from ftheta.generalisation.phenomena.grokking import Protocol
from ftheta.generalisation.phenomena.grokking_study import grokking_evidence
from ftheta.generalisation.phenomena.tables import Operation
from ftheta.logic import Enclosure, Evidence, Finding, Knob, hypothesis, theorem
from ftheta.subjects import Dataset

OPERATIONS = ("a+b", "a-b", "a*b", "a^2+b^2", "a^2+ab+b^2", "S4", "no rule", "two results")


def table(
    rng: np.random.Generator,
    *,
    operation: Annotated[str, Knob(says="the built-in operation: mod p, or a group", choices=OPERATIONS)] = "a+b",
    p: Annotated[int, Knob(5, 97, "modulus", "p", least=2, most=113)] = 23,
) -> Dataset:
    if operation == "S4":
        found = dataset("group", of="S4")
        return Dataset("composition in S4", found.x, found.y)
    found = dataset("modular", p=p, operation=operation if operation in OPERATIONS[:5] else "a+b")
    if operation == "no rule":
        return Dataset(f"a random table of {p} elements", found.x, rng.integers(0, p, len(found.y)))
    if operation == "two results":  # the first pair is listed again, with another result
        x, y = np.concatenate([found.x, found.x[:1]]), np.append(found.y, (found.y[0] + 1) % p)
        return Dataset("a pair with two results", x, y)
    return Dataset(f"{operation} mod {p}", found.x, found.y)


def two_results(rng: np.random.Generator, *, p: int = 23) -> Dataset:
    return table(rng, operation="two results", p=p)


@hypothesis(r"the rows are an operation: every pair $(a,b)$ once, with one result", remedy="drop the rows that repeat")
def an_operation(data: Dataset) -> Finding:
    found = Operation.of(data.name, data.x, data.y)
    note = f"{len(found):,} rows, {len(found.pairs):,} pairs of {found.elements} elements"
    return Finding.proved(note, "counted", Enclosure.exact(len(found.pairs))) if found.once else Finding.failed(note)


@theorem(
    title="Grokking on tables of operations",
    sources=("seed 3", "power2022", "gromov2023", "nanda2023"),
    assumes=(an_operation,),
    on=table,
    breaks_on=two_results,
    presets={
        "textbook": {},
        "what controls the delay": {"effects": True},
        "thirty-one elements": {"p": 31, "fraction": 0.4, "steps": 4000},
        "multiplication": {"operation": "a*b"},
        "symmetric group": {"operation": "S4", "fraction": 0.8, "decay": 2.0, "long": 3.0},
        "most pairs known": {"fraction": 0.8, "long": 3.0},
        "nothing to understand": {"operation": "no rule"},
        "at the edge": {"p": 11, "fraction": 0.3, "steps": 2000},
        "broken on purpose": {"operation": "two results"},
    },
)
def grokking(
    data: Dataset,
    rng: np.random.Generator,
    *,
    fraction: Annotated[float, Knob(0.2, 0.9, "share of the pairs that trains", least=0.01, most=0.99)] = 0.5,
    decay: Annotated[float, Knob(0, 5, "weight decay of AdamW", "λ", most=100)] = 1.0,
    hidden: Annotated[int, Knob(16, 256, "hidden units", "N", log=True, least=1, most=2048)] = 128,
    step: Annotated[float, Knob(1e-3, 0.02, "step of AdamW", "τ", log=True, least=1e-5, most=1)] = 0.005,
    steps: Annotated[int, Knob(300, 20_000, "optimisation steps", "K", log=True, least=10, most=200_000)] = 3000,
    seeds: Annotated[int, Knob(1, 10, "networks trained", "S", least=1, most=50)] = 3,
    long: Annotated[float, Knob(1, 50, "so many times later is long after", least=1, most=1e6)] = 5.0,
    effects: Annotated[bool, Knob(says="also vary weight decay and data share (a minute)")] = False,
) -> Evidence:
    r"""Train a network on a share of the table $(a,b)\mapsto a\circ b$. The training accuracy saturates at a time
    $t_{mem}$ long before the validation accuracy does, $t_{gen}\gg t_{mem}$; the delay shrinks with more data and
    moderate weight decay, and without weight decay the network does not generalise sooner. For $a+b\bmod p$ a
    solution has a closed form: the logits $$\sum_{k=1}^{p-1}\cos\frac{2\pi k(a+b-c)}p=\begin{cases}p-1&
    c\equiv a+b,\\-1&\text{otherwise,}\end{cases}$$ which one hidden layer of squares computes on all $p^2$ pairs."""
    operation = Operation.of(data.name, data.x, data.y)
    protocol = Protocol(fraction, decay, hidden, step, steps)
    return grokking_evidence(operation, protocol, int(rng.integers(2**31)), seeds, long, effects)
