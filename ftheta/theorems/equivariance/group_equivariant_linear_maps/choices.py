"""Which group to try on inputs of a given shape, by name."""

from collections.abc import Callable
from math import prod

from ftheta.groups.actions import image_axes, on_graphs, on_images
from ftheta.groups.finite import Group, cyclic, dihedral, from_permutations, symmetric
from ftheta.groups.representations import Representation, natural, trivial
from ftheta.logic import UsageError

Shape = tuple[int, ...]
MOST_LISTED = 5  # points of which all permutations are tried without being asked to
MOST_RING = 64
LEAST_IMAGE = 3


def _rows(group: Group, shape: Shape) -> Representation:
    rest = prod(shape[1:])
    return natural(group) if rest == 1 else natural(group) * trivial(group, rest)


def _pairs(shape: Shape) -> Representation:
    if len(shape) < 2 or shape[0] != shape[1]:
        raise UsageError(
            "Permutations of nodes move square matrices.", got=f"inputs of shape {shape}"
        )
    return on_graphs(symmetric(shape[0]), prod(shape[2:]))


def _image(group: Group, shape: Shape) -> Representation:
    found = image_axes(shape)
    if found is None:
        got = f"inputs of shape {shape}"
        raise UsageError(
            "The inputs are no images.",
            got=got,
            remedy="give (side, side, channels) or a flat square",
        )
    (height, width), channels, first = found
    return on_images(group, (height, width), channels, channels_first=first)


def _reversal(shape: Shape) -> Representation:
    return _rows(from_permutations([list(range(shape[0]))[::-1]], "C2"), shape)


def choose_automatically(shape: Shape) -> Representation:
    """Rotations by 90° of square images; else all permutations of a few rows, shifts of more, the reversal of many."""
    image = image_axes(shape) if len(shape) != 2 else None
    if image is not None and image[0][0] == image[0][1] >= LEAST_IMAGE:
        return _image(cyclic(4), shape)
    n = shape[0] if shape else 0
    name = "permutations" if n <= MOST_LISTED else "shifts" if n <= MOST_RING else "reversal"
    return ACTIONS[name](shape)


ACTIONS: dict[str, Callable[[Shape], Representation]] = {
    "automatic": choose_automatically,
    "permutations": lambda shape: _rows(symmetric(shape[0]), shape),
    "permutations of nodes": _pairs,
    "shifts": lambda shape: _rows(cyclic(shape[0]), shape),
    "quarter turns": lambda shape: _image(cyclic(4), shape),
    "turns and reflections": lambda shape: _image(dihedral(4), shape),
    "reversal": _reversal,
}


def choose_action(action: str, shape: Shape) -> Representation | UsageError:
    """How that group moves such inputs, or why it does not."""
    try:
        if not shape:
            raise UsageError("A single number cannot be permuted.", got="an input without axes")
        return ACTIONS[action](shape)
    except UsageError as error:
        return error
