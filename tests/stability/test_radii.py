"""Certified radii: closed forms of linear classifiers, points sampled inside, perturbations met outside."""

from math import inf

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ftheta as ft
from ftheta.certify.perturbations import read_problem
from ftheta.logic.errors import SubjectError, UsageError
from ftheta.networks import Dense, Description, random_mlp
from ftheta.stability.certifying import Certifier
from ftheta.stability.radii import METHODS
from tests.thoroughness import max_examples

RELAXED = ("interval", "crown", "alpha-crown")
DUAL = {1: inf, 2: 2, inf: 1}


def test_a_radius_says_of_which_function_it_is_shown():
    import torch

    class Narrow(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.tanh(x.to(torch.float16)).to(torch.float32)

    x = np.array([[0.5, -0.5]])
    narrow, plain = (ft.load(module, example=(1, 2)) for module in (Narrow(), torch.nn.Tanh()))
    asked = {"methods": ("interval",), "budget": 1}
    assert (
        "without its rounding to another type at" in ft.certified_radius(narrow, x, **asked).meaning
    )
    assert "without its rounding" in ft.attack(narrow, x).meaning
    assert (
        ft.certified_radius(plain, x, **asked).meaning
        == "the real function with the stored weights"
    )


def linear(w, b: float) -> ft.Network:
    weight = np.stack([np.asarray(w, float), np.zeros(len(w))])
    return ft.Network.described(Description((Dense(weight, np.array([b, 0.0])),)), "linear")


def relu_network(seed: int, *widths: int) -> ft.Network:
    return ft.Network.described(
        random_mlp(np.random.default_rng(seed), widths, "relu", bias=0.5), "random"
    )


def draw_in_ball(
    rng: np.random.Generator, x: np.ndarray, radius: float, norm: float, count: int
) -> np.ndarray:
    direction = rng.standard_normal((count, len(x)))
    direction[: count // 2] = np.sign(direction[: count // 2])  # corners of the cube
    direction[: count // 4, 1:] = 0  # and of the cross-polytope
    size = np.linalg.norm(direction, ord=norm, axis=1, keepdims=True)
    return x + 0.999999 * radius * direction / size


@pytest.mark.parametrize("norm, expected", [(2, 1.4), (inf, 1.0), (1, 1.75)])
def test_the_catalogues_linear_classifier(norm, expected):
    """w = (3, 4), x = (1, 1): linear bounds are exact, but for the tolerance."""
    found = ft.certified_radius(
        linear([3, 4], 0.0), [1.0, 1.0], norm, methods=["crown"], tolerance=1e-6
    )
    assert (
        expected * (1 - 2e-6) <= found.radius <= expected <= found.distance <= expected * (1 + 1e-6)
    )
    assert found.method == "crown"
    (enclosure,) = found.enclosures
    assert (enclosure.lo, enclosure.hi) == (found.radius, found.distance)


@pytest.mark.parametrize("norm", [1, 2, inf])
@pytest.mark.parametrize("far", [0, 1, 2])
def test_every_other_output_counts(norm, far):
    """Three outputs, one of them constant; of the other two labels the one is met at 1, the `far` one at 10."""
    label = (far + 1) % 3
    near = 3 - far - label
    weight, offset = np.zeros((3, 2)), np.zeros(3)
    weight[[near, far], [0, 1]] = 1.0
    offset[[near, far]] = -1.0, -10.0
    net = ft.Network.described(Description((Dense(weight, offset),)), "three")
    problem, _ = read_problem(net, [0.0, 0.0], label, None, norm)
    certifier = Certifier(net, problem)
    for method in ("interval", "crown"):
        for radius, holds in ((0.99, True), (1.0, False), (5.0, False)):
            assert certifier.holds(np.zeros(1, int), np.array([radius]), method)[0] == holds


@max_examples(4, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([1, 2, inf]))
def test_what_is_certified_is_below_what_is_met_and_no_label_changes_inside(seed, norm):
    rng = np.random.default_rng(seed)
    net = relu_network(seed, 4, 8, 8, 3)
    x = rng.standard_normal((3, 4))
    found = ft.certified_radius(net, x, norm, methods=RELAXED, tolerance=0.05)
    assert np.all(found.radius <= found.distance)
    assert np.all(found.radius > 0)
    for k in range(len(x)):
        inside = draw_in_ball(rng, x[k], found.radius[k], norm, 200)
        assert np.all(np.argmax(net(inside), axis=1) == found.label[k])
    for name, radius in found.by_method.items():
        assert np.all(radius <= found.radius), name
    assert np.all(found.by_method["interval"] <= found.by_method["crown"] * 1.05)


def test_branch_and_bound_meets_the_attack():
    net = relu_network(0, 6, 16, 16, 3)
    x = np.random.default_rng(1).standard_normal((3, 6))
    found = ft.certified_radius(net, x, tolerance=1e-2, budget="5m")
    assert np.all(found.distance <= found.radius * 1.011)
    assert "branch and bound" in set(found.method)
    for k in range(3):
        assert (
            ft.verify(net, ft.Robust(x[k], found.radius[k], label=int(found.label[k]))).answer
            == "unsat"
        )
        assert (
            ft.verify(net, ft.Robust(x[k], found.distance[k], label=int(found.label[k]))).answer
            == "sat"
        )


def test_clipping_can_only_help():
    net = relu_network(3, 4, 8, 3)
    x = np.random.default_rng(0).uniform(0, 1, (4, 4))
    free = ft.certified_radius(net, x, methods=["crown"])
    clipped = ft.certified_radius(net, x, methods=["crown"], clip=(0, 1))
    assert np.all(clipped.radius >= free.radius * (1 - 2e-3))
    assert np.any(clipped.radius > free.radius * 1.05)


def test_a_smooth_network_of_images():
    rng = np.random.default_rng(0)
    W = rng.standard_normal((16, 3))
    net = ft.Network.of(lambda x: jnp.tanh(x).ravel() @ W, (4, 4))
    x = rng.standard_normal((2, 4, 4))
    found = ft.certified_radius(net, x, tolerance=0.05, budget="2s")
    assert np.all((found.radius > 0) & (found.radius <= found.distance))
    assert found.x.shape == x.shape


def test_a_wrong_label_has_radius_zero():
    found = ft.certified_radius(linear([3, 4], 0.0), [1.0, 1.0], label=1)
    assert found.radius == 0 == found.distance


def test_where_nothing_is_met_the_radius_is_large():
    """A constant classifier: whatever radius is asked for, the label holds."""
    net = ft.Network.described(
        Description((Dense(np.zeros((2, 2)), np.array([1.0, 0.0])),)), "constant"
    )
    found = ft.certified_radius(net, [0.0, 0.0], methods=["crown"])
    assert found.radius > 1e6 and found.distance == inf
    assert found.to_dict()["distance"] is None


@pytest.mark.parametrize(
    "words, wrong",
    [
        ("no method", {"methods": ["guess"]}),
        ("norm is", {"norm": 3}),
        ("share between", {"tolerance": 0.0}),
        ("share between", {"tolerance": "small"}),
        ("positive time", {"budget": "soon"}),
        ("do not fit", {"x": [1.0]}),
        ("number of an output", {"label": 2}),
        ("on a network", {"net": 3}),
    ],
)
def test_wrong_words_are_refused(words, wrong):
    given_words = {"net": linear([1.0, 2.0], 0.0), "x": [1.0, 1.0], **wrong}
    with pytest.raises(UsageError, match=words):
        ft.certified_radius(given_words.pop("net"), given_words.pop("x"), **given_words)


def test_one_output_has_no_label():
    with pytest.raises(SubjectError, match="two outputs"):
        ft.certified_radius(ft.Network.of(lambda x: x.sum(keepdims=True), (2,)), [0.0, 0.0])


def test_it_says_what_it_found():
    found = ft.certified_radius(linear([3, 4], 0.0), np.ones((2, 2)), methods=METHODS[:1])
    assert "row 1: at least 0.99" in str(found)
