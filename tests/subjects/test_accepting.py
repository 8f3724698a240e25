"""Modules of torch where a network is asked for, beside the network that they are."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import ftheta as ft  # noqa: E402
from ftheta.logic import SubjectError, UsageError  # noqa: E402

X = np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32)


@pytest.fixture(scope="module")
def module():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.ReLU(), torch.nn.Linear(5, 3)).eval()


def test_a_tangent_kernel_takes_a_module_and_tensors(module):
    network = ft.load(module, (1, 4))
    assert np.allclose(ft.ntk(module, torch.tensor(X)), ft.ntk(network, X))


def test_the_shape_is_that_of_the_property_or_of_the_first_layer(module):
    assert (
        ft.verify(module, ft.Robust(X[0], 1e-3)).answer
        == ft.verify(ft.load(module, (1, 4)), ft.Robust(X[0], 1e-3)).answer
    )
    assert ft.bounds(module, (-np.ones(4), np.ones(4))) is not None


def test_a_module_whose_inputs_nobody_knows_is_refused():
    with pytest.raises(SubjectError, match="needs an example"):
        ft.lipschitz(torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.ReLU()))


def test_the_catalogue_can_be_listed_and_shown():
    assert "hat-function" in ft.list() and "hat-function" in ft.list("piecewise")
    assert "The hat function" in repr(ft.show("hat-function"))
    with pytest.raises(UsageError, match="Unknown chapter"):
        ft.list("nothing")
