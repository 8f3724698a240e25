"""Lines around sine and cosine: they hold at every sample, are as close as curvature allows; a wrong bend is seen."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import ftheta.graph.domains.linear.curves as curves
from ftheta.graph import trace
from ftheta.graph.domains.interval.intervals import Interval
from ftheta.graph.domains.linear import BoxSet, Program
from ftheta.graph.domains.linear.refining import enclose
from ftheta.graph.domains.linear.relaxations import Lines

WAVES = {"sin": (jnp.sin, np.sin), "cos": (jnp.cos, np.cos)}


def lines_of(name, lo, hi):
    """The lines of one wave over many intervals."""
    with jax.enable_x64(True):
        program = Program.of(trace(WAVES[name][0], np.zeros(len(lo)), fold_rounded=False))
    relaxed = enclose(program, [BoxSet(Interval(lo[None], hi[None]))])
    lines = relaxed.relaxation(program.graph.outputs[0])
    assert isinstance(lines, Lines)
    return lines


def worst_gap(name, lo, hi):
    """How far a sample lies outside of the lines, at most."""
    lines = lines_of(name, lo, hi)
    t = np.linspace(0, 1, 201)[:, None]
    x = np.clip(lo + t * (hi - lo), lo, hi)
    y = WAVES[name][1](x)
    below = lines.lower_slope[0] * x + lines.lower_offset[0] - y
    above = y - lines.upper_slope[0] * x - lines.upper_offset[0]
    return max(below.max(), above.max())


@pytest.mark.parametrize("name", WAVES)
def test_lines_hold(name):
    rng = np.random.default_rng(2)
    lo = rng.uniform(-12, 12, 600)
    hi = lo + rng.choice([0.0, 1e-9, 1e-3, 0.3, 2.0, 3.0, 8.0], 600) * rng.uniform(0, 1, 600)
    assert worst_gap(name, lo, hi) < 1e-14


@pytest.mark.parametrize("name", WAVES)
def test_lines_are_close_where_the_curvature_is_known(name):
    lo = np.linspace(-6.0, 6.0, 41)
    hi = lo + 0.1
    lines = lines_of(name, lo, hi)
    middle = lo / 2 + hi / 2
    gap = (lines.upper_slope - lines.lower_slope) * middle + lines.upper_offset - lines.lower_offset
    assert np.all(gap[0] <= 1.1 * 0.05**2 / 2 + 1e-9)


def test_a_wrong_bend_is_caught(monkeypatch):
    monkeypatch.setattr(curves, "HALF_TURN", 6.0)  # beyond π the sine bends the other way
    assert worst_gap("sin", np.array([-5.0, -1.0]), np.array([0.5, 5.5])) > 1e-3
