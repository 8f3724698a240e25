"""Barron norms: closed forms, samples, spectra, and norms without end."""

from math import gamma, pi, sqrt

import jax.numpy as jnp
import numpy as np
import pytest

import ftheta as ft
from ftheta.logic import Basis, UsageError
from ftheta.subjects import Spectrum, Target


@pytest.mark.parametrize("d", [1, 2, 3, 10])
def test_the_norm_of_a_gaussian_in_closed_form(d):
    found = ft.barron_norm("gaussian", dimension=d)
    assert float(found) == pytest.approx(sqrt(2) * gamma((d + 1) / 2) / gamma(d / 2), rel=1e-14)
    assert found.value.basis is Basis.EXACT


def test_norms_from_samples_spectra_and_expressions():
    line = ft.barron_norm(lambda x: jnp.exp(-x * x / 2), (-12, 12))
    assert line.settled and float(line) == pytest.approx(sqrt(2 / pi), rel=1e-4)
    assert line.value.basis is Basis.SAMPLED and line.chart().kind == "curves"
    plane = ft.barron_norm("exp(-(x*x + y*y)/2)", (-9, 9), points=128)
    assert float(plane) == pytest.approx(1.2533141, rel=2e-3)
    waves = Target(
        "waves",
        jnp.cos,
        (-pi,),
        (pi,),
        spectrum=Spectrum.cosines(np.array([[3.0], [1.0]]), np.ones(2), np.zeros(2)),
    )
    assert float(ft.barron_norm(waves)) == pytest.approx(4.0) and "spectrum" in str(
        ft.barron_norm(waves)
    )
    x = np.linspace(0, 2 * pi, 64, endpoint=False)
    assert float(ft.barron_norm(np.cos(5 * x), (0, 2 * pi))) == pytest.approx(5.0)


def test_norms_that_have_no_end_are_said_to_grow():
    hat = ft.barron_norm(lambda x: jnp.maximum(1 - jnp.abs(x), 0.0), (-8, 8))
    assert not hat.settled and hat.value.hi == np.inf and "may be infinite" in str(hat)
    assert float(ft.barron_norm("hat")) == np.inf
    with pytest.raises(UsageError, match="three variables"):
        ft.barron_norm(lambda x: jnp.sum(x), ([0] * 4, [1] * 4))
