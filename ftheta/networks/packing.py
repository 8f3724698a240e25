"""Functions of several arrays (a dictionary, a tuple, any tree of them) or of token ids, as functions of one array.

Several inputs are one vector, their entries one after another, as those of files are (`programs/feeding.py`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import jax
import numpy as np

from ftheta.logic.errors import SubjectError, suggest

from .programs.feeding import Feed, Part


@dataclass(frozen=True)
class Packing:
    """How the one array that a network takes becomes the `tree` of arrays that its function takes."""

    feed: Feed
    tree: Any

    @property
    def parts(self) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """Names and shapes of the inputs, where there are several."""
        if len(self.feed.parts) == 1:
            return ()
        return tuple((part.name, part.shape) for part in self.feed.parts)

    def unpack(self, x: Any) -> Any:
        """The inputs of the function."""
        return jax.tree.unflatten(self.tree, list(self.feed.values(x).values()))


def is_shape(example: Any) -> bool:
    """Whether this is the shape of an array rather than a tuple of arrays."""
    return isinstance(example, (tuple, list)) and all(
        isinstance(length, Integral) for length in example
    )


def packing_of(example: Any, where: str) -> Packing | None:
    """The packing of inputs like the example; None of one array of real numbers, or of its shape."""
    leaves, tree = jax.tree_util.tree_flatten_with_path(example, is_leaf=is_shape)
    whole = {_is_whole(leaf) for _, leaf in leaves}
    if len(whole) != 1:
        raise SubjectError(
            "The inputs are of different types.",
            where=where,
            got="whole and real numbers" if whole else "an example without an array",
            remedy="fix one of them: lambda x: f({'x': x, 'ids': ids}); or make all of them real, or all whole",
        )
    if len(leaves) == 1 and not leaves[0][0] and whole == {False}:
        return None
    names = [jax.tree_util.keystr(path, simple=True, separator=".") for path, _ in leaves]
    parts = tuple(Part(name, shape_of(leaf), False) for name, (_, leaf) in zip(names, leaves))
    return Packing(Feed(parts, whole.pop()), tree)


def shape_of(example: Any) -> tuple[int, ...]:
    """The shape that an example input has or is."""
    return tuple(example) if is_shape(example) else np.shape(example)


def _is_whole(leaf: Any) -> bool:
    if is_shape(leaf):
        return False
    kind = getattr(leaf, "dtype", np.asarray(leaf).dtype).kind
    return kind in "iu"


def choose_output(
    apply: Callable[[Any, Any], Any], output: int | str, where: str
) -> Callable[[Any, Any], Any]:
    """The function of which one of several outputs is left: the one of this name, or of this number from 0."""

    def chosen(params: Any, x: Any) -> Any:
        found = apply(params, x)
        try:
            return found[output]
        except (KeyError, IndexError, TypeError) as error:
            known = [str(name) for name in found] if isinstance(found, dict) else []
            raise SubjectError(
                "The network has no such output.",
                where=where,
                got=repr(output),
                remedy=suggest(str(output), known, describe_outputs(found)),
            ) from error

    return chosen


def describe_outputs(found: Any) -> str:
    """How one of several outputs is chosen, in words."""
    if isinstance(found, dict):
        return "choose one: output=" + " or ".join(repr(name) for name in found)
    if isinstance(found, (tuple, list)):
        return f"choose one: output=0 … {len(found) - 1}"
    return "return one array"
