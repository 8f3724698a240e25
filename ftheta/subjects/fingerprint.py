"""A short name for the exact content of a subject."""

import hashlib
from typing import Any

import numpy as np

from ftheta.lazy import is_array, jax, tree_leaves


def digest(*parts: Any) -> str:
    """Twelve hexadecimal digits that change when any array, number, string or traced function changes."""
    hasher = hashlib.sha256()
    for leaf in tree_leaves(parts, keep_none=True):
        if is_array(leaf):
            array = np.asarray(leaf)
            hasher.update(f"{array.dtype}{array.shape}".encode())
            hasher.update(np.ascontiguousarray(array).tobytes())
        else:
            hasher.update(repr(leaf).encode())
        hasher.update(b"|")
    return hasher.hexdigest()[:12]


def digest_function(function: Any, *example: Any) -> str:
    """A digest of what the function computes on arguments shaped like `example`: its graph and constants."""
    closed = jax.make_jaxpr(function)(*example)
    return digest(str(closed.jaxpr), list(closed.consts))
