"""The unit of the cost domain: how many multiplications, additions and other operations."""

import math
from dataclasses import dataclass

from ftheta.graph.graph import Node


@dataclass(frozen=True)
class Cost:
    """Floating-point operations. `other` are divisions, roots, comparisons and transcendental functions, one each."""

    multiplications: int = 0
    additions: int = 0
    other: int = 0

    @property
    def flops(self) -> int:
        return self.multiplications + self.additions + self.other

    def __add__(self, more: "Cost") -> "Cost":
        return Cost(
            self.multiplications + more.multiplications,
            self.additions + more.additions,
            self.other + more.other,
        )

    def __mul__(self, times: int) -> "Cost":
        return Cost(self.multiplications * times, self.additions * times, self.other * times)

    __rmul__ = __mul__


FREE = Cost()
MULTIPLICATION = Cost(multiplications=1)
ADDITION = Cost(additions=1)
OTHER = Cost(other=1)


def powering(exponent: int) -> Cost:
    """x^n by repeated squaring; one division more for a negative exponent."""
    n = abs(exponent)
    steps = max(n.bit_length() - 1, 0) + max(n.bit_count() - 1, 0)
    return MULTIPLICATION * steps + (OTHER if exponent < 0 else FREE)


def inner_length(node: Node) -> int:
    """Terms in each entry of a matrix product or convolution (places in the padding are counted too)."""
    if node.primitive == "dot_general":
        (contracted, _), _ = node.params["dimension_numbers"]
        return math.prod(node.inputs[0].shape[a] for a in contracted)
    kernel = node.params["dimension_numbers"].rhs_spec
    return math.prod(node.inputs[1].shape[a] for a in kernel[1:])
