"""A short name for the exact content of a subject."""

import hashlib
from typing import Any

import numpy as np

from ftheta.lazy import is_array, jax, tree_leaves
from ftheta.logic.errors import SubjectError


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
    try:
        closed = jax.make_jaxpr(function)(*example)
    except jax.errors.JAXTypeError as error:
        raise SubjectError(
            "JAX cannot follow the function: it turns its argument into a Python number, or decides by it.",
            where=getattr(function, "__qualname__", type(function).__name__),
            got=str(error).splitlines()[0],
            remedy="write it with jax.numpy: jnp.sin(x) for math.sin(x), jnp.maximum(x, 0) for max(x, 0)",
        ) from None
    return digest(str(closed.jaxpr), list(closed.consts))
