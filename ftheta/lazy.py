"""What is imported at its first use, so that what is computed without it does not wait: JAX, SciPy's special functions
and sparse arrays, and the names of rooms.

`from ftheta.lazy import jax, jnp` instead of the import statements; annotations that name `jax.Array` are quoted then.
"""

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

_X64 = "JAX_ENABLE_X64"  # which JAX reads when it is imported


class _LazyModule(ModuleType):
    """Stands for a module that is imported when one of its attributes is asked for."""

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self.__name__), name)


if TYPE_CHECKING:
    import jax as jax
    import jax.numpy as jnp
    from scipy import sparse as sparse
    from scipy import special as special
else:
    jax = _LazyModule("jax")
    jnp = _LazyModule("jax.numpy")
    sparse = _LazyModule("scipy.sparse")
    special = _LazyModule("scipy.special")


def import_when_used(
    package: str, home: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a room that imports each of its names from the module `home[name]` at first use.

    A name without a module in it, `""`, is a module of the room itself.
    """

    def import_name(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if not home[name]:
            return import_module(f"{package}.{name}")
        return getattr(import_module(f"{package}.{home[name]}"), name)

    return import_name, lambda: sorted(home)


def is_array(value: Any) -> bool:
    """Whether it is an array of NumPy or of JAX."""
    return isinstance(value, np.ndarray) or ("jax" in sys.modules and isinstance(value, jax.Array))


def is_sparse(value: Any) -> bool:
    """Whether it is a sparse array of SciPy: without SciPy there is none."""
    return "scipy.sparse" in sys.modules and sparse.issparse(value)


def tree_leaves(tree: Any, *, keep_none: bool = False) -> list[Any]:
    """`jax.tree.leaves`, without JAX for tuples and lists of NumPy arrays, numbers and strings; None is a leaf if
    `keep_none`."""
    if type(tree) in (tuple, list):
        return [leaf for part in tree for leaf in tree_leaves(part, keep_none=keep_none)]
    if isinstance(tree, (np.ndarray, np.generic, int, float, str)):
        return [tree]
    return jax.tree.leaves(tree, is_leaf=(lambda part: part is None) if keep_none else None)


@contextmanager
def double_precision() -> Iterator[None]:
    """JAX computes in float64 in the block, also where it is imported in the block only."""
    if "jax" in sys.modules:
        with jax.enable_x64(True):
            yield
        return
    before = os.environ.get(_X64)
    os.environ[_X64] = "1"
    try:
        yield
    finally:
        os.environ.pop(_X64)
        if before is not None:
            os.environ[_X64] = before
        if "jax" in sys.modules:
            jax.config.update(
                "jax_enable_x64", (before or "0").lower() in ("1", "true", "yes", "on", "y", "t")
            )
