"""The classical Runge–Kutta method of order four: the one integrator with fixed steps.

Ours and not that of diffrax, which takes 1.3 s to import, three times as long to compile (2.1 s against 0.6 s for 16
steps) and half as long again to run. This function takes arrays of NumPy and of JAX alike.
"""

from collections.abc import Callable
from typing import Any

Field = Callable[[Any, Any], Any]


def runge_kutta_step(field: Field, at: tuple[Any, Any, Any], x: Any, h: Any) -> Any:
    r"""The state a step $h$ after `x` on $\dot x=v(s,x)$, with $v$ = `field`.

    `at` holds what $v$ takes for $s$ at the beginning, in the middle and at the end of the step: times, or the weights
    of a network there.
    """
    begin, middle, end = at
    k1 = field(begin, x)
    k2 = field(middle, x + h / 2 * k1)
    k3 = field(middle, x + h / 2 * k2)
    return x + h / 6 * (k1 + 2 * k2 + 2 * k3 + field(end, x + h * k3))
