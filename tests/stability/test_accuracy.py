"""Certified and attacked accuracy: linear classifiers in closed form, exact decisions, what cannot be asked."""

import json
from math import inf

import numpy as np
import pytest

import ftheta as ft
from ftheta.logic.errors import UsageError
from ftheta.networks import Dense, Description, random_mlp


def linear(w, b: float) -> ft.Network:
    weight = np.stack([np.zeros(len(w)), np.asarray(w, float)])
    return ft.Network.described(Description((Dense(weight, np.array([0.0, b])),)), "linear")


@pytest.mark.parametrize("norm, dual", [(1, inf), (2, 2), (inf, 1)])
def test_a_linear_classifier_is_decided_at_every_radius(norm, dual):
    """A row is robust within ε exactly if its margin is larger than ε‖w‖ in the dual norm."""
    rng = np.random.default_rng(0)
    w = rng.standard_normal(5)
    x = rng.standard_normal((40, 5))
    y = rng.integers(0, 2, 40)
    margin = np.where(y == 1, 1, -1) * (x @ w + 0.2)
    eps = np.array([0.05, 0.1, 0.3, 0.6])
    found = ft.robustness(linear(w, 0.2), (x, y), eps, norm=norm, budget="30s")
    expected = (margin[:, None] > eps * np.linalg.norm(w, dual)).mean(0)
    np.testing.assert_array_equal(found.certified, expected)
    np.testing.assert_array_equal(found.attacked, expected)
    assert found.accuracy == (margin > 0).mean()
    assert found.finished and found.gap == 0


@pytest.fixture(scope="module")
def small() -> tuple[ft.Network, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(2)
    net = ft.Network.described(random_mlp(rng, (5, 12, 12, 3), "relu", bias=0.5), "random")
    x = rng.standard_normal((12, 5))
    y = np.argmax(net(x), axis=1)
    y[0] = (y[0] + 1) % 3
    return net, x, y


def test_every_count_is_what_the_verifier_says(small):
    net, x, y = small
    eps = [0.02, 0.08, 0.2]
    found = ft.robustness(net, (x, y), eps, budget="60s")
    assert found.finished
    assert found.shown[0] == found.met[0] == -1  # its label is wrong
    for k in range(1, len(x)):
        holds = [ft.verify(net, ft.Robust(x[k], e, label=int(y[k]))).answer == "unsat" for e in eps]
        assert found.shown[k] == found.met[k] == sum(holds)


def test_a_row_whose_label_is_lost_by_rounding_alone_is_not_counted_as_wrong():
    """The margin is relu(x + 2⁶⁰) − 2⁶⁰ = x, and 0 in floats."""
    hidden = Dense(np.array([[1.0], [0.0]]), np.array([2.0**60, 0.0]), "relu")
    last = Dense(np.eye(2), np.array([-(2.0**60), 0.0]), "identity")
    net = ft.Network.described(Description((hidden, last)), "offset")
    x = np.array([[1.0], [-1.0]])
    found = ft.robustness(net, (x, [0, 0]), [0.25], budget="5s")
    assert found.certified[0] <= 0.5 <= found.attacked[0]
    assert found.met[0] == 1 and found.accuracy == 0


def test_without_time_the_curves_are_wide_and_still_true(small):
    net, x, y = small
    found = ft.robustness(net, (x, y), [0.02, 0.08, 0.2], budget=0.001)
    decided = ft.robustness(net, (x, y), [0.02, 0.08, 0.2], budget="60s")
    assert not found.finished
    assert np.all(found.certified <= decided.certified) and np.all(
        decided.attacked <= found.attacked
    )


def test_radii_are_chosen_where_none_are_given(small):
    net, x, y = small
    found = ft.robustness(net, ft.Dataset("rows", x, y), budget="5s")
    assert len(found.eps) == 8 and np.all(np.diff(found.eps) > 0)
    assert found.attacked[0] > found.attacked[-1]


def test_it_draws_and_tells_itself(small):
    net, x, y = small
    found = ft.robustness(net, (x, y), [0.05, 0.1], budget="5s")
    bounds, measured = found.chart().series
    assert list(bounds.hi) == list(measured.y) and list(bounds.lo) == list(bounds.y)
    assert json.loads(json.dumps(found.to_dict()))["rows"] == 12
    assert "certified" in str(found)


@pytest.mark.parametrize(
    "words, data, more",
    [
        ("needs labels.*\n.*where: data", np.zeros((3, 5)), {}),
        ("needs labels", (np.zeros((3, 5)), None), {}),
        ("one label for each row.*\n.*where: data", (np.zeros((3, 5)), [0, 1]), {}),
        ("classes.*\n.*where: row 2", (np.zeros((3, 5)), [0, 1, 0.5]), {}),
        ("number of an output.*\n.*where: the labels", (np.zeros((3, 5)), [0, 1, 7]), {}),
        ("do not fit", (np.zeros((3, 4)), [0, 1, 2]), {}),
        ("radii.*\n.*where: eps", (np.zeros((3, 5)), [0, 1, 2]), {"eps": [-0.1]}),
        ("radii", (np.zeros((3, 5)), [0, 1, 2]), {"eps": []}),
        ("array of numbers", (np.zeros((3, 5)), [0, 1, 2]), {"eps": ["wide"]}),
        ("norm is.*\n.*where: norm", (np.zeros((3, 5)), [0, 1, 2]), {"norm": 0}),
        ("positive time", (np.zeros((3, 5)), [0, 1, 2]), {"budget": "-1s"}),
    ],
)
def test_what_makes_no_sense_is_refused(small, words, data, more):
    with pytest.raises(UsageError, match=words):
        ft.robustness(small[0], data, **more)


def test_the_attack_at_radii_finds_corners_of_a_linear_classifier():
    from ftheta.certify.perturbations import read_problem
    from ftheta.relu.exact import from_description
    from ftheta.stability.attacking import RadiusAttack

    rng = np.random.default_rng(1)
    w = rng.standard_normal(6)
    net = linear(w, 0.1)
    x = rng.standard_normal((30, 6))
    problem, _ = read_problem(net, x, None, None, inf)
    eps = np.array([0.05, 0.1, 0.2, 0.4])
    points, is_tried = RadiusAttack(from_description(net.description), problem, 0).flip(
        np.arange(30), eps, inf
    )
    distance = np.abs(x @ w + 0.1) / np.abs(w).sum()  # of the nearest input with another label
    assert is_tried.all()
    for k in range(30):
        reached = np.abs(points[k] - x[k]).max()
        nearest = eps[eps > distance[k] * (1 + 1e-6)]
        assert reached <= (nearest[0] if len(nearest) else 0)
        assert (reached > 0) == bool(len(nearest))
