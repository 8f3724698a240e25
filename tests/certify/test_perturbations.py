"""Attacks on labels: closed forms of linear classifiers, exact answers of the verifier, points inside their sets."""

from fractions import Fraction
from math import inf

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ftheta as ft
from ftheta.certify.distances import distance_between
from ftheta.certify.margin_descent import METHODS
from ftheta.certify.margins import Classifier, project_to_l1
from ftheta.logic.errors import SubjectError, UsageError
from ftheta.networks import Dense, Description, random_mlp
from ftheta.pieces.normal_forms import network_of
from ftheta.relu.exact import exact

DUAL = {1: inf, 2: 2, inf: 1}


def linear(w, b: float) -> ft.Network:
    weight = np.stack([np.asarray(w, float), np.zeros(len(w))])
    return ft.Network.described(Description((Dense(weight, np.array([b, 0.0])),)), "linear")


def relu_network(seed: int, *widths: int) -> ft.Network:
    return ft.Network.described(
        random_mlp(np.random.default_rng(seed), widths, "relu", bias=0.5), "random"
    )


def length_of(difference: list[Fraction], norm: float) -> Fraction:
    """Exactly; in ℓ2 the square."""
    sizes = [abs(d) for d in difference]
    return (
        max(sizes) if norm == inf else sum((d if norm == 1 else d * d for d in sizes), Fraction(0))
    )


@pytest.mark.parametrize("norm, expected", [(2, 1.4), (inf, 1.0), (1, 1.75)])
def test_the_nearest_point_of_a_half_space(norm, expected):
    """The catalogue's example: w = (3, 4), x = (1, 1)."""
    found = ft.attack(linear([3, 4], 0.0), [1.0, 1.0], norm=norm)
    assert found.flipped and found.other == 1
    assert expected <= found.distance <= expected * (1 + 1e-6)


@pytest.mark.parametrize("norm", DUAL)
def test_rows_of_a_linear_classifier(norm):
    """|w·x + b| / ‖w‖_q for every row at once; within a little less nothing is found, within a little more it is."""
    rng = np.random.default_rng(0)
    w = rng.normal(size=6)
    x = rng.normal(size=(20, 6))
    expected = np.abs(x @ w + 0.3) / np.linalg.norm(w, DUAL[norm])
    net = linear(w, 0.3)
    found = ft.attack(net, x, norm=norm)
    assert found.flipped.all()
    np.testing.assert_allclose(found.distance, expected, rtol=1e-4)
    assert np.all(found.distance >= expected * (1 - 1e-12))
    for k in range(3):
        assert not ft.attack(net, x[k], 0.99 * expected[k], norm=norm, steps=20).flipped
        assert ft.attack(net, x[k], 1.01 * expected[k], norm=norm, steps=20).flipped


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("norm", DUAL)
def test_a_point_found_is_inside_and_flipped_in_rationals(method, norm):
    net = relu_network(3, 5, 12, 12, 3)
    form = exact(network_of(net))
    x = np.random.default_rng(1).uniform(-1, 1, (12, 5))
    eps = 0.6
    found = ft.attack(net, x, eps, norm=norm, clip=(-1, 1), method=method, steps=30)
    assert found.flipped.any()
    for k in np.flatnonzero(found.flipped):
        there = found.x[k]
        difference = [Fraction(a) - Fraction(b) for a, b in zip(there.tolist(), x[k].tolist())]
        size = length_of(difference, norm)
        assert size <= Fraction(eps) ** (2 if norm == 2 else 1)
        assert size <= Fraction(float(found.distance[k])) ** (2 if norm == 2 else 1)
        assert np.all(np.abs(there) <= 1)
        y = form(tuple(Fraction(v) for v in there.tolist()))
        assert y[found.other[k]] >= y[found.label[k]]
    assert (
        np.isnan(found.x[~found.flipped]).all() and np.isinf(found.distance[~found.flipped]).all()
    )


def test_the_nearest_points_found_are_nearly_those_that_the_verifier_proves():
    """In ℓ∞ the exact radius lies between two answers of the verifier; an attack never undercuts it."""
    net = relu_network(5, 3, 10, 10, 3)
    x = np.random.default_rng(2).uniform(-1, 1, (6, 3))
    found = ft.attack(net, x)
    close = 0
    for k in np.flatnonzero(found.flipped):
        refuted = ft.verify(net, ft.Robust(x[k], float(found.distance[k])), budget="20s", threads=1)
        assert refuted.answer == "sat"
        proved = ft.verify(
            net, ft.Robust(x[k], 0.95 * float(found.distance[k])), budget="20s", threads=1
        )
        close += proved.answer == "unsat"
    assert close >= found.flipped.sum() - 1


def test_a_smooth_network_of_images():
    def f(x):
        return jnp.stack([jnp.tanh(x).sum(), jnp.sin(x[0, 0]) + 0.5])

    net = ft.Network.of(f, example=(2, 2))
    x = np.full((2, 2), 0.4)
    found = ft.attack(net, x, norm=2, clip=(0, 1))
    assert found.flipped and found.x.shape == (2, 2) and found.label == 0 and found.other == 1
    assert float(np.tanh(found.x).sum()) <= float(np.sin(found.x[0, 0]) + 0.5) + 1e-12
    assert 0 < found.distance < 1


def test_a_constant_network_is_not_flipped():
    net = linear([0.0, 0.0], 1.0)
    assert not ft.attack(net, [0.0, 0.0]).flipped
    assert not ft.attack(net, [0.0, 0.0], 10.0).flipped


def test_a_row_that_already_has_another_label_is_at_distance_zero():
    found = ft.attack(linear([1.0, 0.0], 0.0), [[2.0, 0.0]], label=[1])
    assert found.flipped.all() and found.distance[0] == pytest.approx(0, abs=1e-6)


@given(st.lists(st.floats(-3, 3), min_size=1, max_size=6), st.floats(0, 4))
def test_projection_onto_an_l1_ball_is_the_nearest_point(delta, radius):
    row = np.array([delta])
    there = project_to_l1(row, np.array([radius]))[0]
    assert np.abs(there).sum() <= radius + 1e-9
    rng = np.random.default_rng(0)
    others = rng.laplace(size=(200, len(delta)))
    others *= (radius * rng.random(200) / np.abs(others).sum(1))[:, None]
    assert np.linalg.norm(there - row[0]) <= np.linalg.norm(others - row[0], axis=1).min() + 1e-9


@pytest.mark.parametrize(
    "words, wrong",
    [
        ("no attack", {"method": "cw"}),
        ("norm is", {"norm": 3}),
        ("negative", {"eps": -1}),
        ("no number", {"eps": "wide"}),
        ("none that fits", {"eps": "1e999999999"}),
        ("array of numbers", {"x": ["a", "b"]}),
        ("number of an output", {"label": "cat"}),
        ("number of an output", {"label": [0, 1, 0]}),
        ("counted from one", {"steps": 2.5}),
        ("do not fit", {"x": [1.0, 2.0, 3.0]}),
        ("NaN", {"x": [np.nan, 0.0]}),
        ("finite", {"x": [np.inf, 0.0]}),
        ("outside clip", {"clip": (2, 3)}),
        ("clip is a pair", {"clip": 5}),
        ("number of an output", {"label": 7}),
        ("counted from one", {"steps": 0}),
        ("on a network", {"net": "file.onnx"}),
    ],
)
def test_wrong_words_are_refused(words, wrong):
    given_words = {"net": linear([1.0, 2.0], 0.0), "x": [1.0, 1.0], **wrong}
    with pytest.raises(UsageError, match=words):
        ft.attack(
            given_words.pop("net"),
            given_words.pop("x"),
            given_words.pop("eps", None),
            **given_words,
        )


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("norm", DUAL)
def test_inputs_and_radii_near_the_end_of_float64(norm):
    """Distances beyond 1e154 have squares that no float holds; a radius beyond all floats is one all the same."""
    net = linear([1.0, 1.0], 0.0)
    far = ft.attack(net, [1e300, 1e300], norm=norm)
    assert not far.flipped or far.distance >= 1e300 * (1 - 1e-12)
    assert ft.attack(net, [1.0, 1.0], "1e400", norm=norm).flipped


@pytest.mark.parametrize("x, expected", [([3e300, 4e300], 5e300), ([3e-200, 4e-200], 5e-200)])
def test_distances_whose_squares_leave_float64(x, expected):
    distance = distance_between(x, [0.0, 0.0], 2)
    assert Fraction(distance) ** 2 >= sum(Fraction(v) ** 2 for v in x)
    assert distance == pytest.approx(expected, rel=1e-15)


def test_one_output_has_no_label():
    net = ft.Network.of(lambda x: x.sum(keepdims=True), example=(2,))
    with pytest.raises(SubjectError, match="two outputs"):
        ft.attack(net, [0.0, 0.0])


@pytest.mark.parametrize("width, sizes", [(20, {8, 16}), (200, {1, 4, 8, 16})])
def test_few_rows_of_a_small_network_share_a_program(width, sizes):
    """A large network is not evaluated at more rows than it must be."""
    net = ft.Network.described(random_mlp(np.random.default_rng(0), (6, width, width, 3), "relu"))
    classifier = Classifier(net)
    x = np.random.default_rng(1).normal(size=(16, 6))
    label = np.zeros(16, int)
    with jax.enable_x64(True):
        values = np.array([net.apply(net.params, row) for row in x])
    for rows in (1, 3, 8, 16):
        assert np.allclose(classifier.values(x[:rows]), values[:rows], rtol=1e-12, atol=1e-12)
        margins, _ = classifier.margin_and_slope(x[:rows], label[:rows])
        assert np.allclose(margins, (values[:, 0] - values[:, 1:].max(1))[:rows], atol=1e-12)
    assert set(classifier._values._programs) == sizes
