"""What is claimed of a table of layers: counts and shapes by formula, in the program, and as published."""

from ftheta.logic import Axis, Bars, Claim, Enclosure, Identity

from .stack import Stack

MOST_BARS = 20
PUBLISHED = {
    "AlexNet": 60_965_224,
    "AlexNet, ungrouped": 62_378_344,
    "VGG-16": 138_357_544,
    "ResNet-34": 21_797_672,
    "U-Net": 31_030_658,
    "GPT-1": 116_534_784,
}
"""Weights and biases of the published tables, as model zoos count them."""


def same_counts(stack: Stack) -> tuple[Claim, ...]:
    """The calculator against the program, traced on shapes alone, and against the number that is published."""
    exact = Enclosure.exact
    traced, shapes = stack.traced()
    wrong = sum(a != b for a, b in zip(shapes, stack.shapes[1:]))
    claims = (
        Identity(f"parameters of {stack.name}: by formula, in the program", exact(stack.parameters), exact(traced)),
        Identity(f"layers of {stack.name} whose shape differs from the program's", exact(wrong), exact(0)),
    )
    if stack.name not in PUBLISHED:
        return claims
    what = f"parameters of {stack.name}: by formula, as published"
    return (*claims, Identity(what, exact(stack.parameters), exact(PUBLISHED[stack.name])))


def per_layer(stack: Stack) -> Bars:
    """Where the parameters are."""
    rows = [(k, row) for k, row in enumerate(stack.rows(), 1) if row.parameters]
    if len(rows) > MOST_BARS:
        largest = sorted(rows, key=lambda r: -r[1].parameters)[:MOST_BARS]
        rows = [row for row in rows if row in largest]
    names = tuple(f"{k} · {row.name}" for k, row in rows)
    values = (tuple(row.parameters / 1e6 for _, row in rows),)
    return Bars(f"parameters of {stack.name}, layer by layer", Axis("millions of parameters"), names, ("",), values)
