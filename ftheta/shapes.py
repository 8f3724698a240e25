"""Shapes of arrays in signatures: `Float[np.ndarray, "n d"]` is an array of floats with n rows and d columns.

A name stands for one size within a signature, `*shape` for any number of axes, `*#shape` for axes that broadcast. The
words are jaxtyping's: `Real` is float or integer, `Shaped` has entries of any kind (rationals too), and `Any` in place
of `np.ndarray` takes an array of JAX as well. Tests check them (`tests/checked_shapes.py`). Elsewhere
they cost nothing: unless jaxtyping is loaded already, each stands for the type of array alone, as importing it takes
longer than many a command.
"""

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or "jaxtyping" in sys.modules:
    from jaxtyping import Bool as Bool
    from jaxtyping import Complex as Complex
    from jaxtyping import Float as Float
    from jaxtyping import Inexact as Inexact
    from jaxtyping import Int as Int
    from jaxtyping import Num as Num
    from jaxtyping import Real as Real
    from jaxtyping import Shaped as Shaped
else:

    class _AnyShape:
        """The type of array alone."""

        def __class_getitem__(cls, array_and_shape: tuple[Any, str]) -> Any:
            return array_and_shape[0]

    Bool = Complex = Float = Inexact = Int = Num = Real = Shaped = _AnyShape
