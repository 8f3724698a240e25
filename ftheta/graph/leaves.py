"""Arrays, shapes and the small jaxprs that flattening a loop needs."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


def unstack_jaxpr(aval: Any, length: int) -> Any:
    """The rows of an array, as one node with as many outputs: its adjoint is one stacking."""
    return jax.make_jaxpr(lambda x: jnp.unstack(x) if length else [])(struct_of(aval))


def stack_jaxpr(aval: Any, length: int) -> Any:
    """As many arrays of one shape, stacked along a new first axis."""
    if length == 0:
        return jax.make_jaxpr(lambda: jnp.zeros((0, *aval.shape), aval.dtype))()
    return jax.make_jaxpr(lambda *rows: jnp.stack(rows))(*[struct_of(aval)] * length)


def struct_of(aval: Any) -> jax.ShapeDtypeStruct:
    """Shape and type of an abstract value."""
    return jax.ShapeDtypeStruct(aval.shape, aval.dtype)


def plain_value(value: Any) -> Any:
    """Parameters with Python's integers for NumPy's and tuples for lists; named tuples keep their names."""
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, list) or type(value) is tuple:
        return tuple(plain_value(item) for item in value)
    return value


def concrete(value: Any, dtype: Any) -> Any:
    """Constants are NumPy arrays, so that every domain can read them; random keys have no NumPy form."""
    return value if jnp.issubdtype(dtype, jax.dtypes.extended) else np.asarray(value, dtype)


def is_array(leaf: Any) -> bool:
    """Whether a leaf of the arguments is an array or a number, and so an input of the program."""
    return isinstance(
        leaf, (jax.Array, np.ndarray, np.generic, jax.ShapeDtypeStruct, bool, int, float, complex)
    )


def shape_of(leaf: Any) -> jax.ShapeDtypeStruct:
    """Shape and type of an array, a number, or what stands for one."""
    if isinstance(leaf, jax.ShapeDtypeStruct):
        return leaf
    aval = jax.typeof(leaf)
    return jax.ShapeDtypeStruct(aval.shape, aval.dtype)
