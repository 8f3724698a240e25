"""Slopes chosen by ascent: the gradient is right, bounds only improve, and reach the linear program of triangles."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import linprog

from ftheta.graph import Interval, trace
from ftheta.graph.domains.linear import BallSet, BoxSet, Program, linear_bounds
from ftheta.graph.domains.linear.refining import enclose
from ftheta.graph.domains.linear.relaxations import Lines
from ftheta.graph.domains.linear.slopes import (
    _first_slopes,
    _slope_gradient,
    _values_at_lowest,
    optimise,
)

from .zoo import draws, layers, mlp


def network(*widths, activation=jax.nn.relu, seed=0):
    params = [(w + 0.3 * draws(*w.shape, seed=seed + 7), b) for w, b in layers(*widths)]
    return params, Program.of(
        trace(lambda x: mlp(activation, params, x), np.zeros(widths[0]), fold_rounded=False)
    )


def box_around(x, radius):
    return [BoxSet(Interval.around(x[None], radius))]


ACTIVATIONS = {
    "relu": jax.nn.relu,
    "leaky relu": jax.nn.leaky_relu,
    "abs": jnp.abs,
    "minus relu": lambda x: -jax.nn.relu(-x),
    "max-pooling": lambda x: jnp.maximum(x, jnp.roll(x, 1)),
    "clip": lambda x: jnp.clip(x, -0.4, 0.6),
    "gated": lambda x: jax.nn.relu(x) * jax.nn.sigmoid(jnp.roll(x, 1)),
    "softmax": lambda x: jax.nn.relu(x) + jax.nn.softmax(x),
    "choice": lambda x: jax.nn.relu(jnp.where(jnp.roll(x, 1) > 0.1, x, 2 * x)),
}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_the_gradient_is_that_of_the_bound(name):
    """Against differences of the bound along random directions in the slopes."""
    _, program = network(3, 6, 6, 2, activation=ACTIVATIONS[name])
    sets = box_around(draws(3), 0.6)
    relaxed = enclose(program, sets)
    (slot,) = program.graph.outputs
    seeds = {slot.id: np.eye(2)[None]}
    reached: dict[int, np.ndarray] = {}
    relaxed.pull_back(seeds, reached=reached)
    slopes = _first_slopes(relaxed, reached)
    assert slopes
    rng = np.random.default_rng(0)
    lines = {k: relaxed.relaxation(program.graph.slots[k]) for k in slopes}
    middle = {}
    for k, line in lines.items():
        assert isinstance(line, Lines) and line.turns is not None
        middle[k] = line.least + (line.most - line.least) * rng.uniform(0.2, 0.8, slopes[k].shape)
    reached = {}
    form = relaxed.pull_back(seeds, middle, reached)
    values = _values_at_lowest(relaxed, sets, form, reached, middle)
    for k, line in lines.items():
        assert isinstance(line, Lines) and line.turns is not None
        gradient = _slope_gradient(relaxed, line, reached[k], values)
        direction = rng.standard_normal(middle[k].shape) * line.turns[:, None]
        h = 1e-6
        up, down = (
            relaxed.pull_back(seeds, {**middle, k: middle[k] + s * h * direction}).least(sets)
            for s in (1, -1)
        )
        expected = (gradient * direction).reshape(1, 2, -1).sum(-1)
        assert np.allclose(
            (up - down) / (2 * h), expected, atol=1e-5 * (1 + np.abs(expected).max())
        )


@pytest.mark.parametrize("widths", [(2, 5, 5, 1), (4, 12, 12, 12, 3)])
def test_chosen_slopes_only_improve_and_still_hold_every_sample(widths):
    params, program = network(*widths)
    x = draws(widths[0])
    sets = box_around(x, 0.5)
    plain = linear_bounds(program, sets)
    found = linear_bounds(program, sets, method="alpha-crown", steps=30)
    assert np.all(found.lower >= plain.lower) and np.all(found.upper <= plain.upper)
    assert np.all(found.upper - found.lower < 0.97 * (plain.upper - plain.lower))
    points = x + np.random.default_rng(1).uniform(-0.5, 0.5, (2000, widths[0]))
    y = np.asarray(mlp(jax.nn.relu, params, points))
    assert np.all(found.lower <= y + 1e-12) and np.all(y - 1e-12 <= found.upper)
    for form, sign in ((found.lower_form, 1), (found.upper_form, -1)):
        (A,) = form.coefficients
        assert A is not None
        assert np.all(points @ A[0].T + form.offset - form.paid_error <= sign * y + 1e-12)


def triangle_program(params, x, radius, ends) -> float:
    """The least first output over the triangles of the ReLUs, whose operands lie between `ends`, by HiGHS."""
    inputs = len(x)
    sizes = [inputs] + [n for w, _ in params[:-1] for n in (w.shape[1], w.shape[1])]
    starts = np.cumsum([0, *sizes])
    total = int(starts[-1])
    equal, constant, above, limit = [], [], [], []
    bounds = [(v - radius, v + radius) for v in x]
    before = np.arange(inputs)
    for k, (w, b) in enumerate(params[:-1]):
        z = starts[2 * k + 1] + np.arange(w.shape[1])
        h = starts[2 * k + 2] + np.arange(w.shape[1])
        for j in range(w.shape[1]):
            row = np.zeros(total)
            row[before] = -w[:, j]
            row[z[j]] = 1.0
            equal.append(row)
            constant.append(b[j])
            lo, hi = ends[k][0][j], ends[k][1][j]
            at_least = np.zeros(total)
            at_least[[z[j], h[j]]] = 1.0, -1.0
            above.append(at_least)
            limit.append(0.0)
            if lo < 0 < hi:
                secant = np.zeros(total)
                secant[[z[j], h[j]]] = -hi / (hi - lo), 1.0
                above.append(secant)
                limit.append(-hi * lo / (hi - lo))
            elif lo >= 0:
                above.append(-at_least)
                limit.append(0.0)
        bounds += [(a, b) for a, b in zip(*ends[k])]
        bounds += [(0.0, max(0.0, b)) for b in ends[k][1]]
        before = h
    w, b = params[-1]
    objective = np.zeros(total)
    objective[before] = w[:, 0]
    found = linprog(
        objective, np.array(above), limit, np.array(equal), constant, bounds, method="highs"
    )
    assert found.status == 0
    return float(found.fun + b[0])


@pytest.mark.parametrize("seed", range(4))
def test_the_best_slopes_reach_the_linear_program_of_triangles(seed):
    params, program = network(3, 7, 7, 1, seed=seed)
    x = draws(3, seed=seed)
    sets = box_around(x, 0.4)
    relaxed = enclose(program, sets)
    kinks = [node.inputs[0] for node in program.graph.nodes if node.primitive == "max"]
    ends = [(relaxed.enclosures[s.id].lo[0], relaxed.enclosures[s.id].hi[0]) for s in kinks]
    least = triangle_program(params, x, 0.4, ends)
    (slot,) = program.graph.outputs
    seeds = {slot.id: np.ones((1, 1, 1))}
    plain = float(relaxed.pull_back(seeds).least(sets)[0, 0])
    best = float(optimise(relaxed, sets, seeds, 200).value[0, 0])
    assert plain <= best <= least + 1e-9
    assert least - best <= 0.02 * (least - plain) + 1e-6


def test_slopes_are_chosen_over_balls_and_batches_too():
    _, program = network(4, 10, 10, 2)
    x = draws(5, 4)
    for sets in ([BallSet(x, np.full(5, 0.5), 2)], [BoxSet(Interval.around(x, 0.3))]):
        plain = linear_bounds(program, sets)
        found = linear_bounds(program, sets, method="alpha-crown", steps=15)
        assert np.all(found.lower >= plain.lower) and np.any(found.lower > plain.lower + 1e-4)
