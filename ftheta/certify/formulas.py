"""Formulas about the inputs and outputs of a network: conjunctions and disjunctions of linear rows.

Trees may be nested as deeply as memory allows: whatever walks them does so without recursion.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

from .questions import Row


@dataclass(frozen=True, slots=True)
class And:
    """All `parts` hold; without parts it is true."""

    parts: "tuple[Formula, ...]"


@dataclass(frozen=True, slots=True)
class Or:
    """One of the `parts` holds; without parts it is false."""

    parts: "tuple[Formula, ...]"


@dataclass(frozen=True, slots=True)
class Not:
    """The `part`, which may have negations in it, does not hold."""

    part: "Row | And | Or | Not"


Formula = Row | And | Or
ONLY_ROWS = {Row}
Value = TypeVar("Value")


def fold(
    formula: Formula,
    of_row: Callable[[Row], Value],
    of_and: Callable[[list[Value]], Value],
    of_or: Callable[[list[Value]], Value],
) -> Value:
    """What a formula is worth, from the leaves up: a value for each row, and values combined by `of_and` and `of_or`.

    A conjunction directly in a conjunction is part of it, and a disjunction in a disjunction.
    """
    parents_first = list[Formula | tuple[type, int]]()  # or a connective, and how many parts it has
    waiting = [formula]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Row):
            parents_first.append(node)
            continue
        kinds = set(map(type, node.parts))
        if kinds == ONLY_ROWS:
            parents_first.append(node)
            continue
        parts = flat_parts(node) if type(node) in kinds else node.parts
        parents_first.append((type(node), len(parts)))
        waiting.extend(parts)
    return _combine(parents_first, of_row, of_and, of_or)


def flat_parts(node: And | Or) -> Sequence[Formula]:
    """The parts of a conjunction, and those of conjunctions among them in their place; likewise of a disjunction."""
    connective = type(node)
    parts = list[Formula]()
    waiting = list(reversed(node.parts))
    while waiting:
        part = waiting.pop()
        if isinstance(part, connective):
            waiting.extend(reversed(part.parts))
        else:
            parts.append(part)
    return parts


def holds(formula: Formula, x: Sequence[Fraction], y: Sequence[Fraction]) -> bool:
    """Whether a formula is true of an input and an output, exactly."""
    return fold(formula, lambda row: row.holds(x, y), all, any)


def negate(formula: Formula) -> Formula:
    """The opposite of a formula, again of rows: conjunctions become disjunctions, and ≤ becomes >."""
    return push_negations(Not(formula))


def push_negations(tree: Formula | Not) -> Formula:
    """The same formula without `Not`: negations are moved inwards, to the rows."""
    parents_first = list[Formula | tuple[type, int]]()
    waiting: list[tuple[Formula | Not, bool]] = [(tree, False)]
    while waiting:
        node, negated = waiting.pop()
        if isinstance(node, Not):
            waiting.append((node.part, not negated))
        elif isinstance(node, Row):
            parents_first.append(negate_row(node) if negated else node)
        else:
            connective = And if isinstance(node, And) is not negated else Or
            parents_first.append((connective, len(node.parts)))
            waiting.extend((part, negated) for part in node.parts)
    return _combine(
        parents_first, _same, lambda parts: And(tuple(parts)), lambda parts: Or(tuple(parts))
    )


def negate_row(row: Row) -> Row:
    """The row that holds exactly where this one does not: `not a ≤ b` is `-a < -b`."""
    inputs = {i: -p for i, p in row.inputs.items()}
    outputs = {j: -q for j, q in row.outputs.items()}
    return Row(inputs, outputs, -row.bound, not row.strict)


def _same(row: Row) -> Formula:
    return row


def _combine(
    parents_first: list[Formula | tuple[type, int]],
    of_row: Callable[[Row], Value],
    of_and: Callable[[list[Value]], Value],
    of_or: Callable[[list[Value]], Value],
) -> Value:
    """Values from the end of the list to its beginning; each connective takes those of its parts, in their order."""
    values = list[Value]()
    while parents_first:
        node = parents_first.pop()
        if isinstance(node, Row):
            values.append(of_row(node))
            continue
        if isinstance(node, tuple):
            connective, count = node
            below = len(values) - count
            parts = values[below:]
            del values[below:]
        else:
            connective = type(node)
            parts = list(map(of_row, node.parts))  # type: ignore[arg-type]  # rows only
        values.append(of_and(parts) if connective is And else of_or(parts))
    return values[0]
