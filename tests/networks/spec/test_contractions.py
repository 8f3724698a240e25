"""1-Lipschitz layers in a spec compute what the layers of the library compute."""

import jax
import numpy as np
import pytest

import ftheta as ft
from ftheta.logic import SubjectError
from ftheta.networks.architectures.stack import Stack
from ftheta.networks.layers import ConvexPotential, GroupSort, UnitDense

STACK = Stack(
    "spec",
    (
        UnitDense(6, "cayley"),
        GroupSort(3),
        UnitDense(6, "bjorck"),
        GroupSort(),
        ConvexPotential(7),
        UnitDense(2, "spectral"),
    ),
    (4,),
)
LAYERS = [
    {"kind": "dense", "name": "0", "constraint": "cayley"},
    {"kind": "group-sort", "group": 3},
    {"kind": "dense", "name": "2", "constraint": "bjorck"},
    {"kind": "group-sort"},
    {"kind": "convex-potential", "name": "4"},
    {"kind": "dense", "name": "5", "constraint": "spectral"},
]


@pytest.mark.parametrize("layout", ["torch", "jax"])
def test_a_spec_of_unit_lipschitz_layers_is_their_stack(tmp_path, layout):
    params = STACK.initial(np.random.default_rng(0))
    turn = (lambda array: array) if layout == "torch" else (lambda array: array.T)
    arrays = {
        f"{i}.{name}": turn(array) if array.ndim == 2 else array
        for i, own in enumerate(params)
        for name, array in own.items()
    }
    np.savez(tmp_path / "w.npz", **arrays)
    net = ft.load(tmp_path / "w.npz", spec={"layout": layout, "input": [4], "layers": LAYERS})
    assert isinstance(net, ft.Network)
    x = np.random.default_rng(1).normal(size=(10, 4))
    with jax.enable_x64(True):
        wanted, found = (
            np.asarray(jax.jit(jax.vmap(lambda row, f=f, p=p: f(p, row)))(x))
            for f, p in ((STACK.apply, params), (net.apply, net.params))
        )
    np.testing.assert_allclose(found, wanted, atol=1e-12)
    bounded = ft.bounds(net, ft.Ball(x[0], 0.1, norm=2))
    assert (bounded.lower <= wanted[0]).all() and (wanted[0] <= bounded.upper).all()


def test_groups_are_of_the_entries_of_a_vector(tmp_path):
    np.savez(tmp_path / "w.npz", weight=np.ones((2, 3)))
    last = {"kind": "dense", "weight": "weight"}
    spec = {"layout": "torch", "input": [2, 3], "layers": [{"kind": "group-sort"}, last]}
    with pytest.raises(SubjectError, match="vector"):
        ft.load(tmp_path / "w.npz", spec=spec)
