"""The linear program of triangles against another formulation of it, and its multipliers as slopes."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import linprog

from ftheta.relu.network import ReluNetwork, Step
from ftheta.theorems.robustness.linear_relaxation_bounds.relaxed_chains import RelaxedChain
from ftheta.theorems.robustness.linear_relaxation_bounds.triangles import solve_triangles


def draw_network(seed: int, *widths: int) -> ReluNetwork:
    rng = np.random.default_rng(seed)
    pairs = list(pairwise(widths))
    return ReluNetwork.dense(
        [rng.normal(size=(n, m)) for m, n in pairs], [0.5 * rng.normal(size=n) for _, n in pairs]
    )


def least_by_elimination(net: ReluNetwork, lo, hi, operands) -> float:
    """The same program in the inputs and the outputs of the ReLUs alone, with dense rows."""
    inputs = len(lo)
    hidden = [len(step.offset) for step in net.steps[:-1]]
    starts = np.cumsum([0, inputs, *hidden])
    total = int(starts[-1])
    rows, right = [], []
    for k, (step, x) in enumerate(zip(net.steps[:-1], operands)):
        z = np.zeros((hidden[k], total))
        z[:, starts[k] : starts[k + 1]] = step.dense()
        h = np.zeros((hidden[k], total))
        h[:, starts[k + 1] : starts[k + 2]] = np.eye(hidden[k])
        for j, (low, high) in enumerate(zip(x.lo.ravel(), x.hi.ravel())):
            # the hull of a ReLU that keeps its sign is a segment
            low, high = (min(low, 0.0), max(high, 0.0))
            slope = 1.0 if low == 0 else high / (high - low)
            rows += [-h[j], z[j] - h[j], h[j] - slope * z[j]]
            right += [0.0, -step.offset[j], slope * (step.offset[j] - low)]
    cost = np.zeros(total)
    cost[starts[-2] :] = net.steps[-1].dense()[0]
    limits = [*zip(lo, hi), *[(None, None)] * (total - inputs)]
    found = linprog(cost, np.array(rows), right, bounds=limits, method="highs-ipm")
    assert found.status == 0
    return float(found.fun + net.steps[-1].offset[0])


@pytest.mark.parametrize("seed", range(6))
def test_the_program_of_triangles_and_the_bound_by_its_multipliers(seed):
    net = draw_network(seed, 3, 8, 7, 1)
    chain = RelaxedChain(net)
    box = chain.relax(chain.box(np.zeros(3), 0.6))
    lo, hi = box.box.hull.lo[0], box.box.hull.hi[0]
    found = solve_triangles(net, lo, hi, box.operands)
    assert found is not None
    assert found.value == pytest.approx(
        least_by_elimination(net, lo, hi, box.operands), rel=1e-6, abs=1e-6
    )
    assert box.with_slopes(found.slopes).least == pytest.approx(found.value, rel=1e-8, abs=1e-8)
    assert box.plain().least <= found.value + 1e-9
    assert box.climb(30).least <= found.value + 1e-9


def test_other_slopes_are_no_better_than_the_multipliers():
    net = draw_network(1, 3, 8, 7, 1)
    chain = RelaxedChain(net)
    box = chain.relax(chain.box(np.zeros(3), 0.6))
    hull = box.box.hull
    found = solve_triangles(net, hull.lo[0], hull.hi[0], box.operands)
    assert found is not None
    rng = np.random.default_rng(0)
    for _ in range(50):
        slopes = [rng.random(len(step.offset)) for step in net.steps[:-1]]
        assert box.with_slopes(slopes).least <= found.value + 1e-9


def test_coordinates_that_pass_unrectified_are_not_relaxed():
    """r(x) − x through a layer that rectifies the first coordinate alone: the minimum over [−1, 1] is 0, and the best
    line gives it."""
    split = Step(np.ones((2, 1)), np.zeros(2), np.array([True, False]))
    net = ReluNetwork((split, Step(np.array([[1.0, -1.0]]), np.zeros(1), np.zeros(1, bool))))
    chain = RelaxedChain(net)
    box = chain.relax(chain.box(np.zeros(1), 1.0))
    found = solve_triangles(net, -np.ones(1), np.ones(1), box.operands)
    assert found is not None
    assert found.value == pytest.approx(0, abs=1e-9)
    assert box.with_slopes(found.slopes).least == pytest.approx(0, abs=1e-9)
