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


def test_a_pair_of_bounds_is_a_box_of_pieces(module):
    lower, upper = [-1.0] * 4, [1.0] * 4
    of_pair = ft.pieces(module, (lower, upper))
    assert len(of_pair) == len(ft.pieces(module, ft.pieces.Box(lower, upper)))
    assert ft.count_pieces(module, (lower, upper)).lo == len(of_pair)
    assert ft.equal(module, module, (lower, upper))
    for domain in ("[0, 1]", (lower, upper, lower)):
        with pytest.raises(UsageError, match="That is no domain"):
            ft.pieces(module, domain)


def test_a_pair_of_rows_and_labels_is_data():
    pair = (X, np.arange(6) % 3)
    data = ft.load(pair)
    assert isinstance(data, ft.Dataset) and np.array_equal(data.x, X)
    assert data.y is not None and np.array_equal(data.y, pair[1])
    with pytest.raises(SubjectError, match="one label per row"):
        ft.load((X, [0, 1]))


SHOWN = {
    "result": lambda net, data: ft.check("hat-function"),
    "network": lambda net, data: net,
    "data": lambda net, data: data,
    "bounds": lambda net, data: ft.bounds(net, (-np.ones(4), np.ones(4))),
    "range": lambda net, data: ft.range(net, (-np.ones(4), np.ones(4))),
    "Lipschitz constant": lambda net, data: ft.lipschitz(net),
    "radius": lambda net, data: ft.certified_radius(net, data.x[0], 2),
    "accuracy": lambda net, data: ft.robustness(net, data, eps=[0.1]),
    "simplified": lambda net, data: ft.simplify(net, (-np.ones(4), np.ones(4))),
    "smoothed": lambda net, data: ft.smooth(net, 0.5),
    "constants": lambda net, data: ft.constants(net, data, "cross-entropy"),
    "transport": lambda net, data: ft.transport(data.x, data.x + 1),
    "distance": lambda net, data: ft.distance(data.x, data.x + 1),
    "flow": lambda net, data: ft.flow(data, kind="exact"),
    "diffusion": lambda net, data: ft.diffuse(data),
}


@pytest.mark.parametrize("what", SHOWN)
def test_what_is_found_is_shown_in_a_few_lines(module, what):
    data = ft.Dataset("rows", np.float64(X), np.arange(6) % 3)
    shown = repr(SHOWN[what](ft.load(module, (4,)), data))
    assert len(shown) < 1000 and "array(" not in shown and " object at " not in shown
