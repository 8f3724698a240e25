"""Linear, affine or neither, read off the graph."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from ftheta.groups import Kind, kind_of, superposition_gap

A = np.arange(12.0).reshape(3, 4)
LINEAR = {
    "identity": lambda x: x,
    "matrix": lambda x: A @ x,
    "scaled sum": lambda x: 2 * x - x / 3 + x[::-1],
    "roll": lambda x: jnp.roll(x, 1),
    "pad and cut": lambda x: jnp.pad(x, 2)[1:5],
    "mean": lambda x: jnp.mean(x),
    "cumulative": lambda x: jnp.cumsum(x),
    "picked": lambda x: x[jnp.array([3, 0, 0])],
    "masked": lambda x: jnp.where(jnp.array([True, False, True, False]), x, 0.0),
    "fourier": lambda x: jnp.fft.irfft(jnp.fft.rfft(x) * jnp.array([1.0, 2.0, 3.0])),
    "convolved": lambda x: lax.conv_general_dilated(
        x[None, None], jnp.ones((1, 1, 3)), (1,), "SAME"
    ),
    "written": lambda x: jnp.zeros(6).at[jnp.array([1, 2, 3, 1])].add(x),
    "jitted": jax.jit(lambda x: x + x),
    "scanned": lambda x: lax.fori_loop(0, 3, lambda i, y: y + jnp.roll(x, 1), x),
    "no offset": lambda x: x + 0.0,
}
AFFINE = {
    "shifted": lambda x: x + 1.0,
    "bias after matrix": lambda x: A @ x - 2.0,
    "padded": lambda x: jnp.pad(x, 1, constant_values=1.0),
}
OTHER = {
    "relu": jax.nn.relu,
    "square": lambda x: x * x,
    "power": lambda x: x**2,
    "absolute": jnp.abs,
    "largest": jnp.max,
    "sorted": jnp.sort,
    "rounded": jnp.round,
    "cast to integers": lambda x: x.astype(int).astype(float),
    "ratio": lambda x: x / x.sum(),
    "chosen by itself": lambda x: jnp.where(x > 0, x, 0.0),
    "picked by itself": lambda x: x[jnp.argmax(x)],
    "normalised": lambda x: x / jnp.linalg.norm(x),
    "quadratic form": lambda x: x @ (A.T @ A) @ x,
    "sign": jnp.sign,
    "softmax": jax.nn.softmax,
}


@pytest.fixture(autouse=True)
def float64():
    with jax.enable_x64(True):
        yield


EXAMPLE = jax.ShapeDtypeStruct((4,), np.float64)


@pytest.mark.parametrize("f", LINEAR.values(), ids=LINEAR)
def test_linear_programs_are_recognised(f):
    assert kind_of(f, EXAMPLE) is Kind.LINEAR
    assert superposition_gap(f, *np.random.default_rng(0).normal(size=(2, 4))) < 1e-12


@pytest.mark.parametrize("f", AFFINE.values(), ids=AFFINE)
def test_an_offset_makes_a_program_affine(f):
    assert kind_of(f, EXAMPLE) is Kind.AFFINE
    assert superposition_gap(f, *np.random.default_rng(0).normal(size=(2, 4))) > 1e-3


@pytest.mark.parametrize("f", OTHER.values(), ids=OTHER)
def test_no_other_program_passes_for_linear(f):
    assert kind_of(f, EXAMPLE) is Kind.OTHER


def test_a_product_with_zero_is_zero():
    assert kind_of(lambda x: 0.0 * x, EXAMPLE) is Kind.ZERO
    assert kind_of(lambda x: jnp.ones(2) + 0.0 * x[:2], EXAMPLE) is Kind.CONSTANT


def test_a_loop_of_unknown_length_is_not_called_linear():
    f = lambda x: lax.while_loop(lambda y: y.sum() < 10, lambda y: 2 * y, x)
    assert kind_of(f, EXAMPLE) is Kind.OTHER


def test_the_superposition_gap_of_a_hinge_is_not_small():
    assert superposition_gap(jax.nn.relu, np.array([1.0, -1.0]), np.array([1.0, 1.0])) > 0.1
    assert superposition_gap(lambda x: x * np.nan, np.ones(2), np.ones(2)) == np.inf
