"""The quadratic that is hardest for first-order methods: its minimiser, its minimum, and how far that is."""

import numpy as np
import pytest

from ftheta.theorems.optimisation.first_order_family.hardest import Hardest


@pytest.mark.parametrize("steps", [1, 4, 30])
def test_the_gradient_vanishes_at_the_minimiser_which_has_the_stated_norm_and_value(steps):
    problem = Hardest(3.0, 2.0, steps)
    minimiser = problem.pull * problem.shape
    assert np.linalg.norm(minimiser) == pytest.approx(2.0)
    assert problem.gradient(minimiser) == pytest.approx(np.zeros(problem.dimension), abs=1e-12)
    assert problem.value(minimiser) == pytest.approx(problem.least)
