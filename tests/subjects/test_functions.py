"""Functions on boxes: what is no box, and functions that a theorem about intervals cannot be about."""

import jax.numpy as jnp
import numpy as np
import pytest

import ftheta as ft
from ftheta.logic import SubjectError, UsageError

ABOUT_AN_INTERVAL = [
    "barron-norm",
    "stone-weierstrass",
    "uat-cybenko-hornik",
    "yarotsky-square",
    "runge",
]


@pytest.mark.parametrize(
    ("lo", "hi", "arguments"),
    [
        ((1.0,), (0.0,), ()),
        ((0.0,), (1.0, 2.0), ()),
        ((), (), ()),
        ((float("nan"),), (1.0,), ()),
        ((0.0, 0.0), (1.0, 1.0), ("x",)),
    ],
    ids=["ends exchanged", "ends of two lengths", "no variable", "not a number", "one argument"],
)
def test_a_box_that_is_none_is_refused(lo, hi, arguments):
    with pytest.raises(SubjectError, match="box"):
        ft.Target("f", lambda x: x, lo, hi, arguments)


@pytest.mark.parametrize("name", ABOUT_AN_INTERVAL)
def test_a_single_point_is_no_interval(name):
    point = ft.Target("square at a point", lambda x: x * x, (0.5,), (0.5,))
    result = ft.check(name, on=point, examples=False)
    assert result.verdict is ft.Verdict.INAPPLICABLE
    assert any("a single point, 0.5" in check.finding.note for check in result.checks)


@pytest.mark.parametrize("name", [*ABOUT_AN_INTERVAL, "fem-basis-relu", "nonsmooth-proximal"])
def test_a_curve_is_no_real_function(name):
    curve = ft.Target("a curve", lambda x: jnp.array([x, 2 * x]), (0.0,), (1.0,))
    assert ft.check(name, on=curve, examples=False).verdict is ft.Verdict.INAPPLICABLE


def test_functions_of_two_scalars_have_a_norm_of_barron():
    bell = lambda x, y: jnp.exp(-(x * x + y * y) / 2)
    target = ft.Target("Gaussian", bell, (-12.0, -12.0), (12.0, 12.0), ("x", "y"))
    result = ft.check("barron-norm", on=target, points=128, force=True, examples=False)
    # √2 Γ(3/2)/Γ(1)
    assert result.numbers["C_f"].middle == pytest.approx(np.sqrt(np.pi / 2), rel=1e-3)


def test_a_network_has_its_own_example():
    net = ft.Network.of(lambda x: jnp.abs(x).sum(), example=(3,), name="ℓ1")
    assert ft.relu_form(net)(np.array([1.0, -2.0, 3.0])) == 6.0
    with pytest.raises(UsageError, match="shape of the input"):
        ft.relu_form(jnp.abs)
