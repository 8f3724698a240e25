"""Envelopes of products never exclude what some point of the box meets."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ftheta.certify.products import Factor, ProductSolver
from ftheta.certify.questions import Box, Case, Row
from ftheta.relu.exact import exact
from ftheta.relu.network import ReluNetwork

from ..thoroughness import max_examples

ZERO = Fraction(0)


def random_terms(rng: np.random.Generator, count: int, share: float = 0.6) -> dict[int, Fraction]:
    return {
        k: Fraction(float(v)) for k, v in enumerate(rng.normal(size=count)) if rng.random() < share
    }


@given(st.integers(0, 2**32 - 1))
@max_examples(100)
def test_a_disjunct_that_a_point_meets_stays_open(seed: int) -> None:
    rng = np.random.default_rng(seed)
    net = ReluNetwork.dense(
        [rng.normal(size=(4, 2)), rng.normal(size=(2, 4))], [rng.normal(size=4), rng.normal(size=2)]
    )
    low = rng.uniform(-1, 1, 2)
    high = low + rng.choice([0.0, 1e-3, 0.3, 2.0], 2)
    x = tuple(
        Fraction(float(v))
        for v in rng.choice([low, high, 0.5 * low + 0.5 * high, rng.uniform(low, high)])
    )
    y = list(exact(net)(x))
    products = list[tuple[Factor, ...]]()
    for _ in range(rng.integers(1, 4)):  # later ones may be of those before
        made = [
            Factor(random_terms(rng, 2), random_terms(rng, len(y)), Fraction(float(rng.normal())))
            for _ in range(rng.integers(2, 4))
        ]
        products.append(tuple(made) if rng.random() < 0.7 else (made[0], made[0]))
        value = Fraction(1)
        for factor in products[-1]:
            linear = sum((p * x[i] for i, p in factor.inputs.items()), factor.constant)
            value *= linear + sum((q * y[j] for j, q in factor.outputs.items()), ZERO)
        y.append(value)
    row = Row(random_terms(rng, 2), random_terms(rng, len(y), 0.8), ZERO, bool(rng.random() < 0.5))
    margin = Fraction(1, 10**9) if row.strict else ZERO
    row = replace(row, bound=row.excess(x, y) + margin)
    case = Case(
        Box(tuple(map(Fraction, low.tolist())), tuple(map(Fraction, high.tolist()))), ((row,),)
    )
    assert case.admits(x, y)
    assert ProductSolver(net, products)._open_disjuncts(case, low, high) == [0]
