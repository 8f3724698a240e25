"""One value of a program with outward rounding: the exact value lies in it, whatever float64 makes of it."""

from fractions import Fraction

import jax.numpy as jnp
import numpy as np
import pytest

from ftheta.certify.lipschitz import enclosed_slopes
from ftheta.graph.enclosing import enclose_entry, enclose_number
from ftheta.logic import Basis
from ftheta.networks import Dense, Description


def rational(net: Description, x: np.ndarray) -> list[Fraction]:
    state = [Fraction(v) for v in x.tolist()]
    for layer in net.layers:
        rows = zip(layer.weight.tolist(), layer.bias.tolist())
        state = [sum((Fraction(w) * s for w, s in zip(row, state)), Fraction(b)) for row, b in rows]
        if layer.activation == "relu":
            state = [max(v, Fraction(0)) for v in state]
    return state


@pytest.mark.parametrize("offset", [0.0, 1.0, 1e12, 1e15])
@pytest.mark.parametrize("seed", range(3))
def test_the_rational_value_of_a_network_lies_in_its_enclosure(offset, seed):
    rng = np.random.default_rng(seed)
    first = Dense(
        10.0 ** rng.uniform(-8, 0) * rng.normal(size=(4, 2)), offset + rng.normal(size=4), "relu"
    )
    second = Dense(rng.normal(size=(1, 4)), rng.normal(size=1))
    net = Description((first, second))
    x = rng.normal(size=2)
    found = enclose_entry(net.apply, net.params, x, entry=0)
    assert found.basis is Basis.EXACT
    assert rational(net, x)[0] in found


def test_a_secant_that_is_rounding_alone_encloses_the_true_slope():
    net = Description((Dense(np.array([[1e-3]]), np.array([1e12])),))
    f = lambda x: net.apply(net.params, x)
    x = np.array([[0.0], [0.0]])
    y = np.array([[1e-5], [10.0]])
    for slope in enclosed_slopes(f, x, y):
        assert 1e-3 in slope


def test_nothing_is_known_of_a_program_without_rules():
    found = enclose_number(lambda x: jnp.sum(jnp.fft.fft(x).real), np.ones(4))
    assert not np.isfinite(found.width)
