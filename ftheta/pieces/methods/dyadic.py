r"""Rational networks as float64 networks, without rounding.

$r(\lambda z)=\lambda r(z)$ for $\lambda>0$: a row of a step may be multiplied by its common denominator if the columns
that read it are divided by the same number. So the weights become integers, and the outputs are multiplied by positive
numbers. An integer too long for float64 is a sum of floats: its matrix is split into summands, side by side, and the
state before it is read as many times.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import gcd, lcm

import numpy as np

from ftheta.logic import SubjectError
from ftheta.relu.exact import ExactNetwork
from ftheta.relu.matrices import fraction
from ftheta.relu.network import ReluNetwork, Step

Row = dict[int, Fraction]


def float_multiple(net: ExactNetwork) -> tuple[ReluNetwork, tuple[Fraction, ...]]:
    r"""A float64 network and factors $\lambda_j>0$: its output $j$ is $\lambda_jf_j$ exactly."""
    steps: list[Step] = []
    factors = [Fraction(1)] * net.widths[0]
    for step in net.steps:
        rows, offsets, after = [], [], []
        for row, b in zip(step.matrix.rows, step.offset):
            entries = {j: fraction(a) / factors[j] for j, a in row.items()}
            factor = _factor([*entries.values(), fraction(b)])
            rows.append({j: factor * a for j, a in entries.items()})
            offsets.append(factor * fraction(b))
            after.append(factor)
        steps += _float_steps(rows, offsets, len(factors), step.rectified)
        factors = after
    return ReluNetwork(tuple(steps)), tuple(factors)


def _factor(numbers: Sequence[Fraction]) -> Fraction:
    """Makes the numbers floats if they are not: integers without a common divisor, times a power of two."""
    present = [q for q in numbers if q]
    if all(q.denominator.bit_count() == 1 and abs(q.numerator).bit_length() <= 53 for q in present):
        return Fraction(1)
    whole = Fraction(lcm(*(q.denominator for q in present)))
    whole /= gcd(*(int(whole * q) for q in present))
    size = max(abs(int(whole * q)) for q in present).bit_length()
    return whole / (1 << size)


def _float_steps(rows: list[Row], offsets: list[Fraction], inputs: int, rectified: np.ndarray) -> list[Step]:
    """The step; before it, if there are numbers too long, one that repeats the state and adds ones to it."""
    shape = (len(rows), inputs + 1)
    parts = [np.zeros(shape)]
    for i, (row, b) in enumerate(zip(rows, offsets)):
        for j, a in (*row.items(), (inputs, b)):
            for k, summand in enumerate(_summands(a)):
                parts += [np.zeros(shape)] if k == len(parts) else []
                parts[k][i, j] = summand
    first, *others = parts
    if not others:
        return [Step(first[:, :-1], first[:, -1], rectified)]
    ones = len(others)
    repeated = np.vstack([*[np.eye(inputs)] * len(parts), np.zeros((ones, inputs))])
    constant = np.concatenate([np.zeros(len(repeated) - ones), np.ones(ones)])
    matrix = np.column_stack([*(part[:, :-1] for part in parts), *(part[:, -1] for part in others)])
    return [Step(repeated, constant, np.zeros(len(repeated), bool)), Step(matrix, first[:, -1], rectified)]


def _summands(q: Fraction) -> list[float]:
    """Floats that add up to a dyadic rational."""
    found = []
    while q:
        found.append(float(q))
        if not found[-1]:
            raise SubjectError(
                "The weights are too long for float64.", got="a denominator beyond 2^1074", remedy="round the network"
            )
        q -= Fraction(found[-1])
    return found
