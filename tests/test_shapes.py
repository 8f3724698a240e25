"""Shapes in signatures are checked in every test, and nowhere else."""

import contextlib
import subprocess
import sys

import jaxtyping
import numpy as np
import pytest

from ftheta.kernels.reproducing import KernelRidge, kernel, kernel_ridge

from .checked_shapes import CHECKS, CORES, FIRST_CALLS, states_shape


def test_an_array_of_another_shape_is_refused():
    rng = np.random.default_rng(0)
    phi = rng.normal(size=(5, 2))
    linear = kernel("linear")
    assert kernel_ridge(phi, rng.normal(size=(5, 1)), linear, 0.1).alpha.shape == (5, 1)
    for y in (rng.normal(size=(4, 1)), rng.normal(size=4), rng.integers(0, 2, (5, 1))):
        with pytest.raises(jaxtyping.TypeCheckError, match="kernel_ridge"):
            kernel_ridge(phi, y, linear, 0.1)


def test_the_fields_of_a_data_class_are_checked():
    column = np.zeros((5, 1))
    with pytest.raises(jaxtyping.TypeCheckError, match=r"reproducing\.KernelRidge"):
        KernelRidge(kernel("linear"), column, column, column, np.zeros((4, 1)))


def test_the_first_calls_of_a_test_are_checked_and_at_night_all():
    wrong = lambda: kernel_ridge(np.zeros((5, 2)), np.zeros(4), kernel("linear"), 0.1)
    CHECKS.begin(everything=False)
    for _ in range(FIRST_CALLS):
        with pytest.raises(jaxtyping.TypeCheckError):
            wrong()
    with contextlib.suppress(ValueError):  # left to NumPy
        wrong()
    CHECKS.begin(everything=True)
    for _ in range(FIRST_CALLS + 1):
        with pytest.raises(jaxtyping.TypeCheckError):
            wrong()


def test_methods_that_state_shapes_are_known_by_their_annotations():
    assert states_shape(KernelRidge.predict) and not states_shape(KernelRidge.__eq__)


def test_a_core_is_not_checked_outside_of_tests():
    code = f"""
import sys
from importlib import import_module
for name in {CORES!r}:
    import_module(name)
import numpy as np
from ftheta.shapes import Float
from ftheta.kernels.reproducing import kernel_ridge
assert "beartype" not in sys.modules and not hasattr(kernel_ridge, "__wrapped__")
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
