"""Tensors of a file by their names, or by what the names begin with."""

import difflib
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

import numpy as np

from ftheta.logic.errors import SubjectError
from ftheta.networks.files import real

ENDINGS: Mapping[str, tuple[str, ...]] = {
    "weight": ("weight", "kernel", "W", "w"),
    "bias": ("bias", "b"),
    "scale": ("weight", "scale", "gamma"),
    "shift": ("bias", "beta"),
    "mean": ("running_mean", "mean", "moving_mean"),
    "variance": ("running_var", "var", "moving_variance"),
    "table": ("weight", "embedding", "embeddings"),
    "in_proj_weight": ("in_proj_weight",),
    "in_proj_bias": ("in_proj_bias",),
}
"""What frameworks call the tensors of a layer: PyTorch, flax, Keras."""
SEPARATORS = (".", "/", "_", "")
COUNTERS = "num_batches_tracked"
"""Kept by batch normalisation for training alone."""


class NamedTensors:
    """The tensors of a file, and which of them were taken."""

    def __init__(self, arrays: Mapping[str, np.ndarray], where: str) -> None:
        self.arrays = arrays
        self.where = where
        self.taken: dict[str, np.ndarray] = {}

    def find(self, role: str, given: str | None, prefix: str) -> str | None:
        """The name of the tensor that plays the role: the one given, or the only one that begins with `prefix`."""
        if given is not None:
            return self.take(given)
        if not prefix:
            return None
        names = {prefix + between + ending for between in SEPARATORS for ending in ENDINGS[role]}
        found = sorted(names.intersection(self.arrays))
        if len(found) > 1:
            raise SubjectError(
                f"More than one tensor may be the {role} of {prefix!r}.",
                where=self.where,
                got=", ".join(found),
                remedy=f'name one: {role} = "{found[0]}"',
            )
        return self.take(found[0]) if found else None

    def need(self, role: str, given: str | None, prefix: str, label: str) -> str:
        found = self.find(role, given, prefix)
        if found is None:
            raise SubjectError(
                f"The {role} of a layer is missing.",
                where=f"{self.where}, {label}",
                got=f"no tensor {prefix}.{ENDINGS[role][0]}"
                if prefix
                else "neither its name nor that of the layer",
                remedy=f'name it: {role} = "…"; {self._near(prefix)}',
            )
        return found

    def take(self, name: str) -> str:
        if name not in self.arrays:
            raise SubjectError(
                "There is no such tensor in the file.",
                where=self.where,
                got=name,
                remedy=self._near(name),
            )
        self.taken[name] = real(self.arrays[name], f"{self.where}: {name}")
        return name

    def _near(self, name: str) -> str:
        near = difflib.get_close_matches(name, self.arrays, n=3, cutoff=0.4)
        return (
            f"did you mean {', '.join(near)}?"
            if near
            else f"the file has {list_names(self.arrays)}"
        )

    def ensure_all_taken(self, ignore: Iterable[str]) -> None:
        """A tensor that no layer uses is a sign of a layer that was forgotten."""
        left = [
            name for name in self.arrays if name not in self.taken and not is_ignored(name, ignore)
        ]
        if left:
            raise SubjectError(
                "Tensors of the file are used by no layer.",
                where=self.where,
                got=list_names(left),
                remedy=f'add their layers to the spec, or write ignore = ["{left[0]}"] (* stands for anything)',
            )


def is_ignored(name: str, patterns: Iterable[str]) -> bool:
    """Whether a tensor of this name is left unread: batch counters, and what the patterns name."""
    return any(fnmatchcase(name, pattern) for pattern in (f"*{COUNTERS}", *patterns))


def list_names(names: Iterable[str], most: int = 8) -> str:
    """Names in a row, cut where there are too many."""
    names = list(names)
    return (
        ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
        or "nothing"
    )
