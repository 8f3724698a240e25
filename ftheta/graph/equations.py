"""What an equation of a jaxpr computes, and the precision it was traced in."""

import contextlib
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


def kind_of(eqn: Any) -> Any:
    """What an equation computes, as a key: primitive, parameters and types of the operands."""
    key = (eqn.primitive.name, tuple(eqn.params.items()), tuple(v.aval for v in eqn.invars))
    try:
        hash(key)
    except TypeError:  # a parameter that cannot be compared
        return None
    return key


def precision_of(eqn: Any) -> contextlib.AbstractContextManager[None]:
    """The precision mode that an equation was traced in: a function may choose 64 bits for itself."""
    wide = any(
        jnp.dtype(v.aval.dtype).itemsize == 8
        for v in (*eqn.invars, *eqn.outvars)
        if _has_plain_type(v)
    )
    return jax.enable_x64(True) if wide else contextlib.nullcontext()


def _has_plain_type(v: Any) -> bool:
    return isinstance(getattr(v.aval, "dtype", None), np.dtype)
