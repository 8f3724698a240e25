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


def test_packages_that_can_be_called_take_modules_too():
    torch.manual_seed(0)
    layers = (torch.nn.Linear(2, 6), torch.nn.ReLU(), torch.nn.Linear(6, 1))
    module = torch.nn.Sequential(*layers).double()
    domain = ft.pieces.Box([-1, -1], [1, 1])
    assert len(ft.pieces(module, domain)) == ft.count_pieces(module, domain).lo
    x = torch.tensor([0.3, -0.2], dtype=torch.float64, requires_grad=True)
    y = module(x)
    y.backward()
    found = ft.graph(module, x.detach())
    assert found.result == pytest.approx(y.item()) and found.gradient == pytest.approx(
        x.grad.numpy()
    )
